//! The function: one event in, one run, one report and one metrics line out.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{self, PollReport};
use sendtrail_core::policy::PollPolicy;
use sendtrail_core::ports::{Clock, GuardedWrite, ListHistory, LookUpDrivers, Random};
use sendtrail_startup::{MetricsLine, Unit};
use serde_json::{Map, Value};

use crate::failure::RunFailed;
use crate::{tick, warnings};

/// What was asked of the CRM so far, by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Requests to its API.
    pub calls: u64,
    /// Credits these cost.
    pub credits: u64,
    /// Requests to its token endpoint.
    pub token_requests: u64,
    /// Credits left of the day, where the CRM said so.
    pub credits_remaining: Option<u64>,
}

/// The function with everything it works with, built once for a process.
#[derive(Debug)]
pub struct App<S, D, W> {
    /// The store.
    pub store: S,
    /// The drivers.
    pub drivers: D,
    /// Clock and randomness.
    pub world: W,
    /// The settings, with the stage.
    pub policy: PollPolicy,
    /// Reads what was asked of the store.
    pub used: fn(&S) -> Used,
}

/// The report of a run, and the metrics of the invocation for the caller to write.
#[derive(Debug)]
pub struct Handled {
    /// The report as JSON: every count by its name. An error where the run could not happen.
    pub result: Result<Value, RunFailed>,
    /// The metrics line.
    pub metrics: MetricsLine,
}

impl<S, D, W> App<S, D, W>
where
    S: ListHistory + GuardedWrite,
    D: LookUpDrivers,
    W: Clock + Random,
{
    /// Runs once, whatever the event is. `deadline` is the end of the invocation.
    pub async fn handle(&self, event: &str, deadline: Timestamp) -> Handled {
        let started = self.world.now();
        let before = (self.used)(&self.store);
        let is_unknown = !tick::is_known(event);
        let run = flows::run(
            &self.store,
            &self.drivers,
            &self.world,
            &self.policy,
            deadline,
        );
        let result = run.await.map_err(RunFailed);
        let mut metrics = self
            .metrics(started, before)
            .count("unknown_event", usize::from(is_unknown))
            .count("run_failed", usize::from(result.is_err()));
        let report = match &result {
            Ok(report) => report.clone(),
            Err(failed) => {
                metrics = metrics.property("error_type", failed.error_type());
                PollReport::default()
            }
        };
        for (name, value) in report.counts() {
            metrics = count(metrics, name, value);
        }
        warnings::log(&report);
        Handled {
            result: result.map(|report| as_json(&report, is_unknown)),
            metrics,
        }
    }

    fn metrics(&self, started: Timestamp, before: Used) -> MetricsLine {
        let after = (self.used)(&self.store);
        let duration = self.world.now().duration_since(started);
        let line = MetricsLine::new("poller", &self.policy.stage)
            .count("runs", 1)
            .metric("duration_ms", milliseconds(duration), Unit::Milliseconds);
        let asked = [
            ("crm_calls", after.calls.saturating_sub(before.calls)),
            ("crm_credits", after.credits.saturating_sub(before.credits)),
            (
                "crm_token_requests",
                after.token_requests.saturating_sub(before.token_requests),
            ),
        ];
        let left = after.credits_remaining;
        asked
            .into_iter()
            .chain(left.map(|left| ("crm_credits_remaining", left)))
            .fold(line, |line, (name, value)| count(line, name, value))
    }
}

fn count(line: MetricsLine, name: &'static str, value: u64) -> MetricsLine {
    line.count(name, usize::try_from(value).unwrap_or(usize::MAX))
}

fn as_json(report: &PollReport, is_unknown: bool) -> Value {
    let counts = report.counts().into_iter();
    let all = counts.chain([("unknown_event", u64::from(is_unknown))]);
    let map: Map<_, _> = all
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    Value::Object(map)
}

/// Milliseconds with their fraction, never below zero.
fn milliseconds(duration: SignedDuration) -> f64 {
    duration.as_millis_f64().max(0.0)
}
