//! The metrics line of each trouble, as the alarms see it.

use jiff::SignedDuration;
use sendtrail_core::ports::{Clock as _, Evidence, Failure, LookUpAnswer, StoreError};
use sendtrail_core::testing::Row;
use sendtrail_startup::testing::assert_committed_lines;
use serde_json::Value;

use super::support::Rig;

fn pending(recognised: bool) -> LookUpAnswer {
    LookUpAnswer::Pending {
        status: "in transit".to_owned(),
        recognised,
    }
}

/// A run after what `trouble` makes of the CRM and the driver, with a send that is due or was.
async fn after(trouble: impl AsyncFnOnce(&Rig)) -> Value {
    let rig = Rig::new();
    rig.app.store.credits_left(40_000);
    trouble(&rig).await;
    rig.tick().await.metrics
}

/// The same where one accepted send is due and its API answers so.
async fn answered(answer: LookUpAnswer) -> Value {
    after(async |rig| {
        rig.accepted("ltr_1", 3_600);
        rig.settle().await;
        rig.driver().will_answer(answer);
    })
    .await
}

async fn run_failed(error: StoreError) -> Value {
    after(async |rig| rig.app.store.fail_next_list(error)).await
}

async fn one_row(state: &str, progress: &str) -> Value {
    after(async |rig| {
        rig.row(state, progress);
        rig.settle().await;
    })
    .await
}

async fn conflict() -> Value {
    let rig = Rig::new();
    let id = rig.accepted("ltr_1", 3_600);
    rig.settle().await;
    rig.driver().takes(SignedDuration::from_secs(5));
    let edit = async {
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let edited = |row: &mut Row| row.source = None;
        rig.app.store.edit_by_hand(&id, edited);
    };
    tokio::join!(rig.tick(), edit).0.metrics
}

async fn unknown_event() -> Value {
    let rig = Rig::new();
    rig.run("{}", rig.world.after(110)).await.metrics
}

/// Accepted by a driver that is not configured any more.
async fn no_driver() -> Value {
    after(async |rig| {
        let id = rig.accepted("ltr_1", 3_600);
        let gone = |row: &mut Row| {
            let progress = row.progress.take().unwrap();
            row.progress = Some(progress.replace("\"letter\"", "\"telegram\""));
        };
        rig.app.store.edit_by_hand(&id, gone);
        rig.settle().await;
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn the_committed_metrics_lines_are_what_the_code_emits() {
    let unauthorized = LookUpAnswer::Failed(Failure::Unauthorized(Evidence::default()));
    let detail = || "invalid_code".to_owned();
    let lines = [
        ("quiet", answered(pending(true)).await),
        ("nothing due", after(async |_| {}).await),
        (
            "acceptance_unknown",
            one_row("sending", r#"{"v":1,"rev":3,"attempts":0}"#).await,
        ),
        (
            "malformed",
            one_row("accepted", "a person typed this").await,
        ),
        ("newer", one_row("accepted", r#"{"v":99}"#).await),
        (
            "foreign_states",
            after(async |rig| {
                rig.row("sent!", "{}");
            })
            .await,
        ),
        ("unrecognised", answered(pending(false)).await),
        ("no_driver", no_driver().await),
        ("unauthorized", answered(unauthorized).await),
        (
            "oldest_due_seconds",
            after(async |rig| {
                rig.accepted("ltr_1", 36_000);
                rig.world.sleep(SignedDuration::from_secs(2_000)).await;
                rig.driver().will_answer(pending(true));
            })
            .await,
        ),
        ("conflicts_skipped", conflict().await),
        (
            "store_errors",
            after(async |rig| {
                let id = rig.accepted("ltr_1", 3_600);
                rig.app.store.poison(&id);
                rig.settle().await;
                rig.driver().will_answer(pending(true));
            })
            .await,
        ),
        (
            "crm_credits_remaining",
            after(async |rig| rig.app.store.credits_left(9_999)).await,
        ),
        (
            "crm_token_throttled",
            run_failed(StoreError::TokenThrottled).await,
        ),
        (
            "crm_token_refused",
            run_failed(StoreError::Unauthorized { detail: detail() }).await,
        ),
        ("unknown_event", unknown_event().await),
        (
            "the CRM is down",
            run_failed(StoreError::Transient { detail: detail() }).await,
        ),
    ];
    assert_committed_lines("poller", &lines);
}
