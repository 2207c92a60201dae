//! From the values to the JSON form.

use super::{
    ActorV1, ClaimV1, DocumentV1, EvidenceV1, LastErrorV1, OutcomeV1, ProgressV1, RequestV1,
    ResolutionV1, SubmissionV1, TrailV1,
};
use crate::progress::{
    Claim, ConfirmedDocument, FORMAT, LastError, Progress, Resolution, SaveRequest, Submission,
    SubmissionOutcome, SubmitEvidence, TrailEntry,
};

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
            earlier: claim.earlier.clone(),
            unknown: claim.unknown.0.clone(),
        }
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
