//! Driver files: read and checked as a whole, every mistake with its line and key.

mod body;
mod find;
mod look_up;
mod outcome;
mod read;
mod rule;
mod step;

#[cfg(test)]
mod documented;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod refusals_between;
#[cfg(test)]
mod refusals_steps;
#[cfg(test)]
mod shipped;
#[cfg(test)]
pub(crate) mod tests;

use reqwest::header::{HeaderName, HeaderValue};
use sendtrail_core::ids::DriverId;
use sendtrail_core::policy::Pacing;
use sendtrail_core::ports::Capabilities;
use sendtrail_core::settings::{Mistake, Mistakes, Reader, SecretRef};

use crate::address::Base;
use crate::auth::Auth;
use crate::pointer::Pointer;

#[cfg(any(feature = "submit", feature = "look-up"))]
pub(crate) use body::{BodySpec, Node};
pub(crate) use find::Find;
#[cfg(feature = "look-up")]
pub(crate) use find::FindBy;
pub(crate) use look_up::LookUpRules;
#[cfg(feature = "look-up")]
pub(crate) use look_up::Verdict;
#[cfg(feature = "submit")]
pub(crate) use outcome::{RuleOutcome, rejects};
#[cfg(feature = "submit")]
pub(crate) use step::{Call, IdFrom, Preparation, Step, Target};
pub(crate) use step::{Idempotency, Steps};

/// A driver file that holds together: one external send API, described.
#[derive(Debug, Clone, PartialEq)]
pub struct DriverFile {
    pub(crate) id: DriverId,
    pub(crate) base: Base,
    /// The hosts that may be called.
    pub(crate) hosts: Vec<String>,
    pub(crate) max_document_bytes: u64,
    pub(crate) auth: Auth,
    pub(crate) idempotency: Option<Idempotency>,
    /// Where the API's answers carry its own error code.
    pub(crate) error: Option<Pointer>,
    pub(crate) wait_headers: Vec<HeaderName>,
    /// Sent with every request to the base.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) steps: Steps,
    pub(crate) look_up: LookUpRules,
    pub(crate) find: Option<Find>,
    pub(crate) pacing: Pacing,
}

impl DriverFile {
    /// The id, which is the stem of the file's name.
    pub fn id(&self) -> &DriverId {
        &self.id
    }

    /// The secrets the file names, each once, in alphabetical order.
    pub fn secret_refs(&self) -> Vec<SecretRef> {
        let mut names = self.auth.secret_refs();
        names.extend(self.body_secrets());
        names.sort();
        names.dedup();
        names
    }

    /// The secrets that stand in bodies.
    pub(crate) fn body_secrets(&self) -> Vec<SecretRef> {
        let mut names = Vec::new();
        self.steps.secrets(&mut names);
        let find = self.find.as_ref().and_then(|find| find.body.as_ref());
        for body in self.look_up.body.iter().chain(find) {
            body.secrets(&mut names);
        }
        names
    }

    /// What the driver can do.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            can_find: self.find.is_some(),
            max_document_bytes: self.max_document_bytes,
        }
    }

    /// How often to look up, and until when.
    pub fn pacing(&self) -> &Pacing {
        &self.pacing
    }
}

/// Reads driver files, each given as its name and its text.
///
/// # Errors
/// Every mistake of every file, with file, line and key.
pub fn load(files: &[(String, String)]) -> Result<Vec<DriverFile>, Mistakes> {
    let mut drivers: Vec<DriverFile> = Vec::new();
    let mut mistakes = Vec::new();
    for (name, text) in files {
        let reader = Reader::new(name, text);
        let driver = read::driver(stem(name), &reader.root());
        match (reader.finish(), driver) {
            (Err(found), _) => mistakes.extend(found.0),
            (Ok(()), Some(driver)) if drivers.iter().any(|other| other.id == driver.id) => {
                mistakes.push(whole_file(name, "a driver of this id was read already"));
            }
            (Ok(()), Some(driver)) => drivers.push(driver),
            (Ok(()), None) => mistakes.push(whole_file(name, "cannot be used")),
        }
    }
    if mistakes.is_empty() {
        Ok(drivers)
    } else {
        Err(Mistakes(mistakes))
    }
}

fn stem(name: &str) -> &str {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    last.strip_suffix(".toml").unwrap_or(last)
}

fn whole_file(name: &str, what: &str) -> Mistake {
    Mistake {
        file: name.to_owned(),
        line: 0,
        key: String::new(),
        what: what.to_owned(),
    }
}
