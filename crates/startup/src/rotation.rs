//! When secrets are read again. Every rule is decided here, as of a time that is given.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ports::Usage;

/// Between two readings because of what an invocation saw: strangers can send bad signatures as often as they
/// like, and must not have AWS asked as often.
const SUSPICION: SignedDuration = SignedDuration::from_mins(5);
/// Between a reading that failed and the next one.
const AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// What an invocation saw that would be explained by a secret that was changed since it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rotation {
    /// Nothing of the kind.
    #[default]
    None,
    /// No key made the signature or token of a request that is otherwise good. It was refused and nothing was
    /// done, so it can be served once more.
    NoKeyMatched,
    /// The CRM or a send API refused the credentials. What was done was done.
    CredentialsRefused,
}

impl Rotation {
    /// What was seen, from whether a door found no key, the CRM's use before and after, and whether a send API
    /// refused the credentials.
    pub fn seen(no_key_matched: bool, before: Usage, after: Usage, api_refused: bool) -> Self {
        if no_key_matched {
            Self::NoKeyMatched
        } else if api_refused || after.token_refused > before.token_refused {
            Self::CredentialsRefused
        } else {
            Self::None
        }
    }
}

/// Why secrets are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// They are older than their lifetime.
    Lifetime,
    /// An invocation saw what a changed secret would explain.
    Suspicion,
}

impl Reason {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Lifetime => "lifetime",
            Self::Suspicion => "suspicion",
        }
    }
}

/// What is known of the secrets of one instance.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    lifetime: SignedDuration,
    read_at: Timestamp,
    failed_at: Option<Timestamp>,
    suspected_at: Option<Timestamp>,
    is_stale: bool,
}

impl Schedule {
    /// Of secrets that were read now.
    pub(crate) fn new(lifetime: SignedDuration, now: Timestamp) -> Self {
        Self {
            lifetime,
            read_at: now,
            failed_at: None,
            suspected_at: None,
            is_stale: false,
        }
    }

    /// Whether they are to be read before the invocation that comes now.
    pub(crate) fn due(&self, now: Timestamp) -> Option<Reason> {
        if self.has_just_failed(now) {
            None
        } else if is_past(self.read_at, self.lifetime, now) {
            Some(Reason::Lifetime)
        } else {
            let may = self.is_stale && self.may_suspect(now);
            may.then_some(Reason::Suspicion)
        }
    }

    /// Whether they may be read because of what an invocation has just seen.
    pub(crate) fn may_suspect(&self, now: Timestamp) -> bool {
        let is_past = |at| is_past(at, SUSPICION, now);
        !self.has_just_failed(now) && self.suspected_at.is_none_or(is_past)
    }

    fn has_just_failed(&self, now: Timestamp) -> bool {
        self.failed_at.is_some_and(|at| !is_past(at, AGAIN, now))
    }

    /// Notes that they look changed, for the next invocation.
    pub(crate) fn mark_stale(&mut self) {
        self.is_stale = true;
    }

    /// Notes that they are being read.
    pub(crate) fn begin(&mut self, reason: Reason, now: Timestamp) {
        if reason == Reason::Suspicion {
            self.suspected_at = Some(now);
        }
    }

    /// Notes what came of it.
    pub(crate) fn end(&mut self, is_read: bool, now: Timestamp) {
        if is_read {
            self.read_at = now;
            self.failed_at = None;
            self.is_stale = false;
        } else {
            self.failed_at = Some(now);
        }
    }
}

/// Whether `wait` has passed since `at`. A clock that was set back says nothing about what has passed: that
/// counts as past, or nothing would be read until it has caught up.
fn is_past(at: Timestamp, wait: SignedDuration, now: Timestamp) -> bool {
    let passed = now.duration_since(at);
    passed.is_negative() || passed >= wait
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIFETIME: SignedDuration = SignedDuration::from_mins(15);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn schedule() -> Schedule {
        Schedule::new(LIFETIME, at(0))
    }

    #[test]
    fn secrets_are_read_again_at_the_end_of_their_lifetime() {
        let mut schedule = schedule();
        assert_eq!(schedule.due(at(0)), None);
        assert_eq!(schedule.due(at(899)), None);
        assert_eq!(schedule.due(at(900)), Some(Reason::Lifetime));
        schedule.begin(Reason::Lifetime, at(900));
        schedule.end(true, at(901));
        assert_eq!(schedule.due(at(1800)), None);
        assert_eq!(schedule.due(at(1801)), Some(Reason::Lifetime));
    }

    #[test]
    fn a_reading_that_failed_is_tried_again_a_minute_later_whatever_happens() {
        let mut schedule = schedule();
        schedule.begin(Reason::Lifetime, at(900));
        schedule.end(false, at(905));
        schedule.mark_stale();
        assert_eq!(schedule.due(at(964)), None);
        assert!(!schedule.may_suspect(at(964)));
        assert_eq!(schedule.due(at(965)), Some(Reason::Lifetime));
        assert!(schedule.may_suspect(at(965)));
    }

    #[test]
    fn suspicion_has_them_read_at_most_once_in_five_minutes() {
        let mut schedule = schedule();
        assert!(schedule.may_suspect(at(1)));
        schedule.begin(Reason::Suspicion, at(1));
        schedule.end(true, at(2));
        assert!(!schedule.may_suspect(at(3)));
        assert!(!schedule.may_suspect(at(300)));
        assert!(schedule.may_suspect(at(301)));
    }

    #[test]
    fn stale_secrets_are_read_before_the_next_invocation_within_the_same_bound() {
        let mut schedule = schedule();
        schedule.mark_stale();
        assert_eq!(schedule.due(at(1)), Some(Reason::Suspicion));
        schedule.begin(Reason::Suspicion, at(1));
        schedule.end(true, at(1));
        assert_eq!(schedule.due(at(2)), None);
        schedule.mark_stale();
        assert_eq!(schedule.due(at(300)), None);
        assert!(!schedule.may_suspect(at(300)));
        assert_eq!(schedule.due(at(301)), Some(Reason::Suspicion));
    }

    #[test]
    fn a_reading_at_the_end_of_the_lifetime_settles_a_suspicion_too() {
        let mut schedule = schedule();
        schedule.begin(Reason::Suspicion, at(800));
        schedule.end(true, at(0));
        schedule.mark_stale();
        assert_eq!(schedule.due(at(900)), Some(Reason::Lifetime));
        schedule.begin(Reason::Lifetime, at(900));
        schedule.end(true, at(900));
        assert_eq!(schedule.due(at(1200)), None);
    }

    #[test]
    fn a_suspicion_that_failed_is_not_repeated_before_its_time() {
        let mut schedule = schedule();
        schedule.mark_stale();
        schedule.begin(Reason::Suspicion, at(1));
        schedule.end(false, at(1));
        assert_eq!(schedule.due(at(120)), None);
        assert_eq!(schedule.due(at(301)), Some(Reason::Suspicion));
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_nothing_from_being_read() {
        let mut schedule = schedule();
        assert_eq!(schedule.due(at(-3600)), Some(Reason::Lifetime));
        schedule.begin(Reason::Suspicion, at(100));
        schedule.end(false, at(100));
        assert!(schedule.may_suspect(at(-3600)));
    }

    proptest! {
        #[test]
        fn whatever_happens_aws_is_asked_seldom_and_the_secrets_are_not_old(
            steps in prop::collection::vec((0_i64..200, 0_u8..3, any::<bool>()), 1..200),
        ) {
            let mut schedule = schedule();
            let mut now = 0;
            let (mut suspected, mut tried, mut read) = (None, None, 0);
            for (pass, sees, works) in steps {
                now += pass;
                let mut reason = schedule.due(at(now));
                let is_old = now - read >= 900;
                if is_old && reason.is_none() {
                    let failed: i64 = tried.expect("secrets are old, and were never tried");
                    prop_assert!(now - failed < 60, "old secrets are not read");
                }
                // At most one reading before the event and, for what was seen, one after it.
                for after in [false, true] {
                    if after {
                        if sees == 1 {
                            schedule.mark_stale();
                        }
                        let may = sees == 2 && schedule.may_suspect(at(now));
                        reason = may.then_some(Reason::Suspicion);
                    }
                    let Some(reason) = reason else { continue };
                    if reason == Reason::Suspicion {
                        prop_assert!(suspected.is_none_or(|before| now - before >= 300));
                        suspected = Some(now);
                    }
                    schedule.begin(reason, at(now));
                    schedule.end(works, at(now));
                    if works {
                        read = now;
                    } else {
                        tried = Some(now);
                    }
                }
            }
        }
    }

    #[test]
    fn what_was_seen_is_told_apart() {
        let usage = |token_refused| Usage {
            token_refused,
            ..Usage::default()
        };
        let seen = |key, after, api| Rotation::seen(key, usage(3), usage(after), api);
        assert_eq!(seen(false, 3, false), Rotation::None);
        assert_eq!(seen(false, 4, false), Rotation::CredentialsRefused);
        assert_eq!(seen(false, 3, true), Rotation::CredentialsRefused);
        // What was refused at the door has asked nobody.
        assert_eq!(seen(true, 3, false), Rotation::NoKeyMatched);
    }
}
