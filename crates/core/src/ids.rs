//! Identifiers, parsed once at the edge so that no bare text travels inward.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// Text that is not the identifier it was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{what}: expected {expected}")]
pub struct BadId {
    /// Which identifier was expected.
    pub what: &'static str,
    /// The form it must have.
    pub expected: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $expected:literal, $ok:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Parses the text.
            ///
            /// # Errors
            /// [`BadId`] when the text does not have the form above.
            pub fn parse(text: &str) -> Result<Self, BadId> {
                let ok: fn(&str) -> bool = $ok;
                if ok(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(BadId { what: $what, expected: $expected })
                }
            }

            /// The text as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                Self::parse(&text)
            }
        }
    };
}

fn word(text: &str, max: usize, extra: &[u8]) -> bool {
    (1..=max).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || extra.contains(&b))
}

text_id!(
    /// The CRM's id of one history record: 1 to 64 of `0-9 A-Z a-z _ -`. Zoho's are up to 19 digits.
    HistoryId,
    "history id",
    "1 to 64 letters, digits, _ or -",
    |t| word(t, 64, b"_-")
);
text_id!(
    /// The CRM's version of a record, opaque: handed back byte for byte, never reformatted.
    Revision,
    "revision",
    "1 to 64 printable ASCII characters",
    |t| (1..=64).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_graphic())
);
text_id!(
    /// The idempotency key of a signed request: its `webhook-id`. No dot, since the signature joins with dots.
    RequestKey,
    "request key",
    "1 to 200 letters, digits, _ : or -",
    |t| word(t, 200, b"_:-")
);
text_id!(
    /// Names one write of a history record, so that a lost reply can be told from a lost request.
    WriteId,
    "write id",
    "1 to 64 letters, digits, _ or -",
    |t| word(t, 64, b"_-")
);
text_id!(
    /// Names one claim: proof that this invocation, and no other, may submit.
    ClaimToken,
    "claim token",
    "1 to 64 letters, digits, _ or -",
    |t| word(t, 64, b"_-")
);
text_id!(
    /// Our own reference at the external send API, and the idempotency key given to it.
    Reference,
    "reference",
    "1 to 64 letters, digits, _ or -",
    |t| word(t, 64, b"_-")
);
text_id!(
    /// The id of a driver: the name of its file without `.toml`.
    DriverId,
    "driver id",
    "1 to 64 lower-case letters, digits or -",
    |t| (1..=64).contains(&t.len())
        && t.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
);
text_id!(
    /// The id an external send API gave to what it accepted: 1 to 200 printable ASCII characters.
    ExternalId,
    "external id",
    "1 to 200 printable ASCII characters",
    |t| (1..=200).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_graphic())
);
text_id!(
    /// The CRM's handle of a stored file: 1 to 255 printable ASCII characters.
    FileId,
    "file id",
    "1 to 255 printable ASCII characters",
    |t| (1..=255).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_graphic())
);
text_id!(
    /// The API name of a CRM module or field, or an id in it: 1 to 64 of `0-9 A-Z a-z _`.
    CrmName,
    "CRM name",
    "1 to 64 letters, digits or _",
    |t| word(t, 64, b"_")
);

/// A SHA-256, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256Hash([u8; 32]);

impl Sha256Hash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Parses 64 lower-case hex digits.
    ///
    /// # Errors
    /// [`BadId`] for any other text; upper case is refused so that one hash has one spelling.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        const BAD: BadId = BadId {
            what: "SHA-256",
            expected: "64 lower-case hex digits",
        };
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(BAD);
        }
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
            let high = hex_digit(pair[0]).ok_or(BAD)?;
            let low = hex_digit(pair[1]).ok_or(BAD)?;
            *byte = high << 4 | low;
        }
        Ok(Self(out))
    }
}

fn hex_digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}

/// Lower-case hex of these bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

impl fmt::Display for Sha256Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Sha256Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256Hash {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        Self::parse(text)
    }
}

/// The reference given to the send API, and its idempotency key.
///
/// Derived from stage, history id and document hash, never from the claim: should everything else fail,
/// two submits of one document carry one key and the API can tell the repeat.
pub fn derive_reference(stage: &str, history_id: &HistoryId, document: &Sha256Hash) -> Reference {
    let seed = format!("sendtrail/reference/v1\n{stage}\n{history_id}\n{document}");
    Reference(format!("st_{}", hex(&Sha256::digest(seed)[..16])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_refuse_separators_spaces_and_excess_length() {
        for bad in ["", "a/b", "a b", "a.b", "é", &"x".repeat(65)] {
            assert!(HistoryId::parse(bad).is_err(), "{bad:?}");
        }
        assert!(HistoryId::parse("5725767000000524157").is_ok());
        assert!(RequestKey::parse("msg.1").is_err());
        assert!(Revision::parse("2026-01-01T00:00:00+05:30").is_ok());
        assert!(Revision::parse("a\r\nb").is_err());
    }

    #[test]
    fn one_hash_has_one_spelling() {
        let hash = Sha256Hash::of(b"");
        let text = hash.to_string();
        assert_eq!(
            text,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(Sha256Hash::parse(&text), Ok(hash));
        assert!(Sha256Hash::parse(&text.to_uppercase()).is_err());
        assert!(Sha256Hash::parse(&text[1..]).is_err());
    }

    #[test]
    fn the_reference_depends_on_stage_record_and_document_only() {
        let id = HistoryId::parse("1").unwrap();
        let other = HistoryId::parse("2").unwrap();
        let (a, b) = (Sha256Hash::of(b"a"), Sha256Hash::of(b"b"));
        let base = derive_reference("dev", &id, &a);
        assert_eq!(base, derive_reference("dev", &id, &a));
        assert_ne!(base, derive_reference("prod", &id, &a));
        assert_ne!(base, derive_reference("dev", &other, &a));
        assert_ne!(base, derive_reference("dev", &id, &b));
        assert_eq!(base.as_str().len(), 35);
    }
}
