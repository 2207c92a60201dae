//! The signed body of a press, and what it must hold.

use sendtrail_core::flows::Press;
use sendtrail_core::ids::{BadId, HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::progress::Actor;
use sendtrail_door::{
    Code, DEFAULT_MAX_JSON_BYTES, Expect, FieldError, HistoryIdIn, KeyRing, Refusal, Request,
    Verified, verify_signed,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The body of `POST /v1/sends`, its signature checked. `aud` and `op` were compared by the door. Another key
/// is refused: a misspelt `again_of` must not pass for none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendBody {
    #[serde(rename = "aud")]
    _aud: IgnoredAny,
    #[serde(rename = "op")]
    _op: IgnoredAny,
    history_id: String,
    document_sha256: String,
    #[serde(default)]
    again_of: Option<String>,
    actor: ActorBody,
}

/// Who asks, as the signer vouches.
#[derive(Debug, Deserialize)]
pub(crate) struct ActorBody {
    id: String,
    name: String,
    // With it only an object is an actor: a bare struct is read from a list too.
    #[serde(flatten)]
    _others: IgnoredAny,
}

/// Verifies the request as a press for this stage.
///
/// # Errors
/// As [`verify_signed`].
pub(crate) fn verified(
    request: &Request<'_>,
    ring: &KeyRing,
    stage: &str,
) -> Result<Verified<SendBody>, Refusal> {
    let expect = Expect {
        aud: &format!("{stage}/side-effect"),
        op: "send",
        history_id: HistoryIdIn::Body,
        max_bytes: DEFAULT_MAX_JSON_BYTES,
    };
    verify_signed(request, ring, &expect)
}

/// Reads the press; every wrong field is named at once.
///
/// # Errors
/// `invalid_request` with the fields.
pub(crate) fn read(signed: &Verified<SendBody>) -> Result<Press, Refusal> {
    let body = &signed.body;
    let mut errors = Vec::new();
    let history_id = HistoryId::parse(&body.history_id);
    let history_id = noted(history_id, "/history_id", &mut errors);
    let document = Sha256Hash::parse(&body.document_sha256);
    let document = noted(document, "/document_sha256", &mut errors);
    let again_of = body.again_of.as_deref().map(HistoryId::parse);
    let again_of = again_of.map(|id| noted(id, "/again_of", &mut errors));
    let actor = actor(&body.actor, &mut errors);
    let key = RequestKey::parse(&signed.webhook_id).map_err(|bad| {
        Refusal::new(Code::MalformedRequest, "webhook_id").with_detail(bad.to_string())
    })?;
    match (history_id, document, actor) {
        (Some(history_id), Some(document_sha256), Some(actor)) if errors.is_empty() => Ok(Press {
            key,
            history_id,
            document_sha256,
            again_of: again_of.flatten(),
            actor,
        }),
        _ => Err(Refusal::invalid(errors)),
    }
}

fn noted<T>(parsed: Result<T, BadId>, pointer: &str, errors: &mut Vec<FieldError>) -> Option<T> {
    match parsed {
        Ok(value) => Some(value),
        Err(bad) => {
            let detail = format!("must be {}", bad.expected);
            errors.push(FieldError::new(pointer, detail));
            None
        }
    }
}

/// The actor; what is wrong with it joins `errors`.
pub(crate) fn actor(body: &ActorBody, errors: &mut Vec<FieldError>) -> Option<Actor> {
    for (pointer, text) in [("/actor/id", &body.id), ("/actor/name", &body.name)] {
        if text.trim().is_empty() {
            errors.push(FieldError::new(pointer, "must not be empty"));
        }
    }
    let actor = Actor::new(body.id.trim(), body.name.trim());
    if actor.is_none() && errors.iter().all(|e| !e.pointer.starts_with("/actor")) {
        errors.push(FieldError::new("/actor", "must be printable text"));
    }
    actor
}
