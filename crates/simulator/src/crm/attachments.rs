//! Attachments of a record.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Multipart, Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};

use super::auth::Caller;
use super::files::{broken_upload, file_part};
use super::records::{missing, parse_id, touch};
use super::reply::{Problem, Reply};
use super::store::Attachment;
use super::{API_USER, App, Zone, render_seconds};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/crm/v8/{module}/{id}/Attachments", get(list).post(add))
        .route(
            "/crm/v8/{module}/{id}/Attachments/{attachment}",
            get(download),
        )
}

/// The live record a path names, if it is there.
fn record_of(app: &App, module: &str, id: &str) -> Result<Option<i64>, Problem> {
    app.module(module).ok_or_else(Problem::no_such_module)?;
    let id = parse_id(id).ok_or_else(Problem::no_such_id)?;
    Ok(app.store().live(module, id).map(|record| record.id))
}

async fn add(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((module, id)): Path<(String, String)>,
    form: Option<Multipart>,
) -> Result<Reply, Problem> {
    caller.need("ZohoCRM.modules.attachments.CREATE")?;
    let record = record_of(&app, &module, &id)?.ok_or_else(Problem::no_such_id)?;
    let mut form = form.ok_or_else(broken_upload)?;
    let mut part = None;
    while let Some(field) = form.next_field().await.map_err(|_| broken_upload())? {
        part = file_part(field).await?.or(part);
    }
    let (name, bytes) = part.ok_or_else(broken_upload)?;
    if bytes.len() > app.config.limits.file_bytes {
        let code = "FILE_SIZE_MORE_THAN_ALLOWED_SIZE";
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            code,
            "the file is too large",
            json!({}),
        ));
    }
    let mut store = app.store();
    let now_ms = app.clock.now_ms();
    let made = store.add_attachment(record, &name, &bytes, now_ms)?;
    if app.switches().attachment_bumps {
        touch(&mut store, &module, record, API_USER, now_ms)?;
    }
    let item = json!({
        "code": "SUCCESS",
        "details": {"id": made.to_string(), "Created_Time": render_seconds(now_ms.div_euclid(1000), app.look().zone)},
        "message": "attachment uploaded successfully",
        "status": "success",
    });
    Ok(Reply::json(StatusCode::OK, json!({"data": [item]})))
}

#[derive(Deserialize)]
struct ListQuery {
    fields: Option<String>,
}

async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((module, id)): Path<(String, String)>,
    Query(query): Query<ListQuery>,
) -> Result<Reply, Problem> {
    caller.need("ZohoCRM.modules.attachments.READ")?;
    let fields = query
        .fields
        .ok_or_else(|| Problem::missing_parameter("fields"))?;
    let Some(record) = record_of(&app, &module, &id)? else {
        return missing(app.switches().missing_record);
    };
    let attachments = app.store().attachments(record)?;
    if attachments.is_empty() {
        return Ok(Reply::empty(StatusCode::NO_CONTENT));
    }
    let wanted: Vec<&str> = fields.split(',').map(str::trim).collect();
    let shown = |one: &Attachment| {
        let whole = show(one, record, app.look().zone);
        let mut kept = serde_json::Map::new();
        kept.insert("id".into(), whole["id"].clone());
        for name in &wanted {
            if let Some(value) = whole.get(*name) {
                kept.insert((*name).to_owned(), value.clone());
            }
        }
        Value::Object(kept)
    };
    let data: Vec<Value> = attachments.iter().map(shown).collect();
    let info = json!({"per_page": 200, "count": data.len(), "page": 1, "more_records": false});
    Ok(Reply::json(
        StatusCode::OK,
        json!({"data": data, "info": info}),
    ))
}

fn show(one: &Attachment, record: i64, zone: Zone) -> Value {
    let time = render_seconds(one.created_ms.div_euclid(1000), zone);
    json!({
        "id": one.id.to_string(),
        "File_Name": one.name,
        "Size": one.size.to_string(),
        "Parent_Id": {"id": record.to_string()},
        "Created_Time": time,
        "Modified_Time": time,
    })
}

async fn download(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((module, id, attachment)): Path<(String, String, String)>,
) -> Result<Reply, Problem> {
    caller.need("ZohoCRM.modules.attachments.READ")?;
    let Some(record) = record_of(&app, &module, &id)? else {
        return missing(app.switches().missing_record);
    };
    let attachment = parse_id(&attachment).ok_or_else(Problem::no_such_id)?;
    let found = app.store().attachment_bytes(record, attachment)?;
    found.map_or_else(
        || missing(app.switches().missing_record),
        |(name, bytes)| Ok(Reply::file(&name, bytes)),
    )
}
