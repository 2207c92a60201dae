#![doc = include_str!("../README.md")]

pub mod commit;
pub mod flows;
pub mod ids;
pub mod input;
pub mod policy;
pub mod ports;
pub mod progress;
pub mod record;
pub mod seal;
pub mod settings;
pub mod state;
pub mod text;

#[cfg(feature = "testing")]
pub mod testing;
