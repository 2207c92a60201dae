//! The ports a store has.

use bytes::Bytes;
use jiff::Timestamp;

use super::super::crm::Cursor;
use super::{Fault, MemoryStore};
use crate::ids::{CrmName, FileId, HistoryId, RequestKey, Revision, Sha256Hash};
use crate::ports::{
    Clock as _, CreateHistory, CreateReply, FindTwins, GuardedWrite, ListHistory, ListPage,
    ListQuery, Metered, NewRecord, ReadDocument, ReadHistory, SourceFile, SourceFiles,
    StoreDocument, StoreError, Twin, UntouchedPage, UntouchedQuery, Usage, Write, WriteReply,
    clock_deadline,
};
use crate::record::{HistoryRecord, Read};

/// Every call costs one credit; no token is ever asked for, but a failure may say that there was none.
impl Metered for MemoryStore {
    fn usage(&self) -> Usage {
        let inner = self.inner();
        Usage {
            calls: inner.calls,
            credits: inner.calls,
            ..inner.usage
        }
    }
}

impl ReadHistory for MemoryStore {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        let before = self.call().await;
        let mut inner = self.inner();
        if let Some(error) = inner.next_failure(|inner| &mut inner.failing_reads) {
            return Err(error);
        }
        let clock = inner.clock(self.world.now(), before);
        let read = inner.crm.read(id, clock)?;
        inner.reads += 1;
        Ok(read)
    }
}

impl GuardedWrite for MemoryStore {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        self.call().await;
        let slow = self.inner().slow_writes.clone();
        if let Some((_, by)) = slow.filter(|(slow, _)| slow == id) {
            self.world.sleep(by).await;
        }
        let now = self.world.now();
        let mut inner = self.inner();
        inner.clock(now, None);
        if let Some(error) = inner.next_failure(|inner| &mut inner.failing_writes) {
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
                let at = clock_deadline(now, after);
                inner.crm.write_later(at, id, revision, write);
                lost
            }
        }
    }
}

impl CreateHistory for MemoryStore {
    async fn create(&self, new: &NewRecord) -> CreateReply {
        self.call().await;
        let now = self.world.now();
        let mut inner = self.inner();
        inner.clock(now, None);
        let reply = inner.crm.create(now, new);
        if reply == CreateReply::Exists || inner.faults.pop_front().is_none() {
            return reply;
        }
        CreateReply::Unknown(StoreError::Transient {
            detail: "the reply was lost".to_owned(),
        })
    }

    async fn find_by_request_key(&self, key: &RequestKey) -> Result<Option<Read>, StoreError> {
        let before = self.call().await;
        let mut inner = self.inner();
        let clock = inner.clock(self.world.now(), before);
        Ok(inner.crm.find_by_request_key(key, clock))
    }
}

impl ListHistory for MemoryStore {
    type Cursor = Cursor;

    async fn list_due(&self, query: &ListQuery<Cursor>) -> Result<ListPage<Cursor>, StoreError> {
        let before = self.call().await;
        let mut inner = self.inner();
        if let Some(error) = inner.next_failure(|inner| &mut inner.failing_lists) {
            return Err(error);
        }
        inner.lists += 1;
        let clock = inner.clock(self.world.now(), before);
        Ok(inner.crm.list_due(query, clock))
    }

    async fn count_due(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.call().await;
        Ok(self.inner().crm.count_due(now))
    }

    async fn list_untouched(&self, query: &UntouchedQuery) -> Result<UntouchedPage, StoreError> {
        let before = self.call().await;
        let mut inner = self.inner();
        if let Some(error) = inner.next_failure(|inner| &mut inner.failing_lists) {
            return Err(error);
        }
        inner.lists += 1;
        let clock = inner.clock(self.world.now(), before);
        Ok(inner.crm.list_untouched(query, clock))
    }

    async fn count_untouched(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.call().await;
        Ok(self.inner().crm.count_untouched(before))
    }

    async fn count_foreign_states(&self) -> Result<u64, StoreError> {
        self.call().await;
        Ok(self.inner().crm.count_foreign_states())
    }
}

impl FindTwins for MemoryStore {
    async fn twins(
        &self,
        source_module: &CrmName,
        source_record: &CrmName,
        document: &Sha256Hash,
    ) -> Result<Vec<Twin>, StoreError> {
        self.call().await;
        let mut inner = self.inner();
        if let Some(error) = inner.next_failure(|inner| &mut inner.failing_twins) {
            return Err(error);
        }
        let seen_until = clock_deadline(self.world.now(), -inner.twins_lag);
        let twins = inner
            .crm
            .twins(source_module, source_record, document, seen_until);
        Ok(twins)
    }
}

impl StoreDocument for MemoryStore {
    async fn upload(&self, _: &str, bytes: Bytes) -> Result<FileId, StoreError> {
        self.call().await;
        self.inner().crm.upload(bytes)
    }
}

impl ReadDocument for MemoryStore {
    async fn download(&self, record: &HistoryRecord, max_bytes: u64) -> Result<Bytes, StoreError> {
        self.call().await;
        self.inner().crm.download(record, max_bytes)
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
        self.call().await;
        self.inner()
            .crm
            .source_file(module, record, file, max_bytes)
    }
}
