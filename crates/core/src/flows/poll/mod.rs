//! One run of the poller: fair, bounded, polite.
//!
//! One slow, broken or poisoned row never stops the run: each row has its own time and its own result.

mod row;
mod shared;

use std::sync::Mutex;

use futures_util::future::{Either, select};
use futures_util::stream::{self, StreamExt as _};
use jiff::{SignedDuration, Timestamp};

use super::report::PollReport;
use crate::policy::PollPolicy;
use crate::ports::{
    Clock, GuardedWrite, ListHistory, ListPage, ListQuery, ListStart, LookUpDrivers, Random,
    StoreError, UntouchedQuery, clock_deadline,
};
use crate::record::{HistoryRecord, Read};
use shared::Shared;

/// Looks up accepted sends and sweeps open claims, until `until`, the end of the invocation.
///
/// # Errors
/// The store's error when not even the first page could be listed; everything later is in the report.
pub async fn run<S, D, W>(
    store: &S,
    drivers: &D,
    world: &W,
    policy: &PollPolicy,
    until: Timestamp,
) -> Result<PollReport, StoreError>
where
    S: ListHistory + GuardedWrite,
    D: LookUpDrivers,
    W: Clock + Random,
{
    let run = Run {
        store,
        drivers,
        world,
        policy,
        until,
        shared: Shared::default(),
    };
    let now = world.now();
    let first = run.page(now, ListStart::First).await?;
    let tick = now.as_second() / policy.interval.as_secs().max(1);
    run.audit(now).await;
    run.untouched(now).await;
    if tick % 2 == 0 {
        let more = policy.max_pages.saturating_sub(1);
        run.follow(now, first, more).await;
    } else {
        run.start_within(now, (tick / 2).unsigned_abs(), first)
            .await;
    }
    Ok(run.shared.report())
}

struct Run<'a, S, D, W> {
    store: &'a S,
    drivers: &'a D,
    world: &'a W,
    policy: &'a PollPolicy,
    until: Timestamp,
    shared: Shared,
}

impl<S, D, W> Run<'_, S, D, W>
where
    S: ListHistory + GuardedWrite,
    D: LookUpDrivers,
    W: Clock + Random,
{
    async fn page(
        &self,
        now: Timestamp,
        start: ListStart<S::Cursor>,
    ) -> Result<ListPage<S::Cursor>, StoreError> {
        let limit = self.policy.page_rows;
        let page = self
            .store
            .list_due(&ListQuery { now, limit, start })
            .await?;
        self.shared.count(|report| {
            report.pages += 1;
            report.listed += page.rows.len() as u64;
        });
        Ok(page)
    }

    /// Once a day, in its first tick: states that people typed are in no list, so they are counted.
    async fn audit(&self, now: Timestamp) {
        let day = 24 * 60 * 60;
        if now.as_second().rem_euclid(day) >= self.policy.interval.as_secs() {
            return;
        }
        match self.store.count_foreign_states().await {
            Ok(count) => self.shared.count(|report| {
                report.audited = 1;
                report.foreign_states = count;
            }),
            Err(error) => self.shared.count_store_error(&error),
        }
    }

    /// Once an hour, in its first tick: rows in flight that nobody wrote for a day, whatever their date fields
    /// say. A person who moves both far ahead hides a row from the list of due ones, and every send must end.
    /// Those that the list of due rows shows are left to it.
    async fn untouched(&self, now: Timestamp) {
        let hour = 60 * 60;
        let into = now.as_second().rem_euclid(hour);
        if into >= self.policy.interval.as_secs() || !self.may_start() {
            return;
        }
        let turn = now.as_second().div_euclid(hour).unsigned_abs();
        match self.longest_untouched(now, turn).await {
            Ok(mut rows) => {
                rows.retain(|row| !is_listed_as_due(&row.record, now));
                self.shared
                    .count(|report| report.untouched = rows.len() as u64);
                self.work(rows, now).await;
            }
            Err(error) => self.shared.count_store_error(&error),
        }
    }

    /// One page of them; where there are more, each hour's starts at another place.
    async fn longest_untouched(&self, now: Timestamp, turn: u64) -> Result<Vec<Read>, StoreError> {
        let before = clock_deadline(now, -UNTOUCHED_FOR);
        let query = |offset| UntouchedQuery {
            before,
            limit: self.policy.page_rows,
            offset,
        };
        let first = self.store.list_untouched(&query(0)).await?;
        if !first.more {
            return Ok(first.rows);
        }
        let rows = self.store.count_untouched(before).await?;
        match place_of_page(turn, rows, self.policy.page_rows) {
            0 => Ok(first.rows),
            place => Ok(self.store.list_untouched(&query(place)).await?.rows),
        }
    }

    /// Works on the page, then on up to `more` pages after it, by key and not by count.
    async fn follow(&self, now: Timestamp, mut page: ListPage<S::Cursor>, mut more: u32) {
        loop {
            let next = page.next.take();
            self.work(page.rows, now).await;
            let Some(cursor) = next.filter(|_| more > 0 && self.may_start()) else {
                return;
            };
            more -= 1;
            page = match self.page(now, ListStart::After(cursor)).await {
                Ok(page) => page,
                Err(error) => return self.shared.count_store_error(&error),
            };
        }
    }

    /// Every second run starts at a place drawn from the tick, so that rows which stay where they are,
    /// because they cannot be written or take all the time, do not hold the others up for ever.
    async fn start_within(&self, now: Timestamp, turn: u64, first: ListPage<S::Cursor>) {
        if first.next.is_none() {
            let mut rows = first.rows;
            let start = usize::try_from(spread(turn, rows.len() as u64)).unwrap_or_default();
            rows.rotate_left(start);
            return self.work(rows, now).await;
        }
        let more = self.policy.max_pages.saturating_sub(1);
        let pages = more.max(1);
        let window = u64::from(self.policy.page_rows) * u64::from(pages);
        let place = self.store.count_due(now).await;
        let place = place.map(|due| place_in_backlog(turn, due, window));
        let page = match place {
            Ok(0) => return self.follow(now, first, more).await,
            Ok(place) => self.page(now, ListStart::Offset(place)).await,
            Err(error) => Err(error),
        };
        match page {
            Ok(page) => self.follow(now, page, pages - 1).await,
            Err(error) => self.shared.count_store_error(&error),
        }
        // The first page was read to see whether there is more; its rows come last, where a run has pages
        // left for them.
        if more > 0 {
            self.work(first.rows, now).await;
        }
    }

    async fn work(&self, rows: Vec<Read>, now: Timestamp) {
        let rows = rows
            .into_iter()
            .filter(|row| self.shared.is_first_visit(&row.record.id));
        stream::iter(rows)
            .for_each_concurrent(self.policy.concurrency.max(1), |row| async move {
                if !self.may_start() {
                    return self.shared.count(|report| report.not_started += 1);
                }
                let waited = Mutex::default();
                let timeout = std::pin::pin!(self.row_time(&waited));
                let row = std::pin::pin!(self.row(row, now, &waited));
                if let Either::Right(_) = select(row, timeout).await {
                    self.shared.count(|report| report.timed_out += 1);
                }
            })
            .await;
    }

    /// Completes when the row's time is up. What it waited for its turn at a send API does not count: else a
    /// long queue would time out row after row without one look-up. No row outlives the invocation.
    async fn row_time(&self, waited: &Waited) {
        let mut left = self.policy.row_timeout;
        while left.is_positive() {
            let most = self.time_left();
            self.world.sleep(left.min(most)).await;
            if left >= most {
                return;
            }
            left = std::mem::take(&mut *shared::lock(waited));
        }
    }

    /// What is left for rows, the time to report kept back; never negative.
    fn time_left(&self) -> SignedDuration {
        let left = self.until.duration_since(self.world.now());
        left.saturating_sub(REPORT_RESERVE)
            .max(SignedDuration::ZERO)
    }

    fn may_start(&self) -> bool {
        self.may_start_in(SignedDuration::ZERO)
    }

    /// Whether a row may still be started after this wait.
    fn may_start_in(&self, wait: SignedDuration) -> bool {
        let left = self.until.duration_since(self.world.now());
        left.saturating_sub(wait) > self.policy.reserve && !self.shared.crm_slowed()
    }
}

/// Kept back from the last rows, so that the run is reported before the invocation ends.
const REPORT_RESERVE: SignedDuration = SignedDuration::from_secs(1);

/// A row in flight that nobody wrote for this long is looked at, whatever its date fields say.
const UNTOUCHED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// Whether the list of due rows shows it.
fn is_listed_as_due(record: &HistoryRecord, now: Timestamp) -> bool {
    record.next_check_at.is_none_or(|at| at <= now) || record.deadline.is_some_and(|at| at <= now)
}

/// The time a row waited for its turn, not yet added to its own.
type Waited = Mutex<SignedDuration>;

/// Where in a backlog of `due` rows a run starts that has time for `window` of them.
///
/// A backlog of several windows is cut into them, counted from the front, and their number is rounded up to
/// a power of two, `k`. Every second turn takes the window before the last one's. A row never moves back in
/// the order: a row that is written, or becomes due later, comes in behind it. So a window that moves to the
/// front cannot miss it: the row is met at the latest in the second round, after `2 * k` such turns, which
/// are `8 * k` runs, where `k` belongs to the largest backlog meanwhile. A power of two, since the rounds of
/// a smaller `k` then fall together with those of a larger one, and the promise also holds while the backlog
/// grows and shrinks.
///
/// The other turns, and all of a smaller backlog, are for runs that are too short for a window, since slow
/// rows take their time: any row can be the first of one.
fn place_in_backlog(turn: u64, due: u64, window: u64) -> u64 {
    let window = window.max(1);
    let windows = due.div_ceil(window).max(1).next_power_of_two();
    if windows == 1 || turn % 2 == 1 {
        return spread(turn, due);
    }
    let place = windows - 1 - turn / 2 % windows;
    if place * window < due {
        place * window
    } else {
        // Past the end through rounding up: an extra visit to one of the windows there are.
        (place - windows / 2) * window
    }
}

/// One of `places`. Those of successive turns are spread evenly, by the golden ratio, whatever their number.
fn spread(turn: u64, places: u64) -> u64 {
    let fraction = u128::from(turn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let place = (fraction * u128::from(places)) >> 64;
    u64::try_from(place).unwrap_or_default()
}

/// Where among `rows` the page of this turn starts, so that each row is on a page equally often, also those
/// at the front.
fn place_of_page(turn: u64, rows: u64, page_rows: u32) -> u64 {
    let before = u64::from(page_rows.max(1)) - 1;
    spread(turn, rows.saturating_add(before)).saturating_sub(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_run_starts_at_a_row_that_is_there(turn: u64, due in 1u64..100_000, window in 1u64..1_000) {
            prop_assert!(place_in_backlog(turn, due, window) < due);
            prop_assert!(spread(turn, due) < due);
        }

        #[test]
        fn a_row_that_stays_is_met_in_one_round_however_the_backlog_behind_it_changes(
            first: u32, at in 0u64..500, window in 1u64..50,
            behind in proptest::collection::vec(0u64..500, 128),
        ) {
            let largest = behind.iter().max().unwrap() + at + 1;
            let round = largest.div_ceil(window).next_power_of_two();
            prop_assume!((2..=128).contains(&round));
            let met = (0..round).any(|n| {
                let due = at + 1 + behind[usize::try_from(n).unwrap()];
                // A backlog that fits a window is worked on from the front every second run.
                let start = place_in_backlog((u64::from(first) + n) * 2, due, window);
                due <= window || (start..start + window).contains(&at)
            });
            prop_assert!(met);
        }

        #[test]
        fn a_row_that_moves_to_the_front_is_met_in_two_rounds(
            first: u32, at in 0u64..500, window in 1u64..50,
            leave in proptest::collection::vec((0u64..20, 0u64..20), 256),
        ) {
            let largest = at + 500;
            let round = largest.div_ceil(window).next_power_of_two();
            prop_assume!(round <= 128);
            let (mut at, mut behind) = (at, 499u64);
            let met = (0..2 * round).any(|n| {
                let due = at + 1 + behind;
                let start = place_in_backlog((u64::from(first) + n) * 2, due, window);
                let met = due <= window || (start..start + window).contains(&at);
                let (before, after) = leave[usize::try_from(n).unwrap()];
                (at, behind) = (at.saturating_sub(before), behind.saturating_sub(after));
                met
            });
            prop_assert!(met);
        }

        #[test]
        fn each_row_is_on_a_page_within_five_turns_for_each_page(
            first: u32, rows in 1u64..1_000, at in 0u64..1_000, page_rows in 1u32..40,
        ) {
            let at = at % rows;
            let page = u64::from(page_rows);
            let met = (0..5 * rows.div_ceil(page)).any(|n| {
                let start = place_of_page(u64::from(first) + n, rows, page_rows);
                (start..start + page).contains(&at)
            });
            prop_assert!(met);
        }

        #[test]
        fn every_row_is_near_behind_a_start_when_runs_are_too_short_for_a_window(
            first: u32, due in 1u64..300, at in 0u64..300, short in 1u64..40,
        ) {
            let at = at % due;
            // In turns of every kind, and in every second turn alone.
            for step in [1, 2] {
                let turns = 5 * due.div_ceil(short);
                let met = at < short || (0..turns).any(|n| {
                    let start = spread(u64::from(first) + n * step, due);
                    (start..start + short).contains(&at)
                });
                prop_assert!(met, "step {step}");
            }
        }
    }
}
