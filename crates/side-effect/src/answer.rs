//! What the caller, the log and the metrics are told of a press.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{Press, Recorded, Refused, Sent};
use sendtrail_core::ids::{ExternalId, HistoryId, derive_reference};
use sendtrail_core::ports::{Evidence, PublicFailure, StoreError, SubmitOutcome};
use sendtrail_core::state::State;
use sendtrail_door::{Code, FieldError, Refusal, Response};
use serde::Serialize;

/// The word of an outcome that nobody knows yet.
pub(crate) const UNKNOWN: &str = "unknown";

/// What a press came to, for the metrics line.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a number of the metrics line by itself"
)]
pub(crate) struct Served {
    pub(crate) outcome: Option<&'static str>,
    pub(crate) repeated: bool,
    pub(crate) beside_person: bool,
    pub(crate) unrecorded: bool,
    /// It is written, but not by the first write that was tried.
    pub(crate) late: bool,
    /// Nothing can tell what became of the submit: a person must.
    pub(crate) acceptance_unknown: bool,
    /// The send API, or what gives out its tokens, refuses our credentials.
    pub(crate) api_unauthorized: bool,
    pub(crate) conflicts: u32,
}

/// A press that was served, and how long it took.
pub(crate) struct Told<'a> {
    pub(crate) stage: &'a str,
    pub(crate) press: &'a Press,
    pub(crate) duration_ms: f64,
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    history_id: &'a str,
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<&'a str>,
    /// Why it was not accepted: the API's own code or a short remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
}

impl Told<'_> {
    /// The answer. What was sent is logged here, once; refusals are logged by the door.
    pub(crate) fn answer(&self, sent: Sent, served: &mut Served) -> Result<Response, Refusal> {
        match sent {
            Sent::Done { outcome, recorded } => self.done(&outcome, &recorded, served),
            Sent::SamePress { state, outcome } => {
                served.repeated = true;
                tracing::info!(
                    history.id = self.id(),
                    delivery.state = state,
                    duration_ms = self.duration_ms,
                    "this press was served before: nothing was sent"
                );
                let body = Body {
                    outcome,
                    ..self.body(&state, true)
                };
                Response::json(200, &body)
            }
            Sent::Refused(refused) => Err(self.refusal(&refused)),
            Sent::Failed(error) => Err(self.failure(&error)),
        }
    }

    fn id(&self) -> &str {
        self.press.history_id.as_str()
    }

    fn body<'b>(&'b self, state: &'b str, repeated: bool) -> Body<'b> {
        Body {
            history_id: self.id(),
            state,
            outcome: None,
            external_id: None,
            reason: None,
            retry_after: None,
            repeated,
        }
    }

    fn done(
        &self,
        outcome: &SubmitOutcome,
        recorded: &Recorded,
        served: &mut Served,
    ) -> Result<Response, Refusal> {
        let parts = Parts::of(outcome);
        served.outcome = Some(parts.word);
        served.api_unauthorized = parts.is_unauthorized();
        let state = match recorded {
            Recorded::Written {
                state,
                conflicts,
                late,
                ..
            } => {
                served.conflicts = *conflicts;
                served.late = *late;
                served.acceptance_unknown =
                    parts.word == UNKNOWN && state == State::NeedsReview.label();
                self.log_recorded(&parts, state);
                state
            }
            Recorded::Nothing { state } => {
                self.log_recorded(&parts, state);
                state
            }
            Recorded::BesideAPerson { state } => {
                served.beside_person = true;
                self.log_beside_a_person(&parts, state);
                state
            }
            Recorded::Unrecorded { detail } => {
                served.unrecorded = true;
                self.log_unrecorded(&parts, detail);
                // The claim is the last thing known to be on the record.
                State::Sending.label()
            }
        };
        let body = Body {
            outcome: Some(parts.word),
            external_id: parts.external_id.map(ExternalId::as_str),
            reason: parts.reason(),
            retry_after: parts.retry_after.map(whole_seconds),
            ..self.body(state, false)
        };
        Response::json(200, &body)
    }

    fn log_recorded(&self, parts: &Parts<'_>, state: &str) {
        macro_rules! line {
            ($level:ident, $text:literal) => {
                tracing::$level!(
                    history.id = self.id(),
                    delivery.state = state,
                    outcome = parts.word,
                    class = parts.evidence.class,
                    api_status = parts.evidence.status,
                    duration_ms = self.duration_ms,
                    $text
                )
            };
        }
        if parts.word == UNKNOWN {
            line!(warn, "outcome_unknown: the API may have accepted it");
        } else {
            line!(info, "press served");
        }
    }

    fn log_beside_a_person(&self, parts: &Parts<'_>, state: &str) {
        tracing::warn!(
            history.id = self.id(),
            delivery.state = state,
            outcome = parts.word,
            external_id = parts.external_id.map(ExternalId::as_str),
            class = parts.evidence.class,
            duration_ms = self.duration_ms,
            "outcome_beside_person: the record was moved meanwhile; the outcome is in its progress"
        );
    }

    /// With all that a person needs to record it.
    fn log_unrecorded(&self, parts: &Parts<'_>, detail: &str) {
        let (press, id) = (self.press, self.id());
        let reference = derive_reference(self.stage, &press.history_id, &press.document_sha256);
        let command = parts.external_id.map(|external_id| {
            format!(
                "sendtrail history record {id} --external-id {external_id} --reason \"accepted, not recorded\""
            )
        });
        tracing::error!(
            history.id = id,
            reference = reference.as_str(),
            external_id = parts.external_id.map(ExternalId::as_str),
            outcome = parts.word,
            class = parts.evidence.class,
            cause = detail,
            command,
            duration_ms = self.duration_ms,
            "outcome_unrecorded: the outcome of a submit is not on its history record"
        );
    }

    fn refusal(&self, refused: &Refused) -> Refusal {
        let refusal = match refused {
            // The state's text is stored data: for the log alone.
            Refused::NotSendable { why, .. } => {
                Refusal::new(Code::NotSendable, "not_sendable").with_detail(*why)
            }
            Refused::ChangedElsewhere => Refusal::new(Code::ChangedElsewhere, "changed_elsewhere"),
            Refused::RecordChanged(what) => {
                Refusal::new(Code::RecordChanged, "record_changed").with_detail(*what)
            }
            Refused::AlreadySent(twin) => Refusal::new(Code::AlreadySent, "already_sent")
                .with_detail(format!(
                    "history record {twin} has the same source record and document; \
                     name it as again_of to send beside it"
                ))
                .with_member("twin", twin.as_str()),
            Refused::UnknownDriver => Refusal::invalid(vec![FieldError::new(
                "/history_id",
                "the driver of this record is not configured",
            )]),
            Refused::TooLarge(limit) => Refusal::new(Code::DocumentUnusable, "above_driver_limit")
                .with_detail(format!(
                    "the document is larger than the {limit} bytes the send API takes"
                )),
            Refused::NoTime => Refusal::new(Code::NoTime, "no_time")
                .with_detail("too little time was left to submit; nothing was sent"),
        };
        let state = match refused {
            Refused::NotSendable { state, .. } => format!("; state `{state}`"),
            Refused::ChangedElsewhere
            | Refused::RecordChanged(_)
            | Refused::AlreadySent(_)
            | Refused::UnknownDriver
            | Refused::TooLarge(_)
            | Refused::NoTime => String::new(),
        };
        self.with_cause(refusal, &format!("{refused}{state}"))
    }

    fn failure(&self, error: &StoreError) -> Refusal {
        self.with_cause(of_store(error), &error.to_string())
    }

    fn with_cause(&self, refusal: Refusal, cause: &str) -> Refusal {
        with_cause(refusal, &self.press.history_id, cause)
    }
}

/// What a caller is told of a store that did not do it.
pub(crate) fn of_store(error: &StoreError) -> Refusal {
    match error.public() {
        PublicFailure::NotFound => Refusal::new(Code::NotFound, "no_record"),
        PublicFailure::RateLimited { retry_after } => {
            let refusal = Refusal::new(Code::RateLimited, "crm_rate_limited");
            match retry_after {
                Some(seconds) => refusal.with_retry_after(seconds),
                None => refusal,
            }
        }
        PublicFailure::Unavailable => Refusal::new(Code::CrmUnavailable, "crm_unavailable"),
        PublicFailure::Internal => Refusal::new(Code::Internal, "crm_unusable"),
    }
}

/// The log of a refusal names the record it is about.
pub(crate) fn with_cause(refusal: Refusal, id: &HistoryId, cause: &str) -> Refusal {
    refusal.with_cause(format!("history record {id}: {cause}"))
}

/// Milliseconds with their fraction, never below zero.
pub(crate) fn milliseconds(duration: SignedDuration) -> f64 {
    duration.as_millis_f64().max(0.0)
}

/// When the first look-up of a send comes that was accepted just now.
pub(crate) fn first_look_up(sent: &Sent) -> Option<Timestamp> {
    match sent {
        Sent::Done {
            outcome: SubmitOutcome::Accepted { .. },
            recorded: Recorded::Written { next_check_at, .. },
        } => *next_check_at,
        Sent::Done { .. } | Sent::SamePress { .. } | Sent::Refused(_) | Sent::Failed(_) => None,
    }
}

/// The parts of an outcome that are told.
struct Parts<'a> {
    word: &'static str,
    evidence: &'a Evidence,
    external_id: Option<&'a ExternalId>,
    retry_after: Option<SignedDuration>,
}

impl<'a> Parts<'a> {
    fn of(outcome: &'a SubmitOutcome) -> Self {
        let (word, evidence, external_id, retry_after) = match outcome {
            SubmitOutcome::Accepted {
                external_id,
                evidence,
            } => ("accepted", evidence, Some(external_id), None),
            SubmitOutcome::Rejected(evidence) => ("rejected", evidence, None, None),
            SubmitOutcome::NotSent(not_sent) => {
                ("not_sent", &not_sent.evidence, None, not_sent.retry_after)
            }
            SubmitOutcome::Unknown(evidence) => (UNKNOWN, evidence, None, None),
        };
        Self {
            word,
            evidence,
            external_id,
            retry_after,
        }
    }

    /// Whether credentials were refused, by the API or by its token endpoint. That may answer 400, as
    /// RFC 6749, 5.2 has it.
    fn is_unauthorized(&self) -> bool {
        match self.evidence.status {
            Some(401 | 403) => true,
            Some(400) => self.evidence.class == "token",
            Some(_) | None => false,
        }
    }

    /// Why it was not accepted; the class of what was seen, where there is no remark.
    fn reason(&self) -> Option<&'a str> {
        let Evidence { class, detail, .. } = self.evidence;
        match self.external_id {
            Some(_) => None,
            None => [detail, class]
                .into_iter()
                .map(String::as_str)
                .find(|text| !text.is_empty()),
        }
    }
}

/// Rounded up, so that nobody comes back too early.
fn whole_seconds(wait: SignedDuration) -> i64 {
    let more = i64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(more).max(0)
}
