//! What every configuration starts from: times, settings and records.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::{HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::input::{Input, input_sha256};
use sendtrail_core::policy::{Pacing, PollPolicy, SubmitPolicy};
use sendtrail_core::progress::{Actor, Progress, SaveRequest, Unknown};
use sendtrail_core::testing::{Crm, Row};

/// Part of every reference and seal.
pub const STAGE: &str = "model";

/// How long an invocation lives. Less than [`CLAIM_STALE`], as the real set-up checks at its start.
pub const LIFE: SignedDuration = SignedDuration::from_secs(20);
/// What a flow is given less than that, so that it can still tell what became of it.
pub const ANSWER_RESERVE: SignedDuration = SignedDuration::from_secs(1);
/// The longest time between a request to the CRM and its answer, as the CRM's rows say it in their stamps.
pub const REQUEST_TIMEOUT: SignedDuration = SignedDuration::from_secs(10);
/// The age from which a claim may be swept.
pub const CLAIM_STALE: SignedDuration = SignedDuration::from_secs(30);
/// The time a submit may take to turn up in a search.
pub const FIND_GRACE: SignedDuration = SignedDuration::from_secs(2);
/// How long the API's index may be behind; less than the grace.
pub const INDEX_DELAY: SignedDuration = SignedDuration::from_secs(1);

/// Seconds after the start at which time ends. Every send that ends does so much earlier; one that is asked for
/// again and again is then in flight for ever, in finitely many states.
pub const END: i64 = 240;

/// When a model starts: in the middle of an hour and of a day, so that no tick is the first of one.
pub fn start() -> Timestamp {
    "2026-01-01T12:30:00Z".parse().unwrap_or_default()
}

/// This many seconds after the start.
pub fn at(seconds: i64) -> Timestamp {
    sendtrail_core::ports::clock_deadline(start(), SignedDuration::from_secs(seconds))
}

/// Short, so that a send comes to its deadline after two look-ups.
pub fn pacing() -> Pacing {
    let secs = SignedDuration::from_secs;
    Pacing {
        first: secs(30),
        every: secs(30),
        give_up: secs(40),
        not_found_grace: secs(30),
        find_grace: FIND_GRACE,
    }
}

/// The side-effect function's settings.
pub fn submit_policy() -> SubmitPolicy {
    let secs = SignedDuration::from_secs;
    SubmitPolicy {
        stage: STAGE.to_owned(),
        claim_settle: secs(2),
        claim_stale: CLAIM_STALE,
        record_reserve: secs(5),
    }
}

/// The poller's settings.
pub fn poll_policy() -> PollPolicy {
    let secs = SignedDuration::from_secs;
    PollPolicy {
        stage: STAGE.to_owned(),
        claim_stale: CLAIM_STALE,
        page_rows: 200,
        max_pages: 1,
        concurrency: 2,
        rate_per_second: 1_000,
        row_timeout: secs(12),
        reserve: secs(5),
        // Shorter than a request may take: the date of a slow reply must not make it a base.
        list_lag: secs(3),
        interval: secs(60),
    }
}

/// One of the two documents a user may look at; each was made from the input of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doc {
    /// Made from the input the record starts with.
    One,
    /// Made from the input that is saved again.
    Two,
}

impl Doc {
    /// Both.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    /// Its bytes.
    pub fn bytes(self) -> Bytes {
        Bytes::from_static(match self {
            Self::One => b"%PDF-1.4 one",
            Self::Two => b"%PDF-1.4 two",
        })
    }

    /// Their hash.
    pub fn sha256(self) -> Sha256Hash {
        Sha256Hash::of(&self.bytes())
    }

    /// The text of the input it was made from.
    pub fn input(self) -> String {
        let name = match self {
            Self::One => "Ada",
            Self::Two => "Eve",
        };
        format!(
            r#"{{"driver":"letter","fields":{{}},"source":{{"attachment_id":"9","module":"Deals","record_id":"57"}},"to":{{"name":"{name}"}}}}"#
        )
    }

    /// The hash of that text.
    pub fn input_sha256(self) -> Sha256Hash {
        input_sha256(&self.stored())
    }

    /// The input as it is stored.
    pub fn stored(self) -> String {
        self.parsed().to_stored().unwrap_or_default()
    }

    /// The input as it is read.
    ///
    /// # Panics
    /// Never: the text above is input.
    pub fn parsed(self) -> Input {
        Input::from_stored(&self.input()).unwrap_or_else(|bad| unreachable!("{bad}"))
    }
}

/// Who presses.
pub fn actor() -> Actor {
    Actor::new("7", "Ada").unwrap_or_else(|| unreachable!("both are there"))
}

/// A key.
pub fn key(text: &str) -> RequestKey {
    RequestKey::parse(text).unwrap_or_else(|bad| unreachable!("{bad}"))
}

/// A CRM with this many records of the first document's input, saved long ago, all of one source.
pub fn saved(records: u8) -> (Crm, Vec<HistoryId>) {
    let mut crm = Crm::default();
    let ids = (0..records).map(|record| {
        let mut progress = Progress::default();
        progress.request = Some(SaveRequest {
            key: key(&format!("save_{record}")),
            body_sha256: Sha256Hash::of(b"body"),
            actor: actor(),
            unknown: Unknown::default(),
        });
        let mut row = Row::default();
        row.state = Some("saved".to_owned());
        row.progress = Some(progress.encode());
        row.input = Some(Doc::One.stored());
        row.request_key = Some(format!("save_{record}"));
        row.source = Some(("Deals".to_owned(), "57".to_owned()));
        crm.insert(at(-100), row)
    });
    let ids = ids.collect();
    (crm, ids)
}
