//! How often the schedule ticks.

use std::fmt;

use jiff::SignedDuration;
use sendtrail_core::settings::parse_duration;

/// Whole minutes, as the template allows them.
pub(super) const ALLOWED: [i64; 4] = [2, 3, 5, 10];

/// Minutes between two ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate(i64);

impl Rate {
    /// Reads `rate(2 minutes)`.
    pub(crate) fn of_expression(expression: &str) -> Option<Self> {
        let inner = expression.strip_prefix("rate(")?.strip_suffix(')')?;
        let (number, unit) = inner.split_once(' ')?;
        let number: i64 = number.parse().ok().filter(|number| *number > 0)?;
        match unit {
            "minute" | "minutes" => Some(Self(number)),
            "hour" | "hours" => number.checked_mul(60).map(Self),
            _ => None,
        }
    }

    /// As the scheduler takes it.
    pub(super) fn expression(self) -> String {
        format!("rate({} minutes)", self.0)
    }

    /// The time between two ticks.
    pub(super) fn interval(self) -> SignedDuration {
        SignedDuration::from_mins(self.0)
    }

    /// The number of minutes.
    pub(crate) fn minutes(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("about every minute"),
            minutes => write!(f, "about every {minutes} minutes"),
        }
    }
}

/// Reads what a person types: `5m`.
pub(super) fn parse(text: &str) -> Result<Rate, &'static str> {
    const EXPECTED: &str = "expected 2m, 3m, 5m or 10m, as the template allows them";
    let time = parse_duration(text).map_err(|_| EXPECTED)?;
    let minutes = ALLOWED.into_iter();
    minutes
        .map(Rate)
        .find(|rate| rate.interval() == time)
        .ok_or(EXPECTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_template_allows_can_be_set() {
        let template = include_str!("../../../../infra/aws/template.yaml");
        assert!(template.contains(&format!("AllowedValues: {ALLOWED:?}")));
        for minutes in ALLOWED {
            let rate = parse(&format!("{minutes}m")).unwrap();
            assert_eq!(Rate::of_expression(&rate.expression()), Some(rate));
        }
        assert_eq!(parse("120s").unwrap().expression(), "rate(2 minutes)");
        for bad in ["1m", "4m", "15m", "5", "", "0m", "-5m", "5 minutes"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_expressions_are_no_rate() {
        assert_eq!(Rate::of_expression("rate(1 minute)").unwrap().minutes(), 1);
        assert_eq!(Rate::of_expression("rate(1 hour)").unwrap().minutes(), 60);
        for other in [
            "cron(* * * * ? *)",
            "rate(0 minutes)",
            "rate(x minutes)",
            "rate(2 days)",
            "",
        ] {
            assert_eq!(Rate::of_expression(other), None, "{other}");
        }
    }
}
