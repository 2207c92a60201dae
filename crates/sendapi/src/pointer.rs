//! JSON Pointers and the words found at them.

use std::fmt;

use serde_json::{Number, Value};

/// A JSON Pointer, checked when the file is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer(String);

impl Pointer {
    /// Parses the text: empty for the whole document, else a list of `/name`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if !text.is_empty() && !text.starts_with('/') {
            return Err("must be a JSON Pointer, such as /error/code");
        }
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c == '~' && !matches!(chars.next(), Some('0' | '1')) {
                return Err("a ~ in a JSON Pointer must be written ~0, and a / in a name ~1");
            }
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.pointer(&self.0)
    }

    /// The text or whole number there, as text.
    pub(crate) fn id(&self, value: &Value) -> Option<String> {
        match self.get(value)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
            Value::Number(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        }
    }
}

/// One value an API answers with: its status, mostly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    Text(String),
    Integer(i64),
    /// A number with a fraction.
    Fraction(Number),
    Boolean(bool),
}

impl Word {
    /// The word in a JSON value; none for null, arrays and objects. `2.0` is the word `2`.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => Some(Self::number(number)),
            Value::Bool(yes) => Some(Self::Boolean(*yes)),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(crate) fn number(number: &Number) -> Self {
        let whole = || {
            let text = number.as_f64()?.to_string();
            text.parse().ok()
        };
        match number.as_i64().or_else(whole) {
            Some(whole) => Self::Integer(whole),
            None => Self::Fraction(number.clone()),
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Fraction(number) => write!(f, "{number}"),
            Self::Boolean(yes) => write!(f, "{yes}"),
        }
    }
}

/// Where a word is: at a pointer, or in the last element of the array at a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordAt {
    pub(crate) at: Pointer,
    pub(crate) last: Option<String>,
}

impl WordAt {
    pub(crate) fn read(&self, value: &Value) -> Option<Word> {
        let found = self.at.get(value)?;
        match &self.last {
            None => Word::of(found),
            Some(name) => Word::of(found.as_array()?.last()?.get(name)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn at(pointer: &str, last: Option<&str>) -> WordAt {
        WordAt {
            at: Pointer::parse(pointer).unwrap(),
            last: last.map(str::to_owned),
        }
    }

    #[test]
    fn a_pointer_starts_with_a_slash_and_escapes_tildes() {
        assert!(Pointer::parse("").is_ok());
        assert!(Pointer::parse("/a~1b/0").is_ok());
        for bad in ["id", "/a~", "/a~2b", " /a"] {
            assert!(Pointer::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_last_element_gives_the_word() {
        let value = json!({"events": [{"name": "a"}, {"name": "b"}], "none": [], "text": "x"});
        let word = |pointer| at(pointer, Some("name")).read(&value);
        assert_eq!(word("/events"), Some(Word::Text("b".into())));
        assert_eq!(word("/none"), None);
        assert_eq!(word("/text"), None);
        assert_eq!(word("/missing"), None);
    }

    #[test]
    fn a_number_and_the_text_of_it_are_two_words() {
        assert_eq!(Word::of(&json!(2)), Some(Word::Integer(2)));
        assert_ne!(Word::of(&json!("2")), Word::of(&json!(2)));
        assert_eq!(Word::of(&json!(2.0)), Some(Word::Integer(2)));
        assert_eq!(Word::of(&json!(2.5)).unwrap().to_string(), "2.5");
        assert_ne!(Word::of(&json!(2.5)), Word::of(&json!(2)));
        assert!(matches!(
            Word::of(&json!(u64::MAX)),
            Some(Word::Fraction(_))
        ));
        assert_eq!(Word::of(&json!(null)), None);
    }

    #[test]
    fn an_id_is_text_or_a_whole_number() {
        let id = |value| Pointer::parse("/id").unwrap().id(&value);
        assert_eq!(id(json!({"id": "a"})), Some("a".into()));
        assert_eq!(
            id(json!({"id": u64::MAX})),
            Some("18446744073709551615".into())
        );
        for none in [
            json!({"id": 1.5}),
            json!({"id": null}),
            json!({}),
            json!([]),
        ] {
            assert_eq!(id(none), None);
        }
    }

    proptest! {
        #[test]
        fn parsing_a_pointer_never_panics(text in any::<String>()) {
            if let Ok(pointer) = Pointer::parse(&text) {
                let _ = pointer.id(&json!({"a": [1]}));
            }
        }
    }
}
