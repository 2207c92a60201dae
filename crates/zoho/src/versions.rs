//! One text for each version of a record.
//!
//! The CRM writes a version in the offset of its user, which changes with the clocks and with the user's
//! settings: one version can come in two texts. The core compares the texts, so that the first one that was
//! read stands for its instant. It is handed back byte for byte like any other.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use sendtrail_core::ids::{HistoryId, Revision};
use sendtrail_core::record::Read;

/// More than one run of the poller works on.
const MOST: usize = 2_000;

/// The versions read last.
#[derive(Debug, Default)]
pub(crate) struct Versions(Mutex<HashMap<HistoryId, (Timestamp, Revision)>>);

impl Versions {
    /// Gives the read the text under which its version was read first.
    pub(crate) fn settle(&self, read: &mut Read) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = read.stamp.version_at;
        match known.get(&read.record.id) {
            Some((known_at, text)) if *known_at == at => read.record.revision = text.clone(),
            Some(_) | None => {
                if known.len() >= MOST {
                    known.clear();
                }
                let version = (at, read.record.revision.clone());
                known.insert(read.record.id.clone(), version);
            }
        }
    }
}
