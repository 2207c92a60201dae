//! CloudSign: a token for the client id alone, a draft, its file, its participant, and the POST that sends it.
//!
//! The same POST on a document that is out already sends a reminder, as the vendor says.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Form, FromRequest, Multipart, Path, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Api;
use super::answer::internal;
use super::kind::Kind;
use super::look_up::{is_visible, look_up, script};
use super::post::{commit, random_id};
use super::record::DraftRecord;
use super::submission::{Submission, hex};
use crate::net::Connection;

const KIND: Kind = Kind::Contract;

type Fields = Form<BTreeMap<String, String>>;

pub(super) fn router() -> Router<Arc<Api>> {
    Router::new()
        .route("/cloudsign/token", post(token))
        .route("/cloudsign/documents", post(create))
        .route("/cloudsign/documents/{id}", get(read).post(send))
        .route("/cloudsign/documents/{id}/files", post(add_file))
        .route(
            "/cloudsign/documents/{id}/participants",
            post(add_participant),
        )
}

async fn token(State(api): State<Arc<Api>>, Form(fields): Fields) -> Response {
    match fields.get("client_id").map(String::as_str) {
        None | Some("") => KIND.error(400, "invalid_request", "client_id is required"),
        Some(id) if id != api.key => KIND.error(400, "invalid_client", "no such client"),
        Some(_) => match api.token() {
            Ok(token) => Json(json!({
                "access_token": token, "token_type": "Bearer", "expires_in": 3600,
            }))
            .into_response(),
            Err(failure) => internal(&failure),
        },
    }
}

async fn create(State(api): State<Arc<Api>>, headers: HeaderMap, Form(fields): Fields) -> Response {
    if let Err(refused) = authorized(&api, &headers) {
        return *refused;
    }
    if !fields.contains_key("title") {
        return KIND.error(400, "bad_request", "title is required");
    }
    // The real ids are 32 to 36 characters.
    let id = format!("{}{}", random_id(), random_id());
    let reference = fields.get("note").map(String::as_str);
    match api.store.create_draft(&id, reference) {
        Ok(()) => shown(&api, &id),
        Err(failure) => internal(&failure),
    }
}

async fn add_file(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let mut draft = match changeable(&api, &headers, &id) {
        Ok(draft) => draft,
        Err(refused) => return *refused,
    };
    let Ok(mut form) = Multipart::from_request(request, &()).await else {
        return KIND.error(415, "unsupported_media_type", "must be a multipart form");
    };
    while let Ok(Some(field)) = form.next_field().await {
        if field.name() != Some("uploadfile") {
            continue;
        }
        let Ok(bytes) = field.bytes().await else {
            return KIND.error(400, "bad_request", "the file is torn");
        };
        if bytes.len() > api.max_document_bytes {
            return KIND.error(413, "too_large_request", "the file is too large");
        }
        let end = bytes.trim_ascii_end();
        if !bytes.starts_with(b"%PDF-") || !end.ends_with(b"%%EOF") {
            return KIND.error(415, "unsupported_media_type", "the file is no PDF");
        }
        draft.document_sha256 = hex(&Sha256::digest(&bytes));
        draft.document_bytes = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        return changed(&api, &draft);
    }
    KIND.error(400, "bad_request", "uploadfile is required")
}

async fn add_participant(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(fields): Fields,
) -> Response {
    let mut draft = match changeable(&api, &headers, &id) {
        Ok(draft) => draft,
        Err(refused) => return *refused,
    };
    let (Some(email), Some(name)) = (fields.get("email"), fields.get("name")) else {
        return KIND.error(400, "bad_request", "email and name are required");
    };
    if !email.contains('@') {
        return KIND.error(400, "bad_request", "email is no address");
    }
    (draft.email, draft.recipient) = (email.clone(), name.clone());
    changed(&api, &draft)
}

/// The commit; on a document that is out already, a reminder.
async fn send(
    State(api): State<Arc<Api>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let draft = match api.store.draft(&id) {
        Ok(Some(draft)) => draft,
        Ok(None) => return KIND.error(404, "not_found", "no such document"),
        Err(failure) => return internal(&failure),
    };
    let allowed = api.allows(KIND, &headers);
    let is_out = match api.store.letter(&id) {
        Ok(letter) => letter.is_some(),
        Err(failure) => return internal(&failure),
    };
    let submission = submission(draft);
    if is_out && allowed {
        let noted = api.store.note_post(&submission, "reminded");
        return match noted.and_then(|()| api.store.count_reminder(&id)) {
            Ok(()) => shown(&api, &id),
            Err(failure) => internal(&failure),
        };
    }
    commit(api, connection, allowed, submission).await
}

fn submission(draft: DraftRecord) -> Submission {
    let incomplete = draft.recipient.is_empty() || draft.document_sha256.is_empty();
    let flaw = incomplete.then(|| {
        (
            "not_acceptable",
            "file or participant is missing".to_owned(),
        )
    });
    Submission {
        kind: KIND,
        id: Some(draft.id),
        address: json!({"email": draft.email}).to_string(),
        reference: draft.reference,
        idempotency_key: None,
        script: None,
        fingerprint: draft.document_sha256.clone(),
        recipient: draft.recipient,
        document_sha256: draft.document_sha256,
        document_bytes: usize::try_from(draft.document_bytes).unwrap_or_default(),
        flaw,
    }
}

/// The document: a draft still, or as far as its script has it.
async fn read(State(api): State<Arc<Api>>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    if let Err(refused) = authorized(&api, &headers) {
        return *refused;
    }
    match api.store.letter(&id) {
        Ok(Some(letter)) if is_visible(&letter, &script(&api, &letter)) => {
            look_up(&api, KIND, &id, &headers)
        }
        Ok(_) => {
            if let Err(failure) = api.store.count_find() {
                return internal(&failure);
            }
            shown(&api, &id)
        }
        Err(failure) => internal(&failure),
    }
}

fn authorized(api: &Api, headers: &HeaderMap) -> Result<(), Box<Response>> {
    if api.allows(KIND, headers) {
        Ok(())
    } else {
        Err(Box::new(KIND.error(
            401,
            "unauthorized",
            "the token is not valid",
        )))
    }
}

/// The draft, where it may be changed.
fn changeable(api: &Api, headers: &HeaderMap, id: &str) -> Result<DraftRecord, Box<Response>> {
    authorized(api, headers)?;
    let found = match (api.store.draft(id), api.store.letter(id)) {
        (Err(failure), _) | (_, Err(failure)) => Err(internal(&failure)),
        (Ok(None), _) => Err(KIND.error(404, "not_found", "no such document")),
        (Ok(Some(_)), Ok(Some(_))) => Err(KIND.error(403, "not_acceptable", "is no draft")),
        (Ok(Some(draft)), Ok(None)) => Ok(draft),
    };
    found.map_err(Box::new)
}

fn changed(api: &Api, draft: &DraftRecord) -> Response {
    match api.store.change_draft(draft) {
        Ok(()) => shown(api, &draft.id),
        Err(failure) => internal(&failure),
    }
}

/// The document as a draft; a reminder shows it as sent.
fn shown(api: &Api, id: &str) -> Response {
    match api.store.draft(id) {
        Ok(Some(draft)) => Json(object(&draft)).into_response(),
        Ok(None) => KIND.error(404, "not_found", "no such document"),
        Err(failure) => internal(&failure),
    }
}

fn object(draft: &DraftRecord) -> Value {
    let has_file = !draft.document_sha256.is_empty();
    let files: &[Value] = &[json!({"name": "document.pdf", "order": 0})];
    let participants: &[Value] = &[json!({"name": draft.recipient, "email": draft.email})];
    json!({
        "id": draft.id,
        "note": draft.reference,
        "status": i32::from(draft.reminders > 0),
        "sent_at": null,
        "files": if has_file { files } else { &[] },
        "participants": if draft.recipient.is_empty() { &[] } else { participants },
    })
}
