//! The one clock of the CRM, and its date-time texts.

use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use super::lock;

#[derive(Clone, Copy, Debug)]
struct Setting {
    frozen_at_ms: Option<i64>,
    ahead_ms: i64,
}

/// The CRM's clock: real time unless a test moves or freezes it. Durations of the outside world (a
/// client's timeouts, a delayed answer) never follow it.
#[derive(Debug)]
pub struct Clock {
    setting: Mutex<Setting>,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            setting: Mutex::new(Setting {
                frozen_at_ms: None,
                ahead_ms: 0,
            }),
        }
    }
}

impl Clock {
    /// Milliseconds since 1970, as the CRM sees them.
    pub fn now_ms(&self) -> i64 {
        let setting = *lock(&self.setting);
        let base = setting
            .frozen_at_ms
            .unwrap_or_else(|| Timestamp::now().as_millisecond());
        base.saturating_add(setting.ahead_ms)
    }

    /// Whole seconds since 1970.
    pub fn now_s(&self) -> i64 {
        self.now_ms().div_euclid(1000)
    }

    /// Stops the clock where it stands.
    pub fn freeze(&self) {
        let now = self.now_ms();
        *lock(&self.setting) = Setting {
            frozen_at_ms: Some(now),
            ahead_ms: 0,
        };
    }

    /// Moves the clock forward, frozen or not.
    pub fn advance(&self, by: Duration) {
        let by_ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        let mut setting = lock(&self.setting);
        setting.ahead_ms = setting.ahead_ms.saturating_add(by_ms);
    }

    /// Back to real time.
    pub fn real(&self) {
        *lock(&self.setting) = Setting {
            frozen_at_ms: None,
            ahead_ms: 0,
        };
    }
}

/// The offset that date-time texts are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    /// Minutes from UTC.
    Minutes(i32),
    /// UTC, written as `Z`.
    Zulu,
}

impl Default for Zone {
    fn default() -> Self {
        Self::Minutes(0)
    }
}

impl From<i32> for Zone {
    fn from(minutes: i32) -> Self {
        Self::Minutes(minutes)
    }
}

/// `YYYY-MM-DDThh:mm:ss±hh:mm` in a fixed offset, or with `Z`.
pub(crate) fn render_seconds(seconds: i64, zone: impl Into<Zone>) -> String {
    let moment = Timestamp::from_second(seconds).unwrap_or_default();
    let zone_minutes = match zone.into() {
        Zone::Minutes(minutes) => minutes,
        Zone::Zulu => return moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    };
    let offset = Offset::from_seconds(zone_minutes.saturating_mul(60)).unwrap_or(Offset::UTC);
    let local = moment.to_zoned_datetime(TimeZone::fixed(offset));
    local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Reads `YYYY-MM-DDThh:mm:ss±hh:mm` and nothing else: no fraction, no `Z`, no space.
pub(crate) fn parse_seconds(text: &str) -> Option<i64> {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:ddsdd:dd";
    let bytes = text.as_bytes();
    let fits = bytes.len() == SHAPE.len()
        && SHAPE.iter().zip(bytes).all(|(want, got)| match want {
            b'd' => got.is_ascii_digit(),
            b's' => matches!(got, b'+' | b'-'),
            other => other == got,
        });
    if !fits {
        return None;
    }
    text.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// The `Date` header of an answer: the CRM's clock in whole seconds.
pub(crate) fn http_date(now_ms: i64) -> String {
    let seconds = u64::try_from(now_ms.div_euclid(1000)).unwrap_or(0);
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instant_reads_back_from_any_offset() {
        let seconds = 1_705_312_609;
        for zone in [-720, -210, 0, 330, 840] {
            assert_eq!(parse_seconds(&render_seconds(seconds, zone)), Some(seconds));
        }
        assert_eq!(render_seconds(seconds, 330), "2024-01-15T15:26:49+05:30");
    }

    #[test]
    fn any_other_date_time_text_is_refused() {
        for text in [
            "2024-01-15T15:26:49Z",
            "2024-01-15T15:26:49.000+05:30",
            "2024-01-15 15:26:49+05:30",
            "2024-01-15T15:26:49+0530",
            "2024-01-15T15:26:49",
            "2024-13-15T15:26:49+05:30",
            "Mon, 15 Jan 2024 15:26:49 GMT",
            "",
        ] {
            assert_eq!(parse_seconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_frozen_clock_moves_only_when_told() {
        let clock = Clock::default();
        clock.freeze();
        let before = clock.now_ms();
        assert_eq!(clock.now_ms(), before);
        clock.advance(Duration::from_secs(3));
        assert_eq!(clock.now_ms(), before + 3000);
    }
}
