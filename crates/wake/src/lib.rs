#![doc = include_str!("../README.md")]

mod slot;
mod wake_ups;

pub use sendtrail_aws::{AccountError, AwsError};
pub use slot::{SLOT, Slot, is_worth_it};
pub use wake_ups::{Place, TIME, WakeUp, WakeUps};
