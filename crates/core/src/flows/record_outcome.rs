//! Recording the outcome of a submit: the one exception to *412 means skip*.
//!
//! After a submit the outcome must not be lost. Where the record still carries our claim, it is written on
//! the new revision; where a person moved it meanwhile, the submission joins the progress and the state
//! stays as the person left it.

use jiff::{SignedDuration, Timestamp};

use super::limited::Limited;
use super::verify::{holds_claim, state_text};
use crate::commit::{Change, Commit, NoBase, commit, read_base};
use crate::ids::{ClaimToken, DriverId, HistoryId, Reference};
use crate::policy::Pacing;
use crate::ports::{Clock, GuardedWrite, Random, StoreError, SubmitOutcome, clock_deadline};
use crate::progress::{
    LastError, Progress, ProgressError, Resolution, Submission, SubmissionOutcome, SubmitEvidence,
    Unknown,
};
use crate::record::{Base, HistoryRecord};
use crate::state::Event;

/// An outcome and what is needed to write it down.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The claim it was submitted under.
    pub claim: ClaimToken,
    /// The driver.
    pub driver: DriverId,
    /// Our reference.
    pub reference: Reference,
    /// What became of the submit.
    pub submitted: SubmitOutcome,
    /// When the request was started, if it was.
    pub started_at: Option<Timestamp>,
    /// The driver's pacing.
    pub pacing: Pacing,
    /// Whether the driver can find out an unknown outcome.
    pub can_find: bool,
}

/// What became of recording an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// It is written.
    Written {
        /// The state after it.
        state: String,
        /// How many conflicts were met on the way.
        conflicts: u32,
        /// Whether an earlier write was tried and did not do it, or could not be seen to.
        late: bool,
        /// When the poller looks next, where it does.
        next_check_at: Option<Timestamp>,
    },
    /// A person moved the record meanwhile: the submission is in the progress, the state is theirs. Alarm.
    BesideAPerson {
        /// The state the person left.
        state: String,
    },
    /// There was nothing to record: nothing was submitted under a claim the record carries.
    Nothing {
        /// The state field's text.
        state: String,
    },
    /// It could not be written. Alarm, with everything a person needs to record it.
    Unrecorded {
        /// Why.
        detail: String,
    },
}

/// Wait before the record is read and written again.
const BETWEEN_TRIES: SignedDuration = SignedDuration::from_millis(500);
/// A record that was not found this often is gone.
const MOST_MISSED: u32 = 3;

/// Writes the outcome, on `base` first; then, if need be, on what the record has become. It is done at
/// `until`, also where the store hangs.
pub async fn record_outcome(
    store: &impl GuardedWrite,
    world: &(impl Clock + Random),
    base: Option<Base>,
    id: &HistoryId,
    outcome: &Outcome,
    until: Timestamp,
) -> Recorded {
    let store = &Limited {
        store,
        world,
        until,
    };
    let (mut conflicts, mut missed, mut late) = (0, 0, false);
    let mut next = base;
    let mut detail = String::new();
    loop {
        let base = match next.take() {
            Some(base) => Ok(base),
            None => read_base(store, world, id, until).await,
        };
        match base {
            Err(no_base) => {
                detail = no_base.to_string();
                missed += u32::from(no_base == NoBase::Store(StoreError::NotFound));
                // It was deleted: reading on until the time is up would find it no more.
                if missed == MOST_MISSED {
                    return Recorded::Unrecorded { detail };
                }
            }
            Ok(base) => match change_on(base.record(), outcome, world.now()) {
                OnRecord::Written {
                    state,
                    next_check_at,
                } => {
                    return Recorded::Written {
                        state,
                        conflicts,
                        late,
                        next_check_at,
                    };
                }
                OnRecord::Done(recorded) => return recorded,
                OnRecord::Write { change, beside } => {
                    match commit(store, world, &base, *change, until).await {
                        Commit::Written { state, progress } => {
                            let state = state.map_or_else(
                                || state_text(base.record()),
                                |s| s.label().to_owned(),
                            );
                            return if beside {
                                Recorded::BesideAPerson { state }
                            } else {
                                Recorded::Written {
                                    state,
                                    conflicts,
                                    late,
                                    next_check_at: progress.next_check_at(),
                                }
                            };
                        }
                        // The record moved on: look at what it has become.
                        Commit::SkippedConflict | Commit::Illegal(_) | Commit::ForeignState => {
                            conflicts += 1;
                            late = true;
                        }
                        Commit::NotWritten(error) | Commit::Unconfirmed(error) => {
                            detail = error.to_string();
                            late = true;
                        }
                    }
                }
            },
        }
        if world
            .now()
            .saturating_add(BETWEEN_TRIES)
            .is_ok_and(|then| then >= until)
        {
            let detail = if detail.is_empty() {
                format!("{conflicts} conflicts")
            } else {
                detail
            };
            return Recorded::Unrecorded { detail };
        }
        world.sleep(BETWEEN_TRIES).await;
    }
}

enum OnRecord {
    /// It says the outcome by now: an earlier write was applied, or the sweep found the same.
    Written {
        state: String,
        next_check_at: Option<Timestamp>,
    },
    Done(Recorded),
    Write {
        change: Box<Change>,
        beside: bool,
    },
}

fn change_on(record: &HistoryRecord, outcome: &Outcome, now: Timestamp) -> OnRecord {
    let state = state_text(record);
    let progress = match Progress::decode(record.progress.as_deref()) {
        Ok(progress) => progress,
        Err(ProgressError::Newer(v)) => {
            return OnRecord::Done(Recorded::Unrecorded {
                detail: format!("the progress has format {v}"),
            });
        }
        // A person emptied or broke the field: what was sent must still be found there.
        Err(ProgressError::Empty | ProgressError::TooLong | ProgressError::Malformed(_)) => {
            Progress::replacing(record.progress.as_deref())
        }
    };
    if holds_claim(record, &outcome.claim) {
        return OnRecord::Write {
            change: Box::new(after_submit(progress, outcome, now)),
            beside: false,
        };
    }
    beside_a_person(progress, outcome, now, state)
}

/// The record no longer carries our claim in `sending`.
fn beside_a_person(
    mut progress: Progress,
    outcome: &Outcome,
    now: Timestamp,
    state: String,
) -> OnRecord {
    let ours = progress
        .claim
        .as_mut()
        .filter(|claim| claim.token == outcome.claim);
    let Some(submission) = submission(outcome, now) else {
        // Proved not sent: resolving our own claim is all there is to say.
        return match ours {
            Some(claim) if claim.is_open() => {
                claim.resolved = Some(Resolution::NotSent);
                // The deadline came with the claim, and would tell of a submit from now on.
                if progress.submission.is_none() {
                    progress.clear_schedule();
                }
                let change = Change::remark("not_sent_noted", progress);
                OnRecord::Write {
                    change: Box::new(change),
                    beside: true,
                }
            }
            Some(_) | None => OnRecord::Done(Recorded::Nothing { state }),
        };
    };
    let known = progress.submission.as_ref().is_some_and(|known| {
        known.reference == submission.reference && known.external_id == submission.external_id
    });
    if known {
        return OnRecord::Written {
            state,
            next_check_at: progress.next_check_at(),
        };
    }
    // What the sweep found, or an accepted id, is never replaced by less.
    match &mut progress.submission {
        Some(known) if known.external_id.is_some() => {
            let other = submission.external_id.map(|id| id.to_string());
            known.evidence.found.extend(other);
        }
        slot => {
            let mut submission = submission;
            if let Some(known) = slot.take() {
                submission.evidence.found = known.evidence.found;
            }
            *slot = Some(submission);
        }
    }
    let change = Change::remark("outcome_noted", progress);
    OnRecord::Write {
        change: Box::new(change),
        beside: true,
    }
}

fn submission(outcome: &Outcome, now: Timestamp) -> Option<Submission> {
    let (kind, external_id, evidence) = match &outcome.submitted {
        SubmitOutcome::Accepted {
            external_id,
            evidence,
        } => (
            SubmissionOutcome::Accepted,
            Some(external_id.clone()),
            evidence,
        ),
        SubmitOutcome::Rejected(evidence) => (SubmissionOutcome::Rejected, None, evidence),
        SubmitOutcome::Unknown(evidence) => (SubmissionOutcome::Unknown, None, evidence),
        SubmitOutcome::NotSent(_) => return None,
    };
    Some(Submission {
        driver: outcome.driver.clone(),
        reference: outcome.reference.clone(),
        outcome: kind,
        external_id,
        at: crate::progress::whole_seconds(now),
        evidence: SubmitEvidence::of(evidence, outcome.started_at),
        unknown: Unknown::default(),
    })
}

/// The change an outcome makes to the record that carries its claim.
pub(super) fn after_submit(mut progress: Progress, outcome: &Outcome, now: Timestamp) -> Change {
    progress.submission = submission(outcome, now);
    match &outcome.submitted {
        SubmitOutcome::Accepted { .. } => {
            progress.last_error = None;
            progress.check_at(clock_deadline(now, outcome.pacing.first));
            Change::of(Event::Accepted, progress)
        }
        SubmitOutcome::Rejected(evidence) => {
            progress.last_error = Some(LastError::new(
                now,
                "rejected",
                evidence.status,
                &evidence.detail,
            ));
            progress.stop_checking();
            Change::of(Event::Rejected, progress)
        }
        SubmitOutcome::NotSent(not_sent) => {
            let evidence = &not_sent.evidence;
            let wait = not_sent
                .retry_after
                .map(|wait| format!(" (asked to wait {} s)", wait.as_secs()));
            let detail = format!("{}{}", evidence.detail, wait.unwrap_or_default());
            progress.last_error = Some(LastError::new(now, "not_sent", evidence.status, &detail));
            if let Some(claim) = &mut progress.claim {
                claim.resolved = Some(Resolution::NotSent);
            }
            progress.clear_schedule();
            Change::of(Event::NotSent, progress)
        }
        SubmitOutcome::Unknown(evidence) => {
            let event = if outcome.can_find {
                progress.check_at(clock_deadline(now, outcome.pacing.find_interval()));
                Event::OutcomeUnknown
            } else {
                progress.stop_checking();
                Event::AcceptanceUnknown
            };
            let detail = format!("{}: {}", evidence.class, evidence.detail);
            let kind = event.label();
            progress.last_error = Some(LastError::new(now, kind, evidence.status, &detail));
            Change::of(event, progress)
        }
    }
}
