//! The three signature headers, and secrets.

use sendtrail_signature::{
    KeyRing, MAX_ID_BYTES, MAX_SIGNATURE_BYTES, SealKey, Secret, SignatureError, SignedHeaders,
    TOLERANCE_SECONDS, is_webhook_id, sign, verify,
};

use crate::{NOW, OTHER_SECRET, SECRET, ring, secret};

const NOW_MS: i64 = NOW * 1000;
const CANARY: &str = "canary-4f1c9a7e";

/// Three lines as id, timestamp and signature, and the rest as the body.
pub fn signature(data: &[u8]) {
    let mut lines = data.splitn(4, |b| *b == b'\n');
    let mut next = || lines.next();
    let (id, timestamp, given) = (next(), next(), next());
    let body = next().unwrap_or_default();
    let headers = SignedHeaders {
        id,
        timestamp,
        signature: given,
    };
    check(&headers, body);
    if let (Some(id), Some(timestamp)) = (id, timestamp) {
        check_true(id, timestamp, given.unwrap_or_default(), body);
    }
    if let Ok(text) = str::from_utf8(body) {
        check_secret(text);
        // The message never repeats a text that may be a secret.
        check_secret(&format!("{text}{CANARY}"));
        check_seal(id.unwrap_or_default(), text);
    }
}

/// Nothing passes that the key did not sign.
fn check(headers: &SignedHeaders<'_>, body: &[u8]) {
    assert!(verify(headers, body, NOW_MS, &ring(OTHER_SECRET)).is_err());
    let ring = ring(SECRET);
    let Ok(verified) = verify(headers, body, NOW_MS, &ring) else {
        return;
    };
    assert_eq!(headers.id, Some(verified.id.as_bytes()));
    let timestamp = verified.timestamp.to_string();
    assert_eq!(
        headers.timestamp,
        Some(timestamp.as_bytes()),
        "one spelling only"
    );
    assert!(is_webhook_id(verified.id));
    assert!(NOW.abs_diff(verified.timestamp) <= TOLERANCE_SECONDS);
    let signature = sign(&secret(SECRET), verified.id, &timestamp, body);
    let tag = &signature.as_bytes()["v1,".len()..];
    let given = headers.signature.unwrap_or_default();
    assert!(
        given.windows(tag.len()).any(|part| part == tag),
        "nobody signed this"
    );
}

/// What the key did sign passes, unless it says what it must not say, whatever stands beside it.
fn check_true(id: &[u8], timestamp: &[u8], beside: &[u8], body: &[u8]) {
    let (Ok(id_text), Ok(timestamp_text)) = (str::from_utf8(id), str::from_utf8(timestamp)) else {
        return;
    };
    let signature = sign(&secret(SECRET), id_text, timestamp_text, body);
    let verdict = |signature: &[u8]| {
        let headers = SignedHeaders {
            id: Some(id),
            timestamp: Some(timestamp),
            signature: Some(signature),
        };
        verify(&headers, body, NOW_MS, &ring(SECRET)).map(|verified| verified.timestamp)
    };
    let alone = verdict(signature.as_bytes());
    assert_ne!(alone, Err(SignatureError::Mismatch), "our own signature");
    let plain = is_webhook_id(id_text) && id.len() <= MAX_ID_BYTES;
    let number: Option<i64> = timestamp_text.parse().ok();
    let number = number.filter(|n| n.to_string() == timestamp_text);
    let in_time = number.is_some_and(|n| NOW.abs_diff(n) <= TOLERANCE_SECONDS);
    assert_eq!(alone.is_ok(), plain && in_time, "{alone:?}");

    for joined in [
        [beside, b" ", signature.as_bytes()].concat(),
        [signature.as_bytes(), b" ", beside].concat(),
        [signature.as_bytes(), b",", beside].concat(),
    ] {
        if joined.len() <= MAX_SIGNATURE_BYTES {
            assert_eq!(verdict(&joined), alone);
        }
    }
    // No damage to the tag passes.
    for cut in ["v1,".len(), signature.len() / 2, signature.len() - 1] {
        assert!(verdict(&signature.as_bytes()[..cut]).is_err());
        let mut damaged = signature.clone().into_bytes();
        damaged[cut] = if damaged[cut] == b'A' { b'B' } else { b'A' };
        assert!(verdict(&damaged).is_err());
    }
}

fn check_secret(text: &str) {
    match Secret::parse(text) {
        Ok(secret) => {
            let whsec = secret.to_whsec();
            let again = Secret::parse(&whsec).expect("its own form is read");
            assert_eq!(again.to_whsec(), whsec);
            assert!(!format!("{secret:?}").contains(CANARY));
            // Both forms are one key: a ring refuses them side by side.
            let pair = vec![("a".to_owned(), secret), ("b".to_owned(), again)];
            assert!(KeyRing::new(pair).is_err());
        }
        Err(error) => assert!(!format!("{error} {error:?}").contains(CANARY)),
    }
}

fn check_seal(message: &[u8], seal: &str) {
    let key = SealKey::new(secret(SECRET), "local");
    let made = key.seal(message);
    assert!(key.check(message, &made));
    assert_eq!(key.check(message, seal), seal == made);
}
