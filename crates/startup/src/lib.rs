#![doc = include_str!("../README.md")]

mod config;
mod drivers;
mod environment;
mod error;
mod function;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod instance;
mod keys;
pub mod lambda;
mod logs;
mod metrics;
mod read;
mod rotation;
mod secrets;
mod system;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use config::{Config, Documents, Intake, Poller, SideEffect, SigningKey, Wake};
pub use drivers::DriverFile;
pub use environment::{CONFIG_VARIABLE, Environment, OVERRIDE_PREFIX};
pub use error::StartError;
pub use function::Function;
pub use instance::{Instance, Recipe};
pub use keys::{SAMPLE, asked_keys, table_differences};
pub use logs::{Logs, logs_to};
pub use metrics::{MetricsLine, Unit};
pub use read::load;
pub use rotation::Rotation;
pub use secrecy::{ExposeSecret, SecretString};
pub use secrets::{SecretMistake, SecretStore, Secrets};
pub use system::{OsRandom, SystemClock, SystemWorld, tls};
