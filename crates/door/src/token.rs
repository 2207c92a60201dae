//! Tokens at the door.

use sendtrail_signature::{Claims, Expected, TokenKey};

use crate::{Code, Refusal, Request};

/// Checks the Bearer token: a preview token or a confirm ticket.
///
/// Give no `rev` and no `input_sha256` in `expected` where the record is not read yet; a true token of an
/// older revision or of other input is then the caller's `stale_ticket`.
///
/// # Errors
/// `unauthorized` for a missing or bad token.
pub fn verify_bearer(
    request: &Request<'_>,
    key: &TokenKey,
    expected: &Expected<'_>,
) -> Result<Claims, Refusal> {
    verify(request, request.bearer(), "token_missing", key, expected)
}

/// Checks the `sendtrail-receipt` header.
///
/// # Errors
/// `unauthorized` for a missing or bad receipt; `document_changed` for a true one of other bytes.
pub fn verify_receipt(
    request: &Request<'_>,
    key: &TokenKey,
    expected: &Expected<'_>,
) -> Result<Claims, Refusal> {
    verify(request, request.receipt(), "receipt_missing", key, expected)
}

fn verify(
    request: &Request<'_>,
    token: Option<&str>,
    missing: &'static str,
    key: &TokenKey,
    expected: &Expected<'_>,
) -> Result<Claims, Refusal> {
    let token = token.ok_or_else(|| Refusal::new(Code::Unauthorized, missing))?;
    key.verify(token, expected, request.arrived_ms())
        .map_err(Refusal::of_token)
}
