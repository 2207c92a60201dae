#![doc = include_str!("../README.md")]

mod answer;
mod body;
pub mod check;
mod config;
mod coql;
mod created;
mod fault;
mod files;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod http;
mod list;
mod probe;
mod recent;
mod record;
mod store;
mod token;
mod usage;
mod versions;

pub use config::{Config, Fields, RefreshTokens, Secrets};
pub use list::Cursor;
pub use recent::Recent;
pub use store::{BuildError, Zoho};
pub use token::{
    AccessToken, CacheFuture, FileTokenCache, NoTokenCache, Opener, ParameterTokenCache,
    TokenCache, TokenPlace, Turn,
};
