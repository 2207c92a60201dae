//! The function: one event in, one run, one report and one metrics line out.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{self, PollReport};
use sendtrail_core::policy::PollPolicy;
use sendtrail_core::ports::{
    Clock, GuardedWrite, ListHistory, LookUpDrivers, Metered, Random, Usage,
};
use sendtrail_startup::lambda::{Handled, InvocationError as _};
use sendtrail_startup::{MetricsLine, Rotation, Unit};
use serde_json::{Map, Value};

use crate::failure::RunFailed;
use crate::{tick, warnings};

/// The numbers of the line that are metrics: those that an alarm or the dashboard stands on, and no other. The
/// rest is in the log.
const METRICS: [&str; 14] = [
    "acceptance_unknown",
    "malformed",
    "newer",
    "foreign_states",
    "unrecognised",
    "no_driver",
    "unauthorized",
    "oldest_due_seconds",
    "conflicts_skipped",
    "store_errors",
    "unknown_event",
    "crm_credits_remaining",
    "crm_token_throttled",
    "crm_token_refused",
];

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
}

impl<S, D, W> App<S, D, W>
where
    S: ListHistory + GuardedWrite + Metered,
    D: LookUpDrivers,
    W: Clock + Random,
{
    /// Runs once, whatever the event is. `deadline` is the end of the invocation. The response is the report
    /// as JSON, every count by its name; an error where the run could not happen.
    pub async fn handle(
        &self,
        event: &str,
        deadline: Timestamp,
    ) -> Handled<Result<Value, RunFailed>> {
        let started = self.world.now();
        let before = self.store.usage();
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
            metrics = metrics.count(name, usize::try_from(value).unwrap_or(usize::MAX));
        }
        warnings::log(&report);
        let after = self.store.usage();
        let rotation = Rotation::seen(false, before, after, report.unauthorized > 0);
        let response = result.map(|report| as_json(&report, is_unknown));
        Handled::new(response, metrics).with_rotation(rotation)
    }

    fn metrics(&self, started: Timestamp, before: Usage) -> MetricsLine {
        let duration = self.world.now().duration_since(started);
        MetricsLine::new("poller", &self.policy.stage)
            .declaring(&METRICS)
            .count("runs", 1)
            .metric("duration_ms", milliseconds(duration), Unit::Milliseconds)
            .crm_usage(before, self.store.usage())
    }
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
