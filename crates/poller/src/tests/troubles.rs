//! Runs that meet trouble, and runs that cannot happen.

use sendtrail_core::ids::{HistoryId, Revision};
use sendtrail_core::ports::{
    Evidence, Failure, GuardedWrite, ListHistory, ListPage, ListQuery, LookUpAnswer, Metered,
    ReadHistory, StoreError, UntouchedPage, UntouchedQuery, Usage, Write, WriteReply,
};
use sendtrail_core::record::Read;
use sendtrail_core::testing::{ScriptedDriver, ScriptedDrivers};
use sendtrail_startup::Rotation;
use sendtrail_startup::lambda::InvocationError as _;

use super::support::{Rig, TICK};
use crate::App;

/// The kinds that were warned about, with their counts.
fn warned(rig: &Rig) -> Vec<(String, u64)> {
    let lines = rig.lines().into_iter();
    lines
        .map(|line| {
            assert_eq!(line["level"], "WARN", "{line}");
            let kind = line["kind"].as_str().unwrap().to_owned();
            (kind, line["count"].as_u64().unwrap())
        })
        .collect()
}

fn kinds(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    let named = expected.iter();
    named
        .map(|(kind, count)| ((*kind).to_owned(), *count))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_keep_the_state_and_warn_once_for_all_rows() {
    let rig = Rig::new();
    let ids = [rig.accepted("ltr_1", 3_600), rig.accepted("ltr_2", 3_600)];
    rig.settle().await;
    let refused = LookUpAnswer::Failed(Failure::Unauthorized(Evidence::default()));
    rig.driver().will_answer(refused.clone());
    rig.driver().will_answer(refused);
    let seen = rig.tick().await;
    assert_eq!(seen.report()["unauthorized"], 2);
    assert_eq!(seen.rotation, Rotation::CredentialsRefused);
    assert_eq!(warned(&rig), kinds(&[("unauthorized", 2)]));
    for id in ids {
        assert_eq!(rig.state(&id), "accepted");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_that_cannot_be_read_goes_to_a_person_and_does_not_stop_the_run() {
    let rig = Rig::new();
    let broken = rig.row("accepted", "a person typed this");
    let later = rig.row("accepted", r#"{"v":99,"secret of a later version":1}"#);
    let good = rig.accepted("ltr_1", 3_600);
    rig.settle().await;
    rig.driver().will_answer(LookUpAnswer::Delivered {
        status: "delivered".to_owned(),
    });
    let seen = rig.tick().await;
    assert!(seen.result.is_ok());
    assert_eq!(rig.state(&broken), "needs_review");
    assert_eq!(rig.state(&later), "accepted");
    assert_eq!(rig.state(&good), "succeeded");
    let warned = warned(&rig);
    for kind in [("malformed".to_owned(), 1), ("newer".to_owned(), 1)] {
        assert!(warned.contains(&kind), "{kind:?} in {warned:?}");
    }
    let lines = format!("{:?}", rig.lines());
    assert!(!lines.contains("a person typed this") && !lines.contains("later version\""));
}

#[tokio::test(start_paused = true)]
async fn a_status_nobody_knows_is_pending_with_a_warning() {
    let rig = Rig::new();
    let id = rig.accepted("ltr_1", 3_600);
    rig.settle().await;
    rig.driver().will_answer(LookUpAnswer::Pending {
        status: "teleported".to_owned(),
        recognised: false,
    });
    rig.tick().await;
    assert_eq!(rig.state(&id), "accepted");
    assert_eq!(warned(&rig), kinds(&[("unrecognised", 1)]));
}

#[tokio::test(start_paused = true)]
async fn a_send_given_up_is_warned_about() {
    let rig = Rig::new();
    let id = rig.accepted("ltr_1", 10);
    rig.settle().await;
    let seen = rig.tick().await;
    assert_eq!(rig.state(&id), "needs_review");
    assert_eq!(seen.metrics["gave_up"], 1);
    assert_eq!(warned(&rig), kinds(&[("gave_up", 1)]));
    assert_eq!(rig.driver().look_ups().len(), 1, "looked up once more");
}

#[tokio::test(start_paused = true)]
async fn an_open_claim_that_nothing_can_tell_about_is_warned_about() {
    let rig = Rig::new();
    let id = rig.row("sending", r#"{"v":1,"rev":3,"attempts":0}"#);
    rig.settle().await;
    let seen = rig.tick().await;
    assert_eq!(rig.state(&id), "needs_review");
    assert_eq!(seen.metrics["acceptance_unknown"], 1);
    assert_eq!(warned(&rig), kinds(&[("acceptance_unknown", 1)]));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_written_is_counted_and_the_run_succeeds() {
    let rig = Rig::new();
    let poisoned = rig.accepted("ltr_1", 3_600);
    let good = rig.accepted("ltr_2", 3_600);
    rig.app.store.poison(&poisoned);
    rig.settle().await;
    let seen = rig.tick().await;
    assert_eq!(seen.report()["store_errors"], 1);
    assert_eq!(seen.report()["written"], 1);
    assert_eq!(warned(&rig), kinds(&[("store_errors", 1)]));
    assert_eq!(rig.state(&good), "accepted");
}

#[tokio::test(start_paused = true)]
async fn an_edit_by_a_person_is_skipped_without_a_warning() {
    let rig = Rig::new();
    let id = rig.accepted("ltr_1", 3_600);
    rig.settle().await;
    rig.driver().takes(jiff::SignedDuration::from_secs(5));
    let edit = async {
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        rig.app
            .store
            .edit_by_hand(&id, |row| row.state = Some("needs_review".to_owned()));
    };
    let (seen, ()) = tokio::join!(rig.tick(), edit);
    assert_eq!(seen.report()["conflicts_skipped"], 1);
    assert_eq!(rig.state(&id), "needs_review");
    assert_eq!(rig.app.store.writes(), 0);
    assert_eq!(rig.lines().len(), 0);
}

/// A CRM that lists nothing and is asked for nothing else.
struct NoList(StoreError);

impl ReadHistory for NoList {
    async fn read(&self, _: &HistoryId) -> Result<Read, StoreError> {
        panic!("a run that cannot happen reads nothing");
    }
}

impl GuardedWrite for NoList {
    async fn write(&self, _: &HistoryId, _: &Revision, _: &Write) -> WriteReply {
        panic!("a run that cannot happen writes nothing");
    }
}

impl ListHistory for NoList {
    type Cursor = ();
    async fn list_due(&self, _: &ListQuery<()>) -> Result<ListPage<()>, StoreError> {
        Err(self.0.clone())
    }
    async fn count_due(&self, _: jiff::Timestamp) -> Result<u64, StoreError> {
        Err(self.0.clone())
    }

    async fn list_untouched(&self, _: &UntouchedQuery) -> Result<UntouchedPage, StoreError> {
        Err(self.0.clone())
    }

    async fn count_untouched(&self, _: jiff::Timestamp) -> Result<u64, StoreError> {
        Err(self.0.clone())
    }

    async fn count_foreign_states(&self) -> Result<u64, StoreError> {
        Err(self.0.clone())
    }
}

impl Metered for NoList {
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_could_not_happen_fails_with_a_stable_type() {
    let text = || "inner".to_owned();
    let cases = [
        (StoreError::TokenThrottled, "Poll.CrmTokenThrottled"),
        (
            StoreError::RateLimited { retry_after: None },
            "Poll.CrmRateLimited",
        ),
        (
            StoreError::Unauthorized { detail: text() },
            "Poll.CrmUnauthorized",
        ),
        (
            StoreError::Transient { detail: text() },
            "Poll.CrmUnavailable",
        ),
        (
            StoreError::Malformed { detail: text() },
            "Poll.CrmUnreadable",
        ),
    ];
    for (error, error_type) in cases {
        let rig = Rig::new();
        let app = App {
            store: NoList(error),
            drivers: ScriptedDrivers(ScriptedDriver::new(true)),
            world: rig.world.clone(),
            policy: rig.app.policy.clone(),
        };
        let handled = app.handle(TICK, rig.world.after(110)).await;
        let line = handled.metrics.render(rig.world.after(0));
        let metrics: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(metrics["run_failed"], 1);
        assert_eq!(metrics["error_type"], error_type);
        assert_eq!(metrics["listed"], 0);
        let failed = handled.response.unwrap_err();
        assert_eq!(failed.error_type(), error_type);
        // The runtime logs what a handler returns; a second line would be one too many.
        assert_eq!(rig.lines().len(), 0);
    }
}
