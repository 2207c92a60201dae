//! The records a test can ask for.

use serde::{Deserialize, Serialize};

/// A letter that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterRecord {
    /// The API's id, `ltr_…` or `msg_…`.
    pub id: String,
    /// `letter` or `message`.
    pub kind: String,
    /// The caller's own reference (`metadata[send_id]`).
    pub reference: Option<String>,
    /// The idempotency key it came with.
    pub idempotency_key: Option<String>,
    /// A hash over all that was sent, by which two requests under one key are compared.
    pub fingerprint: String,
    /// The recipient's name.
    pub recipient: String,
    /// All other `to` fields, as JSON text.
    pub address: String,
    /// The SHA-256 of the document's bytes, in lower hex.
    pub document_sha256: String,
    /// The size of the document in bytes.
    pub document_bytes: i64,
    /// The script sent along with it.
    pub script: Option<String>,
    /// When it was accepted, in milliseconds since 1970.
    pub accepted_ms: i64,
    /// How often it was looked up by its id.
    pub look_ups: u32,
}

/// A document that was created and not sent by that: CloudSign's first step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftRecord {
    /// The API's id.
    pub id: String,
    /// The caller's own reference (`note`).
    pub reference: Option<String>,
    /// The name of the participant; empty until there is one.
    pub recipient: String,
    /// Their e-mail address.
    pub email: String,
    /// The SHA-256 of the file's bytes, in lower hex; empty until there is one.
    pub document_sha256: String,
    /// The size of the file in bytes.
    pub document_bytes: i64,
    /// How often it was committed again after it was sent: each of them is a reminder mail.
    pub reminders: u32,
}

/// A POST that should have committed a send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostRecord {
    /// When it had been read, in milliseconds since 1970.
    pub at_ms: i64,
    /// The caller's own reference.
    pub reference: Option<String>,
    /// The idempotency key.
    pub idempotency_key: Option<String>,
    /// The recipient's name; empty where it was not read.
    pub recipient: String,
    /// The SHA-256 of the document's bytes; `None` where it was not read.
    pub document_sha256: Option<String>,
    /// `pending`, `accepted`, `replayed`, `refused` (a 4xx, surely not acted on), `failed` (a 5xx or 3xx, not acted
    /// on), `unanswered` (read whole, no answer) or `incomplete` (not read whole).
    pub outcome: String,
}

/// POSTs counted by what a caller can know of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostCounts {
    /// Complete POSTs that were accepted or may have been acted on: all but refused and incomplete ones.
    pub received: u32,
    /// Of these, those that made a letter.
    pub accepted: u32,
    /// Complete POSTs that were answered with 4xx and surely not acted on.
    pub refused: u32,
    /// POSTs that were not read to their end, and not acted on.
    pub incomplete: u32,
}

impl PostCounts {
    pub(crate) fn of(posts: &[PostRecord]) -> Self {
        let mut counts = Self::default();
        for post in posts {
            match post.outcome.as_str() {
                "refused" => counts.refused += 1,
                "incomplete" => counts.incomplete += 1,
                "accepted" => {
                    counts.accepted += 1;
                    counts.received += 1;
                }
                _ => counts.received += 1,
            }
        }
        counts
    }
}

/// How often each kind of call was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// POSTs, complete or not.
    pub posts: u32,
    /// Look-ups by id.
    pub look_ups: u32,
    /// Searches by reference.
    pub finds: u32,
}
