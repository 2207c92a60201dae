//! One thing a signer may have done otherwise than the door expects.

/// What a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The bytes of the body.
    Body,
    /// The bytes used as key.
    Key,
    /// The operation that gives the MAC.
    Mac,
    /// How id, timestamp and body are joined.
    Message,
    /// The text of `webhook-id`.
    Id,
    /// The text of `webhook-timestamp`.
    Timestamp,
    /// The text of `webhook-signature`.
    Signature,
}

impl Place {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Key => "key",
            Self::Mac => "mac",
            Self::Message => "message",
            Self::Id => "id",
            Self::Timestamp => "timestamp",
            Self::Signature => "signature",
        }
    }
}

/// A change and what to do about it. None of its texts holds a part of a secret or of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) place: Place,
    /// A stable word for machines.
    pub(super) name: &'static str,
    /// For a body, words that follow "the body"; for every other place a sentence without its stop.
    pub(super) what: String,
    /// What to change at the signer, a sentence.
    pub(super) fix: &'static str,
}

impl Change {
    pub(super) fn new(
        place: Place,
        name: &'static str,
        what: impl Into<String>,
        fix: &'static str,
    ) -> Self {
        let what = what.into();
        Self {
            place,
            name,
            what,
            fix,
        }
    }

    /// What the signer did, as a sentence.
    pub(super) fn signed(&self) -> String {
        match self.place {
            Place::Body => format!("what was signed is the body {}", self.what),
            Place::Key
            | Place::Mac
            | Place::Message
            | Place::Id
            | Place::Timestamp
            | Place::Signature => self.what.clone(),
        }
    }
}

/// A value, and by which change it differs from the expected one; `None` is the expected one itself.
#[derive(Debug, Clone)]
pub(super) struct Form<T> {
    pub(super) change: Option<Change>,
    pub(super) value: T,
}

impl<T> Form<T> {
    pub(super) const fn plain(value: T) -> Self {
        Self {
            change: None,
            value,
        }
    }

    pub(super) const fn changed(change: Change, value: T) -> Self {
        Self {
            change: Some(change),
            value,
        }
    }
}
