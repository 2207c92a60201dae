use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::ports::{Clock, Random};

/// A clock that runs on tokio's time from a fixed instant, and numbers that look random and repeat with
/// their seed.
#[derive(Debug)]
pub struct TestWorld {
    start: Instant,
    epoch: Timestamp,
    drawn: AtomicU64,
    seed: u64,
}

impl TestWorld {
    /// Starts now, at 2026-01-01T00:00:00Z. Needs a tokio runtime.
    pub fn new() -> Self {
        Self::with_seed(1)
    }

    /// The same with another sequence of numbers.
    pub fn with_seed(seed: u64) -> Self {
        Self {
            start: Instant::now(),
            epoch: Timestamp::from_second(1_767_225_600).unwrap_or_default(),
            drawn: AtomicU64::new(0),
            seed,
        }
    }

    /// The instant this long after the present one.
    pub fn after(&self, seconds: i64) -> Timestamp {
        crate::ports::clock_deadline(self.now(), SignedDuration::from_secs(seconds))
    }
}

impl Default for TestWorld {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestWorld {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.start.elapsed()).unwrap_or_default();
        crate::ports::clock_deadline(self.epoch, elapsed)
    }

    async fn sleep(&self, duration: SignedDuration) {
        if let Ok(duration) = std::time::Duration::try_from(duration) {
            tokio::time::sleep(duration).await;
        }
    }
}

/// Shared with the store, which runs on the same clock.
impl Clock for Arc<TestWorld> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    async fn sleep(&self, duration: SignedDuration) {
        (**self).sleep(duration).await;
    }
}

impl Random for Arc<TestWorld> {
    fn bits(&self) -> u128 {
        (**self).bits()
    }
}

impl Random for TestWorld {
    fn bits(&self) -> u128 {
        let n = self.drawn.fetch_add(1, Ordering::Relaxed);
        let mix = |mut z: u64| {
            z = z
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(self.seed);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z ^ (z >> 31)
        };
        u128::from(mix(2 * n + 1)) << 64 | u128::from(mix(2 * n + 2))
    }
}
