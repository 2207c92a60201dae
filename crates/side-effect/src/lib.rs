#![doc = include_str!("../README.md")]

mod answer;
mod app;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod press;
mod start;

pub use app::App;
pub use start::{Seal, run, start};

#[cfg(test)]
mod tests;
