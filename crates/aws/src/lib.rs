#![doc = include_str!("../README.md")]

mod account;
mod error;
mod http;
mod parameters;
mod secrets_manager;

pub use account::{Account, AccountError};
pub use error::AwsError;
pub use parameters::{Created, Found, Parameters};
pub use secrets_manager::SecretsManager;
