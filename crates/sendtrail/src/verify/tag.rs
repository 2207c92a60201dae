//! The signatures in `webhook-signature`, read more kindly than a door reads them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::body::lenient_base64;
use super::change::{Change, Place};

/// Fewest bytes of a cut tag: fewer could fit by chance.
const MIN_CUT: usize = 8;
/// Most signatures that are read.
const MAX_TAGS: usize = 64;

/// A tag and what is odd about the way it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) changes: Vec<Change>,
    bytes: Vec<u8>,
}

impl Tag {
    /// Whether this is the whole or, where it was cut, the start of a MAC.
    pub(super) fn fits(&self, mac: &[u8]) -> bool {
        mac.starts_with(&self.bytes)
    }
}

const FORM: &str =
    "Write webhook-signature as v1, a comma, and the padded standard base64 of the 32 bytes.";

fn change(name: &'static str, what: &str) -> Change {
    Change::new(Place::Signature, name, what, FORM)
}

/// Every tag that the header may mean, those without a change first.
pub(super) fn tags(header: &[u8]) -> Vec<Tag> {
    let text = String::from_utf8_lossy(header);
    let mut found = Vec::new();
    let mut read = |text: &str, around: &[Change]| {
        for (entry, odd) in entries(text) {
            for (form, bytes) in decodings(entry) {
                let changes = around.iter().chain(&odd).chain(&form).cloned().collect();
                let tag = Tag { changes, bytes };
                if !found.iter().any(|other: &Tag| other.bytes == tag.bytes) {
                    found.push(tag);
                }
            }
        }
    };
    read(&text, &[]);
    let bare = text.trim_matches(|c: char| c.is_whitespace() || "\"'<>".contains(c));
    read(
        bare,
        &[change(
            "signature_wrapped",
            "the signature has quotation marks or white space around it",
        )],
    );
    let decoded = bare
        .replace("%2B", "+")
        .replace("%2b", "+")
        .replace("%2F", "/")
        .replace("%2f", "/");
    let decoded = decoded
        .replace("%3D", "=")
        .replace("%3d", "=")
        .replace("%2C", ",")
        .replace("%2c", ",");
    read(
        &decoded,
        &[change(
            "signature_percent_encoded",
            "the signature was encoded with percent signs",
        )],
    );
    read(
        &bare.replace(' ', "+"),
        &[change(
            "signature_plus_lost",
            "the plus signs of the signature became spaces",
        )],
    );
    found.sort_by_key(|tag| tag.changes.len());
    found.truncate(MAX_TAGS);
    found
}

/// The single signatures in a list, with their versions taken off.
fn entries(text: &str) -> Vec<(&str, Option<Change>)> {
    let mut entries = Vec::new();
    for chunk in text.split([' ', ',']).filter(|chunk| !chunk.is_empty()) {
        entries.push(chunk);
    }
    let has_version = entries.contains(&"v1");
    let mut found = Vec::new();
    for entry in entries.into_iter().filter(|&entry| entry != "v1") {
        if has_version {
            found.push((entry, None));
        } else {
            let bare = change(
                "signature_without_version",
                "the signature has no v1, in front",
            );
            found.push((entry, Some(bare)));
        }
        for prefix in [
            "v1=",
            "v1:",
            "v1.",
            "v0=",
            "sha256=",
            "sha256:",
            "hmac-sha256=",
            "sig=",
            "whsec_",
        ] {
            if let Some(rest) = entry.strip_prefix(prefix) {
                let other = change(
                    "signature_other_prefix",
                    "the signature has another prefix than v1 and a comma",
                );
                found.push((rest, Some(other)));
            }
        }
    }
    found
}

/// The bytes an entry may stand for.
fn decodings(entry: &str) -> Vec<(Vec<Change>, Vec<u8>)> {
    let mut found = Vec::new();
    if let Some(bytes) = hex_bytes(entry) {
        let is_upper = entry.bytes().any(|byte| byte.is_ascii_uppercase());
        let (name, what) = if is_upper {
            (
                "signature_hex_upper",
                "the signature is in upper-case hexadecimal digits",
            )
        } else {
            ("signature_hex", "the signature is in hexadecimal digits")
        };
        found.push((Some(change(name, what)), bytes));
    }
    if let Ok(bytes) = STANDARD.decode(entry) {
        found.push((None, bytes));
    } else if let Some(bytes) = lenient_base64(entry.as_bytes()) {
        let (name, what) = if entry.contains(['-', '_']) {
            ("signature_base64url", "the signature is in base64url")
        } else {
            (
                "signature_unpadded",
                "the signature is in base64 without its padding",
            )
        };
        found.push((Some(change(name, what)), bytes));
    }
    let inner = found.iter().filter_map(|(_, bytes)| {
        let text = str::from_utf8(bytes).ok()?;
        if let Some(bytes) = hex_bytes(text) {
            let what = "the signature is the base64 of hexadecimal digits";
            return Some((Some(change("signature_base64_of_hex", what)), bytes));
        }
        let bytes = lenient_base64(text.as_bytes())?;
        let what = "the signature was put into base64 twice";
        Some((Some(change("signature_base64_twice", what)), bytes))
    });
    let inner: Vec<_> = inner.collect();
    found.extend(inner);
    found.into_iter().filter_map(with_length).collect()
}

/// A tag of full length, or one that was cut and is still long enough to tell.
fn with_length((form, bytes): (Option<Change>, Vec<u8>)) -> Option<(Vec<Change>, Vec<u8>)> {
    match bytes.len() {
        32 | 64 => Some((form.into_iter().collect(), bytes)),
        MIN_CUT..32 => {
            let what = format!("the signature was cut to {} of its 32 bytes", bytes.len());
            let cut = Change::new(Place::Signature, "signature_cut", what, FORM);
            Some((form.into_iter().chain([cut]).collect(), bytes))
        }
        _ => None,
    }
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    if !is_hex || !digits.len().is_multiple_of(2) || digits.len() < 2 * MIN_CUT {
        return None;
    }
    let pair = |two: &[u8]| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok();
    digits.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::mac::hex;
    use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};

    const MAC: [u8; 32] = [
        0xfb, 0xff, 0xfe, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
        23, 24, 25, 26, 27, 28, 29, 0xfb, 0xf0,
    ];

    fn names(header: &str) -> Vec<&'static str> {
        let tags = tags(header.as_bytes());
        let tag = tags.iter().find(|tag| tag.fits(&MAC));
        let tag = tag.unwrap_or_else(|| panic!("{header}: {tags:?}"));
        tag.changes.iter().map(|change| change.name).collect()
    }

    #[test]
    fn every_usual_spelling_is_read_and_named() {
        let base64 = STANDARD.encode(MAC);
        let hex = hex(&MAC);
        assert!(base64.contains('+') && base64.contains('/'));
        let none: [&str; 0] = [];
        assert_eq!(names(&format!("v1,{base64}")), none);
        assert_eq!(names(&format!("v2,abc v1,{base64}")), none);
        assert_eq!(names(&format!("v1,{hex}")), ["signature_hex"]);
        let upper = hex.to_uppercase();
        assert_eq!(names(&format!("v1,{upper}")), ["signature_hex_upper"]);
        let of_hex = STANDARD.encode(&hex);
        assert_eq!(names(&format!("v1,{of_hex}")), ["signature_base64_of_hex"]);
        let twice = STANDARD.encode(&base64);
        assert_eq!(names(&format!("v1,{twice}")), ["signature_base64_twice"]);
        for url in [URL_SAFE.encode(MAC), URL_SAFE_NO_PAD.encode(MAC)] {
            assert_eq!(names(&format!("v1,{url}")), ["signature_base64url"]);
        }
        let unpadded = base64.trim_end_matches('=');
        assert_eq!(names(&format!("v1,{unpadded}")), ["signature_unpadded"]);
        assert_eq!(names(&base64), ["signature_without_version"]);
        assert_eq!(names(&format!("v1={base64}")), ["signature_other_prefix"]);
        assert_eq!(
            names(&format!("sha256={hex}")),
            ["signature_other_prefix", "signature_hex"]
        );
        let percent = base64
            .replace('+', "%2B")
            .replace('/', "%2F")
            .replace('=', "%3D");
        assert_eq!(
            names(&format!("v1,{percent}")),
            ["signature_percent_encoded"]
        );
        let spaced = base64.replace('+', " ");
        assert_eq!(names(&format!("v1,{spaced}")), ["signature_plus_lost"]);
        assert_eq!(names(&format!("\"v1,{base64}\"")), ["signature_wrapped"]);
        let cut = STANDARD.encode(&MAC[..16]);
        assert_eq!(names(&format!("v1,{cut}")), ["signature_cut"]);
    }

    #[test]
    fn what_could_fit_by_chance_is_no_tag() {
        let short = STANDARD.encode(&MAC[..7]);
        for header in ["", "v1,", "v1,AA==", &format!("v1,{short}"), "v1,\u{fffd}"] {
            assert!(tags(header.as_bytes()).is_empty(), "{header}");
        }
        assert!(tags(&[0xff; 300]).is_empty());
        assert!(tags("v1 ".repeat(5000).as_bytes()).is_empty());
    }
}
