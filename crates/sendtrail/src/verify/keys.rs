//! The keys that may have signed, and the bytes that a signer may have made of each.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sendtrail_signature::{KeyRing, Secret};

use super::body::lenient_base64;
use super::change::{Change, Form, Place};
use crate::failure::{Failure, Kind};

/// A key and where it comes from.
#[derive(Debug, Clone)]
pub(super) struct NamedKey {
    /// Where it comes from, for people; no part of it.
    pub(super) label: String,
    pub(super) secret: Secret,
    /// Whether the door has it. A key of another function is tried to explain a refusal, and verifies nothing.
    pub(super) is_due: bool,
}

impl NamedKey {
    /// The text of the secret, which is the key of the MAC.
    fn text(&self) -> Vec<u8> {
        let whsec = self.secret.to_whsec();
        let encoded = whsec.strip_prefix("whsec_").unwrap_or(&whsec);
        STANDARD.decode(encoded).unwrap_or_default()
    }

    /// The key as it is due, then what else may have been made of it.
    pub(super) fn forms(&self) -> Vec<Form<Vec<u8>>> {
        let text = self.text();
        let whsec = self.secret.to_whsec();
        let encoded = whsec.strip_prefix("whsec_").unwrap_or(&whsec).to_owned();
        let mut forms = vec![if self.is_due {
            Form::plain(text.clone())
        } else {
            let what = format!("it was signed with {}", self.label);
            let fix =
                "Sign with the key of the function that is called; each function has its own.";
            let change = Change::new(Place::Key, "key_of_other_function", what, fix);
            Form::changed(change, text.clone())
        }];
        let mut add = |name, what: &str, fix, bytes: Vec<u8>| {
            if bytes != text {
                forms.push(Form::changed(
                    Change::new(Place::Key, name, what, fix),
                    bytes,
                ));
            }
        };
        add(
            "key_whsec_text",
            "the whole whsec_ text was used as key",
            USE_TEXT,
            whsec.clone().into_bytes(),
        );
        add(
            "key_base64_text",
            "the base64 after whsec_ was used as key, without decoding it",
            USE_TEXT,
            encoded.clone().into_bytes(),
        );
        if let Some(bytes) = lenient_base64(&text) {
            let what = "the secret's text was decoded as base64 and the result used as key";
            add("key_base64_decoded", what, USE_WHSEC, bytes);
        }
        if let Some(bytes) = decoded_loosely(&text) {
            let what = "the secret's text was decoded as base64, leaving out - and _, and the result used as key";
            add("key_base64_decoded_loosely", what, USE_WHSEC, bytes);
        }
        if let Some(bytes) = hex_bytes(&text) {
            let what =
                "the secret's text was decoded as hexadecimal digits and the result used as key";
            add("key_hex_decoded", what, USE_TEXT, bytes);
        }
        for (end, word) in [("\n", "LF"), ("\r\n", "CRLF")] {
            let what = format!("a line end ({word}) after the secret was taken into the key");
            let bytes = [text.as_slice(), end.as_bytes()].concat();
            add("key_with_line_end", &what, TRIM, bytes);
        }
        let quoted = [b"\"".as_slice(), &text, b"\""].concat();
        add(
            "key_quoted",
            "quotation marks were taken into the key",
            TRIM,
            quoted,
        );
        let twice = STANDARD.encode(whsec.as_bytes());
        add(
            "key_whsec_in_base64",
            "the whsec_ text was put into base64 once more and used as key",
            USE_TEXT,
            twice.into_bytes(),
        );
        for missing in ["", "undefined", "null", "None"] {
            let what = format!("the key was \"{missing}\": the signer has no secret");
            let fix = "Give the signer its secret: the variable, property or function it reads it from is not set.";
            add("key_missing", &what, fix, missing.as_bytes().to_vec());
        }
        forms
    }
}

const USE_TEXT: &str = "Use the secret's text as key, byte for byte; a Standard Webhooks library takes the whsec_ form.";
const USE_WHSEC: &str = "Give the library the whsec_ form (whsec_ and the base64 of the text): it decodes what it is given.";
const TRIM: &str = "Give the signer the secret alone, without quotation marks or a line end.";

/// What PHP and others make of text that is no clean base64: they leave out every other character.
fn decoded_loosely(text: &[u8]) -> Option<Vec<u8>> {
    let known = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let kept: Vec<u8> = text.iter().filter(known).copied().collect();
    lenient_base64(&kept)
}

fn hex_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let is_hex = text.iter().all(u8::is_ascii_hexdigit) && text.len().is_multiple_of(2);
    let pair = |two: &[u8]| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok();
    is_hex.then(|| text.chunks(2).map(pair).collect()).flatten()
}

/// The keys of the door as a ring. The ring's names are positions, so that any label can be shown.
pub(super) fn ring(keys: &[NamedKey]) -> Result<KeyRing, Failure> {
    let due = keys.iter().enumerate().filter(|(_, key)| key.is_due);
    let named = due.map(|(index, key)| (index.to_string(), key.secret.clone()));
    KeyRing::new(named.collect())
        .map_err(|error| Failure::new(Kind::Usage, format!("the keys cannot be used: {error}")))
}

/// The label of the key that a ring names.
pub(super) fn label<'a>(keys: &'a [NamedKey], name: &str) -> &'a str {
    let index: Option<usize> = name.parse().ok();
    let key = index.and_then(|index| keys.get(index));
    key.map_or("", |key| key.label.as_str())
}

/// Without the keys that have the value of an earlier one: one key given twice is no mistake here.
pub(super) fn distinct(keys: Vec<NamedKey>) -> Vec<NamedKey> {
    let mut kept: Vec<NamedKey> = Vec::new();
    for key in keys {
        let value = key.secret.to_whsec();
        if kept.iter().all(|other| other.secret.to_whsec() != value) {
            kept.push(key);
        }
    }
    kept
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::verify) fn key(label: &str, text: &str) -> NamedKey {
        NamedKey {
            label: label.to_owned(),
            secret: Secret::parse(text).unwrap(),
            is_due: true,
        }
    }

    #[test]
    fn the_due_key_is_the_text_and_every_other_form_differs() {
        let text = "0123456789abcdef0123456789ABCDEF";
        for given in [text.to_owned(), key("k", text).secret.to_whsec()] {
            let forms = key("k", &given).forms();
            assert_eq!(forms[0].value, text.as_bytes());
            assert!(forms[0].change.is_none());
            assert!(
                forms
                    .iter()
                    .skip(1)
                    .all(|f| f.change.is_some() && f.value != text.as_bytes())
            );
            let names: Vec<_> = forms
                .iter()
                .filter_map(|f| Some(f.change.as_ref()?.name))
                .collect();
            for due in [
                "key_whsec_text",
                "key_base64_text",
                "key_base64_decoded",
                "key_hex_decoded",
                "key_missing",
            ] {
                assert!(names.contains(&due), "{due} in {names:?}");
            }
        }
    }

    #[test]
    fn no_text_of_a_form_shows_the_secret() {
        let text = "a key of this test that is long enough";
        for form in key("k1", text).forms() {
            let shown = format!("{:?}", form.change);
            assert!(
                !shown.contains("long enough") && !shown.contains("YSBrZXk"),
                "{shown}"
            );
        }
        let shown = format!("{:?}", key("k1", text));
        assert!(!shown.contains("long enough"), "{shown}");
    }

    #[test]
    fn a_key_of_another_function_is_in_no_ring() {
        let mut other = key("other", "another key of this test, long enough");
        other.is_due = false;
        let own = key("own", "a key of this test that is long enough");
        let keys = vec![other.clone(), own.clone()];
        let ring = ring(&keys).unwrap();
        let names: Vec<_> = ring.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["1"]);
        assert_eq!(label(&keys, "1"), "own");
        assert_eq!(distinct(vec![own.clone(), own, other]).len(), 2);
    }
}
