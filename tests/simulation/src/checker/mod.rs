//! The promises, checked at every write, at every submit and at the end.

mod ghost;
mod writes;

use std::collections::BTreeMap;

use jiff::Timestamp;
use sendtrail_core::flows::{Recorded, Sent as Served};
use sendtrail_core::ids::{ExternalId, HistoryId, Reference};
use sendtrail_core::ports::{Order, SubmitOutcome};
use sendtrail_core::state::State;
use sendtrail_core::testing::Row;

pub use ghost::{Ghost, Ticket, Touch};
pub use writes::Applied;

use crate::api::Receipt;
use crate::crm::CrmState;
use crate::function::Kind;
use crate::sim::{clock, millis_of};

macro_rules! promises {
    ($($(#[$doc:meta])* $name:ident $label:literal,)*) => {
        /// What is promised.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Promise {
            $($(#[$doc])* $name,)*
        }

        impl Promise {
            /// Every promise.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The promise in words.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

promises! {
    /// At most one request that an API could accept reaches it for one history record.
    AtMostOnce "a document goes out at most once for each history record",
    /// Bytes and input are those that the user looked at who confirmed last.
    SeenIsSent "only confirmed bytes and input go out",
    /// A confirm is written only where input and revision are those that its user looked at.
    SeenIsConfirmed "a confirm is of what its user looked at",
    /// The record is `sending` when the submit starts, unless a person touched it.
    StandingClaim "a submit is made under a standing claim",
    /// A press with the same key never claims again.
    OnePressOneClaim "a press with the same key claims once",
    /// `succeeded` and `failed` stay.
    FinalStays "a final state is never left by a machine",
    /// Each function writes only the transitions that are its own: none resumes what waits for a person.
    OwnTransitions "a function makes no transition but its own",
    /// A write is made on the record as it was shown to the writer.
    NothingOverwritten "no edit is overwritten",
    /// Keys that a person added to the progress survive.
    MarksStay "what a person added to the progress stays in it",
    /// An id that a living function was told is on the record or was reported.
    IdRecorded "an accepted id is on the record or was reported",
    /// An id stays in the progress.
    IdStays "an id on the record stays there",
    /// No search for a submit while its function still submits.
    NoSweepBeside "no sweep beside a living submit",
    /// The poller gives to a person only what it asked for at the deadline or when grace was over.
    LastLookUp "nothing is given up before it was asked for a last time",
    /// `succeeded` is delivered, `failed` is undelivered or rejected.
    EndIsTrue "an end says what the send API says",
    /// Every send in flight ends soon after its deadline.
    AlwaysEnds "every claimed send ends by its deadline and the stated slack",
    /// What an API accepted is never left on a record that nobody looks at.
    NothingLost "what was accepted is never lost from sight",
    /// Poller and side-effect are done before they are killed.
    DoneInTime "no run outlives its invocation",
    /// At most 8 KB, and readable.
    ReadableProgress "a progress is readable and at most 8 KB",
}

/// A promise that did not hold.
#[derive(Debug, Clone)]
pub struct Broken {
    /// Which one.
    pub promise: Promise,
    /// When, in milliseconds.
    pub at: i64,
    /// What was seen.
    pub detail: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            promise,
            at,
            detail,
        } = self;
        write!(
            f,
            "BROKEN PROMISE: {} ({}; {detail})",
            promise.label(),
            clock(*at)
        )
    }
}

/// The most askers that are remembered for a record.
const MOST_ASKERS: usize = 8;

/// Knows what really happened, and compares.
#[derive(Debug, Default)]
pub struct Checker {
    rows: BTreeMap<HistoryId, Ghost>,
    by_reference: BTreeMap<Reference, HistoryId>,
    by_id: BTreeMap<String, HistoryId>,
    broken: Option<Broken>,
    /// Promises that nobody gives in this world.
    pub excused: &'static [Promise],
    /// Requests that reached a send API.
    pub submits: u64,
    /// Requests beyond the first for one record.
    pub duplicates: u64,
    /// Accepted sends that nobody would ever look at.
    pub lost: u64,
    /// Records that people made as copies of others.
    pub copies: u64,
    /// Sends that a search of the poller found.
    pub found: u64,
    /// Claims of records that had been given back as not sent.
    pub pressed_again: u64,
}

impl Checker {
    /// The first promise that did not hold.
    pub fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    fn breaks(&mut self, promise: Promise, at: i64, detail: impl FnOnce() -> String) {
        if self.broken.is_none() && !self.excused.contains(&promise) {
            let detail = detail();
            self.broken = Some(Broken {
                promise,
                at,
                detail,
            });
        }
    }

    /// What is known of a record.
    pub fn ghost(&self, id: &HistoryId) -> Option<&Ghost> {
        self.rows.get(id)
    }

    /// Every record.
    pub fn ghosts(&self) -> impl Iterator<Item = (&HistoryId, &Ghost)> {
        self.rows.iter()
    }

    fn entry(&mut self, id: &HistoryId) -> &mut Ghost {
        self.rows.entry(id.clone()).or_default()
    }

    /// The record of what was accepted under this id.
    pub fn record_of(&self, id: &ExternalId) -> Option<&HistoryId> {
        self.by_id.get(id.as_str())
    }

    /// The record of this reference.
    pub fn record_of_reference(&self, reference: &Reference) -> Option<&HistoryId> {
        self.by_reference.get(reference)
    }

    /// A record was created.
    pub fn created(&mut self, now: i64, id: &HistoryId) {
        self.entry(id).created_at = now;
    }

    /// A person touches a record.
    pub fn touched(&mut self, id: &HistoryId, touch: Touch) {
        self.entry(id).touch(touch);
    }

    /// A run comes by. Whether it is the first since then is told: a record that refuses writes stays due.
    pub fn visits(&mut self, now: i64, id: &HistoryId, since: i64) -> bool {
        let before = self.entry(id).visited_at.replace(now);
        before.is_none_or(|at| at < since)
    }

    /// A person added a key to the progress.
    pub fn marked(&mut self, id: &HistoryId, mark: &str) {
        self.entry(id).marks.push(mark.to_owned());
    }

    /// A driver starts to submit, the record being as it is.
    pub fn submits(&mut self, now: i64, order: &Order, row: Option<&Row>) {
        let id = &order.history_id;
        self.by_reference
            .insert(order.reference.clone(), id.clone());
        let ghost = self.entry(id);
        ghost.is_submitting = true;
        let is_touched = ghost.is_touched();
        let state = row.and_then(|row| row.state.as_deref());
        if !is_touched && state != Some(State::Sending.label()) {
            self.breaks(Promise::StandingClaim, now, || format!("{id} is {state:?}"));
        }
    }

    /// The submit is over, or its function is dead.
    pub fn submitted(&mut self, id: &HistoryId) {
        self.entry(id).is_submitting = false;
    }

    /// A request reached an API.
    pub fn received(&mut self, now: i64, receipt: &Receipt) {
        self.submits += 1;
        let Some(id) = self.by_reference.get(&receipt.reference).cloned() else {
            let unknown = || format!("unknown reference {}", receipt.reference);
            return self.breaks(Promise::SeenIsSent, now, unknown);
        };
        let ghost = self.entry(&id);
        ghost.receipts += 1;
        ghost.is_rejected |= receipt.is_rejected;
        let receipts = ghost.receipts;
        let is_seen = ghost
            .confirmed
            .as_ref()
            .is_some_and(|seen| seen.document == receipt.document && seen.input == receipt.input);
        if receipts > 1 {
            self.duplicates += 1;
            self.breaks(Promise::AtMostOnce, now, || {
                format!("{id} for the {receipts}. time")
            });
        }
        if !is_seen {
            self.breaks(Promise::SeenIsSent, now, || id.to_string());
        }
    }

    /// An API accepted it.
    pub fn accepted(&mut self, reference: &Reference, external: &ExternalId) {
        if let Some(id) = self.by_reference.get(reference).cloned() {
            self.holds(&id, external);
        }
    }

    /// The record stands for what an API holds under this id.
    pub fn holds(&mut self, id: &HistoryId, external: &ExternalId) {
        self.by_id.insert(external.to_string(), id.clone());
        self.entry(id).accepted.push(external.to_string());
    }

    /// A sweep asks for a submit.
    pub fn searched(&mut self, now: i64, reference: &Reference) {
        let Some(id) = self.by_reference.get(reference).cloned() else {
            return;
        };
        let ghost = self.entry(&id);
        if ghost.is_submitting && !ghost.is_touched() {
            self.breaks(Promise::NoSweepBeside, now, || id.to_string());
        }
    }

    /// A send API is asked for the result, or whether it has the submit, by `name` at this time of its clock.
    pub fn asked(&mut self, name: &str, at: Timestamp, id: &HistoryId) {
        let asked = &mut self.entry(id).asked;
        asked.push_front((name.to_owned(), millis_of(at)));
        asked.truncate(MOST_ASKERS);
    }

    /// A living side-effect function answers.
    pub fn served(&mut self, now: i64, id: &HistoryId, served: &Served) {
        let Served::Done { outcome, recorded } = served else {
            return;
        };
        let SubmitOutcome::Accepted { external_id, .. } = outcome else {
            return;
        };
        let ghost = self.entry(id);
        let is_known = ghost.recorded.contains(external_id.as_str());
        let is_fine = match recorded {
            Recorded::Written { .. } | Recorded::BesideAPerson { .. } => is_known,
            Recorded::Unrecorded { .. } => true,
            Recorded::Nothing { .. } => false,
        };
        if !is_fine {
            self.breaks(Promise::IdRecorded, now, || {
                format!("{id} {external_id}: {recorded:?}")
            });
        }
    }

    /// A function was still at work at its time-out.
    pub fn outlived(&mut self, now: i64, name: &str) {
        self.breaks(Promise::DoneInTime, now, || name.to_owned());
    }

    /// Whether the record must have ended: not where it refuses every write or is gone.
    fn must_end(crm: &CrmState, id: &HistoryId, row: &Row) -> bool {
        let state = State::from_label(row.state.as_deref().unwrap_or_default());
        state.is_some_and(State::is_in_flight) && !crm.is_lost_to_poison(id)
    }

    /// Whether a record is in flight that must still end.
    pub fn is_waiting(crm: &CrmState) -> bool {
        crm.rows
            .rows()
            .any(|(id, row)| Self::must_end(crm, id, row))
    }

    /// When the last record that is in flight must end, as its progress has it.
    pub fn last_deadline(crm: &CrmState) -> Option<i64> {
        let rows = crm
            .rows
            .rows()
            .filter(|(id, row)| Self::must_end(crm, id, row));
        rows.filter_map(|(_, row)| ghost::deadline_of(row)).max()
    }

    /// The end of the world: faults were over since `calm`.
    pub fn finish(&mut self, now: i64, calm: i64, slack: i64, crm: &CrmState) {
        for (id, row) in crm.rows.rows() {
            if Self::must_end(crm, id, row) {
                self.breaks(Promise::AlwaysEnds, now, || {
                    format!("{id} is still {:?}", row.state)
                });
            }
        }
        let mut late = None;
        let mut lost = None;
        for (id, ghost) in &self.rows {
            let Some(row) = crm.rows.row(id) else {
                continue;
            };
            if crm.is_lost_to_poison(id) || ghost.is_touched() {
                continue;
            }
            if let (Some(ended), Some(deadline)) = (ghost.ended_at, ghost.deadline)
                && ended > deadline.max(calm) + slack
            {
                late.get_or_insert((id.clone(), ended, deadline));
            }
            let state = State::from_label(row.state.as_deref().unwrap_or_default());
            let is_seen = !matches!(state, None | Some(State::Saved | State::Confirmed));
            if !ghost.accepted.is_empty() && !is_seen {
                self.lost += 1;
                lost.get_or_insert((id.clone(), state));
            }
        }
        if let Some((id, ended, deadline)) = late {
            self.breaks(Promise::AlwaysEnds, now, || {
                format!(
                    "{id} ended {}, its deadline was {}",
                    clock(ended),
                    clock(deadline)
                )
            });
        }
        if let Some((id, state)) = lost {
            self.breaks(Promise::NothingLost, now, || format!("{id} is {state:?}"));
        }
    }
}

/// Whether this kind of function may lead a record from here to there.
fn is_own(kind: Kind, from: State, to: State) -> bool {
    use State::{Accepted, Confirmed, Failed, NeedsReview, Saved, Sending, Succeeded};
    match kind {
        Kind::Intake => matches!((from, to), (Saved | Confirmed, Saved) | (Saved, Confirmed)),
        Kind::SideEffect => matches!(
            (from, to),
            (Confirmed, Sending)
                | (
                    Sending,
                    Confirmed | Accepted | Failed | Sending | NeedsReview
                )
        ),
        Kind::Poller => matches!(
            (from, to),
            (Sending, Accepted | Sending | NeedsReview)
                | (Accepted, Accepted | Succeeded | Failed | NeedsReview)
        ),
        Kind::Operator => matches!(
            (from, to),
            (NeedsReview, Accepted | Succeeded | Failed) | (Sending, Accepted)
        ),
    }
}
