//! Signed requests: verify, read, compare.

use sendtrail_signature::{KeyRing, SignatureError, SignedHeaders, TOLERANCE_SECONDS, verify};
use serde::de::DeserializeOwned;

use crate::json::{Envelope, read_envelope, read_typed};
use crate::refusal::{BodyFacts, clock_delta};
use crate::{Code, Refusal, Request};

/// Default for [`Expect::max_bytes`]: 64 KiB.
pub const DEFAULT_MAX_JSON_BYTES: usize = 64 * 1024;

/// What a signed body must say about itself.
#[derive(Clone, Copy, Debug)]
pub struct Expect<'a> {
    /// `aud`: `{stage}/intake` or `{stage}/side-effect`.
    pub aud: &'a str,
    /// `op`: what this method and path do.
    pub op: &'a str,
    /// Where the history id is.
    pub history_id: HistoryIdIn<'a>,
    /// Most bytes of the body.
    pub max_bytes: usize,
}

/// Where a request names its history record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryIdIn<'a> {
    /// Nowhere: the body must not name one, or a body made for another path could be used here.
    Nowhere,
    /// In the path, and the body must name the same.
    Path(&'a str),
    /// In the body alone, as a text; the caller reads it from there.
    Body,
}

/// A request whose signature holds and which was made for this method and path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<T> {
    /// Name of the key that signed, for the metrics line.
    pub key_name: String,
    /// `webhook-id`, the idempotency key.
    pub webhook_id: String,
    /// `webhook-timestamp`, Unix seconds.
    pub signed_at: i64,
    /// SHA-256 of the body's bytes, lower hex.
    pub body_sha256: String,
    /// The body.
    pub body: T,
}

/// Checks the signature over the raw bytes, and only then reads the body: no key twice, `aud`,
/// `op` and `history_id` as expected, and the shape of `T`.
///
/// # Errors
/// `too_large` and `malformed_request` before the signature; `unauthorized` for a bad signature
/// and for another `aud`, `op` or `history_id`; `invalid_request` for a body that is no JSON, has
/// a repeated key or not the shape of `T`.
pub fn verify_signed<T: DeserializeOwned>(
    request: &Request<'_>,
    ring: &KeyRing,
    expect: &Expect<'_>,
) -> Result<Verified<T>, Refusal> {
    let body = request.body(expect.max_bytes)?;
    let bytes = |name| request.header(name).map(str::as_bytes);
    let headers = SignedHeaders {
        id: bytes("webhook-id"),
        timestamp: bytes("webhook-timestamp"),
        signature: bytes("webhook-signature"),
    };
    let verified = verify(&headers, &body, request.arrived_ms(), ring).map_err(|error| {
        let is_of_now = clock_delta(request).is_some_and(|s| s.unsigned_abs() <= TOLERANCE_SECONDS);
        Refusal::new(Code::Unauthorized, error.reason())
            .with_possible_rotation(error == SignatureError::Mismatch && is_of_now)
            .with_body(BodyFacts::of(&body))
    })?;
    let facts = BodyFacts::of(&body);
    let read = || {
        let envelope = read_envelope(&body)?;
        compare(&envelope, expect)?;
        read_typed(&body)
    };
    let typed = read().map_err(|refusal| refusal.with_body(facts.clone()))?;
    Ok(Verified {
        key_name: verified.key_name.to_owned(),
        webhook_id: verified.id.to_owned(),
        signed_at: verified.timestamp,
        body_sha256: facts.sha256,
        body: typed,
    })
}

fn compare(envelope: &Envelope, expect: &Expect<'_>) -> Result<(), Refusal> {
    let unless = |holds: bool, reason| {
        if holds {
            Ok(())
        } else {
            Err(Refusal::new(Code::Unauthorized, reason))
        }
    };
    unless(envelope.aud.as_deref() == Some(expect.aud), "other_aud")?;
    unless(envelope.op.as_deref() == Some(expect.op), "other_op")?;
    let history_id = envelope.history_id.as_deref();
    let holds = match expect.history_id {
        HistoryIdIn::Nowhere => !envelope.has_history_id,
        HistoryIdIn::Path(due) => history_id == Some(due),
        HistoryIdIn::Body => history_id.is_some(),
    };
    unless(holds, "other_history_id")
}
