//! What a person does with a record: settle one in review, start look-ups again, or record an outcome that the
//! function could not write.

use jiff::{SignedDuration, Timestamp};

use super::verify::{has_open_claim_or_submission, shows_an_earlier_submit, state_text};
use crate::commit::{Change, Commit, NoBase, commit, read_base};
use crate::ids::{ExternalId, HistoryId, derive_reference};
use crate::input::Input;
use crate::ports::{Clock, GuardedWrite, Random, StoreError, clock_deadline};
use crate::progress::{Claim, Progress, Submission, SubmissionOutcome, SubmitEvidence, Unknown};
use crate::record::HistoryRecord;
use crate::state::{Event, State};

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// It ended as delivered.
    SettleSucceeded,
    /// It ended as not delivered.
    SettleFailed,
    /// Look up again.
    Resume {
        /// The API's id, where the record does not know it, or knows a wrong one.
        external_id: Option<ExternalId>,
        /// The new deadline, counted from now.
        give_up: SignedDuration,
    },
    /// The API accepted it, and the function could not write that down. In `sending` this is the outcome of
    /// the claim; in review it resumes.
    Record {
        /// The API's id.
        external_id: ExternalId,
        /// The new deadline, counted from now; a later one that the claim set stays.
        give_up: SignedDuration,
    },
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operated {
    /// It is written.
    Done {
        /// The state after it.
        state: String,
    },
    /// It is not possible, and why.
    Refused(String),
    /// Somebody changed the record in between: look again.
    ChangedElsewhere,
    /// The store did not do it: nothing was written.
    NotWritten(StoreError),
    /// It may have been written, and it could not be found out.
    Unconfirmed(StoreError),
}

/// Carries out a person's decision, guarded like every write; the reason stays in the trail.
#[expect(
    clippy::too_many_arguments,
    reason = "who, why and until when are all said by the caller"
)]
pub async fn operate(
    store: &impl GuardedWrite,
    world: &(impl Clock + Random),
    stage: &str,
    id: &HistoryId,
    operation: &Operation,
    by: &str,
    reason: &str,
    until: Timestamp,
) -> Operated {
    let base = match read_base(store, world, id, until).await {
        Ok(base) => base,
        Err(NoBase::Store(error)) => return Operated::NotWritten(error),
        Err(NoBase::Unsettled) => return Operated::ChangedElsewhere,
    };
    let change = match change_of(base.record(), stage, operation, world.now()) {
        Ok(change) => change,
        Err(why) => return Operated::Refused(why),
    };
    let mut change = change;
    change.note.by = Some(crate::text::harmless(by, 200));
    change.note.reason = Some(crate::text::harmless(reason, 300));
    match commit(store, world, &base, change, until).await {
        Commit::Written { state, .. } => Operated::Done {
            state: state.map_or_else(String::new, |state| state.label().to_owned()),
        },
        Commit::SkippedConflict => Operated::ChangedElsewhere,
        Commit::Illegal(illegal) => Operated::Refused(illegal.to_string()),
        Commit::ForeignState => Operated::Refused(format!(
            "the state field holds {:?}, which is no state; set it to needs_review first",
            state_text(base.record())
        )),
        Commit::NotWritten(error) => Operated::NotWritten(error),
        Commit::Unconfirmed(error) => Operated::Unconfirmed(error),
    }
}

fn change_of(
    record: &HistoryRecord,
    stage: &str,
    operation: &Operation,
    now: Timestamp,
) -> Result<Change, String> {
    let progress = Progress::decode(record.progress.as_deref());
    let never_sent = |progress: &Progress| was_never_claimed(record, progress);
    if *operation != Operation::SettleFailed && progress.as_ref().is_ok_and(never_sent) {
        return Err(
            "it was never claimed, so nothing was sent: set its state back to confirmed, or settle it as failed"
                .to_owned(),
        );
    }
    match operation {
        Operation::SettleSucceeded | Operation::SettleFailed => {
            let mut progress = match progress {
                Ok(progress) => progress,
                Err(crate::progress::ProgressError::Newer(v)) => {
                    return Err(format!(
                        "the progress has format {v}: use that version's command"
                    ));
                }
                Err(_) => Progress::replacing(record.progress.as_deref()),
            };
            progress.stop_checking();
            let event = if *operation == Operation::SettleSucceeded {
                Event::SettledSucceeded
            } else {
                Event::SettledFailed
            };
            Ok(Change::of(event, progress))
        }
        Operation::Resume {
            external_id,
            give_up,
        } => {
            let mut progress = progress.map_err(|error| error.to_string())?;
            name_external_id(&mut progress, record, stage, external_id.clone(), now)?;
            look_up_until(&mut progress, now, clock_deadline(now, *give_up));
            Ok(Change::of(Event::Resumed, progress))
        }
        Operation::Record {
            external_id,
            give_up,
        } => {
            let mut progress = progress.map_err(|error| error.to_string())?;
            let event = recording_event(record, &progress)?;
            let id = Some(external_id.clone());
            name_external_id(&mut progress, record, stage, id, now)?;
            let mut deadline = clock_deadline(now, *give_up);
            if event == Event::Accepted {
                deadline = progress
                    .deadline()
                    .map_or(deadline, |set| set.max(deadline));
                progress.last_error = None;
            }
            look_up_until(&mut progress, now, deadline);
            Ok(Change::of(event, progress))
        }
    }
}

/// Whether the record tells that no submit was ever under way.
fn was_never_claimed(record: &HistoryRecord, progress: &Progress) -> bool {
    progress.claim.is_none()
        && !has_open_claim_or_submission(progress)
        && !shows_an_earlier_submit(record, progress)
}

/// Look-ups start at the next tick, and end at `deadline`.
fn look_up_until(progress: &mut Progress, now: Timestamp, deadline: Timestamp) {
    progress.clear_schedule();
    progress.set_deadline(deadline);
    progress.check_at(now);
}

/// What it is to record an acceptance: the outcome of the open claim, or the end of a review.
fn recording_event(record: &HistoryRecord, progress: &Progress) -> Result<Event, String> {
    let open_claim = progress.claim.as_ref().is_some_and(Claim::is_open);
    match record.state.known() {
        Some(State::Sending) if open_claim => Ok(Event::Accepted),
        Some(State::Sending) => {
            Err("it carries no open claim: nothing was submitted that could be recorded".to_owned())
        }
        // A word that is no state is told by the commit.
        Some(State::NeedsReview) | None => Ok(Event::Resumed),
        Some(
            state @ (State::Saved
            | State::Confirmed
            | State::Accepted
            | State::Succeeded
            | State::Failed),
        ) => Err(format!(
            "it is {}: an outcome is recorded on a record in sending or needs_review",
            state.label()
        )),
    }
}

/// Look-ups need the API's id: the one that is known, or the one the person names.
fn name_external_id(
    progress: &mut Progress,
    record: &HistoryRecord,
    stage: &str,
    given: Option<ExternalId>,
    now: Timestamp,
) -> Result<(), String> {
    let known = progress
        .submission
        .as_ref()
        .and_then(|s| s.external_id.clone());
    let id = given
        .or(known)
        .ok_or("no external id is known: name it with --external-id, or settle the send")?;
    if let Some(submission) = &mut progress.submission {
        submission.external_id = Some(id);
        submission.outcome = SubmissionOutcome::Accepted;
        return Ok(());
    }
    let input = Input::from_stored(record.input.as_deref().unwrap_or_default());
    let driver = progress.claim.as_ref().map(|claim| claim.driver.clone());
    let driver = match (driver, input) {
        (Some(driver), _) => driver,
        (None, Ok(input)) => input.driver,
        (None, Err(bad)) => return Err(format!("the driver is not known: {bad}")),
    };
    let document = progress.document.as_ref().map(|document| document.sha256);
    let document = document.ok_or("no document was confirmed: settle the send instead")?;
    progress.submission = Some(Submission {
        driver,
        reference: derive_reference(stage, &record.id, &document),
        outcome: SubmissionOutcome::Accepted,
        external_id: Some(id),
        at: crate::progress::whole_seconds(now),
        evidence: SubmitEvidence {
            class: "named by a person".to_owned(),
            ..SubmitEvidence::default()
        },
        unknown: Unknown::default(),
    });
    Ok(())
}
