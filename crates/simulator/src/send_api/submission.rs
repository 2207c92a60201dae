//! Reading what a caller wants sent: a multipart form or a JSON object.

use std::collections::BTreeMap;

use axum::body::to_bytes;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Api;
use super::kind::Kind;
use super::post::refusal_of;
use super::script::Refusal;

/// A complete request.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) kind: Kind,
    /// The id it gets, where it was given one as a draft.
    pub(crate) id: Option<String>,
    pub(crate) recipient: String,
    pub(crate) address: String,
    pub(crate) reference: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) script: Option<String>,
    pub(crate) fingerprint: String,
    pub(crate) document_sha256: String,
    pub(crate) document_bytes: usize,
    /// What makes it unacceptable whatever the script says: a code and a message.
    pub(crate) flaw: Option<(&'static str, String)>,
}

/// The outcome of reading a request.
pub(crate) enum Read {
    Whole(Submission),
    /// The script asks to break off here.
    Midway(Submission),
    /// The client went away or the form is torn.
    Torn(Submission),
}

/// The parts of a request, whatever its encoding.
#[derive(Default)]
struct Parts {
    fields: BTreeMap<String, String>,
    document: Option<Vec<u8>>,
    flaw: Option<(&'static str, String)>,
}

/// Reads a request to its end, unless the script of the recipient says to break off before the document.
pub(crate) async fn read(api: &Api, kind: Kind, request: Request) -> Read {
    let headers = request.headers().clone();
    let mut parts = Parts::default();
    let is_multipart = content_type(&headers).starts_with("multipart/form-data");
    let end = if is_multipart {
        read_form(api, kind, &headers, request, &mut parts).await
    } else {
        read_json(api, request, &mut parts).await
    };
    let submission = finish(api, kind, &headers, parts);
    match end {
        End::Whole => Read::Whole(submission),
        End::Midway => Read::Midway(submission),
        End::Torn => Read::Torn(submission),
    }
}

enum End {
    Whole,
    Midway,
    Torn,
}

async fn read_form(
    api: &Api,
    kind: Kind,
    headers: &HeaderMap,
    request: Request,
    parts: &mut Parts,
) -> End {
    let Ok(mut form) = Multipart::from_request(request, &()).await else {
        parts.flaw = Some(("invalid_form", "the form has no boundary".to_owned()));
        return End::Whole;
    };
    loop {
        let field = match form.next_field().await {
            Ok(Some(field)) => field,
            Ok(None) => return End::Whole,
            Err(_) => return End::Torn,
        };
        let name = field.name().unwrap_or_default().to_owned();
        let is_file = field.file_name().is_some();
        if is_file {
            let known = finish(
                api,
                kind,
                headers,
                Parts {
                    fields: parts.fields.clone(),
                    ..Parts::default()
                },
            );
            if matches!(refusal_of(api, &known, None), Some(Refusal::ResetMidway)) {
                return End::Midway;
            }
        }
        let Ok(bytes) = field.bytes().await else {
            return End::Torn;
        };
        if is_file {
            parts.document = Some(bytes.to_vec());
        } else if parts
            .fields
            .insert(name.clone(), String::from_utf8_lossy(&bytes).into_owned())
            .is_some()
        {
            parts.flaw = Some(("invalid_form", format!("`{name}` is there twice")));
        }
    }
}

async fn read_json(api: &Api, request: Request, parts: &mut Parts) -> End {
    let Ok(bytes) = to_bytes(request.into_body(), api.read_limit()).await else {
        return End::Torn;
    };
    let Ok(Value::Object(object)) = serde_json::from_slice(&bytes) else {
        parts.flaw = Some(("invalid_json", "the body is no JSON object".to_owned()));
        return End::Whole;
    };
    let document = object.get("document").or_else(|| object.get("file"));
    let document = document.or_else(|| object.get("attachments")?.get(0)?.get("content"));
    if let Some(text) = document.and_then(Value::as_str) {
        match STANDARD.decode(text) {
            Ok(bytes) => parts.document = Some(bytes),
            Err(_) => parts.flaw = Some(("invalid_file", "the document is no base64".to_owned())),
        }
    }
    for (key, value) in &object {
        if !matches!(key.as_str(), "document" | "file" | "attachments") {
            flatten(key, value, &mut parts.fields);
        }
    }
    End::Whole
}

/// `{"to":{"name":"x"}}` becomes `to[name]`, as a form would write it.
fn flatten(key: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(object) => {
            for (inner, value) in object {
                flatten(&format!("{key}[{inner}]"), value, into);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                flatten(&format!("{key}[{index}]"), value, into);
            }
        }
        Value::String(text) => {
            into.insert(key.to_owned(), text.clone());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            into.insert(key.to_owned(), value.to_string());
        }
    }
}

fn finish(api: &Api, kind: Kind, headers: &HeaderMap, parts: Parts) -> Submission {
    let Parts {
        fields,
        document,
        flaw,
    } = parts;
    let pick = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| fields.get(*name))
            .filter(|text| !text.is_empty())
    };
    let recipient = pick(&["to[name]", "to", "to[0]", "to[0][name]"])
        .cloned()
        .unwrap_or_default();
    let reference = match kind {
        Kind::Letter | Kind::Message | Kind::Contract => {
            pick(&["metadata[send_id]", "reference"]).cloned()
        }
        Kind::Mail => pick(&["tags[0][value]"]).cloned(),
        Kind::Fax => pick(&["client_state"]).and_then(|text| {
            let bytes = STANDARD.decode(text).ok()?;
            String::from_utf8(bytes).ok()
        }),
    };
    let key = header_text(headers, "idempotency-key").filter(|_| kind.has_keys());
    let document_sha256 = document
        .as_deref()
        .map(|bytes| hex(&Sha256::digest(bytes)))
        .unwrap_or_default();
    let size = document.as_ref().map_or(0, Vec::len);
    let flaw = flaw
        .or_else(|| flaw_of(api, &recipient, document.as_deref()))
        .or_else(|| missing(kind, &fields));
    Submission {
        kind,
        id: None,
        address: address(&fields),
        reference,
        idempotency_key: key,
        script: pick(&["metadata[script]", "script"]).cloned(),
        fingerprint: fingerprint(&fields, &document_sha256),
        recipient,
        document_sha256,
        document_bytes: size,
        flaw,
    }
}

/// What a vendor requires beside recipient and document.
fn missing(kind: Kind, fields: &BTreeMap<String, String>) -> Option<(&'static str, String)> {
    let (code, names): (_, &[&[&str]]) = match kind {
        Kind::Letter | Kind::Message | Kind::Contract => return None,
        Kind::Mail => (
            "missing_required_field",
            &[&["from"], &["subject"], &["text", "html"]],
        ),
        Kind::Fax => ("10004", &[&["connection_id"], &["from"]]),
    };
    let is_there = |name: &&str| fields.get(*name).is_some_and(|text| !text.is_empty());
    let gap = names.iter().find(|any| !any.iter().any(is_there))?;
    Some((code, format!("`{}` is required", gap.join("` or `"))))
}

fn flaw_of(api: &Api, recipient: &str, document: Option<&[u8]>) -> Option<(&'static str, String)> {
    if recipient.is_empty() {
        return Some(("invalid", "to[name] is required".to_owned()));
    }
    let Some(document) = document else {
        return Some(("invalid", "file is required".to_owned()));
    };
    if document.len() > api.max_document_bytes {
        return Some((
            "file_too_large",
            format!("file is above {} bytes", api.max_document_bytes),
        ));
    }
    if !document.starts_with(b"%PDF-") {
        return Some(("invalid_file", "file is no PDF".to_owned()));
    }
    None
}

fn address(fields: &BTreeMap<String, String>) -> String {
    let mut address = Map::new();
    for (key, value) in fields {
        let inner = key
            .strip_prefix("to[")
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(inner) = inner.filter(|inner| *inner != "name") {
            address.insert(inner.to_owned(), Value::String(value.clone()));
        }
    }
    Value::Object(address).to_string()
}

/// Over fields and document and not over the bytes on the wire: a form's boundary differs every time.
fn fingerprint(fields: &BTreeMap<String, String>, document_sha256: &str) -> String {
    let mut hash = Sha256::new();
    for text in fields
        .iter()
        .flat_map(|(key, value)| [key.as_str(), value.as_str()])
        .chain([document_sha256])
    {
        hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(text);
    }
    hex(&hash.finalize())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn content_type(headers: &HeaderMap) -> String {
    header_text(headers, header::CONTENT_TYPE.as_str())
        .unwrap_or_default()
        .to_ascii_lowercase()
}

pub(crate) fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}
