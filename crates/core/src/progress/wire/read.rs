//! From the JSON form to the values: what was read is checked and bounded.

use jiff::Timestamp;

use super::{
    ClaimV1, DocumentV1, EvidenceV1, LastErrorV1, OutcomeV1, ProgressV1, RequestV1, ResolutionV1,
    SubmissionV1, TrailV1,
};
use crate::ids::BadId;
use crate::progress::{
    Actor, Claim, ConfirmedDocument, LastError, Progress, Resolution, SaveRequest, Submission,
    SubmissionOutcome, SubmitEvidence, TrailEntry, Unknown, clamp,
};
use crate::text::written_len;

impl TryFrom<ProgressV1> for Progress {
    type Error = String;

    fn try_from(wire: ProgressV1) -> Result<Self, String> {
        let next_check_at = wire.next_check_at.map(|at| near("next_check_at", at));
        let deadline = wire.deadline.map(|at| near("deadline", at)).transpose()?;
        Ok(Self {
            rev: wire.rev,
            next_check_at: clamp(next_check_at.transpose()?, deadline),
            attempts: wire.attempts,
            deadline,
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

/// The last second before the year 3000.
const LAST_SECOND: i64 = 32_503_679_999;

/// A time that a date field of the CRM takes. These two are copied into such fields, and a record whose
/// copies are refused could never be written again.
fn near(key: &str, at: Timestamp) -> Result<Timestamp, String> {
    if (0..=LAST_SECOND).contains(&at.as_second()) {
        Ok(at)
    } else {
        Err(format!("{key}: not from 1970 to 2999"))
    }
}

fn at(key: &'static str) -> impl Fn(BadId) -> String {
    move |bad| format!("{key}: {bad}")
}

/// A text that is written with at most `max` bytes, so that what is read can always be written again.
fn bounded(key: &str, text: String, max: usize) -> Result<String, String> {
    if written_len(&text) <= max {
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
            earlier: earlier_presses(wire.earlier)?,
            unknown: Unknown(wire.unknown),
        })
    }
}

fn earlier_presses(digests: Vec<String>) -> Result<Vec<String>, String> {
    if digests.len() > Claim::EARLIER {
        return Err("claim.earlier: too many entries".to_owned());
    }
    let bounded = |digest| bounded("claim.earlier", digest, 16);
    digests.into_iter().map(bounded).collect()
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
