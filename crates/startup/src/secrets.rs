//! Secrets: named in the configuration, kept elsewhere, resolved when a function asks.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use sendtrail_aws::{Account, AccountError};
use sendtrail_core::settings::SecretRef;

use crate::config::SigningKey;
use crate::environment::Environment;
use crate::error::StartError;
use crate::function::Function;

mod place;
mod read;

use place::Pattern;
pub(crate) use place::Place;
use read::{Trouble, read};

/// A secret that cannot be used. It never holds the value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretMistake {
    /// The name in `[secrets]`.
    pub name: String,
    /// What is wrong, with where it is kept.
    pub what: String,
    /// Whether it could not be read, or is not there; otherwise what was read cannot be used.
    pub is_unreadable: bool,
}

impl SecretMistake {
    fn unusable(name: &str, what: String) -> Self {
        Self {
            name: name.to_owned(),
            what,
            is_unreadable: false,
        }
    }
}

impl fmt::Display for SecretMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret:{}: {}", self.name, self.what)
    }
}

/// Where every secret is kept. It holds no secret itself.
#[derive(Debug, Clone)]
pub struct SecretStore {
    pub(crate) places: BTreeMap<String, Place>,
    /// The names of signing keys, the token key and the seal key, whose values must all differ.
    pub(crate) keys: BTreeSet<String>,
    pub(crate) stage: String,
    pub(crate) env: Environment,
}

impl SecretStore {
    /// The account of AWS that this process works in.
    ///
    /// # Errors
    /// [`AccountError`] names a variable that Lambda sets and that is missing here.
    pub fn account(&self) -> Result<Account, AccountError> {
        Account::of_variables(|name| self.env.get(name))
    }

    /// Reads the secrets that `function` asks for, and only those.
    ///
    /// # Errors
    /// [`StartError::Secrets`] with every one that is not listed, missing, not allowed or empty, and with keys
    /// whose value another secret has too.
    pub async fn resolve<'a>(
        &self,
        function: Function,
        refs: impl IntoIterator<Item = &'a SecretRef>,
    ) -> Result<Secrets, StartError> {
        self.resolve_keys(function, refs, |_| Ok::<_, Infallible>(()))
            .await
    }

    /// The same, and every key among them (signing, token and seal keys) must be one that `parse` takes, so
    /// that what is missing and what is no key are told together. The error of `parse` must not hold the text.
    ///
    /// # Errors
    /// As [`SecretStore::resolve`].
    pub async fn resolve_keys<'a, K, E: fmt::Display>(
        &self,
        function: Function,
        refs: impl IntoIterator<Item = &'a SecretRef>,
        parse: impl Fn(&str) -> Result<K, E>,
    ) -> Result<Secrets, StartError> {
        let names = refs.into_iter().map(SecretRef::name).collect();
        let mut values = BTreeMap::new();
        let mut mistakes = Vec::new();
        for (name, found) in read(self, function, names).await {
            let value = match found {
                Ok(value) => value,
                Err(Trouble::Unreadable(what)) => {
                    mistakes.push(SecretMistake {
                        is_unreadable: true,
                        ..SecretMistake::unusable(name, what)
                    });
                    continue;
                }
                Err(Trouble::Unusable(what)) => {
                    mistakes.push(SecretMistake::unusable(name, what));
                    continue;
                }
            };
            let is_key = self.keys.contains(name);
            let bad = is_key.then(|| parse(value.expose_secret()).err()).flatten();
            mistakes.extend(bad.map(|error| SecretMistake::unusable(name, error.to_string())));
            values.insert(name.to_owned(), value);
        }
        mistakes.extend(self.repeated(&values));
        if mistakes.is_empty() {
            Ok(Secrets { values })
        } else {
            Err(StartError::Secrets(mistakes))
        }
    }

    /// A key that signs one thing must not be the key to another, under whatever name.
    fn repeated(&self, values: &BTreeMap<String, SecretString>) -> Vec<SecretMistake> {
        let mut mistakes = Vec::new();
        for (name, value) in values.iter().filter(|(name, _)| self.keys.contains(*name)) {
            let same = values.iter().find(|(other, text)| {
                *other != name && text.expose_secret() == value.expose_secret()
            });
            if let Some((other, _)) = same {
                let what = format!("has the same value as secret:{other}; every key needs its own");
                mistakes.push(SecretMistake::unusable(name, what));
            }
        }
        mistakes
    }
}

/// The secrets a function asked for. `Debug` shows names only.
#[derive(Clone, Default)]
pub struct Secrets {
    values: BTreeMap<String, SecretString>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Secrets {
    /// Whether every value is what it is in `other`.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let texts = |secrets: &Self| -> Vec<_> {
            let pairs = secrets.values.iter();
            pairs
                .map(|(name, value)| (name.clone(), value.expose_secret().to_owned()))
                .collect()
        };
        texts(self) == texts(other)
    }

    /// One of the secrets that were asked for.
    ///
    /// # Errors
    /// [`StartError::Secrets`] when this one was not.
    pub fn get(&self, secret: &SecretRef) -> Result<&SecretString, StartError> {
        self.values.get(secret.name()).ok_or_else(|| {
            let what = "was not asked for".to_owned();
            StartError::Secrets(vec![SecretMistake::unusable(secret.name(), what)])
        })
    }

    /// Signing keys with their names, in the order of the configuration.
    ///
    /// # Errors
    /// [`StartError::Secrets`] when one was not asked for.
    pub fn signing_keys(&self, keys: &[SigningKey]) -> Result<Vec<(String, &str)>, StartError> {
        keys.iter()
            .map(|key| Ok((key.name.clone(), self.get(&key.secret)?.expose_secret())))
            .collect()
    }
}

#[cfg(test)]
mod tests;
