//! The CRM in memory, with faults that the function must bear.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use sendtrail_core::ids::{CrmName, FileId, HistoryId, RequestKey, Revision};
use sendtrail_core::ports::{
    CreateHistory, CreateReply, GuardedWrite, Metered, NewRecord, ReadHistory, SourceFile,
    SourceFiles, StoreDocument, StoreError, Usage, Write, WriteReply,
};
use sendtrail_core::record::Read;
use sendtrail_core::testing::{MemoryStore, TestWorld};

/// What goes wrong.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    /// Every create is refused with this.
    pub(super) create: Option<StoreError>,
    /// Every upload fails with this.
    pub(super) upload: Option<StoreError>,
    /// Every source file fails with this.
    pub(super) source: Option<StoreError>,
    /// A person edits the record between the read and the next write.
    pub(super) edit_before_write: bool,
    /// Nothing is ever answered.
    pub(super) silent: bool,
}

pub(super) struct TestCrm {
    pub(super) store: MemoryStore,
    pub(super) faults: Mutex<Faults>,
    calls: AtomicU64,
    /// Times there was no token: too many were asked for, or the refresh token was refused.
    no_token: [AtomicU64; 2],
}

impl TestCrm {
    pub(super) fn new(world: Arc<TestWorld>) -> Self {
        Self {
            store: MemoryStore::new(world),
            faults: Mutex::default(),
            calls: AtomicU64::new(0),
            no_token: Default::default(),
        }
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    async fn call(&self) -> Faults {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let faults = self.faults.lock().unwrap().clone();
        if faults.silent {
            std::future::pending::<()>().await;
        }
        faults
    }
}

impl Metered for TestCrm {
    fn usage(&self) -> Usage {
        let calls = self.calls();
        let [throttled, refused] = &self.no_token;
        Usage {
            calls,
            credits: 2 * calls,
            token_throttled: throttled.load(Ordering::Relaxed),
            token_refused: refused.load(Ordering::Relaxed),
            ..Usage::default()
        }
    }
}

impl ReadHistory for TestCrm {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        self.call().await;
        self.store.read(id).await
    }
}

impl GuardedWrite for TestCrm {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        if self.call().await.edit_before_write {
            self.store
                .edit_by_hand(id, |row| row.external_id = Some("typed by a person".into()));
        }
        self.store.write(id, revision, write).await
    }
}

impl CreateHistory for TestCrm {
    async fn create(&self, new: &NewRecord) -> CreateReply {
        match self.call().await.create {
            Some(error) => {
                let [throttled, refused] = &self.no_token;
                let is_throttled = error == StoreError::TokenThrottled;
                throttled.fetch_add(u64::from(is_throttled), Ordering::Relaxed);
                let is_refused = matches!(error, StoreError::Unauthorized { .. });
                refused.fetch_add(u64::from(is_refused), Ordering::Relaxed);
                CreateReply::NotCreated(error)
            }
            None => self.store.create(new).await,
        }
    }

    async fn find_by_request_key(&self, key: &RequestKey) -> Result<Option<Read>, StoreError> {
        self.call().await;
        self.store.find_by_request_key(key).await
    }
}

impl StoreDocument for TestCrm {
    async fn upload(&self, name: &str, bytes: Bytes) -> Result<FileId, StoreError> {
        match self.call().await.upload {
            Some(error) => Err(error),
            None => self.store.upload(name, bytes).await,
        }
    }
}

impl SourceFiles for TestCrm {
    async fn source_file(
        &self,
        module: &CrmName,
        record: &CrmName,
        file: &SourceFile,
        max_bytes: u64,
    ) -> Result<Bytes, StoreError> {
        match self.call().await.source {
            Some(error) => Err(error),
            None => {
                self.store
                    .source_file(module, record, file, max_bytes)
                    .await
            }
        }
    }
}
