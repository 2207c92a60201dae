//! `POST /v1/histories` and `PUT /v1/histories/{id}`.

use std::time::Duration;

use jiff::SignedDuration;
use sendtrail_core::ports::StoreError;
use serde_json::{Value, json};

use super::support::{Stack, held, input};

fn with(key: &str, value: Value) -> Value {
    let mut body = input();
    body[key] = value;
    body
}

#[tokio::test(start_paused = true)]
async fn a_signed_save_makes_one_record_and_gives_tokens_for_it() {
    let stack = Stack::new();
    let answer = stack.post("msg_1", &input()).await;
    assert_eq!((answer.status, answer.text("state")), (201, "saved".into()));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.text("expires_at"), "2026-01-01T01:00:00Z");
    let keys: Vec<_> = answer.body.as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        keys,
        [
            "history_id",
            "state",
            "preview_token",
            "confirm_ticket",
            "expires_at"
        ]
    );
    let row = stack.row(&held(&answer).id);
    assert_eq!(row.state.as_deref(), Some("saved"));
    assert_eq!(row.request_key.as_deref(), Some("msg_1"));
    assert_eq!(row.source, Some(("Deals".into(), "57".into())));
    let stored: Value = serde_json::from_str(&row.input.unwrap()).unwrap();
    assert_eq!(stored["to"]["name"], "Ann Recipient");
    assert!(stored.get("actor").is_none() && stored.get("aud").is_none());
    assert_eq!(stack.traces(), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_same_request_again_makes_nothing_and_answers_200() {
    let stack = Stack::new();
    let first = held(&stack.post("msg_1", &input()).await);
    let again = stack.post("msg_1", &input()).await;
    assert_eq!((again.status, held(&again).id), (200, first.id.clone()));
    assert_eq!(stack.traces(), (0, 0, 1));
    // Its tokens work as the first ones do.
    stack.seen(&held(&again)).await;
}

#[tokio::test(start_paused = true)]
async fn one_id_with_another_body_is_refused_without_telling_what_is_stored() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let other = with("to", json!({"name": "Eve"}));
    let answer = stack.post("msg_1", &other).await;
    answer.is(409, "id_reused");
    let text = answer.handled.response.body();
    assert!(
        !text.contains("Ann") && !text.contains(saved.id.as_str()),
        "{text}"
    );
    stack
        .put(&saved.id, "msg_1", &other)
        .await
        .is(409, "id_reused");
    assert_eq!(stack.traces(), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn saving_again_replaces_the_input_drops_the_document_and_makes_old_tokens_stale() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    assert_eq!(
        stack
            .confirm(&saved, &receipt, super::support::PDF)
            .await
            .status,
        200
    );
    let answer = stack
        .put(&saved.id, "msg_2", &with("to", json!({"name": "Bob"})))
        .await;
    assert_eq!((answer.status, answer.text("state")), (200, "saved".into()));
    let row = stack.row(&saved.id);
    assert!(row.input.unwrap().contains("Bob"));
    assert_eq!((row.document, row.document_sha256), (None, None));
    assert!(!row.progress.unwrap().contains("seal"));
    stack
        .preview(&saved.id, &saved.preview_token)
        .await
        .is(409, "stale_ticket");
    stack.seen(&held(&answer)).await;
    let writes = stack.traces();
    // The same again answers without a write.
    let again = stack
        .put(&saved.id, "msg_2", &with("to", json!({"name": "Bob"})))
        .await;
    assert_eq!((again.status, stack.traces()), (200, writes));
}

#[tokio::test(start_paused = true)]
async fn a_record_past_confirmed_is_not_saved_again() {
    for state in [
        "sending",
        "accepted",
        "succeeded",
        "failed",
        "needs_review",
        "typed",
    ] {
        let stack = Stack::new();
        let saved = stack.saved().await;
        let store = &stack.app.crm.store;
        store.edit_by_hand(&saved.id, |row| row.state = Some(state.to_owned()));
        let before = stack.row(&saved.id);
        stack
            .put(&saved.id, "msg_2", &input())
            .await
            .is(409, "not_sendable");
        assert_eq!(stack.row(&saved.id), before, "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_came_between_stands() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    tokio::time::advance(Duration::from_secs(3)).await;
    stack.fail(|faults| faults.edit_before_write = true);
    stack
        .put(&saved.id, "msg_2", &input())
        .await
        .is(409, "changed_elsewhere");
    assert_eq!(
        stack.row(&saved.id).external_id.as_deref(),
        Some("typed by a person")
    );
    assert_eq!(stack.traces(), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_not_there_is_404() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    stack.app.crm.store.delete(&saved.id);
    stack
        .put(&saved.id, "msg_2", &input())
        .await
        .is(404, "not_found");
}

#[tokio::test(start_paused = true)]
async fn every_wrong_field_is_named_and_nothing_is_made() {
    let stack = Stack::new();
    let long = "x".repeat(17_000);
    let cut = format!("/{}", "k".repeat(64));
    for (pointers, body) in [
        (vec!["/actor/id"], with("actor", Value::Null)),
        (vec!["/actor/id"], with("actor", json!("Sam"))),
        (
            vec!["/actor/id"],
            with("actor", json!({"id": " ", "name": "Sam"})),
        ),
        (
            vec!["/actor/id"],
            with("actor", json!({"id": 7, "name": "Sam"})),
        ),
        (
            vec!["/actor/name"],
            with("actor", json!({"id": "u1", "name": ""})),
        ),
        (vec!["/driver"], with("driver", json!("no-such-driver"))),
        (vec!["/driver"], with("driver", json!("../letter"))),
        (
            vec!["/source"],
            with("source", json!({"module": "Deals", "record_id": "1"})),
        ),
        (vec!["/to"], with("to", json!("Ann"))),
        (vec!["/feilds"], with("feilds", json!({}))),
        (vec!["/a~1b~0c"], with("a/b~c", json!({}))),
        (vec![cut.as_str()], with(&"k".repeat(70), json!({}))),
        (vec![""], with("fields", json!({"note": long}))),
        (
            vec!["/actor/id", "/driver"],
            json!({"aud": "local/intake", "op": "save"}),
        ),
    ] {
        let answer = stack.post("msg_1", &body).await;
        answer.is(422, "invalid_request");
        let errors = answer.body["errors"].as_array().unwrap();
        let named: Vec<_> = errors
            .iter()
            .map(|error| error["pointer"].as_str().unwrap())
            .collect();
        assert_eq!(named, pointers);
    }
    assert_eq!((stack.traces(), stack.app.crm.calls()), ((0, 0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_signed_for_this_very_use_never_reaches_the_crm() {
    let stack = Stack::new();
    let mut refused = Vec::new();
    for (key, value) in [
        ("aud", "local/side-effect"),
        ("aud", "prod/intake"),
        ("op", "send"),
    ] {
        refused.push(stack.signed("POST", "/v1/histories", "msg_1", &with(key, json!(value))));
    }
    let for_put = with("history_id", json!("1"));
    refused.push(stack.signed("POST", "/v1/histories", "msg_1", &for_put));
    refused.push(stack.signed("PUT", "/v1/histories/2", "msg_1", &for_put));
    refused.push(stack.signed("PUT", "/v1/histories/1", "msg_1", &input()));
    let mut tampered = stack.signed("POST", "/v1/histories", "msg_1", &input());
    tampered["headers"]["webhook-id"] = json!("msg_2");
    refused.push(tampered);
    let mut unsigned = stack.signed("POST", "/v1/histories", "msg_1", &input());
    unsigned["headers"]
        .as_object_mut()
        .unwrap()
        .remove("webhook-signature");
    refused.push(unsigned);
    let mut old = stack.signed("POST", "/v1/histories", "msg_1", &input());
    old["requestContext"]["timeEpoch"] = json!((stack.world.after(301)).as_millisecond());
    refused.push(old);
    let mut bodies = Vec::new();
    for event in refused {
        let answer = stack.handle(&event).await;
        answer.is(401, "unauthorized");
        bodies.push(answer.handled.response.body().to_owned());
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "one answer for every reason");
    assert_eq!((stack.traces(), stack.app.crm.calls()), ((0, 0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_body_above_the_limit_is_refused_before_anything_else() {
    let stack = Stack::new();
    let body = vec![b' '; 64 * 1024 + 1];
    let event = stack.event("POST", "/v1/histories", &json!({}), &body);
    stack.handle(&event).await.is(413, "too_large");
}

#[tokio::test(start_paused = true)]
async fn a_crm_that_fails_is_told_without_its_words() {
    let limited = |seconds| StoreError::RateLimited {
        retry_after: Some(SignedDuration::from_secs(seconds)),
    };
    let detail = "words of the CRM".to_owned();
    for (error, status, code, retry) in [
        (limited(7), 503, "rate_limited", Some("7")),
        (
            StoreError::RateLimited { retry_after: None },
            503,
            "rate_limited",
            Some("10"),
        ),
        (StoreError::TokenThrottled, 503, "rate_limited", Some("600")),
        (
            StoreError::Transient {
                detail: detail.clone(),
            },
            503,
            "crm_unavailable",
            Some("10"),
        ),
        (
            StoreError::Unauthorized {
                detail: detail.clone(),
            },
            500,
            "internal",
            None,
        ),
        (
            StoreError::Malformed {
                detail: detail.clone(),
            },
            503,
            "crm_unavailable",
            Some("10"),
        ),
        (
            StoreError::Refused {
                code: "INVALID_DATA".into(),
                detail: detail.clone(),
            },
            500,
            "internal",
            None,
        ),
    ] {
        let stack = Stack::new();
        stack.fail(|faults| faults.create = Some(error));
        let answer = stack.post("msg_1", &input()).await;
        answer.is(status, code);
        assert_eq!(answer.header("retry-after"), retry);
        assert!(!answer.handled.response.body().contains(&detail));
        assert_eq!(stack.traces(), (0, 0, 0));
    }
}
