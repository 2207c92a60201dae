//! Text of queries. Only validated names, ids, states and times get in: nothing a person can type.

use std::fmt;

use jiff::Timestamp;

use crate::body;

/// A condition, with its brackets paired two by two as the CRM demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition(String);

impl Condition {
    /// `name` compared with a quoted value.
    pub(crate) fn compare(name: &str, operator: &str, value: &str) -> Self {
        Self(format!("{name} {operator} '{value}'"))
    }

    /// `name` compared with an instant, in whole seconds.
    pub(crate) fn time(name: &str, operator: &str, at: Timestamp) -> Self {
        Self::compare(name, operator, &body::time(at))
    }

    /// `name` is empty.
    pub(crate) fn empty(name: &str) -> Self {
        Self(format!("{name} is null"))
    }

    /// `name` is not empty.
    pub(crate) fn not_empty(name: &str) -> Self {
        Self(format!("{name} is not null"))
    }

    /// `name` is one of these values.
    pub(crate) fn one_of(name: &str, values: &[&str]) -> Self {
        Self(format!("{name} in ({})", quoted(values)))
    }

    /// `name` is none of these values; whether it may be empty is for the CRM to say.
    pub(crate) fn none_of(name: &str, values: &[&str]) -> Self {
        Self(format!("{name} not in ({})", quoted(values)))
    }

    /// Both.
    pub(crate) fn and(self, other: &Self) -> Self {
        Self(format!("({self} and {other})"))
    }

    /// Either.
    pub(crate) fn or(self, other: &Self) -> Self {
        Self(format!("({self} or {other})"))
    }
}

fn quoted(values: &[&str]) -> String {
    let values: Vec<_> = values.iter().map(|v| format!("'{v}'")).collect();
    values.join(",")
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The credits a query with this limit costs.
pub(crate) fn credits(limit: u32) -> u64 {
    match limit {
        0..=200 => 1,
        201..=1_000 => 2,
        1_001.. => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_pair_two_by_two() {
        let condition = Condition::one_of("S", &["a", "b"])
            .and(&Condition::empty("N").or(&Condition::compare("I", ">", "7")))
            .and(&Condition::time("D", "<=", Timestamp::UNIX_EPOCH));
        assert_eq!(
            condition.to_string(),
            "((S in ('a','b') and (N is null or I > '7')) and D <= '1970-01-01T00:00:00+00:00')"
        );
    }

    #[test]
    fn the_price_steps_at_the_documented_limits() {
        assert_eq!(
            [1, 200, 201, 1_000, 1_001, 2_000].map(credits),
            [1, 1, 2, 2, 3, 3]
        );
    }
}
