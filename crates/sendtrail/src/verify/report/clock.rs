//! Times in words.

use sendtrail_signature::SignatureError;

use crate::verify::diagnose::{Clock, Source};

const DAY: u64 = 86_400;

/// Seconds as far as they can be grasped, then days, then years.
fn span(seconds: u64) -> String {
    let days = seconds / DAY;
    match days {
        0..=1 => format!("{seconds} s"),
        2..=729 => format!("{days} days"),
        730.. => format!("{} years", days / 365),
    }
}

/// The library's words, with a long span told as a person would.
pub(super) fn error_words(error: &SignatureError) -> String {
    if let SignatureError::TooOld { seconds } = error {
        format!("signed {} ago", span(*seconds))
    } else if let SignatureError::TooNew { seconds } = error {
        format!("signed {} ahead", span(*seconds))
    } else {
        error.to_string()
    }
}

/// How far the timestamp is from the arrival.
pub(super) fn clock_words(clock: &Clock) -> String {
    let away = span(clock.delta_s.unsigned_abs());
    let arrival = match clock.source {
        Source::Given => "the given arrival",
        Source::Event | Source::Log => "the arrival",
        Source::Now => "now",
    };
    let side = if clock.delta_s < 0 { "after" } else { "before" };
    let read = if clock.is_milliseconds {
        ", read as milliseconds,"
    } else {
        ""
    };
    let inside = if clock.is_inside() {
        "inside"
    } else {
        "outside"
    };
    let hint = if clock.source == Source::Now && clock.delta_s > 0 && !clock.is_inside() {
        "; give the time of arrival with --at, if it was captured earlier"
    } else {
        ""
    };
    format!(
        "the timestamp{read} is {away} {side} {arrival}: {inside} the 300 s to either side{hint}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_spans_are_days_and_years() {
        for (seconds, due) in [
            (0, "0 s"),
            (172_799, "172799 s"),
            (172_800, "2 days"),
            (729 * DAY, "729 days"),
            (730 * DAY, "2 years"),
        ] {
            assert_eq!(span(seconds), due);
        }
        let old = SignatureError::TooOld { seconds: 9 * DAY };
        assert_eq!(error_words(&old), "signed 9 days ago");
        let new = SignatureError::TooNew { seconds: 301 };
        assert_eq!(error_words(&new), "signed 301 s ahead");
        let other = SignatureError::Mismatch;
        assert_eq!(error_words(&other), other.to_string());
    }

    #[test]
    fn a_clock_of_any_distance_is_told() {
        for delta_s in [i64::MIN, 0, i64::MAX] {
            let clock = Clock {
                delta_s,
                is_milliseconds: false,
                source: Source::Given,
            };
            let words = clock_words(&clock);
            assert_eq!(words.contains("years"), delta_s != 0, "{words}");
            assert_eq!(words.contains("inside"), delta_s == 0, "{words}");
        }
    }
}
