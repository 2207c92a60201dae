//! The CRM over HTTP: one test per rule.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod control;
mod coql;
mod doubts;
mod durability;
mod faults;
mod fields;
mod files;
mod guard;
mod limits;
mod page;
mod records;
mod support;
mod tokens;
