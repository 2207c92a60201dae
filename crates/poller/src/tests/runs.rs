//! Runs that happen.

use sendtrail_core::flows::PollReport;
use sendtrail_core::ports::{FindAnswer, LookUpAnswer};
use serde_json::json;

use super::support::{Rig, TICK};

fn delivered() -> LookUpAnswer {
    LookUpAnswer::Delivered {
        status: "delivered".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_due_send_is_looked_up_once_and_its_result_written() {
    let rig = Rig::new();
    let id = rig.accepted("ltr_1", 3_600);
    rig.settle().await;
    rig.driver().will_answer(delivered());
    let seen = rig.tick().await;
    assert_eq!(rig.state(&id), "succeeded");
    for (name, count) in [
        ("listed", 1),
        ("looked_up", 1),
        ("written", 1),
        ("delivered", 1),
        ("undelivered", 0),
        ("unknown_event", 0),
    ] {
        assert_eq!(seen.report()[name], count, "{name}");
        assert_eq!(seen.metrics[name], count, "{name}");
    }
    assert_eq!(rig.driver().look_ups().len(), 1);
    assert_eq!(rig.driver().submits(), [], "the poller never submits");
    assert_eq!(rig.lines().len(), 0, "nothing to warn about");
}

#[tokio::test(start_paused = true)]
async fn every_count_of_the_report_is_in_the_answer_and_in_the_metrics() {
    let rig = Rig::new();
    let seen = rig.tick().await;
    let counts = PollReport::default().counts();
    for (name, _) in &counts {
        assert!(seen.report()[name].is_u64(), "{name} in {}", seen.report());
        assert!(seen.metrics[name].is_u64(), "{name} in {}", seen.metrics);
    }
    let all = seen.report().as_object().unwrap().len();
    assert_eq!(all, counts.len() + 1, "and unknown_event");
    assert_eq!(seen.metrics["runs"], 1);
    assert_eq!(seen.metrics["run_failed"], 0);
    assert_eq!(seen.metrics["stage"], "local");
    assert!(seen.metrics["duration_ms"].as_f64().unwrap() > 0.0);
}

#[tokio::test(start_paused = true)]
async fn any_event_is_a_tick_and_an_unknown_one_is_counted() {
    for event in [
        "null",
        "{}",
        "[1,\"tick\"]",
        r#"{"v":2,"kind":"tick"}"#,
        r#"{"source":"aws.scheduler","detail":"{}"}"#,
        r#"{"requestContext":{"http":{"method":"POST"}},"rawPath":"/v1/sends"}"#,
    ] {
        let rig = Rig::new();
        let id = rig.accepted("ltr_1", 3_600);
        rig.settle().await;
        rig.driver().will_answer(delivered());
        let seen = rig.run(event, rig.world.after(110)).await;
        assert_eq!(rig.state(&id), "succeeded", "{event}");
        assert_eq!(seen.report()["unknown_event"], 1, "{event}");
        assert_eq!(seen.metrics["unknown_event"], 1, "{event}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_claim_is_swept_and_never_submitted() {
    let rig = Rig::new();
    let (past, later) = (rig.world.after(-100), rig.world.after(3_600));
    let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let progress = json!({
        "v": 1, "rev": 3, "next_check_at": past.to_string(), "attempts": 0,
        "deadline": later.to_string(),
        "document": {
            "sha256": hash, "bytes": 1, "file_id": "f", "confirmed_at": past.to_string(),
            "input_sha256": hash, "seal": "s",
        },
        "claim": {
            "token": "t", "at": past.to_string(), "request_key": "press-1", "driver": "letter",
            "draft_id": null,
        },
        "trail": [],
    });
    let id = rig.row("sending", &progress.to_string());
    rig.settle().await;
    let external_id = sendtrail_core::ids::ExternalId::parse("ltr_1").unwrap();
    rig.driver().will_find(FindAnswer::One(external_id));
    let seen = rig.tick().await;
    assert_eq!(rig.state(&id), "accepted", "{}", seen.report());
    assert_eq!(seen.report()["swept"], 1);
    assert_eq!(seen.report()["found"], 1);
    assert_eq!(rig.driver().submits(), []);
}

#[tokio::test(start_paused = true)]
async fn a_tick_fired_twice_at_once_is_harmless() {
    let rig = Rig::new();
    let id = rig.accepted("ltr_1", 3_600);
    rig.settle().await;
    rig.driver().will_answer(delivered());
    rig.driver().will_answer(delivered());
    let (one, two) = tokio::join!(rig.tick(), rig.tick());
    assert_eq!(rig.state(&id), "succeeded");
    assert!(one.result.is_ok() && two.result.is_ok());
}

#[tokio::test(start_paused = true)]
async fn near_its_end_a_run_starts_nothing_and_still_reports() {
    let rig = Rig::new();
    let id = rig.accepted("ltr_1", 3_600);
    rig.settle().await;
    for deadline in [rig.world.after(10), jiff::Timestamp::UNIX_EPOCH] {
        let seen = rig.run(TICK, deadline).await;
        assert_eq!(seen.report()["not_started"], 1);
    }
    assert_eq!(rig.driver().look_ups(), []);
    assert_eq!(rig.state(&id), "accepted");
    assert_eq!(rig.app.store.writes(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_metrics_tell_what_this_run_asked_of_the_crm() {
    let rig = Rig::new();
    rig.accepted("ltr_1", 3_600);
    rig.settle().await;
    // Past the first tick of the day, which also counts foreign states, and of the hour, which lists more.
    rig.settle().await;
    let seen = rig.tick().await;
    assert_eq!(seen.metrics["crm_calls"], 2, "one list, one write");
    assert_eq!(seen.metrics["crm_credits"], 2);
    assert_eq!(seen.metrics["crm_token_requests"], 0);
    let seen = rig.tick().await;
    assert_eq!(seen.metrics["crm_calls"], 1, "the list of this run alone");
}
