//! The rows of a CRM, without time, waiting or faults: what a store in memory, a model and a simulation share.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};

use super::row::Row;
use crate::ids::{CrmName, FileId, HistoryId, RequestKey, Revision, Sha256Hash};
use crate::ports::{
    CreateReply, ListPage, ListQuery, ListStart, NewRecord, SourceFile, StoreError, Twin,
    UntouchedPage, UntouchedQuery, Write, WriteReply,
};
use crate::progress::whole_seconds;
use crate::record::{HistoryRecord, Read, Stamp, StateField};

/// What the reader of an answer knows of the CRM's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeenClock {
    /// The answer's own `Date`.
    pub date: Timestamp,
    /// The latest `Date` known before the request was sent.
    pub before: Option<Timestamp>,
}

/// Names the last row of a page: next check, then id.
pub type Cursor = (Option<Timestamp>, HistoryId);

/// A CRM's rows and files, never kinder than the real one: versions have one-second grain, and a second
/// write in the second of the version it names is let through.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Crm {
    rows: BTreeMap<HistoryId, Row>,
    files: BTreeMap<FileId, Bytes>,
    sources: BTreeMap<(String, String, String), Bytes>,
    next_id: u64,
    late: Vec<(Timestamp, HistoryId, Revision, Write)>,
    cut_lists_at: Option<usize>,
}

/// The most twins that are given: the newest.
const MOST_TWINS: usize = 50;

impl Crm {
    /// The row as it is.
    pub fn row(&self, id: &HistoryId) -> Option<&Row> {
        self.rows.get(id)
    }

    /// Every row, by id.
    pub fn rows(&self) -> impl Iterator<Item = (&HistoryId, &Row)> {
        self.rows.iter()
    }

    /// How many files were uploaded.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Lists cut long text at this many bytes.
    pub fn cut_lists_at(&mut self, bytes: usize) {
        self.cut_lists_at = Some(bytes);
    }

    /// Adds a row as it is, under the next id.
    pub fn insert(&mut self, now: Timestamp, mut row: Row) -> HistoryId {
        row.modified = whole_seconds(now);
        self.next_id += 1;
        let id = id_of(self.next_id);
        self.rows.insert(id.clone(), row);
        id
    }

    /// Sets the record as it is, its version too, or takes it away: how a copy that lags is kept up.
    pub fn put(&mut self, id: HistoryId, row: Option<Row>) {
        match row {
            Some(row) => self.rows.insert(id, row),
            None => self.rows.remove(&id),
        };
    }

    /// Deletes the record.
    pub fn delete(&mut self, id: &HistoryId) -> Option<Row> {
        self.rows.remove(id)
    }

    /// A person edits the record: no guard, and its version becomes the present second.
    pub fn edit_by_hand(&mut self, now: Timestamp, id: &HistoryId, edit: impl FnOnce(&mut Row)) {
        if let Some(row) = self.rows.get_mut(id) {
            edit(row);
            row.modified = whole_seconds(now);
        }
    }

    /// Adds a file to a source record.
    pub fn put_source(&mut self, module: &str, record: &str, file: &str, bytes: Bytes) {
        let key = (module.to_owned(), record.to_owned(), file.to_owned());
        self.sources.insert(key, bytes);
    }

    /// The record as it is.
    pub fn read(&self, id: &HistoryId, clock: SeenClock) -> Result<Read, StoreError> {
        let row = self.rows.get(id).ok_or(StoreError::NotFound)?;
        Ok(stamped(id, row, clock))
    }

    /// Writes if the record has this revision.
    pub fn write(
        &mut self,
        now: Timestamp,
        id: &HistoryId,
        revision: &Revision,
        write: &Write,
    ) -> WriteReply {
        let Some(row) = self.rows.get_mut(id) else {
            return WriteReply::NotApplied(StoreError::NotFound);
        };
        if row.revision() != *revision {
            return WriteReply::Conflict;
        }
        row.apply(write, now);
        WriteReply::Applied
    }

    /// A write that arrives at this time, guarded as any other.
    pub fn write_later(
        &mut self,
        at: Timestamp,
        id: &HistoryId,
        revision: &Revision,
        write: &Write,
    ) {
        self.late
            .push((at, id.clone(), revision.clone(), write.clone()));
    }

    /// When the next late write arrives.
    pub fn next_late(&self) -> Option<Timestamp> {
        self.late.iter().map(|(at, ..)| *at).min()
    }

    /// Lets the late writes of the time up to now arrive, in their order. Gives how many were applied.
    pub fn arrive(&mut self, now: Timestamp) -> usize {
        let (mut due, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.late)
            .into_iter()
            .partition(|(at, ..)| *at <= now);
        self.late = rest;
        due.sort_by_key(|(at, ..)| *at);
        let applied = due.iter().filter(|(at, id, revision, write)| {
            self.write(*at, id, revision, write) == WriteReply::Applied
        });
        applied.count()
    }

    /// Creates the record unless one with its request key exists.
    pub fn create(&mut self, now: Timestamp, new: &NewRecord) -> CreateReply {
        if self.rows.values().any(|row| row.has_key(&new.request_key)) {
            return CreateReply::Exists;
        }
        let mut row = Row {
            request_key: Some(new.request_key.as_str().to_owned()),
            source: Some((new.source_module.to_string(), new.source_record.to_string())),
            ..Row::default()
        };
        row.apply(&new.write, now);
        CreateReply::Created(self.insert(now, row))
    }

    /// The record with this request key; the lowest id.
    pub fn find_by_request_key(&self, key: &RequestKey, clock: SeenClock) -> Option<Read> {
        let found = self.rows.iter().find(|(_, row)| row.has_key(key));
        found.map(|(id, row)| stamped(id, row, clock))
    }

    /// The keys of the due rows, in order.
    fn due(&self, now: Timestamp) -> Vec<(Option<Timestamp>, &HistoryId)> {
        let due = self.rows.iter().filter(|(_, row)| row.is_due(now));
        let mut keys: Vec<_> = due.map(|(id, row)| (row.next_check_at, id)).collect();
        keys.sort_unstable();
        keys
    }

    /// One page of due rows.
    pub fn list_due(&self, query: &ListQuery<Cursor>, clock: SeenClock) -> ListPage<Cursor> {
        let due = self.due(query.now);
        let skip = match &query.start {
            ListStart::First => 0,
            ListStart::Offset(offset) => usize::try_from(*offset).unwrap_or(usize::MAX),
            ListStart::After((at, id)) => due.partition_point(|key| *key <= (*at, id)),
        };
        let limit = query.limit as usize;
        let more = due.len() > skip.saturating_add(limit);
        let keys: Vec<_> = due.into_iter().skip(skip).take(limit).collect();
        let last = keys.last().filter(|_| more);
        ListPage {
            rows: self.listed(keys.iter().map(|(_, id)| *id), clock),
            next: last.map(|(at, id)| (*at, (*id).clone())),
        }
    }

    /// How many rows are due.
    pub fn count_due(&self, now: Timestamp) -> u64 {
        self.rows.values().filter(|row| row.is_due(now)).count() as u64
    }

    fn untouched(&self, before: Timestamp) -> impl Iterator<Item = (&HistoryId, &Row)> {
        let rows = self.rows.iter();
        rows.filter(move |(_, row)| row.is_in_flight() && row.modified <= before)
    }

    /// One page of rows in flight that nobody wrote since, the longest untouched first.
    pub fn list_untouched(&self, query: &UntouchedQuery, clock: SeenClock) -> UntouchedPage {
        let rows = self.untouched(query.before);
        let mut keys: Vec<_> = rows.map(|(id, row)| (row.modified, id)).collect();
        keys.sort();
        let skip = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let limit = query.limit as usize;
        let ids = keys.iter().skip(skip).take(limit).map(|(_, id)| *id);
        UntouchedPage {
            rows: self.listed(ids, clock),
            more: keys.len() > skip.saturating_add(limit),
        }
    }

    /// How many rows in flight nobody wrote since.
    pub fn count_untouched(&self, before: Timestamp) -> u64 {
        self.untouched(before).count() as u64
    }

    /// How many records hold a text in their state field that is none of the states.
    pub fn count_foreign_states(&self) -> u64 {
        let states = self.rows.values().map(|row| row.state.as_deref());
        let foreign =
            states.filter(|state| matches!(StateField::of(*state), StateField::Unknown(_)));
        foreign.count() as u64
    }

    fn listed<'a>(&self, ids: impl Iterator<Item = &'a HistoryId>, clock: SeenClock) -> Vec<Read> {
        let rows = ids.filter_map(|id| {
            let row = self.rows.get(id)?.as_listed(self.cut_lists_at);
            Some(stamped(id, &row, clock))
        });
        rows.collect()
    }

    /// The newest records of this source record and document that were not changed since.
    pub fn twins(
        &self,
        source_module: &CrmName,
        source_record: &CrmName,
        document: &Sha256Hash,
        seen_until: Timestamp,
    ) -> Vec<Twin> {
        let source = (source_module.to_string(), source_record.to_string());
        let hash = document.to_string();
        let newest_first = self.rows.iter().rev().filter(|(_, row)| {
            row.source.as_ref() == Some(&source)
                && row.document_sha256.as_deref() == Some(hash.as_str())
                && row.modified <= seen_until
        });
        let twins = newest_first.take(MOST_TWINS).map(|(id, row)| Twin {
            record: row.as_listed(self.cut_lists_at).record(id),
            version_at: row.modified,
        });
        twins.collect()
    }

    /// Uploads a file; nothing refers to it until a write binds the id.
    pub fn upload(&mut self, bytes: Bytes) -> Result<FileId, StoreError> {
        let text = format!("file_{}", self.files.len() + 1);
        let id = FileId::parse(&text).map_err(|bad| StoreError::Malformed {
            detail: bad.to_string(),
        })?;
        self.files.insert(id.clone(), bytes);
        Ok(id)
    }

    /// The bytes of the record's document, as it was read.
    pub fn download(&self, record: &HistoryRecord, max_bytes: u64) -> Result<Bytes, StoreError> {
        let file = record.document.as_ref().ok_or(StoreError::NotFound)?;
        bounded(self.files.get(file), max_bytes)
    }

    /// A file of a source record.
    pub fn source_file(
        &self,
        module: &CrmName,
        record: &CrmName,
        file: &SourceFile,
        max_bytes: u64,
    ) -> Result<Bytes, StoreError> {
        let (SourceFile::Attachment(name) | SourceFile::Field(name)) = file;
        let key = (module.to_string(), record.to_string(), name.to_string());
        bounded(self.sources.get(&key), max_bytes)
    }
}

#[expect(clippy::expect_used, reason = "test code; digits are an id")]
fn id_of(number: u64) -> HistoryId {
    HistoryId::parse(&format!("{:019}", 5_725_767_000_000_000_000 + number))
        .expect("digits are an id")
}

fn bounded(bytes: Option<&Bytes>, limit: u64) -> Result<Bytes, StoreError> {
    let bytes = bytes.ok_or(StoreError::NotFound)?;
    if bytes.len() as u64 > limit {
        return Err(StoreError::TooLarge { limit });
    }
    Ok(bytes.clone())
}

fn stamped(id: &HistoryId, row: &Row, clock: SeenClock) -> Read {
    Read {
        record: row.record(id),
        stamp: Stamp {
            version_at: row.modified,
            clock_before: clock.before,
            date: Some(whole_seconds(clock.date)),
            request_timeout: REQUEST_TIMEOUT,
        },
    }
}

/// The longest time between a request and its answer.
const REQUEST_TIMEOUT: SignedDuration = SignedDuration::from_secs(10);
