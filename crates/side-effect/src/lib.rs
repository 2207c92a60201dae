#![doc = include_str!("../README.md")]

mod answer;
mod app;
mod limit;
mod press;
mod start;

pub use app::{App, Handled, Used};
pub use start::{Seal, System, run, start};

#[cfg(test)]
mod tests;
