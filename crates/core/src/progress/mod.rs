//! The progress of a send: the JSON on its history record, format 1.
//!
//! Reading is total: whatever text a person leaves in the field gives a value or a [`ProgressError`].
//! Writing is bounded: [`Progress::encode`] never passes [`MAX_ENCODED`].

mod fit;
mod parts;
#[cfg(test)]
mod properties;
mod wire;

use jiff::Timestamp;
use thiserror::Error;

pub use parts::{
    Actor, Claim, ConfirmedDocument, LastError, Resolution, SaveRequest, Submission,
    SubmissionOutcome, SubmitEvidence, TrailEntry, Unknown,
};

use crate::ids::WriteId;
use crate::text::ascii_json;

/// The format this version writes.
pub const FORMAT: u64 = 1;
/// The most bytes an encoded progress has. The field takes 32,000 characters, counted nobody knows how.
pub const MAX_ENCODED: usize = 8 * 1024;
/// The most bytes of text that are looked at when reading.
const MAX_READ: usize = 64 * 1024;

/// The key under which a lost progress is kept.
const REPLACED: &str = "replaced_text";

/// What is known of one send.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    rev: u64,
    next_check_at: Option<Timestamp>,
    attempts: u32,
    deadline: Option<Timestamp>,
    /// The write that left the record as it is.
    pub write: Option<WriteId>,
    /// The last thing that went wrong.
    pub last_error: Option<LastError>,
    /// The save that made the record.
    pub request: Option<SaveRequest>,
    /// What was confirmed.
    pub document: Option<ConfirmedDocument>,
    /// Who holds, or held, the right to submit.
    pub claim: Option<Claim>,
    /// The one submit.
    pub submission: Option<Submission>,
    /// What happened, oldest first.
    pub trail: Vec<TrailEntry>,
    /// Keys of later versions, kept.
    pub unknown: Unknown,
}

/// Text that is no progress this version can work with.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProgressError {
    /// The field is empty.
    #[error("the progress is empty")]
    Empty,
    /// The text is longer than anything this product writes.
    #[error("the progress is too long")]
    TooLong,
    /// No JSON object, or one with a value that is not what its key holds.
    #[error("the progress cannot be read: {0}")]
    Malformed(String),
    /// Written by a later version: to be left untouched.
    #[error("the progress has format {0}, which is newer than this version")]
    Newer(u64),
}

impl Progress {
    /// Reads the text of the progress field.
    ///
    /// # Errors
    /// [`ProgressError`]; never a panic, whatever the text.
    pub fn decode(text: Option<&str>) -> Result<Self, ProgressError> {
        let text = text.unwrap_or_default().trim();
        if text.is_empty() {
            return Err(ProgressError::Empty);
        }
        if text.len() > MAX_READ {
            return Err(ProgressError::TooLong);
        }
        wire::decode(text)
    }

    /// The text to store: ASCII, at most [`MAX_ENCODED`] bytes.
    ///
    /// Where it would be longer, old trail entries go first, then the detail of errors, then keys this
    /// version does not know. Claim, submission, document and request always stay whole.
    pub fn encode(&self) -> String {
        fit::encode(self)
    }

    /// A progress in place of a text that could not be read, which it keeps.
    pub(crate) fn replacing(text: Option<&str>) -> Self {
        let mut progress = Self::default();
        progress.mark_replaced(text.unwrap_or_default());
        progress
    }

    /// Says that one was lost, and keeps what is left of it.
    pub(crate) fn mark_replaced(&mut self, text: &str) {
        if !self.was_replaced() {
            let text = crate::text::harmless(text, 2_000);
            self.unknown.keep(REPLACED, &text);
        }
    }

    /// Whether it stands for one that was lost. What was submitted before may be lost with it, so that
    /// such a record is never submitted again.
    pub fn was_replaced(&self) -> bool {
        self.unknown.0.contains_key(REPLACED)
    }

    /// How many writes the record has seen.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// When the poller looks next.
    pub fn next_check_at(&self) -> Option<Timestamp> {
        self.next_check_at
    }

    /// How many look-ups were made.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// When it has to end.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// Whether it is to be looked at: no check is set, or it has come, or the deadline has.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.next_check_at.is_none_or(|at| now >= at) || self.deadline.is_some_and(|at| now >= at)
    }

    /// Whether it has to end where nothing can be asked: the deadline has come, or there is none to wait for.
    pub(crate) fn is_out_of_time(&self, now: Timestamp) -> bool {
        self.deadline.is_none_or(|deadline| now >= deadline)
    }

    /// Counts one more write under this name.
    pub(crate) fn count_write(&mut self, write: WriteId) {
        self.rev = self.rev.saturating_add(1);
        self.write = Some(write);
    }

    /// Counts one look-up.
    pub(crate) fn count_attempt(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
    }

    /// Sets the deadline; the next check never lies past it.
    pub(crate) fn set_deadline(&mut self, deadline: Timestamp) {
        self.deadline = Some(whole_seconds(deadline));
        self.next_check_at = clamp(self.next_check_at, self.deadline);
    }

    /// Sets when to look next, never past the deadline.
    pub(crate) fn check_at(&mut self, at: Timestamp) {
        self.next_check_at = clamp(Some(whole_seconds(at)), self.deadline);
    }

    /// Nothing is left to look at.
    pub(crate) fn stop_checking(&mut self) {
        self.next_check_at = None;
    }

    /// Neither a check nor a deadline.
    pub(crate) fn clear_schedule(&mut self) {
        self.next_check_at = None;
        self.deadline = None;
    }

    /// Adds to the trail; a repeat of its last entry is counted there.
    pub(crate) fn push_trail(&mut self, entry: TrailEntry) {
        match self.trail.last_mut() {
            Some(last) if last.is_repeated_by(&entry) => {
                last.times = last.times.saturating_add(1);
                last.at = entry.at;
            }
            Some(_) | None => self.trail.push(entry),
        }
    }
}

fn clamp(at: Option<Timestamp>, deadline: Option<Timestamp>) -> Option<Timestamp> {
    match (at, deadline) {
        (Some(at), Some(deadline)) => Some(at.min(deadline)),
        (at, _) => at,
    }
}

/// Times are kept in whole seconds, the grain of the CRM.
pub(crate) fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// The JSON Schema of the format, as committed in `progress.schema.json`.
#[cfg(test)]
pub(crate) fn schema() -> String {
    let schema = schemars::schema_for!(wire::ProgressV1);
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

fn encode_wire(progress: &Progress) -> String {
    ascii_json(&wire::ProgressV1::from(progress))
}
