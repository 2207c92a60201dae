//! Twins: other records of the same document from the same source record.
//!
//! A courtesy, not a guarantee: a list that lags can hide a twin. The search is made before the claim, and
//! again under it, since two records pressed at once do not see each other's claim the first time.

use jiff::Timestamp;

use super::submit::Press;
use super::verify::{has_open_claim_or_submission, shows_an_earlier_submit};
use crate::ids::HistoryId;
use crate::ports::{FindTwins, Order, ReadHistory, StoreError, Twin};
use crate::progress::{Claim, Progress};
use crate::record::{Base, HistoryRecord};
use crate::state::State;

/// Our own claim, by which two records that are pressed at once agree on the one that goes on.
pub(super) struct OurClaim {
    version_at: Timestamp,
    claimed_at: Timestamp,
}

impl OurClaim {
    /// The claim that this read proves.
    pub(super) fn of(base: &Base) -> Option<Self> {
        Some(Self {
            version_at: base.version_at(),
            claimed_at: open_claim_at(base.record())?,
        })
    }

    /// Whether a twin that is claimed as well has to see our claim, and gives way.
    ///
    /// Its search comes a second or more after the version of its claim, so that it finds each claim that is
    /// not younger. The versions tell, in the CRM's own time; an edit by a person moves them, so the times of
    /// the claims must tell the same. Of two records at most one finds that the other gives way.
    fn goes_before(&self, ours: &HistoryId, twin: &Twin) -> bool {
        if twin.record.state.known() != Some(State::Sending) {
            return false;
        }
        let Some(claimed_at) = open_claim_at(&twin.record) else {
            return false;
        };
        let theirs = (twin.version_at, claimed_at);
        let first = (self.version_at, self.claimed_at);
        theirs.0 >= first.0
            && theirs.1 >= first.1
            && (theirs != first || by_age(&twin.record.id, ours).is_gt())
    }
}

/// When the open claim was made, where nothing is known of its submit yet.
fn open_claim_at(record: &HistoryRecord) -> Option<Timestamp> {
    let progress = Progress::decode(record.progress.as_deref()).ok()?;
    let claim = progress.claim.filter(Claim::is_open)?;
    progress.submission.is_none().then_some(claim.at)
}

/// The newest twin that stands in the way, if there is one; under a claim, also by age of the claims.
///
/// # Errors
/// The store's, where it could not be found out.
pub(super) async fn twin_in_the_way(
    store: &(impl FindTwins + ReadHistory),
    press: &Press,
    order: &Order,
    claim: Option<&OurClaim>,
) -> Result<Option<HistoryId>, StoreError> {
    let (source, ours) = (&order.input.source, &order.history_id);
    let mut twins = store
        .twins(&source.module, &source.record_id, &order.document_sha256)
        .await?;
    twins.retain(|twin| twin.record.id != *ours);
    twins.sort_by(|a, b| by_age(&b.record.id, &a.record.id));
    for listed in twins {
        let Some(twin) = judged(store, listed).await? else {
            continue;
        };
        // Who names the newest knows of the older ones: the answer before named it.
        if press.again_of.as_ref() == Some(&twin.record.id) {
            return Ok(None);
        }
        if !claim.is_some_and(|claim| claim.goes_before(ours, &twin)) {
            return Ok(Some(twin.record.id));
        }
    }
    Ok(None)
}

/// The record, if it was submitted, or may have been, or is about to be. A list may cut long text: where it
/// matters, a progress that cannot be read is read singly, once.
async fn judged(store: &impl ReadHistory, listed: Twin) -> Result<Option<Twin>, StoreError> {
    let is_readable = Progress::decode(listed.record.progress.as_deref()).is_ok();
    let needs_progress = match listed.record.state.known() {
        Some(State::Accepted | State::Succeeded | State::NeedsReview | State::Failed) => false,
        Some(State::Saved | State::Confirmed | State::Sending) | None => true,
    };
    let twin = if is_readable || !needs_progress {
        listed
    } else {
        match store.read(&listed.record.id).await {
            Ok(read) => Twin {
                record: read.record,
                version_at: read.stamp.version_at,
            },
            Err(StoreError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        }
    };
    Ok(counts(&twin.record).then_some(twin))
}

/// Whether the record stands for a document that went out, or may have.
fn counts(record: &HistoryRecord) -> bool {
    match record.state.known() {
        Some(State::Failed) => false,
        Some(State::Sending | State::Accepted | State::Succeeded | State::NeedsReview) => true,
        // A state that a person may have typed: the rest of the record tells.
        Some(State::Saved | State::Confirmed) | None => {
            match Progress::decode(record.progress.as_deref()) {
                Ok(progress) => {
                    has_open_claim_or_submission(&progress)
                        || shows_an_earlier_submit(record, &progress)
                }
                Err(_) => true,
            }
        }
    }
}

/// Ids rise with time, and a longer number is a larger one.
fn by_age(a: &HistoryId, b: &HistoryId) -> std::cmp::Ordering {
    let key = |id: &HistoryId| (id.as_str().len(), id.as_str().to_owned());
    key(a).cmp(&key(b))
}
