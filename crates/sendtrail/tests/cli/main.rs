//! Drives the built command as people and scripts do.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where and why"
)]

mod config;
mod fake_aws;
mod help;
mod history;
mod operate;
mod schedule;
mod sign;
mod smoke;
mod support;
mod verify;
mod zoho_check;
