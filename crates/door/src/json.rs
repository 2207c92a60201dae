//! Strict reading of signed JSON bodies: no key twice at any depth.

use std::collections::HashSet;
use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};
use serde_path_to_error::{Path, Segment};

use crate::{FieldError, Refusal};

/// A key with this start makes `serde_json::Value` read a text as JSON of its own, which would
/// slip past the check for repeated keys.
const RESERVED_KEYS: &str = "$serde_json::private::";

/// The members of a signed body that the door compares. `None` where one is absent or no text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub(crate) aud: Option<String>,
    pub(crate) op: Option<String>,
    pub(crate) history_id: Option<String>,
    /// Whether `history_id` is there, with any value.
    pub(crate) has_history_id: bool,
}

/// Reads the envelope and proves that the whole body is JSON without repeated keys.
pub(crate) fn read_envelope(body: &[u8]) -> Result<Envelope, Refusal> {
    let mut state = State::default();
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let walked = Walk {
        state: &mut state,
        depth: 0,
    }
    .deserialize(&mut deserializer);
    match walked.and_then(|_| deserializer.end()) {
        Ok(()) => Ok(state.envelope),
        Err(error) => Err(refuse(&error, state.refused_key)),
    }
}

fn refuse(error: &serde_json::Error, refused_key: Option<&'static str>) -> Refusal {
    let (line, column) = (error.line(), error.column());
    let (reason, what) = match refused_key {
        Some(reason) => (reason, "a key is repeated or reserved"),
        None => ("body_not_json", "not valid JSON"),
    };
    let detail = format!("{what}, at line {line} column {column}");
    Refusal::invalid(vec![FieldError::new("", detail)]).with_reason(reason)
}

/// Reads the typed body. A mistake names its place, never the value found there.
pub(crate) fn read_typed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let mut pointer = json_pointer(error.path());
        let message = error.inner().to_string();
        let detail = match quoted(&message, "missing field `") {
            Some(field) => {
                pointer.push('/');
                pointer.push_str(&pointer_token(field));
                "is missing"
            }
            None if message.starts_with("unknown field") => "is not known here",
            None => "has the wrong type or value",
        };
        Refusal::invalid(vec![FieldError::new(pointer, detail)]).with_reason("body_shape")
    })
}

fn quoted<'m>(message: &'m str, start: &str) -> Option<&'m str> {
    message.strip_prefix(start)?.split('`').next()
}

fn json_pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        let part = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => pointer_token(key),
            Segment::Enum { variant } => pointer_token(variant),
            Segment::Unknown => continue,
        };
        pointer.push('/');
        pointer.push_str(&part);
    }
    pointer
}

/// A key as part of a JSON Pointer (RFC 6901), cut at 64 characters.
pub fn pointer_token(key: &str) -> String {
    let cut: String = key.chars().take(64).collect();
    cut.replace('~', "~0").replace('/', "~1")
}

#[derive(Default)]
struct State {
    envelope: Envelope,
    refused_key: Option<&'static str>,
}

/// Visits a value and everything in it. Gives the text where the value is one and is wanted.
struct Walk<'s> {
    state: &'s mut State,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        // Only members of the body itself are ever wanted.
        Ok((self.depth == 1).then(|| text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let depth = self.depth + 1;
        while seq
            .next_element_seed(Walk {
                state: &mut *self.state,
                depth,
            })?
            .is_some()
        {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if key.starts_with(RESERVED_KEYS) {
                self.state.refused_key = Some("body_reserved_key");
                return Err(A::Error::custom("reserved key"));
            }
            if seen.contains(&key) {
                self.state.refused_key = Some("body_repeated_key");
                return Err(A::Error::custom("repeated key"));
            }
            let value = map.next_value_seed(Walk {
                state: &mut *self.state,
                depth: self.depth + 1,
            })?;
            if self.depth == 0 {
                self.state.envelope.keep(&key, value);
            }
            seen.insert(key);
        }
        Ok(None)
    }
}

impl Envelope {
    fn keep(&mut self, key: &str, value: Option<String>) {
        match key {
            "aud" => self.aud = value,
            "op" => self.op = value,
            "history_id" => {
                self.has_history_id = true;
                self.history_id = value;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    fn reason(body: &str) -> &'static str {
        read_envelope(body.as_bytes()).unwrap_err().reason()
    }

    #[test]
    fn the_envelope_is_read_from_the_top_level_only() {
        let body = br#"{"aud":"a","op":"o","history_id":"h","x":{"aud":"b","op":["o"]}}"#;
        let envelope = read_envelope(body).unwrap();
        assert_eq!(envelope.aud.as_deref(), Some("a"));
        assert_eq!(envelope.op.as_deref(), Some("o"));
        assert_eq!(envelope.history_id.as_deref(), Some("h"));
        for body in [
            "[\"aud\"]",
            "null",
            "7",
            "\"aud\"",
            "{}",
            "[{\"aud\":\"a\"}]",
        ] {
            assert_eq!(
                read_envelope(body.as_bytes()).unwrap(),
                Envelope::default(),
                "{body}"
            );
        }
        let wrong = read_envelope(br#"{"aud":["a"],"op":1,"history_id":null}"#).unwrap();
        assert_eq!(
            wrong,
            Envelope {
                has_history_id: true,
                ..Envelope::default()
            }
        );
    }

    #[test]
    fn a_repeated_key_is_refused_at_any_depth_and_in_any_spelling() {
        for body in [
            r#"{"aud":"a","aud":"a"}"#,
            r#"{"aud":"a","\u0061ud":"b"}"#,
            r#"{"to":{"name":1,"name":1}}"#,
            r#"{"to":[[{"a":{"b":1,"b":2}}]]}"#,
        ] {
            assert_eq!(reason(body), "body_repeated_key", "{body}");
        }
        assert!(read_envelope(br#"{"a":{"b":1},"c":{"b":1},"b":[{"b":1},{"b":2}]}"#).is_ok());
        let reserved = r#"{"to":{"$serde_json::private::RawValue":"{\"a\":1,\"a\":2}"}}"#;
        assert_eq!(reason(reserved), "body_reserved_key");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(100_000);
        for body in [
            "",
            "{",
            "{}x",
            "{\"a\":1,}",
            "aud=x",
            "\u{feff}{}",
            "{\"a\":NaN}",
            &deep,
        ] {
            assert_eq!(reason(body), "body_not_json", "{body:.20}");
        }
        let not_utf8 = read_envelope(b"{\"a\":\"\xff\"}").unwrap_err();
        assert_eq!(not_utf8.reason(), "body_not_json");
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        #[expect(dead_code, reason = "only its shape matters")]
        to: To,
    }

    #[derive(Debug, Deserialize)]
    struct To {
        #[expect(dead_code, reason = "only its shape matters")]
        lines: Vec<String>,
    }

    #[test]
    fn a_mistake_in_the_shape_names_its_place_and_never_the_value() {
        for (body, pointer, detail) in [
            ("{}", "/to", "is missing"),
            (r#"{"to":{}}"#, "/to/lines", "is missing"),
            (
                r#"{"to":{"lines":["x",77001]}}"#,
                "/to/lines/1",
                "has the wrong type or value",
            ),
            (r#"{"to":"77001"}"#, "/to", "has the wrong type or value"),
            (
                r#"{"to":{"lines":[]},"a/b":77001}"#,
                "/a~1b",
                "is not known here",
            ),
        ] {
            let refusal = read_typed::<Body>(body.as_bytes()).unwrap_err();
            assert_eq!(
                refusal.errors(),
                [FieldError::new(pointer, detail)],
                "{body}"
            );
            assert!(!format!("{refusal:?}").contains("77001"));
        }
    }

    proptest! {
        #[test]
        fn reading_is_total(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_envelope(&body);
            let _ = read_typed::<Body>(&body);
        }

        #[test]
        fn a_body_without_repeats_is_never_refused(keys in prop::collection::hash_set(".{0,5}", 0..8)) {
            let map: serde_json::Map<_, _> = keys.into_iter().map(|k| (k, json!([{"a": 1}]))).collect();
            let text = serde_json::to_vec(&map).unwrap();
            prop_assert!(read_envelope(&text).is_ok());
        }
    }
}
