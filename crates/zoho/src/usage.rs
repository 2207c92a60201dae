//! What the adapter asked of the CRM, for reports and alarms.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use sendtrail_core::ports::{Metered, Usage};

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
    remaining: AtomicI64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            calls: AtomicU64::new(0),
            credits: AtomicU64::new(0),
            token_requests: AtomicU64::new(0),
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

    pub(crate) fn left(&self, credits: u64) {
        let credits = i64::try_from(credits).unwrap_or(i64::MAX);
        self.remaining.store(credits, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Usage {
        Usage {
            calls: self.calls.load(Ordering::Relaxed),
            credits: self.credits.load(Ordering::Relaxed),
            token_requests: self.token_requests.load(Ordering::Relaxed),
            credits_remaining: u64::try_from(self.remaining.load(Ordering::Relaxed)).ok(),
        }
    }
}
