//! Events and keys for tests.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sendtrail_signature::sign;
use serde_json::{Value, json};

use crate::{Expect, HistoryIdIn, KeyRing, Request, Secret};

pub(super) const NOW: i64 = 1_700_000_000;
pub(super) const SAVE: &[u8] = br#"{"aud":"local/intake","op":"save","to":{"name":"Ann"}}"#;

pub(super) fn secret() -> Secret {
    Secret::parse(&"s".repeat(32)).unwrap()
}

pub(super) fn ring() -> KeyRing {
    KeyRing::new(vec![("first".into(), secret())]).unwrap()
}

pub(super) fn expect(history_id: HistoryIdIn<'_>) -> Expect<'_> {
    Expect {
        aud: "local/intake",
        op: "save",
        history_id,
        max_bytes: 1000,
    }
}

/// An event as a Function URL sends it, with a text body.
#[expect(clippy::needless_pass_by_value, reason = "callers hand over a literal")]
pub(super) fn event(method: &str, path: &str, headers: Value, body: &str) -> Value {
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {
            "accountId": "anonymous",
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1"},
            "requestId": "req-1",
            "timeEpoch": NOW * 1000 + 250,
        },
        "body": body,
        "isBase64Encoded": false,
    })
}

pub(super) fn signed_headers(body: &[u8]) -> Value {
    json!({
        "content-type": "application/json",
        "webhook-id": "msg_1",
        "webhook-timestamp": NOW.to_string(),
        "webhook-signature": sign(&secret(), "msg_1", &NOW.to_string(), body),
    })
}

/// A signed POST whose body comes as base64.
pub(super) fn signed_event(body: &[u8]) -> Value {
    let mut event = event("POST", "/v1/histories", signed_headers(body), "");
    event["body"] = json!(STANDARD.encode(body));
    event["isBase64Encoded"] = json!(true);
    event
}

/// Runs `check` on the request that `event` is.
pub(super) fn with_request<T>(event: &Value, check: impl FnOnce(&Request<'_>) -> T) -> T {
    let text = event.to_string();
    let request = Request::parse(&text, 5, "inv-1").unwrap();
    check(&request)
}
