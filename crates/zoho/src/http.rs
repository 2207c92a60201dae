//! One request to the CRM's API: authorised, bounded in time and size, counted, and its failure classified.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use sendtrail_core::ids::Revision;
use sendtrail_core::ports::StoreError;
use sendtrail_core::text::harmless;
use thiserror::Error;
use url::Url;

use crate::answer::{Answer, Head};
use crate::fault::Fault;
use crate::token::{Live, Tokens};
use crate::usage::Counters;

const GUARD: HeaderName = HeaderName::from_static("if-unmodified-since");
const CREDITS_REMAINING: HeaderName = HeaderName::from_static("x-api-credits-remaining");
/// An idle connection is not used again after this: it may have died while the sandbox was frozen, and a
/// write on a dead connection looks like one whose reply was lost.
const IDLE: Duration = Duration::from_secs(5);
/// The largest JSON answer about one record.
const RECORD_BYTES: u64 = 2 * 1024 * 1024;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    method: Method,
    path: Vec<&'a str>,
    query: Vec<(&'static str, String)>,
    payload: Payload,
    guard: Option<&'a Revision>,
    credits: u64,
    max_bytes: u64,
    times: u32,
    is_download: bool,
}

#[derive(Debug, Clone)]
enum Payload {
    None,
    Json(String),
    File { name: String, bytes: Bytes },
}

impl<'a> Call<'a> {
    fn new(method: Method, path: &[&'a str], payload: Payload) -> Self {
        Self {
            method,
            path: path.to_vec(),
            query: Vec::new(),
            payload,
            guard: None,
            credits: 1,
            max_bytes: RECORD_BYTES,
            times: 1,
            is_download: false,
        }
    }

    /// A read.
    pub(crate) fn get(path: &[&'a str]) -> Self {
        Self::new(Method::GET, path, Payload::None)
    }

    /// Puts a record into the recycle bin.
    pub(crate) fn delete(path: &[&'a str]) -> Self {
        Self::new(Method::DELETE, path, Payload::None)
    }

    /// A write or query with a JSON body.
    pub(crate) fn json(method: Method, path: &[&'a str], body: String) -> Self {
        Self::new(method, path, Payload::Json(body))
    }

    /// An upload, which may take three times as long.
    pub(crate) fn upload(path: &[&'a str], name: &str, bytes: Bytes) -> Self {
        let name = name.to_owned();
        Self {
            times: 3,
            ..Self::new(Method::POST, path, Payload::File { name, bytes })
        }
    }

    /// Adds a query parameter.
    pub(crate) fn with_query(mut self, key: &'static str, value: String) -> Self {
        self.query.push((key, value));
        self
    }

    /// Guards a write by the revision it is based on.
    pub(crate) fn guarded_by(mut self, revision: &'a Revision) -> Self {
        self.guard = Some(revision);
        self
    }

    /// Sets the price.
    pub(crate) fn costing(mut self, credits: u64) -> Self {
        self.credits = credits;
        self
    }

    /// Bounds the answer's body.
    pub(crate) fn at_most(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// A download, which may take three times as long.
    pub(crate) fn download(path: &[&'a str], max_bytes: u64) -> Self {
        Self {
            times: 3,
            is_download: true,
            ..Self::get(path).at_most(max_bytes)
        }
    }
}

/// A body that could not be read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum BodyError {
    #[error("answer above {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("{0}")]
    Broken(String),
}

/// Sends requests for one client.
pub(crate) struct Caller {
    client: reqwest::Client,
    tokens: Tokens,
    api_url: Url,
    timeout: Duration,
    counters: Arc<Counters>,
    /// The latest `Date` seen, in seconds.
    clock: AtomicI64,
}

/// The client under both the API and the token endpoint. It follows no redirect, repeats nothing by itself
/// and speaks HTTP/1.1 only, where a request that was not answered is never said to be unprocessed.
pub(crate) fn client(
    tls: rustls::ClientConfig,
    connect_timeout: Duration,
) -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("sendtrail/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .http1_only()
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE)
        .build()
}

impl Caller {
    pub(crate) fn new(
        client: reqwest::Client,
        tokens: Tokens,
        api_url: Url,
        timeout: Duration,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            client,
            tokens,
            api_url,
            timeout,
            counters,
            clock: AtomicI64::new(i64::MIN),
        }
    }

    /// Sends the request; once more with another token when the first is refused, which proves that
    /// nothing was done.
    pub(crate) async fn call(&self, call: &Call<'_>) -> Result<Answer, Fault> {
        let token = self.tokens.get().await.map_err(Fault::not_done)?;
        match self.attempt(call, &token).await {
            Err(Fault::StaleToken { .. }) => {}
            other @ (Ok(_)
            | Err(Fault::Conflict | Fault::Duplicate { .. } | Fault::Failed { .. })) => {
                return other;
            }
        }
        let another = self.tokens.replace(&token).await;
        let another = another.map_err(Fault::not_done)?;
        self.attempt(call, &another).await
    }

    async fn attempt(&self, call: &Call<'_>, token: &Live) -> Result<Answer, Fault> {
        let request = self.request(call, token)?;
        // Taken before sending: a later value would prove nothing about when the record was read.
        let clock_before = self.clock();
        self.counters.called();
        let response = request.send().await.map_err(|error| {
            let detail = transport_error(&error);
            let error_kind = StoreError::Transient { detail };
            if error.is_connect() || error.is_builder() {
                Fault::not_done(error_kind)
            } else {
                Fault::unsure(error_kind)
            }
        })?;
        let status = response.status();
        let head = Head::of(status.as_u16(), response.headers());
        self.note(&response, head.date, call.credits);
        let body = match read_bounded(response, call.max_bytes).await {
            Ok(body) => body,
            // The status alone tells enough of an error.
            Err(_) if !status.is_success() => Bytes::new(),
            Err(error) => return Err(Fault::unsure(body_error(error, call.is_download))),
        };
        let answer = head.with_body(body, clock_before)?;
        token.prove();
        Ok(answer)
    }

    fn request(&self, call: &Call<'_>, token: &Live) -> Result<RequestBuilder, Fault> {
        let url = self.url(call, token)?;
        let authorization = header(&token.header(), true)?;
        let mut request = self
            .client
            .request(call.method.clone(), url)
            .header(AUTHORIZATION, authorization)
            .timeout(self.timeout.saturating_mul(call.times));
        if let Some(revision) = call.guard {
            request = request.header(GUARD, header(revision.as_str(), false)?);
        }
        Ok(match &call.payload {
            Payload::None => request,
            Payload::Json(body) => request
                .header(CONTENT_TYPE, "application/json")
                .body(body.clone()),
            Payload::File { name, bytes } => {
                let part = reqwest::multipart::Part::stream(bytes.clone()).file_name(name.clone());
                request.multipart(reqwest::multipart::Form::new().part("file", part))
            }
        })
    }

    /// Every part of the path is encoded, so that an id cannot lead elsewhere.
    fn url(&self, call: &Call<'_>, token: &Live) -> Result<Url, Fault> {
        let mut url = token.api_domain().unwrap_or(&self.api_url).clone();
        url.path_segments_mut()
            .map_err(|()| Fault::not_done(unfit("the API address")))?
            .clear()
            .extend(["crm", "v8"])
            .extend(&call.path);
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        Ok(url)
    }

    fn note(&self, response: &Response, date: Option<Timestamp>, credits: u64) {
        if let Some(date) = date {
            self.clock.fetch_max(date.as_second(), Ordering::AcqRel);
        }
        let free = [StatusCode::TOO_MANY_REQUESTS, StatusCode::UNAUTHORIZED];
        if !free.contains(&response.status()) {
            self.counters.charged(credits);
        }
        let left = response.headers().get(CREDITS_REMAINING);
        let left = left.and_then(|left| left.to_str().ok()?.trim().parse().ok());
        if let Some(left) = left {
            self.counters.left(left);
        }
    }

    /// The CRM's clock as its answers told it so far.
    fn clock(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.clock.load(Ordering::Acquire)).ok()
    }
}

fn header(text: &str, secret: bool) -> Result<HeaderValue, Fault> {
    let mut value = HeaderValue::from_str(text).map_err(|_| Fault::not_done(unfit("a header")))?;
    value.set_sensitive(secret);
    Ok(value)
}

fn unfit(what: &str) -> StoreError {
    StoreError::Malformed {
        detail: format!("{what} is not fit for a request"),
    }
}

/// The body, as long as it has at most `limit` bytes.
pub(crate) async fn read_bounded(mut response: Response, limit: u64) -> Result<Bytes, BodyError> {
    let too_large = || BodyError::TooLarge { limit };
    if response
        .content_length()
        .is_some_and(|length| length > limit)
    {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    let broken = |error: reqwest::Error| BodyError::Broken(transport_error(&error));
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if (body.len() as u64).saturating_add(chunk.len() as u64) > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

fn body_error(error: BodyError, is_download: bool) -> StoreError {
    match error {
        BodyError::TooLarge { limit } if is_download => StoreError::TooLarge { limit },
        BodyError::TooLarge { .. } => StoreError::Malformed {
            detail: error.to_string(),
        },
        BodyError::Broken(detail) => StoreError::Transient { detail },
    }
}

/// What happened to a request, without its address.
pub(crate) fn transport_error(error: &reqwest::Error) -> String {
    let what = if error.is_connect() {
        "connection failed"
    } else if error.is_timeout() {
        "timed out"
    } else {
        "connection broke off"
    };
    let mut cause = error.source();
    while let Some(next) = cause.and_then(std::error::Error::source) {
        cause = Some(next);
    }
    match cause {
        Some(cause) => harmless(&format!("{what}: {cause}"), 150),
        None => what.to_owned(),
    }
}
