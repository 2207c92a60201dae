//! The history record as read, and when such a read is a base for a write.

use jiff::{SignedDuration, Timestamp};

use crate::ids::{FileId, HistoryId, Revision};
use crate::state::State;

/// What the state field holds. A person can type anything there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StateField {
    /// One of the seven states.
    Known(State),
    /// Nothing.
    Empty,
    /// A word that is none of the states: reported and left alone.
    Unknown(String),
}

impl StateField {
    /// Reads the text of the field.
    pub fn of(text: Option<&str>) -> Self {
        match text {
            None | Some("" | "-None-") => Self::Empty,
            Some(text) => match State::from_label(text) {
                Some(state) => Self::Known(state),
                None => Self::Unknown(text.to_owned()),
            },
        }
    }

    /// The state, when the field holds one.
    pub fn known(&self) -> Option<State> {
        match self {
            Self::Known(state) => Some(*state),
            Self::Empty | Self::Unknown(_) => None,
        }
    }
}

/// One history record as the CRM returned it. Nothing in it is trusted yet: people can edit every field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HistoryRecord {
    /// The CRM's id.
    pub id: HistoryId,
    /// The CRM's version, to be handed back with a write.
    pub revision: Revision,
    /// The state field.
    pub state: StateField,
    /// The text of the progress field.
    pub progress: Option<String>,
    /// The text of the input field.
    pub input: Option<String>,
    /// The handle by which the stored document can be downloaded.
    pub document: Option<FileId>,
    /// The text of the document hash field, for people; the seal covers the hash in the progress.
    pub document_sha256: Option<String>,
    /// The text of the external id field, for people.
    pub external_id: Option<String>,
    /// The next-check field, by which rows are listed; `None` also where it cannot be read.
    pub next_check_at: Option<Timestamp>,
    /// The deadline field; `None` also where it cannot be read.
    pub deadline: Option<Timestamp>,
}

/// When a record was read, in the CRM's own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The instant the revision stands for, in whole seconds.
    pub version_at: Timestamp,
    /// The CRM's clock as an earlier answer's `Date` told it, known before this read was sent.
    pub clock_before: Option<Timestamp>,
    /// This answer's own `Date`.
    pub date: Option<Timestamp>,
    /// The longest time a request of this store can take.
    pub request_timeout: SignedDuration,
}

/// A record and when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Read {
    /// The record.
    pub record: HistoryRecord,
    /// When it was read.
    pub stamp: Stamp,
}

/// A read that a write may be based on: an edit that came after it has a later version and meets a 412.
///
/// There is no other way to make one than the two constructors, which hold the rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Base {
    record: HistoryRecord,
    version_at: Timestamp,
}

/// Why a read is no base yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NotYet {
    /// The read, good for looking at but not for writing.
    pub read: Read,
    /// How long to wait before reading again.
    pub wait: SignedDuration,
}

impl Base {
    /// A single read is a base when the CRM's clock had passed its version before the read was sent, or when
    /// its own `Date` is past the version by more than the request timeout.
    ///
    /// Versions have one-second grain: a read made in the second of its version may miss a later edit of that
    /// same second, and a write based on it would overwrite that edit without a 412.
    ///
    /// # Errors
    /// [`NotYet`] with the time to wait before the record must be read again.
    pub fn of_read(read: Read) -> Result<Self, Box<NotYet>> {
        let Stamp {
            version_at,
            clock_before,
            date,
            request_timeout,
        } = read.stamp;
        let known_before = clock_before.is_some_and(|clock| clock > version_at);
        let long_past = date.is_some_and(|date| date.duration_since(version_at) > request_timeout);
        if known_before || long_past {
            return Ok(Self::of(read));
        }
        // Without a `Date` nothing is known: wait out the version's second and the next answer may carry one.
        let second = SignedDuration::from_secs(1);
        let wait = match date {
            Some(date) if date > version_at => SignedDuration::ZERO,
            Some(date) => version_at.duration_since(date).saturating_add(second),
            None => second,
        };
        Err(Box::new(NotYet { read, wait }))
    }

    /// A listed row is a base only when its version is older than `list_lag`, since a list may be behind. It
    /// must also be older than a request can take: the `Date` of a list may be that of a slow reply.
    ///
    /// # Errors
    /// [`NotYet`]: read the record singly.
    pub fn of_listed(read: Read, list_lag: SignedDuration) -> Result<Self, Box<NotYet>> {
        let lag = list_lag.max(read.stamp.request_timeout);
        let old_enough = read
            .stamp
            .date
            .is_some_and(|date| date.duration_since(read.stamp.version_at) > lag);
        if old_enough {
            Ok(Self::of(read))
        } else {
            Err(Box::new(NotYet {
                read,
                wait: SignedDuration::ZERO,
            }))
        }
    }

    fn of(read: Read) -> Self {
        Self {
            record: read.record,
            version_at: read.stamp.version_at,
        }
    }

    /// The record.
    pub fn record(&self) -> &HistoryRecord {
        &self.record
    }

    /// The instant its revision stands for, in the CRM's own time and whole seconds.
    pub fn version_at(&self) -> Timestamp {
        self.version_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn read(version: i64, before: Option<i64>, date: Option<i64>) -> Read {
        Read {
            record: HistoryRecord {
                id: HistoryId::parse("1").unwrap(),
                revision: Revision::parse("v").unwrap(),
                state: StateField::Empty,
                progress: None,
                input: None,
                document: None,
                document_sha256: None,
                external_id: None,
                next_check_at: None,
                deadline: None,
            },
            stamp: Stamp {
                version_at: at(version),
                clock_before: before.map(at),
                date: date.map(at),
                request_timeout: SignedDuration::from_secs(10),
            },
        }
    }

    #[test]
    fn a_read_in_the_second_of_its_version_is_no_base() {
        let not_yet = Base::of_read(read(5, Some(5), Some(5))).unwrap_err();
        assert_eq!(not_yet.wait, SignedDuration::from_secs(1));
        assert!(Base::of_read(read(5, Some(6), Some(6))).is_ok());
    }

    #[test]
    fn the_date_of_a_slow_reply_does_not_make_a_base() {
        // The read may have been served in second 5 and the reply stamped later.
        let not_yet = Base::of_read(read(5, Some(5), Some(15))).unwrap_err();
        assert_eq!(not_yet.wait, SignedDuration::ZERO);
        assert!(Base::of_read(read(5, None, Some(16))).is_ok());
    }

    #[test]
    fn without_any_date_nothing_is_a_base() {
        assert!(Base::of_read(read(5, None, None)).is_err());
        assert!(Base::of_listed(read(5, Some(1000), None), SignedDuration::ZERO).is_err());
    }

    #[test]
    fn a_listed_row_is_a_base_only_past_the_lag() {
        let lag = SignedDuration::from_secs(60);
        assert!(Base::of_listed(read(0, Some(100), Some(60)), lag).is_err());
        assert!(Base::of_listed(read(0, None, Some(61)), lag).is_ok());
        // The reply may have been slow, and the list as old as a request can take.
        let short = SignedDuration::from_secs(1);
        assert!(Base::of_listed(read(0, None, Some(10)), short).is_err());
        assert!(Base::of_listed(read(0, None, Some(11)), short).is_ok());
    }

    #[test]
    fn a_word_a_person_typed_is_kept_as_unknown() {
        assert_eq!(
            StateField::of(Some("sent!")),
            StateField::Unknown("sent!".into())
        );
        assert_eq!(StateField::of(Some("-None-")), StateField::Empty);
        assert_eq!(
            StateField::of(Some("accepted")),
            StateField::Known(State::Accepted)
        );
    }
}
