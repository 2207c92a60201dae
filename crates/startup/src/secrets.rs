//! Secrets: named in the configuration, kept elsewhere, resolved when a function asks.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::io::Read as _;
use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};
use sendtrail_core::settings::SecretRef;

use crate::config::SigningKey;
use crate::environment::Environment;
use crate::error::StartError;

/// No secret is longer; what is longer is some other file.
const MAX_SECRET: u64 = 64 * 1024;

/// Where one secret is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Variable(String),
    File(PathBuf),
}

impl Place {
    /// Reads `env:VARIABLE` or `file:PATH`; a relative path is taken from `folder`.
    pub(crate) fn parse(text: &str, folder: &std::path::Path) -> Option<Self> {
        if let Some(name) = text.strip_prefix("env:") {
            let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            return (!name.is_empty() && name.bytes().all(word))
                .then(|| Self::Variable(name.to_owned()));
        }
        let path = text.strip_prefix("file:")?;
        (!path.is_empty()).then(|| Self::File(folder.join(path)))
    }
}

/// A secret that cannot be used. It never holds the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretMistake {
    /// The name in `[secrets]`.
    pub name: String,
    /// What is wrong, with the variable or file.
    pub what: String,
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
    pub(crate) env: Environment,
}

impl SecretStore {
    /// Reads the secrets asked for, and only those.
    ///
    /// # Errors
    /// [`StartError::Secrets`] with every one that is not listed, missing or empty, and with keys whose value
    /// another secret has too.
    pub fn resolve<'a>(
        &self,
        refs: impl IntoIterator<Item = &'a SecretRef>,
    ) -> Result<Secrets, StartError> {
        self.resolve_keys(refs, |_| Ok::<_, Infallible>(()))
    }

    /// The same, and every key among them (signing, token and seal keys) must be one that `parse` takes, so
    /// that what is missing and what is no key are told together. The error of `parse` must not hold the text.
    ///
    /// # Errors
    /// As [`SecretStore::resolve`].
    pub fn resolve_keys<'a, K, E: fmt::Display>(
        &self,
        refs: impl IntoIterator<Item = &'a SecretRef>,
        parse: impl Fn(&str) -> Result<K, E>,
    ) -> Result<Secrets, StartError> {
        let mut values = BTreeMap::new();
        let mut mistakes = Vec::new();
        let names: BTreeSet<&str> = refs.into_iter().map(SecretRef::name).collect();
        for name in names {
            match self.read(name) {
                Ok(value) => {
                    let bad = self.keys.contains(name).then(|| parse(&value).err());
                    mistakes.extend(bad.flatten().map(|error| SecretMistake {
                        name: name.to_owned(),
                        what: error.to_string(),
                    }));
                    values.insert(name.to_owned(), SecretString::from(value));
                }
                Err(what) => mistakes.push(SecretMistake {
                    name: name.to_owned(),
                    what,
                }),
            }
        }
        mistakes.extend(self.repeated(&values));
        if mistakes.is_empty() {
            Ok(Secrets { values })
        } else {
            Err(StartError::Secrets(mistakes))
        }
    }

    fn read(&self, name: &str) -> Result<String, String> {
        let place = self.places.get(name).ok_or("is not listed in [secrets]")?;
        let (value, at) = match place {
            Place::Variable(variable) => {
                let at = format!("the variable {variable}");
                let value = self.env.get(variable).map(str::to_owned);
                (value.ok_or_else(|| format!("{at} is not set"))?, at)
            }
            Place::File(path) => {
                let at = format!("the file {}", path.display());
                (read_file(path).map_err(|what| format!("{at} {what}"))?, at)
            }
        };
        if value.trim().is_empty() {
            return Err(format!("{at} is empty"));
        }
        Ok(value)
    }

    /// A key that signs one thing must not be the key to another, under whatever name.
    fn repeated(&self, values: &BTreeMap<String, SecretString>) -> Vec<SecretMistake> {
        let mut mistakes = Vec::new();
        for (name, value) in values.iter().filter(|(name, _)| self.keys.contains(*name)) {
            let same = values.iter().find(|(other, text)| {
                *other != name && text.expose_secret() == value.expose_secret()
            });
            if let Some((other, _)) = same {
                mistakes.push(SecretMistake {
                    name: name.clone(),
                    what: format!("has the same value as secret:{other}; every key needs its own"),
                });
            }
        }
        mistakes
    }
}

/// The text of a secret's file without the line end that editors leave.
fn read_file(path: &std::path::Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    let mut text = String::new();
    let read = file.take(MAX_SECRET + 1).read_to_string(&mut text);
    // The system's word for text that is no UTF-8 would do, but this says it plainly.
    match read {
        Ok(read) if read as u64 > MAX_SECRET => return Err("is too long for a secret".to_owned()),
        Ok(_) => {}
        Err(error) => return Err(format!("cannot be read as UTF-8 text: {error}")),
    }
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
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
    /// One of the secrets that were asked for.
    ///
    /// # Errors
    /// [`StartError::Secrets`] when this one was not.
    pub fn get(&self, secret: &SecretRef) -> Result<&SecretString, StartError> {
        self.values.get(secret.name()).ok_or_else(|| {
            StartError::Secrets(vec![SecretMistake {
                name: secret.name().to_owned(),
                what: "was not asked for".to_owned(),
            }])
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
