//! What the adapter asked of the CRM, for reports and alarms.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Calls since the client was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Requests sent to the CRM's API, repeats included.
    pub calls: u64,
    /// API credits these cost, by the CRM's price list: COQL 1 to 3 by its limit, everything else 1.
    pub credits: u64,
    /// Requests sent to the token endpoint. Ten in ten minutes are allowed for one refresh token.
    pub token_requests: u64,
    /// What the CRM last said is left of the day's credits. It says so only when half are used.
    pub credits_remaining: Option<u64>,
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
