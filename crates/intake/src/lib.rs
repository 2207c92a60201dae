#![doc = include_str!("../README.md")]

mod app;
mod confirm;
mod preview;
mod refusals;
mod save;
mod service;
mod start;
mod trace;

pub use app::{App, Crm, Handled, Settings, Usage, World};
pub use service::serve;
pub use start::{Intake, Seal, run, start};

#[cfg(test)]
mod tests;
