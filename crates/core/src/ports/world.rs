//! Time, randomness and the seal's MAC.

use std::future::Future;

use jiff::{SignedDuration, Timestamp};

/// The clock the flows run on.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
    /// Completes once `duration` has passed; at once when it is zero or negative.
    fn sleep(&self, duration: SignedDuration) -> impl Future<Output = ()> + Send;
}

/// `now` plus `duration`, held inside the range of time.
pub fn clock_deadline(now: Timestamp, duration: SignedDuration) -> Timestamp {
    now.saturating_add(duration)
        .unwrap_or(if duration.is_negative() {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        })
}

/// Unpredictable bits.
pub trait Random: Send + Sync {
    /// 128 fresh random bits. MUST NOT repeat, also not across processes.
    fn bits(&self) -> u128;
}

/// The MAC that binds what was confirmed. Side-effect and intake are given one; the poller is not.
pub trait SealMac: Send + Sync {
    /// The MAC of `message`, as printable ASCII of at most 100 characters.
    fn seal(&self, message: &[u8]) -> String;
    /// Whether `seal` is the MAC of `message`. MUST compare in constant time.
    fn check(&self, message: &[u8], seal: &str) -> bool;
}
