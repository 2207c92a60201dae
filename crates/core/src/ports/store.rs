//! The store of history records, split by capability. There is no unconditional write.

use std::future::Future;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use crate::ids::{CrmName, ExternalId, FileId, HistoryId, RequestKey, Revision, Sha256Hash};
use crate::record::{HistoryRecord, Read};
use crate::state::State;

/// Why the store could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
pub enum StoreError {
    /// There is no such record or file, or this user may not see it.
    #[error("not found in the CRM")]
    NotFound,
    /// Too many requests, too many at once, or out of credits. Nothing was done.
    #[error("the CRM limits requests")]
    RateLimited {
        /// How long the CRM asks to wait, when it says so.
        retry_after: Option<SignedDuration>,
    },
    /// The token endpoint refuses new tokens for a while. Do not ask again for ten minutes.
    #[error("the CRM's token endpoint refuses new tokens for now")]
    TokenThrottled,
    /// The credentials or their scopes are refused. A repeat does not help.
    #[error("the CRM refuses the credentials: {detail}")]
    Unauthorized {
        /// The CRM's code, without secrets.
        detail: String,
    },
    /// The CRM understood and refuses, and will refuse again.
    #[error("the CRM refuses: {code} {detail}")]
    Refused {
        /// The CRM's error code.
        code: String,
        /// What it was about, such as the field.
        detail: String,
    },
    /// The file is larger than the caller takes.
    #[error("larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// Connection, time-out or server error: it may work later.
    #[error("the CRM did not answer properly: {detail}")]
    Transient {
        /// What happened, without secrets or bodies.
        detail: String,
    },
    /// The CRM answered something this version cannot read.
    #[error("unreadable answer of the CRM: {detail}")]
    Malformed {
        /// What was expected.
        detail: String,
    },
}

/// What a caller outside may be told of a [`StoreError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PublicFailure {
    /// There is no such record or file.
    NotFound,
    /// The CRM limits requests.
    RateLimited {
        /// Whole seconds to wait, at least 1, where the CRM says so.
        retry_after: Option<u64>,
    },
    /// The CRM did not answer properly; it may work later.
    Unavailable,
    /// A repeat does not help: the installation is at fault. The cause is for the log alone.
    Internal,
}

impl StoreError {
    /// The part of this error that may leave the function.
    pub fn public(&self) -> PublicFailure {
        match self {
            Self::NotFound => PublicFailure::NotFound,
            Self::RateLimited { retry_after } => PublicFailure::RateLimited {
                retry_after: retry_after.map(whole_seconds_up),
            },
            Self::TokenThrottled => PublicFailure::RateLimited {
                retry_after: Some(TOKEN_COOLDOWN_SECONDS),
            },
            // An answer that was cut on its way may be whole the next time.
            Self::Transient { .. } | Self::Malformed { .. } => PublicFailure::Unavailable,
            Self::Unauthorized { .. } | Self::Refused { .. } | Self::TooLarge { .. } => {
                PublicFailure::Internal
            }
        }
    }
}

/// How long the token endpoint refuses new tokens.
const TOKEN_COOLDOWN_SECONDS: u64 = 600;

fn whole_seconds_up(wait: SignedDuration) -> u64 {
    let part = i64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(part).max(1).unsigned_abs()
}

/// What became of a guarded write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WriteReply {
    /// It was applied.
    Applied,
    /// The record has another revision (412): nothing was written.
    Conflict,
    /// Proved: nothing was written.
    NotApplied(StoreError),
    /// It may have been applied, now or a moment later.
    Unknown(StoreError),
}

/// What to do with the stored document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DocumentChange {
    /// Leave it.
    Keep,
    /// Make this uploaded file the record's only document.
    Bind(FileId),
    /// Take it off the record.
    Drop,
}

/// One guarded write. Only [`crate::commit`] makes them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Write {
    /// The state, or `None` to leave the field as it is.
    pub state: Option<State>,
    /// The encoded progress.
    pub progress: String,
    /// Copy of the progress value; `None` empties the field.
    pub next_check_at: Option<Timestamp>,
    /// Copy of the progress value; `None` empties the field.
    pub deadline: Option<Timestamp>,
    /// Copy of the progress value; `None` empties the field.
    pub external_id: Option<ExternalId>,
    /// Copy of the progress value; `None` empties the field.
    pub document_sha256: Option<Sha256Hash>,
    /// New input text, or `None` to leave the field as it is.
    pub input: Option<String>,
    /// The stored document.
    pub document: DocumentChange,
    /// Whether the CRM may run the configured workflows after this write.
    pub notify: bool,
}

/// A history record to be created.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NewRecord {
    /// The unique idempotency key.
    pub request_key: RequestKey,
    /// The module the document was sent from.
    pub source_module: CrmName,
    /// The record the document was sent from.
    pub source_record: CrmName,
    /// Its first content; `document` is [`DocumentChange::Keep`].
    pub write: Write,
}

/// What became of a create.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CreateReply {
    /// It was created.
    Created(HistoryId),
    /// A record with this request key exists.
    Exists,
    /// Proved: nothing was created.
    NotCreated(StoreError),
    /// It may have been created, now or a moment later.
    Unknown(StoreError),
}

/// Where a list of due rows starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListStart<C> {
    /// At the first row.
    First,
    /// Past this many rows.
    Offset(u64),
    /// Past the row this cursor names, by key and not by count, so that rows that move do not hide others.
    After(C),
}

/// A list of rows in flight that are due: `sending` or `accepted`, and next check empty, due or past deadline.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListQuery<C> {
    /// The instant that makes a row due.
    pub now: Timestamp,
    /// The most rows in the page, 1 to 200.
    pub limit: u32,
    /// Where to start.
    pub start: ListStart<C>,
}

/// One page of due rows, ordered by next check, then id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListPage<C> {
    /// The rows. The list may cut long text and may lag.
    pub rows: Vec<Read>,
    /// Where the next page starts, when there is one.
    pub next: Option<C>,
}

/// A list of rows in flight that nobody has written for long, whatever their date fields say.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UntouchedQuery {
    /// Rows whose version is not younger than this.
    pub before: Timestamp,
    /// The most rows in the page, 1 to 200.
    pub limit: u32,
    /// Past this many rows.
    pub offset: u64,
}

/// One page of such rows, the longest untouched first, then by id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UntouchedPage {
    /// The rows. The list may cut long text and may lag.
    pub rows: Vec<Read>,
    /// Whether there are rows behind them.
    pub more: bool,
}

/// Reads one history record.
pub trait ReadHistory: Send + Sync {
    /// The record as it is now.
    fn read(&self, id: &HistoryId) -> impl Future<Output = Result<Read, StoreError>> + Send;
}

/// Writes one history record, guarded by its revision.
pub trait GuardedWrite: ReadHistory {
    /// Writes, if the record still has `revision`.
    ///
    /// MUST NOT write when the revision differs, and MUST say [`WriteReply::Unknown`] unless it is proved
    /// that the store did or did not apply the write.
    fn write(
        &self,
        id: &HistoryId,
        revision: &Revision,
        write: &Write,
    ) -> impl Future<Output = WriteReply> + Send;
}

/// Creates history records.
pub trait CreateHistory: ReadHistory {
    /// Creates the record unless one with its request key exists.
    fn create(&self, new: &NewRecord) -> impl Future<Output = CreateReply> + Send;
    /// The record with this request key; the lowest id where the CRM let two through.
    fn find_by_request_key(
        &self,
        key: &RequestKey,
    ) -> impl Future<Output = Result<Option<Read>, StoreError>> + Send;
}

/// Lists due rows.
pub trait ListHistory: ReadHistory {
    /// Names the last row of a page.
    type Cursor: Clone + Send + Sync + std::fmt::Debug;
    /// One page of due rows.
    fn list_due(
        &self,
        query: &ListQuery<Self::Cursor>,
    ) -> impl Future<Output = Result<ListPage<Self::Cursor>, StoreError>> + Send;
    /// How many rows are due.
    fn count_due(&self, now: Timestamp) -> impl Future<Output = Result<u64, StoreError>> + Send;
    /// One page of rows in flight that nobody has written for long.
    fn list_untouched(
        &self,
        query: &UntouchedQuery,
    ) -> impl Future<Output = Result<UntouchedPage, StoreError>> + Send;
    /// How many rows in flight have a version not younger than this.
    fn count_untouched(
        &self,
        before: Timestamp,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
    /// How many records hold a text in their state field that is none of the states.
    fn count_foreign_states(&self) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// A history record with this source record and document, as a list shows it: text may be cut.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Twin {
    /// The record; what the list does not carry is empty.
    pub record: HistoryRecord,
    /// The instant its revision stands for, in the CRM's own time and whole seconds.
    pub version_at: Timestamp,
}

/// Finds the records of one document from one source record.
pub trait FindTwins: Send + Sync {
    /// The newest records, 50 at most, with this source record and document hash, whatever their state. The
    /// record that asks is among them. Which of them stand in the way is for the core to say.
    fn twins(
        &self,
        source_module: &CrmName,
        source_record: &CrmName,
        document: &Sha256Hash,
    ) -> impl Future<Output = Result<Vec<Twin>, StoreError>> + Send;
}

/// Downloads the stored document.
pub trait ReadDocument: Send + Sync {
    /// The bytes of the record's document.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the record has none, [`StoreError::TooLarge`] above `max_bytes`.
    fn download(
        &self,
        record: &HistoryRecord,
        max_bytes: u64,
    ) -> impl Future<Output = Result<Bytes, StoreError>> + Send;
}

/// Uploads a document, to be bound by the guarded write that follows.
pub trait StoreDocument: Send + Sync {
    /// Uploads these bytes; nothing refers to them until a write binds the id.
    fn upload(
        &self,
        name: &str,
        bytes: Bytes,
    ) -> impl Future<Output = Result<FileId, StoreError>> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_cannot_be_read_may_be_whole_the_next_time_and_a_refusal_stays_one() {
        let detail = || "x".to_owned();
        let cut = StoreError::Malformed { detail: detail() };
        assert_eq!(cut.public(), PublicFailure::Unavailable);
        for error in [
            StoreError::Unauthorized { detail: detail() },
            StoreError::TooLarge { limit: 1 },
        ] {
            assert_eq!(error.public(), PublicFailure::Internal);
        }
    }

    #[test]
    fn a_wait_is_told_in_whole_seconds_and_never_shorter() {
        let told = |millis| {
            let retry_after = Some(SignedDuration::from_millis(millis));
            StoreError::RateLimited { retry_after }.public()
        };
        for (millis, seconds) in [(-5, 1), (0, 1), (1, 1), (1_000, 1), (1_001, 2)] {
            let retry_after = Some(seconds);
            assert_eq!(told(millis), PublicFailure::RateLimited { retry_after });
        }
    }
}
