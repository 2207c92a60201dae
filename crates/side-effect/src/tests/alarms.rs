//! What an operator is woken for.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use jiff::SignedDuration;
use sendtrail_core::ids::{CrmName, HistoryId, Revision, Sha256Hash, derive_reference};
use sendtrail_core::ports::{
    Clock as _, FindTwins, GuardedWrite, Metered, NotSent, ReadDocument, ReadHistory, StoreError,
    SubmitOutcome, Twin, Usage, Write, WriteReply,
};
use sendtrail_core::record::{HistoryRecord, Read};
use sendtrail_core::testing::{MemoryStore, ScriptedDriver, ScriptedDrivers};
use sendtrail_startup::Rotation;

use super::support::{PDF, Rig, accepted, evidence, not_sent, send_body};

/// What goes wrong once the claim is on the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Every later write hangs.
    WritesHang,
    /// Every later call hangs.
    AllHangs,
    /// A person moves the record just before the outcome is written.
    PersonMoves,
    /// A person edits something else just before the outcome is written: the claim stands.
    PersonEdits,
}

/// A CRM that fails after the claim. The confirm is its first write and the claim its second.
pub(super) struct Failing {
    memory: MemoryStore,
    trouble: Trouble,
    has_moved: AtomicBool,
}

impl Failing {
    fn is_claimed(&self) -> bool {
        self.memory.writes() >= 2
    }

    async fn maybe_hang(&self) {
        if self.is_claimed() && self.trouble == Trouble::AllHangs {
            std::future::pending::<()>().await;
        }
    }
}

impl ReadHistory for Failing {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        self.maybe_hang().await;
        self.memory.read(id).await
    }
}

impl GuardedWrite for Failing {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        if self.is_claimed() {
            match self.trouble {
                Trouble::WritesHang | Trouble::AllHangs => std::future::pending::<()>().await,
                Trouble::PersonMoves if !self.has_moved.swap(true, Ordering::Relaxed) => {
                    self.memory
                        .edit_by_hand(id, |row| row.state = Some("needs_review".to_owned()));
                }
                Trouble::PersonEdits if !self.has_moved.swap(true, Ordering::Relaxed) => {
                    self.memory.edit_by_hand(id, |row| row.source = None);
                }
                Trouble::PersonMoves | Trouble::PersonEdits => {}
            }
        }
        self.memory.write(id, revision, write).await
    }
}

impl ReadDocument for Failing {
    async fn download(&self, record: &HistoryRecord, max_bytes: u64) -> Result<Bytes, StoreError> {
        self.memory.download(record, max_bytes).await
    }
}

impl FindTwins for Failing {
    async fn twins(
        &self,
        module: &CrmName,
        record: &CrmName,
        document: &Sha256Hash,
    ) -> Result<Vec<Twin>, StoreError> {
        self.memory.twins(module, record, document).await
    }
}

impl Metered for Failing {
    fn usage(&self) -> Usage {
        self.memory.usage()
    }
}

pub(super) fn rig(trouble: Trouble) -> Rig<Failing> {
    Rig::with(|memory| Failing {
        memory,
        trouble,
        has_moved: AtomicBool::new(false),
    })
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_cannot_be_recorded_is_one_error_line_with_all_a_person_needs() {
    let rig = rig(Trouble::WritesHang);
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    let deadline = rig.world.after(60);
    let event = rig.signed("press-1", &send_body(&id).to_string());
    let seen = rig.serve_until(&event.to_string(), deadline).await;
    assert!(rig.world.now() < deadline, "told before Lambda kills it");
    assert_eq!(seen.status, 200);
    assert_eq!(seen.body["outcome"], "accepted");
    assert_eq!(seen.body["state"], "sending");
    assert_eq!(seen.body["external_id"], "ltr_1");
    assert_eq!(seen.metrics["outcome_unrecorded"], 1);
    assert_eq!(seen.metrics["outcome_accepted"], 1);
    let errors = rig.lines_at("ERROR");
    assert_eq!(errors.len(), 1);
    let line = &errors[0];
    let reference = derive_reference("local", &id, &Sha256Hash::of(PDF));
    assert_eq!(line["history.id"], id.as_str());
    assert_eq!(line["reference"], reference.as_str());
    assert_eq!(line["external_id"], "ltr_1");
    let command = line["command"].as_str().unwrap();
    assert!(
        command.starts_with(&format!(
            "sendtrail history record {id} --external-id ltr_1 --reason "
        )),
        "{command}"
    );
    assert!(
        line["message"]
            .as_str()
            .unwrap()
            .starts_with("outcome_unrecorded")
    );
    assert_eq!(rig.lines().len(), 1, "the failure is logged once");
    assert_eq!(rig.driver().submits().len(), 1);
    seen.assert_discreet();
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_cannot_be_read_back_submits_nothing_and_still_answers() {
    let rig = rig(Trouble::AllHangs);
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    let deadline = rig.world.after(60);
    let event = rig.signed("press-1", &send_body(&id).to_string());
    let seen = rig.serve_until(&event.to_string(), deadline).await;
    assert!(rig.world.now() < deadline);
    assert_eq!(seen.body["outcome"], "not_sent", "{}", seen.body);
    assert_eq!(rig.driver().submits(), []);
    assert_eq!(seen.metrics["outcome_unrecorded"], 1);
    let errors = rig.lines_at("ERROR");
    assert_eq!(errors.len(), 1);
    assert!(errors[0].get("external_id").is_none());
    assert!(
        errors[0].get("command").is_none(),
        "there is no id to record"
    );
}

#[tokio::test(start_paused = true)]
async fn an_outcome_beside_a_person_is_warned_about_and_keeps_the_persons_state() {
    let rig = rig(Trouble::PersonMoves);
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    let seen = rig.press("press-1", &id).await;
    assert_eq!(seen.body["outcome"], "accepted");
    assert_eq!(seen.body["state"], "needs_review");
    assert_eq!(seen.metrics["outcome_beside_person"], 1);
    assert_eq!(seen.metrics["outcome_unrecorded"], 0);
    let warnings = rig.lines_at("WARN");
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0]["external_id"], "ltr_1");
    assert_eq!(rig.state(&id), "needs_review");
    let submission = rig.progress(&id).submission.unwrap();
    assert_eq!(submission.external_id.unwrap().as_str(), "ltr_1");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_written_by_a_second_try_is_late_and_no_more() {
    let rig = rig(Trouble::PersonEdits);
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    let seen = rig.press("press-1", &id).await;
    assert_eq!(seen.body["state"], "accepted");
    assert_eq!(seen.metrics["outcome_late"], 1);
    assert_eq!(seen.metrics["outcome_conflicts"], 1);
    assert_eq!(seen.metrics["outcome_beside_person"], 0);
    assert_eq!(rig.lines_at("WARN").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_acceptance_that_nothing_can_tell_about_is_counted_and_an_open_question_is_not() {
    for (can_find, state, count) in [(false, "needs_review", 1), (true, "sending", 0)] {
        let mut rig = Rig::new();
        rig.app.drivers = ScriptedDrivers(ScriptedDriver::new(can_find));
        let id = rig.confirmed("save-1").await;
        let unknown = SubmitOutcome::Unknown(evidence("reset", None));
        rig.driver().will_submit(unknown);
        let seen = rig.press("press-1", &id).await;
        assert_eq!(seen.body["state"], state);
        assert_eq!(seen.metrics["acceptance_unknown"], count);
    }
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_counted_wherever_the_api_says_so() {
    for (class, status, count) in [
        ("status", Some(401), 1),
        ("status", Some(403), 1),
        ("step", Some(403), 1),
        // A token endpoint's `invalid_grant`; the same status of the API itself is about the letter.
        ("token", Some(400), 1),
        ("status", Some(400), 0),
        ("status", Some(500), 0),
        ("connect", None, 0),
    ] {
        let rig = Rig::new();
        let id = rig.confirmed("save-1").await;
        rig.driver().will_not_prepare(NotSent {
            evidence: evidence(class, status),
            retry_after: None,
        });
        let seen = rig.press("press-1", &id).await;
        assert_eq!(
            seen.metrics["api_unauthorized"], count,
            "{class} {status:?}"
        );
        rig.driver().will_prepare();
        let rejected = SubmitOutcome::Rejected(evidence(class, status));
        rig.driver().will_submit(rejected);
        let seen = rig.press("press-2", &id).await;
        assert_eq!(seen.metrics["outcome_rejected"], 1);
        assert_eq!(
            seen.metrics["api_unauthorized"], count,
            "{class} {status:?}"
        );
        let refused = seen.rotation == Rotation::CredentialsRefused;
        assert_eq!(u64::from(refused), count, "{class} {status:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_beside_a_person_counts_as_both() {
    let rig = rig(Trouble::PersonMoves);
    let id = rig.confirmed("save-1").await;
    let unknown = SubmitOutcome::Unknown(evidence("reset", None));
    rig.driver().will_submit(unknown);
    let seen = rig.press("press-1", &id).await;
    assert_eq!(seen.metrics["outcome_beside_person"], 1);
    assert_eq!(seen.metrics["outcome_unknown"], 1);
}

#[tokio::test(start_paused = true)]
async fn an_unrecorded_not_sent_is_told_as_such() {
    let rig = rig(Trouble::WritesHang);
    let id = rig.confirmed("save-1").await;
    let wait = SignedDuration::from_secs(5);
    rig.driver()
        .will_submit(SubmitOutcome::NotSent(not_sent(Some(wait))));
    let seen = rig.press("press-1", &id).await;
    assert_eq!(seen.body["outcome"], "not_sent");
    assert_eq!(seen.body["state"], "sending");
    assert_eq!(seen.body["retry_after"], 5);
    assert_eq!(seen.metrics["outcome_unrecorded"], 1);
}
