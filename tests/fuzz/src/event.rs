//! The event of a Function URL, and signed bodies.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sendtrail_door::{
    Code, Expect, Expected, HistoryIdIn, Purpose, Request, TokenKey, verify_bearer, verify_receipt,
    verify_signed,
};
use sendtrail_signature::{TOLERANCE_SECONDS, is_webhook_id, sign};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::{NOW, OTHER_SECRET, SECRET, ring, secret};

pub(crate) const NOW_MS: i64 = NOW * 1000;
const LIMIT: usize = 16 * 1024;
const EXPECT: Expect<'static> = Expect {
    aud: "local/intake",
    op: "save",
    history_id: HistoryIdIn::Nowhere,
    max_bytes: LIMIT,
};

/// Any text as the whole event.
pub fn event(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let request = match Request::parse(text, NOW_MS, "stand-in") {
        Ok(request) => request,
        Err(refusal) => {
            assert_eq!(refusal.code(), Code::MalformedRequest);
            assert_eq!(refusal.answer_without_request("stand-in").status(), 400);
            return;
        }
    };
    check_parts(&request);
    check_body(&request, text);
    check_signed(&request);
    check_tokens(&request);
}

fn check_parts(request: &Request<'_>) {
    if let Ok(segments) = request.segments() {
        for segment in segments {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
            assert!((1..=64).contains(&segment.len()) && segment.bytes().all(plain));
        }
    }
    for token in [request.bearer(), request.receipt()].into_iter().flatten() {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        assert!(!token.is_empty() && token.bytes().all(plain));
    }
    let _ = (
        request.query("token"),
        request.method(),
        request.request_id(),
    );
    if let Some(kind) = request.content_type() {
        assert_eq!(kind, kind.trim().to_ascii_lowercase());
    }
}

/// The body is what the event says it is, byte for byte, by another reading of the event.
fn check_body(request: &Request<'_>, text: &str) {
    let body = request.body(LIMIT);
    if let Ok(body) = &body {
        assert!(body.len() <= LIMIT);
        assert_eq!(request.body_bytes(), Some(body.len()));
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let given = value
        .get("body")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let expected = if request.is_base64() {
        STANDARD.decode(given).ok()
    } else {
        Some(given.as_bytes().to_vec())
    };
    let expected = expected.filter(|bytes| bytes.len() <= LIMIT);
    assert_eq!(body.ok().map(std::borrow::Cow::into_owned), expected);
}

fn check_signed(request: &Request<'_>) {
    assert!(verify_signed::<Value>(request, &ring(OTHER_SECRET), &EXPECT).is_err());
    let Ok(verified) = verify_signed::<Map<String, Value>>(request, &ring(SECRET), &EXPECT) else {
        return;
    };
    let body = request.body(LIMIT).expect("it was verified");
    let (id, at) = (&verified.webhook_id, verified.signed_at);
    assert!(is_webhook_id(id));
    let signature = sign(&secret(SECRET), id, &at.to_string(), &body);
    let given = request.header("webhook-signature").unwrap_or_default();
    assert!(
        given.contains(&signature["v1,".len()..]),
        "nobody signed this"
    );
    let now = request.arrived_ms().div_euclid(1000);
    assert!(now.abs_diff(at) <= TOLERANCE_SECONDS);
    assert_eq!(verified.body_sha256, crate::hex(&Sha256::digest(&body)));
    assert_eq!(verified.body.get("aud"), Some(&json!(EXPECT.aud)));
    assert_eq!(verified.body.get("op"), Some(&json!(EXPECT.op)));
    assert!(!verified.body.contains_key("history_id"));
}

fn check_tokens(request: &Request<'_>) {
    for purpose in [Purpose::Preview, Purpose::Confirm, Purpose::Receipt] {
        let expected = Expected {
            purpose,
            history_id: "57",
            rev: None,
            input_sha256: None,
            document_sha256: None,
        };
        let other = TokenKey::new(secret(OTHER_SECRET), "local");
        assert!(verify_bearer(request, &other, &expected).is_err());
        assert!(verify_receipt(request, &other, &expected).is_err());
        let key = TokenKey::new(secret(SECRET), "local");
        if let Ok(claims) = verify_bearer(request, &key, &expected) {
            assert_eq!(Some(key.issue(&claims).as_str()), request.bearer());
        }
        if let Ok(claims) = verify_receipt(request, &key, &expected) {
            assert_eq!(Some(key.issue(&claims).as_str()), request.receipt());
        }
    }
}

/// Any bytes as the body of a request that is signed as it should be.
pub fn signed_body(data: &[u8]) {
    for history_id in [
        HistoryIdIn::Nowhere,
        HistoryIdIn::Path("57"),
        HistoryIdIn::Body,
    ] {
        let expect = Expect {
            history_id,
            ..EXPECT
        };
        let base64 = event_of(&STANDARD.encode(data), true, data);
        check_true_body(&base64, data, &expect);
        if let Ok(text) = str::from_utf8(data) {
            check_true_body(&event_of(text, false, data), data, &expect);
        }
    }
    // One bit of the body is another than the one signed.
    let mut changed = data.to_vec();
    if let Some(byte) = changed.first_mut() {
        *byte ^= 1;
        let event = event_of(&STANDARD.encode(&changed), true, data);
        let request = Request::parse(&event, NOW_MS, "r").expect("an event");
        let refusal = verify_signed::<Value>(&request, &ring(SECRET), &EXPECT);
        assert_eq!(refusal.expect_err("it was changed").reason(), "mismatch");
    }
}

/// The event of a request that is signed over these bytes.
pub(crate) fn event_of(body: &str, is_base64: bool, signed: &[u8]) -> String {
    let at = NOW.to_string();
    let event = json!({
        "rawPath": "/v1/histories",
        "headers": {
            "content-type": "application/json",
            "webhook-id": "msg_1",
            "webhook-timestamp": at,
            "webhook-signature": sign(&secret(SECRET), "msg_1", &at, signed),
        },
        "requestContext": {"http": {"method": "POST"}, "requestId": "r", "timeEpoch": NOW_MS},
        "body": body,
        "isBase64Encoded": is_base64,
    });
    event.to_string()
}

fn check_true_body(event: &str, data: &[u8], expect: &Expect<'_>) {
    let request = Request::parse(event, NOW_MS, "r").expect("an event");
    if data.len() > LIMIT {
        let refusal = request.body(LIMIT).expect_err("it is too large");
        assert_eq!(refusal.code(), Code::TooLarge);
        return;
    }
    assert_eq!(request.body(LIMIT).expect("a body").as_ref(), data);
    match verify_signed::<Map<String, Value>>(&request, &ring(SECRET), expect) {
        Ok(verified) => {
            let read: Map<String, Value> = serde_json::from_slice(data).expect("it was read");
            assert_eq!(verified.body, read);
            assert_eq!(read.get("aud"), Some(&json!(expect.aud)));
            assert_eq!(read.get("op"), Some(&json!(expect.op)));
            let id = read.get("history_id");
            match expect.history_id {
                HistoryIdIn::Nowhere => assert_eq!(id, None),
                HistoryIdIn::Path(due) => assert_eq!(id, Some(&json!(due))),
                HistoryIdIn::Body => assert!(id.is_some_and(Value::is_string)),
            }
        }
        Err(refusal) => {
            // The signature holds, so only what it signs may be refused.
            let known = [
                "body_not_json",
                "body_repeated_key",
                "body_reserved_key",
                "body_shape",
                "other_aud",
                "other_op",
                "other_history_id",
            ];
            assert!(known.contains(&refusal.reason()), "{}", refusal.reason());
            for error in refusal.errors() {
                // The detail never repeats what was sent.
                assert!(error_text_is_ours(&format!("{error:?}")));
            }
            let answer = refusal.answer(&request);
            assert!((400..500).contains(&answer.status()));
            assert!(serde_json::from_str::<Value>(answer.body()).is_ok());
        }
    }
}

/// A pointer may hold keys, so that only its length can be bounded: each is cut at 64 characters, and
/// JSON nests 128 deep.
fn error_text_is_ours(text: &str) -> bool {
    text.len() < 128 * (64 * 12 + 4)
}
