use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Section;

/// One mistake in a settings file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// The file, or the environment variable that overrides a key of it.
    pub file: String,
    /// The line, from 1; 0 where the mistake has none (a key that is missing from the whole file).
    pub line: usize,
    /// The dotted key; empty for a mistake of the file as a whole.
    pub key: String,
    /// What is wrong and what is expected.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Every mistake found, in the order of the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

/// A key the code asked for: what a documentation table must list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// The dotted key; `[]` stands for each table of an array.
    pub key: String,
    /// `text`, `secret`, `duration`, `integer`, `boolean` or `list`.
    pub kind: &'static str,
    /// The default, as it would be written; `None` where the key is required; empty where it is optional.
    pub default: Option<String>,
}

/// A settings file being read.
#[derive(Debug)]
pub struct Reader<'i> {
    pub(super) file: String,
    text: &'i str,
    root: Spanned<DeTable<'i>>,
    overrides: BTreeMap<String, (String, String)>,
    used: RefCell<BTreeSet<String>>,
    mistakes: RefCell<Vec<Mistake>>,
    asked: RefCell<BTreeSet<Asked>>,
}

impl<'i> Reader<'i> {
    /// Parses the text of `file`. Syntax errors are mistakes like all others.
    pub fn new(file: &str, text: &'i str) -> Self {
        let (root, errors) = DeTable::parse_recoverable(text);
        let reader = Self {
            file: file.to_owned(),
            text,
            root,
            overrides: BTreeMap::new(),
            used: RefCell::default(),
            mistakes: RefCell::default(),
            asked: RefCell::default(),
        };
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            reader.mistake(reader.line(at), "", error.message());
        }
        reader
    }

    /// Sets values that override the file: dotted key, value, and the name of the variable it came from.
    #[must_use]
    pub fn with_overrides(
        mut self,
        overrides: impl IntoIterator<Item = (String, String, String)>,
    ) -> Self {
        self.overrides = overrides
            .into_iter()
            .map(|(key, value, variable)| (key, (value, variable)))
            .collect();
        self
    }

    /// The whole file as a section.
    pub fn root(&self) -> Section<'_, 'i> {
        Section::new(self, String::new(), Some(self.root.get_ref()), 0)
    }

    /// Ends the reading: keys nobody asked for are mistakes too.
    ///
    /// # Errors
    /// Every mistake, ordered by line.
    pub fn finish(&self) -> Result<(), Mistakes> {
        self.report_unknown("", self.root.get_ref());
        for (key, (_, variable)) in &self.overrides {
            if !self.used.borrow().contains(key) {
                self.mistakes.borrow_mut().push(Mistake {
                    file: variable.clone(),
                    line: 0,
                    key: key.clone(),
                    what: "no such key".to_owned(),
                });
            }
        }
        let mut mistakes = self.mistakes.borrow().clone();
        mistakes.sort();
        mistakes.dedup();
        if mistakes.is_empty() {
            Ok(())
        } else {
            Err(Mistakes(mistakes))
        }
    }

    /// The keys that were asked for, sorted.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.borrow().iter().cloned().collect()
    }

    fn report_unknown(&self, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = join(path, key.get_ref());
            if !self.used.borrow().contains(&name) {
                self.mistake(self.line(key.span().start), &name, "no such key");
                continue;
            }
            match value.get_ref() {
                DeValue::Table(inner) => self.report_unknown(&name, inner),
                DeValue::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        if let DeValue::Table(inner) = item.get_ref() {
                            self.report_unknown(&format!("{name}[{index}]"), inner);
                        }
                    }
                }
                DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_) => {}
            }
        }
    }

    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|b| **b == b'\n').count()
    }

    pub(super) fn mistake(&self, line: usize, key: &str, what: &str) {
        self.mistakes.borrow_mut().push(Mistake {
            file: self.file.clone(),
            line,
            key: key.to_owned(),
            what: what.to_owned(),
        });
    }

    pub(super) fn override_mistake(&self, variable: &str, key: &str, what: &str) {
        self.mistakes.borrow_mut().push(Mistake {
            file: variable.to_owned(),
            line: 0,
            key: key.to_owned(),
            what: what.to_owned(),
        });
    }

    pub(super) fn overridden(&self, key: &str) -> Option<(String, String)> {
        self.overrides.get(key).cloned()
    }

    pub(super) fn has_override_below(&self, key: &str) -> bool {
        let prefix = format!("{key}.");
        self.overrides.keys().any(|k| k.starts_with(&prefix))
    }

    pub(super) fn mark_used(&self, key: &str) {
        self.used.borrow_mut().insert(key.to_owned());
    }

    pub(super) fn note_asked(&self, key: &str, kind: &'static str, default: Option<String>) {
        self.asked.borrow_mut().insert(Asked {
            key: without_indices(key),
            kind,
            default,
        });
    }
}

/// A key with a dot in it is written in quotes, as in the file: it is not the key of an inner table.
pub(super) fn join(path: &str, key: &str) -> String {
    let quote = if key.contains('.') { "\"" } else { "" };
    if path.is_empty() {
        format!("{quote}{key}{quote}")
    } else {
        format!("{path}.{quote}{key}{quote}")
    }
}

fn without_indices(key: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in key.chars() {
        match c {
            '[' => {
                inside = true;
                out.push(c);
            }
            ']' => {
                inside = false;
                out.push(c);
            }
            _ if inside => {}
            _ => out.push(c),
        }
    }
    out
}
