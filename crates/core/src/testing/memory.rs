use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};

use super::TestWorld;
use crate::ids::{CrmName, FileId, HistoryId, RequestKey, Revision, Sha256Hash};
use crate::ports::{
    Clock, CreateHistory, CreateReply, DocumentChange, FindTwins, GuardedWrite, ListHistory,
    ListPage, ListQuery, ListStart, NewRecord, ReadDocument, ReadHistory, SourceFile, SourceFiles,
    StoreDocument, StoreError, Twin, Write, WriteReply,
};
use crate::progress::whole_seconds;
use crate::record::{HistoryRecord, Read, Stamp, StateField};
use crate::state::State;

/// The fields of one history record, as a person could edit them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// The state field's text.
    pub state: Option<String>,
    /// The progress field's text.
    pub progress: Option<String>,
    /// The input field's text.
    pub input: Option<String>,
    /// The next-check field.
    pub next_check_at: Option<Timestamp>,
    /// The deadline field.
    pub deadline: Option<Timestamp>,
    /// The request-key field.
    pub request_key: Option<String>,
    /// The external-id field.
    pub external_id: Option<String>,
    /// The document field.
    pub document: Option<FileId>,
    /// The document-hash field.
    pub document_sha256: Option<String>,
    /// The source module and record.
    pub source: Option<(String, String)>,
    modified: Timestamp,
    /// Whether the CRM ran its workflows after the last write.
    pub notified: bool,
}

/// What happens to one of the next writes.
#[derive(Debug, Clone, Copy)]
enum Fault {
    AppliedReplyLost,
    LostBeforeApplied,
    AppliedLate(SignedDuration),
}

/// A CRM in memory, never kinder than the real one: versions have one-second grain, and a second write in
/// the second of the version it names is let through.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    world: Arc<TestWorld>,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    rows: BTreeMap<HistoryId, Row>,
    files: BTreeMap<FileId, Bytes>,
    sources: BTreeMap<(String, String, String), Bytes>,
    next_id: u64,
    last_date: Option<Timestamp>,
    faults: VecDeque<Fault>,
    failing_reads: VecDeque<StoreError>,
    failing_writes: VecDeque<StoreError>,
    poisoned: Vec<HistoryId>,
    late: Vec<(Timestamp, HistoryId, Revision, Write)>,
    writes: u64,
    lists: u64,
    cut_lists_at: Option<usize>,
}

const LATENCY: SignedDuration = SignedDuration::from_millis(20);

impl MemoryStore {
    /// An empty store on this clock.
    pub fn new(world: Arc<TestWorld>) -> Self {
        Self {
            world,
            inner: Arc::default(),
        }
    }

    /// The row as it is.
    pub fn row(&self, id: &HistoryId) -> Option<Row> {
        self.inner().rows.get(id).cloned()
    }

    /// Every id, in order.
    pub fn ids(&self) -> Vec<HistoryId> {
        self.inner().rows.keys().cloned().collect()
    }

    /// A person edits the record: no guard, and its version becomes the present second.
    pub fn edit_by_hand(&self, id: &HistoryId, edit: impl FnOnce(&mut Row)) {
        let now = whole_seconds(self.world.now());
        if let Some(row) = self.inner().rows.get_mut(id) {
            edit(row);
            row.modified = now;
        }
    }

    /// Adds a row as it is, under the next id.
    pub fn insert(&self, mut row: Row) -> HistoryId {
        row.modified = whole_seconds(self.world.now());
        let mut inner = self.inner();
        let id = inner.fresh_id();
        inner.rows.insert(id.clone(), row);
        id
    }

    /// Deletes the record.
    pub fn delete(&self, id: &HistoryId) {
        self.inner().rows.remove(id);
    }

    /// Adds a file to a source record.
    pub fn put_source(&self, module: &str, record: &str, file: &str, bytes: impl Into<Bytes>) {
        let key = (module.to_owned(), record.to_owned(), file.to_owned());
        self.inner().sources.insert(key, bytes.into());
    }

    /// The next write is applied, and its reply lost.
    pub fn lose_next_write_reply(&self) {
        self.inner().faults.push_back(Fault::AppliedReplyLost);
    }

    /// The next write is lost before it is applied.
    pub fn lose_next_write(&self) {
        self.inner().faults.push_back(Fault::LostBeforeApplied);
    }

    /// The next write's reply is lost, and it is applied this much later.
    pub fn apply_next_write_late(&self, after: SignedDuration) {
        self.inner().faults.push_back(Fault::AppliedLate(after));
    }

    /// The next read fails.
    pub fn fail_next_read(&self, error: StoreError) {
        self.inner().failing_reads.push_back(error);
    }

    /// The next write is refused; nothing is written.
    pub fn fail_next_write(&self, error: StoreError) {
        self.inner().failing_writes.push_back(error);
    }

    /// No write of this record is ever taken.
    pub fn poison(&self, id: &HistoryId) {
        self.inner().poisoned.push(id.clone());
    }

    /// Lists cut long text at this many bytes.
    pub fn cut_lists_at(&self, bytes: usize) {
        self.inner().cut_lists_at = Some(bytes);
    }

    /// Writes that were applied.
    pub fn writes(&self) -> u64 {
        self.inner().writes
    }

    /// Pages that were listed.
    pub fn lists(&self) -> u64 {
        self.inner().lists
    }

    /// Files that were uploaded.
    pub fn files(&self) -> usize {
        self.inner().files.len()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.apply_late(self.world.now());
        inner
    }

    fn stamped(
        &self,
        inner: &mut Inner,
        row: &Row,
        id: &HistoryId,
        before: Option<Timestamp>,
    ) -> Read {
        let date = whole_seconds(self.world.now());
        inner.last_date = inner.last_date.max(Some(date));
        Read {
            record: record_of(id, row),
            stamp: Stamp {
                version_at: row.modified,
                clock_before: before,
                date: Some(date),
                request_timeout: SignedDuration::from_secs(10),
            },
        }
    }

    fn due(&self, now: Timestamp) -> Vec<(Option<Timestamp>, HistoryId)> {
        let inner = self.inner();
        let mut due: Vec<_> = inner
            .rows
            .iter()
            .filter(|(_, row)| {
                let in_flight = StateField::of(row.state.as_deref())
                    .known()
                    .is_some_and(State::is_in_flight);
                in_flight
                    && (row.next_check_at.is_none_or(|at| at <= now)
                        || row.deadline.is_some_and(|at| at <= now))
            })
            .map(|(id, row)| (row.next_check_at, id.clone()))
            .collect();
        due.sort();
        due
    }
}

fn record_of(id: &HistoryId, row: &Row) -> HistoryRecord {
    HistoryRecord {
        id: id.clone(),
        revision: revision_of(row),
        state: StateField::of(row.state.as_deref()),
        progress: row.progress.clone(),
        input: row.input.clone(),
        document: row.document.clone(),
        document_sha256: row.document_sha256.clone(),
        external_id: row.external_id.clone(),
    }
}

#[expect(clippy::expect_used, reason = "test code; a timestamp is a revision")]
fn revision_of(row: &Row) -> Revision {
    Revision::parse(&row.modified.to_string()).expect("a timestamp is a revision")
}

impl Inner {
    #[expect(clippy::expect_used, reason = "test code; digits are an id")]
    fn fresh_id(&mut self) -> HistoryId {
        self.next_id += 1;
        HistoryId::parse(&format!("{:019}", 5_725_767_000_000_000_000 + self.next_id))
            .expect("digits are an id")
    }

    fn write(
        &mut self,
        now: Timestamp,
        id: &HistoryId,
        revision: &Revision,
        write: &Write,
    ) -> WriteReply {
        let Some(row) = self.rows.get_mut(id) else {
            return WriteReply::NotApplied(StoreError::NotFound);
        };
        if revision_of(row) != *revision {
            return WriteReply::Conflict;
        }
        apply(row, write, now);
        self.writes += 1;
        WriteReply::Applied
    }

    fn apply_late(&mut self, now: Timestamp) {
        let (due, rest) = std::mem::take(&mut self.late)
            .into_iter()
            .partition(|(at, ..)| *at <= now);
        self.late = rest;
        for (at, id, revision, write) in due {
            self.write(at, &id, &revision, &write);
        }
    }
}

fn apply(row: &mut Row, write: &Write, now: Timestamp) {
    if let Some(state) = write.state {
        row.state = Some(state.label().to_owned());
    }
    row.progress = Some(write.progress.clone());
    row.next_check_at = write.next_check_at;
    row.deadline = write.deadline;
    row.external_id = write.external_id.as_ref().map(ToString::to_string);
    row.document_sha256 = write.document_sha256.as_ref().map(ToString::to_string);
    if let Some(input) = &write.input {
        row.input = Some(input.clone());
    }
    match &write.document {
        DocumentChange::Keep => {}
        DocumentChange::Bind(file) => row.document = Some(file.clone()),
        DocumentChange::Drop => row.document = None,
    }
    row.modified = whole_seconds(now);
    row.notified = write.notify;
}

impl ReadHistory for MemoryStore {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        let before = self.inner().last_date;
        self.world.sleep(LATENCY).await;
        let mut inner = self.inner();
        if let Some(error) = inner.failing_reads.pop_front() {
            return Err(error);
        }
        let row = inner.rows.get(id).cloned().ok_or(StoreError::NotFound)?;
        Ok(self.stamped(&mut inner, &row, id, before))
    }
}

impl GuardedWrite for MemoryStore {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        self.world.sleep(LATENCY).await;
        let now = self.world.now();
        let mut inner = self.inner();
        inner.last_date = inner.last_date.max(Some(whole_seconds(now)));
        if let Some(error) = inner.failing_writes.pop_front() {
            return WriteReply::NotApplied(error);
        }
        if inner.poisoned.contains(id) {
            return WriteReply::NotApplied(StoreError::Refused {
                code: "INVALID_DATA".to_owned(),
                detail: "poisoned".to_owned(),
            });
        }
        let lost = WriteReply::Unknown(StoreError::Transient {
            detail: "the reply was lost".to_owned(),
        });
        match inner.faults.pop_front() {
            None => inner.write(now, id, revision, write),
            Some(Fault::AppliedReplyLost) => {
                inner.write(now, id, revision, write);
                lost
            }
            Some(Fault::LostBeforeApplied) => lost,
            Some(Fault::AppliedLate(after)) => {
                let at = crate::ports::clock_deadline(now, after);
                inner
                    .late
                    .push((at, id.clone(), revision.clone(), write.clone()));
                lost
            }
        }
    }
}

impl CreateHistory for MemoryStore {
    async fn create(&self, new: &NewRecord) -> CreateReply {
        self.world.sleep(LATENCY).await;
        let now = self.world.now();
        let mut inner = self.inner();
        inner.last_date = inner.last_date.max(Some(whole_seconds(now)));
        let key = new.request_key.as_str();
        let taken = inner.rows.values().any(|row| {
            row.request_key
                .as_deref()
                .is_some_and(|k| k.eq_ignore_ascii_case(key))
        });
        if taken {
            return CreateReply::Exists;
        }
        let mut row = Row {
            request_key: Some(key.to_owned()),
            source: Some((new.source_module.to_string(), new.source_record.to_string())),
            ..Row::default()
        };
        apply(&mut row, &new.write, now);
        let id = inner.fresh_id();
        inner.rows.insert(id.clone(), row);
        match inner.faults.pop_front() {
            None => CreateReply::Created(id),
            Some(_) => CreateReply::Unknown(StoreError::Transient {
                detail: "the reply was lost".to_owned(),
            }),
        }
    }

    async fn find_by_request_key(&self, key: &RequestKey) -> Result<Option<Read>, StoreError> {
        let before = self.inner().last_date;
        self.world.sleep(LATENCY).await;
        let mut inner = self.inner();
        let found = inner
            .rows
            .iter()
            .find(|(_, row)| {
                row.request_key
                    .as_deref()
                    .is_some_and(|k| k.eq_ignore_ascii_case(key.as_str()))
            })
            .map(|(id, row)| (id.clone(), row.clone()));
        Ok(found.map(|(id, row)| self.stamped(&mut inner, &row, &id, before)))
    }
}

impl ListHistory for MemoryStore {
    type Cursor = (Option<Timestamp>, HistoryId);

    async fn list_due(
        &self,
        query: &ListQuery<Self::Cursor>,
    ) -> Result<ListPage<Self::Cursor>, StoreError> {
        let before = self.inner().last_date;
        self.world.sleep(LATENCY).await;
        let due = self.due(query.now);
        let skip = match &query.start {
            ListStart::First => 0,
            ListStart::Offset(offset) => usize::try_from(*offset).unwrap_or(usize::MAX),
            ListStart::After(cursor) => due.iter().take_while(|key| *key <= cursor).count(),
        };
        let limit = query.limit as usize;
        let keys: Vec<_> = due.iter().skip(skip).take(limit).cloned().collect();
        let more = due.len() > skip.saturating_add(limit);
        let mut inner = self.inner();
        inner.lists += 1;
        let cut = inner.cut_lists_at;
        let rows = keys
            .iter()
            .filter_map(|(_, id)| {
                let mut row = inner.rows.get(id).cloned()?;
                if let (Some(cut), Some(text)) = (cut, row.progress.as_mut()) {
                    text.truncate(cut);
                }
                Some(self.stamped(&mut inner, &row, id, before))
            })
            .collect();
        Ok(ListPage {
            rows,
            next: keys.last().filter(|_| more).cloned(),
        })
    }

    async fn count_due(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.world.sleep(LATENCY).await;
        Ok(self.due(now).len() as u64)
    }
}

impl FindTwins for MemoryStore {
    async fn twins(
        &self,
        source_module: &CrmName,
        source_record: &CrmName,
        document: &Sha256Hash,
    ) -> Result<Vec<Twin>, StoreError> {
        self.world.sleep(LATENCY).await;
        let source = (source_module.to_string(), source_record.to_string());
        let hash = document.to_string();
        let inner = self.inner();
        let twins = inner.rows.iter().filter_map(|(id, row)| {
            let state = StateField::of(row.state.as_deref()).known()?;
            let counts =
                state.is_in_flight() || matches!(state, State::Succeeded | State::NeedsReview);
            let same = row.source.as_ref() == Some(&source)
                && row.document_sha256.as_deref() == Some(hash.as_str());
            (counts && same).then(|| Twin {
                id: id.clone(),
                state,
            })
        });
        Ok(twins.collect())
    }
}

impl StoreDocument for MemoryStore {
    async fn upload(&self, _: &str, bytes: Bytes) -> Result<FileId, StoreError> {
        self.world.sleep(LATENCY).await;
        let mut inner = self.inner();
        let text = format!("file_{}", inner.files.len() + 1);
        let id = FileId::parse(&text).map_err(|bad| StoreError::Malformed {
            detail: bad.to_string(),
        })?;
        inner.files.insert(id.clone(), bytes);
        Ok(id)
    }
}

fn bounded(bytes: Bytes, limit: u64) -> Result<Bytes, StoreError> {
    if bytes.len() as u64 > limit {
        return Err(StoreError::TooLarge { limit });
    }
    Ok(bytes)
}

impl ReadDocument for MemoryStore {
    async fn download(&self, record: &HistoryRecord, max_bytes: u64) -> Result<Bytes, StoreError> {
        self.world.sleep(LATENCY).await;
        let file = record.document.as_ref().ok_or(StoreError::NotFound)?;
        let bytes = self.inner().files.get(file).cloned();
        bounded(bytes.ok_or(StoreError::NotFound)?, max_bytes)
    }
}

impl SourceFiles for MemoryStore {
    async fn source_file(
        &self,
        module: &CrmName,
        record: &CrmName,
        file: &SourceFile,
        max_bytes: u64,
    ) -> Result<Bytes, StoreError> {
        self.world.sleep(LATENCY).await;
        let (SourceFile::Attachment(name) | SourceFile::Field(name)) = file;
        let key = (module.to_string(), record.to_string(), name.to_string());
        let bytes = self.inner().sources.get(&key).cloned();
        bounded(bytes.ok_or(StoreError::NotFound)?, max_bytes)
    }
}
