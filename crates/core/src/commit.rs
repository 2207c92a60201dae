//! The only way to change a history record: a write guarded by the revision it was read at.
//!
//! **412 means skip.** A conflict becomes [`Commit::SkippedConflict`]; nobody re-reads and overwrites. The one
//! exception, an outcome that must not be lost, is [`crate::flows::record_outcome`].

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use crate::flows::shows_an_earlier_submit;
use crate::ids::{ExternalId, HistoryId, WriteId};
use crate::ports::{
    Clock, DocumentChange, GuardedWrite, Random, ReadHistory, StoreError, Write, WriteReply,
};
use crate::progress::{Progress, SubmissionOutcome, TrailEntry};
use crate::record::{Base, HistoryRecord, NotYet, Read};
use crate::state::{Event, IllegalTransition, State};

/// What a write changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What happened; `None` adds to the progress and leaves the state field alone.
    pub event: Option<Event>,
    /// The progress after it, but for revision number, write id and trail, which the commit adds.
    pub progress: Progress,
    /// New input text.
    pub input: Option<String>,
    /// The stored document.
    pub document: DocumentChange,
    /// What the trail says.
    pub note: Note,
}

/// What the trail says besides the event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Note {
    /// The word, where there is no event.
    pub remark: Option<&'static str>,
    /// The person who did it.
    pub by: Option<String>,
    /// The reason.
    pub reason: Option<String>,
}

impl Change {
    /// This event, with the progress as it is after it.
    pub fn of(event: Event, progress: Progress) -> Self {
        Self {
            event: Some(event),
            progress,
            input: None,
            document: DocumentChange::Keep,
            note: Note::default(),
        }
    }

    /// A change of the progress that leaves the state field alone.
    pub fn remark(word: &'static str, progress: Progress) -> Self {
        Self {
            event: None,
            progress,
            input: None,
            document: DocumentChange::Keep,
            note: Note {
                remark: Some(word),
                ..Note::default()
            },
        }
    }
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq)]
pub enum Commit {
    /// It is written.
    Written {
        /// The state after it; `None` where the state field was left alone.
        state: Option<State>,
        /// The progress after it.
        progress: Box<Progress>,
    },
    /// Somebody changed the record after it was read: nothing was written, nothing is to be done.
    SkippedConflict,
    /// The state does not allow the event.
    Illegal(IllegalTransition),
    /// The state field holds no state this version knows: left alone.
    ForeignState,
    /// Proved: nothing was written.
    NotWritten(StoreError),
    /// The write may have been applied, and it could not be found out.
    Unconfirmed(StoreError),
}

/// Times a write is tried where its reply was lost; each try carries the same revision and write id.
const TRIES: u32 = 3;
/// Wait before such a try.
const BETWEEN_TRIES: SignedDuration = SignedDuration::from_millis(300);

/// Changes the record, unless it changed since it was read.
///
/// A write whose reply was lost may have been applied, now or a moment later: the record is read again and
/// the write id compared before anything is said. Nothing is tried after `until`.
pub async fn commit(
    store: &impl GuardedWrite,
    world: &(impl Clock + Random),
    base: &Base,
    change: Change,
    until: Timestamp,
) -> Commit {
    let planned = match plan(world, base, change) {
        Ok(planned) => planned,
        Err(refused) => return refused,
    };
    let record = base.record();
    let mut lost = None;
    for attempt in 1..=TRIES {
        match store
            .write(&record.id, &record.revision, &planned.write)
            .await
        {
            WriteReply::Applied => return planned.written(),
            WriteReply::Conflict if lost.is_none() => return Commit::SkippedConflict,
            WriteReply::NotApplied(error) if lost.is_none() => return Commit::NotWritten(error),
            // An earlier try may have been the one that was applied.
            WriteReply::Conflict => {}
            WriteReply::NotApplied(error) | WriteReply::Unknown(error) => lost = Some(error),
        }
        match store.read(&record.id).await {
            Ok(read) if planned.is_in(&read) => return planned.written(),
            Ok(read) if read.record.revision != record.revision => return Commit::SkippedConflict,
            Ok(_) => {}
            Err(error) => lost = Some(error),
        }
        if attempt == TRIES
            || world
                .now()
                .saturating_add(BETWEEN_TRIES)
                .is_ok_and(|t| t >= until)
        {
            break;
        }
        world.sleep(BETWEEN_TRIES).await;
    }
    Commit::Unconfirmed(lost.unwrap_or(StoreError::Transient {
        detail: "the write could not be confirmed".to_owned(),
    }))
}

struct Planned {
    id: WriteId,
    state: Option<State>,
    progress: Progress,
    write: Write,
}

impl Planned {
    fn written(self) -> Commit {
        Commit::Written {
            state: self.state,
            progress: Box::new(self.progress),
        }
    }

    fn is_in(&self, read: &Read) -> bool {
        Progress::decode(read.record.progress.as_deref())
            .is_ok_and(|progress| progress.write.as_ref() == Some(&self.id))
    }
}

fn plan(world: &(impl Clock + Random), base: &Base, change: Change) -> Result<Planned, Commit> {
    let record = base.record();
    let now = world.now();
    let state = match change.event {
        None => None,
        Some(event) => {
            let from = record.state.known().ok_or(Commit::ForeignState)?;
            Some(from.next(event).map_err(Commit::Illegal)?)
        }
    };
    let id = fresh_write_id(world)?;
    let mut progress = change.progress;
    keep_what_the_copies_tell(record, &mut progress);
    progress.count_write(id.clone());
    progress.push_trail(trail_entry(now, change.event, state, change.note));
    let mut write = write_of(state, &progress, change.input, change.document);
    keep_the_copies(record, &progress, &mut write);
    Ok(Planned {
        id,
        state,
        progress,
        write,
    })
}

/// A write renews the copies from the progress. Where they are all that is left of an earlier submit, the
/// progress says from now on that one was lost, so that the record is never submitted again.
fn keep_what_the_copies_tell(record: &HistoryRecord, progress: &mut Progress) {
    let read = Progress::decode(record.progress.as_deref());
    if read.is_ok_and(|read| shows_an_earlier_submit(record, &read)) {
        let id = record.external_id.as_deref().unwrap_or("none");
        let deadline = record
            .deadline
            .map_or("none".to_owned(), |at| at.to_string());
        progress.mark_replaced(&format!("external id {id}, deadline {deadline}"));
    }
}

/// Where a progress was lost, the copies are what is left of it beside its own word, and that word is lost
/// too when somebody puts the earlier text back once more: so they are not emptied.
fn keep_the_copies(record: &HistoryRecord, progress: &Progress, write: &mut Write) {
    if !progress.was_replaced() {
        return;
    }
    write.deadline = write.deadline.or(record.deadline);
    if write.external_id.is_none() {
        let id = record.external_id.as_deref().unwrap_or_default();
        write.external_id = ExternalId::parse(id.trim()).ok();
    }
}

fn fresh_write_id(world: &impl Random) -> Result<WriteId, Commit> {
    // Thirty-two hex digits always are a write id; the error keeps this free of a panic.
    WriteId::parse(&format!("{:032x}", world.bits())).map_err(|bad| {
        Commit::NotWritten(StoreError::Malformed {
            detail: bad.to_string(),
        })
    })
}

fn trail_entry(
    now: Timestamp,
    event: Option<Event>,
    state: Option<State>,
    note: Note,
) -> TrailEntry {
    let word = event.map_or(note.remark.unwrap_or("noted"), Event::label);
    let mut entry = TrailEntry::remark(now, word, state.map_or("", State::label));
    entry.by = note.by;
    entry.reason = note.reason;
    entry
}

/// The fields of a write, all made from state and progress in this one place.
pub(crate) fn write_of(
    state: Option<State>,
    progress: &Progress,
    input: Option<String>,
    document: DocumentChange,
) -> Write {
    let external_id =
        progress
            .submission
            .as_ref()
            .and_then(|submission| match submission.outcome {
                SubmissionOutcome::Accepted => submission.external_id.clone(),
                SubmissionOutcome::Rejected | SubmissionOutcome::Unknown => None,
            });
    Write {
        state,
        next_check_at: progress.next_check_at(),
        deadline: progress.deadline(),
        external_id,
        document_sha256: progress.document.as_ref().map(|document| document.sha256),
        progress: progress.encode(),
        input,
        document,
        notify: state.is_some_and(State::notifies),
    }
}

/// A record that could not be read as a base.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoBase {
    /// The store did not give it.
    #[error("the record could not be read: {0}")]
    Store(#[source] StoreError),
    /// It kept changing, or the store told no time, until the time was up.
    #[error("the record kept changing, or the CRM told no time, until the time was up")]
    Unsettled,
}

/// Reads a record until it is a base for a write: waiting alone is not enough, it is read again.
///
/// # Errors
/// [`NoBase`], at the latest at `until`.
pub async fn read_base(
    store: &impl ReadHistory,
    world: &impl Clock,
    id: &HistoryId,
    until: Timestamp,
) -> Result<Base, NoBase> {
    loop {
        let read = store.read(id).await.map_err(NoBase::Store)?;
        let wait = match Base::of_read(read) {
            Ok(base) => return Ok(base),
            Err(not_yet) => {
                let NotYet { wait, .. } = *not_yet;
                // At least a moment, so that a store without a clock is not asked in a tight loop.
                wait.max(SignedDuration::from_millis(50))
            }
        };
        if world
            .now()
            .saturating_add(wait)
            .is_ok_and(|then| then >= until)
        {
            return Err(NoBase::Unsettled);
        }
        world.sleep(wait).await;
    }
}
