//! Standard Webhooks: sign and verify.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::mac::{Computed, TAG_BYTES};
use crate::{KeyRing, Secret};

/// Furthest a timestamp may be from now, in seconds, in either direction.
pub const TOLERANCE_SECONDS: u64 = 300;
/// Longest `webhook-id`, in bytes.
pub const MAX_ID_BYTES: usize = 200;
/// Longest `webhook-signature` header, in bytes. Room for about forty signatures.
pub const MAX_SIGNATURE_BYTES: usize = 2048;
/// Longest timestamp that is still worth a MAC, in bytes.
const MAX_TIMESTAMP_BYTES: usize = 64;
/// Most digits of a timestamp in seconds.
const MAX_TIMESTAMP_DIGITS: usize = 12;

/// The three headers as received, not trimmed and not decoded. `None` where one is missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignedHeaders<'a> {
    /// `webhook-id`.
    pub id: Option<&'a [u8]>,
    /// `webhook-timestamp`.
    pub timestamp: Option<&'a [u8]>,
    /// `webhook-signature`; repeated headers joined by a comma.
    pub signature: Option<&'a [u8]>,
}

/// What a good signature proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<'a> {
    /// Name of the key that signed, for a metric.
    pub key_name: &'a str,
    /// `webhook-id`, 1 to 200 characters of `[A-Za-z0-9_:-]`.
    pub id: &'a str,
    /// `webhook-timestamp`, Unix seconds.
    pub timestamp: i64,
}

/// Why a signed request is refused. One answer outside for all of them; the exact reason is for
/// the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// No `webhook-id`, or an empty one.
    #[error("webhook-id is missing")]
    MissingId,
    /// No `webhook-timestamp`, or an empty one.
    #[error("webhook-timestamp is missing")]
    MissingTimestamp,
    /// No `webhook-signature`, or an empty one.
    #[error("webhook-signature is missing")]
    MissingSignature,
    /// More than one `webhook-id`, joined by a comma.
    #[error("webhook-id is repeated")]
    RepeatedId,
    /// More than one `webhook-timestamp`, joined by a comma.
    #[error("webhook-timestamp is repeated")]
    RepeatedTimestamp,
    /// Longer than [`MAX_ID_BYTES`].
    #[error("webhook-id is too long")]
    IdTooLong,
    /// Too long to be a number.
    #[error("webhook-timestamp is too long")]
    TimestampTooLong,
    /// Longer than [`MAX_SIGNATURE_BYTES`].
    #[error("webhook-signature is too long")]
    SignatureTooLong,
    /// No entry of version `v1`.
    #[error("webhook-signature has no v1 entry")]
    NoKnownVersion,
    /// 64 hexadecimal digits where base64 is due.
    #[error("the signature is hex; base64 is due")]
    SignatureIsHex,
    /// Not padded standard base64.
    #[error("the signature is not base64")]
    SignatureNotBase64,
    /// Base64 of another length than 32 bytes.
    #[error("the signature has {bytes} bytes; 32 are due")]
    SignatureLength {
        /// Bytes found.
        bytes: usize,
    },
    /// A well-formed signature of something else, or by an unknown key.
    #[error("no active key made this signature")]
    Mismatch,
    /// Signed, but the id has a character outside `[A-Za-z0-9_:-]`.
    #[error("webhook-id has a forbidden character")]
    IdCharacters,
    /// Signed, but the timestamp is not 1 to 12 digits without a leading zero.
    #[error("webhook-timestamp is not a plain number of seconds")]
    TimestampFormat,
    /// Signed, but the timestamp has 13 digits.
    #[error("webhook-timestamp looks like milliseconds")]
    TimestampInMilliseconds,
    /// Signed more than [`TOLERANCE_SECONDS`] ago.
    #[error("signed {seconds} s ago")]
    TooOld {
        /// Age in seconds.
        seconds: u64,
    },
    /// Signed more than [`TOLERANCE_SECONDS`] in the future.
    #[error("signed {seconds} s ahead")]
    TooNew {
        /// Seconds ahead.
        seconds: u64,
    },
}

impl SignatureError {
    /// A stable word for the log and for tests.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::MissingId => "missing_id",
            Self::MissingTimestamp => "missing_timestamp",
            Self::MissingSignature => "missing_signature",
            Self::RepeatedId => "repeated_id",
            Self::RepeatedTimestamp => "repeated_timestamp",
            Self::IdTooLong => "id_too_long",
            Self::TimestampTooLong => "timestamp_too_long",
            Self::SignatureTooLong => "signature_too_long",
            Self::NoKnownVersion => "no_known_version",
            Self::SignatureIsHex => "signature_is_hex",
            Self::SignatureNotBase64 => "signature_not_base64",
            Self::SignatureLength { .. } => "signature_length",
            Self::Mismatch => "mismatch",
            Self::IdCharacters => "id_characters",
            Self::TimestampFormat => "timestamp_format",
            Self::TimestampInMilliseconds => "timestamp_in_milliseconds",
            Self::TooOld { .. } => "too_old",
            Self::TooNew { .. } => "too_new",
        }
    }
}

/// The value of `webhook-signature` for a message: `v1,<base64>`.
///
/// `timestamp` is the header's text, Unix seconds. Nothing is checked here: a verifier does.
pub fn sign(secret: &Secret, id: &str, timestamp: &str, body: &[u8]) -> String {
    let computed = message_mac(secret, id.as_bytes(), timestamp.as_bytes(), body);
    format!("v1,{}", STANDARD.encode(computed.tag()))
}

/// Checks a signed message. `now_ms` is Unix milliseconds, the gateway's arrival time.
///
/// Order: presence and length of the headers, the MAC, and only then what the headers say.
pub fn verify<'a>(
    headers: &SignedHeaders<'a>,
    body: &[u8],
    now_ms: i64,
    ring: &'a KeyRing,
) -> Result<Verified<'a>, SignatureError> {
    use SignatureError as E;
    let id = bounded(headers.id, MAX_ID_BYTES, E::MissingId, E::IdTooLong)?;
    let timestamp = bounded(
        headers.timestamp,
        MAX_TIMESTAMP_BYTES,
        E::MissingTimestamp,
        E::TimestampTooLong,
    )?;
    let signature = bounded(
        headers.signature,
        MAX_SIGNATURE_BYTES,
        E::MissingSignature,
        E::SignatureTooLong,
    )?;
    if id.contains(&b',') {
        return Err(E::RepeatedId);
    }
    if timestamp.contains(&b',') {
        return Err(E::RepeatedTimestamp);
    }
    let tags = read_tags(signature)?;
    let key_name = matching_key(ring, &tags, id, timestamp, body).ok_or(E::Mismatch)?;
    let id = str::from_utf8(id)
        .ok()
        .filter(|id| is_webhook_id(id))
        .ok_or(E::IdCharacters)?;
    let timestamp = read_timestamp(timestamp)?;
    check_window(timestamp, now_ms)?;
    Ok(Verified {
        key_name,
        id,
        timestamp,
    })
}

/// Whether `id` may be a `webhook-id`: 1 to 200 characters of `[A-Za-z0-9_:-]`. A dot is not
/// among them, since dots join the parts of the signed message.
pub fn is_webhook_id(id: &str) -> bool {
    (1..=MAX_ID_BYTES).contains(&id.len())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_:-".contains(&b))
}

fn bounded(
    header: Option<&[u8]>,
    max: usize,
    missing: SignatureError,
    too_long: SignatureError,
) -> Result<&[u8], SignatureError> {
    match header {
        None | Some([]) => Err(missing),
        Some(text) if text.len() > max => Err(too_long),
        Some(text) => Ok(text),
    }
}

fn message_mac(secret: &Secret, id: &[u8], timestamp: &[u8], body: &[u8]) -> Computed {
    Computed::over(secret.key(), &[id, b".", timestamp, b".", body])
}

/// Every well-formed `v1` tag of a list joined by spaces or commas. When there is none, the
/// reason is that of the first `v1` entry.
fn read_tags(signature: &[u8]) -> Result<Vec<[u8; TAG_BYTES]>, SignatureError> {
    let mut tags = Vec::new();
    let mut first_error = None;
    for chunk in signature.split(|&b| b == b' ') {
        // Within a chunk, versions and values alternate: `v1,a,v1,b` is what a gateway makes of
        // two headers.
        let mut fields = chunk.split(|&b| b == b',');
        while let Some(version) = fields.next() {
            if version.is_empty() {
                continue;
            }
            let value = fields.next().unwrap_or_default();
            if version != b"v1" {
                continue;
            }
            match read_tag(value) {
                Ok(tag) => tags.push(tag),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
    }
    if tags.is_empty() {
        return Err(first_error.unwrap_or(SignatureError::NoKnownVersion));
    }
    Ok(tags)
}

fn read_tag(value: &[u8]) -> Result<[u8; TAG_BYTES], SignatureError> {
    if value.len() == 2 * TAG_BYTES && value.iter().all(u8::is_ascii_hexdigit) {
        return Err(SignatureError::SignatureIsHex);
    }
    let bytes = STANDARD
        .decode(value)
        .map_err(|_| SignatureError::SignatureNotBase64)?;
    let length = bytes.len();
    bytes
        .try_into()
        .map_err(|_| SignatureError::SignatureLength { bytes: length })
}

/// The first key that made one of the tags. Every key meets every tag, so that the time taken
/// does not tell which one it was.
fn matching_key<'a>(
    ring: &'a KeyRing,
    tags: &[[u8; TAG_BYTES]],
    id: &[u8],
    timestamp: &[u8],
    body: &[u8],
) -> Option<&'a str> {
    let mut found = None;
    for (name, secret) in ring.iter() {
        let computed = message_mac(secret, id, timestamp, body);
        for tag in tags {
            if computed.matches(tag) && found.is_none() {
                found = Some(name);
            }
        }
    }
    found
}

fn read_timestamp(text: &[u8]) -> Result<i64, SignatureError> {
    let plain = text.iter().all(u8::is_ascii_digit) && !text.starts_with(b"0");
    if plain && text.len() == MAX_TIMESTAMP_DIGITS + 1 {
        return Err(SignatureError::TimestampInMilliseconds);
    }
    if !plain || text.len() > MAX_TIMESTAMP_DIGITS {
        return Err(SignatureError::TimestampFormat);
    }
    let digits = text.iter().map(|digit| i64::from(digit - b'0'));
    Ok(digits.fold(0, |number, digit| number * 10 + digit))
}

fn check_window(timestamp: i64, now_ms: i64) -> Result<(), SignatureError> {
    let now = now_ms.div_euclid(1000);
    let seconds = now.abs_diff(timestamp);
    if seconds <= TOLERANCE_SECONDS {
        return Ok(());
    }
    Err(if timestamp < now {
        SignatureError::TooOld { seconds }
    } else {
        SignatureError::TooNew { seconds }
    })
}

#[cfg(test)]
mod tests;
