#![doc = include_str!("../README.md")]

pub mod action;
pub mod actor;
mod alone;
mod apply;
pub mod config;
mod edit;
pub mod explore;
pub mod graph;
pub mod job;
pub mod model;
pub mod mutation;
pub mod replay;
pub mod rules;
pub mod seen;
mod serve;
pub mod setup;
mod show;
pub mod state;
#[cfg(test)]
mod tests;
pub mod watch;
