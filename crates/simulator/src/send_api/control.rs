//! The control API under `/_sim`, without a key: for tests and for whoever watches.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Api;
use super::answer::{error, internal};
use super::script::Script;

/// The body of `POST /_sim/scripts`.
#[derive(Deserialize)]
pub(crate) struct NewScript {
    recipient: String,
    script: String,
}

#[derive(Deserialize)]
pub(crate) struct Filter {
    reference: Option<String>,
}

pub(crate) async fn set_script(
    State(api): State<Arc<Api>>,
    Json(new): Json<NewScript>,
) -> Response {
    if let Err(wrong) = Script::parse(&new.script) {
        return error(422, "invalid_script", &wrong.to_string());
    }
    shown(
        api.store
            .set_script(&new.recipient, &new.script)
            .map(|()| json!({"ok": true})),
    )
}

pub(crate) async fn scripts(State(api): State<Arc<Api>>) -> Response {
    shown(api.store.scripts().map(|all| {
        all.into_iter()
            .map(|(recipient, script)| (recipient, Value::String(script)))
            .collect::<Map<_, _>>()
    }))
}

pub(crate) async fn letters(State(api): State<Arc<Api>>, Query(filter): Query<Filter>) -> Response {
    shown(api.store.letters(filter.reference.as_deref()))
}

pub(crate) async fn drafts(State(api): State<Arc<Api>>) -> Response {
    shown(api.store.drafts())
}

pub(crate) async fn revoke(State(api): State<Arc<Api>>) -> Response {
    shown(api.store.revoke().map(|()| json!({"ok": true})))
}

pub(crate) async fn posts(State(api): State<Arc<Api>>, Query(filter): Query<Filter>) -> Response {
    let reference = filter.reference.as_deref();
    let both = api
        .store
        .counts(reference)
        .and_then(|counts| Ok((counts, api.store.posts(reference)?)));
    shown(both.map(|(counts, posts)| {
        json!({
            "reference": reference,
            "received": counts.received,
            "accepted": counts.accepted,
            "refused": counts.refused,
            "incomplete": counts.incomplete,
            "posts": posts,
        })
    }))
}

pub(crate) async fn calls(State(api): State<Arc<Api>>) -> Response {
    shown(api.store.calls())
}

fn shown<T: Serialize>(result: rusqlite::Result<T>) -> Response {
    match result {
        Ok(value) => Json(value).into_response(),
        Err(failure) => internal(&failure),
    }
}
