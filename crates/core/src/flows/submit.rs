//! Submitting, at most once.
//!
//! The order is the promise: verify, claim with a guarded write, prove the claim by reading it back, submit
//! once, record. Nothing here, nor anything it calls, sends a document a second time.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use super::record_outcome::{Outcome, Recorded, record_outcome};
use crate::commit::{Change, Commit, NoBase, commit, read_base};
use crate::ids::{ClaimToken, HistoryId, RequestKey, Sha256Hash, derive_reference};
use crate::input::{Input, input_sha256};
use crate::policy::{Pacing, SubmitPolicy};
use crate::ports::{
    Clock, FindTwins, GuardedWrite, NotSent, Order, Random, ReadDocument, SealMac, StoreError,
    Submit, SubmitDrivers, SubmitOutcome, clock_deadline,
};
use crate::progress::{Actor, Claim, Progress, Unknown};
use crate::record::{Base, HistoryRecord};
use crate::seal::seal_holds;
use crate::state::{Event, State};

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
    },
    /// Nothing was sent.
    Refused(Refused),
    /// The store did not answer: nothing was sent.
    Failed(StoreError),
}

/// Whether a claim or a submission stands in the way of any other use of the record.
pub(super) fn has_open_claim_or_submission(progress: &Progress) -> bool {
    let open_claim = progress
        .claim
        .as_ref()
        .is_some_and(|claim| claim.resolved.is_none());
    open_claim || progress.submission.is_some()
}

/// The claim's condition: the one place that decides whether a record may be submitted.
///
/// The state field alone decides nothing, since a person can type it: a submission, or a claim that is not
/// proved to have sent nothing, forbids it whatever the state says.
///
/// # Errors
/// [`Refused::NotSendable`] or [`Refused::RecordChanged`], naming the condition.
pub fn may_claim(
    record: &HistoryRecord,
    progress: &Progress,
    signed_document: &Sha256Hash,
) -> Result<(), Refused> {
    let not_sendable = |why| {
        Err(Refused::NotSendable {
            state: state_text(record),
            why,
        })
    };
    if record.state.known() != Some(State::Confirmed) {
        return not_sendable("the state is not confirmed");
    }
    if progress.submission.is_some() {
        return not_sendable("it was submitted before");
    }
    if has_open_claim_or_submission(progress) {
        return not_sendable("an earlier claim is not resolved");
    }
    match &progress.document {
        None => not_sendable("no document is confirmed"),
        Some(document) if document.sha256 != *signed_document => Err(Refused::RecordChanged(
            "another document than the signed one is confirmed",
        )),
        Some(_) => Ok(()),
    }
}

/// The text of the state field, for answers.
pub(super) fn state_text(record: &HistoryRecord) -> String {
    match &record.state {
        crate::record::StateField::Known(state) => state.label().to_owned(),
        crate::record::StateField::Empty => String::new(),
        crate::record::StateField::Unknown(text) => crate::text::harmless(text, 64),
    }
}

/// Serves a press: claims, submits once, records. `until` is the end of the invocation.
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
    let verified = match verify(ports, press, until).await {
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
    let claimed =
        claim::<S, D, W, M>(ports, press, &verified, &prepared, driver.pacing(), until).await;
    let (token, proof) = match claimed {
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
    let Some(base) = proof else {
        // The claim could not be proved, so nothing is submitted, and that is what is recorded.
        let submitted = SubmitOutcome::NotSent(not_submitted("the claim could not be read back"));
        let recorded = record_outcome(
            ports.store,
            ports.world,
            None,
            verified.id(),
            &outcome(submitted.clone(), None),
            until,
        )
        .await;
        return Sent::Done {
            outcome: submitted,
            recorded,
        };
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

/// The least time worth starting a submit with.
const MIN_SUBMIT: SignedDuration = SignedDuration::from_secs(1);

fn not_submitted(detail: &str) -> NotSent {
    NotSent {
        evidence: crate::ports::Evidence {
            class: "not_submitted".to_owned(),
            detail: detail.to_owned(),
            ..crate::ports::Evidence::default()
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

/// A record that is what was confirmed, and may be claimed.
struct Verified {
    base: Base,
    progress: Progress,
    order: Order,
}

impl Verified {
    fn id(&self) -> &HistoryId {
        &self.order.history_id
    }
}

async fn verify<S, D, W, M>(
    ports: &SubmitPorts<'_, S, D, W, M>,
    press: &Press,
    until: Timestamp,
) -> Result<Verified, Sent>
where
    S: GuardedWrite + ReadDocument + FindTwins,
    W: Clock,
    M: SealMac,
{
    let base = match read_base(ports.store, ports.world, &press.history_id, until).await {
        Ok(base) => base,
        Err(NoBase::Store(error)) => return Err(Sent::Failed(error)),
        Err(NoBase::Unsettled) => return Err(Sent::Refused(Refused::ChangedElsewhere)),
    };
    let record = base.record();
    let unreadable = || {
        Sent::Refused(Refused::NotSendable {
            state: state_text(record),
            why: "the progress cannot be read",
        })
    };
    let progress = Progress::decode(record.progress.as_deref()).map_err(|_| unreadable())?;
    if progress
        .claim
        .as_ref()
        .is_some_and(|claim| claim.request_key == press.key)
    {
        return Err(Sent::SamePress {
            state: state_text(record),
        });
    }
    may_claim(record, &progress, &press.document_sha256).map_err(Sent::Refused)?;
    let order = confirmed_order(ports, record, &progress).await?;
    refuse_twin(ports.store, press, &order).await?;
    Ok(Verified {
        base,
        progress,
        order,
    })
}

/// Fetches the stored document and proves that document, input and seal are what was confirmed.
async fn confirmed_order<S: ReadDocument, D, W, M: SealMac>(
    ports: &SubmitPorts<'_, S, D, W, M>,
    record: &HistoryRecord,
    progress: &Progress,
) -> Result<Order, Sent> {
    let changed = |what| Sent::Refused(Refused::RecordChanged(what));
    let Some(confirmed) = &progress.document else {
        return Err(changed("no document is confirmed"));
    };
    let stored_input = record.input.as_deref().unwrap_or_default();
    if input_sha256(stored_input) != confirmed.input_sha256 {
        return Err(changed("the input differs"));
    }
    let (document_hash, input_hash) = (&confirmed.sha256, &confirmed.input_sha256);
    let stage = &ports.policy.stage;
    if !seal_holds(
        ports.mac,
        stage,
        &record.id,
        document_hash,
        input_hash,
        &confirmed.seal,
    ) {
        return Err(changed("the seal does not hold"));
    }
    let bytes: Bytes = match ports.store.download(record, confirmed.bytes).await {
        Ok(bytes) => bytes,
        Err(StoreError::NotFound) => return Err(changed("the document is gone")),
        Err(StoreError::TooLarge { .. }) => return Err(changed("the document differs")),
        Err(error) => return Err(Sent::Failed(error)),
    };
    if Sha256Hash::of(&bytes) != confirmed.sha256 {
        return Err(changed("the document differs"));
    }
    let input =
        Input::from_stored(stored_input).map_err(|_| changed("the input cannot be read"))?;
    Ok(Order {
        history_id: record.id.clone(),
        reference: derive_reference(stage, &record.id, document_hash),
        input,
        document: bytes,
        document_sha256: confirmed.sha256,
    })
}

/// A courtesy, not a guarantee: the same document from the same source record, unless the user knows.
async fn refuse_twin(store: &impl FindTwins, press: &Press, order: &Order) -> Result<(), Sent> {
    let source = &order.input.source;
    let twins = store
        .twins(&source.module, &source.record_id, &order.document_sha256)
        .await
        .map_err(Sent::Failed)?;
    let unknown_twin = twins
        .into_iter()
        .find(|twin| twin.id != order.history_id && Some(&twin.id) != press.again_of.as_ref());
    match unknown_twin {
        Some(twin) => Err(Sent::Refused(Refused::AlreadySent(twin.id))),
        None => Ok(()),
    }
}

/// Commits the claim, waits, and reads the record once more.
///
/// The read is the proof that the claim is ours, and the base of the outcome's write; `None` when it could
/// not be made.
async fn claim<S, D, W, M>(
    ports: &SubmitPorts<'_, S, D, W, M>,
    press: &Press,
    verified: &Verified,
    prepared: &<D::Driver as Submit>::Prepared,
    pacing: &Pacing,
    until: Timestamp,
) -> Result<(ClaimToken, Option<Base>), Sent>
where
    S: GuardedWrite,
    D: SubmitDrivers,
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
        draft_id: D::Driver::draft_id(prepared).map(|id| crate::text::harmless(id, 200)),
        resolved: None,
        unknown: Unknown::default(),
    });
    progress.set_deadline(clock_deadline(now, pacing.give_up));
    progress.check_at(clock_deadline(now, ports.policy.claim_stale));
    let mut change = Change::of(Event::Claimed, progress);
    change.note.by = Some(press.actor.name.clone());
    let claim_until = until
        .checked_sub(ports.policy.record_reserve)
        .unwrap_or(until);
    match commit(
        ports.store,
        ports.world,
        &verified.base,
        change,
        claim_until,
    )
    .await
    {
        Commit::Written { .. } => {}
        Commit::SkippedConflict | Commit::Illegal(_) | Commit::ForeignState => {
            return Err(Sent::Refused(Refused::ChangedElsewhere));
        }
        Commit::NotWritten(error) => return Err(Sent::Failed(error)),
        // It may stand: nothing is submitted under a claim that is not proved.
        Commit::Unconfirmed(_) => return Ok((token, None)),
    }
    ports.world.sleep(ports.policy.claim_settle).await;
    match read_base(ports.store, ports.world, &press.history_id, claim_until).await {
        Ok(base) if holds_claim(base.record(), &token) => Ok((token, Some(base))),
        Ok(_) => Err(Sent::Refused(Refused::ChangedElsewhere)),
        Err(_) => Ok((token, None)),
    }
}

/// Whether the record is `sending` under this very claim.
pub(super) fn holds_claim(record: &HistoryRecord, token: &ClaimToken) -> bool {
    record.state.known() == Some(State::Sending)
        && Progress::decode(record.progress.as_deref()).is_ok_and(|progress| {
            progress
                .claim
                .is_some_and(|claim| claim.token == *token && claim.resolved.is_none())
        })
}
