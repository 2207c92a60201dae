//! Preview tokens, confirm tickets and receipts.

use sendtrail_door::{Claims, Expected, Purpose, TokenKey};
use sendtrail_signature::{MAX_TOKEN_BYTES, TokenError};

use crate::{NOW, OTHER_SECRET, SECRET, secret};

const NOW_MS: i64 = NOW * 1000;
const PURPOSES: [Purpose; 3] = [Purpose::Preview, Purpose::Confirm, Purpose::Receipt];

/// Any text as a token, and true tokens about any text.
pub fn token(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    for purpose in PURPOSES {
        check_given(text, purpose);
        check_issued(text, purpose);
    }
}

fn expected(purpose: Purpose, history_id: &str) -> Expected<'_> {
    Expected {
        purpose,
        history_id,
        rev: None,
        input_sha256: None,
        document_sha256: None,
    }
}

fn key(text: &str, stage: &str) -> TokenKey {
    TokenKey::new(secret(text), stage)
}

/// Whatever passes was issued: issuing what it says gives the same token.
fn check_given(text: &str, purpose: Purpose) {
    let expected = expected(purpose, "57");
    assert!(
        key(OTHER_SECRET, "local")
            .verify(text, &expected, NOW_MS)
            .is_err()
    );
    if let Ok(claims) = key(SECRET, "local").verify(text, &expected, NOW_MS) {
        assert_eq!(key(SECRET, "local").issue(&claims), text);
        assert_eq!(
            (claims.purpose, claims.history_id.as_str()),
            (purpose, "57")
        );
        assert!(claims.expires_at > NOW);
    }
}

/// A true token passes for what it was issued for, and for nothing else.
fn check_issued(text: &str, purpose: Purpose) {
    let mut parts = text.split('\n');
    let mut part = || parts.next().unwrap_or_default();
    let (history_id, rev) = (part(), part().parse().unwrap_or(3));
    let claims = Claims {
        purpose,
        history_id: history_id.to_owned(),
        rev,
        input_sha256: part().to_owned(),
        document_sha256: Some(part().to_owned()),
        expires_at: part().parse().unwrap_or(NOW + 600),
    };
    let our_key = key(SECRET, "local");
    let issued = our_key.issue(&claims);
    let due = expected(purpose, history_id);
    let verdict = our_key.verify(&issued, &due, NOW_MS);
    if issued.len() > MAX_TOKEN_BYTES {
        assert_eq!(verdict, Err(TokenError::TooLong));
        return;
    }
    if claims.expires_at <= NOW {
        assert_eq!(verdict, Err(TokenError::Expired));
        return;
    }
    assert_eq!(verdict.as_ref(), Ok(&claims));
    let other_purpose = PURPOSES
        .into_iter()
        .find(|p| *p != purpose)
        .unwrap_or(purpose);
    let refused = |due: &Expected<'_>| our_key.verify(&issued, due, NOW_MS).expect_err("another");
    assert_eq!(
        refused(&expected(other_purpose, history_id)),
        TokenError::OtherPurpose
    );
    assert_eq!(
        refused(&expected(purpose, &format!("{history_id}x"))),
        TokenError::OtherRecord
    );
    let other_rev = Some(rev ^ 1);
    assert_eq!(
        refused(&Expected {
            rev: other_rev,
            ..due
        }),
        TokenError::OtherRev
    );
    let input = format!("{}x", claims.input_sha256);
    let other_input = Some(input.as_str());
    assert_eq!(
        refused(&Expected {
            input_sha256: other_input,
            ..due
        }),
        TokenError::OtherInput
    );
    let stage = key(SECRET, "prod").verify(&issued, &due, NOW_MS);
    assert_eq!(stage, Err(TokenError::OtherStage));
    check_damage(&issued, &due, text.len());
}

fn check_damage(issued: &str, due: &Expected<'_>, at: usize) {
    let at = at % issued.len();
    let mut bytes = issued.as_bytes().to_vec();
    bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
    let damaged = String::from_utf8(bytes).expect("ASCII");
    let key = key(SECRET, "local");
    assert!(key.verify(&damaged, due, NOW_MS).is_err(), "{damaged}");
    assert!(key.verify(&issued[..at], due, NOW_MS).is_err());
    assert!(key.verify(&format!("{issued}A"), due, NOW_MS).is_err());
}
