//! The operations a signer may have used, the right one first.
//!
//! The results are compared with signatures that were refused already, on the machine of someone who has the
//! keys. They open nothing, so the comparison need not take constant time.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256, Sha512};

use super::change::{Change, Form, Place};

/// What is done with key and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Hmac,
    /// HMAC with the text as key and the key as text.
    Swapped,
    HmacSha512,
    HashKeyText,
    HashTextKey,
    HashText,
}

impl Mode {
    /// The tag, 32 or 64 bytes.
    pub(super) fn tag(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        match self {
            Self::Hmac => hmac_sha256(key, text),
            Self::Swapped => hmac_sha256(text, key),
            Self::HmacSha512 => {
                let mut mac =
                    Hmac::<Sha512>::new_from_slice(key).expect("HMAC takes a key of any length");
                mac.update(text);
                mac.finalize().into_bytes().to_vec()
            }
            Self::HashKeyText => Sha256::digest([key, text].concat()).to_vec(),
            Self::HashTextKey => Sha256::digest([text, key].concat()).to_vec(),
            Self::HashText => Sha256::digest(text).to_vec(),
        }
    }
}

fn hmac_sha256(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// The right operation, then every other one.
pub(super) fn modes() -> Vec<Form<Mode>> {
    const HMAC: &str = "Use HMAC-SHA256 with the key as key and id.timestamp.body as text.";
    let changed =
        |mode, name, what: &str, fix| Form::changed(Change::new(Place::Mac, name, what, fix), mode);
    vec![
        Form::plain(Mode::Hmac),
        changed(
            Mode::Swapped,
            "key_and_text_swapped",
            "key and text were swapped: the text was used as key",
            "Swap the two arguments. In Deluge the key comes first: zoho.encryption.hmacsha256(key, text).",
        ),
        changed(
            Mode::HmacSha512,
            "hmac_sha512",
            "the MAC was made with SHA-512",
            HMAC,
        ),
        changed(
            Mode::HashKeyText,
            "hash_of_key_and_text",
            "a plain SHA-256 of key and text was taken, no HMAC",
            HMAC,
        ),
        changed(
            Mode::HashTextKey,
            "hash_of_text_and_key",
            "a plain SHA-256 of text and key was taken, no HMAC",
            HMAC,
        ),
        changed(
            Mode::HashText,
            "hash_without_key",
            "a plain SHA-256 of the text was taken, without any key",
            HMAC,
        ),
    ]
}

/// Lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// SHA-256 in lower-case hexadecimal digits, as the log of a refusal has it.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sendtrail_signature::Secret;

    #[test]
    fn the_right_operation_is_that_of_the_doors() {
        let text = "a key of this test that is long enough";
        let secret = Secret::parse(text).unwrap();
        let due = sendtrail_signature::sign(&secret, "msg_1", "17", b"{}");
        let tag = Mode::Hmac.tag(text.as_bytes(), b"msg_1.17.{}");
        assert_eq!(due, format!("v1,{}", STANDARD.encode(tag)));
    }

    #[test]
    fn every_operation_gives_another_tag() {
        let tags: Vec<_> = modes()
            .iter()
            .map(|mode| mode.value.tag(b"k", b"t"))
            .collect();
        for (index, tag) in tags.iter().enumerate() {
            assert!(tags.iter().skip(index + 1).all(|other| other != tag));
        }
        assert_eq!(modes().iter().filter(|m| m.change.is_none()).count(), 1);
        assert_eq!(tags[1], Mode::Hmac.tag(b"t", b"k"));
    }
}
