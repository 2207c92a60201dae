//! The settings the flows run with: those the product ships, read from its own files.

use jiff::SignedDuration;
use sendtrail_core::policy::{Pacing, PollPolicy, SubmitPolicy};
use sendtrail_core::settings::Reader;

/// The stage of every world.
pub const STAGE: &str = "sim";
const CONFIG: &str = include_str!("../../../../infra/config/sendtrail.toml");
const DRIVERS: [(&str, &str); 4] = [
    (
        "lob-letter",
        include_str!("../../../../infra/config/drivers/lob-letter.toml"),
    ),
    (
        "cloudsign",
        include_str!("../../../../infra/config/drivers/cloudsign.toml"),
    ),
    (
        "resend-mail",
        include_str!("../../../../infra/config/drivers/resend-mail.toml"),
    ),
    (
        "telnyx-fax",
        include_str!("../../../../infra/config/drivers/telnyx-fax.toml"),
    ),
];

/// Settings of a world.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Of the poller.
    pub poll: PollPolicy,
    /// Of side-effect.
    pub submit: SubmitPolicy,
    /// Time-out of side-effect, in milliseconds.
    pub side_effect_timeout: i64,
    /// Time-out of the poller, in milliseconds.
    pub poller_timeout: i64,
    /// Time-out of intake, in milliseconds.
    pub intake_timeout: i64,
    /// How far the clocks of two functions may differ, in milliseconds.
    pub clock_margin: i64,
    /// The pacing of the driver that can find, and of the one that cannot.
    pub pacing: Pacings,
    /// Whether users do nothing but what they have to, each with `letter`.
    pub has_plain_users: bool,
    /// What is broken on purpose.
    pub sabotage: Option<Sabotage>,
}

/// What is broken on purpose, so that tests see the promises break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// The CRM takes every write, whatever revision it names.
    IgnoresRevisions,
    /// The driver posts again when it gets no proper answer, and has time.
    SubmitsAgain,
    /// The schedule never fires.
    NeverPolls,
    /// No claim is ever written.
    NeverClaims,
    /// Clocks differ by up to ten minutes, far beyond the margin.
    FarClocks,
}

/// Pacing by driver.
#[derive(Debug, Clone)]
pub struct Pacings {
    /// Of `letter`, which can find by reference.
    pub letter: Pacing,
    /// Of `fax`, which cannot find.
    pub fax: Pacing,
}

impl Settings {
    /// What `infra/config/sendtrail.toml` says.
    pub fn shipped() -> Self {
        let reader = Reader::new("sendtrail.toml", CONFIG);
        let side_effect = reader.root().section("side_effect");
        let poller = reader.root().section("poller");
        let timeout = side_effect.duration_or("timeout", "60s");
        let clock_margin = side_effect.duration_or("clock_margin", "30s");
        let claim_stale = timeout + clock_margin;
        let count = |key, default| poller.integer_or(key, default, 1..=1_000).unsigned_abs();
        let small = |key, default| u32::try_from(count(key, default)).unwrap_or(1);
        let poll = PollPolicy {
            stage: STAGE.to_owned(),
            claim_stale,
            page_rows: small("page_rows", 200),
            max_pages: small("max_pages", 5),
            concurrency: usize::try_from(count("concurrency", 8)).unwrap_or(1),
            rate_per_second: small("rate_per_second", 20),
            row_timeout: poller.duration_or("row_timeout", "20s"),
            reserve: poller.duration_or("reserve", "15s"),
            list_lag: poller.duration_or("list_lag", "60s"),
            interval: poller.duration_or("interval", "2m"),
        };
        let submit = SubmitPolicy {
            stage: STAGE.to_owned(),
            claim_settle: side_effect.duration_or("claim_settle", "2s"),
            claim_stale,
            record_reserve: side_effect.duration_or("record_reserve", "15s"),
        };
        Self {
            poll,
            submit,
            side_effect_timeout: super::millis_in(timeout),
            poller_timeout: super::millis_in(poller.duration_or("timeout", "110s")),
            intake_timeout: 30_000,
            clock_margin: super::millis_in(clock_margin),
            pacing: Pacings {
                letter: days(3, 20),
                fax: days(2, 0),
            },
            has_plain_users: false,
            sabotage: None,
        }
    }
}

/// A pacing of minutes to hours, so that a world of days sees every part of it.
fn days(give_up: i64, find_grace: i64) -> Pacing {
    Pacing {
        first: SignedDuration::from_mins(10),
        every: SignedDuration::from_hours(4),
        give_up: SignedDuration::from_hours(24 * give_up),
        not_found_grace: SignedDuration::from_mins(15),
        find_grace: SignedDuration::from_mins(find_grace),
    }
}

/// The pacing of each driver file that is shipped, by its name.
pub fn shipped_pacings() -> Vec<(&'static str, Pacing)> {
    let pacing = |(name, text): (&'static str, &'static str)| {
        let reader = Reader::new(name, text);
        let look_up = reader.root().section("look_up");
        let of = |key| look_up.duration(key).unwrap_or_default();
        let pacing = Pacing {
            first: of("first"),
            every: of("every"),
            give_up: of("give_up"),
            not_found_grace: look_up.duration_or("not_found_grace", "10m"),
            find_grace: SignedDuration::ZERO,
        };
        (name, pacing)
    };
    DRIVERS.into_iter().map(pacing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_files_are_read() {
        let settings = Settings::shipped();
        assert_eq!(settings.poll.claim_stale, SignedDuration::from_secs(90));
        assert_eq!(settings.poller_timeout, 110_000);
        for (name, pacing) in shipped_pacings() {
            assert!(
                pacing.first >= SignedDuration::from_mins(1),
                "{name}: {pacing:?}"
            );
            assert!(pacing.give_up >= SignedDuration::from_hours(24), "{name}");
        }
    }
}
