//! One invocation of a function: the process it runs in, its clock, its randomness and what it was shown.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{Clock, Random};

use crate::checker::Ticket;
use crate::sim::{Fault, Sabotage, World, instant, lock, millis_in, unit};

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Saves, previews and confirms.
    Intake,
    /// Submits.
    SideEffect,
    /// Looks up and sweeps.
    Poller,
    /// A person with the operator's command.
    Operator,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Intake, Self::SideEffect, Self::Poller, Self::Operator];

    /// The name in logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::SideEffect => "side-effect",
            Self::Poller => "poller",
            Self::Operator => "operator",
        }
    }
}

/// A process, kept for later invocations as long as none of them is killed.
#[derive(Debug)]
pub struct Process {
    /// By how much its clock differs, in milliseconds.
    skew: AtomicI64,
    /// How often its clock jumped.
    jumps: AtomicU64,
    /// The latest `Date` of the CRM it saw, in milliseconds of the CRM's clock.
    last_date: Mutex<Option<Timestamp>>,
    /// Whether it has no access token yet.
    is_cold: AtomicBool,
}

/// One invocation.
pub struct Function {
    /// The world it runs in.
    pub world: Arc<World>,
    /// What it is.
    pub kind: Kind,
    /// Its name in the log.
    pub name: String,
    process: Arc<Process>,
    /// How often the clock had jumped when it began.
    jumps_before: u64,
    /// How often each record had changed when it was shown last.
    seen: Mutex<BTreeMap<HistoryId, u64>>,
    is_named: AtomicBool,
    /// What it was told to confirm.
    ticket: Mutex<Option<Arc<Ticket>>>,
}

impl Process {
    /// A new one, its clock within the margin.
    pub fn new(world: &World) -> Arc<Self> {
        let mut state = world.state();
        let skew = if state.strikes(Fault::ClockSkewed) {
            skew(world, &mut state.rng)
        } else {
            0
        };
        Arc::new(Self {
            skew: AtomicI64::new(skew),
            jumps: AtomicU64::new(0),
            last_date: Mutex::default(),
            is_cold: AtomicBool::new(true),
        })
    }
}

/// Two clocks differ by the margin at most, so that one is off by at most half of it.
fn skew(world: &World, rng: &mut crate::sim::Rng) -> i64 {
    let settings = &world.settings;
    let most = if settings.sabotage == Some(Sabotage::FarClocks) {
        5 * unit::MINUTE
    } else {
        settings.clock_margin / 2
    };
    rng.between(-most, most + 1)
}

impl Function {
    /// An invocation in this process.
    pub fn new(world: &Arc<World>, kind: Kind, number: u64, process: &Arc<Process>) -> Arc<Self> {
        Arc::new(Self {
            world: Arc::clone(world),
            kind,
            name: format!("{}#{number}", kind.label()),
            process: Arc::clone(process),
            jumps_before: process.jumps.load(Ordering::Relaxed),
            seen: Mutex::default(),
            is_named: AtomicBool::new(false),
            ticket: Mutex::default(),
        })
    }

    /// The instant this many milliseconds from now, by its own clock.
    pub fn after(&self, millis: i64) -> Timestamp {
        let skew = self.process.skew.load(Ordering::Relaxed);
        instant(self.world.now() + skew + millis)
    }

    /// Its clock jumps.
    pub fn jump(&self) {
        let skew = skew(&self.world, &mut self.world.state().rng);
        self.process.skew.store(skew, Ordering::Relaxed);
        self.process.jumps.fetch_add(1, Ordering::Relaxed);
        self.world
            .log(&self.name, || format!("its clock jumps to {skew} ms"));
    }

    /// Whether its clock jumped meanwhile.
    pub fn has_jumped(&self) -> bool {
        self.process.jumps.load(Ordering::Relaxed) != self.jumps_before
    }

    /// Whether it has to ask for an access token.
    pub fn is_cold(&self) -> bool {
        self.process.is_cold.load(Ordering::Relaxed)
    }

    /// The CRM's clock as it knows it.
    pub fn known_date(&self) -> Option<Timestamp> {
        *lock(&self.process.last_date)
    }

    /// An answer of the CRM came with this `Date`.
    pub fn learn_date(&self, date: Timestamp) {
        self.process.is_cold.store(false, Ordering::Relaxed);
        let mut last = lock(&self.process.last_date);
        *last = (*last).max(Some(date));
    }

    /// The record is shown as it was after this many changes.
    pub fn saw(&self, id: &HistoryId, changes: u64) {
        lock(&self.seen).insert(id.clone(), changes);
    }

    /// After how many changes the record was shown last.
    pub fn seen(&self, id: &HistoryId) -> Option<u64> {
        lock(&self.seen).get(id).copied()
    }

    /// It is told to confirm what a user looked at.
    pub fn confirms(&self, ticket: Arc<Ticket>) {
        *lock(&self.ticket) = Some(ticket);
    }

    /// What it was told to confirm.
    pub fn ticket(&self) -> Option<Arc<Ticket>> {
        lock(&self.ticket).clone()
    }

    /// An answer to its create named the record.
    pub fn knows_its_record(&self) {
        self.is_named.store(true, Ordering::Relaxed);
    }

    /// Whether an answer to its create named the record.
    pub fn has_a_named_record(&self) -> bool {
        self.is_named.load(Ordering::Relaxed)
    }
}

impl Clock for Function {
    fn now(&self) -> Timestamp {
        self.after(0)
    }

    async fn sleep(&self, duration: SignedDuration) {
        self.world.sleep(millis_in(duration)).await;
    }
}

impl Random for Function {
    fn bits(&self) -> u128 {
        self.world.state().rng.bits()
    }
}
