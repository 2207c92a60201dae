//! What is done with one row: looked up or swept, and written once.

use std::future::Future;
use std::pin::pin;

use futures_util::future::{Either, select};
use jiff::{SignedDuration, Timestamp};

use super::shared::lock;
use super::{Run, Waited};
use crate::commit::{Change, Commit, NoBase, commit, read_base};
use crate::flows::look_up::{after_look_up, give_up};
use crate::flows::sweep::{SweepDue, after_find, is_stale, review, sweep_due};
use crate::ids::DriverId;
use crate::ports::{
    Clock, Evidence, Failure, FindAnswer, GuardedWrite, ListHistory, LookUp, LookUpAnswer,
    LookUpDrivers, Random,
};
use crate::progress::{LastError, Progress, ProgressError};
use crate::record::{Base, HistoryRecord, Read};
use crate::state::{Event, State};

impl<S, D, W> Run<'_, S, D, W>
where
    S: ListHistory + GuardedWrite,
    D: LookUpDrivers,
    W: Clock + Random,
{
    /// Works on one row: reads it again where the list is no base, looks it up or sweeps it, writes once.
    pub(super) async fn row(&self, listed: Read, now: Timestamp, waited: &Waited) {
        self.note_age(&listed, now);
        let id = listed.record.id.clone();
        let base = match Base::of_listed(listed, self.policy.list_lag) {
            // A list may cut long text: a progress that cannot be read is read again singly.
            Ok(base) if Progress::decode(base.record().progress.as_deref()).is_ok() => base,
            Ok(_) | Err(_) => match read_base(self.store, self.world, &id, self.until).await {
                Ok(base) => base,
                Err(NoBase::Store(error)) => return self.shared.count_store_error(&error),
                Err(NoBase::Unsettled) => {
                    return self.shared.count(|report| report.conflicts_skipped += 1);
                }
            },
        };
        let record = base.record();
        let state = match record.state.known() {
            Some(state) if state.is_in_flight() => state,
            Some(_) | None => return self.shared.count(|report| report.not_due += 1),
        };
        let change = match Progress::decode(record.progress.as_deref()) {
            Ok(progress) if state == State::Sending => self.sweep(record, progress, waited).await,
            Ok(progress) => self.look_up(record, progress, waited).await,
            Err(ProgressError::Newer(_)) => {
                return self.shared.count(|report| report.newer += 1);
            }
            Err(error) => {
                self.shared.count(|report| report.malformed += 1);
                let text = record.progress.as_deref();
                Some(unreadable(text, state, &error, self.world.now()))
            }
        };
        if let Some(change) = change {
            self.write(&base, change).await;
        }
    }

    /// A row that is not due, and is listed all the same where a person moved its date fields: they are set
    /// right, once. Under a claim whose function may still live they are left alone; it writes them itself.
    fn not_due(&self, record: &HistoryRecord, progress: Progress) -> Option<Change> {
        self.shared.count(|report| report.not_due += 1);
        let is_held = progress.submission.is_none()
            && progress
                .claim
                .as_ref()
                .is_some_and(|claim| !is_stale(self.world.now(), self.policy, claim, &progress));
        let was_restored = progress
            .trail
            .last()
            .is_some_and(|entry| entry.event == RESTORED);
        let wrong = !is_copied(record, &progress);
        (wrong && !is_held && !was_restored).then(|| Change::remark(RESTORED, progress))
    }

    async fn sweep(
        &self,
        record: &HistoryRecord,
        progress: Progress,
        waited: &Waited,
    ) -> Option<Change> {
        let now = self.world.now();
        let due = sweep_due(now, self.policy, &record.id, &progress);
        let (driver_id, reference, draft_id) = match due {
            SweepDue::NotYet => return self.not_due(record, progress),
            SweepDue::Review(why) => return Some(review(progress, now, why)),
            SweepDue::Find {
                driver,
                reference,
                draft_id,
            } => (driver, reference, draft_id),
        };
        let Some(driver) = self.drivers.driver(&driver_id) else {
            self.shared.count(|report| report.no_driver += 1);
            return progress
                .is_out_of_time(now)
                .then(|| review(progress, now, "its driver is not configured"));
        };
        if !driver.capabilities().can_find {
            let why = "the send API cannot be asked by reference";
            return Some(review(progress, now, why));
        }
        self.take_turn(&driver_id, waited).await?;
        // What was asked before the grace was over, and answered after it, is not the last word.
        let asked = self.world.now();
        let find = driver.find(&reference, draft_id.as_deref());
        let answer = self.in_time(find).await.unwrap_or_else(FindAnswer::Failed);
        self.shared.count(|report| report.swept += 1);
        if let FindAnswer::Failed(failure) = &answer {
            self.shared.count_failure(&driver_id, failure);
        }
        let pacing = driver.pacing();
        Some(after_find(progress, &reference, &answer, asked, pacing))
    }

    async fn look_up(
        &self,
        record: &HistoryRecord,
        progress: Progress,
        waited: &Waited,
    ) -> Option<Change> {
        let now = self.world.now();
        let accepted = progress.submission.as_ref().and_then(|submission| {
            Some((submission.driver.clone(), submission.external_id.clone()?))
        });
        let Some((driver_id, external_id)) = accepted else {
            let why = "accepted without an external id";
            return Some(give_up_saying(progress, now, why));
        };
        let due = progress.is_due(now);
        if !due {
            return self.not_due(record, progress);
        }
        let Some(driver) = self.drivers.driver(&driver_id) else {
            self.shared.count(|report| report.no_driver += 1);
            return progress
                .is_out_of_time(now)
                .then(|| give_up_saying(progress, now, "its driver is not configured"));
        };
        self.take_turn(&driver_id, waited).await?;
        let asked = self.world.now();
        let look_up = driver.look_up(&external_id);
        let answer = self
            .in_time(look_up)
            .await
            .unwrap_or_else(LookUpAnswer::Failed);
        self.shared.count(|report| report.looked_up += 1);
        match &answer {
            LookUpAnswer::Failed(failure) => self.shared.count_failure(&driver_id, failure),
            LookUpAnswer::Pending {
                recognised: false, ..
            } => self.shared.count(|report| report.unrecognised += 1),
            LookUpAnswer::Pending { .. }
            | LookUpAnswer::Delivered { .. }
            | LookUpAnswer::Undelivered { .. }
            | LookUpAnswer::NotFound => {}
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "any bits will do for jitter"
        )]
        let jitter = self.world.bits() as u64;
        let now = self.world.now();
        Some(after_look_up(
            progress,
            &answer,
            asked,
            now,
            driver.pacing(),
            jitter,
        ))
    }

    /// Waits for the next turn at a send API; `None` where that API asked to slow down in this run, or the
    /// run came to its end meanwhile.
    async fn take_turn(&self, driver: &DriverId, waited: &Waited) -> Option<()> {
        if self.shared.holds_back(driver) {
            return None;
        }
        let rate = i64::from(self.policy.rate_per_second.max(1));
        let gap = SignedDuration::from_millis(1_000 / rate);
        let wait = self.shared.next_turn(self.world.now(), gap);
        // A turn that comes too late is not waited for: the row has no time beyond the run's.
        if !self.may_start_in(wait) {
            self.shared.count(|report| report.not_started += 1);
            return None;
        }
        *lock(waited) += wait;
        self.world.sleep(wait).await;
        if self.shared.holds_back(driver) {
            return None;
        }
        if !self.may_start() {
            self.shared.count(|report| report.not_started += 1);
            return None;
        }
        Some(())
    }

    /// The answer of a send API, if it comes in two thirds of the time a row has. The rest is for the write:
    /// a row whose API never answers must be written as well, or it would never end.
    async fn in_time<T>(&self, call: impl Future<Output = T>) -> Result<T, Failure> {
        let most = self.policy.row_timeout.min(self.time_left()) * 2 / 3;
        match select(pin!(call), pin!(self.world.sleep(most))).await {
            Either::Left((answer, _)) => Ok(answer),
            Either::Right(_) => {
                self.shared.count(|report| report.timed_out += 1);
                Err(Failure::Transient(Evidence {
                    class: "timeout".to_owned(),
                    detail: format!("no answer within {} s", most.as_secs()),
                    ..Evidence::default()
                }))
            }
        }
    }

    async fn write(&self, base: &Base, change: Change) {
        let event = change.event;
        let restores = change.note.remark == Some(RESTORED);
        let commit = commit(self.store, self.world, base, change, self.until).await;
        match commit {
            Commit::Written { .. } => {
                self.shared.count_written(event);
                self.shared
                    .count(|report| report.schedules_restored += u64::from(restores));
            }
            Commit::SkippedConflict => {
                self.shared.count(|report| report.conflicts_skipped += 1);
            }
            Commit::Illegal(_) | Commit::ForeignState => {
                self.shared.count(|report| report.not_due += 1);
            }
            Commit::NotWritten(error) | Commit::Unconfirmed(error) => {
                self.shared.count_store_error(&error);
            }
        }
    }

    fn note_age(&self, listed: &Read, now: Timestamp) {
        let due = match Progress::decode(listed.record.progress.as_deref()) {
            Ok(progress) => progress.next_check_at(),
            // Such a row may stay as it is, and would hide its age: the field beside it tells.
            Err(_) => listed.record.next_check_at,
        };
        let age = due.map_or(0, |due| {
            now.duration_since(due).as_secs().max(0).unsigned_abs()
        });
        self.shared
            .count(|report| report.oldest_due_seconds = report.oldest_due_seconds.max(age));
    }
}

/// The word in the trail.
const RESTORED: &str = "schedule_restored";

/// Whether the date fields say what the progress says, as finely as people see it.
fn is_copied(record: &HistoryRecord, progress: &Progress) -> bool {
    let minute = SignedDuration::from_mins(1);
    let same = |field: Option<Timestamp>, value: Option<Timestamp>| match (field, value) {
        (None, None) => true,
        (Some(field), Some(value)) => field.duration_since(value).abs() < minute,
        (Some(_), None) | (None, Some(_)) => false,
    };
    same(record.next_check_at, progress.next_check_at())
        && same(record.deadline, progress.deadline())
}

fn give_up_saying(mut progress: Progress, now: Timestamp, why: &str) -> Change {
    progress.last_error = Some(LastError::new(now, "gave_up", None, why));
    give_up(progress)
}

/// A progress that cannot be read, on a record in flight: a person must look, the text is kept.
fn unreadable(text: Option<&str>, state: State, error: &ProgressError, now: Timestamp) -> Change {
    let mut progress = Progress::replacing(text);
    let why = error.to_string();
    progress.last_error = Some(LastError::new(now, "malformed_progress", None, &why));
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
