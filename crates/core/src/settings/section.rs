use std::ops::RangeInclusive;

use jiff::SignedDuration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{Reader, join};
use super::value::parse_duration;

/// One table of a settings file. A table that is missing still answers, with defaults and with mistakes
/// for what is required in it.
#[derive(Debug)]
pub struct Section<'r, 'i> {
    reader: &'r Reader<'i>,
    path: String,
    table: Option<&'r DeTable<'i>>,
    line: usize,
}

/// The name of a secret, listed in `[secrets]`. It is not the secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretRef(String);

impl SecretRef {
    /// The name after `secret:`.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// A scalar as found: from the file with its line, or from a variable.
enum Found<'r, 'i> {
    File(&'r Spanned<DeValue<'i>>),
    Variable(String),
}

impl<'r, 'i> Section<'r, 'i> {
    pub(super) fn new(
        reader: &'r Reader<'i>,
        path: String,
        table: Option<&'r DeTable<'i>>,
        line: usize,
    ) -> Self {
        Self {
            reader,
            path,
            table,
            line,
        }
    }

    /// The dotted name of the table; empty for the file itself.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the table is written in the file.
    pub fn is_present(&self) -> bool {
        self.table.is_some()
    }

    /// The keys written in the file, in alphabetical order, each with its line.
    pub fn keys(&self) -> Vec<(String, usize)> {
        let table = self.table.into_iter().flatten();
        table
            .map(|(key, _)| {
                (
                    key.get_ref().to_string(),
                    self.reader.line(key.span().start),
                )
            })
            .collect()
    }

    /// Whether this key is written in the file or overridden.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some() || self.reader.overridden(&join(&self.path, key)).is_some()
    }

    /// Leaves a mistake at this key (at the table, where the key is not written).
    pub fn wrong(&self, key: &str, what: &str) {
        let name = join(&self.path, key);
        if let Some((_, variable)) = self.reader.overridden(&name) {
            self.reader.override_mistake(&variable, &name, what);
            return;
        }
        let line = self
            .get(key)
            .map_or(self.line, |value| self.reader.line(value.span().start));
        self.reader.mistake(line, &name, what);
    }

    /// A required text.
    pub fn text(&self, key: &str) -> Option<String> {
        self.ask(key, "text", None);
        self.required(key)?;
        self.read_text(key)
    }

    /// An optional text.
    pub fn optional_text(&self, key: &str) -> Option<String> {
        self.ask(key, "text", Some(String::new()));
        self.read_text(key)
    }

    /// A text with a default.
    pub fn text_or(&self, key: &str, default: &str) -> String {
        self.ask(key, "text", Some(default.to_owned()));
        self.read_text(key).unwrap_or_else(|| default.to_owned())
    }

    /// A required reference to a secret, written `secret:NAME`.
    pub fn secret(&self, key: &str) -> Option<SecretRef> {
        self.ask(key, "secret", None);
        self.required(key)?;
        self.read_secret(key)
    }

    /// An optional reference to a secret, written `secret:NAME`.
    pub fn optional_secret(&self, key: &str) -> Option<SecretRef> {
        self.ask(key, "secret", Some(String::new()));
        self.read_secret(key)
    }

    /// A duration with a default, both written as `10s`.
    pub fn duration_or(&self, key: &str, default: &str) -> SignedDuration {
        self.ask(key, "duration", Some(default.to_owned()));
        let fallback = || parse_duration(default).unwrap_or_default();
        self.read_duration(key).unwrap_or_else(fallback)
    }

    /// A required duration.
    pub fn duration(&self, key: &str) -> Option<SignedDuration> {
        self.ask(key, "duration", None);
        self.required(key)?;
        self.read_duration(key)
    }

    /// An optional duration.
    pub fn optional_duration(&self, key: &str) -> Option<SignedDuration> {
        self.ask(key, "duration", Some(String::new()));
        self.read_duration(key)
    }

    /// A whole number inside `range`, with a default.
    pub fn integer_or(&self, key: &str, default: i64, range: RangeInclusive<i64>) -> i64 {
        self.ask(key, "integer", Some(default.to_string()));
        self.read_integer(key, &range).unwrap_or(default)
    }

    /// `true` or `false`, with a default.
    pub fn boolean_or(&self, key: &str, default: bool) -> bool {
        self.ask(key, "boolean", Some(default.to_string()));
        let read = match self.found(key) {
            None => None,
            Some(Found::File(value)) => value.get_ref().as_bool(),
            Some(Found::Variable(value)) => value.parse().ok(),
        };
        if read.is_none() && self.has(key) {
            self.wrong(key, "must be true or false");
        }
        read.unwrap_or(default)
    }

    /// A list of texts; empty where it is not written. A variable holds them joined by commas; an empty one
    /// is an empty list.
    pub fn texts(&self, key: &str) -> Vec<String> {
        self.ask(key, "list", Some(String::new()));
        match self.found(key) {
            None => Vec::new(),
            Some(Found::Variable(value)) if value.trim().is_empty() => Vec::new(),
            Some(Found::Variable(value)) => value
                .split(',')
                .map(|part| part.trim().to_owned())
                .collect(),
            Some(Found::File(value)) => {
                let items = value.get_ref().as_array();
                let texts: Option<Vec<_>> = items.and_then(|items| {
                    items
                        .iter()
                        .map(|item| item.get_ref().as_str().map(str::to_owned))
                        .collect()
                });
                texts.unwrap_or_else(|| {
                    self.wrong(key, "must be a list of texts");
                    Vec::new()
                })
            }
        }
    }

    /// A list of whole numbers inside `range`; empty where it is not written.
    pub fn integers(&self, key: &str, range: &RangeInclusive<i64>) -> Vec<i64> {
        self.ask(key, "list", Some(String::new()));
        let Some(Found::File(value)) = self.found(key) else {
            return Vec::new();
        };
        let items = value.get_ref().as_array();
        let numbers: Option<Vec<_>> = items.and_then(|items| {
            items
                .iter()
                .map(|item| whole_number(item.get_ref()).filter(|n| range.contains(n)))
                .collect()
        });
        numbers.unwrap_or_else(|| {
            let (low, high) = range.clone().into_inner();
            self.wrong(
                key,
                &format!("must be a list of whole numbers from {low} to {high}"),
            );
            Vec::new()
        })
    }

    /// The raw value, for keys that may hold one of several kinds; marked as read.
    pub fn raw(&self, key: &str) -> Option<&'r DeValue<'i>> {
        self.reader.mark_used(&join(&self.path, key));
        self.get(key).map(Spanned::get_ref)
    }

    /// The table under this key.
    #[must_use]
    pub fn section(&self, key: &str) -> Section<'r, 'i> {
        let name = join(&self.path, key);
        self.reader.mark_used(&name);
        let value = self.get(key);
        let table = value.and_then(|value| value.get_ref().as_table());
        if value.is_some() && table.is_none() {
            self.wrong(key, "must be a table");
        }
        let line = value.map_or(self.line, |value| self.reader.line(value.span().start));
        Section::new(self.reader, name, table, line)
    }

    /// Whether the table under this key is written, or a variable overrides something in it.
    pub fn has_section(&self, key: &str) -> bool {
        self.get(key).is_some() || self.reader.has_override_below(&join(&self.path, key))
    }

    /// The tables of the array under this key; empty where it is not written.
    pub fn sections(&self, key: &str) -> Vec<Section<'r, 'i>> {
        let name = join(&self.path, key);
        self.reader.mark_used(&name);
        let Some(value) = self.get(key) else {
            return Vec::new();
        };
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(key, "must be an array of tables");
            return Vec::new();
        };
        let mut sections = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match item.get_ref().as_table() {
                Some(table) => sections.push(Section::new(
                    self.reader,
                    format!("{name}[{index}]"),
                    Some(table),
                    self.reader.line(item.span().start),
                )),
                None => self.wrong(key, "must be an array of tables"),
            }
        }
        sections
    }

    fn get(&self, key: &str) -> Option<&'r Spanned<DeValue<'i>>> {
        self.table?
            .iter()
            .find(|(name, _)| name.get_ref() == key)
            .map(|(_, value)| value)
    }

    fn ask(&self, key: &str, kind: &'static str, default: Option<String>) {
        let name = join(&self.path, key);
        self.reader.note_asked(&name, kind, default);
        self.reader.mark_used(&name);
    }

    fn found(&self, key: &str) -> Option<Found<'r, 'i>> {
        match self.reader.overridden(&join(&self.path, key)) {
            Some((value, _)) => Some(Found::Variable(value)),
            None => self.get(key).map(Found::File),
        }
    }

    fn required(&self, key: &str) -> Option<()> {
        if self.has(key) {
            Some(())
        } else {
            self.wrong(key, "is missing");
            None
        }
    }

    fn read_text(&self, key: &str) -> Option<String> {
        match self.found(key)? {
            Found::Variable(value) => Some(value),
            Found::File(value) => {
                let text = value.get_ref().as_str().map(str::to_owned);
                if text.is_none() {
                    self.wrong(key, "must be a text");
                }
                text
            }
        }
    }

    fn read_secret(&self, key: &str) -> Option<SecretRef> {
        let text = self.read_text(key)?;
        let name = text.strip_prefix("secret:").filter(|name| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        });
        if name.is_none() {
            // The text is not repeated: it may be the secret itself.
            self.wrong(
                key,
                "must be secret:NAME with a NAME of letters, digits, - or _, listed in [secrets]",
            );
        }
        name.map(|name| SecretRef(name.to_owned()))
    }

    fn read_duration(&self, key: &str) -> Option<SignedDuration> {
        let text = self.read_text(key)?;
        parse_duration(&text)
            .map_err(|what| self.wrong(key, what))
            .ok()
    }

    fn read_integer(&self, key: &str, range: &RangeInclusive<i64>) -> Option<i64> {
        let number = match self.found(key)? {
            Found::Variable(value) => value.parse().ok(),
            Found::File(value) => whole_number(value.get_ref()),
        };
        let inside = number.filter(|n| range.contains(n));
        if inside.is_none() {
            let (low, high) = range.clone().into_inner();
            self.wrong(key, &format!("must be a whole number from {low} to {high}"));
        }
        inside
    }
}

fn whole_number(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

#[cfg(test)]
mod tests;
