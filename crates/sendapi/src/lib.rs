#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(any(feature = "submit", feature = "look-up")),
    expect(
        dead_code,
        reason = "without a feature files are only read and checked"
    )
)]

mod address;
#[cfg(any(feature = "submit", feature = "look-up"))]
mod answer;
mod auth;
#[cfg(any(feature = "submit", feature = "look-up"))]
mod body;
#[cfg(feature = "submit")]
mod classify;
mod condition;
mod drivers;
mod file;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
#[cfg(feature = "look-up")]
mod look_up;
mod pick;
mod pointer;
#[cfg(feature = "submit")]
mod prepare;
#[cfg(any(feature = "submit", feature = "look-up"))]
mod retry_after;
#[cfg(feature = "submit")]
mod submit;
mod template;

pub use drivers::{BuildError, Driver, Drivers, Timeouts};
pub use file::{DriverFile, load};
#[cfg(feature = "submit")]
pub use prepare::Prepared;
