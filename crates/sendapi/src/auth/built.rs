//! Credentials ready for use, with the values of the secrets in them. Nothing here shows them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use sendtrail_core::settings::SecretRef;

use super::{Auth, Credential};
use crate::drivers::BuildError;

/// What goes with a request to the API.
pub(crate) enum Credentials {
    /// A header that never changes, marked sensitive, so that it prints as `Sensitive`.
    Header(HeaderName, HeaderValue),
    /// A token that is fetched and kept for a while.
    #[cfg(any(feature = "submit", feature = "look-up"))]
    Token(Box<super::token::TokenSource>),
    /// Nothing: the body holds them.
    Body,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header(..) => "Credentials::Header",
            #[cfg(any(feature = "submit", feature = "look-up"))]
            Self::Token(_) => "Credentials::Token",
            Self::Body => "Credentials::Body",
        })
    }
}

impl Auth {
    /// The credentials, with the values that `secret` gives.
    pub(crate) fn build(
        &self,
        driver: &str,
        secret: &impl Fn(&SecretRef) -> Option<SecretString>,
    ) -> Result<Credentials, BuildError> {
        let known = |name: &SecretRef| resolved(driver, name, secret);
        let plain = |credential: &Credential| match credential {
            Credential::Text(text) => Ok(SecretString::from(text.clone())),
            Credential::Secret(name) => known(name),
        };
        let bad = |_| BuildError::Credentials {
            driver: driver.to_owned(),
        };
        match self {
            Self::Basic { user, password } => {
                let value = basic(&plain(user)?, &plain(password)?).map_err(bad)?;
                Ok(Credentials::Header(AUTHORIZATION, value))
            }
            Self::Header {
                name,
                prefix,
                value,
            } => {
                let text = format!("{prefix}{}", known(value)?.expose_secret());
                Ok(Credentials::Header(
                    name.clone(),
                    sensitive(&text).map_err(bad)?,
                ))
            }
            #[cfg(any(feature = "submit", feature = "look-up"))]
            Self::Token(token) => {
                let id = plain(&token.client_id)?;
                let secret = token.secret.as_ref();
                let secret = secret.map(|secret| known(&secret.name)).transpose()?;
                super::token::TokenSource::new(token, &id, secret.as_ref())
                    .map(|source| Credentials::Token(Box::new(source)))
                    .map_err(bad)
            }
            #[cfg(not(any(feature = "submit", feature = "look-up")))]
            Self::Token(_) => Ok(Credentials::Body),
            Self::Body { .. } => Ok(Credentials::Body),
        }
    }
}

type BadHeader = reqwest::header::InvalidHeaderValue;

pub(super) fn basic(
    user: &SecretString,
    password: &SecretString,
) -> Result<HeaderValue, BadHeader> {
    let pair = format!("{}:{}", user.expose_secret(), password.expose_secret());
    sensitive(&format!("Basic {}", STANDARD.encode(pair)))
}

pub(super) fn sensitive(text: &str) -> Result<HeaderValue, BadHeader> {
    let mut value = HeaderValue::from_str(text)?;
    value.set_sensitive(true);
    Ok(value)
}

/// The value of a secret that a file names, if it is usable.
pub(crate) fn resolved(
    driver: &str,
    name: &SecretRef,
    secret: &impl Fn(&SecretRef) -> Option<SecretString>,
) -> Result<SecretString, BuildError> {
    let found = secret(name).ok_or("is not known");
    let usable = found.and_then(|found| check(&found).map(|()| found));
    usable.map_err(|what| BuildError::secret(driver, name, what))
}

/// A line end left in a secret's file would make another key of it, and only the API's 401 would tell.
fn check(secret: &SecretString) -> Result<(), &'static str> {
    let text = secret.expose_secret();
    if text.is_empty() {
        Err("is empty")
    } else if text.bytes().all(|b| b.is_ascii_graphic()) {
        Ok(())
    } else {
        Err("has a space, a line end or another character no key has")
    }
}

#[cfg(any(feature = "submit", feature = "look-up"))]
impl crate::drivers::Parts {
    /// Puts the credentials into the headers of a request to the base.
    pub(crate) fn credentials(
        &self,
        token: Option<&super::Token>,
        headers: &mut reqwest::header::HeaderMap,
    ) {
        match (&self.auth, token) {
            (Credentials::Header(name, value), _) => {
                headers.insert(name.clone(), value.clone());
            }
            (Credentials::Token(_), Some(token)) => {
                headers.insert(AUTHORIZATION, token.header.clone());
            }
            (Credentials::Token(_), None) | (Credentials::Body, _) => {}
        }
    }
}
