//! Texts with `{{…}}` in them, filled from the confirmed input and from what earlier steps captured.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde_json::{Map, Value};
use thiserror::Error;

/// One placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slot {
    To(String),
    Fields(String),
    Reference,
    /// The reference in base64, for APIs that take no other text back.
    ReferenceBase64,
    HistoryId,
    Id,
    DraftId,
    /// What an earlier step captured under this name.
    Captured(String),
}

/// Placeholders with a meaning of their own, which no capture may take.
pub(crate) const RESERVED: [&str; 5] = [
    "reference",
    "reference_base64",
    "history_id",
    "id",
    "draft_id",
];

impl Slot {
    fn parse(name: &str) -> Option<Self> {
        let word = |key: &str| {
            let ok = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            ((1..=64).contains(&key.len()) && key.bytes().all(ok)).then(|| key.to_owned())
        };
        match name.split_once('.') {
            Some(("to", key)) => word(key).map(Self::To),
            Some(("fields", key)) => word(key).map(Self::Fields),
            Some(_) => None,
            None => match name {
                "reference" => Some(Self::Reference),
                "reference_base64" => Some(Self::ReferenceBase64),
                "history_id" => Some(Self::HistoryId),
                "id" => Some(Self::Id),
                "draft_id" => Some(Self::DraftId),
                other => word(other).map(Self::Captured),
            },
        }
    }

    fn name(&self) -> String {
        match self {
            Self::To(key) => format!("to.{key}"),
            Self::Fields(key) => format!("fields.{key}"),
            Self::Reference => "reference".to_owned(),
            Self::ReferenceBase64 => "reference_base64".to_owned(),
            Self::HistoryId => "history_id".to_owned(),
            Self::Id => "id".to_owned(),
            Self::DraftId => "draft_id".to_owned(),
            Self::Captured(name) => name.clone(),
        }
    }
}

/// Where a template stands, which says what it may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    /// A step, after the steps that captured these.
    Step(&'a [String]),
    LookUp,
    /// A search; the name of the capture that is kept as the draft's id, where there is one.
    Find(Option<&'a str>),
}

impl Scope<'_> {
    fn allows(self, slot: &Slot) -> bool {
        match slot {
            Slot::To(_) | Slot::Fields(_) | Slot::HistoryId => matches!(self, Self::Step(_)),
            Slot::Reference | Slot::ReferenceBase64 => self != Self::LookUp,
            Slot::Id => self == Self::LookUp,
            Slot::DraftId => matches!(self, Self::Find(Some(_))),
            Slot::Captured(name) => match self {
                Self::Step(captured) => captured.contains(name),
                Self::LookUp => false,
                Self::Find(draft) => draft == Some(name.as_str()),
            },
        }
    }

    fn expected(self) -> String {
        const INPUT: &str = "to.NAME, fields.NAME, reference, reference_base64, history_id";
        match self {
            Self::Step([]) => INPUT.to_owned(),
            Self::Step(captured) => format!("{INPUT}, {}", captured.join(", ")),
            Self::LookUp => "id".to_owned(),
            Self::Find(None) => "reference, reference_base64".to_owned(),
            Self::Find(Some(draft)) => format!("reference, reference_base64, draft_id, {draft}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Slot(Slot),
}

/// A text with placeholders, checked when the file is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) parts: Vec<Part>,
    /// `{{to.name?}}`: left out where the input has no such value. Only a template that is one placeholder.
    pub(crate) optional: bool,
}

/// What the placeholders stand for. Those that are not given are missing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Values<'a> {
    pub(crate) to: Option<&'a Map<String, Value>>,
    pub(crate) fields: Option<&'a Map<String, Value>>,
    pub(crate) reference: &'a str,
    pub(crate) history_id: &'a str,
    pub(crate) id: &'a str,
    pub(crate) draft_id: &'a str,
    pub(crate) captured: Option<&'a BTreeMap<String, String>>,
    /// The secrets that may stand in bodies, by name.
    pub(crate) secrets: Option<&'a BTreeMap<String, SecretString>>,
}

/// A value that cannot be put in. Names the placeholder, never the value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum BadValue {
    #[error("{0} is missing from the input")]
    Missing(String),
    #[error("{0} must be a text, a number or true or false")]
    Kind(String),
    #[error("{0} has a line end or another control character in it")]
    Control(String),
    #[error("a value would change the path of the request")]
    Path,
    #[cfg(feature = "submit")]
    #[error("the API gave an address that the driver may not call")]
    Url,
}

impl Template {
    /// Parses the text; says which placeholders exist where one does not.
    pub(crate) fn parse(text: &str, scope: Scope<'_>) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut optional = false;
        let mut rest = text;
        while let Some((before, tail)) = rest.split_once("{{") {
            let Some((name, after)) = tail.split_once("}}") else {
                return Err("has {{ without }}".to_owned());
            };
            push_text(&mut parts, before)?;
            let required = name.strip_suffix('?');
            optional |= required.is_some();
            let slot = Slot::parse(required.unwrap_or(name)).filter(|slot| scope.allows(slot));
            let Some(slot) = slot else {
                let known = scope.expected();
                return Err(format!(
                    "no such placeholder here: {{{{{name}}}}}; known: {known}"
                ));
            };
            parts.push(Part::Slot(slot));
            rest = after;
        }
        push_text(&mut parts, rest)?;
        if optional && parts.len() != 1 {
            return Err("a placeholder with ? must be the whole value".to_owned());
        }
        Ok(Self { parts, optional })
    }

    /// Whether our reference stands in it, plain or in base64.
    pub(crate) fn names_reference(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Slot(Slot::Reference | Slot::ReferenceBase64) => true,
            Part::Slot(_) | Part::Text(_) => false,
        })
    }

    /// The value for a JSON body: a template that is one placeholder keeps the kind of its value. `None` is
    /// an optional value that the input does not have.
    #[cfg(any(feature = "submit", feature = "look-up"))]
    pub(crate) fn json(&self, values: &Values<'_>) -> Result<Option<Value>, BadValue> {
        if let [Part::Slot(slot)] = self.parts.as_slice() {
            return match value_of(slot, values) {
                Err(BadValue::Missing(_)) if self.optional => Ok(None),
                other => other.map(Some),
            };
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Slot(slot) => text.push_str(&text_of(slot, values)?),
            }
        }
        Ok(Some(Value::String(text)))
    }

    /// The value as text, for form parts.
    #[cfg(any(feature = "submit", feature = "look-up"))]
    pub(crate) fn text(&self, values: &Values<'_>) -> Result<Option<String>, BadValue> {
        Ok(self.json(values)?.map(|value| as_text(&value)))
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) -> Result<(), String> {
    if text.contains("}}") {
        return Err("has }} without {{".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("has a control character in it".to_owned());
    }
    if !text.is_empty() {
        parts.push(Part::Text(text.to_owned()));
    }
    Ok(())
}

fn value_of(slot: &Slot, values: &Values<'_>) -> Result<Value, BadValue> {
    let own = |text: &str| Some(Value::String(text.to_owned()));
    let value = match slot {
        Slot::To(key) => values.to.and_then(|to| to.get(key)).cloned(),
        Slot::Fields(key) => values.fields.and_then(|fields| fields.get(key)).cloned(),
        Slot::Reference => own(values.reference),
        Slot::ReferenceBase64 => own(&STANDARD.encode(values.reference)),
        Slot::HistoryId => own(values.history_id),
        Slot::Id => own(values.id),
        // In a search both names stand for the draft's id; nothing else was kept.
        Slot::DraftId => own(values.draft_id),
        Slot::Captured(name) => match values.captured {
            Some(captured) => captured.get(name).and_then(|text| own(text)),
            None => own(values.draft_id),
        },
    };
    match value {
        None | Some(Value::Null) => Err(BadValue::Missing(slot.name())),
        Some(Value::String(text)) if text.is_empty() => Err(BadValue::Missing(slot.name())),
        Some(Value::String(text)) if text.chars().any(char::is_control) => {
            Err(BadValue::Control(slot.name()))
        }
        Some(Value::Array(_) | Value::Object(_)) => Err(BadValue::Kind(slot.name())),
        Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => Ok(value),
    }
}

/// The text of a placeholder.
pub(crate) fn text_of(slot: &Slot, values: &Values<'_>) -> Result<String, BadValue> {
    value_of(slot, values).map(|value| as_text(&value))
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn step(text: &str) -> Result<Template, String> {
        Template::parse(text, Scope::Step(&[]))
    }

    fn fill(text: &str, to: &Value) -> Result<Option<Value>, BadValue> {
        let values = Values {
            to: to.as_object(),
            reference: "st_1",
            ..Values::default()
        };
        step(text).unwrap().json(&values)
    }

    #[test]
    fn placeholders_that_do_not_exist_are_refused() {
        for bad in [
            "{{to}}",
            "{{to.}}",
            "{{to.a.b}}",
            "{{to.a b}}",
            "{{name}}",
            "{{id}}",
            "{{ reference }}",
            "{{to.name",
            "to.name}}",
            "{{}}",
            "a{{to.x?}}",
            "{{secret.key}}",
        ] {
            assert!(step(bad).is_err(), "{bad}");
        }
        assert!(Template::parse("{{id}}", Scope::LookUp).is_ok());
        assert!(Template::parse("{{reference}}", Scope::LookUp).is_err());
        let find = |text, draft| Template::parse(text, Scope::Find(draft));
        assert!(find("{{to.name}}", None).is_err());
        assert!(find("{{draft_id}}", None).is_err());
        assert!(find("{{draft_id}} {{doc}}", Some("doc")).is_ok());
        assert!(find("{{other}}", Some("doc")).is_err());
        let captured = ["doc".to_owned()];
        let step = |text| Template::parse(text, Scope::Step(&captured));
        assert!(step("{{doc}}").is_ok());
        assert!(step("{{draft_id}}").is_err() && step("{{other}}").is_err());
    }

    #[test]
    fn a_single_placeholder_keeps_the_kind_of_its_value() {
        let to = json!({"n": 2, "yes": true, "name": "A"});
        assert_eq!(fill("{{to.n}}", &to), Ok(Some(json!(2))));
        assert_eq!(fill("{{to.yes}}", &to), Ok(Some(json!(true))));
        assert_eq!(
            fill("{{to.name}} {{to.n}}/{{reference}}", &to),
            Ok(Some(json!("A 2/st_1")))
        );
    }

    #[test]
    fn a_missing_empty_or_unfit_value_is_named() {
        let to = json!({"empty": "", "null": null, "list": [], "lines": "a\r\nb", "nul": "\u{0}"});
        let missing = |name: &str| Err(BadValue::Missing(name.to_owned()));
        assert_eq!(fill("{{to.name}}", &to), missing("to.name"));
        assert_eq!(fill("x {{to.empty}}", &to), missing("to.empty"));
        assert_eq!(fill("{{to.null}}", &to), missing("to.null"));
        assert_eq!(
            fill("{{to.list}}", &to),
            Err(BadValue::Kind("to.list".into()))
        );
        assert_eq!(
            fill("{{to.lines}}", &to),
            Err(BadValue::Control("to.lines".into()))
        );
        assert_eq!(
            fill("{{to.nul?}}", &to),
            Err(BadValue::Control("to.nul".into()))
        );
    }

    #[test]
    fn an_optional_value_is_left_out_where_it_is_missing_or_empty() {
        let to = json!({"empty": "", "name": "A"});
        assert_eq!(fill("{{to.none?}}", &to), Ok(None));
        assert_eq!(fill("{{to.empty?}}", &to), Ok(None));
        assert_eq!(fill("{{to.name?}}", &to), Ok(Some(json!("A"))));
    }

    #[test]
    fn captures_and_the_draft_fill_their_placeholders() {
        let captured = BTreeMap::from([("doc".to_owned(), "d1".to_owned())]);
        let names = ["doc".to_owned()];
        let step = Template::parse("{{doc}}/{{reference_base64}}", Scope::Step(&names)).unwrap();
        let values = Values {
            reference: "st_1",
            captured: Some(&captured),
            ..Values::default()
        };
        assert_eq!(step.json(&values), Ok(Some(json!("d1/c3RfMQ=="))));
        let gone = Values {
            captured: Some(&BTreeMap::new()),
            ..values
        };
        assert_eq!(step.json(&gone), Err(BadValue::Missing("doc".into())));
        let find = Template::parse("{{draft_id}}+{{doc}}", Scope::Find(Some("doc"))).unwrap();
        let values = Values {
            draft_id: "d2",
            ..Values::default()
        };
        assert_eq!(find.json(&values), Ok(Some(json!("d2+d2"))));
    }

    #[test]
    fn a_value_is_not_read_as_a_template_again() {
        let to = json!({"name": "{{reference}}"});
        assert_eq!(fill("{{to.name}}!", &to), Ok(Some(json!("{{reference}}!"))));
    }

    proptest! {
        #[test]
        fn parsing_a_template_never_panics(text in "[{}?a-z. ]{0,40}|.{0,40}") {
            let _ = step(&text);
        }

        #[test]
        fn no_control_character_comes_out(name in any::<String>()) {
            if let Ok(Some(value)) = fill("{{to.name}}", &json!({"name": name})) {
                prop_assert!(!as_text(&value).chars().any(char::is_control));
            }
        }
    }
}
