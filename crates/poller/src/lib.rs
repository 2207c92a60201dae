#![doc = include_str!("../README.md")]

mod app;
mod failure;
mod start;
mod tick;
mod warnings;

pub use app::App;
pub use failure::RunFailed;
pub use start::{Live, Recipe, run, start};

#[cfg(test)]
mod tests;
