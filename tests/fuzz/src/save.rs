//! The signed body of a save.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use sendtrail_core::flows::SaveOrder;
use sendtrail_core::ids::DriverId;
use sendtrail_core::input::{Input, MAX_INPUT_BYTES};
use sendtrail_core::ports::SourceFile;
use sendtrail_door::{DEFAULT_MAX_JSON_BYTES, Refusal, TokenKey};
use sendtrail_intake::{Settings, fuzzing};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::body::{Body, accepted, assert_actor, assert_refusal, assert_strict, text, with_signed};
use crate::{OTHER_SECRET, SECRET, ring, secret};

const KEYS: [&str; 14] = [
    "aud",
    "op",
    "history_id",
    "driver",
    "source",
    "to",
    "fields",
    "actor",
    "id",
    "name",
    "module",
    "record_id",
    "attachment_id",
    "field",
];

fn settings(signing: &str) -> Settings {
    let letter = DriverId::parse("letter").expect("an id");
    Settings {
        stage: "local".to_owned(),
        signing_keys: ring(signing),
        token_key: TokenKey::new(secret(OTHER_SECRET), "local"),
        drivers: BTreeSet::from([letter]),
        preview_ttl: SignedDuration::from_mins(10),
        confirm_ttl: SignedDuration::from_mins(60),
        preview_link: false,
        max_document_bytes: 1024,
        attempt_time: SignedDuration::from_secs(10),
        drain: false,
    }
}

/// Any bytes as the body of a save that is signed as it should be.
pub fn save(data: &[u8]) {
    if data.len() > DEFAULT_MAX_JSON_BYTES / 2 {
        return;
    }
    let settings_now = settings(SECRET);
    for path_id in [None, Some("57")] {
        let read = |data: &[u8]| {
            with_signed(data, |request| {
                fuzzing::save(&settings_now, request, path_id)
            })
        };
        match read(data) {
            Ok(order) => {
                check(&order, data, path_id);
                assert_strict(data, |changed| read(changed).err());
            }
            Err(refusal) => assert_refusal(&refusal, data, &KEYS),
        }
    }
    let other: Result<_, Refusal> = with_signed(data, |request| {
        fuzzing::save(&settings(OTHER_SECRET), request, None)
    });
    assert_eq!(
        other.expect_err("another key signed it").reason(),
        "mismatch"
    );
}

/// What is stored is what stands in the body, and reads back the same.
fn check(order: &SaveOrder, data: &[u8], path_id: Option<&str>) {
    let body = accepted(data);
    assert!(body.keys().all(|key| KEYS[..8].contains(&key.as_str())));
    assert_eq!(text(&body, "aud"), Some("local/intake"));
    assert_eq!(text(&body, "op"), Some("save"));
    assert_eq!(body.get("history_id").and_then(Value::as_str), path_id);
    assert_eq!(body.contains_key("history_id"), path_id.is_some());
    assert_eq!(order.key.as_str(), "msg_1");
    let hash = crate::hex(&Sha256::digest(data));
    assert_eq!(order.body_sha256.to_string(), hash);
    assert_actor(&order.actor, &body);
    check_input(&order.input, &body);
    assert!(order.stored.is_ascii() && order.stored.len() <= MAX_INPUT_BYTES);
    assert_eq!(Input::from_stored(&order.stored).as_ref(), Ok(&order.input));
}

fn check_input(input: &Input, body: &Body) {
    assert_eq!(text(body, "driver"), Some(input.driver.as_str()));
    let source = body["source"].as_object().expect("it was read");
    let (module, record) = (&input.source.module, &input.source.record_id);
    assert_eq!(text(source, "module"), Some(module.as_str()));
    assert_eq!(text(source, "record_id"), Some(record.as_str()));
    let (key, other, name) = match &input.source.file {
        SourceFile::Attachment(id) => ("attachment_id", "field", id),
        SourceFile::Field(name) => ("field", "attachment_id", name),
    };
    assert_eq!(text(source, key), Some(name.as_str()));
    assert!(!source.contains_key(other));
    assert_eq!(body["to"].as_object(), Some(&input.to));
    let fields = body.get("fields").map(|value| value.as_object());
    assert_eq!(fields.unwrap_or(Some(&Body::new())), Some(&input.fields));
}
