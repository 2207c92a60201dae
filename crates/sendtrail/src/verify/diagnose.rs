//! The plain result, the clock, and the search where they call for one.

use sendtrail_signature::{SignatureError, SignedHeaders, TOLERANCE_SECONDS, verify};

use super::keys::{NamedKey, label, ring};
use super::mac::sha256;
use super::search::{Found, LIMITS, Received, search};
use crate::failure::Failure;

/// A request as it was captured. `None` where a header was missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) id: Option<Vec<u8>>,
    pub(super) timestamp: Option<Vec<u8>>,
    pub(super) signature: Option<Vec<u8>>,
    pub(super) body: Vec<u8>,
}

/// When the request arrived, in Unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) at: i64,
    pub(super) source: Source,
}

/// How the arrival is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// It was given.
    Given,
    /// The captured event has it.
    Event,
    /// The log line has the difference.
    Log,
    /// It is not known: now stands for it.
    Now,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Diagnosis {
    /// The label of the key that verifies it, or the library's reason.
    pub(super) plain: Result<String, SignatureError>,
    pub(super) clock: Option<Clock>,
    /// Where the MAC does not hold and no header is missing.
    pub(super) found: Option<Found>,
    pub(super) body_bytes: usize,
    pub(super) body_sha256: String,
}

/// Arrival and timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    /// Arrival minus timestamp, in seconds.
    pub(super) delta_s: i64,
    /// The timestamp was read as milliseconds.
    pub(super) is_milliseconds: bool,
    pub(super) source: Source,
}

impl Clock {
    /// `None` where the timestamp is no number.
    fn read(timestamp: &[u8], arrival: Arrival) -> Option<Self> {
        let text = str::from_utf8(timestamp).ok()?.trim();
        let number: i64 = text.parse().ok()?;
        let is_milliseconds = text.trim_start_matches('+').len() >= 13;
        let seconds = if is_milliseconds {
            number.div_euclid(1000)
        } else {
            number
        };
        Some(Self {
            delta_s: arrival.at.saturating_sub(seconds),
            is_milliseconds,
            source: arrival.source,
        })
    }

    pub(super) fn is_inside(&self) -> bool {
        self.delta_s.unsigned_abs() <= TOLERANCE_SECONDS
    }
}

/// Whether the signature itself is right, whatever else is wrong.
pub(super) fn mac_holds(plain: &Result<String, SignatureError>) -> bool {
    use SignatureError as E;
    match plain {
        Ok(_)
        | Err(
            E::IdCharacters
            | E::TimestampFormat
            | E::TimestampInMilliseconds
            | E::TooOld { .. }
            | E::TooNew { .. },
        ) => true,
        Err(
            E::MissingId
            | E::MissingTimestamp
            | E::MissingSignature
            | E::RepeatedId
            | E::RepeatedTimestamp
            | E::IdTooLong
            | E::TimestampTooLong
            | E::SignatureTooLong
            | E::NoKnownVersion
            | E::SignatureIsHex
            | E::SignatureNotBase64
            | E::SignatureLength { .. }
            | E::Mismatch,
        ) => false,
    }
}

/// Whether a header is missing: there is nothing to compare then.
pub(super) fn is_incomplete(plain: &Result<String, SignatureError>) -> bool {
    use SignatureError as E;
    matches!(
        plain,
        Err(E::MissingId | E::MissingTimestamp | E::MissingSignature)
    )
}

/// Verifies the request as a door does; where the MAC does not hold, looks for the reason.
pub(super) fn diagnose(
    request: &Request,
    keys: &[NamedKey],
    arrival: Arrival,
) -> Result<Diagnosis, Failure> {
    let headers = SignedHeaders {
        id: request.id.as_deref(),
        timestamp: request.timestamp.as_deref(),
        signature: request.signature.as_deref(),
    };
    let now_ms = arrival.at.saturating_mul(1000);
    let ring = ring(keys)?;
    let plain = verify(&headers, &request.body, now_ms, &ring)
        .map(|verified| label(keys, verified.key_name).to_owned());
    let signature = request.signature.as_deref().unwrap_or_default();
    let received = Received {
        id: request.id.as_deref().unwrap_or_default(),
        time: request.timestamp.as_deref().unwrap_or_default(),
        signature,
        body: &request.body,
    };
    let is_searched = !mac_holds(&plain) && !is_incomplete(&plain);
    Ok(Diagnosis {
        found: is_searched.then(|| search(received, keys, LIMITS)),
        clock: Clock::read(received.time, arrival),
        plain,
        body_bytes: request.body.len(),
        body_sha256: sha256(&request.body),
    })
}

#[cfg(test)]
mod tests {
    use super::super::keys::tests::key;
    use super::*;

    const TEXT: &str = "a key of this test that is long enough";

    fn signed(timestamp: &str, body: &[u8]) -> Request {
        let secret = key("k", TEXT).secret;
        let signature = sendtrail_signature::sign(&secret, "msg_1", timestamp, body);
        Request {
            id: Some(b"msg_1".to_vec()),
            timestamp: Some(timestamp.as_bytes().to_vec()),
            signature: Some(signature.into_bytes()),
            body: body.to_vec(),
        }
    }

    fn of(request: &Request, at: i64) -> Diagnosis {
        let source = Source::Given;
        diagnose(request, &[key("k", TEXT)], Arrival { at, source }).unwrap()
    }

    #[test]
    fn what_verifies_is_told_with_its_key_and_not_searched() {
        let diagnosis = of(&signed("1700000000", b"{}"), 1_700_000_012);
        assert_eq!(diagnosis.plain.as_deref(), Ok("k"));
        assert_eq!(diagnosis.found, None);
        let clock = diagnosis.clock.unwrap();
        assert_eq!((clock.delta_s, clock.is_inside()), (12, true));
    }

    #[test]
    fn a_stale_request_has_its_mac_verified_on_either_side() {
        let request = signed("1700000000", b"{}");
        for (at, reason, inside) in [
            (1_700_000_301, "too_old", false),
            (1_699_999_699, "too_new", false),
        ] {
            let diagnosis = of(&request, at);
            assert!(mac_holds(&diagnosis.plain));
            assert_eq!(diagnosis.plain.unwrap_err().reason(), reason);
            assert_eq!(diagnosis.clock.unwrap().is_inside(), inside);
            assert_eq!(diagnosis.found, None);
        }
        let changed = Request {
            body: b"{ }".to_vec(),
            ..request
        };
        let diagnosis = of(&changed, 1_700_000_301);
        assert!(!mac_holds(&diagnosis.plain), "stale and of another body");
        assert!(!diagnosis.found.unwrap().explanations.is_empty());
    }

    #[test]
    fn milliseconds_are_told_with_the_true_distance() {
        let diagnosis = of(&signed("1700000000123", b"{}"), 1_700_000_005);
        let clock = diagnosis.clock.unwrap();
        assert!(clock.is_milliseconds && clock.is_inside() && clock.delta_s == 5);
        assert_eq!(
            diagnosis.plain,
            Err(SignatureError::TimestampInMilliseconds)
        );
    }

    #[test]
    fn where_a_header_is_missing_nothing_is_searched() {
        use SignatureError as E;
        let whole = || signed("1700000000", b"{}");
        let mut without = [whole(), whole(), whole(), whole()];
        without[0].signature = None;
        without[1].id = None;
        without[2].timestamp = None;
        without[3].id = Some(Vec::new());
        let due = [
            E::MissingSignature,
            E::MissingId,
            E::MissingTimestamp,
            E::MissingId,
        ];
        for (request, error) in without.iter().zip(due) {
            let diagnosis = of(request, 1_700_000_000);
            assert_eq!(diagnosis.plain, Err(error));
            assert_eq!(diagnosis.found, None);
        }
    }

    #[test]
    fn a_timestamp_of_any_text_has_no_clock_and_no_panic() {
        for odd in ["", "soon", "99999999999999999999"] {
            assert_eq!(of(&signed(odd, b"{}"), 0).clock, None, "{odd}");
        }
        for extreme in ["-9223372036854775808", "9223372036854775807"] {
            assert!(of(&signed(extreme, b"{}"), 5).clock.is_some());
        }
    }
}
