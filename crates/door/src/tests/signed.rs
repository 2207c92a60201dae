use sendtrail_signature::sign;
use serde_json::{Value, json};

use super::support::{
    NOW, SAVE, event, expect, ring, secret, signed_event, signed_headers, with_request,
};
use crate::{
    Claims, Code, Expected, HistoryIdIn, Purpose, Secret, TokenKey, Verified, verify_bearer,
    verify_receipt, verify_signed,
};

fn check_at(
    event: &Value,
    history_id: HistoryIdIn<'_>,
) -> Result<Verified<Value>, (Code, &'static str)> {
    with_request(event, |request| {
        verify_signed(request, &ring(), &expect(history_id))
            .map_err(|refusal| (refusal.code(), refusal.reason()))
    })
}

fn check(event: &Value) -> Result<Verified<Value>, (Code, &'static str)> {
    check_at(event, HistoryIdIn::Nowhere)
}

fn unauthorized<T>(reason: &'static str) -> Result<T, (Code, &'static str)> {
    Err((Code::Unauthorized, reason))
}

#[test]
fn a_signed_body_passes_as_text_and_as_base64() {
    let text = str::from_utf8(SAVE).unwrap();
    let as_text = event("POST", "/v1/histories", signed_headers(SAVE), text);
    let (one, two) = (
        check(&as_text).unwrap(),
        check(&signed_event(SAVE)).unwrap(),
    );
    assert_eq!(one, two);
    assert_eq!(one.key_name, "first");
    assert_eq!(one.webhook_id, "msg_1");
    assert_eq!(one.signed_at, NOW);
    assert_eq!(one.body["to"]["name"], "Ann");
    assert_eq!(one.body_sha256.len(), 64);
}

#[test]
fn the_content_type_does_not_matter_to_a_signature() {
    for kind in [
        json!("text/plain"),
        json!("application/x-www-form-urlencoded"),
        Value::Null,
    ] {
        let mut event = signed_event(SAVE);
        event["headers"]["content-type"] = kind;
        assert!(check(&event).is_ok());
    }
}

#[test]
fn header_names_in_any_case_and_a_comma_joined_list_pass() {
    let good = sign(&secret(), "msg_1", &NOW.to_string(), SAVE);
    let mut event = signed_event(SAVE);
    event["headers"] = json!({
        "Webhook-Id": "msg_1",
        "WEBHOOK-TIMESTAMP": NOW.to_string(),
        "Webhook-Signature": "v1,AAAA",
        "webhook-signature": good,
    });
    assert!(check(&event).is_ok());
}

#[test]
fn a_missing_or_repeated_header_is_refused() {
    for (name, missing) in [
        ("webhook-id", "missing_id"),
        ("webhook-timestamp", "missing_timestamp"),
        ("webhook-signature", "missing_signature"),
    ] {
        let mut event = signed_event(SAVE);
        event["headers"][name] = Value::Null;
        assert_eq!(check(&event), unauthorized(missing));
    }
    for (name, repeated) in [
        ("webhook-id", "repeated_id"),
        ("webhook-timestamp", "repeated_timestamp"),
    ] {
        let mut event = signed_event(SAVE);
        event["headers"][name.to_uppercase()] = event["headers"][name].clone();
        assert_eq!(check(&event), unauthorized(repeated));
    }
}

#[test]
fn the_window_is_measured_by_the_gateways_clock() {
    let mut late = signed_event(SAVE);
    late["requestContext"]["timeEpoch"] = json!((NOW + 301) * 1000);
    assert_eq!(check(&late), unauthorized("too_old"));
    let mut early = signed_event(SAVE);
    early["requestContext"]["timeEpoch"] = json!((NOW - 301) * 1000);
    assert_eq!(check(&early), unauthorized("too_new"));
    // Without it ours counts, which these tests set to 1970.
    let mut without = signed_event(SAVE);
    without["requestContext"]["timeEpoch"] = Value::Null;
    assert_eq!(check(&without), unauthorized("too_new"));
}

#[test]
fn a_body_for_another_audience_or_operation_is_refused_although_signed() {
    for (body, reason) in [
        (
            json!({"aud": "local/side-effect", "op": "save"}),
            "other_aud",
        ),
        (json!({"aud": "prod/intake", "op": "save"}), "other_aud"),
        (json!({"aud": ["local/intake"], "op": "save"}), "other_aud"),
        (json!({"op": "save"}), "other_aud"),
        (json!([]), "other_aud"),
        (json!({"aud": "local/intake", "op": "send"}), "other_op"),
        (json!({"aud": "local/intake"}), "other_op"),
        // A PUT's body must not create a record.
        (
            json!({"aud": "local/intake", "op": "save", "history_id": "7"}),
            "other_history_id",
        ),
        (
            json!({"aud": "local/intake", "op": "save", "history_id": null}),
            "other_history_id",
        ),
    ] {
        assert_eq!(
            check(&signed_event(body.to_string().as_bytes())),
            unauthorized(reason),
            "{body}"
        );
    }
}

#[test]
fn the_history_id_is_the_paths_or_in_the_body_as_expected() {
    let with = |id: Value| {
        signed_event(
            json!({"aud": "local/intake", "op": "save", "history_id": id})
                .to_string()
                .as_bytes(),
        )
    };
    assert!(check_at(&with(json!("7")), HistoryIdIn::Path("7")).is_ok());
    assert!(check_at(&with(json!("7")), HistoryIdIn::Body).is_ok());
    let other = unauthorized("other_history_id");
    assert_eq!(check_at(&with(json!("8")), HistoryIdIn::Path("7")), other);
    assert_eq!(check_at(&with(json!(7)), HistoryIdIn::Path("7")), other);
    assert_eq!(check_at(&with(json!(7)), HistoryIdIn::Body), other);
    assert_eq!(check_at(&signed_event(SAVE), HistoryIdIn::Path("7")), other);
    assert_eq!(check_at(&signed_event(SAVE), HistoryIdIn::Body), other);
}

#[test]
fn nothing_is_parsed_before_the_signature_holds() {
    let mut forged = signed_event(b"{ not json");
    forged["headers"]["webhook-signature"] = signed_headers(SAVE)["webhook-signature"].clone();
    assert_eq!(check(&forged), unauthorized("mismatch"));
    let signed = check(&signed_event(b"{ not json"));
    assert_eq!(signed, Err((Code::InvalidRequest, "body_not_json")));
    let not_utf8 = check(&signed_event(b"\xff\xfe"));
    assert_eq!(not_utf8, Err((Code::InvalidRequest, "body_not_json")));
    let repeated = br#"{"aud":"local/intake","op":"save","to":{"a":1,"a":2}}"#;
    assert_eq!(
        check(&signed_event(repeated)),
        Err((Code::InvalidRequest, "body_repeated_key"))
    );
}

#[test]
fn a_large_body_is_refused_before_the_signature() {
    let large = vec![b' '; 1001];
    assert_eq!(
        check(&signed_event(&large)),
        Err((Code::TooLarge, "body_too_large"))
    );
    let mut invalid = signed_event(SAVE);
    invalid["body"] = json!("%%%=");
    assert_eq!(
        check(&invalid),
        Err((Code::MalformedRequest, "body_not_base64"))
    );
}

#[test]
fn tokens_are_checked_with_the_gateways_clock_and_named_inside() {
    let key = TokenKey::new(secret(), "local");
    let claims = |purpose| Claims {
        purpose,
        history_id: "7".into(),
        rev: 3,
        input_sha256: "1a".repeat(32),
        document_sha256: Some("ab".repeat(32)),
        expires_at: NOW + 1,
    };
    let expected = |purpose| Expected {
        purpose,
        history_id: "7",
        rev: Some(3),
        input_sha256: None,
        document_sha256: None,
    };
    let ticket = key.issue(&claims(Purpose::Confirm));
    let receipt = key.issue(&claims(Purpose::Receipt));
    let headers =
        json!({"authorization": format!("Bearer {ticket}"), "sendtrail-receipt": receipt});
    let put = event("PUT", "/v1/histories/7/document", headers, "");
    with_request(&put, |request| {
        let confirm = verify_bearer(request, &key, &expected(Purpose::Confirm)).unwrap();
        assert_eq!(confirm, claims(Purpose::Confirm));
        assert!(verify_receipt(request, &key, &expected(Purpose::Receipt)).is_ok());
        let wrong = verify_bearer(request, &key, &expected(Purpose::Preview)).unwrap_err();
        assert_eq!(
            (wrong.code(), wrong.reason()),
            (Code::Unauthorized, "token_other_purpose")
        );
        let other = "cd".repeat(32);
        let due = Expected {
            input_sha256: Some(&other),
            ..expected(Purpose::Receipt)
        };
        let other_input = verify_receipt(request, &key, &due).unwrap_err();
        assert_eq!(
            (other_input.code(), other_input.reason()),
            (Code::Unauthorized, "token_other_input")
        );
        let due = Expected {
            document_sha256: Some(&other),
            ..expected(Purpose::Receipt)
        };
        let changed = verify_receipt(request, &key, &due).unwrap_err();
        assert_eq!(
            (changed.code(), changed.reason()),
            (Code::DocumentChanged, "token_other_document")
        );
    });
    let mut late = put;
    late["requestContext"]["timeEpoch"] = json!((NOW + 1) * 1000);
    late["headers"]["sendtrail-receipt"] = Value::Null;
    with_request(&late, |request| {
        let expired = verify_bearer(request, &key, &expected(Purpose::Confirm)).unwrap_err();
        assert_eq!(
            (expired.code(), expired.reason()),
            (Code::Unauthorized, "token_expired")
        );
        let missing = verify_receipt(request, &key, &expected(Purpose::Receipt)).unwrap_err();
        assert_eq!(
            (missing.code(), missing.reason()),
            (Code::Unauthorized, "receipt_missing")
        );
    });
}

#[test]
fn a_key_that_was_changed_explains_only_a_good_request_of_now_that_no_key_made() {
    let may_be = |event: &Value| {
        with_request(event, |request| {
            let refused = verify_signed::<Value>(request, &ring(), &expect(HistoryIdIn::Nowhere));
            refused.unwrap_err().may_be_rotation()
        })
    };
    let other = Secret::parse(&"o".repeat(32)).unwrap();
    let signed_at = |seconds: i64| {
        let mut event = signed_event(SAVE);
        let timestamp = seconds.to_string();
        event["headers"]["webhook-timestamp"] = json!(timestamp);
        event["headers"]["webhook-signature"] = json!(sign(&other, "msg_1", &timestamp, SAVE));
        event
    };
    for seconds in [NOW, NOW - 300, NOW + 300] {
        assert!(may_be(&signed_at(seconds)), "{seconds}");
    }
    for seconds in [NOW - 301, NOW + 301, 0, -1, i64::MAX] {
        assert!(!may_be(&signed_at(seconds)), "{seconds}");
    }
    let good = signed_event(SAVE);
    for (name, value) in [
        ("webhook-id", Value::Null),
        ("webhook-timestamp", Value::Null),
        ("webhook-timestamp", json!("yesterday")),
        ("webhook-signature", Value::Null),
        ("webhook-signature", json!("v1,AAAA")),
        ("webhook-signature", json!("v2,AAAA")),
    ] {
        let mut event = good.clone();
        event["headers"][name] = value;
        assert!(!may_be(&event), "{name}");
    }
    // The signature holds: no other key would do better.
    let other_op = signed_event(br#"{"aud":"local/intake","op":"send"}"#);
    let mut late = good;
    late["requestContext"]["timeEpoch"] = json!((NOW + 301) * 1000);
    assert!(!may_be(&other_op) && !may_be(&late));
}

#[test]
fn a_key_that_was_changed_explains_only_a_token_that_no_key_made() {
    let key = TokenKey::new(secret(), "local");
    let claims = Claims {
        purpose: Purpose::Preview,
        history_id: "57".into(),
        rev: 1,
        input_sha256: "0".repeat(64),
        document_sha256: None,
        expires_at: NOW + 60,
    };
    let may_be = |token: &str, expected: &str| {
        let headers = json!({"authorization": format!("Bearer {token}")});
        let event = event("GET", "/v1/histories/57/preview", headers, "");
        with_request(&event, |request| {
            let expected = Expected {
                purpose: Purpose::Preview,
                history_id: expected,
                rev: None,
                input_sha256: None,
                document_sha256: None,
            };
            let refused = verify_bearer(request, &key, &expected);
            refused.unwrap_err().may_be_rotation()
        })
    };
    let other = Secret::parse(&"o".repeat(32)).unwrap();
    let changed = TokenKey::new(other, "local").issue(&claims);
    assert!(may_be(&changed, "57"));
    let own = key.issue(&claims);
    assert!(!may_be(&own, "58"), "of another record");
    let late = key.issue(&Claims {
        expires_at: NOW,
        ..claims
    });
    assert!(!may_be(&late, "57") && !may_be("a.b", "57") && !may_be("", "57"));
}
