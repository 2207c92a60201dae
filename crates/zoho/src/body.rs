//! Bodies of writes.

use jiff::Timestamp;
use sendtrail_core::ids::{CrmName, FileId};
use sendtrail_core::ports::{DocumentChange, NewRecord, Write};
use sendtrail_core::text::ascii_json;
use serde_json::{Map, Value, json};

use crate::config::Fields;

/// The body of an update. `old_files` are the handles of the files the field holds now: whether a new list
/// takes their place or joins them is not certain, so they are taken off by name.
pub(crate) fn update(
    fields: &Fields,
    write: &Write,
    old_files: &[FileId],
    notify: &[String],
) -> String {
    let mut row = mirrored(fields, write);
    let removed = old_files
        .iter()
        .map(|file| json!({"id": file.as_str(), "_delete": null}));
    let files: Vec<Value> = match &write.document {
        DocumentChange::Keep => Vec::new(),
        DocumentChange::Drop => removed.collect(),
        DocumentChange::Bind(file) => removed
            .chain([json!({"File_Id__s": file.as_str()})])
            .collect(),
    };
    if !files.is_empty() {
        row.insert(fields.document.as_str().to_owned(), files.into());
    }
    envelope(&row, if write.notify { notify } else { &[] })
}

/// The body of a create.
pub(crate) fn create(fields: &Fields, new: &NewRecord, notify: &[String]) -> String {
    let mut row = mirrored(fields, &new.write);
    for (name, value) in [
        (&fields.request_key, new.request_key.as_str()),
        (&fields.source_module, new.source_module.as_str()),
        (&fields.source_record, new.source_record.as_str()),
    ] {
        row.insert(name.as_str().to_owned(), value.into());
    }
    envelope(&row, if new.write.notify { notify } else { &[] })
}

/// Without `trigger` the CRM would run everything, and change the record behind us.
fn envelope(row: &Map<String, Value>, trigger: &[String]) -> String {
    ascii_json(&json!({"data": [row], "trigger": trigger}))
}

fn mirrored(fields: &Fields, write: &Write) -> Map<String, Value> {
    let mut row = Map::new();
    let mut put = |name: &CrmName, value: Value| {
        row.insert(name.as_str().to_owned(), value);
    };
    if let Some(state) = write.state {
        put(&fields.state, state.label().into());
    }
    put(&fields.progress, write.progress.as_str().into());
    put(&fields.next_check_at, write.next_check_at.map(time).into());
    put(&fields.deadline, write.deadline.map(time).into());
    let external_id = write.external_id.as_ref().map(ToString::to_string);
    put(&fields.external_id, external_id.into());
    let sha256 = write.document_sha256.map(|hash| hash.to_string());
    put(&fields.document_sha256, sha256.into());
    if let Some(input) = &write.input {
        put(&fields.input, input.as_str().into());
    }
    row
}

/// A date-time as the CRM takes it: whole seconds and an offset; parts of a second are refused.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::fields;
    use sendtrail_core::state::State;

    fn write(document: DocumentChange) -> Write {
        Write {
            state: Some(State::Failed),
            progress: "{\"v\":1}".into(),
            next_check_at: "2026-01-01T00:14:00.9Z".parse().ok(),
            deadline: None,
            external_id: None,
            document_sha256: None,
            input: None,
            document,
            notify: true,
        }
    }

    fn row(text: &str) -> Value {
        serde_json::from_str::<Value>(text).unwrap()["data"][0].clone()
    }

    #[test]
    fn times_are_whole_seconds_and_empty_values_empty_the_field() {
        let row = row(&update(&fields(), &write(DocumentChange::Keep), &[], &[]));
        assert_eq!(row["Next_Check_At"], "2026-01-01T00:14:00+00:00");
        assert_eq!(row["Deadline"], Value::Null);
        assert_eq!(row["External_Id"], Value::Null);
        assert_eq!(row["Delivery_State"], "failed");
        assert!(row.get("Input_JSON").is_none() && row.get("Document").is_none());
    }

    #[test]
    fn automation_runs_only_where_it_is_configured_and_asked_for() {
        let trigger = |write: &Write, notify: &[String]| {
            let text = update(&fields(), write, &[], notify);
            serde_json::from_str::<Value>(&text).unwrap()["trigger"].clone()
        };
        let mut write = write(DocumentChange::Keep);
        let notify = ["workflow".to_owned()];
        assert_eq!(trigger(&write, &notify), json!(["workflow"]));
        assert_eq!(trigger(&write, &[]), json!([]));
        write.notify = false;
        assert_eq!(trigger(&write, &notify), json!([]));
    }

    #[test]
    fn a_bound_document_takes_the_old_ones_off() {
        let file = |id| FileId::parse(id).unwrap();
        let bind = write(DocumentChange::Bind(file("new")));
        let bound = row(&update(&fields(), &bind, &[file("old")], &[]));
        let expected = json!([{"id": "old", "_delete": null}, {"File_Id__s": "new"}]);
        assert_eq!(bound["Document"], expected);
        let drop = write(DocumentChange::Drop);
        let dropped = row(&update(&fields(), &drop, &[file("old")], &[]));
        assert_eq!(dropped["Document"], json!([{"id": "old", "_delete": null}]));
        let nothing = row(&update(&fields(), &drop, &[], &[]));
        assert!(nothing.get("Document").is_none());
    }
}
