//! The store within a time.
//!
//! A CRM that hangs must not use up the time in which an outcome is recorded and told: a function that is
//! killed says nothing. So every call ends in time, as one whose reply was lost.

use std::future::Future;
use std::pin::pin;

use bytes::Bytes;
use futures_util::future::{Either, select};
use jiff::Timestamp;

use crate::ids::{CrmName, HistoryId, Revision, Sha256Hash};
use crate::ports::{
    Clock, FindTwins, GuardedWrite, ReadDocument, ReadHistory, StoreError, Twin, Write, WriteReply,
};
use crate::record::{HistoryRecord, Read};

/// A store whose calls end at `until`.
#[derive(Debug)]
pub(super) struct Limited<'a, S, W> {
    pub(super) store: &'a S,
    pub(super) world: &'a W,
    pub(super) until: Timestamp,
}

fn ran_out() -> StoreError {
    StoreError::Transient {
        detail: "no answer within the time that was left".to_owned(),
    }
}

impl<S: Sync, W: Clock> Limited<'_, S, W> {
    async fn within<T>(&self, call: impl Future<Output = T> + Send) -> Option<T> {
        let left = self.until.duration_since(self.world.now());
        // The call is looked at first: what is done counts, however late.
        match select(pin!(call), pin!(self.world.sleep(left))).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    async fn read_within<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.within(call).await.unwrap_or_else(|| Err(ran_out()))
    }
}

impl<S: ReadHistory, W: Clock> ReadHistory for Limited<'_, S, W> {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        self.read_within(self.store.read(id)).await
    }
}

impl<S: GuardedWrite, W: Clock> GuardedWrite for Limited<'_, S, W> {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        let reply = self.within(self.store.write(id, revision, write)).await;
        reply.unwrap_or_else(|| WriteReply::Unknown(ran_out()))
    }
}

impl<S: ReadDocument, W: Clock> ReadDocument for Limited<'_, S, W> {
    async fn download(&self, record: &HistoryRecord, max_bytes: u64) -> Result<Bytes, StoreError> {
        self.read_within(self.store.download(record, max_bytes))
            .await
    }
}

impl<S: FindTwins, W: Clock> FindTwins for Limited<'_, S, W> {
    async fn twins(
        &self,
        source_module: &CrmName,
        source_record: &CrmName,
        document: &Sha256Hash,
    ) -> Result<Vec<Twin>, StoreError> {
        self.read_within(self.store.twins(source_module, source_record, document))
            .await
    }
}
