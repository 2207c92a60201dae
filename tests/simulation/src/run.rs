//! One seed: one world from its start to its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use sendtrail_core::state::State as Delivery;

use crate::actors::{self, Demand};
use crate::api::ApiState;
use crate::checker::{Broken, Checker, Ghost, Promise};
use crate::crm::CrmState;
use crate::function::Kind;
use crate::sim::{
    Fault, Faults, Log, Rng, Sabotage, Settings, State, Temper, World, millis_in, unit,
};
use crate::totals::Totals;

/// What is simulated.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The world's seed.
    pub seed: u64,
    /// What is asked of it.
    pub demand: Demand,
    /// Whether its event log is kept.
    pub keeps_log: bool,
    /// What is broken on purpose.
    pub sabotage: Option<Sabotage>,
}

/// How records ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Delivered.
    Succeeded,
    /// Not delivered, or rejected.
    Failed,
    /// Waits for a person.
    NeedsReview,
    /// Proved not sent, or never pressed with success.
    NotSent,
    /// A person settled it, or typed its state.
    TakenByAPerson,
    /// A person deleted it.
    Deleted,
    /// It refuses every write for ever.
    Poisoned,
    /// Still in flight: a broken promise.
    InFlight,
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 8] = [
        Self::Succeeded,
        Self::Failed,
        Self::NeedsReview,
        Self::NotSent,
        Self::TakenByAPerson,
        Self::Deleted,
        Self::Poisoned,
        Self::InFlight,
    ];

    /// The words in the report.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::NeedsReview => "needs review",
            Self::NotSent => "not sent: saved or confirmed only",
            Self::TakenByAPerson => "taken by a person",
            Self::Deleted => "deleted by a person",
            Self::Poisoned => "in flight, refuses every write for ever",
            Self::InFlight => "still in flight otherwise",
        }
    }
}

/// What became of a world.
#[derive(Debug)]
pub struct Outcome {
    /// How much went wrong in it.
    pub temper: Temper,
    /// The first promise that did not hold.
    pub broken: Option<Broken>,
    /// What was counted.
    pub totals: Totals,
    /// How often each kind of fault struck.
    pub faults: Vec<(Fault, u64)>,
    /// How the records ended, copies too.
    pub endings: BTreeMap<Ending, u64>,
    /// Records that people made as copies of others.
    pub copies: u64,
    /// Sends of which no record was made.
    pub never_saved: u64,
    /// Requests that reached a send API.
    pub submits: u64,
    /// Of them, beyond the first for a record: the record was submitted twice.
    pub duplicates: u64,
    /// Records whose send was accepted, and which are out of everybody's sight.
    pub lost: u64,
    /// Sends that a search of the poller found.
    pub found: u64,
    /// Claims of records that had been given back as not sent.
    pub pressed_again: u64,
    /// How long the world lasted, in milliseconds.
    pub lasted: i64,
    /// The event log.
    pub log: String,
}

/// From the deadline to the end, once the world is calm: the row is visited within ten runs of two minutes.
const SLACK: i64 = 30 * unit::MINUTE;
/// A row whose dates a person moved is found within a day and an hour after the last edit.
const LONGEST: i64 = 26 * unit::HOUR;

fn state_of(plan: &Plan) -> State {
    let mut rng = Rng::new(plan.seed);
    let mut faults = Faults::drawn(&mut rng);
    let lags = faults.would(&mut rng, Fault::ListLags);
    let cuts = faults.strikes(&mut rng, Fault::ListCuts);
    let offset = rng.between(-600, 601) * unit::SECOND;
    // A list may be 60 s behind, its way to us included.
    let lag = if lags {
        rng.between(1, 50 * unit::SECOND)
    } else {
        0
    };
    let cut = cuts.then(|| usize::try_from(rng.between(50, 1_500)).unwrap_or(500));
    let dates_at_end = rng.chance(500_000);
    let is_down = faults.strikes(&mut rng, Fault::ApiDown);
    let down_from = is_down.then(|| rng.between(0, plan.demand.calm_at()));
    State {
        crm: CrmState::new(offset, dates_at_end, lag, cut),
        api: ApiState::down_from(down_from),
        rng,
        faults,
        checker: Checker::default(),
        totals: Totals::default(),
        visited: None,
        ambushes: BTreeMap::new(),
        good_runs: Vec::new(),
        log: Log::new(plan.keeps_log),
        is_over: false,
    }
}

/// The promises that nobody gives in such a world.
pub fn excused(sabotage: Option<Sabotage>) -> &'static [Promise] {
    if sabotage != Some(Sabotage::FarClocks) {
        return &[];
    }
    // A sweep takes a living function for dead.
    &[
        Promise::NoSweepBeside,
        Promise::StandingClaim,
        Promise::LastLookUp,
    ]
}

/// A world without faults, which starts with nobody in it.
pub fn quiet(seed: u64, settings: Settings, calm_at: i64) -> Arc<World> {
    let plan = Plan {
        seed,
        demand: Demand { sends: 0, hours: 1 },
        keeps_log: false,
        sabotage: None,
    };
    let state = State {
        faults: Faults::none(),
        crm: CrmState::new(0, true, 0, None),
        api: ApiState::default(),
        ..state_of(&plan)
    };
    World::new(settings, calm_at, state)
}

/// Runs the world to its end.
pub fn run(plan: &Plan) -> Outcome {
    let settings = Settings {
        sabotage: plan.sabotage,
        ..Settings::shipped()
    };
    let calm_at = plan.demand.calm_at();
    let longest = millis_in(
        settings
            .pacing
            .letter
            .give_up
            .max(settings.pacing.fax.give_up),
    );
    let last = calm_at + longest + LONGEST;
    let mut state = state_of(plan);
    state.checker.excused = excused(plan.sabotage);
    let world = World::new(settings, calm_at, state);
    actors::start(&world, plan.demand);
    world.executor.spawn(watch(Arc::clone(&world), last));
    let watched = Arc::clone(&world);
    world.executor.run(|_| {
        let state = watched.state();
        state.is_over || state.checker.broken().is_some()
    });
    drop(watched);
    let now = world.now();
    let mut state = world.state();
    if state.checker.broken().is_none() {
        let State { checker, crm, .. } = &mut *state;
        checker.finish(now, calm_at, SLACK, crm);
    }
    drop(state);
    outcome(&world, plan)
}

/// Ends the faults, then the world: as soon as nothing is in flight any more, or when all should have ended.
async fn watch(world: Arc<World>, last: i64) {
    world.sleep(world.calm_at).await;
    {
        let now = world.now();
        let mut state = world.state();
        state.faults.end();
        state.crm.calm_down();
        state
            .log
            .line(now, "world", || "faults are over".to_owned());
    }
    // Late writes and submits are still on their way.
    world.sleep(3 * unit::HOUR).await;
    while world.now() < last && Checker::is_waiting(&world.state().crm) {
        world.sleep(10 * unit::MINUTE).await;
    }
    world.state().is_over = true;
    world.sleep(1).await;
}

fn ending(state: &State, id: &sendtrail_core::ids::HistoryId, ghost: &Ghost) -> Ending {
    let Some(row) = state.crm.rows.row(id) else {
        return Ending::Deleted;
    };
    let delivery = Delivery::from_label(row.state.as_deref().unwrap_or_default());
    let is_persons = ghost.was_typed() || ghost.last_writer == Some(Kind::Operator);
    match delivery {
        Some(Delivery::Sending | Delivery::Accepted) if state.crm.is_lost_to_poison(id) => {
            Ending::Poisoned
        }
        Some(Delivery::Sending | Delivery::Accepted) => Ending::InFlight,
        _ if is_persons => Ending::TakenByAPerson,
        Some(Delivery::Succeeded) => Ending::Succeeded,
        Some(Delivery::Failed) => Ending::Failed,
        Some(Delivery::NeedsReview) => Ending::NeedsReview,
        Some(Delivery::Saved | Delivery::Confirmed) => Ending::NotSent,
        None => Ending::TakenByAPerson,
    }
}

fn outcome(world: &World, plan: &Plan) -> Outcome {
    world.executor.clear();
    let mut state = world.state();
    let state = &mut *state;
    let mut endings = BTreeMap::new();
    for (id, ghost) in state.checker.ghosts() {
        *endings.entry(ending(state, id, ghost)).or_default() += 1;
    }
    let records: u64 = endings.values().sum();
    let copies = state.checker.copies;
    Outcome {
        temper: state.faults.temper(),
        broken: state.checker.broken().cloned(),
        totals: state.totals.clone(),
        faults: state.faults.counts().collect(),
        endings,
        copies,
        never_saved: (plan.demand.sends + copies).saturating_sub(records),
        submits: state.checker.submits,
        duplicates: state.checker.duplicates,
        lost: state.checker.lost,
        found: state.checker.found,
        pressed_again: state.checker.pressed_again,
        lasted: world.now(),
        log: std::mem::take(&mut state.log).into_text(),
    }
}
