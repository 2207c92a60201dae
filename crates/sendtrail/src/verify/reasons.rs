//! What each reason of a refusal means, and what to do about it.

/// A reason in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) reason: &'static str,
    pub(super) meaning: &'static str,
    pub(super) fix: &'static str,
}

const fn words(reason: &'static str, meaning: &'static str, fix: &'static str) -> Words {
    Words {
        reason,
        meaning,
        fix,
    }
}

const HEADERS: &str =
    "Send all three headers: webhook-id, webhook-timestamp and webhook-signature.";
const ONE: &str = "Set the header once; a client may add to it instead of replacing it.";
const FORM: &str =
    "Write webhook-signature as v1, a comma, and the padded standard base64 of the 32 bytes.";
const SECONDS: &str =
    "Sign and send whole Unix seconds: 1 to 12 digits, no sign and no leading zero.";
const CLOCK: &str = "Sign right before sending, and set the signer's clock (NTP). A repeat needs a new timestamp and signature, with the same id.";
const BODY: &str =
    "Sign a body that is JSON as the route expects it; the answer's errors name the wrong places.";

const REASONS: [Words; 31] = [
    words("missing_id", "webhook-id is missing or empty", HEADERS),
    words(
        "missing_timestamp",
        "webhook-timestamp is missing or empty",
        HEADERS,
    ),
    words(
        "missing_signature",
        "webhook-signature is missing or empty",
        HEADERS,
    ),
    words(
        "repeated_id",
        "webhook-id came more than once, or holds a comma",
        ONE,
    ),
    words(
        "repeated_timestamp",
        "webhook-timestamp came more than once, or holds a comma",
        ONE,
    ),
    words(
        "id_too_long",
        "webhook-id has more than 200 bytes",
        "Use a shorter id, such as msg_ and 32 characters.",
    ),
    words(
        "timestamp_too_long",
        "webhook-timestamp is too long to be a number",
        SECONDS,
    ),
    words(
        "signature_too_long",
        "webhook-signature has more than 2048 bytes",
        FORM,
    ),
    words(
        "no_known_version",
        "webhook-signature has no entry that starts with v1 and a comma",
        FORM,
    ),
    words(
        "signature_is_hex",
        "the signature is in hexadecimal digits; base64 is due",
        "Ask the HMAC function for base64, or for bytes and encode them. In Deluge: zoho.encryption.hmacsha256(key, text, \"base64\").",
    ),
    words(
        "signature_not_base64",
        "the signature is not padded standard base64",
        FORM,
    ),
    words(
        "signature_length",
        "the signature has not 32 bytes: 20 would be SHA-1, 64 SHA-512, 48 hexadecimal digits read as base64",
        "Use HMAC-SHA256 and send all of its 32 bytes, in base64.",
    ),
    words(
        "mismatch",
        "no active key made this signature over this id, timestamp and body",
        "Compare what was signed with what arrived, byte for byte, and the key with the configured one.",
    ),
    words(
        "id_characters",
        "the signature is right, but webhook-id has a character outside A-Z a-z 0-9 _ : -",
        "Use only these characters; a dot is none of them.",
    ),
    words(
        "timestamp_format",
        "the signature is right, but webhook-timestamp is no plain number of seconds",
        SECONDS,
    ),
    words(
        "timestamp_in_milliseconds",
        "the signature is right, but webhook-timestamp is in milliseconds",
        "Divide by 1000 and drop the rest, before signing. In Deluge: (zoho.currenttime.toLong() / 1000).toLong().",
    ),
    words(
        "too_old",
        "the signature is right, but it was made more than 300 s before the request arrived",
        CLOCK,
    ),
    words(
        "too_new",
        "the signature is right, but its timestamp is more than 300 s ahead of the arrival",
        CLOCK,
    ),
    words(
        "other_aud",
        "the signature is right, but the body's aud is not this stage and function",
        "Set aud to STAGE/intake or STAGE/side-effect, as the called function is.",
    ),
    words(
        "other_op",
        "the signature is right, but the body's op is not what this method and path do",
        "Set op to save for /v1/histories and to send for /v1/sends.",
    ),
    words(
        "other_history_id",
        "the signature is right, but the body's history_id is not the one of the path, or is not due here",
        "Name the record of the path in the body; POST /v1/histories names none.",
    ),
    words(
        "body_not_json",
        "the signature is right, but the body is no JSON",
        BODY,
    ),
    words(
        "body_repeated_key",
        "the signature is right, but the body has a key twice",
        "Write every key once, at every level.",
    ),
    words(
        "body_reserved_key",
        "the signature is right, but the body has a reserved key",
        BODY,
    ),
    words(
        "body_shape",
        "the signature is right, but the body has not the fields of this route",
        BODY,
    ),
    words(
        "body_too_large",
        "the body is longer than the door takes; the signature was not looked at",
        "Send less: a signed body has at most 64 KiB.",
    ),
    words(
        "body_not_base64",
        "the body's base64 could not be decoded; the signature was not looked at",
        "Send the body as it is; only the gateway puts it into base64.",
    ),
    words(
        "token_missing",
        "this route takes the token of the save answer, not a signature, and none came",
        "Send it as authorization: Bearer and the token.",
    ),
    words(
        "receipt_missing",
        "the confirm needs the receipt of the preview answer, and none came",
        "Send it in the header sendtrail-receipt.",
    ),
    words(
        "token_expired",
        "the token, ticket or receipt is too old; this is not about a signature",
        "Save again: the answer has new tokens.",
    ),
    words(
        "token_other_rev",
        "the token, ticket or receipt is of an earlier save; this is not about a signature",
        "Use the tokens of the last save answer, and the receipt of a preview made with them.",
    ),
];

/// The words for a reason of the doors' log, where it is one about the signature or the signed body.
pub(super) fn of(reason: &str) -> Option<Words> {
    REASONS.into_iter().find(|words| words.reason == reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sendtrail_signature::SignatureError as E;
    use std::collections::BTreeSet;

    #[test]
    fn every_reason_of_the_signature_has_words() {
        let all = [
            E::MissingId,
            E::MissingTimestamp,
            E::MissingSignature,
            E::RepeatedId,
            E::RepeatedTimestamp,
            E::IdTooLong,
            E::TimestampTooLong,
            E::SignatureTooLong,
            E::NoKnownVersion,
            E::SignatureIsHex,
            E::SignatureNotBase64,
            E::SignatureLength { bytes: 1 },
            E::Mismatch,
            E::IdCharacters,
            E::TimestampFormat,
            E::TimestampInMilliseconds,
            E::TooOld { seconds: 301 },
            E::TooNew { seconds: 301 },
        ];
        for error in all {
            let words = of(error.reason()).unwrap_or_else(|| panic!("{}", error.reason()));
            assert!(words.fix.ends_with('.') && !words.meaning.ends_with('.'));
        }
    }

    #[test]
    fn every_reason_comes_once() {
        let names: BTreeSet<_> = REASONS.iter().map(|words| words.reason).collect();
        assert_eq!(names.len(), REASONS.len());
        assert_eq!(of("no_route"), None);
    }
}
