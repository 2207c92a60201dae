//! A row of the history module as the core reads it.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::{CrmName, FileId, HistoryId, Revision};
use sendtrail_core::ports::StoreError;
use sendtrail_core::record::{HistoryRecord, Read, Stamp, StateField};
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::config::Fields;

/// The version field every module has.
pub(crate) const MODIFIED_TIME: &str = "Modified_Time";

/// The fields of a single read, in one parameter.
pub(crate) fn single_read_fields(fields: &Fields) -> String {
    [
        MODIFIED_TIME,
        fields.state.as_str(),
        fields.progress.as_str(),
        fields.input.as_str(),
        fields.document.as_str(),
        fields.document_sha256.as_str(),
        fields.external_id.as_str(),
        fields.next_check_at.as_str(),
        fields.deadline.as_str(),
        fields.source_record.as_str(),
    ]
    .join(",")
}

/// Reads one row. Fields a person can edit are taken as they are; id and version must be readable.
pub(crate) fn read(
    fields: &Fields,
    row: &Map<String, Value>,
    answer: &Answer,
    request_timeout: SignedDuration,
) -> Result<Read, StoreError> {
    let version = plain(row, MODIFIED_TIME).ok_or_else(|| malformed(MODIFIED_TIME))?;
    let field = |name: &CrmName| text(row, name.as_str());
    Ok(Read {
        record: HistoryRecord {
            id: id(row)?,
            revision: Revision::parse(version).map_err(|_| malformed(MODIFIED_TIME))?,
            state: StateField::of(field(&fields.state).as_deref()),
            progress: field(&fields.progress),
            input: field(&fields.input),
            document: files(row, fields.document.as_str()).into_iter().next(),
            document_sha256: field(&fields.document_sha256),
            external_id: field(&fields.external_id),
            next_check_at: time(row, fields.next_check_at.as_str()).unwrap_or_default(),
            deadline: time(row, fields.deadline.as_str()).unwrap_or_default(),
        },
        stamp: Stamp {
            version_at: version.parse().map_err(|_| malformed(MODIFIED_TIME))?,
            clock_before: answer.clock_before,
            date: answer.date,
            request_timeout,
        },
    })
}

/// The row's id. A number would have lost digits on its way.
pub(crate) fn id(row: &Map<String, Value>) -> Result<HistoryId, StoreError> {
    let id = plain(row, "id").and_then(|id| HistoryId::parse(id).ok());
    id.ok_or_else(|| malformed("id"))
}

/// A date-time field: `Ok(None)` when it is empty.
pub(crate) fn time(row: &Map<String, Value>, name: &str) -> Result<Option<Timestamp>, StoreError> {
    match text(row, name) {
        None => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| malformed(name)),
    }
}

/// A text field; `None` when it is empty.
pub(crate) fn text(row: &Map<String, Value>, name: &str) -> Option<String> {
    match row.get(name)? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The handles of the files in a file-upload field.
pub(crate) fn files(row: &Map<String, Value>, name: &str) -> Vec<FileId> {
    let items = row.get(name).and_then(Value::as_array);
    let handle = |item: &Value| {
        let keys = ["id", "attachment_Id"];
        let handle = keys.iter().find_map(|key| item.get(key)?.as_str());
        FileId::parse(handle?).ok()
    };
    items.into_iter().flatten().filter_map(handle).collect()
}

fn plain<'r>(row: &'r Map<String, Value>, name: &str) -> Option<&'r str> {
    row.get(name).and_then(Value::as_str)
}

fn malformed(what: &str) -> StoreError {
    StoreError::Malformed {
        detail: format!("expected a row with a readable {what}"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;
    use sendtrail_core::settings::Reader;
    use sendtrail_core::state::State;
    use serde_json::json;

    pub(crate) fn fields() -> Fields {
        let text = "[crm]\naccounts_url = \"https://a.test\"\napi_url = \"https://a.test\"\n\
                    client_id = \"x\"\nclient_secret = \"secret:x\"\n[crm.refresh_token]\n\
                    intake = \"secret:x\"\nside_effect = \"secret:x\"\npoller = \"secret:x\"\n";
        let reader = Reader::new("s.toml", text);
        let config = crate::Config::read(&reader.root().section("crm"));
        config.unwrap().fields
    }

    fn read_row(row: &Value) -> Result<Read, StoreError> {
        let answer = Answer {
            status: 200,
            body: Bytes::new(),
            clock_before: None,
            date: None,
        };
        let row = row.as_object().unwrap();
        read(&fields(), row, &answer, SignedDuration::from_secs(10))
    }

    #[test]
    fn the_version_is_kept_byte_for_byte_and_compared_as_an_instant() {
        let row =
            json!({"id": "5725767000000524157", "Modified_Time": "2026-01-01T05:30:07+05:30"});
        let read = read_row(&row).unwrap();
        assert_eq!(read.record.revision.as_str(), "2026-01-01T05:30:07+05:30");
        assert_eq!(read.stamp.version_at.to_string(), "2026-01-01T00:00:07Z");
        assert_eq!(read.record.state, StateField::Empty);
    }

    #[test]
    fn an_id_that_is_a_number_is_unreadable() {
        let row =
            json!({"id": 5_725_767_000_000_524_157_u64, "Modified_Time": "2026-01-01T00:00:07Z"});
        assert!(matches!(read_row(&row), Err(StoreError::Malformed { .. })));
    }

    #[test]
    fn what_people_left_in_the_fields_is_taken_as_it_is() {
        let row = json!({
            "id": "1", "Modified_Time": "2026-01-01T00:00:07+00:00", "Delivery_State": "accepted",
            "Progress_JSON": "not json", "Input_JSON": "", "External_Id": 42, "Document_SHA256": ["x"],
            "Document": [{"File_Name__s": "no handle"}, {"id": "77"}, {"id": "78"}],
            "Next_Check_At": "2026-01-01T05:30:07+05:30", "Deadline": "next week",
        });
        let record = read_row(&row).unwrap().record;
        assert_eq!(record.state, StateField::Known(State::Accepted));
        assert_eq!(record.progress.as_deref(), Some("not json"));
        assert_eq!(record.input, None);
        assert_eq!(record.external_id.as_deref(), Some("42"));
        assert_eq!(record.document_sha256, None);
        assert_eq!(record.document, FileId::parse("77").ok());
        assert_eq!(record.next_check_at, "2026-01-01T00:00:07Z".parse().ok());
        assert_eq!(record.deadline, None);
    }

    proptest! {
        #[test]
        fn any_text_in_any_field_gives_a_record_or_an_error(text in any::<String>(), version in any::<String>()) {
            let _ = read_row(&json!({
                "id": text, "Modified_Time": version, "Delivery_State": text, "Document": [{"id": text}],
            }));
            let _ = read_row(&json!({"id": "1", "Modified_Time": text, "Document": text}));
        }
    }
}
