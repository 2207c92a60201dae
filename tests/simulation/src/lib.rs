#![doc = include_str!("../README.md")]

pub mod actors;
pub mod api;
pub mod checker;
pub mod cost;
pub mod crm;
pub mod fairness;
mod floors;
pub mod function;
pub mod many;
pub mod report;
pub mod run;
pub mod sim;
pub mod totals;
