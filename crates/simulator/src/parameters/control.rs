//! The control API under `/_sim`: JSON, without authorisation, for this machine only.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::handle::count;
use super::{ParameterFault, ParameterKind, ParameterSwitches, Shared, StoredParameter};
use crate::crm::local_only;

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/_sim/parameters", get(all).post(put))
        .route("/_sim/secrets", post(put_secret))
        .route("/_sim/switches", get(switches).post(change_switches))
        .route("/_sim/faults", get(faults).post(add_fault).delete(clear))
        .route("/_sim/calls", get(calls))
        .layer(axum::middleware::from_fn(local_only))
}

async fn all(State(shared): State<Shared>) -> Json<Vec<StoredParameter>> {
    Json(shared.lock().store.all())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Put {
    name: String,
    value: Option<String>,
    kind: Option<ParameterKind>,
}

async fn put(State(shared): State<Shared>, Json(put): Json<Put>) -> StatusCode {
    let store = &mut shared.lock().store;
    if let Some(value) = put.value {
        let kind = put.kind.unwrap_or(ParameterKind::SecureString);
        store.put(&put.name, &value, kind);
    } else {
        store.delete(&put.name);
    }
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutSecret {
    name: String,
    value: String,
}

async fn put_secret(State(shared): State<Shared>, Json(put): Json<PutSecret>) -> StatusCode {
    shared.lock().secrets.insert(put.name, put.value);
    StatusCode::NO_CONTENT
}

async fn switches(State(shared): State<Shared>) -> Json<ParameterSwitches> {
    Json(shared.lock().switches)
}

async fn change_switches(State(shared): State<Shared>, Json(change): Json<Value>) -> Response {
    let mut state = shared.lock();
    let mut next = json!(state.switches);
    if let (Some(next), Some(change)) = (next.as_object_mut(), change.as_object()) {
        next.extend(change.clone());
    }
    match serde_json::from_value(next) {
        Ok(switches) => {
            state.switches = switches;
            Json(switches).into_response()
        }
        Err(error) => {
            let error = Json(json!({"error": error.to_string()}));
            (StatusCode::BAD_REQUEST, error).into_response()
        }
    }
}

async fn faults(State(shared): State<Shared>) -> Json<Vec<ParameterFault>> {
    Json(shared.lock().faults.list())
}

async fn add_fault(State(shared): State<Shared>, Json(fault): Json<ParameterFault>) -> StatusCode {
    shared.lock().faults.add(fault);
    StatusCode::NO_CONTENT
}

async fn clear(State(shared): State<Shared>) -> StatusCode {
    shared.lock().faults.clear();
    StatusCode::NO_CONTENT
}

async fn calls(State(shared): State<Shared>) -> Json<Value> {
    let calls = &shared.lock().calls;
    Json(json!({"counts": count(calls), "calls": calls}))
}
