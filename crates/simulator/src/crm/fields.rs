//! Values on their way into a record, and records on their way out.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::config::{FieldKind, FieldSpec, ModuleSpec};
use super::reply::Problem;
use super::store::{Fields, Record, Store, Version};
use super::switches::{
    DuplicateDetails, EmptyValue, FileField, IdForm, LengthUnit, Picklist, Switches, TextStorage,
    UnknownField,
};
use super::{API_USER, Zone, parse_seconds, render_seconds};

/// How incoming values are judged.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) module: &'a ModuleSpec,
    pub(crate) switches: &'a Switches,
    /// Position of the record in the request.
    pub(crate) index: usize,
    pub(crate) now_ms: i64,
    /// An edit by hand: what the API would refuse is stored as it is.
    pub(crate) lenient: bool,
}

const SYSTEM: [&str; 7] = [
    "id",
    "Created_Time",
    "Modified_Time",
    "Created_By",
    "Modified_By",
    "Owner",
    "Currency",
];

/// The fields after `incoming` has been written over `old`. Absent fields stay as they are.
pub(crate) fn merge(
    rules: Rules<'_>,
    store: &mut Store,
    old: &Fields,
    incoming: &Fields,
) -> Result<Fields, Problem> {
    let mut merged = old.clone();
    for (name, value) in incoming {
        if SYSTEM.contains(&name.as_str()) || name.starts_with('$') {
            continue;
        }
        if name == "Name" {
            if rules.module.auto_name.is_none() || rules.lenient {
                let kind = FieldKind::Text {
                    length: 120,
                    unique: false,
                };
                merged.insert(
                    name.clone(),
                    convert(rules, &FieldSpec::new("Name", kind), value)?,
                );
            }
            continue;
        }
        let Some(spec) = rules.module.fields.iter().find(|spec| spec.name == *name) else {
            if rules.switches.unknown_field == UnknownField::Refused && !rules.lenient {
                return Err(Problem::field(name, rules.index, &json!({})));
            }
            continue;
        };
        let stored = if let FieldKind::FileUpload { max } = spec.kind {
            files(rules, store, spec, max, (old.get(name), value))?
        } else {
            convert(rules, spec, value)?
        };
        merged.insert(name.clone(), stored);
    }
    Ok(merged)
}

fn convert(rules: Rules<'_>, spec: &FieldSpec, value: &Value) -> Result<Value, Problem> {
    match convert_strictly(rules, spec, value) {
        Err(_) if rules.lenient => Ok(value.clone()),
        other => other,
    }
}

fn convert_strictly(rules: Rules<'_>, spec: &FieldSpec, value: &Value) -> Result<Value, Problem> {
    if value.is_null() || value.as_str() == Some("") {
        return Ok(Value::Null);
    }
    let wrong = |expected: &str| {
        Err(Problem::field(
            &spec.name,
            rules.index,
            &json!({"expected_data_type": expected}),
        ))
    };
    match &spec.kind {
        FieldKind::Text { .. }
        | FieldKind::SmallText
        | FieldKind::LargeText
        | FieldKind::RichText => value
            .as_str()
            .map_or_else(|| wrong("text"), |text| fitting(rules, spec, text)),
        FieldKind::Picklist(known) => {
            let Some(text) = value.as_str() else {
                return wrong("picklist");
            };
            if rules.switches.picklist == Picklist::Strict && !known.iter().any(|one| one == text) {
                return wrong("picklist");
            }
            fitting(rules, spec, text)
        }
        FieldKind::DateTime => value
            .as_str()
            .and_then(parse_seconds)
            .map_or_else(|| wrong("datetime"), |s| Ok(s.into())),
        FieldKind::Integer => value
            .as_i64()
            .map_or_else(|| wrong("integer"), |number| Ok(number.into())),
        FieldKind::Decimal => value
            .as_f64()
            .map_or_else(|| wrong("double"), |number| Ok(number.into())),
        FieldKind::Boolean => value
            .as_bool()
            .map_or_else(|| wrong("boolean"), |yes| Ok(yes.into())),
        FieldKind::FileUpload { .. } | FieldKind::Person => wrong("jsonarray"),
    }
}

fn fitting(rules: Rules<'_>, spec: &FieldSpec, text: &str) -> Result<Value, Problem> {
    let length = match rules.switches.length_unit {
        LengthUnit::Characters => text.chars().count(),
        LengthUnit::Utf16 => text.encode_utf16().count(),
        LengthUnit::Bytes => text.len(),
    };
    match spec.kind.longest() {
        Some(longest) if length > longest => Err(Problem::field(
            &spec.name,
            rules.index,
            &json!({"maximum_length": longest}),
        )),
        _ => Ok(stored_text(rules.switches.text_storage, text).into()),
    }
}

/// What becomes of a text on its way into the record.
fn stored_text(how: TextStorage, text: &str) -> String {
    match how {
        TextStorage::Verbatim => text.to_owned(),
        TextStorage::NoFourByte => text
            .chars()
            .map(|c| if c.len_utf8() == 4 { '?' } else { c })
            .collect(),
        TextStorage::HtmlEscaped => text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;"),
    }
}

/// A file-upload field after `[{"File_Id__s":…}, {"id":…,"_delete":null}, {"id":…}]`.
fn files(
    rules: Rules<'_>,
    store: &mut Store,
    spec: &FieldSpec,
    max: usize,
    (old, value): (Option<&Value>, &Value),
) -> Result<Value, Problem> {
    let wrong = || {
        Problem::field(
            &spec.name,
            rules.index,
            &json!({"expected_data_type": "jsonarray"}),
        )
    };
    let present = old.and_then(Value::as_array).cloned().unwrap_or_default();
    let replaces = rules.switches.file_field == FileField::Replace;
    let items = match value {
        Value::Null => &[][..],
        Value::Array(items) => items.as_slice(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(wrong());
        }
    };
    let only_removes = !items.is_empty() && items.iter().all(|item| item.get("_delete").is_some());
    let named = |entry: &Value, delete: bool| {
        items
            .iter()
            .any(|item| item["id"] == entry["id"] && item.get("_delete").is_some() == delete)
    };
    let stays =
        |entry: &Value| !named(entry, true) && (!replaces || only_removes || named(entry, false));
    let mut next: Vec<Value> = present.into_iter().filter(stays).collect();
    for item in items {
        let Some(file_id) = item.get("File_Id__s") else {
            if item.get("id").is_none() {
                return Err(wrong());
            }
            continue;
        };
        let file_id = file_id.as_str().ok_or_else(wrong)?;
        let file = super::files::usable(store, rules.switches, file_id, rules.now_ms)?;
        let file = file.ok_or_else(|| Problem::field(&spec.name, rules.index, &json!({})))?;
        store.bind_file(file_id)?;
        next.push(json!({
            "id": store.next_id().to_string(),
            "File_Id__s": file_id,
            "File_Name__s": file.name,
            "Size__s": file.size.to_string(),
        }));
    }
    if next.len() > max {
        return Err(Problem::field(
            &spec.name,
            rules.index,
            &json!({"maximum_length": max}),
        ));
    }
    Ok(if next.is_empty() {
        Value::Null
    } else {
        next.into()
    })
}

/// Refuses a unique value among `fields` that another record of the module already has.
pub(crate) fn check_unique(
    rules: Rules<'_>,
    store: &Store,
    fields: &Fields,
    own: Option<i64>,
) -> Result<(), Problem> {
    for spec in &rules.module.fields {
        if !matches!(spec.kind, FieldKind::Text { unique: true, .. }) {
            continue;
        }
        let Some(value) = fields.get(&spec.name).and_then(Value::as_str) else {
            continue;
        };
        let value = value.to_lowercase();
        let taken = store.all(&rules.module.name).find(|record| {
            let theirs = record.now.fields.get(&spec.name).and_then(Value::as_str);
            Some(record.id) != own
                && !record.now.deleted
                && theirs.is_some_and(|text| text.to_lowercase() == value)
        });
        if let Some(other) = taken {
            return Err(duplicate(rules, &spec.name, other.id));
        }
    }
    Ok(())
}

fn duplicate(rules: Rules<'_>, name: &str, id: i64) -> Problem {
    let mut details =
        json!({"api_name": name, "json_path": format!("$.data[{}].{name}", rules.index)});
    match rules.switches.duplicate_details {
        DuplicateDetails::DuplicateRecord => {
            let module = json!({"api_name": rules.module.name});
            details["duplicate_record"] = json!({"id": id.to_string(), "module": module});
        }
        DuplicateDetails::Id => details["id"] = id.to_string().into(),
    }
    Problem::new(
        StatusCode::BAD_REQUEST,
        "DUPLICATE_DATA",
        "duplicate data",
        details,
    )
}

/// A person as the API shows one.
pub(crate) fn person(name: &str) -> Value {
    let number = if name == API_USER {
        1
    } else {
        name.bytes()
            .fold(2_u64, |sum, byte| sum * 31 % 9973 + u64::from(byte))
    };
    json!({"name": name, "id": format!("48768760000000{:05}", number % 100_000)})
}

/// The kind of a field, system fields included.
pub(crate) fn kind_of(module: &ModuleSpec, name: &str) -> Option<FieldKind> {
    match name {
        "id" => Some(FieldKind::Integer),
        "Name" => Some(FieldKind::Text {
            length: 120,
            unique: false,
        }),
        "Created_Time" | "Modified_Time" => Some(FieldKind::DateTime),
        "Created_By" | "Modified_By" | "Owner" => Some(FieldKind::Person),
        _ => module
            .fields
            .iter()
            .find(|spec| spec.name == name)
            .map(|spec| spec.kind.clone()),
    }
}

/// How times and ids are written in one answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub(crate) zone: Zone,
    pub(crate) id_form: IdForm,
}

impl Look {
    pub(crate) fn id(self, id: i64) -> Value {
        match self.id_form {
            IdForm::Text => id.to_string().into(),
            IdForm::Number => id.into(),
        }
    }
}

/// How a record is shown.
#[derive(Clone, Copy, Default)]
pub(crate) struct Showing {
    pub(crate) look: Look,
    pub(crate) empty: EmptyValue,
    /// Longest rich text, in characters.
    pub(crate) rich_cut: Option<usize>,
    /// Longest large text, in characters.
    pub(crate) long_cut: Option<usize>,
}

/// One field of a record as the API shows it; absent for a name the module does not have.
pub(crate) fn show_field(
    showing: Showing,
    module: &ModuleSpec,
    record: &Record,
    version: &Version,
    name: &str,
) -> Option<Value> {
    let zone = showing.look.zone;
    let shown = match name {
        "id" => showing.look.id(record.id),
        "Created_Time" => render_seconds(record.created_ms.div_euclid(1000), zone).into(),
        "Modified_Time" => render_seconds(version.modified_s, zone).into(),
        "Created_By" | "Owner" => person(&record.created_by),
        "Modified_By" => person(&version.modified_by),
        _ => {
            let kind = kind_of(module, name)?;
            let stored = version.fields.get(name).unwrap_or(&Value::Null);
            show_value(showing, &kind, stored)
        }
    };
    Some(shown)
}

fn show_value(showing: Showing, kind: &FieldKind, stored: &Value) -> Value {
    if stored.is_null() && showing.empty == EmptyValue::EmptyText {
        return match kind {
            FieldKind::FileUpload { .. } => json!([]),
            FieldKind::Text { .. }
            | FieldKind::SmallText
            | FieldKind::LargeText
            | FieldKind::RichText
            | FieldKind::Picklist(_)
            | FieldKind::DateTime
            | FieldKind::Integer
            | FieldKind::Decimal
            | FieldKind::Boolean
            | FieldKind::Person => json!(""),
        };
    }
    match (kind, stored) {
        (FieldKind::DateTime, Value::Number(number)) => number
            .as_i64()
            .map_or(Value::Null, |s| render_seconds(s, showing.look.zone).into()),
        (FieldKind::RichText, Value::String(text)) => cut(text, showing.rich_cut).into(),
        (FieldKind::LargeText, Value::String(text)) => cut(text, showing.long_cut).into(),
        (_, other) => other.clone(),
    }
}

fn cut(text: &str, longest: Option<usize>) -> String {
    longest.map_or_else(
        || text.to_owned(),
        |longest| text.chars().take(longest).collect(),
    )
}

/// A whole record, or the fields named.
pub(crate) fn show_record(
    showing: Showing,
    module: &ModuleSpec,
    record: &Record,
    version: &Version,
    names: Option<&[&str]>,
) -> Value {
    let all: Vec<&str> = SYSTEM[1..6]
        .iter()
        .copied()
        .chain(["Name"])
        .chain(module.fields.iter().map(|spec| spec.name.as_str()))
        .collect();
    let mut shown = Map::new();
    for name in names.unwrap_or(&all) {
        if let Some(value) = show_field(showing, module, record, version, name) {
            shown.insert((*name).to_owned(), value);
        }
    }
    shown.insert("id".into(), showing.look.id(record.id));
    shown.into()
}
