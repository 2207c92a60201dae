//! The JSON form. Kept apart from the values the flows work on, so that neither shapes the other.

mod read;
mod write;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FORMAT, Progress, ProgressError};

/// The progress of one send, as the history record's progress field holds it.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "Sendtrail progress, format 1"))]
pub(super) struct ProgressV1 {
    /// The format: 1. A higher number is left untouched by this version.
    v: u64,
    /// Rises by one with every write of the record.
    rev: u64,
    /// When the poller looks next; empty when nothing is left to look at.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("format" = "date-time")))]
    next_check_at: Option<Timestamp>,
    /// How many look-ups were made.
    #[serde(default)]
    attempts: u32,
    /// When the send has to end: looked up once more, then given up to a person.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("format" = "date-time")))]
    deadline: Option<Timestamp>,
    /// A random name of the write that left the record as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    write: Option<String>,
    /// The last thing that went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_error: Option<LastErrorV1>,
    /// The save that made, or last changed, the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<RequestV1>,
    /// The confirmed document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document: Option<DocumentV1>,
    /// The right to submit, written before the submit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimV1>,
    /// The one submit and what became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    submission: Option<SubmissionV1>,
    /// What happened, oldest first; old entries go when the text grows too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trail: Vec<TrailV1>,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    unknown: Map<String, Value>,
}

/// The last thing that went wrong.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LastErrorV1 {
    /// When.
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date-time")))]
    at: Timestamp,
    /// A stable word, such as `rate_limited`, `timeout`, `rejected`.
    kind: String,
    /// The HTTP status, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// A short remark for people.
    #[serde(default)]
    detail: String,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    unknown: Map<String, Value>,
}

/// Who asked, as the signer vouches.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ActorV1 {
    /// The CRM's id of the user.
    id: String,
    /// The user's name.
    name: String,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    unknown: Map<String, Value>,
}

/// The save that made, or last changed, the input.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RequestV1 {
    /// The `webhook-id` of the request.
    key: String,
    /// SHA-256 of the request's body.
    body_sha256: String,
    /// Who asked.
    actor: ActorV1,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    unknown: Map<String, Value>,
}

/// The confirmed document.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DocumentV1 {
    /// SHA-256 of the bytes.
    sha256: String,
    /// Size in bytes.
    bytes: u64,
    /// The CRM's handle of the upload.
    file_id: String,
    /// When it was confirmed.
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date-time")))]
    confirmed_at: Timestamp,
    /// SHA-256 of the stored input it was confirmed with.
    input_sha256: String,
    /// The MAC over stage, history id, document and input.
    seal: String,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    unknown: Map<String, Value>,
}

/// The right to submit.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ClaimV1 {
    /// A random name of the invocation that holds it.
    token: String,
    /// When it was made.
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date-time")))]
    at: Timestamp,
    /// The `webhook-id` of the press.
    request_key: String,
    /// The driver the submit goes through.
    driver: String,
    /// The draft to be committed, where the API has drafts.
    #[serde(default)]
    draft_id: Option<String>,
    /// `not_sent` once it is proved that nothing was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resolved: Option<ResolutionV1>,
    /// The first 16 hex digits of the SHA-256 of each earlier press's `webhook-id`, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<String>,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    unknown: Map<String, Value>,
}

/// How a claim ended without a submission.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
enum ResolutionV1 {
    NotSent,
}

/// What became of the submit.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
enum OutcomeV1 {
    Accepted,
    Rejected,
    Unknown,
}

/// The one submit.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SubmissionV1 {
    /// The driver it went through.
    driver: String,
    /// Our reference at the API, which is the idempotency key as well.
    reference: String,
    /// What became of it.
    outcome: OutcomeV1,
    /// The API's id.
    #[serde(default)]
    external_id: Option<String>,
    /// When the outcome was known.
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date-time")))]
    at: Timestamp,
    /// What was seen of the request.
    #[serde(default)]
    evidence: EvidenceV1,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    unknown: Map<String, Value>,
}

/// What was seen of the request.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EvidenceV1 {
    /// The class of what happened, such as `status`, `timeout`, `reset`, `found`.
    class: String,
    /// The HTTP status, when one was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// The API's own code or a short remark.
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    /// Bytes of body that were to be sent.
    bytes_sent: u64,
    /// When the request was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("format" = "date-time")))]
    started_at: Option<Timestamp>,
    /// The ids found for our reference, where there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    found: Vec<String>,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    unknown: Map<String, Value>,
}

/// One thing that happened.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TrailV1 {
    /// When; of the last one where it stands for several.
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date-time")))]
    at: Timestamp,
    /// The event, or a remark.
    event: String,
    /// The state after it.
    to: String,
    /// How many times in a row, where more than once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    times: u32,
    /// The person, for what a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    unknown: Map<String, Value>,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_one(times: &u32) -> bool {
    *times == 1
}

#[derive(Deserialize)]
struct Format {
    v: u64,
}

pub(super) fn decode(text: &str) -> Result<Progress, ProgressError> {
    let malformed = |error: serde_json::Error| ProgressError::Malformed(error.to_string());
    // Serde would read an array as the members in order, and take `[2]` for a later format.
    if !text.starts_with('{') {
        return Err(ProgressError::Malformed("must be an object".to_owned()));
    }
    let Format { v } = serde_json::from_str(text).map_err(malformed)?;
    if v > FORMAT {
        return Err(ProgressError::Newer(v));
    }
    if v == 0 {
        return Err(ProgressError::Malformed("v must be 1".to_owned()));
    }
    let wire: ProgressV1 = serde_json::from_str(text).map_err(malformed)?;
    Progress::try_from(wire).map_err(ProgressError::Malformed)
}
