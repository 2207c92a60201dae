//! The metrics line of each trouble, as the alarms see it.

use sendtrail_core::ports::{
    FindTwins, GuardedWrite, Metered, ReadDocument, StoreError, SubmitOutcome,
};
use sendtrail_core::testing::{ScriptedDriver, ScriptedDrivers};
use sendtrail_door::{KeyRing, Secret};
use sendtrail_startup::testing::assert_committed_lines;
use serde_json::{Value, json};

use super::alarms::{self, Trouble};
use super::support::{Rig, SECRET, accepted, evidence, not_sent};

/// A press whose submit ends so.
async fn pressed<S>(rig: &Rig<S>, outcome: SubmitOutcome) -> Value
where
    S: GuardedWrite + ReadDocument + FindTwins + Metered,
{
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(outcome);
    rig.press("press-1", &id).await.metrics
}

fn unknown() -> SubmitOutcome {
    SubmitOutcome::Unknown(evidence("timeout", None))
}

/// Nothing can tell what became of the submit.
async fn acceptance_unknown() -> Value {
    let mut rig = Rig::new();
    rig.app.drivers = ScriptedDrivers(ScriptedDriver::new(false));
    pressed(&rig, unknown()).await
}

async fn failing_read(error: StoreError) -> Value {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    rig.memory.fail_next_read(error);
    rig.press("press-1", &id).await.metrics
}

async fn unsigned() -> Value {
    let rig = Rig::new();
    let event = rig.event("POST", "/v1/sends", &json!({}), "{}");
    rig.serve(&event.to_string()).await.metrics
}

async fn pressed_again() -> Value {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    rig.press("press-1", &id).await;
    rig.press("press-2", &id).await.metrics
}

async fn drained() -> Value {
    let mut rig = Rig::new();
    rig.app.drain = true;
    let event = rig.event("POST", "/v1/sends", &json!({}), "{}");
    rig.serve(&event.to_string()).await.metrics
}

/// `k1` signs, and another key stands before it.
async fn signed_with_an_old_key() -> Value {
    let mut rig = Rig::new();
    let secret = |text: &str| Secret::parse(text).unwrap();
    let newer = (
        "k2".to_owned(),
        secret("another signing secret, and as long as due"),
    );
    rig.app.ring = KeyRing::new(vec![newer, ("k1".to_owned(), secret(SECRET))]).unwrap();
    pressed(&rig, accepted("ltr_1")).await
}

#[tokio::test(start_paused = true)]
async fn the_committed_metrics_lines_are_what_the_code_emits() {
    let detail = || "invalid_code".to_owned();
    let status = |status| evidence("status", Some(status));
    let new = Rig::new;
    let troubled = |trouble| async move { pressed(&alarms::rig(trouble), accepted("ltr_1")).await };
    let lines = [
        ("quiet", pressed(&new(), accepted("ltr_1")).await),
        (
            "quiet: the API rejects a document",
            pressed(&new(), SubmitOutcome::Rejected(status(422))).await,
        ),
        (
            "quiet: the API asks to wait",
            pressed(&new(), SubmitOutcome::NotSent(not_sent(None))).await,
        ),
        ("quiet: pressed again", pressed_again().await),
        ("quiet: drained", drained().await),
        ("outcome_unknown", pressed(&new(), unknown()).await),
        ("acceptance_unknown", acceptance_unknown().await),
        ("outcome_unrecorded", troubled(Trouble::WritesHang).await),
        (
            "outcome_beside_person",
            troubled(Trouble::PersonMoves).await,
        ),
        ("outcome_late", troubled(Trouble::PersonEdits).await),
        (
            "api_unauthorized",
            pressed(&new(), SubmitOutcome::Rejected(status(401))).await,
        ),
        ("unauthorized", unsigned().await),
        (
            "errors",
            failing_read(StoreError::Transient { detail: detail() }).await,
        ),
        ("old_key_used", signed_with_an_old_key().await),
        (
            "crm_token_throttled",
            failing_read(StoreError::TokenThrottled).await,
        ),
        (
            "crm_token_refused",
            failing_read(StoreError::Unauthorized { detail: detail() }).await,
        ),
    ];
    assert_committed_lines("side-effect", &lines);
}
