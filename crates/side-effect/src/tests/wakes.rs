//! The route that brings a look-up forward.

use jiff::SignedDuration;
use sendtrail_core::flows;
use sendtrail_core::ids::HistoryId;
use sendtrail_core::policy::PollPolicy;
use sendtrail_core::ports::{Clock as _, LookUpAnswer, ReadHistory as _, StoreError};
use serde_json::{Value, json};

use super::support::{ACTOR, Rig, Seen, accepted};

fn wake_body(id: &str) -> Value {
    json!({
        "aud": "local/side-effect",
        "op": "wake",
        "history_id": id,
        "actor": {"id": "u1", "name": ACTOR},
        "reason": "the customer is on the phone",
    })
}

/// Posts this body, signed, to the wake path of this record.
async fn post(rig: &Rig, id: &str, body: &Value) -> Seen {
    let mut event = rig.signed("wake-1", &body.to_string());
    let path = format!("/v1/sends/{id}/wake");
    event["rawPath"] = json!(path);
    event["requestContext"]["http"]["path"] = json!(path);
    rig.serve(&event.to_string()).await
}

async fn wake(rig: &Rig, id: &HistoryId) -> Seen {
    post(rig, id.as_str(), &wake_body(id.as_str())).await
}

/// An accepted send, looked up so often that the next time is far away.
async fn waiting(rig: &Rig) -> HistoryId {
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    assert_eq!(rig.press("press-1", &id).await.status, 200);
    for _ in 0..3 {
        rig.driver().will_answer(LookUpAnswer::Pending {
            status: "in_transit".to_owned(),
            recognised: true,
        });
        rig.world.sleep(SignedDuration::from_mins(12)).await;
        poll(rig).await;
    }
    settle(rig, &id).await;
    id
}

/// Lets the record's version pass, and the store's clock be known to have passed it.
async fn settle(rig: &Rig, id: &HistoryId) {
    rig.world.sleep(SignedDuration::from_secs(3)).await;
    rig.memory.read(id).await.unwrap();
}

async fn poll(rig: &Rig) {
    let secs = SignedDuration::from_secs;
    let policy = PollPolicy {
        stage: "local".to_owned(),
        claim_stale: secs(90),
        page_rows: 200,
        max_pages: 5,
        concurrency: 8,
        rate_per_second: 20,
        row_timeout: secs(20),
        reserve: secs(15),
        list_lag: secs(60),
        interval: secs(120),
    };
    let until = rig.world.after(110);
    let (store, drivers, world) = (&rig.memory, &rig.app.drivers, &rig.world);
    let report = flows::run(store, drivers, world, &policy, until).await;
    assert_eq!(report.unwrap().looked_up, 1);
}

#[tokio::test(start_paused = true)]
async fn a_wake_makes_an_accepted_send_due_and_the_trail_says_who_asked_and_why() {
    let rig = Rig::new();
    let id = waiting(&rig).await;
    let (before, now) = (rig.progress(&id), rig.world.now());
    let seen = wake(&rig, &id).await;
    assert_eq!(seen.status, 200, "{}", seen.body);
    let next_check_at = rig.progress(&id).next_check_at().unwrap();
    assert!(next_check_at <= rig.world.now() && next_check_at < before.next_check_at().unwrap());
    assert!(now.duration_since(next_check_at) < SignedDuration::from_secs(1));
    assert_eq!(
        seen.body,
        json!({
            "history_id": id.as_str(),
            "state": "accepted",
            "next_check_at": next_check_at.to_string(),
            "woken": true,
        })
    );
    assert_eq!(seen.metrics["route"], "POST /v1/sends/{id}/wake");
    assert_eq!(seen.metrics["key_name"], "k1");
    assert_eq!(seen.metrics["woken"], 1);
    assert_eq!(seen.metrics["outcome"], "none");
    assert!(seen.metrics.get("wake_up").is_none(), "there are none here");
    seen.assert_discreet();
    let progress = rig.progress(&id);
    let last = progress.trail.last().unwrap();
    assert_eq!(last.event, "woken");
    assert_eq!(last.by.as_deref(), Some(ACTOR));
    assert_eq!(last.reason.as_deref(), Some("the customer is on the phone"));
    assert_eq!(rig.driver().submits().len(), 1, "to wake is not to submit");

    settle(&rig, &id).await;
    let writes = rig.memory.writes();
    let again = wake(&rig, &id).await;
    assert_eq!((again.status, &again.body["woken"]), (200, &json!(false)));
    assert_eq!(again.metrics["woken"], 0);
    assert_eq!(rig.memory.writes(), writes);
}

#[tokio::test(start_paused = true)]
async fn a_wake_is_for_this_op_this_stage_and_this_record() {
    let rig = Rig::new();
    let id = waiting(&rig).await;
    let writes = rig.memory.writes();
    let changed = |key: &str, value: Value| {
        let mut body = wake_body(id.as_str());
        body[key] = value;
        body
    };
    let mut nameless = wake_body(id.as_str());
    nameless.as_object_mut().unwrap().remove("history_id");
    for body in [
        changed("aud", json!("prod/side-effect")),
        changed("aud", json!("local/intake")),
        changed("op", json!("send")),
        changed("history_id", json!("1")),
        nameless,
    ] {
        post(&rig, id.as_str(), &body)
            .await
            .assert_problem(401, "unauthorized");
    }
    // The body of a wake is no press, and another record's path is another record's.
    let press = rig.post("wake-2", &wake_body(id.as_str())).await;
    press.assert_problem(401, "unauthorized");
    post(&rig, "1", &wake_body(id.as_str()))
        .await
        .assert_problem(401, "unauthorized");
    assert_eq!(rig.memory.writes(), writes);
}

#[tokio::test(start_paused = true)]
async fn wrong_fields_are_named_and_an_actor_is_required() {
    let rig = Rig::new();
    let id = waiting(&rig).await;
    let writes = rig.memory.writes();
    for (key, value, pointer) in [
        ("actor", json!({"id": "u1", "name": " "}), "/actor/name"),
        ("actor", json!(["u1", ACTOR]), "/actor"),
        ("actor", Value::Null, "/actor"),
        ("reason", json!("x".repeat(301)), "/reason"),
        ("reason", json!(7), "/reason"),
        ("document_sha256", json!("00"), "/document_sha256"),
    ] {
        let mut body = wake_body(id.as_str());
        body[key] = value;
        let seen = post(&rig, id.as_str(), &body).await;
        seen.assert_problem(422, "invalid_request");
        let named = seen.body["errors"][0]["pointer"].as_str().unwrap();
        assert!(named == pointer || named.is_empty(), "{}", seen.body);
    }
    assert_eq!(rig.memory.writes(), writes);
}

#[tokio::test(start_paused = true)]
async fn only_an_accepted_send_is_woken_and_its_state_is_not_told() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    settle(&rig, &id).await;
    let writes = rig.memory.writes();
    let seen = wake(&rig, &id).await;
    seen.assert_problem(409, "not_sendable");
    assert!(
        !seen.body.to_string().contains("confirmed"),
        "{}",
        seen.body
    );
    assert!(seen.text.contains("state `confirmed`"), "the log tells it");
    assert_eq!(rig.memory.writes(), writes);

    let unknown = post(&rig, "999", &wake_body("999")).await;
    unknown.assert_problem(404, "not_found");
}

#[tokio::test(start_paused = true)]
async fn a_conflict_and_a_store_that_fails_are_told_and_may_be_tried_again() {
    let rig = Rig::new();
    let id = waiting(&rig).await;
    rig.memory.fail_next_read(StoreError::Transient {
        detail: "down".to_owned(),
    });
    let seen = wake(&rig, &id).await;
    seen.assert_problem(503, "crm_unavailable");
    assert!(seen.retry_after.is_some());
    assert_eq!(wake(&rig, &id).await.body["woken"], true);
}

#[tokio::test(start_paused = true)]
async fn other_methods_and_ids_that_are_none_are_refused() {
    let rig = Rig::new();
    for method in ["GET", "PUT", "DELETE"] {
        let event = rig.event(method, "/v1/sends/1/wake", &json!({}), "");
        let seen = rig.serve(&event.to_string()).await;
        seen.assert_problem(405, "method_not_allowed");
        assert_eq!(seen.allow.as_deref(), Some("POST"));
    }
    for path in ["/v1/sends/1/wakes", "/v1/sends/1/wake/2", "/v1/sends//wake"] {
        let event = rig.event("POST", path, &json!({}), "");
        rig.serve(&event.to_string())
            .await
            .assert_problem(404, "not_found");
    }
}
