//! Look-ups by id and searches by reference.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Api;
use super::answer::{error, internal, object};
use super::post::throttled;
use super::record::LetterRecord;
use super::script::{Script, at, used};

/// `GET /v1/letters/{id}` and `GET /v1/messages/{id}`.
pub(crate) async fn by_id(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    if !api.allows(&headers) {
        return error(401, "unauthorized", "the API key is not known");
    }
    let letter = match api.store.look_up(&id) {
        Ok(Some(letter)) => letter,
        Ok(None) => return error(404, "not_found", "no such letter"),
        Err(failure) => return internal(&failure),
    };
    let script = script(&api, &letter);
    if let Some(code) = at(&script.look_up_faults, letter.look_ups) {
        return fault(code);
    }
    let so_far = letter.look_ups + 1;
    object(
        &letter,
        &script,
        so_far - used(&script.look_up_faults, so_far),
    )
    .into_response()
}

/// `GET /v1/letters?metadata[send_id]=…&limit=…` and `GET /v1/messages?reference=…&limit=…`.
pub(crate) async fn by_reference(
    State(api): State<Arc<Api>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if !api.allows(&headers) {
        return error(401, "unauthorized", "the API key is not known");
    }
    let mut reference = None;
    let mut limit = 10;
    for (key, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match key.as_ref() {
            "metadata[send_id]" | "reference" => reference = Some(value.into_owned()),
            "limit" => match value.parse::<usize>() {
                Ok(count) if (1..=100).contains(&count) => limit = count,
                Ok(_) | Err(_) => return error(422, "invalid", "limit is 1 to 100"),
            },
            other => return error(422, "invalid", &format!("`{other}` is no filter")),
        }
    }
    let Some(reference) = reference else {
        return error(422, "invalid", "a reference is required");
    };
    match api.store.find(&reference) {
        Ok((letters, earlier)) => list(&api, &letters, earlier, limit),
        Err(failure) => internal(&failure),
    }
}

fn list(api: &Api, letters: &[LetterRecord], earlier: u32, limit: usize) -> Response {
    let now = Timestamp::now().as_millisecond();
    let mut shown: Vec<Value> = Vec::new();
    for letter in letters {
        let script = script(api, letter);
        if let Some(code) = at(&script.find_faults, earlier) {
            return fault(code);
        }
        let delay = i64::try_from(script.find_delay.as_millis()).unwrap_or(i64::MAX);
        if letter.accepted_ms.saturating_add(delay) <= now {
            let answered = letter.look_ups - used(&script.look_up_faults, letter.look_ups);
            shown.push(object(letter, &script, answered).0);
        }
    }
    shown.truncate(limit);
    Json(json!({"object": "list", "count": shown.len(), "data": shown})).into_response()
}

/// The script of today: one registered later counts for letters that are there already.
fn script(api: &Api, letter: &LetterRecord) -> Script {
    api.script_of(&letter.recipient, letter.script.as_deref())
        .unwrap_or_default()
}

fn fault(code: u16) -> Response {
    match code {
        429 => throttled(Duration::from_secs(1), false),
        404 => error(404, "not_found", "no such letter"),
        other => error(other, "unavailable", "try again later"),
    }
}
