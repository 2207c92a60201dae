//! What the adapter asked of the CRM, for reports and alarms.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use sendtrail_core::ports::{Metered, StoreError, Usage};

use crate::store::Zoho;

/// COQL costs 1 to 3 credits by its limit, everything else 1. The token endpoint allows ten requests in ten
/// minutes for one refresh token.
impl Metered for Zoho {
    fn usage(&self) -> Usage {
        self.counters.snapshot()
    }
}

/// Counters that calls at once may share.
#[derive(Debug)]
pub(crate) struct Counters {
    calls: AtomicU64,
    credits: AtomicU64,
    token_requests: AtomicU64,
    token_throttled: AtomicU64,
    token_refused: AtomicU64,
    remaining: AtomicI64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            calls: AtomicU64::new(0),
            credits: AtomicU64::new(0),
            token_requests: AtomicU64::new(0),
            token_throttled: AtomicU64::new(0),
            token_refused: AtomicU64::new(0),
            remaining: AtomicI64::new(-1),
        }
    }
}

impl Counters {
    pub(crate) fn called(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn charged(&self, credits: u64) {
        self.credits.fetch_add(credits, Ordering::Relaxed);
    }

    pub(crate) fn asked_for_a_token(&self) {
        self.token_requests.fetch_add(1, Ordering::Relaxed);
    }

    /// A token was due and there was none, for this reason.
    pub(crate) fn got_no_token(&self, error: &StoreError) {
        let counter = match error {
            StoreError::TokenThrottled => &self.token_throttled,
            StoreError::Unauthorized { .. } => &self.token_refused,
            StoreError::NotFound
            | StoreError::RateLimited { .. }
            | StoreError::Refused { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Transient { .. }
            | StoreError::Malformed { .. } => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn left(&self, credits: u64) {
        let credits = i64::try_from(credits).unwrap_or(i64::MAX);
        self.remaining.store(credits, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Usage {
        Usage {
            calls: self.calls.load(Ordering::Relaxed),
            credits: self.credits.load(Ordering::Relaxed),
            token_requests: self.token_requests.load(Ordering::Relaxed),
            token_throttled: self.token_throttled.load(Ordering::Relaxed),
            token_refused: self.token_refused.load(Ordering::Relaxed),
            credits_remaining: u64::try_from(self.remaining.load(Ordering::Relaxed)).ok(),
        }
    }
}
