//! The CRM: its rows, a copy of them that lags, records that refuse every write, and its limits.

mod calls;
mod ports;

pub use ports::Sent;

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use sendtrail_core::ids::HistoryId;
use sendtrail_core::testing::{Crm, Row};

use crate::sim::instant;

/// The state of the CRM.
#[derive(Debug, Default)]
pub struct CrmState {
    /// The rows.
    pub rows: Crm,
    /// What lists and queries show, where they are behind.
    behind: Option<Behind>,
    /// How often each record changed, whoever changed it: what a version of one-second grain cannot tell.
    changes: BTreeMap<HistoryId, u64>,
    /// By how much the CRM's clock differs, in milliseconds.
    offset: i64,
    /// Whether an answer's `Date` is that of its end, and not of the moment it was made.
    dates_at_end: bool,
    /// Records that refuse every write, and until when.
    poisoned: BTreeMap<HistoryId, i64>,
    /// Until when the credits are used up.
    exhausted_until: i64,
    /// Until when the token endpoint refuses.
    throttled_until: i64,
}

/// A copy that gets each change a while later.
#[derive(Debug, Default)]
struct Behind {
    by: i64,
    rows: Crm,
    changes: BTreeMap<HistoryId, u64>,
    coming: VecDeque<(i64, HistoryId, u64, Option<Row>)>,
}

/// For ever.
pub const FOR_EVER: i64 = i64::MAX;

impl CrmState {
    /// A CRM whose clock differs by `offset`, whose lists are `lag` behind and cut text at `cut`.
    pub fn new(offset: i64, dates_at_end: bool, lag: i64, cut: Option<usize>) -> Self {
        let mut state = Self {
            offset,
            dates_at_end,
            ..Self::default()
        };
        if let Some(bytes) = cut {
            state.rows.cut_lists_at(bytes);
        }
        if lag > 0 {
            let mut behind = Behind {
                by: lag,
                ..Behind::default()
            };
            if let Some(bytes) = cut {
                behind.rows.cut_lists_at(bytes);
            }
            state.behind = Some(behind);
        }
        state
    }

    /// The CRM's clock.
    pub fn clock(&self, now: i64) -> Timestamp {
        instant(now.saturating_add(self.offset))
    }

    /// How often the record changed.
    pub fn changes(&self, id: &HistoryId) -> u64 {
        self.changes.get(id).copied().unwrap_or_default()
    }

    /// Notes that the record changed, or is gone.
    pub fn changed(&mut self, now: i64, id: &HistoryId) {
        let count = self.changes.entry(id.clone()).or_default();
        *count += 1;
        if let Some(behind) = &mut self.behind {
            let row = self.rows.row(id).cloned();
            let at = now.saturating_add(behind.by);
            behind.coming.push_back((at, id.clone(), *count, row));
        }
    }

    /// A person edits the record.
    pub fn edit(&mut self, now: i64, id: &HistoryId, edit: impl FnOnce(&mut Row)) {
        let clock = self.clock(now);
        self.rows.edit_by_hand(clock, id, edit);
        self.changed(now, id);
    }

    /// A person deletes the record.
    pub fn delete(&mut self, now: i64, id: &HistoryId) {
        self.rows.delete(id);
        self.changed(now, id);
    }

    /// What lists and queries show now, and whether that is behind.
    fn listed(&mut self, now: i64) -> (&Crm, &BTreeMap<HistoryId, u64>, bool) {
        let Some(behind) = &mut self.behind else {
            return (&self.rows, &self.changes, false);
        };
        while behind.coming.front().is_some_and(|(at, ..)| *at <= now) {
            if let Some((_, id, count, row)) = behind.coming.pop_front() {
                behind.changes.insert(id.clone(), count);
                behind.rows.put(id, row);
            }
        }
        let is_behind = !behind.coming.is_empty();
        (&behind.rows, &behind.changes, is_behind)
    }

    /// The record refuses every write until then.
    pub fn poison(&mut self, id: &HistoryId, until: i64) {
        self.poisoned.insert(id.clone(), until);
    }

    /// Whether the record refuses writes.
    pub fn is_poisoned(&self, now: i64, id: &HistoryId) -> bool {
        self.poisoned.get(id).is_some_and(|until| now < *until)
    }

    /// Whether the record refuses writes for ever.
    pub fn is_lost_to_poison(&self, id: &HistoryId) -> bool {
        self.poisoned.get(id) == Some(&FOR_EVER)
    }

    /// The credits are used up until then.
    pub fn exhaust(&mut self, until: i64) {
        self.exhausted_until = self.exhausted_until.max(until);
    }

    /// The token endpoint refuses until then.
    pub fn throttle(&mut self, until: i64) {
        self.throttled_until = self.throttled_until.max(until);
    }

    /// Faults are over: what lasted ends, but for poison that is for ever.
    pub fn calm_down(&mut self) {
        self.exhausted_until = 0;
        self.throttled_until = 0;
        self.poisoned.retain(|_, until| *until == FOR_EVER);
    }

    fn is_exhausted(&self, now: i64) -> bool {
        now < self.exhausted_until
    }

    fn is_throttled(&self, now: i64) -> bool {
        now < self.throttled_until
    }
}
