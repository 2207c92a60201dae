mod ports;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};

use super::TestWorld;
use crate::ids::{FileId, HistoryId, Revision};
use crate::ports::{Clock as _, DocumentChange, StoreError, Write, WriteReply};
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
    failing_lists: VecDeque<StoreError>,
    failing_twins: VecDeque<StoreError>,
    twins_lag: SignedDuration,
    slow_writes: Option<(HistoryId, SignedDuration)>,
    poisoned: Vec<HistoryId>,
    late: Vec<(Timestamp, HistoryId, Revision, Write)>,
    calls: u64,
    reads: u64,
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

    /// The next list fails.
    pub fn fail_next_list(&self, error: StoreError) {
        self.inner().failing_lists.push_back(error);
    }

    /// The next search for twins fails.
    pub fn fail_next_twins(&self, error: StoreError) {
        self.inner().failing_twins.push_back(error);
    }

    /// Records that changed less than this ago are not found as twins.
    pub fn twins_lag(&self, lag: SignedDuration) {
        self.inner().twins_lag = lag;
    }

    /// Every write of this record takes this much longer until it is applied.
    pub fn slow_writes(&self, id: &HistoryId, by: SignedDuration) {
        self.inner().slow_writes = Some((id.clone(), by));
    }

    /// No write of this record is ever taken.
    pub fn poison(&self, id: &HistoryId) {
        self.inner().poisoned.push(id.clone());
    }

    /// Lists cut long text at this many bytes.
    pub fn cut_lists_at(&self, bytes: usize) {
        self.inner().cut_lists_at = Some(bytes);
    }

    /// Single reads that were answered with a record.
    pub fn reads(&self) -> u64 {
        self.inner().reads
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

    /// One request: counted, and answered after a while. Gives the store's clock as known before it.
    async fn call(&self) -> Option<Timestamp> {
        let before = {
            let mut inner = self.inner();
            inner.calls += 1;
            inner.last_date
        };
        self.world.sleep(LATENCY).await;
        before
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
        next_check_at: row.next_check_at,
        deadline: row.deadline,
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
