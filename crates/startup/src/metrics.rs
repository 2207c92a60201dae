//! One line of metrics for each invocation, in CloudWatch's embedded metric format.

use std::io::{self, Write as _};

use jiff::Timestamp;
use sendtrail_core::ports::Usage;
use serde_json::{Map, Value, json};

/// The longest property text, in bytes.
const MAX_PROPERTY: usize = 1024;

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Thousandths of a second.
    Milliseconds,
    /// Bytes.
    Bytes,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::Count => "Count",
            Self::Milliseconds => "Milliseconds",
            Self::Bytes => "Bytes",
        }
    }
}

/// The metrics of one invocation. The dimensions are the function and the stage and nothing else: every new
/// value of a dimension is a new metric, so text from outside must never become one.
///
/// Every number is in the line and can be asked for in the log. A metric for alarms, which is paid for by the
/// month, becomes of it only what the function declares.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsLine {
    function: &'static str,
    stage: String,
    declared: &'static [&'static str],
    metrics: Vec<(&'static str, f64, Unit)>,
    properties: Vec<(&'static str, String)>,
}

impl MetricsLine {
    /// A line without numbers yet, of which nothing is declared.
    pub fn new(function: &'static str, stage: &str) -> Self {
        Self {
            function,
            stage: stage.to_owned(),
            declared: &[],
            metrics: Vec::new(),
            properties: Vec::new(),
        }
    }

    /// Declares which of the line's numbers are metrics.
    #[must_use]
    pub fn declaring(mut self, names: &'static [&'static str]) -> Self {
        self.declared = names;
        self
    }

    /// Adds a count. A later value of the same name replaces an earlier one.
    #[must_use]
    pub fn count(self, name: &'static str, value: usize) -> Self {
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        self.metric(name, f64::from(value), Unit::Count)
    }

    /// Adds what was asked of the CRM between `before` and `after`, whether it gave no token, and what it last
    /// said is left of the day's credits.
    #[must_use]
    pub fn crm_usage(self, before: Usage, after: Usage) -> Self {
        let more = |count: fn(&Usage) -> u64| count(&after).saturating_sub(count(&before));
        let any = |count: fn(&Usage) -> u64| more(count).min(1);
        let asked = [
            ("crm_calls", more(|usage| usage.calls)),
            ("crm_credits", more(|usage| usage.credits)),
            ("crm_token_requests", more(|usage| usage.token_requests)),
            ("crm_token_throttled", any(|usage| usage.token_throttled)),
            ("crm_token_refused", any(|usage| usage.token_refused)),
        ];
        let left = after
            .credits_remaining
            .map(|left| ("crm_credits_remaining", left));
        asked.into_iter().chain(left).fold(self, |line, (name, n)| {
            line.count(name, usize::try_from(n).unwrap_or(usize::MAX))
        })
    }

    /// Adds a number of this unit; values that are no finite number are left out.
    #[must_use]
    pub fn metric(mut self, name: &'static str, value: f64, unit: Unit) -> Self {
        if value.is_finite() {
            self.metrics.retain(|(known, _, _)| *known != name);
            self.metrics.push((name, value, unit));
        }
        self
    }

    /// Adds a text that can be searched for but is no dimension. Long text is cut at 1 KiB.
    #[must_use]
    pub fn property(mut self, name: &'static str, value: &str) -> Self {
        let end = value.floor_char_boundary(MAX_PROPERTY);
        self.properties.push((name, value[..end].to_owned()));
        self
    }

    /// The line, without its line end.
    pub fn render(&self, now: Timestamp) -> String {
        let declared: Vec<Value> = self
            .metrics
            .iter()
            .filter(|(name, _, _)| self.declared.contains(name))
            .map(|(name, _, unit)| json!({"Name": name, "Unit": unit.name()}))
            .collect();
        let mut line = Map::new();
        line.insert(
            "_aws".into(),
            json!({
                "Timestamp": now.as_millisecond(),
                "CloudWatchMetrics": [{
                    "Namespace": "Sendtrail",
                    "Dimensions": [["function", "stage"]],
                    "Metrics": declared,
                }],
            }),
        );
        line.insert("function".into(), self.function.into());
        line.insert("stage".into(), self.stage.clone().into());
        for (name, value, _) in &self.metrics {
            line.entry(*name).or_insert_with(|| number(*value));
        }
        for (name, value) in &self.properties {
            line.entry(*name).or_insert_with(|| value.clone().into());
        }
        Value::Object(line).to_string()
    }

    /// Writes the line to standard output, from where Lambda takes it. Once for each invocation.
    pub fn emit(&self, now: Timestamp) {
        let line = self.render(now) + "\n";
        // A closed standard output must not fail work that is already done.
        let _ = io::stdout().lock().write_all(line.as_bytes());
    }
}

/// Whole numbers are written without `.0`.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a whole number below 2^53 fits"
        )]
        return Value::from(value as i64);
    }
    Value::from(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(line: &MetricsLine) -> Value {
        let text = line.render(Timestamp::from_millisecond(1_700_000_000_123).unwrap());
        assert!(!text.contains('\n'));
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_line_holds_every_number_and_declares_those_it_is_told_to() {
        let line = MetricsLine::new("poller", "prod")
            .declaring(&["Scanned", "Duration", "NotInThisLine"])
            .count("Scanned", 3)
            .count("Skipped", 1)
            .metric("Duration", 12.5, Unit::Milliseconds)
            .property("tick", "41");
        assert_eq!(
            rendered(&line),
            json!({
                "_aws": {"Timestamp": 1_700_000_000_123_u64, "CloudWatchMetrics": [{
                    "Namespace": "Sendtrail",
                    "Dimensions": [["function", "stage"]],
                    "Metrics": [{"Name": "Scanned", "Unit": "Count"}, {"Name": "Duration", "Unit": "Milliseconds"}],
                }]},
                "function": "poller", "stage": "prod", "Scanned": 3, "Skipped": 1, "Duration": 12.5, "tick": "41",
            })
        );
    }

    #[test]
    fn text_from_outside_replaces_neither_dimension_nor_metric() {
        let line = MetricsLine::new("intake", "prod")
            .property("function", "evil")
            .property("stage", "evil")
            .property("_aws", "evil")
            .property("Refused", "evil\n{}")
            .declaring(&["Refused", "function", "stage"])
            .count("Refused", 1);
        let value = rendered(&line);
        assert_eq!(value["function"], "intake");
        assert_eq!(value["stage"], "prod");
        assert_eq!(value["Refused"], 1);
        assert_eq!(
            value["_aws"]["CloudWatchMetrics"][0]["Dimensions"],
            json!([["function", "stage"]])
        );
        assert_eq!(
            value["_aws"]["CloudWatchMetrics"][0]["Metrics"],
            json!([{"Name": "Refused", "Unit": "Count"}])
        );
    }

    #[test]
    fn the_crm_is_told_as_a_difference_and_its_credits_as_they_are() {
        let before = Usage {
            calls: 10,
            credits: 20,
            token_requests: 1,
            credits_remaining: Some(4_003),
            ..Usage::default()
        };
        let after = Usage {
            calls: 12,
            credits: 23,
            token_requests: 1,
            token_throttled: 2,
            credits_remaining: Some(4_000),
            ..Usage::default()
        };
        let value = rendered(&MetricsLine::new("intake", "prod").crm_usage(before, after));
        assert_eq!(
            value["crm_token_throttled"], 1,
            "it says whether, not how often"
        );
        assert_eq!(value["crm_token_refused"], 0);
        assert_eq!(value["crm_calls"], 2);
        assert_eq!(value["crm_credits"], 3);
        assert_eq!(value["crm_token_requests"], 0);
        assert_eq!(value["crm_credits_remaining"], 4_000);
        let silent = Usage {
            credits_remaining: None,
            ..after
        };
        let value = rendered(&MetricsLine::new("intake", "prod").crm_usage(after, silent));
        assert_eq!(value["crm_calls"], 0);
        assert!(value.get("crm_credits_remaining").is_none());
    }

    #[test]
    fn values_that_are_no_number_are_left_out_and_repeats_replace() {
        let line = MetricsLine::new("intake", "prod")
            .metric("A", f64::NAN, Unit::Bytes)
            .count("B", 1)
            .count("B", 2)
            .property("long", &"é".repeat(2000));
        let value = rendered(&line);
        assert!(value.get("A").is_none());
        assert_eq!(value["B"], 2);
        assert!(value["long"].as_str().unwrap().len() <= MAX_PROPERTY);
    }
}
