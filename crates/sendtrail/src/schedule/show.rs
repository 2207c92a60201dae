//! `schedule show`: whether it ticks, how often, and what the last run did.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::pause::Pause;
use super::rate::Rate;
use super::runs::Run;
use crate::output::{Paint, Screen, instant, json_line, plain};

/// What is known of the schedule.
#[derive(Debug)]
pub(super) struct Shown<'a> {
    pub(super) name: &'a str,
    pub(super) region: &'a str,
    pub(super) enabled: bool,
    pub(super) expression: &'a str,
    pub(super) rate: Option<Rate>,
    pub(super) pause: Option<Pause>,
    /// The last run, or why it cannot be told.
    pub(super) last: Result<Option<Run>, String>,
}

impl Shown<'_> {
    fn run(&self) -> Option<&Run> {
        self.last.as_ref().ok()?.as_ref()
    }

    /// When the next run comes, as the last one and the rate have it: AWS does not tell.
    fn next(&self) -> Option<Timestamp> {
        let last = self.run().filter(|_| self.enabled)?;
        last.at.saturating_add(self.rate?.interval()).ok()
    }

    /// Whether the last run is longer ago than two ticks and a slow start explain.
    fn is_late(&self, now: Timestamp) -> bool {
        let slack = SignedDuration::from_mins(3);
        let late = self
            .next()
            .zip(self.rate)
            .and_then(|(next, rate)| next.saturating_add(rate.interval() + slack).ok());
        late.is_some_and(|late| now > late)
    }

    pub(super) fn json(&self, now: Timestamp) -> String {
        let time = |at: Timestamp| at.to_string();
        json_line(&json!({
            "schedule": self.name,
            "region": self.region,
            "enabled": self.enabled,
            "expression": self.expression,
            "paused": self.pause.as_ref().map(|pause| json!({
                "since": time(pause.since), "by": pause.by, "reason": pause.reason,
            })),
            "last_run": self.run().map(|run| json!({"at": time(run.at), "report": run.line})),
            "last_run_unknown": self.last.as_ref().err(),
            "next_run_about": self.next().map(time),
            "late": self.is_late(now),
        }))
    }

    pub(super) fn text(&self, screen: Screen, now: Timestamp) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<9} {value}");
        };
        line(
            "schedule",
            &format!("{} in {}", plain(self.name), self.region),
        );
        line("state", &self.state(screen, now));
        let rate = self.rate.map(|rate| rate.to_string());
        line("rate", &rate.unwrap_or_else(|| plain(self.expression)));
        match &self.last {
            Err(why) => line("last run", &format!("not known: {why}")),
            Ok(None) => line("last run", "none in the last two weeks of the log"),
            Ok(Some(run)) => {
                let took = run.number("duration_ms").unwrap_or_default() / 1_000.0;
                let at = instant(now, run.at);
                line("last run", &format!("{at}, took {took:.1} s"));
                line("report", &report(run, screen));
            }
        }
        if let Some(next) = self.next() {
            let late = if self.is_late(now) {
                let text = "; LATE: see the alarms poller-silent and schedule-silent";
                screen.paint(Paint::Bad, text)
            } else {
                String::new()
            };
            line("next run", &format!("about {}{late}", instant(now, next)));
        }
        text
    }

    fn state(&self, screen: Screen, now: Timestamp) -> String {
        match (&self.pause, self.enabled) {
            (None, true) => screen.paint(Paint::Good, "enabled"),
            (Some(pause), enabled) => {
                let word = if enabled {
                    // Somebody enabled it by other means, such as a deploy.
                    screen.paint(Paint::Good, "enabled; it was paused")
                } else {
                    screen.paint(Paint::Attention, "PAUSED")
                };
                let since = instant(now, pause.since);
                let (by, why) = (plain(&pause.by), plain(&pause.reason));
                format!("{word} since {since} by {by}: {why}")
            }
            (None, false) => {
                let word = screen.paint(Paint::Attention, "DISABLED");
                format!("{word}, but not by this command: see Polling in the template's parameters")
            }
        }
    }
}

/// What a run did, in one line.
fn report(run: &Run, screen: Screen) -> String {
    let counts = run.counts().into_iter();
    let counts: Vec<_> = counts
        .map(|(name, value)| format!("{} {value}", plain(name)))
        .collect();
    if run.has_failed() {
        let kind = plain(run.text("error_type").unwrap_or("no error type"));
        return screen.paint(Paint::Bad, &format!("the run failed: {kind}"));
    }
    if counts.is_empty() {
        "nothing due".to_owned()
    } else {
        counts.join(", ")
    }
}

/// The report of a run that was asked for.
pub(super) fn ran(report: &Value, screen: Screen) -> String {
    if screen.json {
        return json_line(&json!({ "report": report }));
    }
    let counts = report.as_object().into_iter().flatten();
    let counts: Vec<_> = counts
        .filter(|(_, value)| value.as_f64().is_some_and(|number| number != 0.0))
        .map(|(name, value)| format!("{} {value}", plain(name)))
        .collect();
    if counts.is_empty() {
        "the poller ran: nothing due\n".to_owned()
    } else {
        format!("the poller ran: {}\n", counts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Screen = Screen {
        json: false,
        colour: false,
    };

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn shown(enabled: bool, pause: Option<Pause>) -> Shown<'static> {
        let line = json!({"_aws": {}, "function": "poller", "listed": 3, "duration_ms": 1234.0});
        let line = line.as_object().unwrap().clone();
        let at = at("2026-01-01T00:00:00Z");
        Shown {
            name: "sendtrail-prod-poller",
            region: "eu-central-1",
            enabled,
            expression: "rate(2 minutes)",
            rate: Rate::of_expression("rate(2 minutes)"),
            pause,
            last: Ok(Some(Run { at, line })),
        }
    }

    #[test]
    fn a_schedule_that_ticks_is_told_with_its_last_and_its_next_run() {
        let text = shown(true, None).text(SCREEN, at("2026-01-01T00:00:40Z"));
        for line in [
            "schedule  sendtrail-prod-poller in eu-central-1\n",
            "state     enabled\n",
            "rate      about every 2 minutes\n",
            "last run  2026-01-01T00:00:00Z (40 s ago), took 1.2 s\n",
            "report    listed 3\n",
            "next run  about 2026-01-01T00:02:00Z (in 80 s)\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn a_run_that_is_missing_is_late_after_two_ticks_and_not_before() {
        for (now, late) in [
            ("2026-01-01T00:06:59Z", false),
            ("2026-01-01T00:07:01Z", true),
        ] {
            let text = shown(true, None).text(SCREEN, at(now));
            assert_eq!(text.contains("LATE"), late, "{text}");
        }
    }

    #[test]
    fn a_pause_is_told_with_who_and_why_and_has_no_next_run() {
        let pause = Pause::new(at("2026-01-01T00:00:00Z"), "Jo", "the CRM is moved").unwrap();
        let text = shown(false, Some(pause.clone())).text(SCREEN, at("2026-01-01T02:00:00Z"));
        assert!(
            text.contains("PAUSED since 2026-01-01T00:00:00Z (2 h ago) by Jo: the CRM is moved"),
            "{text}"
        );
        assert!(
            !text.contains("next run") && !text.contains("LATE"),
            "{text}"
        );
        let text = shown(false, None).text(SCREEN, at("2026-01-01T02:00:00Z"));
        assert!(text.contains("not by this command"), "{text}");
        let json = shown(false, Some(pause)).json(at("2026-01-01T02:00:00Z"));
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["paused"]["by"], "Jo");
        assert_eq!(json["next_run_about"], Value::Null);
        assert_eq!(json["last_run"]["report"]["listed"], 3);
    }

    #[test]
    fn a_failed_run_and_a_log_that_cannot_be_read_are_told() {
        let mut failed = shown(true, None);
        let line =
            json!({"_aws": {}, "function": "poller", "run_failed": 1, "error_type": "Poll.X"});
        if let Ok(Some(run)) = &mut failed.last {
            run.line = line.as_object().unwrap().clone();
        }
        let text = failed.text(SCREEN, at("2026-01-01T00:00:40Z"));
        assert!(text.contains("the run failed: Poll.X"), "{text}");
        failed.last = Err("no".to_owned());
        let text = failed.text(SCREEN, at("2026-01-01T00:00:40Z"));
        assert!(text.contains("not known: no"), "{text}");
    }
}
