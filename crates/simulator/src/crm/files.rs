//! Uploaded files, and the files of file-upload fields.

use std::sync::Arc;

use axum::Router;
use axum::extract::multipart::Field;
use axum::extract::{DefaultBodyLimit, Multipart, Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};

use super::auth::Caller;
use super::records::{parse_id, touch};
use super::reply::{Problem, Reply};
use super::store::{Store, StoredFile};
use super::switches::Switches;
use super::{API_USER, App, random_hex};

const MOST_FILES: usize = 10;
/// Ten files of 20 MB and their envelope.
const LARGEST_UPLOAD: usize = 202 * 1024 * 1024;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/crm/v8/files", get(download).post(upload))
        .route(
            "/crm/v8/{module}/{id}/actions/download_fields_attachment",
            get(download_field),
        )
        .layer(DefaultBodyLimit::max(LARGEST_UPLOAD))
}

/// A file that may be bound or downloaded: an unbound one disappears after a time.
pub(crate) fn usable(
    store: &Store,
    switches: &Switches,
    id: &str,
    now_ms: i64,
) -> rusqlite::Result<Option<StoredFile>> {
    let gone = |file: &StoredFile| {
        let life = switches
            .unbound_file_seconds
            .and_then(|s| i64::try_from(s.saturating_mul(1000)).ok());
        !file.bound && life.is_some_and(|life| now_ms - file.uploaded_ms >= life)
    };
    Ok(store.file(id)?.filter(|file| !gone(file)))
}

/// A part named `file`, or nothing for another part.
pub(crate) async fn file_part(field: Field<'_>) -> Result<Option<(String, Vec<u8>)>, Problem> {
    if field.name() != Some("file") {
        return Ok(None);
    }
    let name = field.file_name().unwrap_or("file").to_owned();
    let bytes = field.bytes().await.map_err(|_| broken_upload())?;
    Ok(Some((name, bytes.to_vec())))
}

pub(crate) fn broken_upload() -> Problem {
    Problem::bad(
        "failure_in_attachment_handling",
        "failure in attachment handling",
        json!({}),
    )
}

async fn upload(
    State(app): State<Arc<App>>,
    caller: Caller,
    form: Option<Multipart>,
) -> Result<Reply, Problem> {
    caller.need("ZohoCRM.files.CREATE")?;
    let mut form = form.ok_or_else(broken_upload)?;
    let mut parts = Vec::new();
    while let Some(field) = form.next_field().await.map_err(|_| broken_upload())? {
        parts.extend(file_part(field).await?);
    }
    if parts.is_empty() || parts.len() > MOST_FILES {
        return Err(broken_upload());
    }
    let largest = app.config.limits.file_bytes;
    if parts.iter().any(|(_, bytes)| bytes.len() > largest) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "FILE_SIZE_MORE_THAN_ALLOWED_SIZE",
            "please check the size of the file",
            json!({}),
        ));
    }
    let mut items = Vec::new();
    for (name, bytes) in parts {
        // Longer than a record id and opaque, as the real ids are.
        let id = random_hex::<40>()?;
        app.store()
            .add_file(&id, &name, &bytes, app.clock.now_ms())?;
        items.push(json!({
            "code": "SUCCESS",
            "details": {"name": name, "id": id},
            "message": format!("{name} uploaded Succeessfully"),
            "status": "success",
        }));
    }
    Ok(Reply::json(StatusCode::OK, json!({"data": items})))
}

#[derive(Deserialize)]
struct FileQuery {
    id: Option<String>,
}

async fn download(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(query): Query<FileQuery>,
) -> Result<Reply, Problem> {
    caller.need("ZohoCRM.files.READ")?;
    let id = query.id.ok_or_else(|| Problem::missing_parameter("id"))?;
    send_file(&app, &id)
}

fn send_file(app: &App, id: &str) -> Result<Reply, Problem> {
    let store = app.store();
    let Some(file) = usable(&store, &app.switches(), id, app.clock.now_ms())? else {
        return Ok(Reply::empty(StatusCode::NO_CONTENT));
    };
    let bytes = store.file_bytes(id)?.unwrap_or_default();
    Ok(Reply::file(&file.name, bytes))
}

#[derive(Deserialize)]
struct FieldQuery {
    fields_attachment_id: Option<String>,
}

async fn download_field(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((module, id)): Path<(String, String)>,
    Query(query): Query<FieldQuery>,
) -> Result<Reply, Problem> {
    caller.need_records(&module, "READ")?;
    let module = app.module(&module).ok_or_else(Problem::no_such_module)?;
    let wanted = query
        .fields_attachment_id
        .ok_or_else(|| Problem::missing_parameter("fields_attachment_id"))?;
    let id = parse_id(&id).ok_or_else(Problem::no_such_id)?;
    let fields = app
        .store()
        .live(&module.name, id)
        .map(|record| Arc::clone(&record.now.fields));
    let Some(fields) = fields else {
        return super::records::missing(app.switches().missing_record);
    };
    let entry = fields
        .values()
        .filter_map(Value::as_array)
        .flatten()
        .find(|entry| entry["id"] == wanted.as_str())
        .and_then(|entry| entry["File_Id__s"].as_str());
    let Some(file_id) = entry else {
        return Ok(Reply::empty(StatusCode::NO_CONTENT));
    };
    let reply = send_file(&app, file_id);
    if app.switches().download_bumps {
        let now_ms = app.clock.now_ms();
        touch(&mut app.store(), &module.name, id, API_USER, now_ms)?;
    }
    reply
}
