#![doc = include_str!("../README.md")]

mod answer;
mod app;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod press;
mod start;
mod wake;
mod wake_ups;

pub use app::App;
pub use start::{Live, Recipe, Seal, run, start};
pub use wake_ups::WakeUps;

#[cfg(test)]
mod tests;
