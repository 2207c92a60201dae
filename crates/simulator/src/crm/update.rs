//! The guarded update of one record.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde_json::json;

use super::auth::Caller;
use super::fields::{Rules, check_unique, merge};
use super::records::{WriteBody, automation, parse_id, success, written};
use super::reply::{Problem, Reply};
use super::store::{Fields, Store};
use super::switches::{
    ConflictBody, Guard, GuardEqual, MalformedGuard, Switches, TimeForm, Unique,
};
use super::{API_USER, App, parse_seconds};

const HEADER: &str = "if-unmodified-since";

pub(crate) async fn update(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((module, id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Reply, Problem> {
    caller.need_records(&module, "UPDATE")?;
    app.module(&module).ok_or_else(Problem::no_such_module)?;
    let id = parse_id(&id).ok_or_else(Problem::no_such_id)?;
    Ok(write(&app, &module, id, &headers, &body)
        .await
        .unwrap_or_else(|refusal| refusal))
}

async fn write(
    app: &Arc<App>,
    module: &str,
    id: i64,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Reply, Reply> {
    let wrapped = |problem: Problem| problem.wrapped();
    let body = WriteBody::parse(body).map_err(wrapped)?;
    let [incoming] = body.data.as_slice() else {
        let details = json!({"maximum_length": 1, "api_name": "data"});
        return Err(Problem::bad("INVALID_DATA", "invalid data", details).wrapped());
    };
    let switches = app.switches();
    let guard = guard_of(headers, &switches).map_err(wrapped)?;
    if switches.guard == Guard::Racy && guard.is_some() {
        check(app, &app.store(), module, id, guard, &switches)?;
        tokio::time::sleep(Duration::from_millis(switches.guard_race_ms)).await;
    }
    let mut store = app.store();
    if switches.guard != Guard::Racy {
        check(app, &store, module, id, guard, &switches)?;
    }
    store_fields(app, &mut store, (module, id), incoming, &switches).map_err(wrapped)?;
    let written = store
        .any(module, id)
        .map(|record| success("record updated", record, app.look()));
    drop(store);
    automation(app, &switches, module, id, body.quiet);
    Ok(Reply::json(StatusCode::OK, json!({"data": [written]})))
}

/// The instant of a usable guard header; a malformed one is ignored or refused.
fn guard_of(headers: &HeaderMap, switches: &Switches) -> Result<Option<i64>, Problem> {
    let Some(value) = headers.get(HEADER) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    // Who writes `Z` also reads it.
    let text = match text.strip_suffix('Z') {
        Some(plain) if switches.time_form == TimeForm::Utc => format!("{plain}+00:00"),
        _ => text.to_owned(),
    };
    let Some(instant) = parse_seconds(&text) else {
        return match switches.malformed_guard {
            MalformedGuard::Ignored => Ok(None),
            MalformedGuard::Refused => {
                let details =
                    json!({"header_name": "If-Unmodified-Since", "expected_data_type": "datetime"});
                Err(Problem::bad("INVALID_DATA", "invalid data", details))
            }
        };
    };
    Ok(Some(instant).filter(|_| switches.guard != Guard::Ignored))
}

/// Refuses a missing record, and one modified in a later second than the guard names. A second write in the
/// guard's own second passes, unless a switch says otherwise.
fn check(
    app: &App,
    store: &Store,
    module: &str,
    id: i64,
    guard: Option<i64>,
    switches: &Switches,
) -> Result<(), Reply> {
    let Some(record) = store.live(module, id) else {
        return Err(Problem::no_such_id().wrapped());
    };
    let passes = |instant| match switches.guard_equal {
        GuardEqual::Passes => record.now.modified_s <= instant,
        GuardEqual::Conflicts => record.now.modified_s < instant,
    };
    if guard.is_none_or(passes) {
        return Ok(());
    }
    let problem = Problem::new(
        StatusCode::PRECONDITION_FAILED,
        "ALREADY_MODIFIED",
        "record updated time has already passed if-unmodified-since time",
        written(record, app.look()),
    );
    Err(match switches.conflict_body {
        ConflictBody::Wrapped => problem.wrapped(),
        ConflictBody::Flat => problem.flat(),
        ConflictBody::ItemIn200 => Reply::json(StatusCode::OK, json!({"data": [problem.item()]})),
    })
}

fn store_fields(
    app: &App,
    store: &mut Store,
    (module, id): (&str, i64),
    incoming: &Fields,
    switches: &Switches,
) -> Result<(), Problem> {
    let now_ms = app.clock.now_ms();
    let spec = app.module(module).ok_or_else(Problem::no_such_module)?;
    let rules = Rules {
        module: spec,
        switches,
        index: 0,
        now_ms,
        lenient: false,
    };
    let old = store
        .live(module, id)
        .map(|record| Arc::clone(&record.now.fields))
        .ok_or_else(Problem::no_such_id)?;
    let merged = merge(rules, store, &old, incoming)?;
    if switches.unique != Unique::Ignored {
        check_unique(rules, store, incoming, Some(id))?;
    }
    store.replace(module, id, merged, false, API_USER, now_ms)?;
    Ok(())
}
