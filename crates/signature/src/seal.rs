//! The seal that binds what a person confirmed.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::Secret;
use crate::mac::labelled;

/// Distinguishes a seal from everything else under a MAC.
const LABEL: &str = "sendtrail/seal/v1";
/// Characters of a seal: 32 bytes in base64url without padding.
const SEAL_CHARS: usize = 43;

/// Makes and checks seals of one stage. A seal of another stage or a token never passes.
#[derive(Clone, Debug)]
pub struct SealKey {
    secret: Secret,
    stage: String,
}

impl SealKey {
    /// A seal key for `stage`, the short name that is also in `aud`.
    pub fn new(secret: Secret, stage: &str) -> Self {
        Self {
            secret,
            stage: stage.to_owned(),
        }
    }

    /// The seal of `message`: 43 characters of base64url.
    pub fn seal(&self, message: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(labelled(self.secret.key(), &[LABEL, &self.stage], message).tag())
    }

    /// Whether `seal` is the seal of `message`. Constant time in the seal's bytes.
    pub fn check(&self, message: &[u8], seal: &str) -> bool {
        // The text comes from the CRM and may have any length; a true seal has one.
        seal.len() == SEAL_CHARS
            && URL_SAFE_NO_PAD.decode(seal).is_ok_and(|tag| {
                labelled(self.secret.key(), &[LABEL, &self.stage], message).matches(&tag)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(letter: &str, stage: &str) -> SealKey {
        SealKey::new(Secret::parse(&letter.repeat(32)).unwrap(), stage)
    }

    #[test]
    fn a_seal_holds_for_its_message_key_and_stage_only() {
        let seal = key("k", "local").seal(b"message");
        assert!(key("k", "local").check(b"message", &seal));
        assert!(!key("k", "local").check(b"messagf", &seal));
        assert!(!key("k", "prod").check(b"message", &seal));
        assert!(!key("j", "local").check(b"message", &seal));
    }

    #[test]
    fn no_part_of_a_seal_passes() {
        let key = key("k", "local");
        let seal = key.seal(b"m");
        assert_eq!(seal.len(), 43);
        for cut in 0..seal.len() {
            assert!(!key.check(b"m", &seal[..cut]), "prefix of {cut}");
        }
        assert!(!key.check(b"m", &format!("{seal}A")));
        assert!(!key.check(b"m", &format!("{seal}=")));
        assert!(!key.check(b"m", &seal.to_ascii_lowercase()));
    }

    proptest! {
        #[test]
        fn check_is_total(message in prop::collection::vec(any::<u8>(), 0..200), seal in ".{0,80}") {
            prop_assert!(!key("k", "local").check(&message, &seal));
        }
    }
}
