//! Fairness: however many rows are due, and however many of them can never be written, each is visited within
//! a stated number of runs.
//!
//! Core's README states the bound and `place_in_backlog` tells why it holds: every second run works from the
//! front; every fourth takes the next window of a round through the whole backlog. A row never moves back in
//! the order, so that it is met at the latest in the second round, which is `8 * k` runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use sendtrail_core::ids::{ExternalId, HistoryId};
use sendtrail_core::state::State as Delivery;
use sendtrail_core::testing::Row;
use serde_json::{Value, json};

use crate::actors::{self, Ran, poll};
use crate::crm::FOR_EVER;
use crate::run::quiet;
use crate::sim::{Rng, Settings, World, instant, millis_in, millis_of, unit};

/// A backlog and those who work on it.
#[derive(Debug, Clone)]
pub struct Load {
    /// The seed of its chance.
    pub seed: u64,
    /// Rows in flight at the start, all of them due.
    pub rows: u64,
    /// Of a million rows, how many can never be written.
    pub poisoned: u32,
    /// New rows in each run, about.
    pub arrivals: u64,
    /// Rows in a page.
    pub page_rows: u32,
    /// Pages in a run.
    pub max_pages: u32,
    /// Look-ups started in a second; the API answers 429 beyond.
    pub rate_per_second: u32,
    /// The time of a run beyond what its rows need, in seconds.
    pub spare: i64,
    /// Runs that are watched.
    pub runs: u64,
    /// Only each of so many ticks is fired. The bound is promised for 1; for 2, every run starts at the front.
    pub fires_each: i64,
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Visits.
    pub visits: u64,
    /// The most rows that were due at once.
    pub backlog: u64,
    /// The bound for that backlog, in runs.
    pub bound: u64,
    /// The most runs until a due row was visited.
    pub worst: u64,
    /// Half of the due rows were visited within this many runs.
    pub median: u64,
    /// Calls beyond the API's limit.
    pub limited: u64,
    waits: BTreeMap<u64, u64>,
}

/// The most runs until a row that is due is visited.
pub fn bound(backlog: u64, page_rows: u32, max_pages: u32) -> u64 {
    let window = u64::from(page_rows) * u64::from(max_pages.saturating_sub(1).max(1));
    8 * backlog.div_ceil(window).next_power_of_two() + 2
}

impl Load {
    fn settings(&self) -> Settings {
        let mut settings = Settings::shipped();
        let rows = i64::from(self.page_rows) * i64::from(self.max_pages);
        let concurrency = 16;
        // The rate, and the time the slowest answers take.
        let needed = rows * unit::SECOND / i64::from(self.rate_per_second)
            + (rows / concurrency + 1) * 4 * unit::SECOND;
        let poll = &mut settings.poll;
        poll.page_rows = self.page_rows;
        poll.max_pages = self.max_pages;
        poll.rate_per_second = self.rate_per_second;
        poll.concurrency = usize::try_from(concurrency).unwrap_or(1);
        // Lists take their time as well, a second each at most.
        let lists = i64::from(self.max_pages + 2) * unit::SECOND;
        let timeout = needed + lists + self.spare * unit::SECOND + millis_in(poll.reserve);
        settings.poller_timeout = timeout;
        poll.interval = SignedDuration::from_millis(timeout.max(2 * unit::MINUTE));
        // Every row that can be written is due again in the next run.
        let pacing = &mut settings.pacing.letter;
        pacing.first = SignedDuration::from_secs(60);
        pacing.every = SignedDuration::from_secs(60);
        pacing.give_up = SignedDuration::from_hours(24 * 300);
        settings.has_plain_users = true;
        settings
    }

    /// Watches its runs.
    ///
    /// # Errors
    /// What was unfair, in words.
    pub fn watch(&self) -> Result<Seen, String> {
        let template = accepted_row().ok_or("no send was accepted")?;
        let settings = self.settings();
        let interval = millis_in(settings.poll.interval) * self.fires_each;
        let world = quiet(self.seed, settings, 0);
        world.state().api.most_in_a_minute = self.rate_per_second.saturating_mul(60) + 10;
        world.state().visited = Some(Vec::new());
        let mut watch = Watch {
            load: self,
            world: Arc::clone(&world),
            template,
            rng: Rng::new(self.seed),
            rows: 0,
            due_since: BTreeMap::new(),
            backlogs: Vec::new(),
            seen: Seen::default(),
        };
        watch.arrive(self.rows, interval);
        let mut result = Ok(());
        for number in 1..=self.runs {
            let at = i64::try_from(number).unwrap_or(i64::MAX) * interval;
            result = watch.run(at);
            if result.is_err() {
                break;
            }
            let arrivals = watch.rng.below(2 * self.arrivals + 1);
            watch.arrive(arrivals, at + interval);
        }
        world.executor.clear();
        result.map(|()| watch.told())
    }
}

struct Watch<'a> {
    load: &'a Load,
    world: Arc<World>,
    template: Row,
    rng: Rng,
    rows: u64,
    /// The run in which a row that waits was due first.
    due_since: BTreeMap<HistoryId, u64>,
    /// How many rows were due in each run.
    backlogs: Vec<u64>,
    seen: Seen,
}

impl Watch<'_> {
    /// New rows, due at this time at the latest.
    fn arrive(&mut self, rows: u64, due: i64) {
        let world = Arc::clone(&self.world);
        let mut state = world.state();
        for _ in 0..rows {
            self.rows += 1;
            let Ok(id) = ExternalId::parse(&format!("held_{}", self.rows)) else {
                continue;
            };
            let earlier = self.rng.between(0, unit::HOUR);
            let row = like(&self.template, &id, (due - earlier).max(0));
            // In the course of the watch some are delivered and leave.
            let result_at = due + self.rng.between(unit::HOUR, 40 * unit::HOUR);
            state.api.hold(id.clone(), Some(result_at));
            let long_ago = instant(-unit::DAY);
            let history = state.crm.rows.insert(long_ago, row);
            state.checker.holds(&history, &id);
            state.crm.changed(0, &history);
            if self.rng.chance(self.load.poisoned) {
                state.crm.poison(&history, FOR_EVER);
            }
        }
    }

    /// One run of the poller at this time, and what it visited.
    fn run(&mut self, at: i64) -> Result<(), String> {
        let (world, number) = (Arc::clone(&self.world), self.backlogs.len() as u64);
        {
            let state = world.state();
            let due = instant(at);
            let rows = state.crm.rows.rows();
            let due = rows.filter(|(_, row)| {
                let label = row.state.as_deref();
                label == Some(Delivery::Accepted.label())
                    && row.next_check_at.is_none_or(|next| next <= due)
            });
            let mut backlog = 0;
            for (id, _) in due {
                backlog += 1;
                self.due_since.entry(id.clone()).or_insert(number);
            }
            self.backlogs.push(backlog);
            self.seen.backlog = self.seen.backlog.max(backlog);
        }
        let polling = Arc::clone(&world);
        let ran = Arc::new(std::sync::Mutex::new(None));
        let told = Arc::clone(&ran);
        world.executor.spawn(async move {
            polling.sleep(at - polling.now()).await;
            let ran = poll(&polling).await;
            *crate::sim::lock(&told) = Some(ran);
        });
        world.executor.run(|_| false);
        let ran = crate::sim::lock(&ran).take();
        let Some(Ran::Well(report)) = ran else {
            return Err(format!("run {number} was hindered"));
        };
        if report.not_started > 0 {
            return Err(format!("run {number} had no time for its rows: {report}"));
        }
        self.seen.limited += report.api_rate_limited;
        let visited = world
            .state()
            .visited
            .replace(Vec::new())
            .unwrap_or_default();
        if let Some(broken) = world.state().checker.broken() {
            return Err(broken.to_string());
        }
        self.count(visited, number)
    }

    fn count(&mut self, visited: Vec<HistoryId>, number: u64) -> Result<(), String> {
        for id in visited {
            let Some(since) = self.due_since.remove(&id) else {
                continue;
            };
            self.within(&id, since, number)?;
            let runs = number - since + 1;
            self.seen.visits += 1;
            self.seen.worst = self.seen.worst.max(runs);
            *self.seen.waits.entry(runs).or_default() += 1;
        }
        // Those that still wait, the longest.
        let longest = self.due_since.iter().min_by_key(|(_, since)| **since);
        if let Some((id, since)) = longest {
            self.within(id, *since, number)?;
        }
        Ok(())
    }

    fn within(&self, id: &HistoryId, since: u64, number: u64) -> Result<(), String> {
        let from = usize::try_from(since).unwrap_or_default();
        let largest = self.backlogs[from..]
            .iter()
            .max()
            .copied()
            .unwrap_or_default();
        let most = bound(largest, self.load.page_rows, self.load.max_pages);
        let runs = number - since + 1;
        if runs > most {
            return Err(format!(
                "{id} was due in run {since} and not visited by run {number}: {runs} runs, the bound is {most}"
            ));
        }
        Ok(())
    }

    fn told(mut self) -> Seen {
        let half = self.seen.visits.div_ceil(2);
        let mut counted = 0;
        for (runs, count) in &self.seen.waits {
            counted += count;
            if counted >= half {
                self.seen.median = *runs;
                break;
            }
        }
        self.seen.bound = bound(self.seen.backlog, self.load.page_rows, self.load.max_pages);
        self.seen
    }
}

/// A row as an accepted send leaves it.
fn accepted_row() -> Option<Row> {
    let settings = Settings {
        has_plain_users: true,
        ..Settings::shipped()
    };
    let world = quiet(1, settings, 0);
    let sends = actors::sends(Arc::clone(&world), 0);
    world.executor.spawn(sends);
    world.executor.run(|_| false);
    world.executor.clear();
    let state = world.state();
    let mut rows = state.crm.rows.rows();
    let accepted = rows.find(|(_, row)| row.state.as_deref() == Some(Delivery::Accepted.label()));
    accepted.map(|(_, row)| row.clone())
}

/// The row of another send, due at this time.
fn like(template: &Row, id: &ExternalId, due: i64) -> Row {
    let mut row = template.clone();
    let text = row.progress.take().unwrap_or_default();
    let mut progress: Value = serde_json::from_str(&text).unwrap_or_default();
    // Dates in whole seconds, as machines write them.
    let at = instant(due / unit::SECOND * unit::SECOND);
    let deadline = instant(millis_of(at) + 300 * unit::DAY);
    progress["next_check_at"] = json!(at.to_string());
    progress["deadline"] = json!(deadline.to_string());
    progress["submission"]["external_id"] = json!(id.as_str());
    row.progress = Some(progress.to_string());
    row.next_check_at = Some(at);
    row.deadline = Some(deadline);
    row.external_id = Some(id.to_string());
    row.request_key = None;
    row
}
