//! What is known of a record, for people and for machines.

use jiff::Timestamp;
use sendtrail_core::ids::ExternalId;
use sendtrail_core::progress::{LastError, Progress, ProgressError};
use sendtrail_core::record::{Read, StateField};
use sendtrail_core::state::State;
use serde_json::{Value, json};

use crate::output::{Cell, Paint, cut, plain};

/// A record and what its progress says, if it can be read.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) read: Read,
    pub(crate) progress: Result<Progress, ProgressError>,
}

impl View {
    pub(crate) fn of(read: Read) -> Self {
        let progress = Progress::decode(read.record.progress.as_deref());
        Self { read, progress }
    }

    pub(crate) fn id(&self) -> &str {
        self.read.record.id.as_str()
    }

    /// The text of the state field.
    pub(crate) fn state(&self) -> &str {
        match &self.read.record.state {
            StateField::Known(state) => state.label(),
            StateField::Empty => "",
            StateField::Unknown(text) => text,
        }
    }

    /// The state for people; a word that is no state stands out.
    pub(crate) fn state_cell(&self) -> Cell {
        match &self.read.record.state {
            StateField::Known(state) => Cell(paint(*state), state.label().to_owned()),
            StateField::Empty => Cell(Paint::Bad, "(empty)".to_owned()),
            StateField::Unknown(text) => {
                Cell(Paint::Bad, format!("\"{}\"?", cut(&plain(text), 40)))
            }
        }
    }

    fn known(&self) -> Option<&Progress> {
        self.progress.as_ref().ok()
    }

    /// When the send began, as far as its progress tells: old entries of the trail are dropped, the
    /// confirmation and the claim are not. `None` where nothing tells.
    pub(crate) fn began_at(&self) -> Option<Timestamp> {
        let progress = self.known()?;
        let trail = progress.trail.first().map(|entry| entry.at);
        let confirmed = progress
            .document
            .as_ref()
            .map(|document| document.confirmed_at);
        let claimed = progress.claim.as_ref().map(|claim| claim.at);
        let submitted = progress.submission.as_ref().map(|submission| submission.at);
        [trail, confirmed, claimed, submitted]
            .into_iter()
            .flatten()
            .min()
    }

    /// When the record was changed last, by whomever.
    pub(crate) fn changed_at(&self) -> Timestamp {
        self.read.stamp.version_at
    }

    pub(crate) fn next_check_at(&self) -> Option<Timestamp> {
        self.known().and_then(Progress::next_check_at)
    }

    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        self.known().and_then(Progress::deadline)
    }

    pub(crate) fn attempts(&self) -> Option<u32> {
        self.known().map(Progress::attempts)
    }

    pub(crate) fn last_error(&self) -> Option<&LastError> {
        self.known()?.last_error.as_ref()
    }

    /// The name of the person who asked for the send.
    pub(crate) fn who(&self) -> Option<&str> {
        let request = self.known()?.request.as_ref()?;
        Some(&request.actor.name)
    }

    /// The API's id: of the submission, or what the field holds.
    pub(crate) fn external_id(&self) -> Option<&str> {
        let submission = self
            .known()
            .and_then(|progress| progress.submission.as_ref());
        let of_submission = submission.and_then(|s| s.external_id.as_ref());
        let field = self.read.record.external_id.as_deref();
        of_submission.map(ExternalId::as_str).or(field)
    }

    /// The last error in a few words.
    pub(crate) fn error_text(&self) -> Option<String> {
        let error = self.last_error()?;
        let status = error
            .status
            .map_or_else(String::new, |status| format!(" {status}"));
        let detail = if error.detail.is_empty() {
            String::new()
        } else {
            format!(": {}", error.detail)
        };
        Some(format!("{}{status}{detail}", error.kind))
    }

    /// The row of a list.
    pub(crate) fn json(&self, now: Timestamp) -> Value {
        let seconds = |at: Timestamp| now.duration_since(at).as_secs();
        let error = self.last_error().map(|error| {
            json!({"at": error.at, "kind": error.kind, "status": error.status, "detail": error.detail})
        });
        json!({
            "id": self.id(),
            "state": self.state(),
            "state_is_known": self.read.record.state.known().is_some(),
            "age_seconds": self.began_at().map(seconds),
            "changed_at": self.changed_at(),
            "next_check_at": self.next_check_at(),
            "attempts": self.attempts(),
            "deadline": self.deadline(),
            "asked_by": self.who(),
            "external_id": self.external_id(),
            "last_error": error,
            "progress_problem": self.progress.as_ref().err().map(ToString::to_string),
        })
    }

    /// The row with the progress as it is stored, or its text where it cannot be read.
    pub(crate) fn json_in_full(&self, now: Timestamp) -> Value {
        let mut value = self.json(now);
        let stored = self.read.record.progress.as_deref();
        let parsed = stored.filter(|_| self.progress.is_ok());
        let parsed: Option<Value> = parsed.and_then(|text| serde_json::from_str(text).ok());
        value["document_sha256"] = json!(self.read.record.document_sha256);
        value["progress_text"] = match parsed {
            Some(_) => Value::Null,
            None => json!(stored),
        };
        value["progress"] = parsed.unwrap_or(Value::Null);
        value
    }
}

/// The colour of a state.
pub(crate) fn paint(state: State) -> Paint {
    match state {
        State::Saved | State::Confirmed => Paint::Plain,
        State::Sending | State::Accepted => Paint::Busy,
        State::Succeeded => Paint::Good,
        State::Failed => Paint::Bad,
        State::NeedsReview => Paint::Attention,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use jiff::SignedDuration;
    use sendtrail_core::ids::{HistoryId, Revision};
    use sendtrail_core::record::{HistoryRecord, Stamp};

    pub(crate) const PROGRESS: &str = r#"{"v":1,"rev":9,"next_check_at":null,"attempts":3,
        "deadline":"2026-01-08T00:00:00Z","write":"w9","later":{"kept":true},
        "last_error":{"at":"2026-01-01T00:12:02Z","kind":"rate_limited","status":429,"detail":"retry \u001b[2J"},
        "request":{"key":"msg_1","body_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "actor":{"id":"u1","name":"Jo Seller"}},
        "document":{"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","bytes":48213,
            "file_id":"f1","confirmed_at":"2026-01-01T00:00:05Z",
            "input_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","seal":"s"},
        "claim":{"token":"c1","at":"2026-01-01T00:01:00Z","request_key":"msg_2","driver":"letter","draft_id":null},
        "submission":{"driver":"letter","reference":"st_00","outcome":"accepted","external_id":"ltr_7",
            "at":"2026-01-01T00:01:02Z","evidence":{"class":"status","status":200}},
        "trail":[{"at":"2026-01-01T00:00:00Z","event":"input_saved","to":"saved","by":"Jo Seller"},
            {"at":"2026-01-01T00:12:00Z","event":"still_pending","to":"accepted","times":3},
            {"at":"2026-01-08T00:00:00Z","event":"gave_up","to":"needs_review","reason":"no result"}]}"#;

    pub(crate) fn view(state: &str, progress: Option<&str>) -> View {
        View::of(Read {
            record: HistoryRecord {
                id: HistoryId::parse("57").unwrap(),
                revision: Revision::parse("v").unwrap(),
                state: StateField::of(Some(state)),
                progress: progress.map(str::to_owned),
                input: None,
                document: None,
                document_sha256: None,
                external_id: Some("in-the-field".into()),
                next_check_at: None,
                deadline: None,
            },
            stamp: Stamp {
                version_at: "2026-01-08T00:00:01Z".parse().unwrap(),
                clock_before: None,
                date: None,
                request_timeout: SignedDuration::from_secs(10),
            },
        })
    }

    pub(crate) fn now() -> Timestamp {
        "2026-01-09T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_record_is_told_whole_to_machines() {
        let json = view("needs_review", Some(PROGRESS)).json_in_full(now());
        assert_eq!(json["state"], "needs_review");
        assert_eq!(json["age_seconds"], 8 * 86_400);
        assert_eq!(json["attempts"], 3);
        assert_eq!(json["deadline"], "2026-01-08T00:00:00Z");
        assert_eq!(json["next_check_at"], Value::Null);
        assert_eq!(json["last_error"]["status"], 429);
        assert_eq!(json["asked_by"], "Jo Seller");
        assert_eq!(json["external_id"], "ltr_7");
        assert_eq!(json["progress"]["later"]["kept"], true);
        assert_eq!(json["progress_problem"], Value::Null);
        assert_eq!(json["progress_text"], Value::Null);
    }

    #[test]
    fn a_progress_that_cannot_be_read_is_shown_with_the_reason() {
        for text in ["not json", "{\"v\":2,\"rev\":1}", ""] {
            let json = view("accepted", Some(text)).json_in_full(now());
            assert_eq!(json["progress_text"], text);
            assert_eq!(json["progress"], Value::Null);
            assert!(json["progress_problem"].is_string(), "{text}");
            assert_eq!(json["age_seconds"], Value::Null);
            assert_eq!(json["external_id"], "in-the-field");
        }
    }

    #[test]
    fn a_word_that_is_no_state_stands_out_and_is_told_as_it_is() {
        let odd = view("sent\u{1b}!", None);
        assert_eq!(
            odd.state_cell(),
            Cell(Paint::Bad, "\"sent\\u{1b}!\"?".into())
        );
        assert_eq!(odd.json(now())["state_is_known"], false);
        assert_eq!(view("", None).state_cell().1, "(empty)");
    }
}
