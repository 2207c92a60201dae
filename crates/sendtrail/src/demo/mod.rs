//! The demo: every scenario on a fresh local stack, through the public doors, with the real binaries.
//!
//! Durations are short by configuration; nothing reaches into a clock, and no function knows it is watched.

mod chaos;
mod client;
mod command;
mod list;
mod scenarios;
mod stage;
mod summary;
mod trouble;

pub(crate) use command::{DemoArguments, failure, run};
