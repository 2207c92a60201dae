//! Creating and reading records.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::auth::Caller;
use super::config::ModuleSpec;
use super::fields::{Look, Rules, Showing, check_unique, merge, person, show_record};
use super::reply::{Problem, Reply};
use super::store::{Fields, Record, Store};
use super::switches::{MissingRecord, Switches, Unique};
use super::{API_USER, App, parse_seconds, render_seconds, update};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/crm/v8/{module}", post(create)).route(
        "/crm/v8/{module}/{id}",
        get(read).put(update::update).delete(delete),
    )
}

/// A write request: `data` and whether `trigger` is `[]`.
pub(crate) struct WriteBody {
    pub(crate) data: Vec<Fields>,
    pub(crate) quiet: bool,
}

impl WriteBody {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Problem> {
        let wrong = |name: &str, expected: &str| {
            Problem::bad(
                "INVALID_DATA",
                "invalid data",
                json!({"expected_data_type": expected, "api_name": name}),
            )
        };
        let body: Value = serde_json::from_slice(body).map_err(|_| wrong("body", "jsonobject"))?;
        let missing = || {
            Problem::bad(
                "MANDATORY_NOT_FOUND",
                "required field not found",
                json!({"api_name": "data"}),
            )
        };
        let data = body
            .get("data")
            .ok_or_else(missing)?
            .as_array()
            .ok_or_else(|| wrong("data", "jsonarray"))?;
        if data.is_empty() {
            return Err(missing());
        }
        if data.len() > 100 {
            return Err(Problem::bad(
                "LIMIT_EXCEEDED",
                "limit exceeded",
                json!({"maximum_length": 100}),
            ));
        }
        let record = |one: &Value| {
            one.as_object()
                .cloned()
                .ok_or_else(|| wrong("data", "jsonobject"))
        };
        let data = data.iter().map(record).collect::<Result<_, _>>()?;
        let quiet = match body.get("trigger") {
            None => false,
            Some(Value::Array(names)) => names.is_empty(),
            Some(_) => return Err(wrong("trigger", "jsonarray")),
        };
        Ok(Self { data, quiet })
    }
}

async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(module): Path<String>,
    body: Bytes,
) -> Result<Reply, Problem> {
    caller.need_records(&module, "CREATE")?;
    let module = app.module(&module).ok_or_else(Problem::no_such_module)?;
    let body = match WriteBody::parse(&body) {
        Ok(body) => body,
        Err(problem) => return Ok(problem.wrapped()),
    };
    let switches = app.switches();
    let mut items = Vec::new();
    for (index, incoming) in body.data.iter().enumerate() {
        let rules = Rules {
            module,
            switches: &switches,
            index,
            now_ms: app.clock.now_ms(),
            lenient: false,
        };
        let made = create_one(&app, rules, incoming).await;
        if let Ok(id) = &made {
            automation(&app, &switches, &module.name, *id, body.quiet);
        }
        items.push(made);
    }
    let credits = u32::try_from(items.len().div_ceil(10)).unwrap_or(u32::MAX);
    Ok(answer(&app, &module.name, &items).costing(credits))
}

async fn create_one(app: &App, rules: Rules<'_>, incoming: &Fields) -> Result<i64, Problem> {
    if rules.module.auto_name.is_none()
        && incoming
            .get("Name")
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
    {
        let details =
            json!({"api_name": "Name", "json_path": format!("$.data[{}].Name", rules.index)});
        return Err(Problem::bad(
            "MANDATORY_NOT_FOUND",
            "required field not found",
            details,
        ));
    }
    let fields = {
        let mut store = app.store();
        let fields = merge(rules, &mut store, &Fields::new(), incoming)?;
        if rules.switches.unique != Unique::Ignored {
            check_unique(rules, &store, &fields, None)?;
        }
        if rules.switches.unique != Unique::Racy {
            return insert(&mut store, rules.module, fields, API_USER, rules.now_ms);
        }
        fields
    };
    tokio::time::sleep(Duration::from_millis(rules.switches.guard_race_ms)).await;
    insert(
        &mut app.store(),
        rules.module,
        fields,
        API_USER,
        app.clock.now_ms(),
    )
}

/// Adds a record and gives it its automatic name.
pub(crate) fn insert(
    store: &mut Store,
    module: &ModuleSpec,
    mut fields: Fields,
    by: &str,
    now_ms: i64,
) -> Result<i64, Problem> {
    if let Some(prefix) = &module.auto_name {
        let number = store.all(&module.name).count() + 1;
        fields.insert("Name".into(), format!("{prefix}{number}").into());
    }
    let id = store.next_id();
    store.insert(&module.name, id, fields, by, now_ms)?;
    Ok(id)
}

fn answer(app: &App, module: &str, items: &[Result<i64, Problem>]) -> Reply {
    let store = app.store();
    let item = |made: &Result<i64, Problem>| match made {
        Ok(id) => store.any(module, *id).map_or(Value::Null, |record| {
            success("record added", record, app.look())
        }),
        Err(problem) => problem.item(),
    };
    let data: Vec<Value> = items.iter().map(item).collect();
    let failed = items.iter().filter(|made| made.is_err()).count();
    let status = match items {
        [Err(problem)] => problem.status,
        _ if failed == 0 => StatusCode::CREATED,
        _ => StatusCode::MULTI_STATUS,
    };
    Reply::json(status, json!({"data": data}))
}

/// What a write says about the record it wrote.
pub(crate) fn written(record: &Record, look: Look) -> Value {
    let zone = look.zone;
    json!({
        "Modified_Time": render_seconds(record.now.modified_s, zone),
        "Modified_By": person(&record.now.modified_by),
        "Created_Time": render_seconds(record.created_ms.div_euclid(1000), zone),
        "id": look.id(record.id),
        "Created_By": person(&record.created_by),
    })
}

pub(crate) fn success(message: &str, record: &Record, look: Look) -> Value {
    json!({"code": "SUCCESS", "details": written(record, look), "message": message, "status": "success"})
}

/// Lets the CRM itself edit the record a moment after a write: a workflow where the write did not suppress
/// it, or a recalculation, which nothing suppresses.
pub(crate) fn automation(
    app: &Arc<App>,
    switches: &Switches,
    module: &str,
    id: i64,
    suppressed: bool,
) {
    let by_workflow = switches.workflow_bump && !suppressed;
    if !by_workflow && !switches.recalculation_bump {
        return;
    }
    let (app, module) = (Arc::clone(app), module.to_owned());
    let pause = Duration::from_millis(switches.workflow_delay_ms);
    tokio::spawn(async move {
        tokio::time::sleep(pause).await;
        if let Err(error) = touch(
            &mut app.store(),
            &module,
            id,
            "Workflow",
            app.clock.now_ms(),
        ) {
            tracing::error!(%error, "a workflow's edit failed");
        }
    });
}

/// Moves `Modified_Time` without changing a field.
pub(crate) fn touch(
    store: &mut Store,
    module: &str,
    id: i64,
    by: &str,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let Some(fields) = store
        .live(module, id)
        .map(|record| (*record.now.fields).clone())
    else {
        return Ok(());
    };
    store.replace(module, id, fields, false, by, now_ms)
}

/// Puts one record into the recycle bin.
async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((module, id)): Path<(String, String)>,
) -> Result<Reply, Problem> {
    caller.need_records(&module, "DELETE")?;
    let module = app.module(&module).ok_or_else(Problem::no_such_module)?;
    let id = parse_id(&id).ok_or_else(Problem::no_such_id)?;
    let mut store = app.store();
    let fields = store
        .live(&module.name, id)
        .map(|record| (*record.now.fields).clone());
    let Some(fields) = fields else {
        return Ok(Problem::no_such_id().wrapped());
    };
    store.replace(&module.name, id, fields, true, API_USER, app.clock.now_ms())?;
    let item = json!({"code": "SUCCESS", "details": {"id": app.look().id(id)}, "message": "record deleted", "status": "success"});
    Ok(Reply::json(StatusCode::OK, json!({"data": [item]})))
}

#[derive(Deserialize)]
struct ReadQuery {
    fields: Option<String>,
}

/// An id as the API takes it: 1 to 19 digits.
pub(crate) fn parse_id(text: &str) -> Option<i64> {
    let digits = (1..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

async fn read(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((module, id)): Path<(String, String)>,
    Query(query): Query<ReadQuery>,
    headers: HeaderMap,
) -> Result<Reply, Problem> {
    caller.need_records(&module, "READ")?;
    let module = app.module(&module).ok_or_else(Problem::no_such_module)?;
    let names: Option<Vec<&str>> = query
        .fields
        .as_deref()
        .map(|text| text.split(',').map(str::trim).collect());
    if names.as_ref().is_some_and(|names| names.len() > 50) {
        return Err(Problem::bad(
            "LIMIT_EXCEEDED",
            "limit exceeded",
            json!({"limit": 50, "param_name": "fields"}),
        ));
    }
    let id = parse_id(&id).ok_or_else(Problem::no_such_id)?;
    let store = app.store();
    let Some(record) = store.live(&module.name, id) else {
        return missing(app.switches().missing_record);
    };
    let since = headers
        .get("if-modified-since")
        .and_then(|value| value.to_str().ok())
        .and_then(parse_seconds);
    if since.is_some_and(|since| record.now.modified_s <= since) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED));
    }
    let showing = Showing {
        look: app.look(),
        empty: app.switches().empty_value,
        rich_cut: Some(500),
        long_cut: None,
    };
    let shown = show_record(showing, module, record, &record.now, names.as_deref());
    Ok(Reply::json(StatusCode::OK, json!({"data": [shown]})))
}

/// The answer to a read of something that is not there.
pub(crate) fn missing(switch: MissingRecord) -> Result<Reply, Problem> {
    match switch {
        MissingRecord::NoContent => Ok(Reply::empty(StatusCode::NO_CONTENT)),
        MissingRecord::InvalidData => Err(Problem::no_such_id()),
    }
}
