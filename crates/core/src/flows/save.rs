//! Saving input: creates the record once, whatever is repeated.

use jiff::Timestamp;

use super::verify::{has_open_claim_or_submission, shows_an_earlier_submit};
use crate::commit::{Change, Commit, NoBase, commit, read_base, write_of};
use crate::ids::{HistoryId, RequestKey, Sha256Hash};
use crate::input::{Input, input_sha256};
use crate::ports::{
    Clock, CreateHistory, CreateReply, DocumentChange, GuardedWrite, NewRecord, Random, StoreError,
};
use crate::progress::{Actor, Progress, SaveRequest, TrailEntry, Unknown};
use crate::record::HistoryRecord;
use crate::state::{Event, State};

/// What the signed request asks to save.
#[derive(Debug, Clone, PartialEq)]
pub struct SaveOrder {
    /// The request's `webhook-id`.
    pub key: RequestKey,
    /// The hash of the request's body.
    pub body_sha256: Sha256Hash,
    /// Who asks.
    pub actor: Actor,
    /// The input.
    pub input: Input,
    /// Its stored text.
    pub stored: String,
}

/// A record whose input is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedRecord {
    /// Its id.
    pub id: HistoryId,
    /// Its state.
    pub state: State,
    /// Its revision number, to which preview and confirm are bound.
    pub rev: u64,
    /// The hash of the input text as it was saved, to which they are bound too: an edit by a person leaves
    /// `rev` as it is.
    pub input_sha256: Sha256Hash,
}

/// What became of a save.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    /// The record is new, or its input was replaced.
    Saved(SavedRecord),
    /// This very request was served before.
    Same(SavedRecord),
    /// The key was used with another body.
    KeyReused,
    /// The record is past `confirmed`, claimed, or its state is none of ours.
    NotSavable,
    /// Somebody changed the record in between.
    ChangedElsewhere,
    /// The store did not do it; a repeat with the same key is safe.
    Failed(StoreError),
}

/// Times the record is looked for by its key after a create.
const FINDS: u32 = 3;

/// Creates the record of this request, or finds the one it created before.
pub async fn save(
    store: &impl CreateHistory,
    world: &(impl Clock + Random),
    order: &SaveOrder,
) -> Saved {
    let new = new_record(world.now(), world.bits(), order);
    let (created, lost) = match store.create(&new).await {
        CreateReply::Created(id) => (Some(id), None),
        CreateReply::Exists => (None, None),
        CreateReply::Unknown(error) => (None, Some(error)),
        CreateReply::NotCreated(error) => return Saved::Failed(error),
    };
    // Uniqueness may have let two through: the record that is found by the key, the lowest, is the one.
    let mut failure = lost.unwrap_or(StoreError::Transient {
        detail: "the saved record could not be read back".to_owned(),
    });
    for attempt in 0..FINDS {
        match store.find_by_request_key(&order.key).await {
            Ok(Some(read)) => {
                let is_new = created.as_ref() == Some(&read.record.id);
                return judge(&read.record, order, is_new);
            }
            Ok(None) => {}
            Err(error) => failure = error,
        }
        if attempt + 1 < FINDS {
            world.sleep(jiff::SignedDuration::from_millis(400)).await;
        }
    }
    Saved::Failed(failure)
}

fn judge(record: &HistoryRecord, order: &SaveOrder, is_new: bool) -> Saved {
    let Ok(progress) = Progress::decode(record.progress.as_deref()) else {
        return Saved::NotSavable;
    };
    let same = progress.request.as_ref().is_some_and(|request| {
        request.key == order.key && request.body_sha256 == order.body_sha256
    });
    let Some(state) = record.state.known() else {
        return Saved::NotSavable;
    };
    let saved = SavedRecord {
        id: record.id.clone(),
        state,
        rev: progress.rev(),
        // Of what was asked to be saved, not of what was read: a repeat must not bless an edit.
        input_sha256: input_sha256(&order.stored),
    };
    match (same, is_new) {
        (true, true) => Saved::Saved(saved),
        (true, false) => Saved::Same(saved),
        (false, _) => Saved::KeyReused,
    }
}

fn new_record(now: Timestamp, bits: u128, order: &SaveOrder) -> NewRecord {
    let mut progress = Progress::default();
    progress.request = Some(request_of(order));
    if let Ok(id) = crate::ids::WriteId::parse(&format!("{bits:032x}")) {
        progress.count_write(id);
    }
    progress.push_trail(TrailEntry::of(now, Event::InputSaved, State::Saved));
    NewRecord {
        request_key: order.key.clone(),
        source_module: order.input.source.module.clone(),
        source_record: order.input.source.record_id.clone(),
        write: write_of(
            Some(State::Saved),
            &progress,
            Some(order.stored.clone()),
            DocumentChange::Keep,
        ),
    }
}

fn request_of(order: &SaveOrder) -> SaveRequest {
    SaveRequest {
        key: order.key.clone(),
        body_sha256: order.body_sha256,
        actor: order.actor.clone(),
        unknown: Unknown::default(),
    }
}

/// Replaces the input of a record that is not claimed yet; document and seal are dropped.
pub async fn save_again(
    store: &impl GuardedWrite,
    world: &(impl Clock + Random),
    id: &HistoryId,
    order: &SaveOrder,
    until: Timestamp,
) -> Saved {
    let base = match read_base(store, world, id, until).await {
        Ok(base) => base,
        Err(NoBase::Store(error)) => return Saved::Failed(error),
        Err(NoBase::Unsettled) => return Saved::ChangedElsewhere,
    };
    let record = base.record();
    let Ok(mut progress) = Progress::decode(record.progress.as_deref()) else {
        return Saved::NotSavable;
    };
    if progress
        .request
        .as_ref()
        .is_some_and(|request| request.key == order.key)
    {
        return judge(record, order, false);
    }
    if has_open_claim_or_submission(&progress) || shows_an_earlier_submit(record, &progress) {
        return Saved::NotSavable;
    }
    progress.request = Some(request_of(order));
    progress.document = None;
    progress.last_error = None;
    let mut change = Change::of(Event::InputSaved, progress);
    change.input = Some(order.stored.clone());
    change.document = match record.document {
        Some(_) => DocumentChange::Drop,
        None => DocumentChange::Keep,
    };
    match commit(store, world, &base, change, until).await {
        Commit::Written { state, progress } => Saved::Saved(SavedRecord {
            id: id.clone(),
            state: state.unwrap_or(State::Saved),
            rev: progress.rev(),
            input_sha256: input_sha256(&order.stored),
        }),
        Commit::SkippedConflict => Saved::ChangedElsewhere,
        Commit::Illegal(_) | Commit::ForeignState => Saved::NotSavable,
        Commit::NotWritten(error) | Commit::Unconfirmed(error) => Saved::Failed(error),
    }
}
