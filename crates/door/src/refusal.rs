//! A refusal: what the caller is told, and what the log is told.

use sendtrail_signature::TokenError;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{Code, Request, Response};

/// `retry-after` of an answer that names no other delay, in seconds.
pub const DEFAULT_RETRY_SECONDS: u64 = 10;

/// `retry-after` while the installation is drained, in seconds.
const DRAIN_RETRY_SECONDS: u64 = 300;

/// Longest part of a received text that is put into a log line, in characters.
const MAX_LOGGED_CHARS: usize = 100;

/// One wrong place in a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// JSON Pointer (RFC 6901) into the body; empty for the whole.
    pub pointer: String,
    /// What is wrong with it. Public: never a stored value or an internal cause.
    pub detail: String,
}

impl FieldError {
    /// A wrong place and what is wrong with it.
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            detail: detail.into(),
        }
    }
}

/// Length and hash of a body: enough to compare with what a sender says it signed.
#[derive(Clone, Debug)]
pub(crate) struct BodyFacts {
    pub(crate) bytes: usize,
    pub(crate) sha256: String,
}

impl BodyFacts {
    pub(crate) fn of(body: &[u8]) -> Self {
        let mut sha256 = String::with_capacity(64);
        for byte in Sha256::digest(body) {
            for digit in [byte >> 4, byte & 15] {
                sha256.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        Self {
            bytes: body.len(),
            sha256,
        }
    }
}

/// Why a request is not served. Public and internal parts are apart: `detail` and `errors` go
/// out, `reason` and `cause` are for the log alone.
#[derive(Debug)]
pub struct Refusal(Box<Parts>);

// Boxed: a refusal is rare, and every result on the way carries its size.
#[derive(Debug)]
struct Parts {
    code: Code,
    reason: &'static str,
    cause: Option<String>,
    detail: Option<String>,
    errors: Vec<FieldError>,
    members: Map<String, Value>,
    allow: Option<&'static str>,
    retry_seconds: Option<u64>,
    body: Option<BodyFacts>,
    may_be_rotation: bool,
}

impl Refusal {
    /// A refusal. `reason` is a stable word for the log, finer than the code.
    pub fn new(code: Code, reason: &'static str) -> Self {
        Self(Box::new(Parts {
            code,
            reason,
            cause: None,
            detail: None,
            errors: Vec::new(),
            members: Map::new(),
            allow: None,
            retry_seconds: None,
            body: None,
            may_be_rotation: false,
        }))
    }

    /// Nothing new is let in, whatever it is.
    pub fn draining() -> Self {
        Self::new(Code::Draining, "draining")
            .with_detail(
                "This installation takes no requests for now and finishes what is under way. Try again in a \
                 few minutes.",
            )
            .with_retry_after(DRAIN_RETRY_SECONDS)
    }

    /// A token that does not hold.
    pub fn of_token(error: TokenError) -> Self {
        let code = if error == TokenError::OtherDocument {
            Code::DocumentChanged
        } else {
            Code::Unauthorized
        };
        let mut refusal = Self::new(code, error.reason());
        refusal.0.may_be_rotation = error == TokenError::BadMac;
        refusal
    }

    /// No such path.
    pub fn no_route() -> Self {
        Self::new(Code::NotFound, "no_route")
    }

    /// The path takes only the methods of `allow`, such as `"GET, PUT"`.
    pub fn method_not_allowed(allow: &'static str) -> Self {
        let mut refusal = Self::new(Code::MethodNotAllowed, "method");
        refusal.0.allow = Some(allow);
        refusal
    }

    /// A body that is understood and wrong.
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let mut refusal = Self::new(Code::InvalidRequest, "body_invalid");
        refusal.0.errors = errors;
        refusal
    }

    /// A failure of ours. `cause` is logged and never sent; it must hold no secret and no body.
    pub fn internal(cause: impl Into<String>) -> Self {
        Self::new(Code::Internal, "internal").with_cause(cause)
    }

    /// Adds the public detail, a sentence for people. It is not sent with `unauthorized` and
    /// `internal`, whose answers never vary.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds a member to the answer, for machines (RFC 9457, section 3.2): `[a-z_]`, at least three letters. One
    /// of the answer's own names is left out. It is not sent with `unauthorized` and `internal`.
    #[must_use]
    pub fn with_member(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        if !MEMBERS.contains(&name) {
            self.0.members.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Adds what the log is told. It must hold no secret and no body.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Sets `retry-after`, in seconds.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_seconds = Some(seconds);
        self
    }

    pub(crate) fn with_possible_rotation(mut self, may_be: bool) -> Self {
        self.0.may_be_rotation = may_be;
        self
    }

    pub(crate) fn with_reason(mut self, reason: &'static str) -> Self {
        self.0.reason = reason;
        self
    }

    pub(crate) fn with_body(mut self, body: BodyFacts) -> Self {
        self.0.body = Some(body);
        self
    }

    /// The public code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Whether a key that was changed and not read yet would explain the refusal: the request is of the right
    /// form and of now, and no key made its signature or token. Nothing was done.
    pub fn may_be_rotation(&self) -> bool {
        self.0.may_be_rotation
    }

    /// The internal reason.
    pub fn reason(&self) -> &'static str {
        self.0.reason
    }

    /// The wrong places of a body.
    pub fn errors(&self) -> &[FieldError] {
        &self.0.errors
    }

    /// Logs the refusal once and gives the answer.
    pub fn answer(&self, request: &Request<'_>) -> Response {
        self.log(Some(request), request.request_id());
        self.response(request.request_id())
    }

    /// The same where the event was no request. `request_id` is the invocation's.
    pub fn answer_without_request(&self, request_id: &str) -> Response {
        self.log(None, request_id);
        self.response(request_id)
    }

    fn response(&self, request_id: &str) -> Response {
        let body = Problem::of(self, request_id);
        // Only texts are in it, so it can always be written.
        let text = serde_json::to_string(&body).unwrap_or_else(|_| "{}".to_owned());
        let mut response = Response::problem(self.0.code.status(), text);
        if let Some(allow) = self.0.allow {
            response = response.with_header("allow", allow);
        }
        if self.0.code.is_retryable() || self.0.retry_seconds.is_some() {
            let seconds = self.0.retry_seconds.unwrap_or(DEFAULT_RETRY_SECONDS);
            response = response.with_header("retry-after", &seconds.to_string());
        }
        response
    }

    fn log(&self, request: Option<&Request<'_>>, request_id: &str) {
        let request_id = &*printable(request_id);
        let body_bytes = self
            .0
            .body
            .as_ref()
            .map(|b| b.bytes)
            .or_else(|| request.and_then(Request::body_bytes));
        let body_sha256 = self.0.body.as_ref().map(|b| b.sha256.as_str());
        let content_type = request
            .and_then(|r| r.header("content-type"))
            .map(printable);
        let content_type = content_type.as_deref();
        let is_base64 = request.map(Request::is_base64);
        let clock_delta_s = request.and_then(clock_delta);
        let (code, status) = (self.0.code.as_str(), self.0.code.status());
        let (reason, cause) = (self.0.reason, self.0.cause.as_deref());
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    code,
                    status,
                    reason,
                    cause,
                    request.id = request_id,
                    body.bytes = body_bytes,
                    body.sha256 = body_sha256,
                    body.base64 = is_base64,
                    content_type,
                    clock_delta_s,
                    "request refused"
                )
            };
        }
        match self.0.code {
            Code::Internal => line!(error),
            Code::RateLimited | Code::CrmUnavailable | Code::NoTime | Code::SourceUnavailable => {
                line!(warn);
            }
            Code::Unauthorized
            | Code::MalformedRequest
            | Code::NotFound
            | Code::MethodNotAllowed
            | Code::InvalidRequest
            | Code::TooLarge
            | Code::UnsupportedMediaType
            | Code::NotSendable
            | Code::ChangedElsewhere
            | Code::RecordChanged
            | Code::AlreadySent
            | Code::IdReused
            | Code::StaleTicket
            | Code::DocumentChanged
            | Code::DocumentUnusable
            | Code::Draining => line!(info),
        }
    }
}

/// The members of every problem.
const MEMBERS: [&str; 7] = [
    "type",
    "title",
    "status",
    "code",
    "detail",
    "request_id",
    "errors",
];

/// RFC 9457.
#[derive(Serialize)]
struct Problem<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    request_id: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [FieldError],
    #[serde(flatten)]
    members: Option<&'a Map<String, Value>>,
}

impl<'a> Problem<'a> {
    fn of(refusal: &'a Refusal, request_id: &'a str) -> Self {
        let code = refusal.0.code;
        let opaque = matches!(code, Code::Unauthorized | Code::Internal);
        Self {
            r#type: format!("urn:sendtrail:problem:{}", code.as_str()),
            title: code.title(),
            status: code.status(),
            code: code.as_str(),
            detail: refusal.0.detail.as_deref().filter(|_| !opaque),
            request_id,
            errors: if opaque { &[] } else { &refusal.0.errors },
            members: (!opaque).then_some(&refusal.0.members),
        }
    }
}

/// Seconds from the sender's clock to the gateway's, where the header is a number at all. It is
/// not verified, and only logged.
pub(crate) fn clock_delta(request: &Request<'_>) -> Option<i64> {
    let text = request
        .header("webhook-timestamp")
        .filter(|text| text.len() <= 16)?;
    let seconds: i64 = text.parse().ok()?;
    Some(
        request
            .arrived_ms()
            .div_euclid(1000)
            .saturating_sub(seconds),
    )
}

/// The start of a received text, fit for a log line.
fn printable(text: &str) -> String {
    let chars = text.chars().take(MAX_LOGGED_CHARS);
    chars
        .map(|c| if matches!(c, ' '..='~') { c } else { '?' })
        .collect()
}
