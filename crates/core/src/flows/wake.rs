//! Bringing a look-up forward: somebody wants to know now.

use jiff::{SignedDuration, Timestamp};

use super::verify::state_text;
use crate::commit::{Change, Commit, NoBase, commit, read_base};
use crate::ids::HistoryId;
use crate::ports::{Clock, GuardedWrite, Random, StoreError, clock_deadline};
use crate::progress::Progress;
use crate::record::HistoryRecord;
use crate::state::{Event, State};

/// A look-up that comes so soon is not brought forward: the write would cost more than it gains.
const SOON: SignedDuration = SignedDuration::from_secs(30);

/// Who wants it, and why; both stay in the trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake<'a> {
    /// The person.
    pub by: &'a str,
    /// The reason, where one was given.
    pub reason: Option<&'a str>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Woken {
    /// The next look-up is brought forward.
    Woken {
        /// When it is due now: at once, and never past the deadline.
        next_check_at: Option<Timestamp>,
    },
    /// It is due, or will be in a moment: nothing was written.
    AlreadyDue {
        /// When; nothing where the progress sets no time, which means at once.
        next_check_at: Option<Timestamp>,
    },
    /// Only an accepted send is looked up: nothing was written.
    NotAccepted {
        /// The state field's text.
        state: String,
    },
    /// The progress cannot be worked with, and why: nothing was written.
    Refused(String),
    /// Somebody changed the record in between: nothing was written.
    ChangedElsewhere,
    /// The store did not do it: nothing was written.
    NotWritten(StoreError),
    /// It may have been written, and it could not be found out.
    Unconfirmed(StoreError),
}

/// Makes an accepted send due now, guarded like every write.
///
/// It moves a look-up forward and never back, so that no number of wakes can keep a send from being looked up.
/// A record that is due is not written, so that wakes one after another do not meet the poller's own write.
/// The count of attempts stays: it counts look-ups, a wake is none, and the pace after it goes on as it was.
pub async fn wake(
    store: &impl GuardedWrite,
    world: &(impl Clock + Random),
    id: &HistoryId,
    wake: Wake<'_>,
    until: Timestamp,
) -> Woken {
    let base = match read_base(store, world, id, until).await {
        Ok(base) => base,
        Err(NoBase::Store(error)) => return Woken::NotWritten(error),
        Err(NoBase::Unsettled) => return Woken::ChangedElsewhere,
    };
    let mut change = match change_of(base.record(), world.now()) {
        Ok(change) => change,
        Err(no_change) => return no_change,
    };
    change.note.by = Some(crate::text::harmless(wake.by, 200));
    change.note.reason = wake
        .reason
        .map(|reason| crate::text::harmless(reason, 300))
        .filter(|reason| !reason.is_empty());
    match commit(store, world, &base, change, until).await {
        Commit::Written { progress, .. } => Woken::Woken {
            next_check_at: progress.next_check_at(),
        },
        Commit::SkippedConflict => Woken::ChangedElsewhere,
        Commit::Illegal(illegal) => Woken::NotAccepted {
            state: illegal.state.label().to_owned(),
        },
        Commit::ForeignState => Woken::NotAccepted {
            state: state_text(base.record()),
        },
        Commit::NotWritten(error) => Woken::NotWritten(error),
        Commit::Unconfirmed(error) => Woken::Unconfirmed(error),
    }
}

/// The change, or what there is to say without one.
fn change_of(record: &HistoryRecord, now: Timestamp) -> Result<Change, Woken> {
    if record.state.known() != Some(State::Accepted) {
        return Err(Woken::NotAccepted {
            state: state_text(record),
        });
    }
    let progress = Progress::decode(record.progress.as_deref());
    let mut progress = progress.map_err(|error| Woken::Refused(error.to_string()))?;
    let soon = clock_deadline(now, SOON);
    if progress.is_due(soon) && is_listed(record, soon) {
        return Err(Woken::AlreadyDue {
            next_check_at: progress.next_check_at(),
        });
    }
    progress.check_at(now);
    Ok(Change::of(Event::Woken, progress))
}

/// Whether the list of due rows has it by then: the list goes by the copies, and a person may have moved them.
fn is_listed(record: &HistoryRecord, by: Timestamp) -> bool {
    record.next_check_at.is_none_or(|at| at <= by) || record.deadline.is_some_and(|at| at <= by)
}
