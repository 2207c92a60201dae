//! Access tokens: one refresh at a time, as few as possible, and none while the CRM refuses them.

mod answer;
mod cache;
mod source;

#[cfg(feature = "fuzzing")]
pub(crate) use answer::read;
pub use cache::{AccessToken, CacheFuture, FileTokenCache, NoTokenCache, TokenCache};
pub(crate) use source::{Live, Tokens};
