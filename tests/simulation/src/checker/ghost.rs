//! What really happened to one record.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use sendtrail_core::ids::Sha256Hash;
use sendtrail_core::input::Input;
use sendtrail_core::testing::Row;

use crate::sim::millis_of;

/// What a person did to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// Something that the record still tells of.
    Edited,
    /// The state is now what they typed.
    Typed,
    /// The progress is now one that tells less.
    Forgot,
}

/// What a preview showed to a user, who may confirm it.
#[derive(Debug)]
pub struct Ticket {
    /// The revision number of the record.
    pub rev: u64,
    /// Its input.
    pub input: Input,
    /// The hash of the bytes that were shown.
    pub document: Sha256Hash,
}

/// What is known of a record beside what it says.
#[derive(Debug, Clone, Default)]
pub struct Ghost {
    /// When it was created.
    pub created_at: i64,
    /// What the user looked at who confirmed it last.
    pub confirmed: Option<Arc<Ticket>>,
    /// Requests that reached an API.
    pub receipts: u32,
    /// Whether an API refused it for good.
    pub is_rejected: bool,
    /// Whether it was given back as not sent.
    pub was_not_sent: bool,
    /// The ids it was accepted under.
    pub accepted: Vec<String>,
    /// The ids that were seen in its progress.
    pub recorded: BTreeSet<String>,
    /// The keys of the presses that claimed it.
    pub claims: BTreeSet<String>,
    /// Progress texts of before, for people to put back.
    pub earlier: Vec<String>,
    /// Whether a submit is under way in a living function.
    pub is_submitting: bool,
    /// Who asked a send API for it lately, and when by their own clocks: two may ask at once.
    pub asked: VecDeque<(String, i64)>,
    /// When a run came by the last time.
    pub visited_at: Option<i64>,
    /// When it left flight the last time.
    pub ended_at: Option<i64>,
    /// The deadline it had in flight.
    pub deadline: Option<i64>,
    /// Keys that people added to its progress.
    pub marks: Vec<String>,
    /// Which function wrote its present state.
    pub last_writer: Option<crate::function::Kind>,
    touches: BTreeSet<Touch>,
}

impl Ghost {
    pub(super) fn touch(&mut self, touch: Touch) {
        self.touches.insert(touch);
    }

    /// Whether a person edited the record.
    pub fn is_touched(&self) -> bool {
        !self.touches.is_empty()
    }

    /// Whether a person typed its state.
    pub fn was_typed(&self) -> bool {
        self.touches.contains(&Touch::Typed)
    }

    /// Whether a person took away what its progress told.
    pub fn was_forgotten(&self) -> bool {
        self.touches.contains(&Touch::Forgot)
    }
}

/// The deadline of a row, in milliseconds.
pub(super) fn deadline_of(row: &Row) -> Option<i64> {
    row.deadline.map(millis_of)
}
