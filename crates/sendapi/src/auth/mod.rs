//! Credentials: as the file names them, and as the header they become.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use sendtrail_core::settings::{SecretRef, Section};

use crate::drivers::BuildError;

/// A text, or the name of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    Text(String),
    Secret(SecretRef),
}

/// The `[auth]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Auth {
    Basic {
        user: Credential,
        password: Credential,
    },
    Header {
        name: HeaderName,
        prefix: String,
        value: SecretRef,
    },
}

impl Auth {
    pub(crate) fn read(section: &Section<'_, '_>) -> Option<Self> {
        match section.text("kind")?.as_str() {
            "basic" => Some(Self::Basic {
                user: credential(section, "user", false)?,
                password: credential(section, "password", true)?,
            }),
            "bearer" => Some(Self::Header {
                name: AUTHORIZATION,
                prefix: "Bearer ".to_owned(),
                value: section.secret("token")?,
            }),
            "header" => Some(Self::Header {
                name: header_name(section, "name", &section.text("name")?)?,
                prefix: section.text_or("prefix", ""),
                value: section.secret("value")?,
            }),
            _ => {
                section.wrong("kind", "must be basic, bearer or header");
                None
            }
        }
    }

    pub(crate) fn secret_refs(&self) -> Vec<SecretRef> {
        let of = |credential: &Credential| match credential {
            Credential::Text(_) => None,
            Credential::Secret(name) => Some(name.clone()),
        };
        match self {
            Self::Basic { user, password } => of(user).into_iter().chain(of(password)).collect(),
            Self::Header { value, .. } => vec![value.clone()],
        }
    }

    /// The header to send. It is marked sensitive, so that it prints as `Sensitive`.
    pub(crate) fn header(
        &self,
        driver: &str,
        secret: &impl Fn(&SecretRef) -> Option<SecretString>,
    ) -> Result<(HeaderName, HeaderValue), BuildError> {
        let known = |name: &SecretRef| {
            let found = secret(name).ok_or("is not known");
            let usable = found.and_then(|found| check(&found).map(|()| found));
            usable.map_err(|what| BuildError::secret(driver, name, what))
        };
        let (name, text) = match self {
            Self::Basic { user, password } => {
                let plain = |credential: &Credential| match credential {
                    Credential::Text(text) => Ok(SecretString::from(text.clone())),
                    Credential::Secret(name) => known(name),
                };
                let (user, password) = (plain(user)?, plain(password)?);
                let pair = format!("{}:{}", user.expose_secret(), password.expose_secret());
                (AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)))
            }
            Self::Header {
                name,
                prefix,
                value,
            } => {
                let text = format!("{prefix}{}", known(value)?.expose_secret());
                (name.clone(), text)
            }
        };
        let bad = |_| BuildError::Credentials {
            driver: driver.to_owned(),
        };
        let mut value = HeaderValue::from_str(&text).map_err(bad)?;
        value.set_sensitive(true);
        Ok((name, value))
    }
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

/// A password in the file is refused: only an empty one may stand there.
fn credential(section: &Section<'_, '_>, key: &str, secret_only: bool) -> Option<Credential> {
    let text = section.text(key)?;
    if text.starts_with("secret:") {
        return section.secret(key).map(Credential::Secret);
    }
    if secret_only && !text.is_empty() {
        section.wrong(key, "must be empty or secret:NAME");
        return None;
    }
    Some(Credential::Text(text))
}

/// Headers the client itself sets, and those that would change how the request is framed.
const OWN_HEADERS: [&str; 7] = [
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "host",
    "expect",
    "upgrade",
];

pub(crate) fn header_name(section: &Section<'_, '_>, key: &str, text: &str) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(text.as_bytes())
        .ok()
        .filter(|name| !OWN_HEADERS.contains(&name.as_str()));
    if name.is_none() {
        section.wrong(key, "must be the name of a header a driver may set");
    }
    name
}
