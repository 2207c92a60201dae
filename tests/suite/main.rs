//! Acceptance tests: they read the repository and drive the real binaries.
//!
//! Those that need the binaries are run by `cargo xtask test`, which builds them first.
#![expect(clippy::unwrap_used, reason = "test code")]

mod binaries;
mod documents;
mod doors;
mod doubts;
mod graph;
mod local_stack;
mod logging;
mod scenarios;
mod shared_token;
mod stack;
mod standard_webhooks;
