//! Where an access token outlives the process that asked for it.

use std::future::{Future, ready};
use std::pin::Pin;

use jiff::Timestamp;
use secrecy::SecretString;
use url::Url;

/// An access token and what came with it.
#[derive(Debug, Clone)]
pub struct AccessToken {
    /// The token: printable ASCII.
    pub token: SecretString,
    /// The API host it is for, where the token endpoint named one: https, or http to this machine.
    pub api_domain: Option<Url>,
    /// From here on another one is asked for.
    pub refresh_at: Timestamp,
    /// From here on it is of no use.
    pub expires_at: Timestamp,
}

/// What a cache answers with.
pub type CacheFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Shares access tokens between processes. Losing it costs a refresh and changes no outcome.
///
/// `key` names the refresh token without being it: lower-case hex of up to 64 digits.
pub trait TokenCache: Send + Sync {
    /// The token stored last under `key`. A cache that fails MUST answer `None`.
    fn load<'a>(&'a self, key: &'a str) -> CacheFuture<'a, Option<AccessToken>>;
    /// Stores the token under `key`. A cache that fails MUST NOT keep the caller from its work.
    fn store<'a>(&'a self, key: &'a str, token: &'a AccessToken) -> CacheFuture<'a, ()>;

    /// Whose turn it is to ask for a token, in place of `refused` if there is one. Called after `load`, and before
    /// every request for a token. Where `may_wait` is false it MUST answer at once, as far as it can. A cache
    /// that fails MUST say `Ask`.
    fn turn<'a>(
        &'a self,
        _key: &'a str,
        _refused: Option<&'a AccessToken>,
        _may_wait: bool,
    ) -> CacheFuture<'a, Turn> {
        Box::pin(ready(Turn::Ask))
    }

    /// The token endpoint refused for too many tokens: nobody should ask for the next ten minutes.
    fn throttled<'a>(&'a self, _key: &'a str) -> CacheFuture<'a, ()> {
        Box::pin(ready(()))
    }
}

/// What a cache says to one who needs another token.
#[derive(Debug, Clone)]
pub enum Turn {
    /// Ask the token endpoint.
    Ask,
    /// Use this one: somebody else asked meanwhile.
    Take(AccessToken),
    /// Somebody was refused for too many tokens; do not ask.
    Throttled,
    /// Somebody else is asking, and the caller may not wait for it.
    Later,
}

impl Turn {
    /// To use a token, or to ask where there is none.
    pub(crate) fn taken(token: Option<AccessToken>) -> Self {
        token.map_or(Self::Ask, Self::Take)
    }
}

/// Keeps nothing: the token lives in the process.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTokenCache;

impl TokenCache for NoTokenCache {
    fn load<'a>(&'a self, _key: &'a str) -> CacheFuture<'a, Option<AccessToken>> {
        Box::pin(ready(None))
    }

    fn store<'a>(&'a self, _key: &'a str, _token: &'a AccessToken) -> CacheFuture<'a, ()> {
        Box::pin(ready(()))
    }
}
