//! Settings the decisions take as arguments.

use jiff::SignedDuration;

/// How a driver's results are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pacing {
    /// Time from acceptance to the first look-up; later ones double it up to `every`.
    pub first: SignedDuration,
    /// The longest time between two look-ups.
    pub every: SignedDuration,
    /// Time from the claim to the deadline.
    pub give_up: SignedDuration,
    /// How long after acceptance a look-up that finds nothing is still pending.
    pub not_found_grace: SignedDuration,
    /// How long after the claim a submit may still turn up, where the driver can find: late arrival and
    /// index delay.
    pub find_grace: SignedDuration,
}

/// How the poller works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollPolicy {
    /// Part of every reference.
    pub stage: String,
    /// A claim this old belongs to no living function: that function's time-out plus a margin for clocks.
    pub claim_stale: SignedDuration,
    /// Rows in one page, 1 to 200: one API credit.
    pub page_rows: u32,
    /// Pages in one run.
    pub max_pages: u32,
    /// Rows worked on at once.
    pub concurrency: usize,
    /// The most look-ups started in one second, over all drivers.
    pub rate_per_second: u32,
    /// The time one row may take.
    pub row_timeout: SignedDuration,
    /// No row is started when less than this is left of the invocation.
    pub reserve: SignedDuration,
    /// A listed row is a base for a write only when its version is older than this.
    pub list_lag: SignedDuration,
    /// Time between two ticks of the schedule; the number of the tick is drawn from it.
    pub interval: SignedDuration,
}

/// How the side-effect function submits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitPolicy {
    /// Part of every reference and seal.
    pub stage: String,
    /// Wait between the claim and the read that proves it.
    pub claim_settle: SignedDuration,
    /// A claim this old belongs to no living function: the function's time-out plus a margin for clocks.
    pub claim_stale: SignedDuration,
    /// Kept back from the submit for recording the outcome.
    pub record_reserve: SignedDuration,
}

impl Pacing {
    /// Time between two looks for a submit of unknown outcome: a fifth of the grace, at least a second.
    pub fn find_interval(&self) -> SignedDuration {
        (self.find_grace / 5).clamp(
            SignedDuration::from_secs(1),
            self.every.max(SignedDuration::from_secs(1)),
        )
    }

    /// Time to the next look-up after `attempts` of them: `first`, doubled each time, at most `every`.
    ///
    /// `jitter` is any number; it moves the time by at most a tenth, so that rows accepted together do not
    /// stay due together.
    pub fn backoff(&self, attempts: u32, jitter: u64) -> SignedDuration {
        let doubled = self
            .first
            .as_millis()
            .saturating_mul(1i128 << attempts.min(40));
        let capped = doubled.min(self.every.as_millis()).max(1_000);
        let tenth = capped / 10;
        let shift = i128::from(jitter % 2_001) * tenth / 1_000 - tenth;
        let millis = (capped + shift).clamp(1_000, i128::from(i64::MAX));
        SignedDuration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pacing(first: i64, every: i64) -> Pacing {
        Pacing {
            first: SignedDuration::from_secs(first),
            every: SignedDuration::from_secs(every),
            give_up: SignedDuration::from_hours(24),
            not_found_grace: SignedDuration::from_mins(10),
            find_grace: SignedDuration::from_mins(10),
        }
    }

    proptest! {
        #[test]
        fn backoff_stays_near_its_doubling_and_its_cap(
            attempts: u32, jitter: u64, first in 1i64..10_000, more in 0i64..100_000,
        ) {
            let every = first + more;
            let wait = pacing(first, every).backoff(attempts, jitter).as_millis();
            prop_assert!(wait >= i128::from(first) * 900 && wait <= i128::from(every) * 1_100, "{}", wait);
        }
    }

    #[test]
    fn backoff_doubles_up_to_the_cap() {
        let middle = 1_000;
        let waits: Vec<_> = (0..4)
            .map(|n| pacing(60, 300).backoff(n, middle).as_secs())
            .collect();
        assert_eq!(waits, [60, 120, 240, 300]);
    }
}
