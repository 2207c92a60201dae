//! Routes, time and metrics.

use proptest::prelude::*;
use sendtrail_core::ports::{Clock as _, StoreError};
use sendtrail_startup::Rotation;
use serde_json::{Value, json};

use super::support::{PDF, Stack, input};

#[tokio::test(start_paused = true)]
async fn a_path_takes_its_own_methods_and_names_them() {
    let stack = Stack::new();
    for (path, allow) in [
        ("/v1/histories", "POST"),
        ("/v1/histories/1", "PUT"),
        ("/v1/histories/1/preview", "GET"),
        ("/v1/histories/1/document", "PUT"),
    ] {
        let all = [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "put", "",
        ];
        for method in all.into_iter().filter(|method| *method != allow) {
            let answer = stack
                .handle(&stack.event(method, path, &json!({}), b""))
                .await;
            answer.is(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), Some(allow));
        }
    }
    assert_eq!(stack.app.crm.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn there_are_no_other_paths() {
    let stack = Stack::new();
    for path in [
        "/",
        "/v1",
        "/v1/sends",
        "/v2/histories",
        "/v1/histories/",
        "/v1/histories/1/",
        "/v1/Histories",
        "/v1/histories/1/preview/x",
        "/v1/histories/1/seal",
        "/v1/histories/a.b/preview",
        "/v1/histories/a%2Fb",
        "//v1/histories",
    ] {
        let answer = stack
            .handle(&stack.event("PUT", path, &json!({}), b""))
            .await;
        answer.is(404, "not_found");
    }
    let bad = stack.event("PUT", "/v1/histories/%zz", &json!({}), b"");
    stack.handle(&bad).await.is(400, "malformed_request");
    assert_eq!(stack.app.crm.calls(), 0);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("requestContext".to_owned()),
        Just("http".to_owned()),
        Just("method".to_owned()),
        Just("rawPath".to_owned()),
        Just("headers".to_owned()),
        Just("body".to_owned()),
        Just("isBase64Encoded".to_owned()),
        Just("timeEpoch".to_owned()),
        ".{0,4}",
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_json_gets_an_answer_of_4xx_and_touches_nothing(event in any_json()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let stack = Stack::new();
            let answer = stack.handle(&event).await;
            assert!((400..500).contains(&answer.status), "{answer:?}");
            assert_eq!(stack.app.crm.calls(), 0);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_crm_that_never_answers_ends_as_an_answer_before_the_deadline() {
    let stack = Stack::new();
    stack.fail(|faults| faults.silent = true);
    let deadline = stack.world.after(30);
    let answer = stack.post("msg_1", &input()).await;
    answer.is(503, "crm_unavailable");
    assert_eq!(answer.header("retry-after"), Some("10"));
    assert!(stack.world.now() < deadline);
    assert_eq!(stack.metrics(&answer)["errors"], 1);
    assert_eq!(stack.metrics(&answer)["crm_calls"], 1);
}

#[tokio::test(start_paused = true)]
async fn an_invocation_that_is_past_its_deadline_is_answered_all_the_same() {
    let stack = Stack::new();
    stack.fail(|faults| faults.silent = true);
    let event = stack
        .signed("POST", "/v1/histories", "msg_1", &input())
        .to_string();
    for deadline in [jiff::Timestamp::MIN, stack.world.after(-1)] {
        let handled = stack.app.handle(&event, "inv-1", deadline).await;
        assert_eq!(handled.response.status(), 503);
    }
}

#[tokio::test(start_paused = true)]
async fn any_event_gets_an_answer_whatever_the_deadline() {
    let stack = Stack::new();
    for deadline in [jiff::Timestamp::UNIX_EPOCH, jiff::Timestamp::MAX] {
        for event in ["null", "[]", "7", "\"text\"", "{}"] {
            let handled = stack.app.handle(event, "inv-1", deadline).await;
            assert_eq!(handled.response.status(), 400);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_metrics_say_what_was_done_by_which_key_and_what_it_cost() {
    let stack = Stack::new();
    let answer = stack.post("msg_1", &input()).await;
    let line = stack.metrics(&answer);
    for (name, value) in [
        ("function", json!("intake")),
        ("stage", json!("local")),
        ("route", json!("save")),
        ("outcome", json!("saved")),
        ("code", json!("ok")),
        ("status", json!("201")),
        ("key_name", json!("k1")),
        ("requests", json!(1)),
        ("refused", json!(0)),
        ("errors", json!(0)),
        ("unauthorized", json!(0)),
        ("crm_calls", json!(2)),
        ("crm_credits", json!(4)),
        ("duration_ms", json!(40)),
    ] {
        assert_eq!(line[name], value, "{name}");
    }
    let preview = stack
        .preview(&super::support::held(&answer).id, "none")
        .await;
    let line = stack.metrics(&preview);
    for (name, value) in [
        ("route", json!("preview")),
        ("outcome", json!("refused")),
        ("code", json!("unauthorized")),
        ("unauthorized", json!(1)),
        ("refused", json!(1)),
        ("errors", json!(0)),
        ("crm_calls", json!(0)),
    ] {
        assert_eq!(line[name], value, "{name}");
    }
    assert!(line.get("key_name").is_none() && line.get("document_bytes").is_none());
    let malformed = stack.metrics(&stack.handle_text("null").await);
    assert_eq!(
        (&malformed["route"], &malformed["code"]),
        (&json!("none"), &json!("malformed_request"))
    );
    let saved = super::support::held(&answer);
    let shown = stack.preview(&saved.id, &saved.preview_token).await;
    assert_eq!(stack.metrics(&shown)["document_bytes"], PDF.len());
}

#[tokio::test(start_paused = true)]
async fn a_drained_function_answers_every_request_so_and_asks_nobody() {
    let stack = Stack::with(|settings| settings.drain = true);
    let good = stack.signed("POST", "/v1/histories", "msg_1", &input());
    let mut forged = good.clone();
    forged["headers"]["webhook-id"] = json!("msg_2");
    let mut unreadable = good.clone();
    unreadable["body"] = json!("no base64");
    let nowhere = stack.event("GET", "/%zz", &json!({}), b"");
    for event in [good, forged, unreadable, nowhere] {
        let answer = stack.handle(&event).await;
        answer.is(503, "draining");
        assert_eq!(answer.header("retry-after"), Some("300"));
        let line = stack.metrics(&answer);
        assert_eq!(
            (&line["code"], &line["errors"]),
            (&json!("draining"), &json!(0))
        );
        assert_eq!(line["crm_calls"], 0);
        assert_eq!(answer.handled.rotation, Rotation::None);
    }
    assert_eq!(stack.traces(), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_a_changed_secret_would_explain_is_told_to_the_loop() {
    let stack = Stack::new();
    let mut forged = stack.signed("POST", "/v1/histories", "msg_1", &input());
    forged["headers"]["webhook-id"] = json!("msg_2");
    let seen = async |event: &Value| stack.handle(event).await.handled.rotation;
    assert_eq!(seen(&forged).await, Rotation::NoKeyMatched);
    forged["headers"]["webhook-signature"] = json!("v1,AAAA");
    assert_eq!(seen(&forged).await, Rotation::None);
    let good = stack.signed("POST", "/v1/histories", "msg_3", &input());
    let detail = "invalid_code".to_owned();
    stack.fail(|faults| faults.create = Some(StoreError::Unauthorized { detail }));
    assert_eq!(seen(&good).await, Rotation::CredentialsRefused);
    stack.fail(|faults| faults.create = None);
    assert_eq!(seen(&good).await, Rotation::None);
}
