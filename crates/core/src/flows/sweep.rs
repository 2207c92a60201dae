//! The sweep of open claims. It looks, it never submits. Pure.

use jiff::Timestamp;

use super::look_up::{deadline_of, failure_parts};
use crate::commit::Change;
use crate::ids::{DriverId, HistoryId, Reference, derive_reference};
use crate::policy::{Pacing, PollPolicy};
use crate::ports::{Evidence, FindAnswer, clock_deadline};
use crate::progress::{
    Claim, LastError, Progress, Submission, SubmissionOutcome, SubmitEvidence, Unknown,
};
use crate::state::Event;
use crate::text::harmless;

/// What is to be done with a record in `sending`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweepDue {
    /// The function that holds the claim may still live.
    NotYet,
    /// Look for the submit.
    Find {
        /// The driver to ask.
        driver: DriverId,
        /// Our reference.
        reference: Reference,
        /// The draft.
        draft_id: Option<String>,
    },
    /// Nothing can be looked for: a person must decide.
    Review(&'static str),
}

/// Whether an open claim may be looked at: only once its function cannot live any more, or has recorded
/// that it does not know. A sweep beside a living function would let it submit unclaimed.
pub fn sweep_due(
    now: Timestamp,
    policy: &PollPolicy,
    id: &HistoryId,
    progress: &Progress,
) -> SweepDue {
    let Some(claim) = &progress.claim else {
        return SweepDue::Review("the record is sending without a claim");
    };
    let recorded = progress
        .submission
        .as_ref()
        .filter(|submission| submission.outcome == SubmissionOutcome::Unknown);
    let stale = is_stale(now, policy, claim, progress);
    if !progress.is_due(now) || (recorded.is_none() && !stale) {
        return SweepDue::NotYet;
    }
    let reference = match (recorded, &progress.document) {
        (Some(submission), _) => submission.reference.clone(),
        (None, Some(document)) => derive_reference(&policy.stage, id, &document.sha256),
        (None, None) => return SweepDue::Review("the record is sending without a document"),
    };
    SweepDue::Find {
        driver: claim.driver.clone(),
        reference,
        draft_id: claim.draft_id.clone(),
    }
}

/// Whether the function that made the claim cannot live any more.
pub(super) fn is_stale(
    now: Timestamp,
    policy: &PollPolicy,
    claim: &Claim,
    progress: &Progress,
) -> bool {
    let over = |since| now >= clock_deadline(since, policy.claim_stale);
    // Past the deadline too, should a person have moved the time of the claim: every claim ends.
    over(claim.at) || progress.deadline().is_some_and(over)
}

/// Gives an open claim to a person.
pub(super) fn review(mut progress: Progress, now: Timestamp, why: &str) -> Change {
    progress.last_error = Some(LastError::new(now, "acceptance_unknown", None, why));
    progress.stop_checking();
    Change::of(Event::AcceptanceUnknown, progress)
}

/// The change the answer to a search makes; `now` is when it was asked.
pub fn after_find(
    mut progress: Progress,
    reference: &Reference,
    answer: &FindAnswer,
    now: Timestamp,
    pacing: &Pacing,
) -> Change {
    let deadline = deadline_of(&progress, pacing, now);
    progress.count_attempt();
    progress.set_deadline(deadline);
    match answer {
        FindAnswer::One(external_id) => {
            let earlier = progress.submission.take();
            progress.submission = submission(&progress, reference, now, |submission| {
                submission.outcome = SubmissionOutcome::Accepted;
                submission.external_id = Some(external_id.clone());
                submission.evidence = found_evidence(earlier);
            });
            progress.last_error = None;
            progress.check_at(clock_deadline(now, pacing.first));
            Change::of(Event::Accepted, progress)
        }
        FindAnswer::Several(ids) => {
            let found: Vec<_> = ids.iter().take(5).map(|id| harmless(id, 200)).collect();
            let why = format!("several matches: {}", found.join(" "));
            if progress.submission.is_none() {
                progress.submission = submission(&progress, reference, now, |_| {});
            }
            if let Some(submission) = &mut progress.submission {
                submission.evidence.found = found;
            }
            review(progress, now, &why)
        }
        FindAnswer::None if now >= grace_end(&progress, now, pacing) || now >= deadline => review(
            progress,
            now,
            "the send API has nothing under our reference",
        ),
        FindAnswer::None => {
            progress.check_at(clock_deadline(now, pacing.find_interval()));
            Change::of(Event::OutcomeUnknown, progress)
        }
        FindAnswer::Failed(failure) => {
            let (kind, evidence, asked) = failure_parts(failure);
            if now >= deadline {
                return review(
                    progress,
                    now,
                    "the send API could not be asked by the deadline",
                );
            }
            let detail = format!("{}: {}", evidence.class, evidence.detail);
            progress.last_error = Some(LastError::new(now, kind, evidence.status, &detail));
            let wait = pacing.find_interval();
            progress.check_at(clock_deadline(
                now,
                asked.map_or(wait, |asked| asked.max(wait)),
            ));
            Change::of(Event::OutcomeUnknown, progress)
        }
    }
}

/// A submission of unknown outcome under the open claim, as `change` leaves it.
fn submission(
    progress: &Progress,
    reference: &Reference,
    now: Timestamp,
    change: impl FnOnce(&mut Submission),
) -> Option<Submission> {
    let mut submission = Submission {
        driver: progress.claim.as_ref()?.driver.clone(),
        reference: reference.clone(),
        outcome: SubmissionOutcome::Unknown,
        external_id: None,
        at: crate::progress::whole_seconds(now),
        evidence: evidence_of_a_search(),
        unknown: Unknown::default(),
    };
    change(&mut submission);
    Some(submission)
}

fn evidence_of_a_search() -> SubmitEvidence {
    let found = Evidence {
        class: "found".to_owned(),
        ..Evidence::default()
    };
    SubmitEvidence::of(&found, None)
}

/// What was seen of the submit stays, with the word that it was found.
fn found_evidence(earlier: Option<Submission>) -> SubmitEvidence {
    match earlier {
        None => evidence_of_a_search(),
        Some(submission) => SubmitEvidence {
            class: harmless(&format!("found after {}", submission.evidence.class), 64),
            ..submission.evidence
        },
    }
}

/// Until when a submit may still turn up: the driver's grace after the claim and after the submit.
fn grace_end(progress: &Progress, now: Timestamp, pacing: &Pacing) -> Timestamp {
    let claimed = progress.claim.as_ref().map(|claim| claim.at);
    let submitted = progress.submission.as_ref().map(|submission| submission.at);
    clock_deadline(claimed.max(submitted).unwrap_or(now), pacing.find_grace)
}
