//! That the poller is ticked as the stack says, and did its work.

use jiff::{SignedDuration, Timestamp};

use super::check::Check;
use super::stack::Stack;
use crate::aws::{Aws, Names};
use crate::output::relative;
use crate::schedule::{Rate, Run, Tick};

/// The schedule: it ticks, at the rate the poller was told, and never again for the same tick.
pub(super) async fn schedule(aws: &Aws, names: &Names, stack: &Stack) -> Check {
    const NAME: &str = "schedule ticks";
    let tick = match Tick::read(aws, names).await {
        Ok(tick) => tick,
        Err(failure) => return Check::failed(NAME, "it cannot be read", failure.message),
    };
    let expression = tick.expression();
    if !tick.is_enabled() {
        if stack.parameter("Polling") == "DISABLED" {
            let advice = "the stack says so (Polling=DISABLED); nothing is looked up";
            return Check::skipped(NAME, "disabled", advice);
        }
        let advice =
            "`sendtrail schedule show` says who paused it and why; `sendtrail schedule resume`";
        return Check::failed(NAME, "disabled", advice);
    }
    let minutes = stack.parameter("PollIntervalMinutes");
    let told = Rate::of_expression(expression).map(|rate| rate.minutes().to_string());
    if told.as_deref() != Some(minutes) {
        let found = format!("{expression}, and the poller was told {minutes} minutes");
        let advice = "set PollIntervalMinutes to what you want, and deploy";
        return Check::failed(NAME, found, advice);
    }
    match tick.retries() {
        (Some(0), Some(60)) => Check::ok(NAME, format!("{expression}, 0 retries, 60 s of age")),
        (attempts, age) => {
            let number =
                |number: Option<i32>| number.map_or("the default".to_owned(), |n| n.to_string());
            let found = format!("retries: {}, age: {}", number(attempts), number(age));
            let advice = "they must be 0 and 60: deploy the template again";
            Check::failed(NAME, found, advice)
        }
    }
}

/// The last run: not long ago, and no failure.
pub(super) async fn last_run(aws: &Aws, names: &Names, stack: &Stack, now: Timestamp) -> Check {
    const NAME: &str = "last run of the poller";
    let run = match Run::newest(aws, names, now).await {
        Ok(Some(run)) => run,
        Ok(None) => {
            let advice = "wait for two ticks after a first deploy, or `sendtrail schedule run-now`";
            return Check::failed(NAME, "there is none", advice);
        }
        Err(failure) => return Check::failed(NAME, "it cannot be found out", failure.message),
    };
    let when = relative(now, run.at);
    if run.has_failed() {
        let kind = run.text("error_type").unwrap_or("no error type");
        let found = format!("{when}, failed: {kind}");
        return Check::failed(NAME, found, "the poller's log tells more");
    }
    let minutes = stack.parameter("PollIntervalMinutes").parse().unwrap_or(2);
    if now.duration_since(run.at) > most_age(minutes) && stack.parameter("Polling") != "DISABLED" {
        let advice = "the schedule ticks and the poller does not run: read the alarms and the two dead-letter queues";
        return Check::failed(NAME, when, advice);
    }
    Check::ok(NAME, when)
}

/// Two ticks, and a slow start.
fn most_age(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes.saturating_mul(2).saturating_add(3))
}
