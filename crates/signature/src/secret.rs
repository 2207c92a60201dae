//! One signing secret.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

/// Fewest characters a secret may have.
pub const MIN_SECRET_CHARS: usize = 32;

/// Standard Webhooks' prefix for a base64 secret.
const PREFIX: &str = "whsec_";

/// A secret of at least [`MIN_SECRET_CHARS`] printable ASCII characters, wiped when dropped.
///
/// The MAC key is the text's own bytes. `whsec_` plus the text's base64 is the same secret in
/// Standard Webhooks' form; both forms give equal values. `Debug` shows no character of it.
#[derive(Clone)]
pub struct Secret(SecretString);

/// Why a text is no secret. The messages never repeat the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// No characters at all.
    #[error("the secret is empty")]
    Empty,
    /// Nothing but white space.
    #[error("the secret is blank")]
    Blank,
    /// White space before or after it, such as a line end that came with a paste.
    #[error("the secret has white space around it")]
    SurroundingWhitespace,
    /// Quotation marks around it.
    #[error("the secret has quotation marks around it")]
    Quoted,
    /// Pasted with a signature's version in front.
    #[error("the secret starts with `v1,whsec_`: remove the `v1,`")]
    PastedVersion,
    /// `whsec_` is followed by something that is no base64.
    #[error("what follows `whsec_` is not padded standard base64")]
    NotBase64,
    /// The text inside `whsec_` starts with `whsec_` again.
    #[error("the secret was put into `whsec_` form twice")]
    EncodedTwice,
    /// A character outside printable ASCII.
    #[error("the secret has a character that is not printable ASCII")]
    NotPrintable,
    /// Too short. Characters found.
    #[error("the secret has {chars} characters; it needs at least {MIN_SECRET_CHARS}")]
    TooShort {
        /// Characters found.
        chars: usize,
    },
}

impl Secret {
    /// Reads a secret from its text or its `whsec_` form.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        check_wrapping(text)?;
        let Some(encoded) = text.strip_prefix(PREFIX) else {
            return Self::from_plain(text);
        };
        let bytes = Zeroizing::new(
            STANDARD
                .decode(encoded)
                .map_err(|_| SecretError::NotBase64)?,
        );
        let inner = str::from_utf8(&bytes).map_err(|_| SecretError::NotPrintable)?;
        if inner.starts_with(PREFIX) {
            return Err(SecretError::EncodedTwice);
        }
        check_wrapping(inner)?;
        Self::from_plain(inner)
    }

    fn from_plain(text: &str) -> Result<Self, SecretError> {
        if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(SecretError::NotPrintable);
        }
        if text.len() < MIN_SECRET_CHARS {
            return Err(SecretError::TooShort { chars: text.len() });
        }
        Ok(Self(SecretString::from(text)))
    }

    /// The secret in Standard Webhooks' form, for handing to a signer. This exposes it.
    pub fn to_whsec(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.key()))
    }

    /// The MAC key.
    pub(crate) fn key(&self) -> &[u8] {
        self.0.expose_secret().as_bytes()
    }

    /// Whether two secrets have one value. Used on configured keys only, never on received data.
    pub(crate) fn same_value(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

/// The mistakes people make when they paste a secret.
fn check_wrapping(text: &str) -> Result<(), SecretError> {
    if text.is_empty() {
        return Err(SecretError::Empty);
    }
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(SecretError::Blank);
    }
    if trimmed.len() != text.len() {
        return Err(SecretError::SurroundingWhitespace);
    }
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`' | '\u{201c}' | '\u{201d}');
    if text.starts_with(is_quote) && text.ends_with(is_quote) {
        return Err(SecretError::Quoted);
    }
    if text.starts_with("v1,whsec_") {
        return Err(SecretError::PastedVersion);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0123456789abcdef0123456789abcdef";

    fn refused(text: &str) -> SecretError {
        Secret::parse(text).unwrap_err()
    }

    #[test]
    fn a_secret_needs_32_printable_characters() {
        assert_eq!(refused(""), SecretError::Empty);
        assert_eq!(refused(&" ".repeat(40)), SecretError::Blank);
        assert_eq!(refused("\n\t"), SecretError::Blank);
        assert_eq!(refused(&TEXT[1..]), SecretError::TooShort { chars: 31 });
        assert_eq!(refused(&"é".repeat(32)), SecretError::NotPrintable);
        assert_eq!(
            refused(&TEXT.replace('a', "\u{7f}")),
            SecretError::NotPrintable
        );
        assert!(Secret::parse(TEXT).is_ok());
        assert!(Secret::parse("four words and more: ~32 characters").is_ok());
    }

    #[test]
    fn the_mistakes_of_pasting_are_named() {
        assert_eq!(
            refused(&format!("{TEXT}\n")),
            SecretError::SurroundingWhitespace
        );
        assert_eq!(
            refused(&format!(" {TEXT}")),
            SecretError::SurroundingWhitespace
        );
        assert_eq!(refused(&format!("\"{TEXT}\"")), SecretError::Quoted);
        assert_eq!(refused(&format!("'{TEXT}'")), SecretError::Quoted);
        assert_eq!(refused("v1,whsec_MDEyMw=="), SecretError::PastedVersion);
        assert_eq!(refused("whsec_"), SecretError::Empty);
        assert_eq!(refused("whsec_not base64!"), SecretError::NotBase64);
        assert_eq!(
            refused("whsec_MDEyMw=="),
            SecretError::TooShort { chars: 4 }
        );
        // Random bytes, the usual form elsewhere: a CRM function could not use them as a key.
        let random = format!("whsec_{}", STANDARD.encode([0xfe; 40]));
        assert_eq!(refused(&random), SecretError::NotPrintable);
        let inner = format!("whsec_{}", STANDARD.encode(TEXT));
        let twice = format!("whsec_{}", STANDARD.encode(&inner));
        assert_eq!(refused(&twice), SecretError::EncodedTwice);
        let lined = format!("whsec_{}", STANDARD.encode(format!("{TEXT}\n")));
        assert_eq!(refused(&lined), SecretError::SurroundingWhitespace);
    }

    #[test]
    fn both_forms_are_the_same_secret() {
        let text = Secret::parse(TEXT).unwrap();
        let whsec = Secret::parse(&text.to_whsec()).unwrap();
        assert!(text.same_value(&whsec));
        assert_eq!(whsec.key(), TEXT.as_bytes());
        assert_eq!(whsec.to_whsec(), text.to_whsec());
    }

    #[test]
    fn debug_and_errors_show_nothing_of_the_secret() {
        let shown = format!("{:?}", Secret::parse(TEXT).unwrap());
        assert!(!shown.contains("0123"), "{shown}");
        let error = refused(&TEXT[1..]);
        assert!(!format!("{error} {error:?}").contains("1234"));
    }
}
