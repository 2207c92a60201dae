//! Requests that get no further than the door, and totality: any event has an answer.

use sendtrail_core::ids::HistoryId;
use sendtrail_startup::Rotation;
use serde_json::{Value, json};

use super::support::{Rig, send_body};

#[tokio::test(start_paused = true)]
async fn every_unverified_request_gets_the_same_401_and_does_nothing() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    let text = send_body(&id).to_string();
    let good = rig.signed("press-1", &text);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut event = good.clone();
        change(&mut event);
        event
    };
    let signed_with = |key: &str, value: &str| {
        let mut body = send_body(&id);
        body[key] = json!(value);
        rig.signed("press-1", &body.to_string())
    };
    let without = |key: &str| {
        let mut body = send_body(&id);
        body.as_object_mut().unwrap().remove(key);
        rig.signed("press-1", &body.to_string())
    };
    let events = [
        with(&|event| event["headers"]["webhook-signature"] = json!("v1,AAAA")),
        with(&|event| event["headers"]["webhook-id"] = json!("press-2")),
        with(&|event| event["headers"] = json!({})),
        with(&|event| event["body"] = json!(text.replace("send", "sent"))),
        with(&|event| {
            event["requestContext"]["timeEpoch"] = json!(1_767_226_000_000_i64);
        }),
        signed_with("aud", "local/intake"),
        signed_with("aud", "prod/side-effect"),
        signed_with("op", "save"),
        without("aud"),
        without("op"),
        without("history_id"),
    ];
    let mut answers = Vec::new();
    for event in events {
        let seen = rig.serve(&event.to_string()).await;
        seen.assert_problem(401, "unauthorized");
        assert_eq!(seen.metrics["unauthorized"], 1);
        answers.push(seen.body.to_string());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    rig.assert_untouched(writes);
    assert!(rig.lines().iter().all(|line| line["level"] == "INFO"));
}

#[tokio::test(start_paused = true)]
async fn every_wrong_field_is_named_at_once() {
    let rig = Rig::new();
    let body = json!({
        "aud": "local/side-effect",
        "op": "send",
        "history_id": "a/b",
        "document_sha256": "ABC",
        "again_of": "",
        "actor": {"id": "", "name": " "},
    });
    let seen = rig.post("press-1", &body).await;
    seen.assert_problem(422, "invalid_request");
    let errors = seen.body["errors"].as_array().unwrap();
    let pointers: Vec<_> = errors
        .iter()
        .filter_map(|e| e["pointer"].as_str())
        .collect();
    assert_eq!(
        pointers,
        [
            "/history_id",
            "/document_sha256",
            "/again_of",
            "/actor/id",
            "/actor/name"
        ]
    );
    assert_eq!(seen.metrics["key_name"], "k1");
    rig.assert_untouched(0);
}

#[tokio::test(start_paused = true)]
async fn a_missing_or_mistyped_field_is_named() {
    let rig = Rig::new();
    let id = HistoryId::parse("1").unwrap();
    for (key, value, pointer) in [
        ("actor", Value::Null, "/actor"),
        ("actor", json!(["u1", "Sam Seller"]), "/actor"),
        ("actor", json!({"id": "u1"}), "/actor/name"),
        ("document_sha256", json!(7), "/document_sha256"),
    ] {
        let mut body = send_body(&id);
        body[key] = value;
        let seen = rig.post("press-1", &body).await;
        seen.assert_problem(422, "invalid_request");
        assert_eq!(seen.body["errors"][0]["pointer"], pointer);
    }
    let twice = send_body(&id)
        .to_string()
        .replacen('{', r#"{"op":"send","#, 1);
    let event = rig.signed("press-1", &twice).to_string();
    rig.serve(&event)
        .await
        .assert_problem(422, "invalid_request");
    rig.assert_untouched(0);
}

#[tokio::test(start_paused = true)]
async fn a_body_above_the_limit_is_refused_before_its_signature() {
    let rig = Rig::new();
    let event = rig.signed("press-1", &" ".repeat(64 * 1024 + 1));
    rig.serve(&event.to_string())
        .await
        .assert_problem(413, "too_large");
}

#[tokio::test(start_paused = true)]
async fn other_methods_and_paths_are_refused() {
    let rig = Rig::new();
    for method in ["GET", "PUT", "DELETE", "OPTIONS", "post"] {
        let event = rig.event(method, "/v1/sends", &json!({}), "");
        let seen = rig.serve(&event.to_string()).await;
        seen.assert_problem(405, "method_not_allowed");
        assert_eq!(seen.allow.as_deref(), Some("POST"));
    }
    for path in [
        "/",
        "/v1",
        "/v1/sends/",
        "/v1/sends/1",
        "/v1/histories",
        "//v1/sends",
        "/v1/%2e",
    ] {
        let event = rig.event("POST", path, &json!({}), "");
        let seen = rig.serve(&event.to_string()).await;
        seen.assert_problem(404, "not_found");
        assert_eq!(seen.metrics["route"], "none");
    }
    let event = rig.event("POST", "/v1/%zz", &json!({}), "");
    rig.serve(&event.to_string())
        .await
        .assert_problem(400, "malformed_request");
    rig.assert_untouched(0);
}

#[tokio::test(start_paused = true)]
async fn any_json_as_the_event_gets_an_answer() {
    let rig = Rig::new();
    for event in [
        "null",
        "{}",
        "[]",
        "7",
        "\"x\"",
        r#"{"v":1,"kind":"tick"}"#,
        r#"{"requestContext":null}"#,
        r#"{"requestContext":{"http":{}},"rawPath":7}"#,
        r#"{"requestContext":{"http":{"method":"POST"}},"rawPath":"/v1/sends","body":7}"#,
        "",
        "{",
    ] {
        let seen = rig.serve(event).await;
        seen.assert_problem(400, "malformed_request");
        assert_eq!(seen.body["request_id"], "inv-1", "{event}");
    }
    rig.assert_untouched(0);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_no_base64_is_malformed() {
    let rig = Rig::new();
    let mut event = rig.signed("press-1", "????");
    event["isBase64Encoded"] = json!(true);
    rig.serve(&event.to_string())
        .await
        .assert_problem(400, "malformed_request");
}

#[tokio::test(start_paused = true)]
async fn a_drained_function_answers_every_request_so_and_does_nothing() {
    let mut rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    rig.app.drain = true;
    let good = rig.signed("press-1", &send_body(&id).to_string());
    let mut forged = good.clone();
    forged["headers"]["webhook-id"] = json!("press-2");
    let nowhere = rig.event("GET", "/%zz", &json!({}), "");
    for event in [good, forged, nowhere] {
        let seen = rig.serve(&event.to_string()).await;
        assert_eq!((seen.status, seen.code()), (503, "draining"));
        assert_eq!(seen.retry_after.as_deref(), Some("300"));
        assert_eq!(
            (&seen.metrics["code"], &seen.metrics["errors"]),
            (&json!("draining"), &json!(0))
        );
        assert_eq!(seen.rotation, Rotation::None);
    }
    rig.assert_untouched(writes);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_no_key_signed_is_told_to_the_loop_as_such() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let good = rig.signed("press-1", &send_body(&id).to_string());
    let mut forged = good.clone();
    forged["headers"]["webhook-id"] = json!("press-2");
    let seen = rig.serve(&forged.to_string()).await;
    assert_eq!(seen.rotation, Rotation::NoKeyMatched);
    let seen = rig.serve(&good.to_string()).await;
    assert_eq!(seen.rotation, Rotation::None);
}
