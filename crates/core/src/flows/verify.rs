//! What is checked before a claim: the claim's condition, and that the record is what was confirmed.

use bytes::Bytes;
use jiff::Timestamp;

use super::submit::{Press, Refused, Sent, SubmitPorts};
use super::twins::twin_in_the_way;
use crate::commit::{NoBase, read_base};
use crate::ids::{ClaimToken, HistoryId, Sha256Hash, derive_reference};
use crate::input::{Input, input_sha256};
use crate::ports::{Clock, FindTwins, GuardedWrite, Order, ReadDocument, SealMac, StoreError};
use crate::progress::{Claim, Progress, Resolution};
use crate::record::{Base, HistoryRecord, StateField};
use crate::seal::seal_holds;
use crate::state::State;

/// Whether a claim or a submission, or the loss of what told of one, stands in the way of any other use of
/// the record.
pub(crate) fn has_open_claim_or_submission(progress: &Progress) -> bool {
    let open_claim = progress.claim.as_ref().is_some_and(Claim::is_open);
    open_claim || progress.submission.is_some() || progress.was_replaced()
}

/// Whether the record's own copies tell of a submit that its progress knows nothing of: somebody put an
/// earlier text of the progress back. Nothing but a claim fills the deadline, nothing but an acceptance the
/// external id, and both are emptied where it is proved that nothing was sent.
pub(crate) fn shows_an_earlier_submit(record: &HistoryRecord, progress: &Progress) -> bool {
    let has_id = record
        .external_id
        .as_ref()
        .is_some_and(|id| !id.trim().is_empty());
    (has_id || record.deadline.is_some()) && !has_open_claim_or_submission(progress)
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
    if progress.was_replaced() {
        return not_sendable("an earlier progress was lost");
    }
    if has_open_claim_or_submission(progress) {
        return not_sendable("an earlier claim is not resolved");
    }
    if shows_an_earlier_submit(record, progress) {
        return not_sendable("the record shows an earlier submit that its progress does not");
    }
    match &progress.document {
        None => not_sendable("no document is confirmed"),
        Some(document) if document.sha256 != *signed_document => Err(Refused::RecordChanged(
            "another document than the signed one is confirmed",
        )),
        Some(_) => Ok(()),
    }
}

/// The word of what became of the record's submit, as far as its progress tells.
fn known_outcome(progress: &Progress) -> Option<&'static str> {
    let resolved = progress.claim.as_ref().and_then(|claim| claim.resolved);
    match (&progress.submission, resolved) {
        (Some(submission), _) => Some(submission.outcome.label()),
        (None, Some(Resolution::NotSent)) => Some("not_sent"),
        (None, None) => None,
    }
}

/// The text of the state field, for answers.
pub(super) fn state_text(record: &HistoryRecord) -> String {
    match &record.state {
        StateField::Known(state) => state.label().to_owned(),
        StateField::Empty => String::new(),
        StateField::Unknown(text) => crate::text::harmless(text, 64),
    }
}

/// Whether the record is `sending` under this very claim.
pub(super) fn holds_claim(record: &HistoryRecord, token: &ClaimToken) -> bool {
    record.state.known() == Some(State::Sending)
        && Progress::decode(record.progress.as_deref()).is_ok_and(|progress| {
            progress
                .claim
                .is_some_and(|claim| claim.token == *token && claim.is_open())
        })
}

/// A record that is what was confirmed, and may be claimed.
pub(super) struct Verified {
    pub(super) base: Base,
    pub(super) progress: Progress,
    pub(super) order: Order,
}

impl Verified {
    pub(super) fn id(&self) -> &HistoryId {
        &self.order.history_id
    }
}

pub(super) async fn verify<S, D, W, M>(
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
        Err(NoBase::Unsettled) => return Err(Sent::Refused(Refused::NoTime)),
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
        .is_some_and(|claim| claim.serves(&press.key))
    {
        return Err(Sent::SamePress {
            state: state_text(record),
            outcome: known_outcome(&progress),
        });
    }
    may_claim(record, &progress, &press.document_sha256).map_err(Sent::Refused)?;
    let order = confirmed_order(ports, record, &progress).await?;
    let twin = twin_in_the_way(ports.store, press, &order, None).await;
    if let Some(twin) = twin.map_err(Sent::Failed)? {
        return Err(Sent::Refused(Refused::AlreadySent(twin)));
    }
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
