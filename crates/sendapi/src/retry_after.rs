//! How long an API asks to wait.

use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{DATE, HeaderMap, HeaderName};

/// No API is believed to ask for more.
pub(crate) const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(24);

/// Smaller numbers are seconds to wait, larger ones an epoch: no wait is 30 years long.
const FIRST_EPOCH: u64 = 1_000_000_000;
/// Larger epochs are in milliseconds.
const FIRST_EPOCH_MS: u64 = 1_000_000_000_000;

/// The wait that the first readable of these headers asks for. A date is taken relative to the answer's own
/// `Date`, so that a wrong clock on either side does not change the wait.
pub(crate) fn wait(headers: &HeaderMap, names: &[HeaderName]) -> Option<SignedDuration> {
    let text = |name: &HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let now = text(&DATE)
        .and_then(http_date)
        .unwrap_or_else(Timestamp::now);
    names.iter().find_map(|name| read_wait(text(name)?, now))
}

/// Reads seconds (rounded up), an HTTP-date or an epoch; from zero to [`LONGEST_WAIT`].
fn read_wait(text: &str, now: Timestamp) -> Option<SignedDuration> {
    let wait = match http_date(text) {
        Some(date) => date.duration_since(now),
        None => match read_number(text)? {
            seconds if seconds < FIRST_EPOCH => from_secs(seconds),
            epoch if epoch < FIRST_EPOCH_MS => from_secs(epoch).saturating_sub(since_epoch(now)),
            millis => from_secs(millis.div_ceil(1_000)).saturating_sub(since_epoch(now)),
        },
    };
    Some(wait.clamp(SignedDuration::ZERO, LONGEST_WAIT))
}

fn from_secs(seconds: u64) -> SignedDuration {
    i64::try_from(seconds).map_or(SignedDuration::MAX, SignedDuration::from_secs)
}

fn since_epoch(now: Timestamp) -> SignedDuration {
    now.duration_since(Timestamp::UNIX_EPOCH)
}

/// A whole number, or one with a fraction, rounded up.
fn read_number(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let more = u64::from(fraction.bytes().any(|b| b != b'0'));
    // A number too long for 64 bits is a long wait, not garbage.
    Some(whole.parse().unwrap_or(u64::MAX).saturating_add(more))
}

fn http_date(text: &str) -> Option<Timestamp> {
    let time: SystemTime = httpdate::parse_http_date(text).ok()?;
    // The last days of the year 9999 are past every timestamp, and a long wait all the same.
    Some(Timestamp::try_from(time).unwrap_or(Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reqwest::header::HeaderValue;

    fn now() -> Timestamp {
        http_date("Thu, 01 Jan 2026 00:00:00 GMT").unwrap()
    }

    fn secs(text: &str) -> Option<i64> {
        read_wait(text, now()).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_are_rounded_up_and_capped() {
        assert_eq!(secs("30"), Some(30));
        assert_eq!(secs("0"), Some(0));
        assert_eq!(secs("1.2"), Some(2));
        assert_eq!(secs("3.0"), Some(3));
        assert_eq!(secs("999999"), Some(86_400));
        assert_eq!(secs("99999999999999999999999"), Some(86_400));
    }

    #[test]
    fn dates_and_epochs_are_waits_from_now() {
        assert_eq!(secs("Thu, 01 Jan 2026 00:01:30 GMT"), Some(90));
        assert_eq!(secs("Wed, 31 Dec 2025 23:00:00 GMT"), Some(0));
        assert_eq!(secs("Fri, 31 Dec 9999 23:59:59 GMT"), Some(86_400));
        let epoch = now().as_second();
        assert_eq!(secs(&(epoch + 45).to_string()), Some(45));
        assert_eq!(secs(&format!("{}", (epoch + 45) * 1_000)), Some(45));
        assert_eq!(secs(&(epoch - 45).to_string()), Some(0));
    }

    #[test]
    fn garbage_is_no_wait() {
        for bad in [
            "", "-5", "+5", "soon", "5s", "1e3", ".5", "5.", "0x10", "１",
        ] {
            assert_eq!(secs(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_first_readable_header_counts_and_the_answers_date_is_now() {
        let mut headers = HeaderMap::new();
        let reset = HeaderName::from_static("ratelimit-reset");
        let names = [reqwest::header::RETRY_AFTER, reset.clone()];
        assert_eq!(wait(&headers, &names), None);
        headers.insert(
            reset,
            HeaderValue::from_static("Thu, 01 Jan 2015 00:00:20 GMT"),
        );
        headers.insert(
            DATE,
            HeaderValue::from_static("Thu, 01 Jan 2015 00:00:00 GMT"),
        );
        assert_eq!(wait(&headers, &names), Some(SignedDuration::from_secs(20)));
        headers.insert("retry-after", HeaderValue::from_static("never"));
        assert_eq!(wait(&headers, &names), Some(SignedDuration::from_secs(20)));
        headers.insert("retry-after", HeaderValue::from_static("7"));
        assert_eq!(wait(&headers, &names), Some(SignedDuration::from_secs(7)));
    }

    proptest! {
        #[test]
        fn any_text_gives_none_or_a_bounded_wait(text in "[0-9.]{0,30}|.{0,40}") {
            if let Some(wait) = read_wait(&text, now()) {
                prop_assert!(!wait.is_negative() && wait <= LONGEST_WAIT);
            }
        }
    }
}
