//! A state of the model: the CRM, the send API, the clock, and what runs.

use std::sync::Arc;

use jiff::Timestamp;
use sendtrail_core::ids::{HistoryId, Reference, Revision};
use sendtrail_core::ports::Write;
use sendtrail_core::testing::Crm;

use crate::actor::{Actor, Derived};
use crate::seen::Seen;
use crate::watch::Broken;

/// Everything that is so at one moment.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct State {
    /// The true time, which every clock shows.
    pub now: Timestamp,
    /// The CRM.
    pub crm: Arc<Crm>,
    /// The send API.
    pub api: Api,
    /// What runs, by job and slot.
    pub actors: Vec<Actor>,
    /// Writes whose caller was told nothing, and that may still arrive.
    pub late: Vec<LateWrite>,
    /// What is remembered of each record.
    pub records: Vec<Record>,
    /// What may still go wrong.
    pub budget: Budget,
    /// Which jobs were started, as bits.
    pub started: u32,
    /// How many writes were asked for by pollers.
    pub serial: u64,
    /// Which of the API's ids were ever in a progress, as bits.
    pub ids_written: u32,
    /// The rules that were broken.
    pub broken: Broken,
}

/// What is remembered of a record, to judge what becomes of it.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Record {
    /// The marks that the person's edits left and that must still be there, as bits.
    pub marks: u32,
    /// Whether a person changed it since its last claim.
    pub touched: bool,
    /// What its progress tells.
    pub seen: Derived<Arc<Seen>>,
}

/// How many more of each kind may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Budget {
    /// Invocations that die before their end.
    pub deaths: u8,
    /// Writes whose reply is lost: applied, or applied some time later, or never.
    pub writes: u8,
    /// Reads, lists, searches for twins, look-ups and searches that fail.
    pub reads: u8,
    /// Calls that the CRM refuses because there are too many.
    pub limits: u8,
    /// Submits whose reply is lost: accepted, accepted some time later, or never received.
    pub submits: u8,
    /// Times that a call takes longer than a step of time.
    pub slow: u8,
    /// Edits by hand.
    pub edits: u8,
}

/// The send API: it takes every submit it receives, also the second of one reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Api {
    /// The submits it was sent, in order; the place of one is the number in its id.
    pub submits: Vec<Submit>,
}

/// A submit that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Submit {
    /// The press.
    pub key: &'static str,
    /// The record.
    pub record: usize,
    /// The document, by its hash.
    pub document: [u8; 8],
    /// The reference.
    pub reference: Reference,
    /// What became of it.
    pub fate: Fate,
    /// The result, once it was told.
    pub result: Option<bool>,
}

/// What became of a submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Accepted.
    Accepted {
        /// When.
        at: Timestamp,
    },
    /// On its way: it may still be received.
    Late,
    /// Not accepted, and never will be.
    Gone,
}

/// A write that may still arrive.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct LateWrite {
    /// The record.
    pub id: HistoryId,
    /// The revision it must have.
    pub revision: Revision,
    /// What is written.
    pub write: Box<Write>,
    /// Who sent it.
    pub author: Author,
}

/// What there is to know of who writes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Author {
    /// The job; the poller is none.
    pub job: Option<usize>,
    /// When it last asked for the result.
    pub looked_up: Option<Timestamp>,
    /// Whether the API did not know the id.
    pub unknown_id: bool,
    /// When the last search found nothing.
    pub found_nothing: Option<Timestamp>,
}

impl State {
    /// What a record's progress tells.
    pub fn seen(&self, record: usize) -> &Seen {
        &self.records[record].seen.0
    }

    /// The word in a record's state field.
    pub fn word<'a>(&'a self, id: &HistoryId) -> &'a str {
        let row = self.crm.row(id);
        row.and_then(|row| row.state.as_deref()).unwrap_or_default()
    }

    /// Reads what the record tells again, after it changed.
    pub fn look_at(&mut self, record: usize, id: &HistoryId) {
        if let Some(row) = self.crm.row(id) {
            self.records[record].seen = Derived(Arc::new(Seen::of(row)));
        }
    }
}

impl Submit {
    /// Whether the API took it, or may still.
    pub fn may_be_accepted(&self) -> bool {
        match self.fate {
            Fate::Accepted { .. } | Fate::Late => true,
            Fate::Gone => false,
        }
    }
}
