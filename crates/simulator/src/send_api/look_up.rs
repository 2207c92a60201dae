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
use super::kind::Kind;
use super::post::throttled;
use super::record::LetterRecord;
use super::script::{Script, at, used};

/// `GET /v1/letters/{id}` and `GET /v1/messages/{id}`.
pub(crate) async fn by_id(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    look_up(&api, Kind::Letter, &id, &headers)
}

/// `GET /resend/emails/{id}`.
pub(crate) async fn mail_by_id(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    look_up(&api, Kind::Mail, &id, &headers)
}

/// `GET /telnyx/faxes/{id}`.
pub(crate) async fn fax_by_id(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    look_up(&api, Kind::Fax, &id, &headers)
}

/// What was accepted under an id, as its API shows it.
pub(crate) fn look_up(api: &Api, kind: Kind, id: &str, headers: &HeaderMap) -> Response {
    if !api.allows(kind, headers) {
        return kind.error(401, "unauthorized", "the API key is not known");
    }
    let letter = match api.store.look_up(id) {
        Ok(Some(letter)) => letter,
        Ok(None) => return kind.error(404, "not_found", "no such id"),
        Err(failure) => return internal(&failure),
    };
    let script = script(api, &letter);
    if let Some(code) = at(&script.look_up_faults, letter.look_ups) {
        return fault(kind, code);
    }
    let so_far = letter.look_ups + 1;
    let answered = so_far - used(&script.look_up_faults, so_far);
    let body = object(&letter, &script, answered);
    match kind {
        Kind::Fax => Json(json!({"data": body})).into_response(),
        Kind::Letter | Kind::Message | Kind::Contract | Kind::Mail => Json(body).into_response(),
    }
}

/// `GET /telnyx/faxes?page[size]=…`: all faxes, newest first; the caller compares `client_state` itself.
pub(crate) async fn faxes(
    State(api): State<Arc<Api>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if !api.allows(Kind::Fax, &headers) {
        return Kind::Fax.error(401, "10009", "the API key is not known");
    }
    let mut size = 20;
    for (key, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        if key == "page[size]" {
            size = value.parse().unwrap_or(size).clamp(1, 250);
        }
    }
    let (mut letters, earlier) = match api.store.find_kind(Kind::Fax.name()) {
        Ok(found) => found,
        Err(failure) => return internal(&failure),
    };
    letters.reverse();
    match visible(&api, Kind::Fax, &letters, earlier) {
        Ok(mut shown) => {
            shown.truncate(size);
            let total = shown.len();
            Json(json!({"data": shown, "meta": {"total_results": total}})).into_response()
        }
        Err(answer) => *answer,
    }
}

/// `GET /v1/letters?metadata[send_id]=…&limit=…` and `GET /v1/messages?reference=…&limit=…`.
pub(crate) async fn by_reference(
    State(api): State<Arc<Api>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if !api.allows(Kind::Letter, &headers) {
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
    match visible(api, Kind::Letter, letters, earlier) {
        Ok(mut shown) => {
            shown.truncate(limit);
            Json(json!({"object": "list", "count": shown.len(), "data": shown})).into_response()
        }
        Err(answer) => *answer,
    }
}

/// The letters a search shows by now; the error is a scripted answer instead.
fn visible(
    api: &Api,
    kind: Kind,
    letters: &[LetterRecord],
    earlier: u32,
) -> Result<Vec<Value>, Box<Response>> {
    let mut shown = Vec::new();
    for letter in letters {
        let script = script(api, letter);
        if let Some(code) = at(&script.find_faults, earlier) {
            return Err(Box::new(fault(kind, code)));
        }
        if is_visible(letter, &script) {
            let answered = letter.look_ups - used(&script.look_up_faults, letter.look_ups);
            shown.push(object(letter, &script, answered));
        }
    }
    Ok(shown)
}

/// Whether the script's delay is over.
pub(crate) fn is_visible(letter: &LetterRecord, script: &Script) -> bool {
    let now = Timestamp::now().as_millisecond();
    let delay = i64::try_from(script.find_delay.as_millis()).unwrap_or(i64::MAX);
    letter.accepted_ms.saturating_add(delay) <= now
}

/// The script of today: one registered later counts for letters that are there already.
pub(crate) fn script(api: &Api, letter: &LetterRecord) -> Script {
    api.script_of(&letter.recipient, letter.script.as_deref())
        .unwrap_or_default()
}

fn fault(kind: Kind, code: u16) -> Response {
    match code {
        429 => throttled(kind, Duration::from_secs(1), false),
        404 => kind.error(404, "not_found", "no such id"),
        other => kind.error(other, "unavailable", "try again later"),
    }
}
