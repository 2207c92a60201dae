//! What the locks and marks beside the token are called, by the time they are for.

use std::fmt;

use jiff::Timestamp;
use sendtrail_core::ids::Sha256Hash;

/// How long a refusal for too many tokens holds, and how long a name for it stands.
pub(crate) const COOLDOWN_S: i64 = 600;
/// Slots before the present one whose locks are taken away by name, known or not.
const SLOTS_BACK: u64 = 3;

/// The right to ask for a token in one slot of time. Its name is never used again, so that it can be made once
/// and never needs to be given back: who holds it may die.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lock {
    slot: u64,
    purpose: String,
}

impl Lock {
    /// The lock for a slot and a purpose.
    pub(crate) fn new(slot: u64, purpose: &str) -> Self {
        let purpose = purpose.to_owned();
        Self { slot, purpose }
    }

    /// Reads what `Display` wrote, and nothing else: it becomes part of a name that is deleted.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (slot, purpose) = text.split_once('-')?;
        let is_slot = (1..=12).contains(&slot.len()) && slot.bytes().all(|b| b.is_ascii_digit());
        let of_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let is_purpose = purpose.len() == 8 && purpose.bytes().all(of_hex);
        let slot = slot.parse().ok().filter(|_| is_slot && is_purpose)?;
        Some(Self::new(slot, purpose))
    }

    /// The second lock of a slot, for one of those who waited in vain for the holder of the first.
    pub(crate) fn second(slot: u64, purpose: &str) -> Self {
        Self::new(slot, &self::purpose(purpose, Some("second")))
    }

    /// The slot it is for.
    pub(crate) fn slot(&self) -> u64 {
        self.slot
    }

    /// Whether it is for this purpose.
    pub(crate) fn is_for(&self, purpose: &str) -> bool {
        self.purpose == purpose
    }

    /// The parameter's name beside the token's.
    pub(crate) fn parameter(&self, token: &str) -> String {
        format!("{token}-lock-{self}")
    }

    /// The locks of the slots just before, for the same purpose.
    pub(crate) fn earlier(&self) -> impl Iterator<Item = Self> {
        let slots = self.slot.saturating_sub(SLOTS_BACK)..self.slot;
        slots.map(|slot| Self::new(slot, &self.purpose))
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.slot, self.purpose)
    }
}

/// Which slot a moment is in.
pub(crate) fn slot(now: Timestamp, length_s: i64) -> u64 {
    u64::try_from(now.as_second().div_euclid(length_s.max(1))).unwrap_or(0)
}

/// What a lock is for: a token under this key, in place of the refused one if there is one. Who has another
/// refresh token, or met the refusal of another token, must not wait for it.
pub(crate) fn purpose(key: &str, refused: Option<&str>) -> String {
    let seed = format!("{key}\n{}", refused.unwrap_or_default());
    let mut hash = Sha256Hash::of(seed.as_bytes()).to_string();
    hash.truncate(8);
    hash
}

/// The names of marks of a refusal: of this period, then of earlier ones. A mark holds into the period after its own
/// and is made, not overwritten: it cannot take the place of a token that somebody got at the same moment.
pub(crate) fn marks(token: &str, key: &str, now: Timestamp) -> [String; 4] {
    let (period, purpose) = (slot(now, COOLDOWN_S), purpose(key, None));
    [0, 1, 2, 3].map(|back| {
        let period = period.saturating_sub(back);
        format!("{token}-lock-denied-{period}-{purpose}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_a_name_of_its_own_form_is_a_lock() {
        let lock = Lock::parse("117-0a1b2c3d").unwrap();
        assert_eq!(lock.to_string(), "117-0a1b2c3d");
        assert_eq!(
            lock.parameter("/s/x/crm-token"),
            "/s/x/crm-token-lock-117-0a1b2c3d"
        );
        let earlier: Vec<_> = lock.earlier().map(|lock| lock.slot()).collect();
        assert_eq!(earlier, [114, 115, 116]);
        for bad in [
            "",
            "117",
            "117-",
            "-0a1b2c3d",
            "+17-0a1b2c3d",
            "1-0A1B2C3D",
            "1-0a1b2c3d/x",
            "1234567890123-0a1b2c3d",
        ] {
            assert_eq!(Lock::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn another_key_or_refused_token_is_another_purpose() {
        let all = [
            purpose("a", None),
            purpose("b", None),
            purpose("a", Some("t")),
            purpose("a", Some("u")),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{all:?}");
        }
        let now = Timestamp::from_second(1_767_225_600).unwrap();
        assert!(marks("/t", "a", now)[0].starts_with("/t-lock-denied-"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_lock_that_writes_itself_or_none(text in "\\PC*") {
            if let Some(lock) = Lock::parse(&text) {
                prop_assert_eq!(Lock::parse(&lock.to_string()), Some(lock));
            }
        }

        #[test]
        fn slots_follow_each_other_without_gap(second in 0_i64..4_000_000_000, length in 1_i64..1_000) {
            let at = |second| slot(Timestamp::from_second(second).unwrap(), length);
            let step = at(second + 1) - at(second);
            prop_assert!(step <= 1);
            prop_assert_eq!(at(second + length), at(second) + 1);
        }

        #[test]
        fn a_mark_is_found_as_long_as_it_holds(second in 0_i64..4_000_000_000, later in 0..COOLDOWN_S) {
            let at = |second| marks("/t", "k", Timestamp::from_second(second).unwrap());
            let made = at(second)[0].clone();
            prop_assert!(at(second + later)[..2].contains(&made));
        }
    }
}
