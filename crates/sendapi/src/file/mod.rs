//! Driver files: read and checked as a whole, every mistake with its line and key.

mod body;
mod look_up;
mod read;
mod step;

#[cfg(test)]
mod refusals;
#[cfg(test)]
pub(crate) mod tests;

use reqwest::header::HeaderName;
use sendtrail_core::ids::DriverId;
use sendtrail_core::policy::Pacing;
use sendtrail_core::ports::Capabilities;
use sendtrail_core::settings::{Mistake, Mistakes, Reader, SecretRef};

use crate::address::Base;
use crate::auth::Auth;
use crate::pointer::Pointer;

#[cfg(feature = "submit")]
pub(crate) use body::{BodySpec, Node};
#[cfg(feature = "look-up")]
pub(crate) use look_up::Verdict;
pub(crate) use look_up::{Find, LookUpRules};
pub(crate) use step::{Idempotency, Step};
#[cfg(feature = "submit")]
pub(crate) use step::{RuleOutcome, rejects};

/// A driver file that holds together: one external send API, described.
#[derive(Debug, Clone, PartialEq)]
pub struct DriverFile {
    pub(crate) id: DriverId,
    pub(crate) base: Base,
    pub(crate) max_document_bytes: u64,
    pub(crate) auth: Auth,
    pub(crate) idempotency: Option<Idempotency>,
    /// Where the API's answers carry its own error code.
    pub(crate) error: Option<Pointer>,
    pub(crate) wait_headers: Vec<HeaderName>,
    pub(crate) commit: Step,
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
        names.sort();
        names.dedup();
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
