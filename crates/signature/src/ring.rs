//! The active signing keys of one function.

use crate::Secret;

/// Longest key name, in characters. Names are shown in metrics and logs.
const MAX_NAME_CHARS: usize = 64;

/// Several named secrets, any of which may have signed. Never empty, no name or value twice.
#[derive(Clone, Debug)]
pub struct KeyRing {
    keys: Vec<(String, Secret)>,
}

/// Why a list of keys is refused at start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyRingError {
    /// No key: a door without keys must not open.
    #[error("there is no key")]
    NoKey,
    /// A name is empty, too long, or has a character that metrics cannot carry.
    #[error("key name `{name}` must be 1 to {MAX_NAME_CHARS} characters of A-Z a-z 0-9 . _ -")]
    BadName {
        /// The name as given.
        name: String,
    },
    /// Two keys have one name.
    #[error("two keys are named `{name}`")]
    SameName {
        /// The name.
        name: String,
    },
    /// Two keys have one value, in whatever form each was written.
    #[error("keys `{first}` and `{second}` have the same value")]
    SameValue {
        /// The earlier name.
        first: String,
        /// The later name.
        second: String,
    },
}

impl KeyRing {
    /// A ring of the given (name, secret) pairs; the first error found is returned.
    pub fn new(keys: Vec<(String, Secret)>) -> Result<Self, KeyRingError> {
        if keys.is_empty() {
            return Err(KeyRingError::NoKey);
        }
        for (index, (name, _)) in keys.iter().enumerate() {
            if !is_name(name) {
                return Err(KeyRingError::BadName { name: name.clone() });
            }
            if keys.iter().take(index).any(|(other, _)| other == name) {
                return Err(KeyRingError::SameName { name: name.clone() });
            }
        }
        let named: Vec<_> = keys
            .iter()
            .map(|(name, secret)| (name.as_str(), secret))
            .collect();
        ensure_distinct(&named)?;
        Ok(Self { keys })
    }

    /// Whether a key of this name is the first: the one to sign with. Those after it are on their way out.
    pub fn is_current(&self, name: &str) -> bool {
        self.keys.first().is_some_and(|(first, _)| first == name)
    }

    /// The keys, in the order given. Use it with [`ensure_distinct`] across all kinds of key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.keys
            .iter()
            .map(|(name, secret)| (name.as_str(), secret))
    }
}

/// Refuses two keys of one value. Call it with every key of an installation: signing keys of
/// each function, the token key and the seal key must all differ.
///
/// # Errors
/// [`KeyRingError::SameValue`] for the first pair found.
pub fn ensure_distinct(keys: &[(&str, &Secret)]) -> Result<(), KeyRingError> {
    for (index, (second, secret)) in keys.iter().enumerate() {
        if let Some((first, _)) = keys.iter().take(index).find(|(_, s)| s.same_value(secret)) {
            return Err(KeyRingError::SameValue {
                first: (*first).to_owned(),
                second: (*second).to_owned(),
            });
        }
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(letter: &str) -> Secret {
        Secret::parse(&letter.repeat(32)).unwrap()
    }

    fn ring(keys: &[(&str, Secret)]) -> Result<KeyRing, KeyRingError> {
        KeyRing::new(
            keys.iter()
                .map(|(n, s)| ((*n).to_owned(), s.clone()))
                .collect(),
        )
    }

    #[test]
    fn a_ring_without_keys_is_refused() {
        assert_eq!(ring(&[]).unwrap_err(), KeyRingError::NoKey);
    }

    #[test]
    fn a_name_or_a_value_given_twice_is_refused() {
        let same_name = ring(&[("a", secret("x")), ("a", secret("y"))]).unwrap_err();
        assert_eq!(same_name, KeyRingError::SameName { name: "a".into() });
        let whsec = Secret::parse(&secret("x").to_whsec()).unwrap();
        let same_value = ring(&[("a", secret("x")), ("b", whsec)]).unwrap_err();
        let expected = KeyRingError::SameValue {
            first: "a".into(),
            second: "b".into(),
        };
        assert_eq!(same_value, expected);
        assert!(ring(&[("a", secret("x")), ("b", secret("y"))]).is_ok());
    }

    #[test]
    fn the_first_key_is_the_current_one() {
        let ring = ring(&[("new", secret("x")), ("old", secret("y"))]).unwrap();
        assert!(ring.is_current("new"));
        assert!(!ring.is_current("old") && !ring.is_current("none"));
    }

    #[test]
    fn a_name_that_metrics_cannot_carry_is_refused() {
        for name in ["", "a b", "a\"b", "é", &"n".repeat(65)] {
            let error = ring(&[(name, secret("x"))]).unwrap_err();
            assert_eq!(error, KeyRingError::BadName { name: name.into() });
        }
    }

    #[test]
    fn keys_of_different_kinds_must_differ_too() {
        let (signing, token) = (secret("x"), secret("x"));
        let error = ensure_distinct(&[("intake", &signing), ("token", &token)]).unwrap_err();
        assert!(matches!(error, KeyRingError::SameValue { .. }));
        assert!(!error.to_string().contains("xxx"));
        assert!(ensure_distinct(&[("intake", &signing), ("token", &secret("y"))]).is_ok());
    }
}
