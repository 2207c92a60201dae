//! The external send API, as its driver shows it. Submitting and looking up are two ports, so that what may
//! submit can be told from what links it.

use std::future::Future;

use bytes::Bytes;
use jiff::SignedDuration;

use crate::ids::{DriverId, ExternalId, HistoryId, Reference, Sha256Hash};
use crate::input::Input;
use crate::policy::Pacing;

/// What is to be submitted: the confirmed document and the input that goes with it.
#[derive(Debug, Clone)]
pub struct Order {
    /// The history record.
    pub history_id: HistoryId,
    /// Our reference, which is the idempotency key as well.
    pub reference: Reference,
    /// The confirmed input.
    pub input: Input,
    /// The confirmed bytes.
    pub document: Bytes,
    /// Their hash.
    pub document_sha256: Sha256Hash,
}

/// What a driver can do, and how large a document it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Capabilities {
    /// Whether an unknown outcome can be cleared up: by reference, or by reading the draft back.
    pub can_find: bool,
    /// The largest document in bytes.
    pub max_document_bytes: u64,
}

/// What was seen of a request, kept with the outcome. Never a body, a credential or personal data.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Evidence {
    /// The class of what happened, such as `status`, `timeout`, `reset`, `connect`.
    pub class: String,
    /// The HTTP status, when one was read.
    pub status: Option<u16>,
    /// The API's own error code or a short remark; at most 300 characters are kept.
    pub detail: String,
    /// How many bytes of body were to be sent.
    pub bytes_sent: u64,
}

/// Proof that the API did not accept: the request never reached it, or it said so.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NotSent {
    /// What was seen.
    pub evidence: Evidence,
    /// How long the API asks to wait.
    pub retry_after: Option<SignedDuration>,
}

/// What became of the one submit. An enum and not a `Result`: no `?` can turn an unknown into a retry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SubmitOutcome {
    /// The API accepted it under this id.
    Accepted {
        /// The API's id.
        external_id: ExternalId,
        /// What was seen.
        evidence: Evidence,
    },
    /// The API refused it for good.
    Rejected(Evidence),
    /// Proved: not accepted. A person may press again; nothing presses for them.
    NotSent(NotSent),
    /// It cannot be known whether the API accepted it.
    Unknown(Evidence),
}

/// A request that failed without an answer to the question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The API limits requests; stop asking it in this run.
    RateLimited {
        /// How long it asks to wait.
        retry_after: Option<SignedDuration>,
        /// What was seen.
        evidence: Evidence,
    },
    /// 401 or 403: the credentials are refused. The state is kept and an alarm raised.
    Unauthorized(Evidence),
    /// Time-out, connection or server error.
    Transient(Evidence),
}

/// What a look-up by the API's id told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LookUpAnswer {
    /// Final: delivered.
    Delivered {
        /// The API's own word.
        status: String,
    },
    /// Final: not delivered.
    Undelivered {
        /// The API's own word or reason.
        status: String,
    },
    /// No result yet.
    Pending {
        /// The API's own word.
        status: String,
        /// Whether the driver knows that word; an unknown one is pending with a warning.
        recognised: bool,
    },
    /// The API knows no such id: pending within the driver's grace, then review, never failed.
    NotFound,
    /// No answer.
    Failed(Failure),
}

/// What looking for a submit by its reference or draft told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FindAnswer {
    /// Exactly one: the API accepted it.
    One(ExternalId),
    /// Several: a person must look.
    Several(Vec<String>),
    /// None, or the draft is still a draft.
    None,
    /// No answer.
    Failed(Failure),
}

/// Submits. Linked by `side-effect` alone.
pub trait Submit: Send + Sync {
    /// What the harmless steps yielded: tokens, a draft.
    type Prepared: Send;

    /// What the driver can do.
    fn capabilities(&self) -> Capabilities;
    /// How often to look up, and until when.
    fn pacing(&self) -> &Pacing;
    /// Runs the harmless steps and fetches tokens. May be repeated.
    fn prepare(
        &self,
        order: &Order,
    ) -> impl Future<Output = Result<Self::Prepared, NotSent>> + Send;
    /// The draft's id, to be stored with the claim.
    fn draft_id(prepared: &Self::Prepared) -> Option<&str>;
    /// Sends the one commit request, within `time_left`. MUST send it at most once, whatever happens.
    fn submit(
        &self,
        order: &Order,
        prepared: Self::Prepared,
        time_left: SignedDuration,
    ) -> impl Future<Output = SubmitOutcome> + Send;
}

/// Looks up. Linked by `poller`.
pub trait LookUp: Send + Sync {
    /// What the driver can do.
    fn capabilities(&self) -> Capabilities;
    /// How often to look up, and until when.
    fn pacing(&self) -> &Pacing;
    /// Asks for the result of what the API accepted.
    fn look_up(&self, id: &ExternalId) -> impl Future<Output = LookUpAnswer> + Send;
    /// Asks whether the API has what was submitted under `reference`, or under this draft.
    fn find(
        &self,
        reference: &Reference,
        draft_id: Option<&str>,
    ) -> impl Future<Output = FindAnswer> + Send;
}

/// The configured drivers that can submit.
pub trait SubmitDrivers: Send + Sync {
    /// The kind of driver.
    type Driver: Submit;
    /// The driver with this id.
    fn driver(&self, id: &DriverId) -> Option<&Self::Driver>;
}

/// The configured drivers that can look up.
pub trait LookUpDrivers: Send + Sync {
    /// The kind of driver.
    type Driver: LookUp;
    /// The driver with this id.
    fn driver(&self, id: &DriverId) -> Option<&Self::Driver>;
}
