//! The input a user saved: `{driver, source, to, fields}`.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::ids::{CrmName, DriverId, Sha256Hash};
use crate::ports::SourceFile;
use crate::text::ascii_json;

/// The most bytes the stored input may have.
pub const MAX_INPUT_BYTES: usize = 16 * 1024;

/// What the user saved, read from the text that is stored and sealed.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Which external API.
    pub driver: DriverId,
    /// Where the document comes from.
    pub source: Source,
    /// The recipient, as the driver's file names its parts.
    pub to: Map<String, Value>,
    /// Everything else the driver's file names.
    pub fields: Map<String, Value>,
}

/// The file of the CRM record the send starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// API name of the module.
    pub module: CrmName,
    /// Id of the record.
    pub record_id: CrmName,
    /// Which of its files.
    pub file: SourceFile,
}

/// Input that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadInput {
    /// A field is missing or of the wrong form.
    #[error("{pointer}: {detail}")]
    Field {
        /// JSON Pointer of the field.
        pointer: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The stored form is longer than the limit.
    #[error("the input is longer than {MAX_INPUT_BYTES} bytes")]
    TooLarge,
    /// The stored text is no JSON object.
    #[error("the stored input is no JSON object")]
    NotJson,
}

fn field(pointer: &str, detail: impl Into<String>) -> BadInput {
    BadInput::Field {
        pointer: pointer.to_owned(),
        detail: detail.into(),
    }
}

fn text<'a>(object: &'a Map<String, Value>, key: &str, at: &str) -> Result<&'a str, BadInput> {
    object
        .get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| field(&format!("{at}/{key}"), "must be a text"))
}

fn object(value: &Map<String, Value>, key: &str) -> Result<Map<String, Value>, BadInput> {
    value
        .get(key)
        .and_then(Value::as_object)
        .cloned()
        .ok_or_else(|| field(&format!("/{key}"), "must be an object"))
}

impl Input {
    /// Reads input from a JSON object; other keys than its own are ignored.
    ///
    /// # Errors
    /// [`BadInput::Field`] with the JSON Pointer of the first field that is missing or wrong.
    pub fn from_object(value: &Map<String, Value>) -> Result<Self, BadInput> {
        let driver = DriverId::parse(text(value, "driver", "")?)
            .map_err(|bad| field("/driver", bad.to_string()))?;
        let source = object(value, "source")?;
        let name = |key| {
            CrmName::parse(text(&source, key, "/source")?)
                .map_err(|bad| field(&format!("/source/{key}"), bad.to_string()))
        };
        let file = match (
            source.contains_key("attachment_id"),
            source.contains_key("field"),
        ) {
            (true, false) => SourceFile::Attachment(name("attachment_id")?),
            (false, true) => SourceFile::Field(name("field")?),
            (true, true) | (false, false) => {
                return Err(field("/source", "needs either attachment_id or field"));
            }
        };
        Ok(Self {
            driver,
            source: Source {
                module: name("module")?,
                record_id: name("record_id")?,
                file,
            },
            to: object(value, "to")?,
            fields: match value.get("fields") {
                None => Map::new(),
                Some(_) => object(value, "fields")?,
            },
        })
    }

    /// Reads the text of the record's input field.
    ///
    /// # Errors
    /// [`BadInput`]: people can edit that field.
    pub fn from_stored(text: &str) -> Result<Self, BadInput> {
        if text.len() > MAX_INPUT_BYTES {
            return Err(BadInput::TooLarge);
        }
        let value: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| BadInput::NotJson)?;
        Self::from_object(&value)
    }

    /// The text to store: one line of ASCII, so that no CRM can change it by its own line ends or encoding.
    ///
    /// # Errors
    /// [`BadInput::TooLarge`] above [`MAX_INPUT_BYTES`].
    pub fn to_stored(&self) -> Result<String, BadInput> {
        let (key, name) = match &self.source.file {
            SourceFile::Attachment(id) => ("attachment_id", id),
            SourceFile::Field(name) => ("field", name),
        };
        let value = serde_json::json!({
            "driver": self.driver.as_str(),
            "source": {
                "module": self.source.module.as_str(),
                "record_id": self.source.record_id.as_str(),
                key: name.as_str(),
            },
            "to": self.to,
            "fields": self.fields,
        });
        let text = ascii_json(&value);
        if text.len() > MAX_INPUT_BYTES {
            return Err(BadInput::TooLarge);
        }
        Ok(text)
    }
}

/// The hash that binds the stored input to the document.
pub fn input_sha256(stored: &str) -> Sha256Hash {
    Sha256Hash::of(stored.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Map<String, Value> {
        let value = serde_json::json!({
            "driver": "letter", "aud": "ignored",
            "source": {"module": "Deals", "record_id": "57", "attachment_id": "9"},
            "to": {"name": "Žofie 🐈"}, "fields": {"color": false},
        });
        value.as_object().unwrap().clone()
    }

    #[test]
    fn stored_input_is_one_line_of_ascii_and_reads_back() {
        let input = Input::from_object(&sample()).unwrap();
        let text = input.to_stored().unwrap();
        assert!(text.is_ascii() && !text.contains('\n'));
        assert_eq!(Input::from_stored(&text), Ok(input));
    }

    #[test]
    fn a_number_is_stored_as_it_was_read() {
        let mut object = sample();
        let numbers = r#"{"a":[1.7976931348623157e308,5e-324,0.1,2.2250738585072011e-308]}"#;
        object.insert("fields".into(), serde_json::from_str(numbers).unwrap());
        let input = Input::from_object(&object).unwrap();
        assert_eq!(Input::from_stored(&input.to_stored().unwrap()), Ok(input));
    }

    #[test]
    fn each_missing_or_wrong_field_is_named() {
        for (pointer, key, value) in [
            ("/driver", "driver", serde_json::json!(7)),
            ("/driver", "driver", serde_json::json!("../x")),
            ("/to", "to", serde_json::json!([])),
            ("/fields", "fields", serde_json::json!("x")),
            (
                "/source",
                "source",
                serde_json::json!({"module": "Deals", "record_id": "1"}),
            ),
            (
                "/source/record_id",
                "source",
                serde_json::json!({"module": "Deals", "record_id": "a/b", "field": "Contract"}),
            ),
        ] {
            let mut broken = sample();
            broken.insert(key.to_owned(), value);
            match Input::from_object(&broken) {
                Err(BadInput::Field { pointer: at, .. }) => assert_eq!(at, pointer),
                other => panic!("{pointer}: {other:?}"),
            }
        }
    }

    #[test]
    fn input_above_the_limit_is_refused_both_ways() {
        let mut large = sample();
        large.insert(
            "fields".into(),
            serde_json::json!({"note": "x".repeat(MAX_INPUT_BYTES)}),
        );
        assert_eq!(
            Input::from_object(&large).unwrap().to_stored(),
            Err(BadInput::TooLarge)
        );
        assert_eq!(
            Input::from_stored(&" ".repeat(MAX_INPUT_BYTES + 1)),
            Err(BadInput::TooLarge)
        );
    }
}
