//! The signed body of a press.

use sendtrail_core::flows::Press;
use sendtrail_door::{DEFAULT_MAX_JSON_BYTES, Refusal};
use sendtrail_side_effect::fuzzing;
use serde_json::json;

use crate::body::{accepted, assert_actor, assert_refusal, assert_strict, text, with_signed};
use crate::{OTHER_SECRET, SECRET, ring};

const KEYS: [&str; 8] = [
    "aud",
    "op",
    "history_id",
    "document_sha256",
    "again_of",
    "actor",
    "id",
    "name",
];

fn read(data: &[u8], secret: &str) -> Result<Press, Refusal> {
    with_signed(data, |request| {
        fuzzing::press(request, &ring(secret), "local")
    })
}

/// Any bytes as the body of a press that is signed as it should be.
pub fn press(data: &[u8]) {
    if data.len() > DEFAULT_MAX_JSON_BYTES / 2 {
        return;
    }
    match read(data, SECRET) {
        Ok(press) => {
            check(&press, data);
            assert_strict(data, |changed| read(changed, SECRET).err());
        }
        Err(refusal) => assert_refusal(&refusal, data, &KEYS),
    }
    let refusal = read(data, OTHER_SECRET).expect_err("another key signed it");
    assert_eq!(refusal.reason(), "mismatch");
}

/// What is sent is what stands in the body, to the letter.
fn check(press: &Press, data: &[u8]) {
    let body = accepted(data);
    assert!(body.keys().all(|key| KEYS[..6].contains(&key.as_str())));
    assert_eq!(text(&body, "aud"), Some("local/side-effect"));
    assert_eq!(text(&body, "op"), Some("send"));
    assert_eq!(text(&body, "history_id"), Some(press.history_id.as_str()));
    let hash = press.document_sha256.to_string();
    assert_eq!(text(&body, "document_sha256"), Some(hash.as_str()));
    let again_of = press.again_of.as_ref().map(|id| json!(id.as_str()));
    let stands = body.get("again_of").filter(|value| !value.is_null());
    assert_eq!(stands, again_of.as_ref());
    assert_actor(&press.actor, &body);
    assert_eq!(press.key.as_str(), "msg_1");
}
