//! Time, chance and faults of one world, and what its parts share.

mod executor;
mod faults;
mod log;
mod rng;
mod settings;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::{ExternalId, HistoryId};

pub use executor::{Executor, Sleep};
pub use faults::{Fault, Faults, Temper};
pub use log::{Log, clock};
pub use rng::Rng;
pub use settings::{Pacings, STAGE, Sabotage, Settings, shipped_pacings};

use crate::actors::Ambush;
use crate::api::ApiState;
use crate::checker::{Checker, Ghost};
use crate::crm::CrmState;
use crate::function::{Kind, Process};
use crate::totals::Totals;

/// Locks; nothing here is shared between threads, so that no holder ever panicked.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The instant of the millisecond 0: the start of an hour and of a day.
const EPOCH_SECOND: i64 = 1_767_225_600;

/// The instant of a millisecond of the world.
pub fn instant(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(EPOCH_SECOND * 1_000 + millis).unwrap_or(Timestamp::MAX)
}

/// The millisecond of an instant.
pub fn millis_of(at: Timestamp) -> i64 {
    at.as_millisecond() - EPOCH_SECOND * 1_000
}

/// Whole milliseconds of a duration, as far as they go.
pub fn millis_in(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Milliseconds in a second, minute, hour and day.
pub mod unit {
    /// A second.
    pub const SECOND: i64 = 1_000;
    /// A minute.
    pub const MINUTE: i64 = 60 * SECOND;
    /// An hour.
    pub const HOUR: i64 = 60 * MINUTE;
    /// A day.
    pub const DAY: i64 = 24 * HOUR;
}

/// One world: what its tasks hold on to.
pub struct World {
    /// Its time.
    pub executor: Executor,
    /// Its settings, which stay.
    pub settings: Settings,
    /// When faults are over and people go home, in milliseconds.
    pub calm_at: i64,
    state: Mutex<State>,
    processes: Mutex<[Vec<Arc<Process>>; Kind::ALL.len()]>,
}

/// What changes in a world.
pub struct State {
    /// Its chance.
    pub rng: Rng,
    /// What goes wrong.
    pub faults: Faults,
    /// The CRM.
    pub crm: CrmState,
    /// The send APIs.
    pub api: ApiState,
    /// The promises.
    pub checker: Checker,
    /// What is reported.
    pub totals: Totals,
    /// The records a send API was asked for, where somebody wants to know.
    pub visited: Option<Vec<HistoryId>>,
    /// Edits that wait for a record to get into a state.
    pub ambushes: BTreeMap<HistoryId, Vec<Ambush>>,
    /// When runs of the poller started that were not hindered.
    pub good_runs: Vec<i64>,
    /// What happened.
    pub log: Log,
    /// Whether the world has come to its end.
    pub is_over: bool,
}

impl World {
    /// A world that has not begun.
    pub fn new(settings: Settings, calm_at: i64, state: State) -> Arc<Self> {
        Arc::new(Self {
            executor: Executor::new(),
            settings,
            calm_at,
            state: Mutex::new(state),
            processes: Mutex::default(),
        })
    }

    /// A process that is idle, if there is one.
    pub fn take_process(&self, kind: Kind) -> Option<Arc<Process>> {
        lock(&self.processes)[kind as usize].pop()
    }

    /// A process is idle again.
    pub fn give_process(&self, kind: Kind, process: Arc<Process>) {
        lock(&self.processes)[kind as usize].push(process);
    }

    /// Whether people have gone home.
    pub fn is_past_the_day(&self) -> bool {
        self.now() >= self.calm_at
    }

    /// What changes.
    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Milliseconds since its start.
    pub fn now(&self) -> i64 {
        self.executor.now()
    }

    /// Waits.
    pub fn sleep(&self, millis: i64) -> Sleep {
        self.executor.sleep(millis)
    }

    /// A line of the log.
    pub fn log(&self, actor: &str, what: impl FnOnce() -> String) {
        let now = self.now();
        self.state().log.line(now, actor, what);
    }
}

impl State {
    /// Whether this kind strikes now.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        self.faults.strikes(&mut self.rng, fault)
    }

    /// The first of these kinds that strikes.
    pub fn one_of(&mut self, kinds: &[Fault]) -> Option<Fault> {
        self.faults.one_of(&mut self.rng, kinds)
    }

    /// A send API is asked for this id: how long the row had been due.
    pub fn visited(&mut self, now: i64, id: &ExternalId) {
        if let Some(record) = self.checker.record_of(id).cloned() {
            self.visited_row(now, &record);
        }
    }

    /// The same, of a record.
    pub fn visited_row(&mut self, now: i64, id: &HistoryId) {
        if let Some(visited) = &mut self.visited {
            visited.push(id.clone());
        }
        let row = self.crm.rows.row(id);
        let Some(due) = row.and_then(|row| row.next_check_at).map(millis_of) else {
            return;
        };
        let is_first = self.checker.visits(now, id, due);
        if !is_first || self.checker.ghost(id).is_some_and(Ghost::is_touched) {
            return;
        }
        let started = |at: i64| self.good_runs.partition_point(|run| *run < at) as u64;
        // The run that visits it is not counted before it ends.
        let missed = started(now).saturating_sub(started(due));
        let totals = &mut self.totals;
        totals.visits += 1;
        totals.worst_lateness = totals.worst_lateness.max(now - due);
        totals.worst_runs_missed = totals.worst_runs_missed.max(missed);
    }
}
