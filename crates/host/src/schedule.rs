//! The schedule: it calls a function at a fixed rate, as EventBridge Scheduler does with no retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::environment::{ACCOUNT, REGION};
use crate::function::Function;
use crate::invoke::{InvokeError, request_id};
use crate::stats::count;

/// A rate at which a function is called.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The schedule's name, told to the function through `<aws.scheduler.schedule-arn>`.
    pub name: String,
    /// The function to call.
    pub function: String,
    /// The time between two calls, above zero; the first comes after one such time.
    pub every: Duration,
    /// The payload. `<aws.scheduler.scheduled-time>`, `…schedule-arn>`, `…execution-id>` and `…attempt-number>`
    /// are replaced in its text, as AWS does.
    pub input: Value,
}

/// What became of a schedule's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleCounts {
    /// Calls asked for, by the clock or by hand.
    pub fired: u64,
    /// Calls that the function answered.
    pub succeeded: u64,
    /// Calls dropped because the reserved concurrency was used up.
    pub throttled: u64,
    /// Calls that ended in any other error.
    pub failed: u64,
}

struct Shared {
    function: Arc<Function>,
    schedule: Schedule,
    paused: AtomicBool,
    fired: AtomicU64,
    succeeded: AtomicU64,
    throttled: AtomicU64,
    failed: AtomicU64,
}

/// Steers a schedule. Dropping it leaves the schedule running; it ends with the host.
#[derive(Clone)]
pub struct ScheduleHandle {
    shared: Arc<Shared>,
}

/// A call on its way. Dropping it does not stop the call.
pub struct Firing {
    task: JoinHandle<Result<Bytes, InvokeError>>,
}

impl Firing {
    /// Waits for the end of the call. A real schedule never learns it; tests want to.
    pub async fn done(self) -> Result<Bytes, InvokeError> {
        self.task
            .await
            .unwrap_or_else(|error| Err(InvokeError::Crashed(error.to_string())))
    }
}

impl ScheduleHandle {
    pub(crate) fn start(function: Arc<Function>, schedule: Schedule) -> (Self, AbortHandle) {
        let every = schedule.every;
        let shared = Arc::new(Shared {
            function,
            schedule,
            paused: AtomicBool::new(false),
            fired: AtomicU64::new(0),
            succeeded: AtomicU64::new(0),
            throttled: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        });
        let handle = Self { shared };
        let ticking = handle.clone();
        let clock = tokio::spawn(async move {
            let mut ticks = interval_at(Instant::now() + every, every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                ticks.tick().await;
                if !ticking.shared.paused.load(Ordering::SeqCst) {
                    ticking.fire_now();
                }
            }
        });
        (handle, clock.abort_handle())
    }

    /// Calls the function now, beside the clock and also when paused. Returns at once.
    pub fn fire_now(&self) -> Firing {
        count(&self.shared.fired);
        let shared = Arc::clone(&self.shared);
        let task = tokio::spawn(async move {
            let id = request_id();
            let payload = input(&shared.schedule, Timestamp::now(), &id);
            let reply = shared.function.invoke(id, Bytes::from(payload)).await;
            let counter = match &reply {
                Ok(_) => &shared.succeeded,
                Err(InvokeError::Throttled) => &shared.throttled,
                Err(_) => &shared.failed,
            };
            count(counter);
            reply
        });
        Firing { task }
    }

    /// Calls the function twice at the same moment, as a schedule that fires a tick twice.
    pub fn fire_twice_at_once(&self) -> [Firing; 2] {
        [self.fire_now(), self.fire_now()]
    }

    /// Stops the clock's calls until [`ScheduleHandle::resume`].
    pub fn pause(&self) {
        self.shared.paused.store(true, Ordering::SeqCst);
    }

    /// Lets the clock call again.
    pub fn resume(&self) {
        self.shared.paused.store(false, Ordering::SeqCst);
    }

    /// What became of the calls so far.
    pub fn counts(&self) -> ScheduleCounts {
        let get = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        ScheduleCounts {
            fired: get(&self.shared.fired),
            succeeded: get(&self.shared.succeeded),
            throttled: get(&self.shared.throttled),
            failed: get(&self.shared.failed),
        }
    }
}

fn input(schedule: &Schedule, at: Timestamp, execution_id: &str) -> String {
    let arn = format!(
        "arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{}",
        schedule.name
    );
    let time = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    schedule
        .input
        .to_string()
        .replace("<aws.scheduler.scheduled-time>", &time)
        .replace("<aws.scheduler.schedule-arn>", &arn)
        .replace("<aws.scheduler.execution-id>", execution_id)
        .replace("<aws.scheduler.attempt-number>", "1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_placeholders_of_the_input_are_filled_in() {
        let schedule = Schedule {
            name: "tick".into(),
            function: "poller".into(),
            every: Duration::from_mins(2),
            input: json!({"v": 1, "at": "<aws.scheduler.scheduled-time>", "by": "<aws.scheduler.schedule-arn>",
                "id": "<aws.scheduler.execution-id>", "try": "<aws.scheduler.attempt-number>"}),
        };
        let text = input(&schedule, "2026-01-01T00:00:00Z".parse().unwrap(), "e-1");
        let read: Value = serde_json::from_str(&text).unwrap();
        let arn = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/tick";
        assert_eq!(
            read,
            json!({"v": 1, "at": "2026-01-01T00:00:00Z", "by": arn, "id": "e-1", "try": "1"})
        );
    }
}
