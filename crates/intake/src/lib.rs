#![doc = include_str!("../README.md")]

mod app;
mod confirm;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod preview;
mod refusals;
mod save;
mod start;
mod trace;

pub use app::{App, Crm, Settings, World};
pub use start::{Intake, Recipe, Seal, run, start};

#[cfg(test)]
mod tests;
