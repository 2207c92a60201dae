//! The control API under `/_sim`: JSON, without authorisation, for this machine only.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::CreditState;
use crate::crm::faults::Fault;
use crate::crm::records::parse_id;
use crate::crm::seed::{Seed, Seeded};
use crate::crm::store::Fields;
use crate::crm::switches::Switches;
use crate::crm::{App, CrmError};

type Answer = Result<Json<Value>, Refused>;

struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(json!({"error": self.1}))).into_response()
    }
}

impl From<CrmError> for Refused {
    fn from(error: CrmError) -> Self {
        let status = match error {
            CrmError::NoModule(_) | CrmError::NoRecord { .. } => StatusCode::NOT_FOUND,
            CrmError::BadSeed(_) => StatusCode::BAD_REQUEST,
            CrmError::Listen { .. } | CrmError::Database(_) | CrmError::NoRandom => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Self(status, error.to_string())
    }
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        CrmError::from(error).into()
    }
}

impl From<JsonRejection> for Refused {
    fn from(error: JsonRejection) -> Self {
        Self(error.status(), error.body_text())
    }
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/_sim/switches", get(switches).post(change_switches))
        .route(
            "/_sim/faults",
            get(faults).post(add_fault).delete(clear_faults),
        )
        .route("/_sim/faults/{id}", delete(remove_fault))
        .route("/_sim/log", get(log))
        .route("/_sim/credits", get(credits).post(set_credits))
        .route("/_sim/clock", get(clock).post(set_clock))
        .route("/_sim/tokens", post(tokens))
        .route("/_sim/seed", post(seed))
        .route("/_sim/records/{module}", get(list))
        .route(
            "/_sim/records/{module}/{id}",
            get(raw).post(edit).delete(remove),
        )
        .route("/_sim/records/{module}/{id}/clone", post(copy))
        .route(
            "/_sim/records/{module}/{id}/attachments/{attachment}",
            delete(remove_attachment),
        )
        .layer(axum::middleware::from_fn(local_only))
}

/// Refuses a request that a foreign web page made a browser send.
pub(crate) async fn local_only(request: Request, next: Next) -> Response {
    if !is_local(request.headers()) {
        return (
            StatusCode::FORBIDDEN,
            "this address is for this machine only\n",
        )
            .into_response();
    }
    next.run(request).await
}

/// Whether the name asked for is this machine's and the origin, if any, is this server.
fn is_local(headers: &HeaderMap) -> bool {
    let text = |value: &HeaderValue| value.to_str().unwrap_or("?").to_owned();
    let host = headers.get(header::HOST).map(text).unwrap_or_default();
    let name = host
        .rsplit_once(':')
        .map_or(host.as_str(), |(name, _)| name);
    let own = |origin: &HeaderValue| text(origin) == format!("http://{host}");
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
        && headers.get(header::ORIGIN).is_none_or(own)
}

async fn switches(State(app): State<Arc<App>>) -> Json<Switches> {
    Json(app.switches())
}

async fn change_switches(
    State(app): State<Arc<App>>,
    change: Result<Json<Value>, JsonRejection>,
) -> Answer {
    let changed = app
        .merge_switches(&change?.0)
        .map_err(|error| Refused(StatusCode::BAD_REQUEST, error.to_string()))?;
    Ok(Json(json!(changed)))
}

async fn faults(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({"faults": app.faults.list()}))
}

async fn add_fault(
    State(app): State<Arc<App>>,
    fault: Result<Json<Fault>, JsonRejection>,
) -> Answer {
    Ok(Json(json!({"id": app.faults.add(fault?.0)})))
}

async fn clear_faults(State(app): State<Arc<App>>) -> StatusCode {
    app.faults.clear();
    StatusCode::NO_CONTENT
}

async fn remove_fault(State(app): State<Arc<App>>, Path(id): Path<u64>) -> StatusCode {
    app.faults.remove(id);
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: i64,
}

async fn log(State(app): State<Arc<App>>, Query(query): Query<After>) -> Answer {
    Ok(Json(json!({"log": app.store().log_after(query.after)?})))
}

async fn credits(State(app): State<Arc<App>>) -> Json<CreditState> {
    Json(app.credits())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetCredits {
    used: u64,
}

async fn set_credits(
    State(app): State<Arc<App>>,
    body: Result<Json<SetCredits>, JsonRejection>,
) -> Answer {
    app.ledger.set(app.clock.now_ms(), body?.used);
    Ok(Json(json!(app.credits())))
}

async fn clock(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({"now_ms": app.clock.now_ms()}))
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ClockMode {
    Real,
    Frozen,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetClock {
    mode: Option<ClockMode>,
    #[serde(default)]
    advance_ms: u64,
}

async fn set_clock(
    State(app): State<Arc<App>>,
    body: Result<Json<SetClock>, JsonRejection>,
) -> Answer {
    let body = body?.0;
    match body.mode {
        Some(ClockMode::Real) => app.clock.real(),
        Some(ClockMode::Frozen) => app.clock.freeze(),
        None => {}
    }
    app.clock.advance(Duration::from_millis(body.advance_ms));
    Ok(Json(json!({"now_ms": app.clock.now_ms()})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    #[serde(default)]
    end_all: bool,
    revoke: Option<String>,
}

async fn tokens(State(app): State<Arc<App>>, body: Result<Json<Tokens>, JsonRejection>) -> Answer {
    let body = body?.0;
    let mut store = app.store();
    let ended = if body.end_all {
        store.end_all_tokens()?
    } else {
        0
    };
    if let Some(refresh) = &body.revoke {
        store.revoke(refresh)?;
    }
    Ok(Json(json!({"ended": ended})))
}

async fn seed(
    State(app): State<Arc<App>>,
    body: Result<Json<Seed>, JsonRejection>,
) -> Result<Json<Seeded>, Refused> {
    Ok(Json(app.seed(&body?.0)?))
}

async fn list(State(app): State<Arc<App>>, Path(module): Path<String>) -> Answer {
    Ok(Json(json!({"records": app.all_records(&module)?})))
}

async fn raw(State(app): State<Arc<App>>, Path((module, id)): Path<(String, String)>) -> Answer {
    Ok(Json(json!(app.record(&module, &id)?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    #[serde(default)]
    fields: Fields,
    #[serde(default)]
    delete: bool,
}

async fn edit(
    State(app): State<Arc<App>>,
    Path((module, id)): Path<(String, String)>,
    body: Result<Json<Edit>, JsonRejection>,
) -> Answer {
    let body = body?.0;
    if body.delete {
        app.delete(&module, &id)?;
    } else {
        app.edit(&module, &id, &body.fields)?;
    }
    Ok(Json(json!(app.record(&module, &id)?)))
}

async fn remove(
    State(app): State<Arc<App>>,
    Path((module, id)): Path<(String, String)>,
) -> Result<StatusCode, Refused> {
    app.delete(&module, &id)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn copy(State(app): State<Arc<App>>, Path((module, id)): Path<(String, String)>) -> Answer {
    Ok(Json(json!({"id": app.clone_record(&module, &id)?})))
}

async fn remove_attachment(
    State(app): State<Arc<App>>,
    Path((module, id, attachment)): Path<(String, String, String)>,
) -> Result<StatusCode, Refused> {
    let (_, record) = app.record_id(&module, &id)?;
    let attachment = parse_id(&attachment).unwrap_or(0);
    let gone = app.store().remove_attachment(record, attachment)?;
    Ok(if gone {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::NOT_FOUND
    })
}
