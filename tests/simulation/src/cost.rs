//! What sends cost: look-ups at the send API, calls to the CRM and credits, under the shipped backoff and
//! under look-ups at every tick.

use std::sync::Arc;

use jiff::SignedDuration;
use sendtrail_core::policy::Pacing;

use crate::actors;
use crate::api::Results;
use crate::function::Kind;
use crate::report::{per, per_fine};
use crate::run::quiet;
use crate::sim::{Settings, shipped_pacings, unit};
use crate::totals::{Call, Totals};

/// What some sends cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// How many sends.
    pub sends: u64,
    /// Requests to the send API for a result.
    pub look_ups: u64,
    /// Requests to the CRM.
    pub calls: u64,
    /// Credits, without the poller's lists.
    pub credits: u64,
    /// Credits of the poller's lists.
    pub lists: u64,
    /// Runs of the poller.
    pub runs: u64,
}

/// Both ways, for sends of one kind.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The driver file whose pacing it is.
    pub driver: &'static str,
    /// How long the sends take.
    pub takes: i64,
    /// Under its backoff.
    pub backoff: Cost,
    /// Under look-ups at every tick.
    pub fixed: Cost,
}

impl Compared {
    /// Whether the backoff costs at most half, in look-ups and in credits.
    pub fn is_at_most_half(&self) -> bool {
        self.backoff.look_ups * 2 <= self.fixed.look_ups
            && self.backoff.credits * 2 <= self.fixed.credits
    }
}

/// How long sends take: an hour, a day, a week.
pub const SPANS: [(i64, &str); 3] = [
    (unit::HOUR, "an hour"),
    (unit::DAY, "a day"),
    (7 * unit::DAY, "a week"),
];

/// Every tick, two minutes apart. The backoff's jitter is a tenth: two minutes and more would miss every
/// other tick, and look cheaper than it is.
fn every_tick(pacing: &Pacing) -> Pacing {
    let interval = SignedDuration::from_secs(100);
    Pacing {
        first: interval,
        every: interval,
        ..pacing.clone()
    }
}

/// What `sends` cost that begin within `over` milliseconds and take `takes`.
fn cost(sends: u64, over: i64, takes: i64, pacing: &Pacing) -> Cost {
    let mut settings = Settings::shipped();
    settings.pacing.letter = pacing.clone();
    settings.has_plain_users = true;
    let end = over + takes + unit::DAY;
    let world = quiet(1, settings, end);
    world.state().api.results = Results::After(takes);
    world.executor.spawn(actors::fire(Arc::clone(&world)));
    for number in 0..sends {
        let begins = Arc::clone(&world);
        let wait = world.state().rng.between(0, over.max(1));
        world.executor.spawn(async move {
            begins.sleep(wait).await;
            actors::sends(begins, number).await;
        });
    }
    world.executor.run(|now| now >= end);
    world.executor.clear();
    let totals: Totals = world.state().totals.clone();
    let lists = [Call::List, Call::Count].map(|call| totals.credits_for(Kind::Poller, call));
    let lists = lists.iter().sum();
    Cost {
        sends,
        look_ups: totals.look_ups,
        calls: totals.calls() - lists,
        credits: totals.credits() - lists,
        lists,
        runs: totals.runs,
    }
}

/// One send of each span under the pacing of each driver file that waits that long.
pub fn single() -> Vec<Compared> {
    let mut all = Vec::new();
    for (takes, _) in SPANS {
        for (driver, pacing) in shipped_pacings() {
            if crate::sim::millis_in(pacing.give_up) > takes {
                all.push(compare(driver, &pacing, 1, 1, takes));
            }
        }
    }
    all
}

/// Many sends of each span within a day.
pub fn dense() -> Vec<Compared> {
    let sends = [
        ("telnyx-fax", 300),
        ("resend-mail", 300),
        ("lob-letter", 60),
    ];
    let spans = SPANS.iter().zip(sends);
    let dense = spans.filter_map(|((takes, _), (name, sends))| {
        let mut pacings = shipped_pacings().into_iter();
        let (driver, pacing) = pacings.find(|(driver, _)| *driver == name)?;
        Some(compare(driver, &pacing, sends, unit::DAY, *takes))
    });
    dense.collect()
}

fn compare(driver: &'static str, pacing: &Pacing, sends: u64, over: i64, takes: i64) -> Compared {
    Compared {
        driver,
        takes,
        backoff: cost(sends, over, takes, pacing),
        fixed: cost(sends, over, takes, &every_tick(pacing)),
    }
}

/// What a poller with nothing to do costs in a day.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    /// Its runs: one list each.
    pub runs: u64,
    /// Its other lists and counts: rows that nobody wrote for a day, states that nobody knows.
    pub extra: u64,
}

/// A day of a poller with nothing to do.
pub fn idle_day() -> Idle {
    let idle = cost(0, 0, 0, &Settings::shipped().pacing.letter);
    Idle {
        runs: idle.runs,
        extra: idle.lists - idle.runs,
    }
}

/// The table of these. In these worlds the CRM refuses nothing, so that a call is a credit: one column for both.
pub fn table(all: &[Compared]) -> String {
    let mut text = String::from(
        "takes    driver       sends    look-ups for each send   CRM calls (= credits)    credits, backoff
                                backoff  every tick     backoff  every tick     / every tick
",
    );
    for one in all {
        let span = SPANS.iter().find(|(takes, _)| *takes == one.takes);
        let span = span.map_or("", |(_, span)| span);
        let of = |cost: &Cost, n| per(n, cost.sends);
        let (a, b) = (&one.backoff, &one.fixed);
        let line = format!(
            "{span:<8} {:<12} {:>5}    {:>8}    {:>8}    {:>8}    {:>8}           {:>6}\n",
            one.driver,
            a.sends,
            of(a, a.look_ups),
            of(b, b.look_ups),
            of(a, a.credits),
            of(b, b.credits),
            per_fine(a.credits, b.credits),
        );
        text.push_str(&line);
    }
    text
}

/// Whether every call cost a credit, as the table says.
pub fn calls_are_credits(all: &[Compared]) -> bool {
    let mut costs = all.iter().flat_map(|one| [one.backoff, one.fixed]);
    costs.all(|cost| cost.calls == cost.credits)
}
