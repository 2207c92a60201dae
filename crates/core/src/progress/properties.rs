//! What must hold for every progress and every text.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ids::{ClaimToken, DriverId, ExternalId, FileId, Reference, RequestKey, Sha256Hash};

fn time() -> impl Strategy<Value = Timestamp> {
    (1_600_000_000i64..2_000_000_000).prop_map(|s| Timestamp::from_second(s).unwrap())
}

fn hash() -> impl Strategy<Value = Sha256Hash> {
    any::<[u8; 8]>().prop_map(|seed| Sha256Hash::of(&seed))
}

fn unknown() -> impl Strategy<Value = Unknown> {
    proptest::option::of("[a-z]{1,5}").prop_map(|text| {
        let mut unknown = Unknown::default();
        if let Some(text) = text {
            unknown
                .0
                .insert("later".into(), json!({"x": [text, 1, null]}));
        }
        unknown
    })
}

fn last_error(detail: impl Strategy<Value = String>) -> impl Strategy<Value = LastError> {
    (
        time(),
        "[a-z_]{1,20}",
        any::<Option<u16>>(),
        detail,
        unknown(),
    )
        .prop_map(|(at, kind, status, detail, unknown)| LastError {
            at,
            kind,
            status,
            detail,
            unknown,
        })
}

fn request() -> impl Strategy<Value = SaveRequest> {
    ("[A-Za-z0-9_-]{1,200}", hash(), "\\PC{1,16}", unknown()).prop_map(
        |(key, body_sha256, name, unknown)| SaveRequest {
            key: RequestKey::parse(&key).unwrap(),
            body_sha256,
            actor: Actor {
                id: "1".into(),
                name,
                unknown: unknown.clone(),
            },
            unknown,
        },
    )
}

fn document() -> impl Strategy<Value = ConfirmedDocument> {
    (
        hash(),
        any::<u64>(),
        "[!-~]{1,255}",
        time(),
        hash(),
        "[a-f0-9]{64}",
        unknown(),
    )
        .prop_map(
            |(sha256, bytes, file_id, confirmed_at, input_sha256, seal, unknown)| {
                ConfirmedDocument {
                    sha256,
                    bytes,
                    file_id: FileId::parse(&file_id).unwrap(),
                    confirmed_at,
                    input_sha256,
                    seal,
                    unknown,
                }
            },
        )
}

fn claim() -> impl Strategy<Value = Claim> {
    (
        "[a-z0-9]{1,64}",
        time(),
        proptest::option::of("[!-~]{1,100}"),
        any::<bool>(),
        proptest::collection::vec("[0-9a-f]{16}", 0..Claim::EARLIER),
        unknown(),
    )
        .prop_map(|(token, at, draft_id, resolved, earlier, unknown)| Claim {
            token: ClaimToken::parse(&token).unwrap(),
            at,
            request_key: RequestKey::parse("msg_1").unwrap(),
            driver: DriverId::parse("letter").unwrap(),
            draft_id,
            resolved: resolved.then_some(Resolution::NotSent),
            earlier,
            unknown,
        })
}

fn submission() -> impl Strategy<Value = Submission> {
    (
        0usize..3,
        proptest::option::of("[!-~]{1,200}"),
        time(),
        "\\PC{0,40}",
        unknown(),
    )
        .prop_map(|(outcome, external_id, at, detail, unknown)| Submission {
            driver: DriverId::parse("letter").unwrap(),
            reference: Reference::parse("st_1").unwrap(),
            outcome: SubmissionOutcome::ALL[outcome],
            external_id: external_id.map(|id| ExternalId::parse(&id).unwrap()),
            at,
            evidence: SubmitEvidence {
                class: "status".into(),
                status: Some(200),
                detail,
                bytes_sent: 7,
                started_at: Some(at),
                found: vec!["a".into()],
                unknown: unknown.clone(),
            },
            unknown,
        })
}

fn trail(most: usize) -> impl Strategy<Value = Vec<TrailEntry>> {
    let entry = (
        time(),
        "[a-z_]{1,20}",
        1u32..9,
        proptest::option::of("\\PC{0,30}"),
        unknown(),
    )
        .prop_map(|(at, event, times, reason, unknown)| TrailEntry {
            at,
            event,
            to: "accepted".into(),
            times,
            by: reason.as_deref().map(|by| crate::text::harmless(by, 200)),
            reason,
            unknown,
        });
    proptest::collection::vec(entry, 0..most)
}

fn progress(
    trail_entries: usize,
    detail: impl Strategy<Value = String> + 'static,
) -> impl Strategy<Value = Progress> {
    (
        (
            any::<u64>(),
            any::<u32>(),
            proptest::option::of(time()),
            proptest::option::of(time()),
        ),
        proptest::option::of(last_error(detail)),
        (
            proptest::option::of(request()),
            proptest::option::of(document()),
        ),
        (
            proptest::option::of(claim()),
            proptest::option::of(submission()),
        ),
        trail(trail_entries),
        unknown(),
    )
        .prop_map(
            |(
                (rev, attempts, check, deadline),
                last_error,
                (request, document),
                (claim, submission),
                trail,
                unknown,
            )| {
                Progress {
                    rev,
                    next_check_at: clamp(check, deadline),
                    attempts,
                    deadline,
                    write: Some(WriteId::parse("w1").unwrap()),
                    last_error,
                    request,
                    document,
                    claim,
                    submission,
                    trail,
                    unknown,
                }
            },
        )
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(progress in progress(5, "\\PC{0,60}")) {
        let text = progress.encode();
        prop_assume!(encode_wire(&progress).len() <= MAX_ENCODED);
        prop_assert_eq!(Progress::decode(Some(&text)), Ok(progress));
    }

    #[test]
    fn the_bound_is_never_passed_and_what_decides_is_never_lost(
        progress in progress(120, "[\u{1F300}-\u{1F5FF}é\"\\\\]{0,3000}"),
    ) {
        let text = progress.encode();
        prop_assert!(text.len() <= MAX_ENCODED, "{}", text.len());
        prop_assert!(text.is_ascii());
        let read = Progress::decode(Some(&text)).unwrap();
        prop_assert_eq!(read.rev, progress.rev);
        prop_assert_eq!(read.attempts, progress.attempts);
        prop_assert_eq!(read.deadline, progress.deadline);
        prop_assert_eq!(read.claim.map(|c| (c.token, c.resolved)), progress.claim.map(|c| (c.token, c.resolved)));
        prop_assert_eq!(
            read.submission.map(|s| (s.reference, s.outcome, s.external_id)),
            progress.submission.map(|s| (s.reference, s.outcome, s.external_id)),
        );
        prop_assert_eq!(read.document.map(|d| (d.sha256, d.seal)), progress.document.map(|d| (d.sha256, d.seal)));
        prop_assert_eq!(read.trail.last().map(|t| t.at), progress.trail.last().map(|t| t.at));
    }

    #[test]
    fn any_text_gives_a_value_or_an_error(text in any::<String>()) {
        let _ = Progress::decode(Some(&text));
    }

    #[test]
    fn a_cut_or_damaged_progress_gives_a_value_or_an_error(
        progress in progress(5, "\\PC{0,60}"), at in any::<usize>(), byte in 0x20u8..0x7f,
    ) {
        let text = progress.encode();
        let at = at % text.len();
        prop_assert!(at == 0 || Progress::decode(Some(&text[..at])).is_err());
        let mut damaged = text.into_bytes();
        damaged[at] = byte;
        if let Ok(read) = Progress::decode(Some(std::str::from_utf8(&damaged).unwrap())) {
            prop_assert!(read.encode().len() <= MAX_ENCODED);
        }
    }

    #[test]
    fn the_next_check_never_lies_past_the_deadline(
        progress in progress(2, "x"), at in time(), deadline in time(), first in any::<bool>(),
    ) {
        let mut progress = progress;
        if first { progress.check_at(at); progress.set_deadline(deadline); }
        else { progress.set_deadline(deadline); progress.check_at(at); }
        prop_assert!(progress.next_check_at().unwrap() <= deadline);
        let read = Progress::decode(Some(&progress.encode())).unwrap();
        prop_assert!(read.next_check_at() <= read.deadline());
    }
}

#[test]
fn keys_of_a_later_version_survive_a_rewrite_at_every_level() {
    let text = r#"{"v":1,"rev":1,"zz":{"a":[1]},"last_error":{"at":"2026-01-01T00:00:00Z","kind":"x","zz":1},
        "trail":[{"at":"2026-01-01T00:00:00Z","event":"e","to":"t","zz":"y"}]}"#;
    let written: serde_json::Value =
        serde_json::from_str(&Progress::decode(Some(text)).unwrap().encode()).unwrap();
    assert_eq!(written["zz"], json!({"a": [1]}));
    assert_eq!(written["last_error"]["zz"], json!(1));
    assert_eq!(written["trail"][0]["zz"], json!("y"));
}

#[test]
fn a_higher_format_is_told_from_damage() {
    assert_eq!(
        Progress::decode(Some(r#"{"v":2,"rev":"?"}"#)),
        Err(ProgressError::Newer(2))
    );
    assert_eq!(Progress::decode(None), Err(ProgressError::Empty));
    assert_eq!(Progress::decode(Some("  ")), Err(ProgressError::Empty));
    for bad in [
        "null",
        "[]",
        "{}",
        "7",
        r#"{"v":0,"rev":1}"#,
        r#"{"v":1}"#,
        r#"{"v":1,"rev":-1}"#,
        "[1]",
        "[2]",
    ] {
        let read = Progress::decode(Some(bad));
        assert!(
            matches!(read, Err(ProgressError::Malformed(_))),
            "{bad}: {read:?}"
        );
    }
}

#[test]
fn repeats_are_folded_and_reasons_are_not() {
    let mut progress = Progress::default();
    let at = Timestamp::from_second(1_700_000_000).unwrap();
    for minute in 0..3 {
        let at = at + SignedDuration::from_mins(minute);
        progress.push_trail(TrailEntry::remark(at, "still_pending", "accepted"));
    }
    assert_eq!(progress.trail.len(), 1);
    assert_eq!(progress.trail[0].times, 3);
    assert_eq!(progress.trail[0].at, at + SignedDuration::from_mins(2));
    let mut settled = TrailEntry::remark(at, "still_pending", "accepted");
    settled.reason = Some("why".into());
    progress.push_trail(settled);
    assert_eq!(progress.trail.len(), 2);
}

#[test]
fn the_committed_schema_is_the_one_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/progress.schema.json");
    if std::option_env!("SENDTRAIL_GENERATE").is_some() {
        std::fs::write(path, schema()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(committed, schema(), "stale: run `cargo xtask generate`");
}

#[test]
fn texts_that_grow_when_they_are_written_never_pass_the_bound() {
    // Each of these characters takes six bytes in the CRM.
    let long = |count| "\u{1}".repeat(count);
    let time = "2026-01-01T00:00:00Z";
    let found = vec![long(33); 40];
    let whole = json!({
        "v": 1, "rev": 1,
        "claim": {
            "token": "t", "at": time, "request_key": "k", "driver": "d",
            "draft_id": long(33), "earlier": vec![long(2); 20],
        },
        "submission": {
            "driver": "d", "reference": "r", "outcome": "unknown", "at": time,
            "evidence": {"class": long(16), "found": found},
        },
    });
    let read = Progress::decode(Some(&whole.to_string())).unwrap();
    assert!(read.encode().len() <= MAX_ENCODED);
    for (place, count) in [("/claim/draft_id", 34), ("/submission/evidence/class", 17)] {
        let mut longer = whole.clone();
        *longer.pointer_mut(place).unwrap() = json!(long(count));
        let refused = Progress::decode(Some(&longer.to_string()));
        assert!(
            matches!(refused, Err(ProgressError::Malformed(_))),
            "{place}"
        );
    }
}

#[test]
fn a_number_with_a_fraction_survives_every_rewrite() {
    let text =
        r#"{"v":1,"rev":1,"zz":[1.7976931348623157e308,5e-324,0.1,2.2250738585072011e-308]}"#;
    let read = Progress::decode(Some(text)).unwrap();
    assert_eq!(Progress::decode(Some(&read.encode())), Ok(read));
}

#[test]
fn a_time_that_no_date_field_takes_is_no_time() {
    for key in ["next_check_at", "deadline"] {
        let read =
            |at: &str| Progress::decode(Some(&json!({"v": 1, "rev": 1, key: at}).to_string()));
        for good in ["1970-01-01T00:00:00Z", "2999-12-31T23:59:59Z"] {
            assert!(read(good).is_ok(), "{key} {good}");
        }
        for bad in [
            "-009999-01-03T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "3000-01-01T00:00:00Z",
        ] {
            let read = read(bad);
            assert!(
                matches!(read, Err(ProgressError::Malformed(_))),
                "{key} {bad}: {read:?}"
            );
        }
    }
}

#[test]
fn that_a_progress_was_lost_stays_told_however_much_has_to_be_given_up() {
    let mut progress = Progress::replacing(Some("what was there"));
    progress.count_write(WriteId::parse(&"a".repeat(32)).unwrap());
    progress.unknown.keep("later", &"x".repeat(MAX_ENCODED));
    let text = progress.encode();
    assert!(text.len() <= MAX_ENCODED && !text.contains("later"));
    assert!(Progress::decode(Some(&text)).unwrap().was_replaced());
}
