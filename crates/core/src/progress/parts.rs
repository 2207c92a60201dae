use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::ids::{ClaimToken, DriverId, ExternalId, FileId, Reference, RequestKey, Sha256Hash};
use crate::ports::Evidence;
use crate::state::{Event, State};
use crate::text::harmless;

/// Keys that this version does not know; they survive a rewrite.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Unknown(pub(crate) Map<String, Value>);

impl Unknown {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn keep(&mut self, key: &str, text: &str) {
        self.0
            .insert(key.to_owned(), Value::String(text.to_owned()));
    }
}

/// The last thing that went wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct LastError {
    /// When.
    pub at: Timestamp,
    /// A stable word, such as `rate_limited`.
    pub kind: String,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// A short remark; cut where the progress would grow too long.
    pub detail: String,
    /// Keys of later versions.
    pub unknown: Unknown,
}

impl LastError {
    /// An error of this kind; the detail is made harmless and cut to 300 bytes.
    pub fn new(at: Timestamp, kind: &str, status: Option<u16>, detail: &str) -> Self {
        Self {
            at: super::whole_seconds(at),
            kind: kind.to_owned(),
            status,
            detail: harmless(detail, 300),
            unknown: Unknown::default(),
        }
    }
}

/// Who asked, as the signer of the request vouches.
#[derive(Debug, Clone, PartialEq)]
pub struct Actor {
    /// The CRM's id of the user.
    pub id: String,
    /// The name, for people.
    pub name: String,
    /// Keys of later versions.
    pub unknown: Unknown,
}

impl Actor {
    /// The actor, when both texts are there. Each is made harmless and cut to 200 bytes.
    pub fn new(id: &str, name: &str) -> Option<Self> {
        let (id, name) = (harmless(id, 200), harmless(name, 200));
        (!id.is_empty() && !name.is_empty()).then_some(Self {
            id,
            name,
            unknown: Unknown::default(),
        })
    }
}

/// The save that made, or last changed, the record's input.
#[derive(Debug, Clone, PartialEq)]
pub struct SaveRequest {
    /// The `webhook-id` of the request.
    pub key: RequestKey,
    /// The hash of its body.
    pub body_sha256: Sha256Hash,
    /// Who asked.
    pub actor: Actor,
    /// Keys of later versions.
    pub unknown: Unknown,
}

/// The confirmed document.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfirmedDocument {
    /// The hash of its bytes.
    pub sha256: Sha256Hash,
    /// Its size in bytes.
    pub bytes: u64,
    /// The CRM's handle of the upload.
    pub file_id: FileId,
    /// When it was confirmed.
    pub confirmed_at: Timestamp,
    /// The hash of the stored input it was confirmed with.
    pub input_sha256: Sha256Hash,
    /// The MAC over stage, history id, document and input.
    pub seal: String,
    /// Keys of later versions.
    pub unknown: Unknown,
}

/// How a claim ended without a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Proved: nothing was accepted.
    NotSent,
}

/// The right to submit, written before the submit.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Names the invocation that holds it.
    pub token: ClaimToken,
    /// When it was made.
    pub at: Timestamp,
    /// The `webhook-id` of the press.
    pub request_key: RequestKey,
    /// The driver the submit goes through.
    pub driver: DriverId,
    /// The draft the commit step will commit.
    pub draft_id: Option<String>,
    /// Set once it is proved that nothing was accepted; only this clears a claim.
    pub resolved: Option<Resolution>,
    /// Digests of the keys of the presses before it, newest last, at most [`Claim::EARLIER`].
    pub earlier: Vec<String>,
    /// Keys of later versions.
    pub unknown: Unknown,
}

impl Claim {
    /// The most earlier presses that are remembered. A signature is good for minutes and a press takes
    /// seconds, so that more than these cannot be repeated.
    pub const EARLIER: usize = 20;

    /// Whether a submit may have been made under it: only proof that nothing was sent closes a claim.
    pub fn is_open(&self) -> bool {
        self.resolved.is_none()
    }

    /// Whether this claim, or one it followed, was made for the press with this key.
    pub fn serves(&self, key: &RequestKey) -> bool {
        self.request_key == *key || self.earlier.contains(&key_digest(key))
    }

    /// The presses a claim that follows this one has to remember.
    pub(crate) fn presses(&self) -> Vec<String> {
        let mut presses = self.earlier.clone();
        presses.push(key_digest(&self.request_key));
        let excess = presses.len().saturating_sub(Self::EARLIER);
        presses.split_off(excess)
    }
}

/// The first 16 hex digits of the key's SHA-256: enough to tell presses apart, and short.
fn key_digest(key: &RequestKey) -> String {
    let mut digest = Sha256Hash::of(key.as_str().as_bytes()).to_string();
    digest.truncate(16);
    digest
}

/// What became of the submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmissionOutcome {
    /// Accepted under an id.
    Accepted,
    /// Refused for good.
    Rejected,
    /// Not known.
    Unknown,
}

impl SubmissionOutcome {
    /// Every outcome.
    pub const ALL: [Self; 3] = [Self::Accepted, Self::Rejected, Self::Unknown];

    /// The word in the JSON.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}

/// What was seen of the submit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubmitEvidence {
    /// The class of what happened.
    pub class: String,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The API's code or a short remark.
    pub detail: String,
    /// Bytes of body to be sent.
    pub bytes_sent: u64,
    /// When the request was started.
    pub started_at: Option<Timestamp>,
    /// Ids that were found for our reference, when there were several.
    pub found: Vec<String>,
    /// Keys of later versions.
    pub unknown: Unknown,
}

impl SubmitEvidence {
    /// Bounds what a driver reports.
    pub fn of(evidence: &Evidence, started_at: Option<Timestamp>) -> Self {
        Self {
            class: harmless(&evidence.class, 64),
            status: evidence.status,
            detail: harmless(&evidence.detail, 300),
            bytes_sent: evidence.bytes_sent,
            started_at: started_at.map(super::whole_seconds),
            found: Vec::new(),
            unknown: Unknown::default(),
        }
    }
}

/// The one submit.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// The driver it went through.
    pub driver: DriverId,
    /// Our reference, and the idempotency key.
    pub reference: Reference,
    /// What became of it.
    pub outcome: SubmissionOutcome,
    /// The API's id.
    pub external_id: Option<ExternalId>,
    /// When the outcome was known.
    pub at: Timestamp,
    /// What was seen.
    pub evidence: SubmitEvidence,
    /// Keys of later versions.
    pub unknown: Unknown,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct TrailEntry {
    /// When; of the last one where it stands for several.
    pub at: Timestamp,
    /// The event, or a remark such as `outcome_noted`.
    pub event: String,
    /// The state after it.
    pub to: String,
    /// How many times in a row.
    pub times: u32,
    /// The person, for what a person did.
    pub by: Option<String>,
    /// The reason a person gave, or ours.
    pub reason: Option<String>,
    /// Keys of later versions.
    pub unknown: Unknown,
}

impl TrailEntry {
    /// An event and the state it led to.
    pub fn of(at: Timestamp, event: Event, to: State) -> Self {
        Self::remark(at, event.label(), to.label())
    }

    /// A remark that is no event.
    pub fn remark(at: Timestamp, event: &str, to: &str) -> Self {
        Self {
            at: super::whole_seconds(at),
            event: event.to_owned(),
            to: harmless(to, 64),
            times: 1,
            by: None,
            reason: None,
            unknown: Unknown::default(),
        }
    }

    pub(super) fn is_repeated_by(&self, other: &Self) -> bool {
        self.event == other.event
            && self.to == other.to
            && self.by == other.by
            && self.reason == other.reason
            && self.unknown == other.unknown
    }
}

impl fmt::Display for SubmissionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
