//! `POST /v1/histories` and `PUT /v1/histories/{id}`: signed input in, tokens out.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{self, SaveOrder, Saved, SavedRecord};
use sendtrail_core::ids::{HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::input::Input;
use sendtrail_core::ports::SealMac;
use sendtrail_core::progress::Actor;
use sendtrail_door::{
    Claims, Code, DEFAULT_MAX_JSON_BYTES, Expect, FieldError, HistoryIdIn, Purpose, Refusal,
    Request, Response, Verified, pointer_token, verify_signed,
};
use serde_json::{Map, Value, json};

use crate::app::{App, Crm, Settings, World};
use crate::refusals;
use crate::trace::Trace;

/// A signed body, as an object.
pub(crate) type Body = Map<String, Value>;

/// The keys a body may have. Another one is refused: a misspelt one must not pass for none.
const KEYS: [&str; 8] = [
    "aud",
    "op",
    "history_id",
    "driver",
    "source",
    "to",
    "fields",
    "actor",
];

fn unknown_keys(body: &Body) -> impl Iterator<Item = FieldError> {
    let unknown = body.keys().filter(|key| !KEYS.contains(&key.as_str()));
    unknown
        .take(10)
        .map(|key| FieldError::new(format!("/{}", pointer_token(key)), "is no key of this body"))
}

impl<S: Crm, W: World, M: SealMac> App<S, W, M> {
    pub(crate) async fn save(
        &self,
        request: &Request<'_>,
        trace: &mut Trace,
    ) -> Result<Response, Refusal> {
        let order = self.order(request, HistoryIdIn::Nowhere, trace)?;
        let saved = flows::save(&self.crm, &self.world, &order).await;
        self.answer(request, saved, (201, "saved"), trace)
    }

    pub(crate) async fn save_again(
        &self,
        request: &Request<'_>,
        id: &HistoryId,
        until: Timestamp,
        trace: &mut Trace,
    ) -> Result<Response, Refusal> {
        let order = self.order(request, HistoryIdIn::Path(id.as_str()), trace)?;
        let saved = flows::save_again(&self.crm, &self.world, id, &order, until).await;
        self.answer(request, saved, (200, "saved_again"), trace)
    }

    /// `fresh` is the status and the word for a save that wrote.
    fn answer(
        &self,
        request: &Request<'_>,
        saved: Saved,
        fresh: (u16, &'static str),
        trace: &mut Trace,
    ) -> Result<Response, Refusal> {
        let ((status, outcome), record) = match saved {
            Saved::Saved(record) => (fresh, record),
            Saved::Same(record) => ((200, "same_save"), record),
            Saved::KeyReused => return Err(Refusal::new(Code::IdReused, "other_body")),
            Saved::NotSavable => return Err(Refusal::new(Code::NotSendable, "not_savable")),
            Saved::ChangedElsewhere => {
                return Err(Refusal::new(Code::ChangedElsewhere, "conflict"));
            }
            Saved::Failed(error) => return Err(refusals::store(&error)),
        };
        trace.done(outcome, &record.id, record.state);
        self.tokens(status, request, &record)
    }

    /// Verifies the request and reads what it asks to save.
    fn order(
        &self,
        request: &Request<'_>,
        history_id: HistoryIdIn<'_>,
        trace: &mut Trace,
    ) -> Result<SaveOrder, Refusal> {
        let signed = verified(&self.settings, request, history_id)?;
        trace.key_name = Some(signed.key_name.clone());
        order_of(&self.settings, &signed)
    }

    /// The answer to a save: tokens bound to the record as it now is.
    fn tokens(
        &self,
        status: u16,
        request: &Request<'_>,
        record: &SavedRecord,
    ) -> Result<Response, Refusal> {
        let token = |purpose, ttl| {
            let expires_at = expiry(request, ttl);
            let token = self.settings.token_key.issue(&Claims {
                purpose,
                history_id: record.id.to_string(),
                rev: record.rev,
                input_sha256: record.input_sha256.to_string(),
                document_sha256: None,
                expires_at,
            });
            (token, expires_at)
        };
        let (preview_token, _) = token(Purpose::Preview, self.settings.preview_ttl);
        let (confirm_ticket, expires_at) = token(Purpose::Confirm, self.settings.confirm_ttl);
        let expires_at = Timestamp::from_second(expires_at).unwrap_or(Timestamp::MAX);
        Response::json(
            status,
            &json!({
                "history_id": record.id.as_str(),
                "state": record.state.label(),
                "preview_token": preview_token,
                "confirm_ticket": confirm_ticket,
                "expires_at": expires_at.to_string(),
            }),
        )
    }
}

/// First Unix second at which a token made now is no longer good, on the gateway's clock.
pub(crate) fn expiry(request: &Request<'_>, ttl: SignedDuration) -> i64 {
    request
        .arrived_ms()
        .div_euclid(1_000)
        .saturating_add(ttl.as_secs())
}

/// The hash of the saved input a true token is bound to.
pub(crate) fn saved_input(claims: &Claims) -> Result<Sha256Hash, Refusal> {
    // The MAC held, so this text is ours.
    Sha256Hash::parse(&claims.input_sha256).map_err(|bad| Refusal::internal(bad.to_string()))
}

/// Verifies the request as a save.
pub(crate) fn verified(
    settings: &Settings,
    request: &Request<'_>,
    history_id: HistoryIdIn<'_>,
) -> Result<Verified<Body>, Refusal> {
    let expect = Expect {
        aud: &format!("{}/intake", settings.stage),
        op: "save",
        history_id,
        max_bytes: DEFAULT_MAX_JSON_BYTES,
    };
    verify_signed(request, &settings.signing_keys, &expect)
}

/// Reads what a verified request asks to save.
pub(crate) fn order_of(settings: &Settings, signed: &Verified<Body>) -> Result<SaveOrder, Refusal> {
    let (actor, input, stored) = content(settings, &signed.body).map_err(Refusal::invalid)?;
    // The door let both through in exactly these forms.
    let key = RequestKey::parse(&signed.webhook_id);
    let body_sha256 = Sha256Hash::parse(&signed.body_sha256);
    match (key, body_sha256) {
        (Ok(key), Ok(body_sha256)) => Ok(SaveOrder {
            key,
            body_sha256,
            actor,
            input,
            stored,
        }),
        (Err(bad), _) | (_, Err(bad)) => Err(Refusal::internal(bad.to_string())),
    }
}

/// Actor, input and the input's stored text; every mistake in them at once.
fn content(settings: &Settings, body: &Body) -> Result<(Actor, Input, String), Vec<FieldError>> {
    let actor = actor(body);
    let input = input(settings, body);
    let unknown: Vec<_> = unknown_keys(body).collect();
    match (actor, input) {
        (Ok(actor), Ok((input, stored))) if unknown.is_empty() => Ok((actor, input, stored)),
        (actor, input) => {
            let mistakes = actor.err().into_iter().chain(input.err());
            Err(mistakes.chain(unknown).collect())
        }
    }
}

fn input(settings: &Settings, body: &Body) -> Result<(Input, String), FieldError> {
    let input = Input::from_object(body).map_err(refusals::bad_input)?;
    if !settings.drivers.contains(&input.driver) {
        return Err(FieldError::new("/driver", "is no configured driver"));
    }
    let stored = input.to_stored().map_err(refusals::bad_input)?;
    Ok((input, stored))
}

/// Who asks, as the signer vouches: both texts, and neither empty.
fn actor(body: &Body) -> Result<Actor, FieldError> {
    let text = |key: &str| {
        let pointer = format!("/actor/{key}");
        body.get("actor")
            .and_then(|actor| actor.get(key)?.as_str())
            .filter(|text| !text.trim().is_empty())
            .ok_or_else(|| FieldError::new(pointer, "must be a text that is not empty"))
    };
    let (id, name) = (text("id")?, text("name")?);
    Actor::new(id, name).ok_or_else(|| FieldError::new("/actor", "must not be empty"))
}
