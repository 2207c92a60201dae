//! The values, with their past: a read may be answered from a moment ago.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// How a parameter is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterKind {
    /// In the clear.
    String,
    /// Encrypted; read without decryption it gives the ciphertext.
    SecureString,
}

/// A parameter as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredParameter {
    /// Full name.
    pub name: String,
    /// Value.
    pub value: String,
    /// Kind.
    pub kind: ParameterKind,
    /// Rises by one with every write.
    pub version: u64,
}

/// One write, of a client or of a test.
#[derive(Debug)]
struct Written {
    at: Instant,
    /// `None`: deleted.
    now: Option<StoredParameter>,
}

/// Why a parameter was not made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exists;

#[derive(Debug, Default)]
pub(crate) struct Store {
    /// By name, oldest write first.
    parameters: BTreeMap<String, Vec<Written>>,
}

impl Store {
    /// The parameter as it was `ago` ago.
    pub(crate) fn read(&self, name: &str, ago: Duration) -> Option<&StoredParameter> {
        let writes = self.parameters.get(name)?;
        let seen = writes.iter().rev().find(|one| one.at.elapsed() >= ago)?;
        seen.now.as_ref()
    }

    /// Writes over what is there; the new version.
    pub(crate) fn put(&mut self, name: &str, value: &str, kind: ParameterKind) -> u64 {
        let writes = self.parameters.entry(name.to_owned()).or_default();
        let before = writes.iter().rev().find_map(|one| one.now.as_ref());
        let version = before.map_or(1, |before| before.version + 1);
        let now = Some(StoredParameter {
            name: name.to_owned(),
            value: value.to_owned(),
            kind,
            version,
        });
        let at = Instant::now();
        writes.push(Written { at, now });
        version
    }

    /// Makes what is not there. A name deleted less than `after_delete` ago counts as there: AWS asks to wait
    /// before a name is used again.
    pub(crate) fn create(
        &mut self,
        name: &str,
        value: &str,
        kind: ParameterKind,
        after_delete: Duration,
    ) -> Result<u64, Exists> {
        let last = self.parameters.get(name).and_then(|writes| writes.last());
        let free = last.is_none_or(|last| last.now.is_none() && last.at.elapsed() >= after_delete);
        if free {
            Ok(self.put(name, value, kind))
        } else {
            Err(Exists)
        }
    }

    /// Whether there was one.
    pub(crate) fn delete(&mut self, name: &str) -> bool {
        let Some(writes) = self.parameters.get_mut(name) else {
            return false;
        };
        let was_there = writes.last().is_some_and(|last| last.now.is_some());
        if was_there {
            let at = Instant::now();
            writes.push(Written { at, now: None });
        }
        was_there
    }

    /// Everything there is, by name.
    pub(crate) fn all(&self) -> Vec<StoredParameter> {
        let last = |writes: &Vec<Written>| writes.last()?.now.clone();
        self.parameters.values().filter_map(last).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;
    const EARLIER: Duration = Duration::from_hours(1);

    #[test]
    fn a_late_read_misses_a_write_and_a_deletion() {
        let mut store = Store::default();
        store.put("/a", "one", ParameterKind::String);
        assert_eq!(store.read("/a", NOW).unwrap().value, "one");
        assert_eq!(store.read("/a", EARLIER), None);
        assert!(store.delete("/a"));
        assert!(!store.delete("/a"));
        assert_eq!(store.read("/a", NOW), None);
    }

    #[test]
    fn a_name_is_made_once_and_not_again_just_after_its_deletion() {
        let mut store = Store::default();
        let make = |store: &mut Store, wait| store.create("/a", "x", ParameterKind::String, wait);
        assert_eq!(make(&mut store, NOW), Ok(1));
        assert_eq!(make(&mut store, NOW), Err(Exists));
        store.delete("/a");
        assert_eq!(make(&mut store, EARLIER), Err(Exists));
        assert_eq!(make(&mut store, NOW), Ok(2));
        assert_eq!(store.all().len(), 1);
    }
}
