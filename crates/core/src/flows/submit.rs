//! Submitting, at most once.
//!
//! The order is the promise: verify, claim with a guarded write, prove the claim by reading it back, look for
//! twins once more, submit once, record. Nothing here, nor anything it calls, sends a document a second time.

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use super::limited::Limited;
use super::record_outcome::{Outcome, Recorded, record_outcome};
use super::twins::{OurClaim, twin_in_the_way};
use super::verify::{Verified, holds_claim, state_text, verify};
use crate::commit::{Change, Commit, commit, read_base};
use crate::ids::{ClaimToken, HistoryId, RequestKey, Sha256Hash};
use crate::policy::{Pacing, SubmitPolicy};
use crate::ports::{
    Clock, Evidence, FindTwins, GuardedWrite, NotSent, Random, ReadDocument, SealMac, StoreError,
    Submit, SubmitDrivers, SubmitOutcome, clock_deadline,
};
use crate::progress::{Actor, Claim, LastError, Unknown};
use crate::record::Base;
use crate::state::Event;

/// A press of *send*, as signed for.
#[derive(Debug, Clone, PartialEq)]
pub struct Press {
    /// The request's `webhook-id`.
    pub key: RequestKey,
    /// The record to send.
    pub history_id: HistoryId,
    /// The document the user saw.
    pub document_sha256: Sha256Hash,
    /// A twin the user knows of and sends beside.
    pub again_of: Option<HistoryId>,
    /// Who presses.
    pub actor: Actor,
}

/// What the flow works with.
#[derive(Debug)]
pub struct SubmitPorts<'a, S, D, W, M> {
    /// The store.
    pub store: &'a S,
    /// The drivers.
    pub drivers: &'a D,
    /// Clock and randomness.
    pub world: &'a W,
    /// The seal's MAC.
    pub mac: &'a M,
    /// The settings.
    pub policy: &'a SubmitPolicy,
}

/// Why nothing was sent and nothing will be for this press.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    /// The state, a claim or an earlier submission forbids it.
    #[error("not sendable: {why}")]
    NotSendable {
        /// The state field's text.
        state: String,
        /// Which condition failed.
        why: &'static str,
    },
    /// Somebody changed the record in between, or claimed it first.
    #[error("the record was changed elsewhere")]
    ChangedElsewhere,
    /// Document, input or seal are not what was confirmed.
    #[error("the record is not what was confirmed: {0}")]
    RecordChanged(&'static str),
    /// The same document went out, or is going out, from the same source record.
    #[error("already sent as history record {0}")]
    AlreadySent(HistoryId),
    /// No driver of this name is configured.
    #[error("no such driver")]
    UnknownDriver,
    /// The document is larger than the driver takes.
    #[error("the document is larger than the {0} bytes the send API takes")]
    TooLarge(u64),
    /// Too little time is left in this invocation to submit and to record.
    #[error("too little time is left")]
    NoTime,
}

/// What became of a press.
#[derive(Debug, Clone, PartialEq)]
pub enum Sent {
    /// The harmless steps or the submit came to an end.
    Done {
        /// What became of the submit.
        outcome: SubmitOutcome,
        /// What became of recording it.
        recorded: Recorded,
    },
    /// This very press was served before: nothing was sent now.
    SamePress {
        /// The state field's text.
        state: String,
        /// What became of the submit then, as far as the record tells.
        outcome: Option<&'static str>,
    },
    /// Nothing was sent.
    Refused(Refused),
    /// The store did not answer: nothing was sent.
    Failed(StoreError),
}

/// Serves a press: claims, submits once, records. It is done at `until`, the end of the invocation, also
/// where the store hangs: what precedes the submit ends before the time that is kept back for recording.
pub async fn send<S, D, W, M>(
    ports: &SubmitPorts<'_, S, D, W, M>,
    press: &Press,
    until: Timestamp,
) -> Sent
where
    S: GuardedWrite + ReadDocument + FindTwins,
    D: SubmitDrivers,
    W: Clock + Random,
    M: SealMac,
{
    if ports.time_to_submit(until) < MIN_SUBMIT {
        return Sent::Refused(Refused::NoTime);
    }
    let claim_until = clock_deadline(until, -ports.policy.record_reserve);
    let limited = Limited {
        store: ports.store,
        world: ports.world,
        until: claim_until,
    };
    let before_submit = SubmitPorts {
        store: &limited,
        drivers: ports.drivers,
        world: ports.world,
        mac: ports.mac,
        policy: ports.policy,
    };
    let verified = match verify(&before_submit, press, claim_until).await {
        Ok(verified) => verified,
        Err(answer) => return answer,
    };
    let Some(driver) = ports.drivers.driver(&verified.order.input.driver) else {
        return Sent::Refused(Refused::UnknownDriver);
    };
    let limit = driver.capabilities().max_document_bytes;
    if verified.order.document.len() as u64 > limit {
        return Sent::Refused(Refused::TooLarge(limit));
    }
    let prepared = match driver.prepare(&verified.order).await {
        Ok(prepared) => prepared,
        Err(not_sent) => {
            note_unprepared(&before_submit, &verified, &not_sent, claim_until).await;
            return Sent::Done {
                outcome: SubmitOutcome::NotSent(not_sent),
                recorded: Recorded::Nothing {
                    state: state_text(verified.base.record()),
                },
            };
        }
    };
    if ports.time_to_submit(until) < MIN_SUBMIT {
        return Sent::Refused(Refused::NoTime);
    }
    let draft_id = D::Driver::draft_id(&prepared);
    let claimed = claim(
        &before_submit,
        press,
        &verified,
        draft_id,
        driver.pacing(),
        claim_until,
    );
    let Claimed { token, proof } = match claimed.await {
        Ok(claimed) => claimed,
        Err(answer) => return answer,
    };
    let outcome = |submitted: SubmitOutcome, started_at| Outcome {
        claim: token.clone(),
        driver: verified.order.input.driver.clone(),
        reference: verified.order.reference.clone(),
        submitted,
        started_at,
        pacing: driver.pacing().clone(),
        can_find: driver.capabilities().can_find,
    };
    let proof = match proof {
        Ok(base) => no_twin_meanwhile(&limited, press, &verified, base).await,
        Err(unproved) => Err(unproved),
    };
    let base = match proof {
        Ok(base) => base,
        Err(unproved) => {
            let submitted = SubmitOutcome::NotSent(not_submitted(unproved.detail()));
            let outcome = outcome(submitted, None);
            return give_way(ports, verified.id(), unproved, outcome, until).await;
        }
    };
    let time_left = ports.time_to_submit(until);
    let started_at = ports.world.now();
    let submitted = if time_left < MIN_SUBMIT {
        SubmitOutcome::NotSent(not_submitted("too little time was left after the claim"))
    } else {
        driver.submit(&verified.order, prepared, time_left).await
    };
    let outcome = outcome(submitted.clone(), Some(started_at));
    let recorded = record_outcome(
        ports.store,
        ports.world,
        Some(base),
        verified.id(),
        &outcome,
        until,
    )
    .await;
    Sent::Done {
        outcome: submitted,
        recorded,
    }
}

/// Leaves on the record why nothing could be sent. Where that cannot be written, the answer still says it.
async fn note_unprepared<S: GuardedWrite, D, W: Clock + Random, M>(
    ports: &SubmitPorts<'_, S, D, W, M>,
    verified: &Verified,
    not_sent: &NotSent,
    until: Timestamp,
) {
    let mut progress = verified.progress.clone();
    let Evidence { status, detail, .. } = &not_sent.evidence;
    progress.last_error = Some(LastError::new(
        ports.world.now(),
        "not_sent",
        *status,
        detail,
    ));
    let change = Change::remark("not_prepared", progress);
    let _ = commit(ports.store, ports.world, &verified.base, change, until).await;
}

/// Nothing is submitted under a claim that is not proved, and that is what is recorded, so that a claim that
/// stands is resolved.
async fn give_way<S: GuardedWrite, D, W: Clock + Random, M>(
    ports: &SubmitPorts<'_, S, D, W, M>,
    id: &HistoryId,
    unproved: Unproved,
    outcome: Outcome,
    until: Timestamp,
) -> Sent {
    let recorded = record_outcome(ports.store, ports.world, None, id, &outcome, until).await;
    let is_lost = matches!(recorded, Recorded::Unrecorded { .. });
    match unproved {
        Unproved::Moved => Sent::Refused(Refused::ChangedElsewhere),
        Unproved::Twin(twin) if !is_lost => Sent::Refused(Refused::AlreadySent(twin)),
        Unproved::Unread | Unproved::TwinsUnknown | Unproved::Twin(_) => Sent::Done {
            outcome: outcome.submitted,
            recorded,
        },
    }
}

/// The search for twins once more, under the claim: of two records that were pressed at once, neither saw
/// the other's claim the first time.
async fn no_twin_meanwhile(
    store: &(impl GuardedWrite + FindTwins),
    press: &Press,
    verified: &Verified,
    base: Base,
) -> Result<Base, Unproved> {
    let claim = OurClaim::of(&base);
    match twin_in_the_way(store, press, &verified.order, claim.as_ref()).await {
        Ok(None) => Ok(base),
        Ok(Some(twin)) => Err(Unproved::Twin(twin)),
        Err(_) => Err(Unproved::TwinsUnknown),
    }
}

/// The least time worth starting a submit with.
const MIN_SUBMIT: SignedDuration = SignedDuration::from_secs(1);

fn not_submitted(detail: &str) -> NotSent {
    NotSent {
        evidence: Evidence {
            class: "not_submitted".to_owned(),
            detail: detail.to_owned(),
            ..Evidence::default()
        },
        retry_after: None,
    }
}

impl<S, D, W: Clock, M> SubmitPorts<'_, S, D, W, M> {
    /// What is left for the submit itself, the time to record kept back.
    fn time_to_submit(&self, until: Timestamp) -> SignedDuration {
        until
            .duration_since(self.world.now())
            .saturating_sub(self.policy.record_reserve)
    }
}

/// A claim that was written, or may have been.
struct Claimed {
    token: ClaimToken,
    /// The read that proves it, and is the base of the outcome's write.
    proof: Result<Base, Unproved>,
}

/// Why a claim gives no right to submit.
enum Unproved {
    /// The record could not be read, or the claim's write not be confirmed.
    Unread,
    /// The record is no longer `sending` under this claim.
    Moved,
    /// The same document goes out, or went out meanwhile, from another record.
    Twin(HistoryId),
    /// It could not be found out whether it does.
    TwinsUnknown,
}

impl Unproved {
    const fn detail(&self) -> &'static str {
        match self {
            Self::Unread => "the claim could not be read back",
            Self::Moved => "the record was changed right after the claim",
            Self::Twin(_) => "the same document is going out from another history record",
            Self::TwinsUnknown => "the twin check could not be made",
        }
    }
}

/// Commits the claim, waits, and reads the record once more.
async fn claim<S, D, W, M>(
    ports: &SubmitPorts<'_, S, D, W, M>,
    press: &Press,
    verified: &Verified,
    draft_id: Option<&str>,
    pacing: &Pacing,
    until: Timestamp,
) -> Result<Claimed, Sent>
where
    S: GuardedWrite,
    W: Clock + Random,
{
    let token = ClaimToken::parse(&format!("{:032x}", ports.world.bits())).map_err(|bad| {
        Sent::Failed(StoreError::Malformed {
            detail: bad.to_string(),
        })
    })?;
    let now = crate::progress::whole_seconds(ports.world.now());
    let mut progress = verified.progress.clone();
    progress.last_error = None;
    progress.claim = Some(Claim {
        token: token.clone(),
        at: now,
        request_key: press.key.clone(),
        driver: verified.order.input.driver.clone(),
        draft_id: draft_id.map(|id| crate::text::harmless(id, 200)),
        resolved: None,
        earlier: progress
            .claim
            .as_ref()
            .map(Claim::presses)
            .unwrap_or_default(),
        unknown: Unknown::default(),
    });
    progress.set_deadline(clock_deadline(now, pacing.give_up));
    progress.check_at(clock_deadline(now, ports.policy.claim_stale));
    let mut change = Change::of(Event::Claimed, progress);
    change.note.by = Some(press.actor.name.clone());
    match commit(ports.store, ports.world, &verified.base, change, until).await {
        Commit::Written { .. } => {}
        Commit::SkippedConflict | Commit::Illegal(_) | Commit::ForeignState => {
            return Err(Sent::Refused(Refused::ChangedElsewhere));
        }
        Commit::NotWritten(error) => return Err(Sent::Failed(error)),
        // It may stand: nothing is submitted under a claim that is not proved.
        Commit::Unconfirmed(_) => {
            let proof = Err(Unproved::Unread);
            return Ok(Claimed { token, proof });
        }
    }
    ports.world.sleep(ports.policy.claim_settle).await;
    let read = read_base(ports.store, ports.world, &press.history_id, until).await;
    let proof = match read {
        Ok(base) if holds_claim(base.record(), &token) => Ok(base),
        Ok(_) => Err(Unproved::Moved),
        Err(_) => Err(Unproved::Unread),
    };
    Ok(Claimed { token, proof })
}
