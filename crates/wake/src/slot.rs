//! When a wake-up comes, and when it is worth one.

use std::fmt;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The grain of the scheduler: it invokes within the minute that a schedule names.
pub const SLOT: SignedDuration = SignedDuration::from_secs(60);

/// A slot begins at least this long from now. The scheduler refuses a time that has passed, and between here
/// and there lie the call itself, at most two seconds, and two clocks.
const LEAD: SignedDuration = SignedDuration::from_secs(15);

/// A whole minute. All wake-ups of one minute are one schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(i64);

impl Slot {
    /// The first slot that is not before `time`, and far enough from `now` to be made.
    pub fn of(time: Timestamp, now: Timestamp) -> Self {
        let soonest = now.saturating_add(LEAD).unwrap_or(Timestamp::MAX);
        let at = time.max(soonest);
        let part = i64::from(at.subsec_nanosecond() > 0);
        let seconds = at.as_second().saturating_add(part);
        Self(-((-seconds).div_euclid(SLOT.as_secs())))
    }

    /// When it begins.
    pub fn begins(self) -> Timestamp {
        let seconds = self.0.saturating_mul(SLOT.as_secs());
        Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
    }

    /// The name of its schedule.
    pub fn name(self) -> String {
        format!("wake-{}", self.0)
    }

    /// As the scheduler takes it; the time zone, UTC, is said beside it.
    pub(crate) fn expression(self) -> String {
        let at = TimeZone::UTC.to_datetime(self.begins());
        format!("at({})", at.strftime("%Y-%m-%dT%H:%M:%S"))
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.begins())
    }
}

/// Whether a look-up that is due in `wait` gains by a wake-up, where the poller runs every `interval` anyway.
///
/// Without one it comes up to `interval` late, with one up to a slot. So there is nothing to gain where the
/// interval is no longer than a slot. And there is nobody to notice where the wait is ten times the interval:
/// later waits differ by a tenth on purpose, and each wake-up costs a run of the poller.
pub fn is_worth_it(wait: SignedDuration, interval: SignedDuration) -> bool {
    interval > SLOT && wait < interval.saturating_mul(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn slot(time: &str, now: &str) -> String {
        Slot::of(at(time), at(now)).begins().to_string()
    }

    #[test]
    fn a_slot_is_the_first_whole_minute_that_is_not_before_its_time() {
        let now = "2026-01-01T00:00:00Z";
        for (time, begins) in [
            ("2026-01-01T00:14:00Z", "2026-01-01T00:14:00Z"),
            ("2026-01-01T00:14:00.000000001Z", "2026-01-01T00:15:00Z"),
            ("2026-01-01T00:14:01Z", "2026-01-01T00:15:00Z"),
            ("2026-01-01T00:14:59Z", "2026-01-01T00:15:00Z"),
            ("2026-12-31T23:59:30Z", "2027-01-01T00:00:00Z"),
        ] {
            assert_eq!(slot(time, now), begins, "{time}");
        }
    }

    #[test]
    fn a_slot_is_never_in_the_past_nor_too_near_to_be_made() {
        for (now, begins) in [
            ("2026-01-01T00:14:45Z", "2026-01-01T00:15:00Z"),
            ("2026-01-01T00:14:45.1Z", "2026-01-01T00:16:00Z"),
            ("2026-01-01T00:14:59Z", "2026-01-01T00:16:00Z"),
            ("2026-01-01T00:15:00Z", "2026-01-01T00:16:00Z"),
        ] {
            assert_eq!(slot(now, now), begins, "{now}");
            assert_eq!(slot("2020-01-01T00:00:00Z", now), begins, "{now}");
        }
    }

    #[test]
    fn all_times_of_a_minute_share_one_name_and_no_two_minutes_do() {
        let now = at("2026-01-01T00:00:00Z");
        let name = |time| Slot::of(at(time), now).name();
        assert_eq!(name("2026-01-01T00:13:01Z"), name("2026-01-01T00:14:00Z"));
        assert_ne!(name("2026-01-01T00:14:00Z"), name("2026-01-01T00:14:01Z"));
        assert_eq!(name("2026-01-01T00:14:00Z"), "wake-29453774");
    }

    #[test]
    fn the_expression_is_the_time_in_utc_without_a_zone() {
        let slot = Slot::of(at("2026-03-04T05:06:00Z"), at("2026-01-01T00:00:00Z"));
        assert_eq!(slot.expression(), "at(2026-03-04T05:06:00)");
    }

    #[test]
    fn the_ends_of_time_have_a_slot_too() {
        let far = Slot::of(Timestamp::MAX, Timestamp::MAX);
        assert!(!far.expression().is_empty());
        assert!(Slot::of(Timestamp::MIN, Timestamp::MIN) < far);
    }

    #[test]
    fn a_wake_up_is_for_a_short_wait_and_a_schedule_that_is_slower_than_a_slot() {
        let seconds = SignedDuration::from_secs;
        for (wait, interval, worth) in [
            // The schedule is as fine as a slot: the tick comes in the same minute.
            (120, 30, false),
            (120, 60, false),
            (120, 61, true),
            (0, 120, true),
            (120, 120, true),
            (1_199, 120, true),
            // Ten times the interval: a tick's lateness is lost in the wait.
            (1_200, 120, false),
            (86_400, 120, false),
            (1_200, 600, true),
        ] {
            let told = is_worth_it(seconds(wait), seconds(interval));
            assert_eq!(told, worth, "{wait} s, every {interval} s");
        }
    }
}
