//! The bodies of answers: the object, the errors.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::record::LetterRecord;
use super::script::{Ending, Script};

/// An error in the API's own form.
pub(crate) fn error(status: u16, code: &str, message: &str) -> Response {
    let body = json!({"error": {"code": code, "message": message, "status_code": status}});
    (
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        Json(body),
    )
        .into_response()
}

/// A failure of the simulator itself. It has its own status, so that no test takes it for a scripted one.
pub(crate) fn internal(failure: &dyn std::error::Error) -> Response {
    tracing::error!(%failure, "the simulated send API failed");
    error(599, "simulator_failed", &failure.to_string())
}

/// A letter as the API shows it after this many look-ups that were answered.
pub(crate) fn object(letter: &LetterRecord, script: &Script, answered: u32) -> Json<Value> {
    let (status, last) = standing(script, answered);
    let mut events = vec!["Mailed"];
    if answered > 0 {
        events.push("In Transit");
    }
    events.extend(last);
    let time = Timestamp::from_millisecond(letter.accepted_ms)
        .unwrap_or_default()
        .to_string();
    let events: Vec<Value> = events
        .into_iter()
        .map(|name| json!({"name": name, "time": time}))
        .collect();
    let last_event = events.last().map(|event| event["name"].clone());
    Json(json!({
        "id": letter.id,
        "object": letter.kind,
        "status": status,
        "last_event": last_event,
        "to": {"name": letter.recipient},
        "metadata": {"send_id": letter.reference},
        "reference": letter.reference,
        "tracking_events": events,
        "date_created": time,
    }))
}

/// The status and the last event, where there is one beyond the ordinary.
fn standing(script: &Script, answered: u32) -> (&str, Option<&str>) {
    if answered <= script.after {
        return ("processed", None);
    }
    match &script.ending {
        Ending::Delivered => ("processed", Some("Delivered")),
        Ending::Undelivered => ("processed", Some("Returned to Sender")),
        Ending::Failed => ("failed", None),
        Ending::Silence => ("processed", None),
        Ending::Status(text) => (text, Some(text)),
    }
}
