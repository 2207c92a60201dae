//! One run of the poller: fair, bounded, polite.
//!
//! One slow, broken or poisoned row never stops the run: each row has its own time and its own result.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use futures_util::future::{Either, select};
use futures_util::stream::{self, StreamExt as _};
use jiff::{SignedDuration, Timestamp};

use super::look_up::{after_look_up, give_up};
use super::record_outcome::replacement;
use super::report::PollReport;
use super::sweep::{SweepDue, after_find, review, sweep_due};
use crate::commit::{Change, Commit, commit, read_base};
use crate::ids::{DriverId, HistoryId};
use crate::policy::PollPolicy;
use crate::ports::{
    Clock, Failure, FindAnswer, GuardedWrite, ListHistory, ListPage, ListQuery, ListStart, LookUp,
    LookUpAnswer, LookUpDrivers, Random, StoreError, clock_deadline,
};
use crate::progress::{LastError, Progress, ProgressError};
use crate::record::{Base, Read};
use crate::state::{Event, State};

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
        state: Mutex::default(),
    };
    let now = world.now();
    let mut start = ListStart::First;
    for page_number in 0..policy.max_pages {
        let page = match run.page(now, start).await {
            Ok(page) => page,
            Err(error) if page_number == 0 => return Err(error),
            Err(error) => {
                run.count_store_error(&error);
                break;
            }
        };
        let next = page.next.clone();
        run.work(page, now).await;
        match next {
            Some(cursor) if run.may_start() => {
                start = run.next_start(now, page_number, cursor).await;
            }
            Some(_) | None => break,
        }
    }
    let state = run
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    Ok(state.report)
}

struct Run<'a, S, D, W> {
    store: &'a S,
    drivers: &'a D,
    world: &'a W,
    policy: &'a PollPolicy,
    until: Timestamp,
    state: Mutex<RunState>,
}

#[derive(Default)]
struct RunState {
    report: PollReport,
    visited: BTreeSet<HistoryId>,
    /// APIs that asked to slow down: not asked again in this run.
    slowed: BTreeSet<DriverId>,
    /// The CRM asked to slow down: nothing is started any more.
    crm_slowed: bool,
    /// When the next call to a send API may start.
    next_slot: Option<Timestamp>,
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
        self.with(|state| {
            state.report.pages += 1;
            state.report.listed += page.rows.len() as u64;
        });
        Ok(page)
    }

    /// Where the next page starts: past the last row by key; in every second run, once, at an offset drawn
    /// from the tick, so that rows which cannot be written do not hold the others up for ever.
    async fn next_start(
        &self,
        now: Timestamp,
        page_number: u32,
        cursor: S::Cursor,
    ) -> ListStart<S::Cursor> {
        let tick = now.as_second() / self.policy.interval.as_secs().max(1);
        if page_number > 0 || tick % 2 == 0 {
            return ListStart::After(cursor);
        }
        match self.store.count_due(now).await {
            Ok(due) => ListStart::Offset(offset_of(tick, due, self.policy)),
            Err(error) => {
                self.count_store_error(&error);
                ListStart::After(cursor)
            }
        }
    }

    async fn work(&self, page: ListPage<S::Cursor>, now: Timestamp) {
        let rows = page
            .rows
            .into_iter()
            .filter(|row| self.with(|state| state.visited.insert(row.record.id.clone())));
        stream::iter(rows)
            .for_each_concurrent(self.policy.concurrency.max(1), |row| async move {
                if !self.may_start() {
                    self.with(|state| state.report.not_started += 1);
                    return;
                }
                let timeout = self.world.sleep(self.policy.row_timeout);
                let (row, timeout) = (std::pin::pin!(self.row(row, now)), std::pin::pin!(timeout));
                if let Either::Right(_) = select(row, timeout).await {
                    self.with(|state| state.report.timed_out += 1);
                }
            })
            .await;
    }

    fn may_start(&self) -> bool {
        let left = self.until.duration_since(self.world.now());
        left > self.policy.reserve && !self.with(|state| state.crm_slowed)
    }

    /// Works on one row: reads it again where the list is no base, looks it up or sweeps it, writes once.
    async fn row(&self, listed: Read, now: Timestamp) {
        self.note_age(&listed, now);
        let id = listed.record.id.clone();
        let base = match Base::of_listed(listed, self.policy.list_lag) {
            // A list may cut long text: a progress that cannot be read is read again singly.
            Ok(base) if Progress::decode(base.record().progress.as_deref()).is_ok() => base,
            Ok(_) | Err(_) => match read_base(self.store, self.world, &id, self.until).await {
                Ok(base) => base,
                Err(crate::commit::NoBase::Store(error)) => return self.count_store_error(&error),
                Err(crate::commit::NoBase::Unsettled) => {
                    return self.with(|state| state.report.conflicts_skipped += 1);
                }
            },
        };
        let record = base.record();
        let state = match record.state.known() {
            Some(state) if state.is_in_flight() => state,
            Some(_) | None => return self.with(|state| state.report.not_due += 1),
        };
        let change = match Progress::decode(record.progress.as_deref()) {
            Ok(progress) if state == State::Sending => self.sweep(&id, progress).await,
            Ok(progress) => self.look_up(progress).await,
            Err(ProgressError::Newer(_)) => {
                return self.with(|state| state.report.newer += 1);
            }
            Err(error) => {
                self.with(|state| state.report.malformed += 1);
                Some(unreadable(
                    record.progress.as_deref(),
                    state,
                    &error,
                    self.world.now(),
                ))
            }
        };
        if let Some(change) = change {
            self.write(&base, change).await;
        }
    }

    async fn sweep(&self, id: &HistoryId, progress: Progress) -> Option<Change> {
        let now = self.world.now();
        let (driver_id, reference, draft_id) = match sweep_due(now, self.policy, id, &progress) {
            SweepDue::NotYet => {
                self.with(|state| state.report.not_due += 1);
                return None;
            }
            SweepDue::Review(why) => return Some(review(progress, now, why)),
            SweepDue::Find {
                driver,
                reference,
                draft_id,
            } => (driver, reference, draft_id),
        };
        let Some(driver) = self.drivers.driver(&driver_id) else {
            self.with(|state| state.report.no_driver += 1);
            let over = progress.deadline().is_none_or(|deadline| now >= deadline);
            return over.then(|| review(progress, now, "its driver is not configured"));
        };
        if !driver.capabilities().can_find {
            return Some(review(
                progress,
                now,
                "the send API cannot be asked by reference",
            ));
        }
        self.take_slot(&driver_id).await?;
        let answer = driver.find(&reference, draft_id.as_deref()).await;
        self.with(|state| {
            state.report.swept += 1;
            if let FindAnswer::Failed(failure) = &answer {
                state.count_failure(&driver_id, failure);
            }
        });
        Some(after_find(
            progress,
            &reference,
            &answer,
            self.world.now(),
            driver.pacing(),
        ))
    }

    async fn look_up(&self, progress: Progress) -> Option<Change> {
        let now = self.world.now();
        let accepted = progress.submission.as_ref().and_then(|submission| {
            Some((submission.driver.clone(), submission.external_id.clone()?))
        });
        let Some((driver_id, external_id)) = accepted else {
            return Some(give_up_saying(
                progress,
                now,
                "accepted without an external id",
            ));
        };
        let due = progress.next_check_at().is_none_or(|at| now >= at)
            || progress.deadline().is_some_and(|at| now >= at);
        if !due {
            self.with(|state| state.report.not_due += 1);
            return None;
        }
        let Some(driver) = self.drivers.driver(&driver_id) else {
            self.with(|state| state.report.no_driver += 1);
            let over = progress.deadline().is_none_or(|deadline| now >= deadline);
            return over.then(|| give_up_saying(progress, now, "its driver is not configured"));
        };
        self.take_slot(&driver_id).await?;
        let answer = driver.look_up(&external_id).await;
        self.with(|state| {
            state.report.looked_up += 1;
            match &answer {
                LookUpAnswer::Failed(failure) => state.count_failure(&driver_id, failure),
                LookUpAnswer::Pending {
                    recognised: false, ..
                } => state.report.unrecognised += 1,
                LookUpAnswer::Pending { .. }
                | LookUpAnswer::Delivered { .. }
                | LookUpAnswer::Undelivered { .. }
                | LookUpAnswer::NotFound => {}
            }
        });
        #[expect(
            clippy::cast_possible_truncation,
            reason = "any bits will do for jitter"
        )]
        let jitter = self.world.bits() as u64;
        Some(after_look_up(
            progress,
            &answer,
            self.world.now(),
            driver.pacing(),
            jitter,
        ))
    }

    /// Waits for the next call to a send API; `None` where that API asked to slow down in this run.
    async fn take_slot(&self, driver: &DriverId) -> Option<()> {
        let gap =
            SignedDuration::from_millis(1_000 / i64::from(self.policy.rate_per_second.max(1)));
        let now = self.world.now();
        let slot = self.with(|state| {
            let slot = state.next_slot.map_or(now, |slot| slot.max(now));
            state.next_slot = Some(clock_deadline(slot, gap));
            slot
        });
        self.world.sleep(slot.duration_since(now)).await;
        self.with(|state| {
            if state.slowed.contains(driver) {
                state.report.held_back += 1;
                return None;
            }
            Some(())
        })
    }

    async fn write(&self, base: &Base, change: Change) {
        let event = change.event;
        let commit = commit(self.store, self.world, base, change, self.until).await;
        match commit {
            Commit::Written { .. } => self.with(|state| {
                state.report.written += 1;
                if let Some(event) = event {
                    state.count_event(event);
                }
            }),
            Commit::SkippedConflict => {
                self.with(|state| state.report.conflicts_skipped += 1);
            }
            Commit::Illegal(_) | Commit::ForeignState => {
                self.with(|state| state.report.not_due += 1);
            }
            Commit::NotWritten(error) | Commit::Unconfirmed(error) => {
                self.count_store_error(&error);
            }
        }
    }

    fn note_age(&self, listed: &Read, now: Timestamp) {
        let due = Progress::decode(listed.record.progress.as_deref())
            .ok()
            .and_then(|progress| progress.next_check_at());
        let age = due.map_or(0, |due| {
            now.duration_since(due).as_secs().max(0).unsigned_abs()
        });
        self.with(|state| {
            state.report.oldest_due_seconds = state.report.oldest_due_seconds.max(age);
        });
    }

    fn count_store_error(&self, error: &StoreError) {
        self.with(|state| match error {
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
        });
    }

    fn with<T>(&self, f: impl FnOnce(&mut RunState) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RunState {
    fn count_failure(&mut self, driver: &DriverId, failure: &Failure) {
        self.report.lookup_errors += 1;
        match failure {
            Failure::RateLimited { .. } => {
                self.report.api_rate_limited += 1;
                self.slowed.insert(driver.clone());
            }
            Failure::Unauthorized(_) => self.report.unauthorized += 1,
            Failure::Transient(_) => {}
        }
    }

    fn count_event(&mut self, event: Event) {
        let report = &mut self.report;
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

fn offset_of(tick: i64, due: u64, policy: &PollPolicy) -> u64 {
    let rows_per_run =
        u64::from(policy.page_rows) * u64::from(policy.max_pages.saturating_sub(1).max(1));
    let turn = (tick / 2).unsigned_abs();
    turn.wrapping_mul(rows_per_run) % due.max(1)
}

fn give_up_saying(mut progress: Progress, now: Timestamp, why: &str) -> Change {
    progress.last_error = Some(LastError::new(now, "gave_up", None, why));
    give_up(progress)
}

/// A progress that cannot be read, on a record in flight: a person must look, the text is kept.
fn unreadable(text: Option<&str>, state: State, error: &ProgressError, now: Timestamp) -> Change {
    let mut progress = replacement(text);
    progress.last_error = Some(LastError::new(
        now,
        "malformed_progress",
        None,
        &error.to_string(),
    ));
    let event = match state {
        State::Sending => Event::AcceptanceUnknown,
        State::Accepted
        | State::Saved
        | State::Confirmed
        | State::Succeeded
        | State::Failed
        | State::NeedsReview => Event::GaveUp,
    };
    Change::of(event, progress)
}
