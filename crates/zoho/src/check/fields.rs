//! Do the fields hold what is written into them?

use jiff::Timestamp;
use sendtrail_core::ids::{CrmName, HistoryId};
use sendtrail_core::state::State;
use serde_json::{Map, Value, json};

use super::raw::Put;
use super::{Check, is_empty};

/// The longest progress, in bytes.
const PROGRESS: usize = 8 * 1024;
/// The longest input, in bytes.
const INPUT: usize = 16 * 1024;
/// Far off, so that no poller works on the record whatever its state.
const FAR: &str = "2099-02-03T04:05:06+00:00";
const FARTHER: &str = "2099-02-03T04:05:07+00:00";

impl Check<'_> {
    /// Every short field holds what it is given, and can be emptied.
    pub(super) async fn read_back(&mut self, id: &HistoryId) {
        const NAME: &str = "fields";
        let fields = self.raw.fields();
        let sha256 = "0123456789abcdef".repeat(4);
        let values: [(&CrmName, &str); 5] = [
            (&fields.external_id, "check_external-id_42"),
            (&fields.document_sha256, &sha256),
            (&fields.source_module, "Deals"),
            (&fields.next_check_at, FAR),
            (&fields.deadline, FARTHER),
        ];
        let rows = values.map(|(name, value)| (name.as_str().to_owned(), value.into()));
        let row: Map<String, Value> = rows.into_iter().collect();
        match self.raw.set(id, &row.into()).await {
            Put::Applied { .. } => {}
            Put::Refused(why) => {
                let means = "a field is missing or has another type: see the field set-up";
                return self.fail(NAME, &why, means);
            }
            Put::Conflict | Put::Unknown(_) => {
                return self.not_known(NAME, "no update was applied");
            }
        }
        let seen = match self.raw.read(id).await {
            Ok(seen) => seen,
            Err(why) => return self.not_known(NAME, &why),
        };
        let differs = |(name, value): &&(&CrmName, &str)| !is_equal(&seen.get(name), value);
        let wrong: Vec<&str> = values
            .iter()
            .filter(differs)
            .map(|(name, _)| name.as_str())
            .collect();
        if wrong.is_empty() {
            let found = "short texts and date-times read back as they were written";
            self.pass(NAME, found, "the fields are there and of the right type");
        } else {
            let found = format!("read back otherwise or not at all: {}", wrong.join(", "));
            let means = "what is on the record is not what was written: results get lost. See the field set-up";
            self.fail(NAME, &found, means);
        }
    }

    /// Long texts come back byte for byte.
    pub(super) async fn texts(&mut self, id: &HistoryId) {
        let fields = self.raw.fields();
        for (name, field, length) in [
            ("text_progress", &fields.progress, PROGRESS),
            ("text_input", &fields.input, INPUT),
        ] {
            let text = sample(length);
            let row = json!({field.as_str(): text});
            match self.raw.set(id, &row).await {
                Put::Applied { .. } => {}
                Put::Refused(why) => {
                    let means = "the field must be multi-line large (32,000 characters): records cannot be saved";
                    self.fail(name, &why, means);
                    continue;
                }
                Put::Conflict | Put::Unknown(_) => {
                    self.not_known(name, "no update was applied");
                    continue;
                }
            }
            match self.raw.read(id).await {
                Err(why) => self.not_known(name, &why),
                Ok(seen) => match difference(&text, seen.get(field).as_str().unwrap_or_default()) {
                    None => {
                        let found = format!("{length} bytes of ASCII read back unchanged");
                        self.pass(name, &found, "hashes and seals over stored text hold");
                    }
                    Some(at) => {
                        let found = format!("text is changed from byte {at} of {length} on");
                        let means = "seen is sent cannot be proved: a changed input or progress is refused as \
                                     changed by a person, so that such sends never go out. Nothing wrong is sent";
                        self.fail(name, &found, means);
                    }
                },
            }
        }
    }

    /// Every state can be written and reads back. The next check is far off meanwhile.
    pub(super) async fn states(&mut self, id: &HistoryId) {
        const NAME: &str = "states";
        let field = &self.raw.fields().state;
        let mut wrong = Vec::new();
        for word in State::ALL.map(State::label) {
            let put = self.raw.set(id, &json!({field.as_str(): word})).await;
            let seen = self.raw.read(id).await;
            let is_kept = seen.is_ok_and(|seen| seen.get(field).as_str() == Some(word));
            if !matches!(put, Put::Applied { .. }) || !is_kept {
                wrong.push(word);
            }
        }
        if wrong.is_empty() {
            self.pass(
                NAME,
                "the seven states are written and read",
                "every state can be recorded",
            );
        } else {
            let found = format!("not kept: {}", wrong.join(", "));
            let means = "such a result cannot be recorded: add these words to the picklist, letter by letter";
            self.fail(NAME, &found, means);
        }
        self.foreign_state(id).await;
        let emptied = self.raw.set(id, &json!({field.as_str(): null})).await;
        let is_empty_now = self.raw.read(id).await.is_ok_and(|seen| {
            let value = seen.get(field);
            is_empty(&value) || value.as_str() == Some("-None-")
        });
        if !matches!(emptied, Put::Applied { .. }) || !is_empty_now {
            self.not_known("state_empty", "the state could not be emptied again");
        }
    }

    async fn foreign_state(&mut self, id: &HistoryId) {
        const NAME: &str = "state_other";
        let row = json!({self.raw.fields().state.as_str(): "check"});
        let means = "a state that is none of ours is reported and left alone";
        match self.raw.set(id, &row).await {
            Put::Applied { .. } => self.pass(NAME, "the picklist takes any word", means),
            Put::Refused(_) => self.pass(NAME, "the picklist takes its own words only", means),
            Put::Conflict | Put::Unknown(_) => self.not_known(NAME, "no update was applied"),
        }
    }
}

/// Equal as text, or as the same instant.
fn is_equal(found: &Value, written: &str) -> bool {
    let instant = |text: &str| text.parse::<Timestamp>().ok();
    found.as_str().is_some_and(|found| {
        found == written || (instant(found).is_some() && instant(found) == instant(written))
    })
}

/// Where two texts part.
fn difference(written: &str, found: &str) -> Option<usize> {
    if written == found {
        return None;
    }
    let same = written
        .bytes()
        .zip(found.bytes())
        .take_while(|(a, b)| a == b);
    Some(same.count())
}

/// JSON of exactly this length with every printable character of ASCII, escapes and double spaces.
fn sample(length: usize) -> String {
    let printable: String = (' '..='~').filter(|c| !matches!(c, '"' | '\\')).collect();
    let unit = format!("{printable}  \\u00e9\\ud83d\\udc08\\n\\\\\\\"&amp;%0A");
    let room = length.saturating_sub(r#"{"check":""}"#.len());
    let mut text = String::with_capacity(length);
    text.push_str("{\"check\":\"");
    while text.len() + unit.len() <= room {
        text.push_str(&unit);
    }
    while text.len() + 2 < length {
        text.push('.');
    }
    text.push_str("\"}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_json_of_its_length_and_holds_every_printable_character() {
        for length in [PROGRESS, INPUT] {
            let text = sample(length);
            assert_eq!(text.len(), length);
            assert!(text.is_ascii());
            assert!(serde_json::from_str::<Value>(&text).is_ok());
            assert!((' '..='~').all(|c| text.contains(c)));
        }
    }

    #[test]
    fn texts_part_where_they_part() {
        assert_eq!(difference("abc", "abc"), None);
        assert_eq!(difference("abc", "ab"), Some(2));
        assert_eq!(difference("a&b", "a&amp;b"), Some(2));
        assert_eq!(difference("abc", ""), Some(0));
    }

    #[test]
    fn one_instant_has_many_texts() {
        assert!(is_equal(&json!("2099-02-03T09:35:06+05:30"), FAR));
        assert!(!is_equal(&json!("2099-02-03T09:35:06+05:30"), FARTHER));
        assert!(!is_equal(&Value::Null, "x"));
    }
}
