//! The mutations: patches in `tests/model/mutations`, each with a head that says what it breaks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A mutation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// The name of its file, without `.patch`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What it breaks, in words.
    pub rule: String,
    /// The rule that must catch it.
    pub catcher: String,
    /// The configuration in which it is caught.
    pub config: String,
    /// Whether the full bounds are needed.
    pub full: bool,
    /// Whether the short form has it.
    pub short: bool,
}

impl Mutation {
    /// Every mutation of a repository, by name.
    ///
    /// # Errors
    /// When the folder or a file cannot be read, or the head of one lacks a line.
    pub fn all(root: &Path) -> io::Result<Vec<Self>> {
        let folder = root.join("tests").join("model").join("mutations");
        let mut all = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "patch")
            {
                all.push(Self::read(path)?);
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    fn read(path: PathBuf) -> io::Result<Self> {
        let text = fs::read_to_string(&path)?;
        let head = |key: &str| {
            let lines = text.lines().take_while(|line| !line.starts_with("--- "));
            let mut values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            values.next().map(str::to_owned)
        };
        let needed = |key: &str| {
            head(key).ok_or_else(|| io::Error::other(format!("{}: no line {key}", path.display())))
        };
        let (rule, catcher, config) = (needed("breaks")?, needed("caught by")?, needed("in")?);
        let bounds = head("bounds");
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(Self {
            name,
            rule,
            catcher,
            config,
            full: bounds.as_deref() == Some("full"),
            short: head("short").is_some(),
            path,
        })
    }
}
