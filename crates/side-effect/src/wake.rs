//! The wake: somebody asks for a send to be looked at early.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{self, Woken};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{Clock, GuardedWrite, Random};
use sendtrail_core::progress::Actor;
use sendtrail_core::state::State;
use sendtrail_core::text::harmless;
use sendtrail_door::{
    Code, DEFAULT_MAX_JSON_BYTES, Expect, FieldError, HistoryIdIn, KeyRing, Refusal, Request,
    Response, Verified, verify_signed,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::answer::{self, milliseconds};
use crate::press::{self, ActorBody};

/// The trail keeps this much of a reason, in bytes of its JSON form.
const MOST_REASON: usize = 300;

/// The body of `POST /v1/sends/{id}/wake`, its signature checked. `aud`, `op` and `history_id` were compared by
/// the door, the last with the path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WakeBody {
    #[serde(rename = "aud")]
    _aud: IgnoredAny,
    #[serde(rename = "op")]
    _op: IgnoredAny,
    #[serde(rename = "history_id")]
    _history_id: IgnoredAny,
    actor: ActorBody,
    #[serde(default)]
    reason: Option<String>,
}

/// A wake that is complete.
#[derive(Debug)]
pub(crate) struct Wake {
    history_id: HistoryId,
    actor: Actor,
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    history_id: &'a str,
    state: &'static str,
    next_check_at: Option<Timestamp>,
    woken: bool,
}

/// Verifies the request as a wake of the record in the path, for this stage.
///
/// # Errors
/// As [`verify_signed`].
pub(crate) fn verified(
    request: &Request<'_>,
    ring: &KeyRing,
    stage: &str,
    segment: &str,
) -> Result<Verified<WakeBody>, Refusal> {
    let expect = Expect {
        aud: &format!("{stage}/side-effect"),
        op: "wake",
        history_id: HistoryIdIn::Path(segment),
        max_bytes: DEFAULT_MAX_JSON_BYTES,
    };
    verify_signed(request, ring, &expect)
}

/// Reads the wake; every wrong field is named at once.
///
/// # Errors
/// `invalid_request` with the fields.
pub(crate) fn read(signed: &Verified<WakeBody>, history_id: HistoryId) -> Result<Wake, Refusal> {
    let body = &signed.body;
    let mut errors = Vec::new();
    let actor = press::actor(&body.actor, &mut errors);
    let reason = body.reason.as_deref().map(str::trim);
    // Somebody who reads the trail must not find half a reason there.
    if reason.is_some_and(|text| harmless(text, MOST_REASON) != harmless(text, usize::MAX)) {
        let detail = format!("must have at most {MOST_REASON} plain characters");
        errors.push(FieldError::new("/reason", detail));
    }
    match actor {
        Some(actor) if errors.is_empty() => Ok(Wake {
            history_id,
            actor,
            reason: reason.map(str::to_owned),
        }),
        Some(_) | None => Err(Refusal::invalid(errors)),
    }
}

/// Where a look-up was, or is, brought forward.
#[derive(Debug)]
pub(crate) struct Served {
    /// The answer.
    pub(crate) response: Response,
    /// Whether it was written now; otherwise it was due.
    pub(crate) woken: bool,
}

impl Wake {
    /// The record.
    pub(crate) fn history_id(&self) -> &HistoryId {
        &self.history_id
    }

    /// Makes the record due. What would outlast `until` is dropped: a wake can be repeated.
    pub(crate) async fn serve(
        &self,
        store: &impl GuardedWrite,
        world: &(impl Clock + Random),
        until: Timestamp,
    ) -> Result<Served, Refusal> {
        let started = world.now();
        let left = until.duration_since(started);
        let left = std::time::Duration::try_from(left).unwrap_or_default();
        let by = flows::Wake {
            by: &self.actor.name,
            reason: self.reason.as_deref(),
        };
        let wake = flows::wake(store, world, &self.history_id, by, until);
        let Ok(woken) = tokio::time::timeout(left, wake).await else {
            return Err(Refusal::new(Code::CrmUnavailable, "out_of_time"));
        };
        let took = world.now().duration_since(started);
        self.answer(woken, took)
    }

    fn answer(&self, woken: Woken, took: SignedDuration) -> Result<Served, Refusal> {
        let (woken, next_check_at) = match woken {
            Woken::Woken { next_check_at } => (true, next_check_at),
            Woken::AlreadyDue { next_check_at } => (false, next_check_at),
            // The state's text is stored data: for the log alone.
            Woken::NotAccepted { state } => {
                let refusal = Refusal::new(Code::NotSendable, "not_accepted")
                    .with_detail("only an accepted send is looked up");
                return Err(self.with_cause(refusal, &format!("state `{state}`")));
            }
            Woken::Refused(why) => {
                let refusal = Refusal::new(Code::NotSendable, "progress_unusable")
                    .with_detail("its progress cannot be worked with");
                return Err(self.with_cause(refusal, &why));
            }
            Woken::ChangedElsewhere => {
                let refusal = Refusal::new(Code::ChangedElsewhere, "changed_elsewhere");
                return Err(self.with_cause(refusal, "a conflict"));
            }
            // Written or not, the same wake again does no harm.
            Woken::NotWritten(error) | Woken::Unconfirmed(error) => {
                return Err(self.with_cause(answer::of_store(&error), &error.to_string()));
            }
        };
        tracing::info!(
            history.id = self.history_id.as_str(),
            woken,
            duration_ms = milliseconds(took),
            "wake served"
        );
        let body = Body {
            history_id: self.history_id.as_str(),
            state: State::Accepted.label(),
            next_check_at,
            woken,
        };
        Response::json(200, &body).map(|response| Served { response, woken })
    }

    fn with_cause(&self, refusal: Refusal, cause: &str) -> Refusal {
        answer::with_cause(refusal, &self.history_id, cause)
    }
}
