//! Tokens: fetched before they are needed, kept until shortly before they expire, one fetch at a time.

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Request};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::sync::Mutex;
use url::{Url, form_urlencoded};

use super::TokenAuth;
use super::built::{basic, sensitive};
use crate::answer::{Answer, Broken, cause};
use crate::pointer::Pointer;

/// A token whose answer does not say how long it lives.
const UNSTATED: SignedDuration = SignedDuration::from_mins(5);
const LONGEST: SignedDuration = SignedDuration::from_hours(24);
/// After a failure the endpoint is left alone this long, or as long as it asks for, up to a minute.
const PAUSE: SignedDuration = SignedDuration::from_secs(5);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// A refused token is replaced at most this often: wrong credentials are not helped by more tokens.
#[cfg(feature = "look-up")]
const RENEW_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// A token as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) header: HeaderValue,
    expires_at: Timestamp,
    lifetime: SignedDuration,
    number: u64,
}

impl Token {
    /// How long it is good for.
    pub(crate) fn left(&self, now: Timestamp) -> SignedDuration {
        self.expires_at.duration_since(now)
    }

    /// A short-lived token is good for half of its life, whatever is asked of it.
    fn serves(&self, now: Timestamp, least: SignedDuration) -> bool {
        self.left(now) > least.min(self.lifetime / 2)
    }
}

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenFailure {
    pub(crate) fault: TokenFault,
    pub(crate) status: Option<u16>,
    pub(crate) detail: String,
    pub(crate) retry_after: Option<SignedDuration>,
}

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenFault {
    /// The credentials are refused.
    Refused,
    RateLimited,
    /// Time-out, connection, server error, an answer that is none.
    Transient,
}

/// Where tokens come from.
pub(crate) struct TokenSource {
    url: Url,
    /// Form text, with the credentials in it where they are not in the header.
    body: SecretString,
    basic: Option<HeaderValue>,
    // Held while a token is fetched, so that there is one fetch at a time.
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    token: Option<Token>,
    failure: Option<(Timestamp, TokenFailure)>,
    fetched: u64,
    #[cfg(feature = "look-up")]
    renewed_at: Option<Timestamp>,
}

impl TokenSource {
    pub(super) fn new(
        auth: &TokenAuth,
        client_id: &SecretString,
        secret: Option<&SecretString>,
    ) -> Result<Self, reqwest::header::InvalidHeaderValue> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        let mut header = None;
        match (&auth.secret, secret) {
            (Some(how), Some(secret)) => {
                form.append_pair("grant_type", "client_credentials");
                if how.basic {
                    header = Some(basic(&encoded(client_id), &encoded(secret))?);
                } else {
                    form.append_pair("client_id", client_id.expose_secret());
                    form.append_pair("client_secret", secret.expose_secret());
                }
            }
            (Some(_) | None, _) => {
                form.append_pair("client_id", client_id.expose_secret());
            }
        }
        if let Some(scope) = &auth.scope {
            form.append_pair("scope", scope);
        }
        Ok(Self {
            url: auth.url.clone(),
            body: SecretString::from(form.finish()),
            basic: header,
            kept: Mutex::default(),
        })
    }

    /// A token that is good for at least `least`, where the API gives such tokens.
    pub(crate) async fn token(
        &self,
        http: &reqwest::Client,
        wait_headers: &[HeaderName],
        least: SignedDuration,
    ) -> Result<Token, TokenFailure> {
        let mut kept = self.kept.lock().await;
        let now = Timestamp::now();
        if let Some(token) = &kept.token
            && token.serves(now, least)
        {
            return Ok(token.clone());
        }
        self.fetch(&mut kept, http, wait_headers).await
    }

    /// The token after `used` was refused: one fetched meanwhile, else a new one; none where one was
    /// replaced a moment ago already.
    #[cfg(feature = "look-up")]
    pub(crate) async fn renew(
        &self,
        http: &reqwest::Client,
        wait_headers: &[HeaderName],
        used: &Token,
    ) -> Option<Result<Token, TokenFailure>> {
        let mut kept = self.kept.lock().await;
        if let Some(token) = &kept.token
            && token.number != used.number
        {
            return Some(Ok(token.clone()));
        }
        let now = Timestamp::now();
        let lately = |at: Timestamp| now.duration_since(at) < RENEW_EVERY;
        if kept.renewed_at.is_some_and(lately) {
            return None;
        }
        kept.renewed_at = Some(now);
        kept.token = None;
        Some(self.fetch(&mut kept, http, wait_headers).await)
    }

    /// Drops a token that was refused, so that the next press fetches another.
    #[cfg(feature = "submit")]
    pub(crate) async fn forget(&self, used: &Token) {
        let mut kept = self.kept.lock().await;
        if kept
            .token
            .as_ref()
            .is_some_and(|token| token.number == used.number)
        {
            kept.token = None;
        }
    }

    async fn fetch(
        &self,
        kept: &mut Kept,
        http: &reqwest::Client,
        wait_headers: &[HeaderName],
    ) -> Result<Token, TokenFailure> {
        let now = Timestamp::now();
        if let Some((until, failure)) = &kept.failure
            && now < *until
        {
            return Err(failure.clone());
        }
        kept.fetched += 1;
        let fetched = match http.execute(self.request()).await {
            Ok(response) => {
                let answer = Answer::read(response, wait_headers).await;
                read(&answer, kept.fetched)
            }
            Err(error) => Err(TokenFailure {
                fault: TokenFault::Transient,
                status: None,
                detail: format!("{}: {}", Broken::of(&error).class(), cause(&error)),
                retry_after: None,
            }),
        };
        match fetched {
            Ok(token) => {
                kept.failure = None;
                kept.token = Some(token.clone());
                Ok(token)
            }
            Err(failure) => {
                let pause = failure.retry_after.unwrap_or(PAUSE).min(LONGEST_PAUSE);
                let until = now.saturating_add(pause).unwrap_or(now);
                kept.failure = Some((until, failure.clone()));
                Err(failure)
            }
        }
    }

    fn request(&self) -> Request {
        let mut request = Request::new(Method::POST, self.url.clone());
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        if let Some(basic) = &self.basic {
            headers.insert(AUTHORIZATION, basic.clone());
        }
        *request.body_mut() = Some(self.body.expose_secret().to_owned().into());
        request
    }
}

/// RFC 6749, 2.3.1: id and secret are form-encoded before they are joined.
fn encoded(text: &SecretString) -> SecretString {
    let bytes = text.expose_secret().as_bytes();
    form_urlencoded::byte_serialize(bytes)
        .collect::<String>()
        .into()
}

pub(crate) fn read(answer: &Answer, number: u64) -> Result<Token, TokenFailure> {
    let failure = |fault, detail: String| TokenFailure {
        fault,
        status: Some(answer.status),
        detail,
        retry_after: answer.retry_after,
    };
    let remark = || answer.remark(Pointer::parse("/error").ok().as_ref());
    match answer.status {
        200..=299 => {}
        400 | 401 | 403 => return Err(failure(TokenFault::Refused, remark())),
        429 => return Err(failure(TokenFault::RateLimited, remark())),
        _ => return Err(failure(TokenFault::Transient, remark())),
    }
    let Some(body) = answer.json() else {
        return Err(failure(TokenFault::Transient, remark()));
    };
    // Some APIs answer a refusal with 200.
    let text = body.get("access_token").and_then(Value::as_str);
    let usable = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    let Some(text) = text.filter(usable) else {
        return Err(failure(TokenFault::Refused, remark()));
    };
    let kind = body.get("token_type").and_then(Value::as_str);
    if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        let detail = "the token is no bearer token".to_owned();
        return Err(failure(TokenFault::Refused, detail));
    }
    let header = sensitive(&format!("Bearer {text}"))
        .map_err(|_| failure(TokenFault::Refused, "the token is unusable".to_owned()))?;
    let lifetime = lifetime(body.get("expires_in"));
    let now = Timestamp::now();
    Ok(Token {
        header,
        expires_at: now.saturating_add(lifetime).unwrap_or(now),
        lifetime,
        number,
    })
}

/// Seconds, as a number or as text.
fn lifetime(stated: Option<&Value>) -> SignedDuration {
    let seconds = stated.and_then(|value| {
        let number = value.as_i64();
        number.or_else(|| value.as_str()?.trim().parse().ok())
    });
    seconds
        .map_or(UNSTATED, SignedDuration::from_secs)
        .clamp(SignedDuration::ZERO, LONGEST)
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
