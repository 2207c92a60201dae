//! The texts of the parameters: what is written, and what of a text may be used.

use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use sendtrail_core::ids::Sha256Hash;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use url::Url;

use super::lock::{COOLDOWN_S, Lock};
use crate::config::parse_base_url;
use crate::token::AccessToken;
use crate::token::answer::{LONGEST_LIFE_S, is_header_text};

const FORMAT: u32 = 1;
/// What a parameter can hold.
const LARGEST: usize = 4_096;
/// How many locks an entry remembers for deletion.
const LOCKS: usize = 4;
/// Clocks of two sandboxes may differ by so much.
const SKEW_S: i64 = 60;

#[derive(Serialize, Deserialize)]
struct Wire {
    v: u32,
    key: String,
    access_token: String,
    api_domain: Option<String>,
    refresh_at: Timestamp,
    expires_at: Timestamp,
    #[serde(default)]
    locks: Vec<String>,
    /// Over the rest but the locks: a text that was changed on its way could still be read as a token. Against
    /// somebody who may write the parameter it does not help; that one could delete it as well.
    sum: String,
}

impl Wire {
    fn sum(&self) -> String {
        let domain = self.api_domain.as_deref().unwrap_or_default();
        let text = format!(
            "{}\n{}\n{domain}\n{}\n{}",
            self.key, self.access_token, self.refresh_at, self.expires_at
        );
        Sha256Hash::of(text.as_bytes()).to_string()
    }
}

#[derive(Serialize, Deserialize)]
struct WireMark {
    key: String,
    until: Timestamp,
}

/// Why a text gives no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Useless {
    /// No entry of this version.
    #[error("it cannot be read")]
    Corrupt,
    /// Another refresh token's, or another client's.
    #[error("it belongs to another refresh token")]
    Foreign,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// It claims to last longer than any token does.
    #[error("it is from the future")]
    Future,
}

/// What a text holds: a token or why there is none, and the locks to be deleted in either case.
pub(crate) struct Entry {
    pub(crate) token: Result<AccessToken, Useless>,
    pub(crate) locks: Vec<Lock>,
}

/// Reads an entry at `now`. Any text gives one.
pub(crate) fn decode(text: &SecretString, key: &str, now: Timestamp) -> Entry {
    let text = text.expose_secret();
    let wire = serde_json::from_str::<Wire>(text).ok();
    let Some(wire) = wire.filter(|wire| text.len() <= LARGEST && wire.v == FORMAT) else {
        let token = Err(Useless::Corrupt);
        return Entry {
            token,
            locks: Vec::new(),
        };
    };
    let locks = wire.locks.iter().filter_map(|lock| Lock::parse(lock));
    Entry {
        locks: locks.take(LOCKS).collect(),
        token: token(wire, key, now),
    }
}

fn token(wire: Wire, key: &str, now: Timestamp) -> Result<AccessToken, Useless> {
    if wire.key != key {
        return Err(Useless::Foreign);
    }
    let api_domain = wire.api_domain.as_deref().map(parse_base_url);
    let readable = wire.sum == wire.sum()
        && is_header_text(&wire.access_token)
        && api_domain != Some(None)
        && wire.refresh_at <= wire.expires_at;
    if !readable {
        return Err(Useless::Corrupt);
    }
    if wire.expires_at <= now {
        return Err(Useless::Expired);
    }
    let left = wire.expires_at.duration_since(now);
    if left > SignedDuration::from_secs(LONGEST_LIFE_S + SKEW_S) {
        return Err(Useless::Future);
    }
    Ok(AccessToken {
        token: wire.access_token.into(),
        api_domain: api_domain.flatten(),
        refresh_at: wire.refresh_at,
        expires_at: wire.expires_at,
    })
}

/// The text of an entry; `None` when no parameter can hold it. `locks` begins with the newest.
pub(crate) fn encode(token: &AccessToken, key: &str, locks: &[Lock]) -> Option<SecretString> {
    let mut wire = Wire {
        v: FORMAT,
        key: key.to_owned(),
        access_token: token.token.expose_secret().to_owned(),
        api_domain: token.api_domain.as_ref().map(Url::to_string),
        refresh_at: token.refresh_at,
        expires_at: token.expires_at,
        locks: locks.iter().take(LOCKS).map(Lock::to_string).collect(),
        sum: String::new(),
    };
    wire.sum = wire.sum();
    let text = serde_json::to_string(&wire).ok()?;
    (text.len() <= LARGEST).then(|| text.into())
}

/// Until when a mark has everybody wait at `now`; a time further away than a refusal lasts is none.
pub(crate) fn decode_mark(text: &SecretString, key: &str, now: Timestamp) -> Option<Timestamp> {
    let mark: WireMark = serde_json::from_str(text.expose_secret()).ok()?;
    let left = mark.until.duration_since(now).as_secs();
    let holds = mark.key == key && now < mark.until && left <= COOLDOWN_S + SKEW_S;
    holds.then_some(mark.until)
}

/// The text of a mark made at `now`.
pub(crate) fn encode_mark(key: &str, now: Timestamp) -> String {
    let cooldown = SignedDuration::from_secs(COOLDOWN_S);
    let until = now.saturating_add(cooldown).unwrap_or(now);
    let key = key.to_owned();
    serde_json::to_string(&WireMark { key, until }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_767_225_600).unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        now() + SignedDuration::from_secs(seconds)
    }

    fn sample(text: &str) -> AccessToken {
        AccessToken {
            token: text.into(),
            api_domain: parse_base_url("https://www.zohoapis.eu"),
            refresh_at: at(3_300),
            expires_at: at(3_600),
        }
    }

    fn text() -> String {
        let locks = ["7-0a1b2c3d", "5-0a1b2c3d"].map(|lock| Lock::parse(lock).unwrap());
        let text = encode(&sample("1000.a"), "k", &locks).unwrap();
        text.expose_secret().to_owned()
    }

    fn why(text: &str, key: &str, at: Timestamp) -> Useless {
        decode(&text.to_owned().into(), key, at).token.unwrap_err()
    }

    #[test]
    fn what_is_written_is_read() {
        let entry = decode(&text().into(), "k", now());
        let token = entry.token.unwrap();
        assert_eq!(token.token.expose_secret(), "1000.a");
        assert_eq!(token.api_domain, sample("").api_domain);
        assert_eq!((token.refresh_at, token.expires_at), (at(3_300), at(3_600)));
        let locks: Vec<_> = entry.locks.iter().map(Lock::to_string).collect();
        assert_eq!(locks, ["7-0a1b2c3d", "5-0a1b2c3d"]);
    }

    #[test]
    fn what_is_not_ours_or_not_now_is_of_no_use() {
        let text = text();
        assert_eq!(why(&text, "other", now()), Useless::Foreign);
        assert_eq!(why(&text, "k", at(3_600)), Useless::Expired);
        assert_eq!(why(&text, "k", at(-200_000)), Useless::Future);
        for (from, to) in [
            ("\"v\":1", "\"v\":2"),
            ("1000.a", "1000.b"),
            ("1000.a", "with space"),
            ("1000.a", ""),
            ("https://www.zohoapis.eu", "http://www.zohoapis.eu"),
            ("{", "["),
            ("\"expires_at\":\"2026", "\"expires_at\":\"2025"),
        ] {
            assert_eq!(
                why(&text.replacen(from, to, 1), "k", now()),
                Useless::Corrupt,
                "{from}"
            );
        }
        let padded = format!("{text}{}", " ".repeat(4_096));
        assert_eq!(why(&padded, "k", now()), Useless::Corrupt);
    }

    #[test]
    fn the_locks_of_a_foreign_entry_are_known_and_strange_ones_are_not() {
        let strange = text().replace("\"5-0a1b2c3d\"", "\"x/../secret\",\"9-ffffffff\"");
        let entry = decode(&strange.into(), "other", now());
        let locks: Vec<_> = entry.locks.iter().map(Lock::to_string).collect();
        assert_eq!(locks, ["7-0a1b2c3d", "9-ffffffff"]);
    }

    #[test]
    fn what_no_parameter_can_hold_is_not_written() {
        assert!(encode(&sample(&"x".repeat(3_800)), "k", &[]).is_some());
        assert!(encode(&sample(&"x".repeat(4_090)), "k", &[]).is_none());
    }

    #[test]
    fn a_mark_holds_for_its_ten_minutes_and_its_key_only() {
        let mark: SecretString = encode_mark("k", now()).into();
        assert_eq!(decode_mark(&mark, "k", now()), Some(at(600)));
        assert_eq!(decode_mark(&mark, "k", at(599)), Some(at(600)));
        assert_eq!(decode_mark(&mark, "k", at(600)), None);
        assert_eq!(decode_mark(&mark, "other", now()), None);
        assert_eq!(decode_mark(&mark, "k", at(-61)), None);
        assert_eq!(decode_mark(&"{}".to_owned().into(), "k", now()), None);
    }

    proptest! {
        #[test]
        fn any_text_gives_an_entry(text in "\\PC*", seconds in -1_000_000_i64..1_000_000) {
            let entry = decode(&text.clone().into(), "k", at(seconds));
            prop_assert!(entry.locks.len() <= LOCKS);
            let _ = decode_mark(&text.into(), "k", at(seconds));
        }

        #[test]
        fn a_cut_entry_gives_no_token(end in 0_usize..200) {
            let text = text();
            let cut = text.get(..end.min(text.len() - 1)).unwrap_or_default();
            prop_assert_eq!(why(cut, "k", now()), Useless::Corrupt);
        }

        #[test]
        fn a_token_that_is_taken_has_not_expired(seconds in -300_000_i64..300_000) {
            if let Ok(token) = decode(&text().into(), "k", at(seconds)).token {
                prop_assert!(at(seconds) < token.expires_at);
            }
        }
    }
}
