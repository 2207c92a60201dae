//! The bodies of answers: the objects as each vendor shows them, and the simulator's own errors.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::kind::Kind;
use super::record::LetterRecord;
use super::script::{Ending, Script};

/// An error in the form of the letters.
pub(crate) fn error(status: u16, code: &str, message: &str) -> Response {
    Kind::Letter.error(status, code, message)
}

/// A failure of the simulator itself. It has its own status, so that no test takes it for a scripted one.
pub(crate) fn internal(failure: &dyn std::error::Error) -> Response {
    tracing::error!(%failure, "the simulated send API failed");
    error(599, "simulator_failed", &failure.to_string())
}

/// The answer to a commit that was accepted.
pub(crate) fn accepted(letter: &LetterRecord, script: &Script) -> Response {
    match Kind::of(&letter.kind) {
        Kind::Letter | Kind::Message | Kind::Contract => {
            Json(object(letter, script, 0)).into_response()
        }
        Kind::Mail => Json(json!({"id": letter.id})).into_response(),
        Kind::Fax => {
            let body = json!({"data": object(letter, script, 0)});
            (StatusCode::ACCEPTED, Json(body)).into_response()
        }
    }
}

/// A letter as its API shows it after this many look-ups that were answered.
pub(crate) fn object(letter: &LetterRecord, script: &Script, answered: u32) -> Value {
    match Kind::of(&letter.kind) {
        Kind::Letter | Kind::Message => of_letter(letter, script, answered),
        Kind::Contract => json!({
            "id": letter.id,
            "note": letter.reference,
            "status": contract_status(script, answered),
            "sent_at": time_of(letter),
            "participants": [{"name": letter.recipient, "order": 1}],
        }),
        Kind::Mail => json!({
            "object": "email",
            "id": letter.id,
            "to": [letter.recipient],
            "created_at": time_of(letter),
            "last_event": word(script, answered, ["sent", "delivered", "bounced", "failed"]),
        }),
        Kind::Fax => json!({
            "record_type": "fax",
            "id": letter.id,
            "direction": "outbound",
            "to": letter.recipient,
            "client_state": letter.reference.as_ref().map(|text| STANDARD.encode(text)),
            "status": match answered {
                0 => "queued",
                _ => word(script, answered, ["sending", "delivered", "failed", "failed"]),
            },
            "created_at": time_of(letter),
        }),
    }
}

fn of_letter(letter: &LetterRecord, script: &Script, answered: u32) -> Value {
    let (status, last) = standing(script, answered);
    let mut events = vec!["Mailed"];
    if answered > 0 {
        events.push("In Transit");
    }
    events.extend(last);
    let time = time_of(letter);
    let events: Vec<Value> = events
        .into_iter()
        .map(|name| json!({"name": name, "time": time}))
        .collect();
    let last_event = events.last().map(|event| event["name"].clone());
    json!({
        "id": letter.id,
        "object": letter.kind,
        "status": status,
        "last_event": last_event,
        "to": {"name": letter.recipient},
        "metadata": {"send_id": letter.reference},
        "reference": letter.reference,
        "tracking_events": events,
        "date_created": time,
    })
}

pub(crate) fn time_of(letter: &LetterRecord) -> String {
    Timestamp::from_millisecond(letter.accepted_ms)
        .unwrap_or_default()
        .to_string()
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

/// The one status word of an API: pending, delivered, undelivered or failed, or the script's own.
fn word<'s>(script: &'s Script, answered: u32, words: [&'s str; 4]) -> &'s str {
    let [pending, delivered, undelivered, failed] = words;
    match &script.ending {
        _ if answered <= script.after => pending,
        Ending::Silence => pending,
        Ending::Delivered => delivered,
        Ending::Undelivered => undelivered,
        Ending::Failed => failed,
        Ending::Status(text) => text,
    }
}

/// 1 is sent, 2 concluded, 3 cancelled or declined; a script's own word is a number nobody documented.
fn contract_status(script: &Script, answered: u32) -> i64 {
    let text = word(script, answered, ["1", "2", "3", "3"]);
    text.parse().unwrap_or(13)
}
