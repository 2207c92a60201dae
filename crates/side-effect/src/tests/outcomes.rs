//! What a press answers, for each outcome.

use jiff::SignedDuration;
use sendtrail_core::ports::{Metered as _, SubmitOutcome};
use serde_json::json;

use super::support::{Rig, accepted, evidence, not_sent, send_body};

#[tokio::test(start_paused = true)]
async fn an_accepted_send_answers_its_state_and_id_and_submits_once() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    let seen = rig.press("press-1", &id).await;
    assert_eq!(seen.status, 200, "{}", seen.body);
    assert_eq!(
        seen.body,
        json!({"history_id": id.as_str(), "state": "accepted", "outcome": "accepted", "external_id": "ltr_1"})
    );
    assert_eq!(rig.driver().submits().len(), 1);
    assert_eq!(rig.state(&id), "accepted");
    assert_eq!(rig.row(&id).external_id.as_deref(), Some("ltr_1"));
    seen.assert_discreet();
}

#[tokio::test(start_paused = true)]
async fn a_press_is_one_log_line_and_one_metrics_line() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    rig.driver().takes(SignedDuration::from_secs(3));
    let seen = rig.press("press-1", &id).await;
    let lines = rig.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = &lines[0];
    assert_eq!(line["message"], "press served");
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["history.id"], id.as_str());
    assert_eq!(line["delivery.state"], "accepted");
    assert_eq!(line["class"], "status");
    assert!(line["duration_ms"].as_f64().unwrap() >= 5_000.0, "{line}");
    for (name, value) in [
        ("requests", 1),
        ("refused", 0),
        ("errors", 0),
        ("outcome_accepted", 1),
        ("outcome_unknown", 0),
        ("outcome_unrecorded", 0),
        ("outcome_beside_person", 0),
    ] {
        assert_eq!(seen.metrics[name], value, "{name}");
    }
    assert_eq!(seen.metrics["route"], "POST /v1/sends");
    assert_eq!(seen.metrics["key_name"], "k1");
    assert_eq!(seen.metrics["outcome"], "accepted");
    assert_eq!(seen.metrics["stage"], "local");
    assert!(seen.metrics.get("code").is_none());
}

#[tokio::test(start_paused = true)]
async fn the_metrics_tell_what_this_invocation_asked_of_the_crm() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    let before = rig.memory.usage();
    let seen = rig.press("press-1", &id).await;
    let calls = rig.memory.usage().calls - before.calls;
    assert!(before.calls > 0 && calls >= 6, "{calls}");
    assert_eq!(seen.metrics["crm_calls"], calls);
    assert_eq!(seen.metrics["crm_credits"], calls);
    assert_eq!(seen.metrics["crm_token_requests"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_send_fails_and_stays_failed() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let rejected = SubmitOutcome::Rejected(evidence("status", Some(422)));
    rig.driver().will_submit(rejected);
    let seen = rig.press("press-1", &id).await;
    assert_eq!(
        seen.body,
        json!({"history_id": id.as_str(), "state": "failed", "outcome": "rejected", "reason": "detail of the API"})
    );
    assert_eq!(seen.metrics["outcome_rejected"], 1);
    let again = rig.press("press-2", &id).await;
    again.assert_problem(409, "not_sendable");
    assert_eq!(rig.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_served_and_warned_about_and_never_sent_again() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let unknown = SubmitOutcome::Unknown(evidence("timeout", None));
    rig.driver().will_submit(unknown);
    let seen = rig.press("press-1", &id).await;
    assert_eq!(seen.status, 200);
    assert_eq!(
        seen.body,
        json!({"history_id": id.as_str(), "state": "sending", "outcome": "unknown", "reason": "detail of the API"})
    );
    assert_eq!(seen.metrics["outcome_unknown"], 1);
    let warnings = rig.lines_at("WARN");
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0]["history.id"], id.as_str());
    assert_eq!(warnings[0]["class"], "timeout");
    rig.press("press-2", &id)
        .await
        .assert_problem(409, "not_sendable");
    assert_eq!(rig.driver().submits().len(), 1);
    seen.assert_discreet();
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_may_be_pressed_again_by_a_person() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let wait = SignedDuration::from_millis(29_001);
    rig.driver()
        .will_submit(SubmitOutcome::NotSent(not_sent(Some(wait))));
    let seen = rig.press("press-1", &id).await;
    assert_eq!(
        seen.body,
        json!({"history_id": id.as_str(), "state": "confirmed", "outcome": "not_sent", "reason": "detail of the API", "retry_after": 30})
    );
    assert_eq!(seen.metrics["outcome_not_sent"], 1);
    rig.driver().will_submit(accepted("ltr_1"));
    let again = rig.press("press-2", &id).await;
    assert_eq!(again.body["outcome"], "accepted");
    assert_eq!(rig.driver().submits().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_cannot_prepare_claims_nothing_and_the_record_says_why() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let (before, writes) = (rig.row(&id), rig.memory.writes());
    rig.driver().will_not_prepare(not_sent(None));
    let seen = rig.press("press-1", &id).await;
    assert_eq!(
        seen.body,
        json!({"history_id": id.as_str(), "state": "confirmed", "outcome": "not_sent", "reason": "detail of the API"})
    );
    // The record says why, and stays as sendable as it was.
    assert_eq!(rig.memory.writes(), writes + 1);
    let row = rig.row(&id);
    assert_eq!(row.state, before.state);
    let progress = row.progress.unwrap_or_default();
    assert!(
        progress.contains("not_prepared") && progress.contains("detail of the API"),
        "{progress}"
    );
    assert!(!progress.contains("\"claim\""), "{progress}");
}

#[tokio::test(start_paused = true)]
async fn the_same_press_again_sends_nothing() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    rig.press("press-1", &id).await;
    let writes = rig.memory.writes();
    let seen = rig.press("press-1", &id).await;
    assert_eq!(seen.status, 200);
    assert_eq!(
        seen.body,
        json!({"history_id": id.as_str(), "state": "accepted", "outcome": "accepted", "repeated": true})
    );
    assert_eq!(seen.metrics["repeated"], 1);
    assert_eq!(seen.metrics["outcome"], "none");
    assert_eq!(rig.driver().submits().len(), 1);
    assert_eq!(rig.memory.writes(), writes);
}

#[tokio::test(start_paused = true)]
async fn two_presses_at_once_submit_once() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    rig.driver().will_submit(accepted("ltr_2"));
    let (one, two) = tokio::join!(rig.press("press-1", &id), rig.press("press-2", &id));
    let served = [&one, &two].into_iter().filter(|seen| seen.status == 200);
    assert_eq!(served.count(), 1, "{} {}", one.body, two.body);
    assert_eq!(rig.driver().submits().len(), 1);
    assert_eq!(rig.state(&id), "accepted");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_came_as_base64_is_the_same_request() {
    // The gateway hands some content types over as base64.
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    let mut text = send_body(&id).to_string();
    while !text.len().is_multiple_of(3) {
        text.push(' ');
    }
    let mut event = rig.signed("press-1", &text);
    event["body"] = json!(base64(text.as_bytes()));
    event["isBase64Encoded"] = json!(true);
    let seen = rig.serve(&event.to_string()).await;
    assert_eq!(seen.body["outcome"], "accepted", "{}", seen.body);
}

/// Of a text whose length is a multiple of three.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |n: u32| char::from(DIGITS[(n & 63) as usize]);
    let group = |three: &[u8]| {
        let n = three.iter().fold(0, |n, byte| n << 8 | u32::from(*byte));
        [digit(n >> 18), digit(n >> 12), digit(n >> 6), digit(n)]
    };
    bytes.chunks_exact(3).flat_map(group).collect()
}
