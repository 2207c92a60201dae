#![doc = include_str!("../README.md")]

pub mod crm;
pub mod net;
mod page;
pub mod parameters;
pub mod send_api;
