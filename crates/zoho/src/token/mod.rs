//! Access tokens: one refresh at a time, as few as possible, and none while the CRM refuses them.

mod answer;
mod cache;
mod files;
mod place;
mod shared;
mod source;

#[cfg(feature = "fuzzing")]
pub(crate) use answer::read;
pub use cache::{AccessToken, CacheFuture, NoTokenCache, TokenCache, Turn};
pub use files::FileTokenCache;
pub use place::{Opener, TokenPlace};
pub use shared::ParameterTokenCache;
pub(crate) use source::{Live, Tokens};
