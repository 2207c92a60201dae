#![doc = include_str!("../README.md")]

mod app;
mod failure;
mod start;
mod tick;
mod warnings;

pub use app::{App, Handled, Used};
pub use failure::RunFailed;
pub use start::{System, run, start};

#[cfg(test)]
mod tests;
