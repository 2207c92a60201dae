//! What came back from an API: one bounded reading of an answer, and what a broken request means.

use std::error::Error as _;

use jiff::SignedDuration;
use reqwest::header::{HeaderMap, HeaderName};
use sendtrail_core::ports::Evidence;
use sendtrail_core::text::harmless;
use serde_json::Value;

use crate::pointer::Pointer;
use crate::retry_after;

/// The most bytes of an answer that are read.
pub(crate) const MAX_ANSWER_BYTES: usize = 64 * 1024;
const MAX_DETAIL_BYTES: usize = 300;

/// The body of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Json(Value),
    NotJson,
    TooLarge,
    /// The connection broke, or the time was over, before its end.
    Cut,
}

/// An answer whose status was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) retry_after: Option<SignedDuration>,
}

impl Answer {
    pub(crate) async fn read(response: reqwest::Response, wait_headers: &[HeaderName]) -> Self {
        Self {
            status: response.status().as_u16(),
            retry_after: retry_after::wait(response.headers(), wait_headers),
            headers: response.headers().clone(),
            body: Body::read(response).await,
        }
    }

    /// The JSON of the body, or none.
    pub(crate) fn json(&self) -> Option<&Value> {
        match &self.body {
            Body::Json(value) => Some(value),
            Body::NotJson | Body::TooLarge | Body::Cut => None,
        }
    }

    /// The API's own error code at `error`, or why there is none. The body is never repeated as a whole.
    pub(crate) fn remark(&self, error: Option<&Pointer>) -> String {
        match &self.body {
            Body::Json(value) => error
                .and_then(|pointer| pointer.id(value))
                .unwrap_or_else(|| format!("HTTP {}", self.status)),
            Body::NotJson => "the answer is not JSON".to_owned(),
            Body::TooLarge => format!("the answer is longer than {MAX_ANSWER_BYTES} bytes"),
            Body::Cut => "the answer was cut".to_owned(),
        }
    }
}

impl Body {
    async fn read(mut response: reqwest::Response) -> Self {
        let mut bytes = Vec::new();
        loop {
            match response.chunk().await {
                Ok(None) => break,
                Ok(Some(chunk)) if bytes.len() + chunk.len() > MAX_ANSWER_BYTES => {
                    return Self::TooLarge;
                }
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Err(_) => return Self::Cut,
            }
        }
        Self::of(&bytes)
    }

    /// A body that was read to its end.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).map_or(Self::NotJson, Self::Json)
    }
}

/// Why a request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It could not be built.
    Build,
    /// No connection was made: name, refusal, connect time-out, TLS.
    Connect,
    /// The time was over after that.
    Timeout,
    /// Reset, end of stream, garbage: anything else.
    Lost,
}

impl Broken {
    /// `is_connect` is asked before `is_timeout`: a connect time-out is both. It can be trusted only because
    /// the clients follow no redirect.
    pub(crate) fn of(error: &reqwest::Error) -> Self {
        if error.is_builder() {
            Self::Build
        } else if error.is_connect() {
            Self::Connect
        } else if error.is_timeout() {
            Self::Timeout
        } else {
            Self::Lost
        }
    }

    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Lost => "reset",
        }
    }
}

/// The innermost cause, which names neither address nor header.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let Some(mut cause) = error.source() else {
        return "no cause given".to_owned();
    };
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Evidence of a class, with the detail made fit for the CRM.
pub(crate) fn evidence(
    class: &str,
    status: Option<u16>,
    detail: &str,
    bytes_sent: u64,
) -> Evidence {
    Evidence {
        class: class.to_owned(),
        status,
        detail: harmless(detail, MAX_DETAIL_BYTES),
        bytes_sent,
    }
}
