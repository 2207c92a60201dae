//! What the poller last did: its newest metrics line in the log.

use aws_sdk_cloudwatchlogs::Client;
use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ports::clock_deadline;
use serde_json::{Map, Value};

use crate::aws::{Aws, Call, Names, failure};
use crate::failure::Failure;

/// How far back is looked, one span after the other, until there is a run: half an hour, a day, two weeks.
const SPANS: [SignedDuration; 3] = [
    SignedDuration::from_mins(30),
    SignedDuration::from_hours(24),
    SignedDuration::from_hours(14 * 24),
];
/// Pages of one span; a page may be empty and not be the last.
const MOST_PAGES: usize = 200;
/// In every metrics line, and in hardly another.
const PATTERN: &str = "\"CloudWatchMetrics\"";

/// One run of the poller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    /// When it ended, in whole seconds.
    pub(crate) at: Timestamp,
    /// Its metrics line.
    pub(crate) line: Map<String, Value>,
}

impl Run {
    /// The newest run in the log of this stage's poller, if there is one.
    pub(crate) async fn newest(
        aws: &Aws,
        names: &Names,
        now: Timestamp,
    ) -> Result<Option<Self>, Failure> {
        let client = Client::new(aws.account.config());
        let mut until = now;
        for span in SPANS {
            let from = clock_deadline(now, -span);
            if let Some(run) = newest_between(aws, &client, names, from, until).await? {
                return Ok(Some(run));
            }
            until = from;
        }
        Ok(None)
    }

    /// Reads a line of the log.
    fn of_line(text: &str, at: i64) -> Option<Self> {
        let line: Map<String, Value> = serde_json::from_str(text).ok()?;
        let is_ours = line.contains_key("_aws") && line.get("function")? == "poller";
        let at = Timestamp::from_second(at.div_euclid(1_000)).ok()?;
        is_ours.then_some(Self { at, line })
    }

    /// Whether the run could not happen.
    pub(crate) fn has_failed(&self) -> bool {
        self.number("run_failed").is_some_and(|failed| failed > 0.0)
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.line.get(name).and_then(Value::as_f64)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.line.get(name).and_then(Value::as_str)
    }

    /// What it did: every count that is not zero.
    pub(super) fn counts(&self) -> Vec<(&str, &Value)> {
        let counts = self.line.iter().filter(|(name, value)| {
            let said_elsewhere = ["runs", "duration_ms"].contains(&name.as_str());
            !said_elsewhere && value.as_f64().is_some_and(|number| number != 0.0)
        });
        counts.map(|(name, value)| (name.as_str(), value)).collect()
    }
}

async fn newest_between(
    aws: &Aws,
    client: &Client,
    names: &Names,
    from: Timestamp,
    until: Timestamp,
) -> Result<Option<Run>, Failure> {
    let group = names.poller_log();
    let mut newest: Option<Run> = None;
    let mut token = None;
    for _ in 0..MOST_PAGES {
        let call = client
            .filter_log_events()
            .log_group_name(&group)
            .filter_pattern(PATTERN)
            .start_time(from.as_millisecond())
            .end_time(until.as_millisecond())
            .set_next_token(token.take());
        let page = call.send().await.map_err(|error| {
            let resource = format!("log group {group}");
            let call = Call {
                action: "logs:FilterLogEvents",
                resource: &resource,
            };
            failure(&error, call, aws)
        })?;
        for event in page.events.unwrap_or_default() {
            let run = event.message.as_deref().zip(event.timestamp);
            let run = run.and_then(|(text, at)| Run::of_line(text, at));
            newest = match (newest, run) {
                (Some(newest), Some(run)) if run.at >= newest.at => Some(run),
                (newest, run) => newest.or(run),
            };
        }
        token = page.next_token;
        if token.is_none() {
            break;
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pollers_own_metrics_lines_are_runs() {
        let line = r#"{"_aws":{"CloudWatchMetrics":[]},"function":"poller","listed":3,"pages":0,"runs":1}"#;
        let run = Run::of_line(line, 1_767_225_600_000).unwrap();
        assert_eq!(run.at.to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(run.counts(), [("listed", &Value::from(3))]);
        assert!(!run.has_failed());
        for other in [
            "START RequestId: 1",
            "{}",
            r#"{"_aws":{},"function":"intake"}"#,
            r#"{"function":"poller","message":"CloudWatchMetrics"}"#,
            "[1]",
        ] {
            assert_eq!(Run::of_line(other, 0), None, "{other}");
        }
    }
}
