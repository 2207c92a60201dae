//! The JSON form. Kept apart from the values the flows work on, so that neither shapes the other.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Actor, Claim, ConfirmedDocument, FORMAT, LastError, Progress, ProgressError, Resolution,
    SaveRequest, Submission, SubmissionOutcome, SubmitEvidence, TrailEntry, Unknown, clamp,
};
use crate::ids::BadId;

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

impl TryFrom<ProgressV1> for Progress {
    type Error = String;

    fn try_from(wire: ProgressV1) -> Result<Self, String> {
        Ok(Self {
            rev: wire.rev,
            next_check_at: clamp(wire.next_check_at, wire.deadline),
            attempts: wire.attempts,
            deadline: wire.deadline,
            write: wire
                .write
                .map(TryInto::try_into)
                .transpose()
                .map_err(at("write"))?,
            last_error: wire.last_error.map(TryInto::try_into).transpose()?,
            request: wire.request.map(TryInto::try_into).transpose()?,
            document: wire.document.map(TryInto::try_into).transpose()?,
            claim: wire.claim.map(TryInto::try_into).transpose()?,
            submission: wire.submission.map(TryInto::try_into).transpose()?,
            trail: wire
                .trail
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            unknown: Unknown(wire.unknown),
        })
    }
}

impl From<&Progress> for ProgressV1 {
    fn from(progress: &Progress) -> Self {
        Self {
            v: FORMAT,
            rev: progress.rev,
            next_check_at: progress.next_check_at,
            attempts: progress.attempts,
            deadline: progress.deadline,
            write: progress.write.as_ref().map(ToString::to_string),
            last_error: progress.last_error.as_ref().map(Into::into),
            request: progress.request.as_ref().map(Into::into),
            document: progress.document.as_ref().map(Into::into),
            claim: progress.claim.as_ref().map(Into::into),
            submission: progress.submission.as_ref().map(Into::into),
            trail: progress.trail.iter().map(Into::into).collect(),
            unknown: progress.unknown.0.clone(),
        }
    }
}

fn at(key: &'static str) -> impl Fn(BadId) -> String {
    move |bad| format!("{key}: {bad}")
}

/// A text of at most `max` bytes, so that what is read can always be written again.
fn bounded(key: &str, text: String, max: usize) -> Result<String, String> {
    if text.len() <= max {
        Ok(text)
    } else {
        Err(format!("{key}: longer than {max} bytes"))
    }
}

impl TryFrom<LastErrorV1> for LastError {
    type Error = String;
    fn try_from(wire: LastErrorV1) -> Result<Self, String> {
        Ok(Self {
            at: wire.at,
            kind: bounded("last_error.kind", wire.kind, 100)?,
            status: wire.status,
            detail: wire.detail,
            unknown: Unknown(wire.unknown),
        })
    }
}

impl From<&LastError> for LastErrorV1 {
    fn from(error: &LastError) -> Self {
        Self {
            at: error.at,
            kind: error.kind.clone(),
            status: error.status,
            detail: error.detail.clone(),
            unknown: error.unknown.0.clone(),
        }
    }
}

impl TryFrom<RequestV1> for SaveRequest {
    type Error = String;
    fn try_from(wire: RequestV1) -> Result<Self, String> {
        Ok(Self {
            key: wire.key.try_into().map_err(at("request.key"))?,
            body_sha256: wire
                .body_sha256
                .parse()
                .map_err(at("request.body_sha256"))?,
            actor: Actor {
                id: bounded("request.actor.id", wire.actor.id, 200)?,
                name: bounded("request.actor.name", wire.actor.name, 200)?,
                unknown: Unknown(wire.actor.unknown),
            },
            unknown: Unknown(wire.unknown),
        })
    }
}

impl From<&SaveRequest> for RequestV1 {
    fn from(request: &SaveRequest) -> Self {
        Self {
            key: request.key.to_string(),
            body_sha256: request.body_sha256.to_string(),
            actor: ActorV1 {
                id: request.actor.id.clone(),
                name: request.actor.name.clone(),
                unknown: request.actor.unknown.0.clone(),
            },
            unknown: request.unknown.0.clone(),
        }
    }
}

impl TryFrom<DocumentV1> for ConfirmedDocument {
    type Error = String;
    fn try_from(wire: DocumentV1) -> Result<Self, String> {
        Ok(Self {
            sha256: wire.sha256.parse().map_err(at("document.sha256"))?,
            bytes: wire.bytes,
            file_id: wire.file_id.try_into().map_err(at("document.file_id"))?,
            confirmed_at: wire.confirmed_at,
            input_sha256: wire
                .input_sha256
                .parse()
                .map_err(at("document.input_sha256"))?,
            seal: bounded("document.seal", wire.seal, 100)?,
            unknown: Unknown(wire.unknown),
        })
    }
}

impl From<&ConfirmedDocument> for DocumentV1 {
    fn from(document: &ConfirmedDocument) -> Self {
        Self {
            sha256: document.sha256.to_string(),
            bytes: document.bytes,
            file_id: document.file_id.to_string(),
            confirmed_at: document.confirmed_at,
            input_sha256: document.input_sha256.to_string(),
            seal: document.seal.clone(),
            unknown: document.unknown.0.clone(),
        }
    }
}

impl TryFrom<ClaimV1> for Claim {
    type Error = String;
    fn try_from(wire: ClaimV1) -> Result<Self, String> {
        let draft_id = wire.draft_id.map(|id| bounded("claim.draft_id", id, 200));
        Ok(Self {
            token: wire.token.try_into().map_err(at("claim.token"))?,
            at: wire.at,
            request_key: wire
                .request_key
                .try_into()
                .map_err(at("claim.request_key"))?,
            driver: wire.driver.try_into().map_err(at("claim.driver"))?,
            draft_id: draft_id.transpose()?,
            resolved: wire
                .resolved
                .map(|ResolutionV1::NotSent| Resolution::NotSent),
            unknown: Unknown(wire.unknown),
        })
    }
}

impl From<&Claim> for ClaimV1 {
    fn from(claim: &Claim) -> Self {
        Self {
            token: claim.token.to_string(),
            at: claim.at,
            request_key: claim.request_key.to_string(),
            driver: claim.driver.to_string(),
            draft_id: claim.draft_id.clone(),
            resolved: claim
                .resolved
                .map(|Resolution::NotSent| ResolutionV1::NotSent),
            unknown: claim.unknown.0.clone(),
        }
    }
}

impl TryFrom<SubmissionV1> for Submission {
    type Error = String;
    fn try_from(wire: SubmissionV1) -> Result<Self, String> {
        let external_id = wire.external_id.map(TryInto::try_into).transpose();
        Ok(Self {
            driver: wire.driver.try_into().map_err(at("submission.driver"))?,
            reference: wire
                .reference
                .try_into()
                .map_err(at("submission.reference"))?,
            outcome: match wire.outcome {
                OutcomeV1::Accepted => SubmissionOutcome::Accepted,
                OutcomeV1::Rejected => SubmissionOutcome::Rejected,
                OutcomeV1::Unknown => SubmissionOutcome::Unknown,
            },
            external_id: external_id.map_err(at("submission.external_id"))?,
            at: wire.at,
            evidence: wire.evidence.try_into()?,
            unknown: Unknown(wire.unknown),
        })
    }
}

impl From<&Submission> for SubmissionV1 {
    fn from(submission: &Submission) -> Self {
        Self {
            driver: submission.driver.to_string(),
            reference: submission.reference.to_string(),
            outcome: match submission.outcome {
                SubmissionOutcome::Accepted => OutcomeV1::Accepted,
                SubmissionOutcome::Rejected => OutcomeV1::Rejected,
                SubmissionOutcome::Unknown => OutcomeV1::Unknown,
            },
            external_id: submission.external_id.as_ref().map(ToString::to_string),
            at: submission.at,
            evidence: (&submission.evidence).into(),
            unknown: submission.unknown.0.clone(),
        }
    }
}

impl TryFrom<EvidenceV1> for SubmitEvidence {
    type Error = String;
    fn try_from(wire: EvidenceV1) -> Result<Self, String> {
        let found = wire
            .found
            .into_iter()
            .map(|id| bounded("submission.evidence.found", id, 200));
        Ok(Self {
            class: bounded("submission.evidence.class", wire.class, 100)?,
            status: wire.status,
            detail: wire.detail,
            bytes_sent: wire.bytes_sent,
            started_at: wire.started_at,
            found: found.collect::<Result<_, _>>()?,
            unknown: Unknown(wire.unknown),
        })
    }
}

impl From<&SubmitEvidence> for EvidenceV1 {
    fn from(evidence: &SubmitEvidence) -> Self {
        Self {
            class: evidence.class.clone(),
            status: evidence.status,
            detail: evidence.detail.clone(),
            bytes_sent: evidence.bytes_sent,
            started_at: evidence.started_at,
            found: evidence.found.clone(),
            unknown: evidence.unknown.0.clone(),
        }
    }
}

impl TryFrom<TrailV1> for TrailEntry {
    type Error = String;
    fn try_from(wire: TrailV1) -> Result<Self, String> {
        Ok(Self {
            at: wire.at,
            event: bounded("trail.event", wire.event, 64)?,
            to: bounded("trail.to", wire.to, 64)?,
            times: wire.times,
            by: wire.by.map(|by| bounded("trail.by", by, 200)).transpose()?,
            reason: wire.reason,
            unknown: Unknown(wire.unknown),
        })
    }
}

impl From<&TrailEntry> for TrailV1 {
    fn from(entry: &TrailEntry) -> Self {
        Self {
            at: entry.at,
            event: entry.event.clone(),
            to: entry.to.clone(),
            times: entry.times,
            by: entry.by.clone(),
            reason: entry.reason.clone(),
            unknown: entry.unknown.0.clone(),
        }
    }
}
