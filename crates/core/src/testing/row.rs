//! One row of a CRM, as people and writes change it.

use jiff::Timestamp;

use crate::ids::{FileId, HistoryId, RequestKey, Revision};
use crate::ports::{DocumentChange, Write};
use crate::progress::whole_seconds;
use crate::record::{HistoryRecord, StateField};
use crate::state::State;

/// The fields of one history record, as a person could edit them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Row {
    /// The state field's text.
    pub state: Option<String>,
    /// The progress field's text.
    pub progress: Option<String>,
    /// The input field's text.
    pub input: Option<String>,
    /// The next-check field.
    pub next_check_at: Option<Timestamp>,
    /// The deadline field.
    pub deadline: Option<Timestamp>,
    /// The request-key field.
    pub request_key: Option<String>,
    /// The external-id field.
    pub external_id: Option<String>,
    /// The document field.
    pub document: Option<FileId>,
    /// The document-hash field.
    pub document_sha256: Option<String>,
    /// The source module and record.
    pub source: Option<(String, String)>,
    pub(super) modified: Timestamp,
    /// Whether the CRM ran its workflows after the last write.
    pub notified: bool,
}

impl Row {
    /// The instant its revision stands for, in whole seconds.
    pub fn modified(&self) -> Timestamp {
        self.modified
    }

    /// Whether the state is one that the poller works on.
    pub(super) fn is_in_flight(&self) -> bool {
        let state = StateField::of(self.state.as_deref()).known();
        state.is_some_and(State::is_in_flight)
    }

    /// The dates are looked at first: they tell most rows apart without reading the state.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let has_come = |at: &Timestamp| *at <= now;
        (self.next_check_at.as_ref().is_none_or(has_come)
            || self.deadline.as_ref().is_some_and(has_come))
            && self.is_in_flight()
    }

    pub(super) fn has_key(&self, key: &RequestKey) -> bool {
        self.request_key
            .as_deref()
            .is_some_and(|k| k.eq_ignore_ascii_case(key.as_str()))
    }

    pub(super) fn revision(&self) -> Revision {
        #[expect(clippy::expect_used, reason = "test code; a timestamp is a revision")]
        Revision::parse(&self.modified.to_string()).expect("a timestamp is a revision")
    }

    /// The record as it is read.
    pub fn record(&self, id: &HistoryId) -> HistoryRecord {
        HistoryRecord {
            id: id.clone(),
            revision: self.revision(),
            state: StateField::of(self.state.as_deref()),
            progress: self.progress.clone(),
            input: self.input.clone(),
            document: self.document.clone(),
            document_sha256: self.document_sha256.clone(),
            external_id: self.external_id.clone(),
            next_check_at: self.next_check_at,
            deadline: self.deadline,
        }
    }

    pub(super) fn apply(&mut self, write: &Write, now: Timestamp) {
        if let Some(state) = write.state {
            self.state = Some(state.label().to_owned());
        }
        self.progress = Some(write.progress.clone());
        self.next_check_at = write.next_check_at;
        self.deadline = write.deadline;
        self.external_id = write.external_id.as_ref().map(ToString::to_string);
        self.document_sha256 = write.document_sha256.as_ref().map(ToString::to_string);
        if let Some(input) = &write.input {
            self.input = Some(input.clone());
        }
        match &write.document {
            DocumentChange::Keep => {}
            DocumentChange::Bind(file) => self.document = Some(file.clone()),
            DocumentChange::Drop => self.document = None,
        }
        self.modified = whole_seconds(now);
        self.notified = write.notify;
    }

    /// The row as a list shows it that cuts long text.
    pub(super) fn as_listed(&self, cut: Option<usize>) -> Self {
        let mut row = self.clone();
        if let (Some(cut), Some(text)) = (cut, row.progress.as_mut()) {
            text.truncate(cut);
        }
        row
    }
}
