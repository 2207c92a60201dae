//! What the page shows, as plain texts: the first rendering and every refresh use the same.

use serde::Serialize;
use serde_json::Value;

use crate::crm::{App, RawRecord, STATES, parse_seconds};

/// The list.
#[derive(Debug, Serialize)]
pub(super) struct List {
    pub(super) rows: Vec<Row>,
    /// Records by state, such as `3 accepted`.
    pub(super) summary: String,
}

/// One history record in the list.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) name: String,
    /// One of the seven states, or `unknown`: chooses the colour.
    pub(super) tone: String,
    pub(super) state: String,
    pub(super) source: String,
    pub(super) attempts: String,
    pub(super) next_check: String,
    pub(super) deadline: String,
    pub(super) last_error: String,
    pub(super) age: String,
}

/// One history record in full.
#[derive(Debug, Serialize)]
pub(super) struct Detail {
    pub(super) row: Row,
    pub(super) facts: Vec<Fact>,
    pub(super) trail: Vec<Step>,
    /// What is wrong with the progress text, if anything.
    pub(super) progress_note: String,
    /// The progress, indented where it is JSON.
    pub(super) progress: String,
    /// The progress as it is stored.
    pub(super) progress_raw: String,
    pub(super) input: String,
    /// Name of the stored document; empty without one.
    pub(super) document: String,
}

/// One labelled text.
#[derive(Debug, Serialize)]
pub(super) struct Fact {
    pub(super) label: &'static str,
    pub(super) text: String,
}

/// One entry of the trail.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    pub(super) at: String,
    pub(super) event: String,
    pub(super) to: String,
    pub(super) tone: String,
    pub(super) note: String,
}

/// Any JSON as one line of text; nothing for absent and null.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn field(record: &RawRecord, name: &str) -> String {
    record.fields.get(name).map(text).unwrap_or_default()
}

/// A known state as it is, anything else as `unknown`.
fn tone(state: &str) -> String {
    let known = STATES.iter().find(|known| **known == state);
    (*known.unwrap_or(&"unknown")).to_owned()
}

/// `12 s`, `5 min`, `3 h`, `2 d`.
fn span(seconds: i64) -> String {
    match seconds.unsigned_abs() {
        s @ 0..=89 => format!("{s} s"),
        s @ 90..=5399 => format!("{} min", s / 60),
        s @ 5400..=172_799 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

/// A date-time with its distance from now.
fn distance(app: &App, when: &str) -> String {
    let Some(seconds) = parse_seconds(when) else {
        return when.to_owned();
    };
    let away = seconds - app.clock.now_s();
    if away >= 0 {
        format!("in {}", span(away))
    } else {
        format!("{} ago", span(away))
    }
}

fn progress_of(app: &App, record: &RawRecord) -> Option<Value> {
    serde_json::from_str(&field(record, &app.config.history.progress)).ok()
}

/// Rows on the page; older records are counted only.
const MOST_ROWS: usize = 500;

impl List {
    /// Newest first; deleted records are left out, as in the CRM's lists.
    pub(super) fn of(app: &App) -> Self {
        let names = &app.config.history;
        let mut records = app.all_records(&names.module).unwrap_or_default();
        records.retain(|record| !record.deleted);
        records.reverse();
        let tones: Vec<String> = records
            .iter()
            .map(|record| tone(&field(record, &names.state)))
            .collect();
        let count = |state: &&str| tones.iter().filter(|tone| *tone == *state).count();
        let mut parts: Vec<String> = STATES
            .iter()
            .chain(["unknown"].iter())
            .map(|state| (count(state), state))
            .filter(|(count, _)| *count > 0)
            .map(|(count, state)| format!("{count} {state}"))
            .collect();
        if records.len() > MOST_ROWS {
            records.truncate(MOST_ROWS);
            parts.push(format!("the newest {MOST_ROWS} are shown"));
        }
        let rows = records.iter().map(|record| Row::of(app, record)).collect();
        let summary = if parts.is_empty() {
            "No history records yet".to_owned()
        } else {
            parts.join(" · ")
        };
        Self { rows, summary }
    }
}

impl Row {
    fn of(app: &App, record: &RawRecord) -> Self {
        let names = &app.config.history;
        let state = field(record, &names.state);
        let progress = progress_of(app, record).unwrap_or_default();
        let created = parse_seconds(&record.created_time).unwrap_or_default();
        let error = &progress["last_error"];
        let error = [
            text(&error["kind"]),
            text(&error["status"]),
            text(&error["detail"]),
        ];
        let source = [
            field(record, &names.source_module),
            field(record, &names.source_record),
        ];
        Self {
            id: record.id.clone(),
            name: field(record, "Name"),
            tone: tone(&state),
            state: if state.is_empty() {
                "(empty)".to_owned()
            } else {
                state
            },
            source: join(&source, " "),
            attempts: text(&progress["attempts"]),
            next_check: distance(app, &field(record, &names.next_check_at)),
            deadline: distance(app, &field(record, &names.deadline)),
            last_error: join(&error, " "),
            age: span(app.clock.now_s() - created),
        }
    }
}

fn join(parts: &[String], between: &str) -> String {
    let filled: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    filled.join(between)
}

impl Detail {
    /// Nothing for a record that is not there or deleted.
    pub(super) fn of(app: &App, id: &str) -> Option<Self> {
        let names = &app.config.history;
        let record = app
            .record(&names.module, id)
            .ok()
            .filter(|record| !record.deleted)?;
        let raw = field(&record, &names.progress);
        let progress = progress_of(app, &record);
        let note = match (&progress, raw.is_empty()) {
            (Some(Value::Object(_)), _) | (None, true) => "",
            (Some(_) | None, _) => "This text is not a JSON object.",
        };
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
        let input = field(&record, &names.input);
        let input_value: Option<Value> = serde_json::from_str(&input).ok();
        let document = record
            .fields
            .get(&names.document)
            .map(|files| text(&files[0]["File_Name__s"]));
        Some(Self {
            row: Row::of(app, &record),
            facts: facts(app, &record),
            trail: trail(progress.as_ref()),
            progress_note: note.to_owned(),
            progress: progress.as_ref().map_or_else(|| raw.clone(), pretty),
            progress_raw: raw,
            input: input_value.as_ref().map_or(input, pretty),
            document: document.unwrap_or_default(),
        })
    }
}

fn facts(app: &App, record: &RawRecord) -> Vec<Fact> {
    let names = &app.config.history;
    let stored = |label, name: &str| Fact {
        label,
        text: field(record, name),
    };
    vec![
        Fact {
            label: "Record",
            text: record.id.clone(),
        },
        stored("Source module", &names.source_module),
        stored("Source record", &names.source_record),
        stored("Request key", &names.request_key),
        stored("External id", &names.external_id),
        stored("Document SHA-256", &names.document_sha256),
        stored("Next check", &names.next_check_at),
        stored("Deadline", &names.deadline),
        Fact {
            label: "Created",
            text: record.created_time.clone(),
        },
        Fact {
            label: "Modified",
            text: format!("{} by {}", record.modified_time, record.modified_by),
        },
        Fact {
            label: "Writes",
            text: record.writes.to_string(),
        },
    ]
}

fn trail(progress: Option<&Value>) -> Vec<Step> {
    let entries = progress.and_then(|progress| progress["trail"].as_array());
    entries.into_iter().flatten().map(step).collect()
}

fn step(entry: &Value) -> Step {
    let to = text(&entry["to"]);
    let mut notes = Vec::new();
    for (key, value) in entry.as_object().into_iter().flatten() {
        match key.as_str() {
            "at" | "event" | "to" => {}
            "times" => notes.push(format!("× {}", text(value))),
            other => notes.push(format!("{other}: {}", text(value))),
        }
    }
    Step {
        at: text(&entry["at"]),
        event: text(&entry["event"]),
        tone: tone(&to),
        to,
        note: notes.join(" · "),
    }
}

/// The stored document of a history record: name and bytes.
pub(super) fn document(app: &App, id: &str) -> Option<(String, Vec<u8>)> {
    let names = &app.config.history;
    let record = app.record(&names.module, id).ok()?;
    let file = record.fields.get(&names.document)?.get(0)?.clone();
    let bytes = app.file_bytes(file["File_Id__s"].as_str()?)?;
    Some((text(&file["File_Name__s"]), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_is_none_of_ours_gets_no_colour_of_ours() {
        assert_eq!(tone("accepted"), "accepted");
        assert_eq!(tone("accepted\" onload=\"x"), "unknown");
        assert_eq!(tone(""), "unknown");
    }

    #[test]
    fn spans_use_the_unit_that_reads_best() {
        let spans: Vec<String> = [0, 89, 90, 5400, 172_800].into_iter().map(span).collect();
        assert_eq!(spans, ["0 s", "89 s", "1 min", "1 h", "2 d"]);
        assert_eq!(span(-120), "2 min");
    }

    #[test]
    fn a_trail_that_is_no_list_shows_nothing() {
        assert!(trail(Some(&serde_json::json!({"trail": "gone"}))).is_empty());
        assert!(trail(Some(&serde_json::json!([1]))).is_empty());
        let odd = trail(Some(
            &serde_json::json!({"trail": [7, {"event": 3, "times": 2}]}),
        ));
        assert_eq!((odd.len(), odd[1].note.as_str()), (2, "× 2"));
    }
}
