mod ports;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};

use super::TestWorld;
use super::crm::{Crm, SeenClock};
use super::row::Row;
use crate::ids::{HistoryId, Revision};
use crate::ports::{Clock as _, StoreError, Usage, Write, WriteReply};
use crate::progress::whole_seconds;

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
    crm: Crm,
    last_date: Option<Timestamp>,
    faults: VecDeque<Fault>,
    failing_reads: VecDeque<StoreError>,
    failing_writes: VecDeque<StoreError>,
    failing_lists: VecDeque<StoreError>,
    failing_twins: VecDeque<StoreError>,
    twins_lag: SignedDuration,
    slow_writes: Option<(HistoryId, SignedDuration)>,
    poisoned: Vec<HistoryId>,
    /// But for calls and credits, which are counted by themselves.
    usage: Usage,
    calls: u64,
    reads: u64,
    writes: u64,
    lists: u64,
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
        self.inner().crm.row(id).cloned()
    }

    /// Every id, in order.
    pub fn ids(&self) -> Vec<HistoryId> {
        self.inner().crm.rows().map(|(id, _)| id.clone()).collect()
    }

    /// A person edits the record: no guard, and its version becomes the present second.
    pub fn edit_by_hand(&self, id: &HistoryId, edit: impl FnOnce(&mut Row)) {
        self.inner().crm.edit_by_hand(self.world.now(), id, edit);
    }

    /// Adds a row as it is, under the next id.
    pub fn insert(&self, row: Row) -> HistoryId {
        self.inner().crm.insert(self.world.now(), row)
    }

    /// Deletes the record.
    pub fn delete(&self, id: &HistoryId) {
        self.inner().crm.delete(id);
    }

    /// Adds a file to a source record.
    pub fn put_source(&self, module: &str, record: &str, file: &str, bytes: impl Into<Bytes>) {
        self.inner()
            .crm
            .put_source(module, record, file, bytes.into());
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

    /// From now on the CRM says that so many of the day's credits are left.
    pub fn credits_left(&self, credits: u64) {
        self.inner().usage.credits_remaining = Some(credits);
    }

    /// Lists cut long text at this many bytes.
    pub fn cut_lists_at(&self, bytes: usize) {
        self.inner().crm.cut_lists_at(bytes);
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
        self.inner().crm.files()
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
        let arrived = inner.crm.arrive(self.world.now());
        inner.writes += arrived as u64;
        inner
    }
}

impl Inner {
    /// The next failure that was asked for, counted where it means that there was no token.
    fn next_failure(
        &mut self,
        queue: impl FnOnce(&mut Self) -> &mut VecDeque<StoreError>,
    ) -> Option<StoreError> {
        let error = queue(self).pop_front()?;
        self.usage.token_throttled += u64::from(error == StoreError::TokenThrottled);
        self.usage.token_refused += u64::from(matches!(error, StoreError::Unauthorized { .. }));
        Some(error)
    }

    /// The clock of an answer that is given now.
    fn clock(&mut self, now: Timestamp, before: Option<Timestamp>) -> SeenClock {
        let date = whole_seconds(now);
        self.last_date = self.last_date.max(Some(date));
        SeenClock { date, before }
    }

    fn write(
        &mut self,
        now: Timestamp,
        id: &HistoryId,
        revision: &Revision,
        write: &Write,
    ) -> WriteReply {
        let reply = self.crm.write(now, id, revision, write);
        self.writes += u64::from(reply == WriteReply::Applied);
        reply
    }
}
