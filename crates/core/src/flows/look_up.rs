//! What the answer to a look-up does to an accepted send. Pure.

use jiff::{SignedDuration, Timestamp};

use crate::commit::Change;
use crate::policy::Pacing;
use crate::ports::{Evidence, Failure, LookUpAnswer, clock_deadline};
use crate::progress::{LastError, Progress};
use crate::state::Event;

/// The deadline of a send, also where a person emptied the field: it always ends.
pub(super) fn deadline_of(progress: &Progress, pacing: &Pacing, now: Timestamp) -> Timestamp {
    progress.deadline().unwrap_or_else(|| {
        let claimed = progress.claim.as_ref().map(|claim| claim.at);
        let submitted = progress.submission.as_ref().map(|submission| submission.at);
        clock_deadline(claimed.or(submitted).unwrap_or(now), pacing.give_up)
    })
}

/// The change a look-up's answer makes.
///
/// A send that was asked for at its deadline was looked up once more, with this answer: a final one counts,
/// any other gives up to a person. One that was `asked` for before and answered after it is asked for again.
pub fn after_look_up(
    mut progress: Progress,
    answer: &LookUpAnswer,
    asked: Timestamp,
    now: Timestamp,
    pacing: &Pacing,
    jitter: u64,
) -> Change {
    let deadline = deadline_of(&progress, pacing, now);
    let backoff = pacing.backoff(progress.attempts(), jitter);
    progress.count_attempt();
    progress.set_deadline(deadline);
    let wait = match answer {
        LookUpAnswer::Delivered { .. } => {
            progress.last_error = None;
            progress.stop_checking();
            return Change::of(Event::Delivered, progress);
        }
        LookUpAnswer::Undelivered { status } => {
            progress.last_error = Some(LastError::new(now, "undelivered", None, status));
            progress.stop_checking();
            return Change::of(Event::Undelivered, progress);
        }
        LookUpAnswer::Pending { status, recognised } => {
            progress.last_error =
                (!recognised).then(|| LastError::new(now, "unknown_status", None, status));
            backoff
        }
        LookUpAnswer::NotFound => {
            progress.last_error = Some(LastError::new(now, "not_found", Some(404), ""));
            if !within_grace(&progress, asked, pacing) {
                return give_up(progress);
            }
            backoff
        }
        LookUpAnswer::Failed(failure) => {
            let (kind, evidence, wait) = failure_parts(failure);
            let detail = format!("{}: {}", evidence.class, evidence.detail);
            progress.last_error = Some(LastError::new(now, kind, evidence.status, &detail));
            wait.map_or(backoff, |wait| wait.max(backoff))
        }
    };
    if asked >= deadline {
        progress.last_error = Some(out_of_time(answer, now));
        return give_up(progress);
    }
    progress.check_at(clock_deadline(now, wait));
    Change::of(Event::StillPending, progress)
}

/// What the record says where the deadline ended it, with the API's last word.
fn out_of_time(answer: &LookUpAnswer, now: Timestamp) -> LastError {
    let (status, last) = match answer {
        LookUpAnswer::Pending { status, .. }
        | LookUpAnswer::Delivered { status }
        | LookUpAnswer::Undelivered { status } => (None, format!("the API says {status}")),
        LookUpAnswer::NotFound => (Some(404), "the API does not know the id".to_owned()),
        LookUpAnswer::Failed(failure) => {
            let (kind, evidence, _) = failure_parts(failure);
            let Evidence { class, detail, .. } = evidence;
            (evidence.status, format!("{kind}: {class}: {detail}"))
        }
    };
    let detail = format!("no result by the deadline; {last}");
    LastError::new(now, "gave_up", status, &detail)
}

/// Ends in review.
pub(super) fn give_up(mut progress: Progress) -> Change {
    progress.stop_checking();
    Change::of(Event::GaveUp, progress)
}

fn within_grace(progress: &Progress, now: Timestamp, pacing: &Pacing) -> bool {
    progress
        .submission
        .as_ref()
        .is_some_and(|submission| now < clock_deadline(submission.at, pacing.not_found_grace))
}

/// The word, the evidence and the wait of a failure.
pub(super) fn failure_parts(
    failure: &Failure,
) -> (&'static str, &Evidence, Option<SignedDuration>) {
    match failure {
        Failure::RateLimited {
            retry_after,
            evidence,
        } => ("rate_limited", evidence, *retry_after),
        Failure::Unauthorized(evidence) => ("unauthorized", evidence, None),
        Failure::Transient(evidence) => ("no_answer", evidence, None),
    }
}
