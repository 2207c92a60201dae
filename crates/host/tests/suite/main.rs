//! The host, run with a real process that behaves as each test asks.

mod common;
mod instances;
mod urls;
