//! What a record says, read by the model itself: the rules are judged by other eyes than the product's.

use jiff::Timestamp;
use sendtrail_core::testing::Row;
use serde_json::Value;

/// What the progress of a record tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The claim.
    pub claim: Option<Claim>,
    /// What is written of its submit.
    pub submission: Option<Submission>,
    /// When it has to end.
    pub deadline: Option<Timestamp>,
    /// The last event of the trail.
    pub event: String,
    /// Whether it stands for a progress that was lost.
    pub replaced: bool,
    /// Which of the person's marks are in the text, as bits.
    pub marks: u32,
    /// Which of the API's ids are in the text, as bits.
    pub ids: u32,
}

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The press it was made for.
    pub key: String,
    /// When.
    pub at: Timestamp,
    /// Whether nothing says that it sent nothing.
    pub open: bool,
    /// Whether it was made after another, which sent nothing.
    pub again: bool,
}

/// What is written of a submit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// When its outcome was known.
    pub at: Timestamp,
    /// The API's id.
    pub has_id: bool,
}

/// The mark that a person's nth edit leaves in the progress.
pub fn mark(edit: u8) -> String {
    format!("edit_{edit}_by_hand")
}

impl Seen {
    /// Reads a record.
    pub fn of(row: &Row) -> Self {
        Self::of_text(row.progress.as_deref().unwrap_or_default())
    }

    /// Reads the text of a progress.
    pub fn of_text(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let bits = |name: &dyn Fn(u8) -> String| {
            let named = (0..16).filter(|n| text.contains(&name(*n)));
            named.fold(0, |bits, n| bits | 1 << n)
        };
        let at = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
        let claim = value.get("claim").filter(|claim| claim.is_object());
        let submission = value.get("submission").filter(|part| part.is_object());
        let trail = value.get("trail").and_then(Value::as_array);
        let last = trail.and_then(|trail| trail.last());
        Self {
            claim: claim.map(|claim| Claim {
                key: claim["request_key"].as_str().unwrap_or_default().to_owned(),
                at: at(&claim["at"]).unwrap_or_default(),
                open: claim["resolved"].is_null(),
                again: claim["earlier"]
                    .as_array()
                    .is_some_and(|earlier| !earlier.is_empty()),
            }),
            submission: submission.map(|submission| Submission {
                at: at(&submission["at"]).unwrap_or_default(),
                has_id: submission["external_id"].is_string(),
            }),
            deadline: value.get("deadline").and_then(at),
            event: last
                .and_then(|entry| entry["event"].as_str())
                .unwrap_or_default()
                .to_owned(),
            replaced: text.contains("replaced_text"),
            marks: bits(&mark),
            ids: bits(&|n| format!("ltr_{n}")),
        }
    }

    /// Whether a submit was made, or may have been.
    pub fn may_have_been_sent(&self) -> bool {
        self.submission.is_some() || self.replaced || self.claim.as_ref().is_some_and(|c| c.open)
    }
}
