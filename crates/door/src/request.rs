//! A request, read from the event of a Function URL.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::event::{Context, Event, Headers, Text};
use crate::{Code, Refusal, Response};

/// Longest path segment, in characters. History ids have at most as many.
const MAX_SEGMENT_CHARS: usize = 64;

/// One HTTP request. Nothing in it is verified yet, except that the event had the right shape.
#[derive(Debug)]
pub struct Request<'a> {
    method: Cow<'a, str>,
    raw_path: Cow<'a, str>,
    raw_query: Cow<'a, str>,
    headers: Headers<'a>,
    body: Cow<'a, str>,
    is_base64: bool,
    id: Cow<'a, str>,
    arrived_ms: i64,
}

impl<'a> Request<'a> {
    /// Reads the event's JSON text. `now_ms` (Unix milliseconds) and `request_id` stand in where
    /// the gateway gave no arrival time or id.
    ///
    /// # Errors
    /// `malformed_request` for any text that is not the event of an HTTP request.
    pub fn parse(event: &'a str, now_ms: i64, request_id: &'a str) -> Result<Self, Refusal> {
        let malformed = |reason| Refusal::new(Code::MalformedRequest, reason);
        // Serde would read an array as the members in order.
        if !event.trim_ascii_start().starts_with('{') {
            return Err(malformed("event_not_an_object"));
        }
        let event: Event<'a> =
            serde_json::from_str(event).map_err(|_| malformed("event_not_http"))?;
        let Some(Context {
            http: Some(http),
            request_id: given_id,
            time_epoch,
        }) = event.request_context
        else {
            return Err(malformed("event_without_context"));
        };
        let (Some(Text(method)), Some(Text(raw_path))) = (http.method, event.raw_path) else {
            return Err(malformed("event_without_method_or_path"));
        };
        Ok(Self {
            method,
            raw_path,
            raw_query: event.raw_query_string.unwrap_or_default().0,
            headers: event.headers.unwrap_or_default(),
            body: event.body.unwrap_or_default().0,
            is_base64: event.is_base64_encoded.unwrap_or(false),
            id: given_id.map_or(Cow::Borrowed(request_id), |Text(id)| id),
            arrived_ms: time_epoch.unwrap_or(now_ms),
        })
    }

    /// The method as received, such as `GET`.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The gateway's request id, or the stand-in.
    pub fn request_id(&self) -> &str {
        &self.id
    }

    /// When the gateway received the request, Unix milliseconds.
    pub fn arrived_ms(&self) -> i64 {
        self.arrived_ms
    }

    /// A header by its name in any case; a repeated one is joined by commas.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// Whether the body came as base64.
    pub fn is_base64(&self) -> bool {
        self.is_base64
    }

    /// The path's segments, percent-decoded: each 1 to 64 characters of `[0-9A-Za-z_-]`. The
    /// root has none.
    ///
    /// # Errors
    /// `malformed_request` for broken percent-encoding; `not_found` for anything else that no
    /// route has: empty segments, encoded slashes, other characters.
    pub fn segments(&self) -> Result<Vec<Cow<'_, str>>, Refusal> {
        let no_route = || Refusal::new(Code::NotFound, "path_not_routable");
        let path = self.raw_path.strip_prefix('/').ok_or_else(no_route)?;
        if path.is_empty() {
            return Ok(Vec::new());
        }
        path.split('/')
            .map(|raw| {
                let segment = percent_decode(raw)
                    .ok_or_else(|| Refusal::new(Code::MalformedRequest, "path_encoding"))?;
                if is_segment(&segment) {
                    Ok(segment)
                } else {
                    Err(no_route())
                }
            })
            .collect()
    }

    /// The first value of a query parameter, as received: not percent-decoded.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.raw_query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The token of an `authorization: Bearer` header. None when it is repeated or has
    /// characters that no token has.
    pub fn bearer(&self) -> Option<&str> {
        let (scheme, token) = self.header("authorization")?.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token)
            .filter(|token| is_token(token))
    }

    /// The `sendtrail-receipt` header. None when it is repeated or has characters that no token
    /// has.
    pub fn receipt(&self) -> Option<&str> {
        self.header("sendtrail-receipt")
            .filter(|token| is_token(token))
    }

    /// The content type in lower case without parameters, such as `application/pdf`.
    pub fn content_type(&self) -> Option<String> {
        let header = self.header("content-type")?;
        let kind = header.split(';').next().unwrap_or_default();
        Some(kind.trim().to_ascii_lowercase())
    }

    /// Refuses any other content type than `due`.
    ///
    /// # Errors
    /// `unsupported_media_type`.
    pub fn require_content_type(&self, due: &str) -> Result<(), Refusal> {
        if self.content_type().as_deref() == Some(due) {
            return Ok(());
        }
        Err(Refusal::new(Code::UnsupportedMediaType, "content_type")
            .with_detail(format!("content-type must be {due}")))
    }

    /// Bytes of the body, found without decoding it. `None` where base64 has no such length.
    pub fn body_bytes(&self) -> Option<usize> {
        if !self.is_base64 {
            return Some(self.body.len());
        }
        let padding = self
            .body
            .bytes()
            .rev()
            .take(2)
            .take_while(|&b| b == b'=')
            .count();
        self.body
            .len()
            .is_multiple_of(4)
            .then(|| self.body.len() / 4 * 3 - padding)
    }

    /// The body as the sender sent it, at most `limit` bytes. Decodes on every call where it
    /// came as base64: ask once.
    ///
    /// # Errors
    /// `too_large` before any decoding; `malformed_request` for invalid base64.
    pub fn body(&self, limit: usize) -> Result<Cow<'_, [u8]>, Refusal> {
        let not_base64 = || Refusal::new(Code::MalformedRequest, "body_not_base64");
        if self.body_bytes().ok_or_else(not_base64)? > limit {
            return Err(Refusal::new(Code::TooLarge, "body_too_large")
                .with_detail(format!("the body may have at most {limit} bytes")));
        }
        if !self.is_base64 {
            return Ok(Cow::Borrowed(self.body.as_bytes()));
        }
        STANDARD
            .decode(self.body.as_bytes())
            .map(Cow::Owned)
            .map_err(|_| not_base64())
    }

    /// The response of a handler: its own, or the answer to its refusal, which is logged here.
    pub fn finish(&self, result: Result<Response, Refusal>) -> Response {
        result.unwrap_or_else(|refusal| refusal.answer(self))
    }
}

fn is_segment(text: &str) -> bool {
    (1..=MAX_SEGMENT_CHARS).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Strict percent-decoding: `None` for a `%` without two hex digits, or for no UTF-8.
fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let (high, low) = (hex_digit(rest.next()?)?, hex_digit(rest.next()?)?);
            decoded.push(high << 4 | low);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}
