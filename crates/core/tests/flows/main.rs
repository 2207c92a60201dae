//! The flows over a store in memory, scripted drivers and a clock that jumps: what each promises, and what
//! it must not do.
#![cfg(test)]

mod common;
mod confirm;
mod copies;
mod look_up;
mod operate;
mod poll;
mod poll_fairness;
mod poll_rows;
mod properties;
mod record;
mod record_outcome;
mod save;
mod submit;
mod submit_refused;
mod sweep;
mod time_limits;
mod twins;
mod wake;
