//! What flows ask, and what they are told.

use bytes::Bytes;
use jiff::Timestamp;
use sendtrail_core::ids::{
    CrmName, ExternalId, FileId, HistoryId, Reference, Revision, Sha256Hash,
};
use sendtrail_core::ports::{
    FindAnswer, ListPage, ListQuery, LookUpAnswer, NotSent, StoreError, SubmitOutcome, Twin, Write,
    WriteReply,
};
use sendtrail_core::record::{HistoryRecord, Read};
use sendtrail_core::testing::Cursor;

/// A call of a port that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// Wait.
    Sleep {
        /// Until when.
        until: Timestamp,
    },
    /// Read one record.
    Read {
        /// Which.
        id: HistoryId,
        /// The CRM's clock, as known when the request was sent.
        before: Option<Timestamp>,
    },
    /// Write one record, guarded.
    Write {
        /// Which.
        id: HistoryId,
        /// The revision it must have.
        revision: Revision,
        /// What is written.
        write: Box<Write>,
    },
    /// List due rows.
    ListDue {
        /// Which.
        query: Box<ListQuery<Cursor>>,
        /// The CRM's clock, as known when the request was sent.
        before: Option<Timestamp>,
    },
    /// Look for twins.
    Twins {
        /// The source's module.
        module: CrmName,
        /// The source.
        record: CrmName,
        /// The document.
        document: Sha256Hash,
    },
    /// Fetch the stored document.
    Download {
        /// Of this record, as it was read.
        record: Box<HistoryRecord>,
        /// At most this large.
        max_bytes: u64,
    },
    /// Store a document.
    Upload {
        /// Its bytes.
        bytes: Bytes,
    },
    /// The driver's harmless steps.
    Prepare,
    /// The one request that cannot be taken back.
    Submit {
        /// The record.
        id: HistoryId,
        /// The reference, which is the idempotency key.
        reference: Reference,
        /// The hash of the bytes that are sent.
        document: Sha256Hash,
        /// The hash of the input that is sent.
        input: Sha256Hash,
    },
    /// Ask for the result.
    LookUp {
        /// Of what the API accepted under this id.
        id: ExternalId,
    },
    /// Ask whether the API has it.
    Find {
        /// Under this reference.
        reference: Reference,
    },
}

impl Request {
    /// Until when it waits, where it waits for time.
    pub fn until(&self) -> Option<Timestamp> {
        if let Self::Sleep { until } = self {
            Some(*until)
        } else {
            None
        }
    }
}

/// What a call is told.
#[expect(
    clippy::large_enum_variant,
    reason = "an entry of a log is shared, never moved about"
)]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The time has passed.
    Slept,
    /// The record.
    Read(Result<Read, StoreError>),
    /// What became of the write.
    Written(WriteReply),
    /// The page.
    Listed(Result<ListPage<Cursor>, StoreError>),
    /// The twins.
    Twins(Result<Vec<Twin>, StoreError>),
    /// The document.
    Downloaded(Result<Bytes, StoreError>),
    /// The file.
    Uploaded(Result<FileId, StoreError>),
    /// Whether the harmless steps succeeded.
    Prepared(Result<(), NotSent>),
    /// What became of the submit.
    Submitted(SubmitOutcome),
    /// The result.
    LookedUp(LookUpAnswer),
    /// What the API has.
    Found(FindAnswer),
}

impl Answer {
    /// Whether it is an answer of the CRM whose `Date` the caller sees.
    pub(super) fn tells_the_crm_clock(&self) -> bool {
        match self {
            Self::Read(Ok(_))
            | Self::Listed(Ok(_))
            | Self::Written(WriteReply::Applied | WriteReply::Conflict) => true,
            Self::Slept
            | Self::Read(Err(_))
            | Self::Listed(Err(_))
            | Self::Written(WriteReply::NotApplied(_) | WriteReply::Unknown(_))
            | Self::Twins(_)
            | Self::Downloaded(_)
            | Self::Uploaded(_)
            | Self::Prepared(_)
            | Self::Submitted(_)
            | Self::LookedUp(_)
            | Self::Found(_) => false,
        }
    }
}

/// An answer a flow has got.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The number of the request.
    pub number: u32,
    /// When it was answered; it is the flow's present until the next.
    pub at: Timestamp,
    /// The answer.
    pub answer: Answer,
}
