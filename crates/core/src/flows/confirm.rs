//! Preview and confirm: the bytes the user looked at are the bytes that are stored and sealed.

use bytes::Bytes;
use jiff::Timestamp;

use super::save::SavedRecord;
use super::verify::{has_open_claim_or_submission, shows_an_earlier_submit};
use crate::commit::{Change, Commit, NoBase, commit, read_base};
use crate::ids::{HistoryId, Sha256Hash};
use crate::input::{Input, input_sha256};
use crate::ports::{
    Clock, DocumentChange, GuardedWrite, Random, ReadHistory, SealMac, StoreDocument, StoreError,
};
use crate::progress::{ConfirmedDocument, Progress, Unknown};
use crate::seal::seal;
use crate::state::{Event, State};

/// Whether a preview may be served, and of what.
#[derive(Debug, Clone, PartialEq)]
pub enum Previewable {
    /// This input, of this record.
    Yes {
        /// The record.
        record: SavedRecord,
        /// Its input.
        input: Box<Input>,
    },
    /// The record was saved again, edited, confirmed or sent since the token was given.
    Stale,
    /// The input in the record cannot be read.
    Unusable(String),
    /// The store did not answer.
    Failed(StoreError),
}

/// Reads the record a preview token was given for. The token is bound to `rev` and to the hash of the input
/// text as it was saved.
pub async fn previewable(
    store: &impl ReadHistory,
    id: &HistoryId,
    rev: u64,
    saved_input: &Sha256Hash,
) -> Previewable {
    let record = match store.read(id).await {
        Ok(read) => read.record,
        Err(error) => return Previewable::Failed(error),
    };
    let Ok(progress) = Progress::decode(record.progress.as_deref()) else {
        return Previewable::Stale;
    };
    let Some(state @ (State::Saved | State::Confirmed)) = record.state.known() else {
        return Previewable::Stale;
    };
    let stored = record.input.as_deref().unwrap_or_default();
    if progress.rev() != rev || input_sha256(stored) != *saved_input {
        return Previewable::Stale;
    }
    match Input::from_stored(stored) {
        Ok(input) => Previewable::Yes {
            record: SavedRecord {
                id: record.id,
                state,
                rev,
                input_sha256: *saved_input,
            },
            input: Box::new(input),
        },
        Err(bad) => Previewable::Unusable(bad.to_string()),
    }
}

/// The bytes a confirm request carries, already checked against the receipt.
#[derive(Debug, Clone)]
pub struct DocumentToConfirm {
    /// The bytes.
    pub bytes: Bytes,
    /// Their hash.
    pub sha256: Sha256Hash,
    /// The revision number ticket and receipt are bound to.
    pub rev: u64,
    /// The hash of the saved input text they are bound to.
    pub input_sha256: Sha256Hash,
}

/// What became of a confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmed {
    /// These bytes are stored and sealed.
    Confirmed(SavedRecord),
    /// They were already: nothing was written.
    Same(SavedRecord),
    /// The record was saved again, edited, confirmed with other bytes or input, or sent.
    Stale,
    /// The input in the record cannot be read.
    Unusable(String),
    /// Somebody changed the record in between.
    ChangedElsewhere,
    /// The store did not do it; a repeat is safe.
    Failed(StoreError),
}

/// Stores the bytes and seals them with the input. The guarded write makes it happen once.
pub async fn confirm<S: GuardedWrite + StoreDocument>(
    store: &S,
    world: &(impl Clock + Random),
    mac: &impl SealMac,
    stage: &str,
    id: &HistoryId,
    document: DocumentToConfirm,
    until: Timestamp,
) -> Confirmed {
    let base = match read_base(store, world, id, until).await {
        Ok(base) => base,
        Err(NoBase::Store(error)) => return Confirmed::Failed(error),
        Err(NoBase::Unsettled) => return Confirmed::ChangedElsewhere,
    };
    let record = base.record();
    let Ok(mut progress) = Progress::decode(record.progress.as_deref()) else {
        return Confirmed::Stale;
    };
    if let Some(same) = already_confirmed(record.state.known(), &progress, id, &document) {
        return Confirmed::Same(same);
    }
    let fresh = record.state.known() == Some(State::Saved)
        && progress.rev() == document.rev
        && !has_open_claim_or_submission(&progress)
        && !shows_an_earlier_submit(record, &progress);
    if !fresh {
        return Confirmed::Stale;
    }
    let stored = record.input.as_deref().unwrap_or_default();
    let input_sha256 = input_sha256(stored);
    if input_sha256 != document.input_sha256 {
        return Confirmed::Stale;
    }
    if let Err(bad) = Input::from_stored(stored) {
        return Confirmed::Unusable(bad.to_string());
    }
    let bytes = u64::try_from(document.bytes.len()).unwrap_or(u64::MAX);
    let name = format!("{}.pdf", document.sha256);
    let file_id = match store.upload(&name, document.bytes).await {
        Ok(file_id) => file_id,
        Err(error) => return Confirmed::Failed(error),
    };
    progress.document = Some(ConfirmedDocument {
        sha256: document.sha256,
        bytes,
        file_id: file_id.clone(),
        confirmed_at: crate::progress::whole_seconds(world.now()),
        input_sha256,
        seal: seal(mac, stage, id, &document.sha256, &input_sha256),
        unknown: Unknown::default(),
    });
    let mut change = Change::of(Event::DocumentConfirmed, progress);
    change.document = DocumentChange::Bind(file_id);
    match commit(store, world, &base, change, until).await {
        Commit::Written { progress, .. } => Confirmed::Confirmed(SavedRecord {
            id: id.clone(),
            state: State::Confirmed,
            rev: progress.rev(),
            input_sha256,
        }),
        Commit::SkippedConflict => Confirmed::ChangedElsewhere,
        Commit::Illegal(_) | Commit::ForeignState => Confirmed::Stale,
        Commit::NotWritten(error) | Commit::Unconfirmed(error) => Confirmed::Failed(error),
    }
}

/// The same confirm again: these bytes and this input, one write after the revision they were previewed at.
fn already_confirmed(
    state: Option<State>,
    progress: &Progress,
    id: &HistoryId,
    document: &DocumentToConfirm,
) -> Option<SavedRecord> {
    let same = progress
        .document
        .as_ref()
        .is_some_and(|d| d.sha256 == document.sha256 && d.input_sha256 == document.input_sha256);
    let next = document.rev.checked_add(1) == Some(progress.rev());
    (state == Some(State::Confirmed) && same && next).then(|| SavedRecord {
        id: id.clone(),
        state: State::Confirmed,
        rev: progress.rev(),
        input_sha256: document.input_sha256,
    })
}
