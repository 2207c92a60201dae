//! The body inside something else: a form, base64, a JSON text, percent signs, a hash.
#![expect(
    clippy::unnecessary_wraps,
    reason = "every rewrite has the one signature of the table"
)]

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sha2::{Digest as _, Sha256};
use url::form_urlencoded::{byte_serialize, parse};

use super::json::{COMPACT, Node, decoded};
use crate::verify::mac::hex;

/// Most fields of a form that are tried one by one.
const MAX_FIELDS: usize = 16;

/// Reads base64 with or without padding, and with unused bits set: as most languages do.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

/// Decodes base64 of either alphabet, as leniently as most languages do.
pub(in crate::verify) fn lenient_base64(text: &[u8]) -> Option<Vec<u8>> {
    let engine = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    let standard: Vec<u8> = text
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|&byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    engine
        .decode(standard)
        .ok()
        .filter(|bytes| !bytes.is_empty())
}

pub(super) fn base64_decoded(body: &[u8]) -> Option<Vec<u8>> {
    lenient_base64(body)
}

pub(super) fn base64_decoded_twice(body: &[u8]) -> Option<Vec<u8>> {
    lenient_base64(&lenient_base64(body)?)
}

pub(super) fn base64_encoded(body: &[u8]) -> Option<Vec<u8>> {
    Some(STANDARD.encode(body).into_bytes())
}

pub(super) fn base64url_encoded(body: &[u8]) -> Option<Vec<u8>> {
    Some(URL_SAFE_NO_PAD.encode(body).into_bytes())
}

pub(super) fn base64_encoded_twice(body: &[u8]) -> Option<Vec<u8>> {
    Some(STANDARD.encode(STANDARD.encode(body)).into_bytes())
}

/// The text inside a body that is one JSON text.
pub(super) fn json_text_inside(body: &[u8]) -> Option<Vec<u8>> {
    serde_json::from_slice::<String>(body)
        .ok()
        .map(String::into_bytes)
}

/// The whole body as one JSON text.
pub(super) fn json_text_around(body: &[u8]) -> Option<Vec<u8>> {
    serde_json::to_vec(str::from_utf8(body).ok()?).ok()
}

pub(super) fn sha256_hex(body: &[u8]) -> Option<Vec<u8>> {
    Some(hex(&Sha256::digest(body)).into_bytes())
}

pub(super) fn sha256_hex_upper(body: &[u8]) -> Option<Vec<u8>> {
    Some(hex(&Sha256::digest(body)).to_uppercase().into_bytes())
}

pub(super) fn sha256_base64(body: &[u8]) -> Option<Vec<u8>> {
    Some(STANDARD.encode(Sha256::digest(body)).into_bytes())
}

pub(super) fn sha256_bytes(body: &[u8]) -> Option<Vec<u8>> {
    Some(Sha256::digest(body).to_vec())
}

/// Percent-decoded, with plus signs as they are.
pub(super) fn percent_decoded(body: &[u8]) -> Option<Vec<u8>> {
    let mut result = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| str::from_utf8(two).ok());
        let code = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        if let Some(byte) = code.filter(|_| *first == b'%') {
            result.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            result.push(*first);
            rest = after;
        }
    }
    Some(result)
}

/// Percent-decoded, with plus signs as spaces.
pub(super) fn form_decoded(body: &[u8]) -> Option<Vec<u8>> {
    let spaced: Vec<u8> = body
        .iter()
        .map(|&byte| if byte == b'+' { b' ' } else { byte })
        .collect();
    percent_decoded(&spaced)
}

/// Percent-encoded as one value of a form.
pub(super) fn form_encoded(body: &[u8]) -> Option<Vec<u8>> {
    Some(byte_serialize(body).collect::<String>().into_bytes())
}

/// The same with `%20` for spaces.
pub(super) fn percent_encoded(body: &[u8]) -> Option<Vec<u8>> {
    let text: String = byte_serialize(body).collect();
    Some(text.replace('+', "%20").into_bytes())
}

/// The fields of a body that is a form and no JSON.
fn fields(body: &[u8]) -> Option<Vec<(String, String)>> {
    let one_line = body.iter().all(|byte| matches!(byte, b'!'..=b'~'));
    if !one_line || !body.contains(&b'=') || Node::read(body).is_some() {
        return None;
    }
    Some(
        parse(body)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect(),
    )
}

/// For a form: its fields as a JSON object, every value a text.
pub(super) fn form_as_json_texts(body: &[u8]) -> Option<Vec<u8>> {
    form_as_json(body, |value| serde_json::to_string(value).ok())
}

/// For a form: its fields as a JSON object, values that are JSON as they are.
pub(super) fn form_as_json_values(body: &[u8]) -> Option<Vec<u8>> {
    form_as_json(body, |value| match Node::read(value.as_bytes()) {
        Some(_) => Some(value.to_owned()),
        None => serde_json::to_string(value).ok(),
    })
}

fn form_as_json(body: &[u8], spell: impl Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    let member = |(name, value): &(String, String)| {
        let name = serde_json::to_string(name).ok()?;
        Some(format!("{name}:{}", spell(value)?))
    };
    let members: Option<Vec<String>> = fields(body)?.iter().map(member).collect();
    Some(format!("{{{}}}", members?.join(",")).into_bytes())
}

/// For a form: each field's value alone, and each name without a value.
pub(super) fn form_fields(body: &[u8]) -> Vec<Vec<u8>> {
    let fields = fields(body).unwrap_or_default();
    let text = |(name, value): (String, String)| if value.is_empty() { name } else { value };
    let texts = fields.into_iter().take(MAX_FIELDS).map(text);
    texts.map(String::into_bytes).collect()
}

/// For a JSON object: its members as a form, spaces as plus signs.
pub(super) fn json_as_form(body: &[u8]) -> Option<Vec<u8>> {
    json_as_pairs(body, |text| byte_serialize(text.as_bytes()).collect())
}

/// For a JSON object: its members as a form, spaces as `%20`.
pub(super) fn json_as_form_percent(body: &[u8]) -> Option<Vec<u8>> {
    json_as_pairs(body, |text| {
        let text: String = byte_serialize(text.as_bytes()).collect();
        text.replace('+', "%20")
    })
}

/// For a JSON object: its members as `name=value` joined by `&`, not encoded.
pub(super) fn json_as_bare_form(body: &[u8]) -> Option<Vec<u8>> {
    json_as_pairs(body, str::to_owned)
}

fn json_as_pairs(body: &[u8], encode: impl Fn(&str) -> String) -> Option<Vec<u8>> {
    let Node::Object(members) = Node::read(body)? else {
        return None;
    };
    let pair = |(name, value): &(String, Node)| {
        let value = match value {
            Node::Leaf(raw) => decoded_leaf(raw),
            Node::List(_) | Node::Object(_) => COMPACT.write(value),
        };
        format!("{}={}", encode(&decoded(name)), encode(&value))
    };
    let pairs: Vec<String> = members.iter().map(pair).collect();
    Some(pairs.join("&").into_bytes())
}

fn decoded_leaf(raw: &str) -> String {
    if raw.starts_with('"') {
        decoded(raw)
    } else {
        raw.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Option<Vec<u8>>) -> String {
        String::from_utf8(bytes.unwrap()).unwrap()
    }

    const FORM: &[u8] = b"op=send&to=%7B%22n%22%3A1%7D&note=a+b%26%C3%A9&n=7";

    #[test]
    fn a_form_is_read_as_the_map_it_was_made_of() {
        assert_eq!(
            text(form_as_json_texts(FORM)),
            r#"{"op":"send","to":"{\"n\":1}","note":"a b&é","n":"7"}"#
        );
        assert_eq!(
            text(form_as_json_values(FORM)),
            r#"{"op":"send","to":{"n":1},"note":"a b&é","n":7}"#
        );
        assert_eq!(form_fields(b"payload=%7B%7D&x"), [&b"{}"[..], b"x"]);
        assert_eq!(form_as_json_texts(br#"{"a":"="}"#), None);
        assert_eq!(form_as_json_texts(b"no form"), None);
    }

    #[test]
    fn a_map_is_written_as_the_form_it_would_be_sent_as() {
        let json = r#"{"op":"send", "to":{"n": 1}, "note":"a b&é","n":7}"#.as_bytes();
        assert_eq!(json_as_form(json).as_deref(), Some(FORM));
        assert_eq!(
            text(json_as_form_percent(json)),
            str::from_utf8(FORM).unwrap().replace('+', "%20")
        );
        assert_eq!(
            text(json_as_bare_form(json)),
            r#"op=send&to={"n":1}&note=a b&é&n=7"#
        );
        assert_eq!(json_as_form(b"[1]"), None);
    }

    #[test]
    fn base64_is_read_in_either_alphabet_and_with_any_padding() {
        for encoded in ["+/8=", "+/8", "-_8", "-_8=", "+/9="] {
            assert_eq!(lenient_base64(encoded.as_bytes()).unwrap(), b"\xfb\xff");
        }
        assert_eq!(lenient_base64(b"{}"), None);
        assert_eq!(text(base64_encoded_twice(b"a")), "WVE9PQ==");
        assert_eq!(base64_decoded_twice(b"WVE9PQ==").unwrap(), b"a");
    }

    #[test]
    fn json_inside_a_json_text_is_taken_out_and_put_in() {
        assert_eq!(json_text_inside(br#""{\"a\":1}""#).unwrap(), br#"{"a":1}"#);
        assert_eq!(json_text_around(br#"{"a":1}"#).unwrap(), br#""{\"a\":1}""#);
        assert_eq!(json_text_inside(br#"{"a":1}"#), None);
    }

    #[test]
    fn percent_signs_are_read_and_a_broken_one_is_left() {
        assert_eq!(percent_decoded(b"a%7b+%zz%4").unwrap(), b"a{+%zz%4");
        assert_eq!(form_decoded(b"a+%7B").unwrap(), b"a {");
        assert_eq!(form_encoded(b"{ \"").unwrap(), b"%7B+%22");
        assert_eq!(percent_encoded(b"{ \"").unwrap(), b"%7B%20%22");
    }

    #[test]
    fn hashes_are_those_of_the_body() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(text(sha256_hex(b"")), empty);
        assert_eq!(text(sha256_hex_upper(b"")), empty.to_uppercase());
        assert_eq!(sha256_bytes(b"").unwrap().len(), 32);
        assert_eq!(sha256_base64(b"").unwrap().len(), 44);
    }
}
