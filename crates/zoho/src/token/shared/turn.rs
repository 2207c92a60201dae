//! Whose turn it is: decisions over what was seen, as functions of time.

use std::time::Duration;

use jiff::Timestamp;
use secrecy::ExposeSecret as _;

use super::lock::{Lock, slot};
use crate::token::AccessToken;

/// The longest wait for another's token.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(4_500);
/// A slot is never shorter, and always longer than the token request may take: else a second one would ask
/// while the first still may get an answer.
const SHORTEST_SLOT_S: i64 = 15;
const FIRST_PAUSE: Duration = Duration::from_millis(300);
const LONGEST_PAUSE: Duration = Duration::from_millis(1_200);
/// Whoever has the lock tries again sooner than all who wait for it: AWS takes few calls in a second, and the others
/// have nothing to do before it is done.
const HOLDERS_PAUSE: Duration = Duration::from_millis(120);

/// What the last reading showed.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Whether it showed anything.
    pub(crate) is_known: bool,
    /// A token that has not expired.
    pub(crate) token: Option<AccessToken>,
    /// Until when nobody asks.
    pub(crate) denied_until: Option<Timestamp>,
    /// The lock of the slot, and what its holder wrote into it.
    pub(crate) holder: Option<(Lock, String)>,
    /// Locks that the entry names.
    pub(crate) locks: Vec<Lock>,
}

/// Who asks, and since when.
#[derive(Debug)]
pub(crate) struct Asker<'a> {
    pub(crate) refused: Option<&'a AccessToken>,
    /// Whether there is nothing else to work with.
    pub(crate) may_wait: bool,
    pub(crate) slot_s: i64,
    /// The slot that another has.
    pub(crate) lost: Option<u64>,
    /// The slot that is ours.
    pub(crate) own: Option<u64>,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Use the token that was seen.
    Take,
    /// Nobody asks for now.
    HeldBack,
    /// Ask: it is our turn.
    Ask,
    /// Ask without a turn: waiting has taken long enough, and nobody is known to ask.
    Alone,
    /// Try to get the second lock of this slot, as waiting has taken long enough; whoever does not gives up for now.
    Second(u64),
    /// Somebody else asks, and there is something to work with meanwhile.
    Later,
    /// Try to get the lock of this slot.
    Lock(u64),
    /// Read again after a pause.
    Wait,
}

impl Asker<'_> {
    /// Decides at `now`, after having `waited`.
    pub(crate) fn next(&self, seen: &Seen, now: Timestamp, waited: Duration) -> Step {
        if seen
            .token
            .as_ref()
            .is_some_and(|token| self.will_do(token, now))
        {
            return Step::Take;
        }
        if seen.denied_until.is_some_and(|until| now < until) {
            return Step::HeldBack;
        }
        let slot = slot(now, self.slot_s);
        if !seen.is_known && waited < LONGEST_WAIT {
            return if self.may_wait {
                Step::Wait
            } else {
                Step::Later
            };
        }
        if self.own == Some(slot) {
            return Step::Ask;
        }
        let is_over = waited >= LONGEST_WAIT;
        match self.lost {
            Some(lost) if lost == slot && !self.may_wait => Step::Later,
            // Its holder may be dead, or still get an answer. If all who wait asked now, the CRM would give nobody a
            // token for ten minutes: one of them may.
            Some(lost) if lost == slot && is_over && seen.is_known => Step::Second(slot),
            Some(_) | None if is_over => Step::Alone,
            Some(lost) if lost == slot => Step::Wait,
            Some(_) | None => Step::Lock(slot),
        }
    }

    fn will_do(&self, token: &AccessToken, now: Timestamp) -> bool {
        let text = token.token.expose_secret();
        let refused = self.refused.map(|refused| refused.token.expose_secret());
        now < token.refresh_at && refused != Some(text)
    }
}

/// How long a slot is, in seconds, when a token request may take so long.
pub(crate) fn slot_s(request: Duration) -> i64 {
    let request = i64::try_from(request.as_secs()).unwrap_or(i64::MAX);
    request.saturating_add(5).clamp(SHORTEST_SLOT_S, 600)
}

/// The pause before the next try: longer each time and never the same for two who began together. `random` is
/// any number.
pub(crate) fn pause(attempt: u32, random: u64) -> Duration {
    let full = FIRST_PAUSE.saturating_mul(1 << attempt.min(8));
    spread(full.min(LONGEST_PAUSE), random)
}

/// The pause of who has the lock.
pub(crate) fn holders_pause(random: u64) -> Duration {
    spread(HOLDERS_PAUSE, random)
}

/// From half of it to one and a half.
fn spread(full: Duration, random: u64) -> Duration {
    let share = u32::try_from(random % 1_001).unwrap_or(0);
    full / 2 + full * share / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;
    use proptest::prelude::*;

    const SLOT: i64 = 15;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    fn token(text: &str, refresh_at: Timestamp) -> AccessToken {
        AccessToken {
            token: text.into(),
            api_domain: None,
            refresh_at,
            expires_at: refresh_at + SignedDuration::from_secs(300),
        }
    }

    fn asker() -> Asker<'static> {
        Asker {
            refused: None,
            may_wait: true,
            slot_s: SLOT,
            lost: None,
            own: None,
        }
    }

    fn nothing() -> Seen {
        Seen {
            is_known: true,
            ..Seen::default()
        }
    }

    fn number(second: i64) -> u64 {
        slot(at(second), SLOT)
    }

    fn short(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_first_tries_the_lock_and_the_others_wait_until_the_slot_ends() {
        let (seen, asker) = (nothing(), asker());
        assert_eq!(asker.next(&seen, at(0), short(0)), Step::Lock(number(0)));
        let loser = Asker {
            lost: Some(number(0)),
            ..asker
        };
        assert_eq!(loser.next(&seen, at(14), short(3)), Step::Wait);
        assert_eq!(loser.next(&seen, at(15), short(3)), Step::Lock(number(15)));
        assert_eq!(
            loser.next(&seen, at(14), LONGEST_WAIT),
            Step::Second(number(0))
        );
        assert_eq!(loser.next(&seen, at(15), LONGEST_WAIT), Step::Alone);
        let blind = Seen::default();
        assert_eq!(loser.next(&blind, at(14), LONGEST_WAIT), Step::Alone);
        let winner = Asker {
            lost: None,
            own: Some(number(0)),
            ..loser
        };
        assert_eq!(winner.next(&seen, at(3), short(1)), Step::Ask);
        assert_eq!(winner.next(&seen, at(15), short(1)), Step::Lock(number(15)));
    }

    #[test]
    fn who_has_something_to_work_with_does_not_wait() {
        let loser = Asker {
            lost: Some(number(0)),
            may_wait: false,
            ..asker()
        };
        assert_eq!(loser.next(&Seen::default(), at(1), short(0)), Step::Later);
    }

    #[test]
    fn another_fresh_token_ends_the_wait_and_the_refused_one_does_not() {
        let old = token("1000.old", at(1_000));
        let seen = |text: &str, refresh_at| Seen {
            token: Some(token(text, refresh_at)),
            ..nothing()
        };
        let asker = Asker {
            refused: Some(&old),
            ..asker()
        };
        let next = |seen: &Seen| asker.next(seen, at(0), short(0));
        assert_eq!(next(&seen("1000.new", at(1))), Step::Take);
        assert_eq!(next(&seen("1000.new", at(0))), Step::Lock(number(0)));
        assert_eq!(next(&seen("1000.old", at(1_000))), Step::Lock(number(0)));
    }

    #[test]
    fn in_a_cool_down_nobody_asks_and_a_token_there_is_used() {
        let denied = |token| Seen {
            token,
            denied_until: Some(at(60)),
            ..nothing()
        };
        let winner = Asker {
            own: Some(number(0)),
            ..asker()
        };
        assert_eq!(winner.next(&denied(None), at(0), short(0)), Step::HeldBack);
        assert_eq!(
            asker().next(&denied(None), at(59), LONGEST_WAIT),
            Step::HeldBack
        );
        assert_eq!(
            asker().next(&denied(None), at(60), short(0)),
            Step::Lock(number(60))
        );
        let fresh = Some(token("1000.a", at(100)));
        assert_eq!(winner.next(&denied(fresh), at(0), short(0)), Step::Take);
    }

    #[test]
    fn a_slot_is_longer_than_a_token_request_may_take() {
        for request in [1, 2, 10, 11, 60, 300] {
            assert!(
                slot_s(short(request)) > i64::try_from(request).unwrap(),
                "{request}"
            );
        }
        assert_eq!(slot_s(short(10)), 15);
    }

    proptest! {
        #[test]
        fn two_who_see_the_same_try_for_the_same_lock_or_follow_each_other(
            second in 0_i64..100_000, skew in 0_i64..3,
        ) {
            let (Step::Lock(one), Step::Lock(two)) = (
                asker().next(&nothing(), at(second), short(0)),
                asker().next(&nothing(), at(second + skew), short(0)),
            ) else { return Err(TestCaseError::fail("no lock")); };
            prop_assert!(two - one <= 1);
        }

        /// Whatever is seen and lost, after the longest wait no step waits.
        #[test]
        fn no_wait_is_endless(second in 0_i64..100_000, lost in any::<bool>(), denied in any::<bool>(), may_wait in any::<bool>()) {
            let asker = Asker { lost: lost.then(|| number(second)), may_wait, ..asker() };
            let seen = Seen { denied_until: denied.then(|| at(second + 9)), ..nothing() };
            let step = asker.next(&seen, at(second), LONGEST_WAIT);
            let ends = match step {
                Step::Second(_) | Step::Later => lost,
                Step::Alone => !lost,
                Step::HeldBack => denied,
                Step::Take | Step::Ask | Step::Lock(_) | Step::Wait => false,
            };
            prop_assert!(ends, "{step:?}");
        }

        #[test]
        fn pauses_grow_and_stay_in_bounds(attempt in 0_u32..100, random in any::<u64>()) {
            let pause = pause(attempt, random);
            prop_assert!(pause >= FIRST_PAUSE / 2 && pause <= LONGEST_PAUSE * 3 / 2);
        }
    }
}
