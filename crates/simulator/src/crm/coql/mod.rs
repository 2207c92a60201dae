//! The query endpoint: the documented subset of COQL that reads one module.

mod ast;
mod lex;
mod parse;
mod run;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::{Map, Value, json};

use super::App;
use super::auth::Caller;
use super::config::{FieldKind, ModuleSpec};
use super::fields::{Showing, kind_of, show_field};
use super::reply::{Problem, Reply};
use super::switches::{CoqlCount, Switches};
use ast::{CoqlQuery, Select};
use lex::lex;
use parse::{parse, syntax};
use run::{Row, matching};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/crm/v8/coql", post(coql))
}

async fn coql(State(app): State<Arc<App>>, caller: Caller, body: Bytes) -> Result<Reply, Reply> {
    let flat = |problem: Problem| problem.flat();
    let _sub = caller.sub_permit(&app)?;
    caller.need("ZohoCRM.coql.READ").map_err(flat)?;
    let switches = app.switches();
    let query = read(&body, &switches).map_err(flat)?;
    let module = app
        .module(&query.module)
        .ok_or_else(|| Problem::no_such_module().flat())?;
    caller.need_records(&module.name, "READ").map_err(flat)?;
    let credits = match query.limit {
        0..=200 => 1,
        201..=1000 => 2,
        _ => 3,
    };
    let reply = answer(&app, &query, module, &switches).unwrap_or_else(|problem| problem.flat());
    Ok(reply.costing(credits))
}

fn read(body: &[u8], switches: &Switches) -> Result<CoqlQuery, Problem> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let missing = || {
        Problem::bad(
            "MANDATORY_NOT_FOUND",
            "required field not found",
            json!({"api_name": "select_query"}),
        )
    };
    let text = body["select_query"].as_str().ok_or_else(missing)?;
    let place = |error: lex::LexError| syntax(json!({"line": 1, "column": error.column}));
    parse(&lex(text, switches.coql_quote).map_err(place)?)
}

fn answer(
    app: &App,
    query: &CoqlQuery,
    module: &ModuleSpec,
    switches: &Switches,
) -> Result<Reply, Problem> {
    let lag_ms = i64::try_from(switches.list_lag_seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    let seen_at = app.clock.now_ms().saturating_sub(lag_ms);
    let store = app.store();
    let rows = store
        .all(&module.name)
        .filter_map(|record| Some((record, record.at(seen_at)?)));
    let found = matching(query, module, switches, rows)?;
    match &query.select {
        Select::Count(name) => {
            let name = match switches.coql_count {
                CoqlCount::AsAsked => name.clone(),
                CoqlCount::LowerCase => name.to_lowercase(),
                CoqlCount::Refused => {
                    let details = json!({"reason": "aggregates are not available"});
                    return Err(Problem::bad(
                        "INVALID_QUERY",
                        "invalid query formed",
                        details,
                    ));
                }
            };
            let data = json!([{name: found.len()}]);
            Ok(Reply::json(
                StatusCode::OK,
                json!({"data": data, "info": {"count": 1, "more_records": false}}),
            ))
        }
        Select::Columns(columns) => {
            let showing = Showing {
                look: app.look(),
                empty: switches.empty_value,
                rich_cut: Some(500),
                long_cut: switches
                    .list_cuts_long_text
                    .and_then(|longest| usize::try_from(longest).ok()),
            };
            page(query, module, showing, columns, &found)
        }
    }
}

fn page(
    query: &CoqlQuery,
    module: &ModuleSpec,
    showing: Showing,
    columns: &[String],
    found: &[Row<'_>],
) -> Result<Reply, Problem> {
    for column in columns {
        if kind_of(module, column).is_none() {
            let details = json!({"reason": "column is not available", "column_name": column});
            return Err(Problem::bad(
                "INVALID_QUERY",
                "invalid query formed",
                details,
            ));
        }
    }
    let shown = found.iter().skip(query.offset).take(query.limit);
    let data: Vec<Value> = shown
        .map(|row| show(module, showing, columns, *row))
        .collect();
    if data.is_empty() {
        return Ok(Reply::empty(StatusCode::NO_CONTENT));
    }
    let more = found.len() > query.offset + data.len();
    Ok(Reply::json(
        StatusCode::OK,
        json!({"data": data, "info": {"count": data.len(), "more_records": more}}),
    ))
}

fn show(
    module: &ModuleSpec,
    showing: Showing,
    columns: &[String],
    (record, version): Row<'_>,
) -> Value {
    let mut row = Map::new();
    for column in columns {
        let mut value = show_field(showing, module, record, version, column).unwrap_or_default();
        if kind_of(module, column) == Some(FieldKind::Person) {
            // A query gives the id of a looked-up record, not its name.
            value = json!({"id": value["id"]});
        }
        row.insert(column.clone(), value);
    }
    row.insert("id".into(), showing.look.id(record.id));
    row.into()
}
