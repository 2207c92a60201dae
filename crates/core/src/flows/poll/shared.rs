//! What the rows of one run share.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};

use super::PollReport;
use crate::ids::{DriverId, HistoryId};
use crate::ports::{Failure, StoreError, clock_deadline};
use crate::state::Event;

#[derive(Default)]
pub(super) struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    report: PollReport,
    visited: BTreeSet<HistoryId>,
    /// APIs that asked to slow down: not asked again in this run.
    slowed: BTreeSet<DriverId>,
    /// The CRM asked to slow down: nothing is started any more.
    crm_slowed: bool,
    /// When the next call to a send API may start.
    next_slot: Option<Timestamp>,
}

/// Locks; what a panicking holder left is still good for counts and times.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn report(self) -> PollReport {
        let state = self.0.into_inner();
        state.unwrap_or_else(PoisonError::into_inner).report
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut PollReport)) {
        change(&mut lock(&self.0).report);
    }

    pub(super) fn is_first_visit(&self, id: &HistoryId) -> bool {
        lock(&self.0).visited.insert(id.clone())
    }

    pub(super) fn crm_slowed(&self) -> bool {
        lock(&self.0).crm_slowed
    }

    /// Whether this API asked to slow down; the row is then counted as held back.
    pub(super) fn holds_back(&self, driver: &DriverId) -> bool {
        let mut state = lock(&self.0);
        let slowed = state.slowed.contains(driver);
        state.report.held_back += u64::from(slowed);
        slowed
    }

    /// Takes the next turn at a send API, and tells how long it is away.
    pub(super) fn next_turn(&self, now: Timestamp, gap: SignedDuration) -> SignedDuration {
        let mut state = lock(&self.0);
        let slot = state.next_slot.map_or(now, |slot| slot.max(now));
        state.next_slot = Some(clock_deadline(slot, gap));
        slot.duration_since(now)
    }

    pub(super) fn count_failure(&self, driver: &DriverId, failure: &Failure) {
        let mut state = lock(&self.0);
        state.report.lookup_errors += 1;
        match failure {
            Failure::RateLimited { .. } => {
                state.report.api_rate_limited += 1;
                state.slowed.insert(driver.clone());
            }
            Failure::Unauthorized(_) => state.report.unauthorized += 1,
            Failure::Transient(_) => {}
        }
    }

    pub(super) fn count_store_error(&self, error: &StoreError) {
        let mut state = lock(&self.0);
        match error {
            StoreError::RateLimited { .. } | StoreError::TokenThrottled => {
                state.report.crm_rate_limited += 1;
                state.crm_slowed = true;
            }
            StoreError::NotFound => state.report.not_due += 1,
            StoreError::Unauthorized { .. }
            | StoreError::Refused { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Transient { .. }
            | StoreError::Malformed { .. } => state.report.store_errors += 1,
        }
    }

    pub(super) fn count_written(&self, event: Option<Event>) {
        let mut state = lock(&self.0);
        let report = &mut state.report;
        report.written += 1;
        let Some(event) = event else { return };
        let count = match event {
            Event::Delivered => &mut report.delivered,
            Event::Undelivered => &mut report.undelivered,
            Event::StillPending | Event::OutcomeUnknown => &mut report.pending,
            Event::Accepted => &mut report.found,
            Event::AcceptanceUnknown => &mut report.acceptance_unknown,
            Event::GaveUp => &mut report.gave_up,
            Event::InputSaved
            | Event::DocumentConfirmed
            | Event::Claimed
            | Event::NotSent
            | Event::Rejected
            | Event::Woken
            | Event::Resumed
            | Event::SettledSucceeded
            | Event::SettledFailed => return,
        };
        *count += 1;
    }
}
