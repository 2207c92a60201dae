//! Credentials: as the file names them. What they become is in [`built`], tokens in [`token`].

mod built;
#[cfg(any(feature = "submit", feature = "look-up"))]
mod token;

use reqwest::header::{AUTHORIZATION, HeaderName};
use sendtrail_core::settings::{SecretRef, Section};
use url::Url;

use crate::address::allowed_url;

pub(crate) use built::{Credentials, resolved};
#[cfg(any(feature = "submit", feature = "look-up"))]
pub(crate) use token::Token;
#[cfg(feature = "fuzzing")]
pub(crate) use token::read as read_token;
#[cfg(feature = "look-up")]
pub(crate) use token::{TokenFailure, TokenFault};

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
    /// A token is fetched first and sent as Bearer.
    Token(TokenAuth),
    /// The credentials stand in the bodies, at these keys and nowhere else.
    Body { keys: Vec<String> },
}

/// How a token is had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenAuth {
    pub(crate) url: Url,
    pub(crate) client_id: Credential,
    /// None where the client id alone is the credential.
    pub(crate) secret: Option<ClientSecret>,
    pub(crate) scope: Option<String>,
}

/// The secret of OAuth client credentials, and how it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientSecret {
    pub(crate) name: SecretRef,
    /// As Basic credentials; in the body otherwise.
    pub(crate) basic: bool,
}

impl Auth {
    pub(crate) fn read(section: &Section<'_, '_>, hosts: &[String]) -> Option<Self> {
        match section.text("kind")?.as_str() {
            "basic" => {
                let user = credential(section, "user", false);
                let password = credential(section, "password", true);
                Some(Self::Basic {
                    user: user?,
                    password: password?,
                })
            }
            "bearer" => Some(Self::Header {
                name: AUTHORIZATION,
                prefix: "Bearer ".to_owned(),
                value: section.secret("token")?,
            }),
            "header" => {
                // All are read before one is given up, so that none is called unknown.
                let name = section.text("name");
                let name = name.and_then(|name| header_name(section, "name", &name));
                let prefix = section.text_or("prefix", "");
                let value = section.secret("value");
                Some(Self::Header {
                    name: name?,
                    prefix,
                    value: value?,
                })
            }
            "oauth2_client_credentials" => client_credentials(section, hosts).map(Self::Token),
            "token_form" => {
                let (url, client_id) = (token_url(section, hosts), section.secret("client_id"));
                Some(Self::Token(TokenAuth {
                    url: url?,
                    client_id: Credential::Secret(client_id?),
                    secret: None,
                    scope: None,
                }))
            }
            "body" => {
                let keys = section.texts("keys");
                if keys.is_empty() {
                    section.wrong("keys", "must list the body keys that hold the credentials");
                }
                Some(Self::Body { keys })
            }
            _ => {
                section.wrong(
                    "kind",
                    "must be basic, bearer, header, oauth2_client_credentials, token_form or body",
                );
                None
            }
        }
    }

    /// The header that carries the credentials, where one does.
    pub(crate) fn header(&self) -> Option<HeaderName> {
        match self {
            Self::Basic { .. } | Self::Token(_) => Some(AUTHORIZATION),
            Self::Header { name, .. } => Some(name.clone()),
            Self::Body { .. } => None,
        }
    }

    /// The body keys that may hold a secret.
    pub(crate) fn body_keys(&self) -> &[String] {
        match self {
            Self::Body { keys } => keys,
            Self::Basic { .. } | Self::Header { .. } | Self::Token(_) => &[],
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
            Self::Token(token) => {
                let secret = token.secret.as_ref().map(|secret| secret.name.clone());
                of(&token.client_id).into_iter().chain(secret).collect()
            }
            // The bodies name them.
            Self::Body { .. } => Vec::new(),
        }
    }
}

fn client_credentials(section: &Section<'_, '_>, hosts: &[String]) -> Option<TokenAuth> {
    let url = token_url(section, hosts);
    let client_id = credential(section, "client_id", false);
    let name = section.secret("client_secret");
    let scope = section.optional_text("scope");
    let basic = match section.text_or("send", "basic").as_str() {
        "basic" => true,
        "body" => false,
        _ => {
            section.wrong("send", "must be basic or body");
            return None;
        }
    };
    Some(TokenAuth {
        url: url?,
        client_id: client_id?,
        secret: Some(ClientSecret { name: name?, basic }),
        scope,
    })
}

fn token_url(section: &Section<'_, '_>, hosts: &[String]) -> Option<Url> {
    let text = section.text("token_url")?;
    allowed_url(&text, hosts)
        .map_err(|what| section.wrong("token_url", &what))
        .ok()
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

/// Headers that carry credentials: their values never stand in a file.
const CREDENTIAL_HEADERS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

pub(crate) fn header_name(section: &Section<'_, '_>, key: &str, text: &str) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(text.as_bytes())
        .ok()
        .filter(|name| !OWN_HEADERS.contains(&name.as_str()));
    if name.is_none() {
        section.wrong(key, "must be the name of a header a driver may set");
    }
    name
}

/// The name of a header whose value stands in the file.
pub(crate) fn constant_header_name(section: &Section<'_, '_>, key: &str) -> Option<HeaderName> {
    let name = header_name(section, key, key)?;
    if CREDENTIAL_HEADERS.contains(&name.as_str()) {
        section.wrong(key, "carries credentials: they belong into [auth]");
        return None;
    }
    Some(name)
}
