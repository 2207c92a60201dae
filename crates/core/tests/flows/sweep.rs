//! Open claims: looked for, never submitted again, and always ended.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{SweepDue, after_find, sweep_due};
use sendtrail_core::ids::{HistoryId, Sha256Hash, derive_reference};
use sendtrail_core::ports::{Failure, FindAnswer};
use sendtrail_core::progress::{Progress, SubmissionOutcome, SubmitEvidence};
use sendtrail_core::state::Event;
use sendtrail_core::testing::pacing;
use serde_json::{Value, json};

use crate::common::{Bench, PDF, accepted, evidence, external, later, unknown};

const DAY: i64 = 24 * 3600;

fn start() -> Timestamp {
    Timestamp::from_second(1_767_225_600).unwrap()
}

fn id() -> HistoryId {
    HistoryId::parse("57").unwrap()
}

/// A claim at the start, without an outcome.
fn claimed_with(edit: impl FnOnce(&mut Value)) -> Progress {
    let hash = Sha256Hash::of(PDF).to_string();
    let mut value = json!({
        "v": 1, "rev": 3, "attempts": 0,
        "next_check_at": later(start(), 90).to_string(),
        "deadline": later(start(), DAY).to_string(),
        "document": {"sha256": hash, "bytes": PDF.len(), "file_id": "f", "input_sha256": hash,
            "confirmed_at": start().to_string(), "seal": "s"},
        "claim": {"token": "c1", "at": start().to_string(), "request_key": "press_1",
            "driver": "letter", "draft_id": "d1"},
    });
    edit(&mut value);
    Progress::decode(Some(&value.to_string())).unwrap()
}

fn claimed() -> Progress {
    claimed_with(|_| ())
}

/// The same, with an outcome that is not known, due after two minutes.
fn recorded() -> Progress {
    claimed_with(|value| {
        value["next_check_at"] = json!(later(start(), 120).to_string());
        value["submission"] = json!({"driver": "letter", "reference": "st_own", "outcome": "unknown",
            "external_id": null, "at": later(start(), 5).to_string(), "evidence": {"class": "timeout"}});
    })
}

fn due(progress: &Progress, seconds: i64) -> SweepDue {
    let policy = Bench::new().polling;
    sweep_due(later(start(), seconds), &policy, &id(), progress)
}

fn find(progress: &Progress, answer: &FindAnswer, seconds: i64) -> sendtrail_core::commit::Change {
    let now = later(start(), seconds);
    let reference = derive_reference("local", &id(), &Sha256Hash::of(PDF));
    let change = after_find(progress.clone(), &reference, answer, now, &pacing());
    assert!(change.progress.attempts() > progress.attempts());
    assert!(change.progress.next_check_at() <= change.progress.deadline());
    change
}

fn failed() -> FindAnswer {
    FindAnswer::Failed(Failure::Transient(evidence("timeout", None)))
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_not_looked_at_while_its_function_could_live() {
    for seconds in [0, 1, 89] {
        assert_eq!(due(&claimed(), seconds), SweepDue::NotYet);
        // Not even when a person empties the date, or the deadline is shorter than the function's life.
        let emptied = claimed_with(|value| value["next_check_at"] = Value::Null);
        assert_eq!(due(&emptied, seconds), SweepDue::NotYet);
        let short = claimed_with(|value| value["deadline"] = json!(start().to_string()));
        assert_eq!(due(&short, seconds), SweepDue::NotYet);
    }
    let reference = derive_reference("local", &id(), &Sha256Hash::of(PDF));
    let driver = sendtrail_core::ids::DriverId::parse("letter").unwrap();
    let draft_id = Some("d1".to_owned());
    let expected = SweepDue::Find {
        driver,
        reference,
        draft_id,
    };
    for seconds in [90, 91, 90 * DAY] {
        assert_eq!(due(&claimed(), seconds), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_looked_for_is_due_again_only_at_its_next_check() {
    let looked = find(&claimed(), &FindAnswer::None, 100);
    assert_eq!(looked.event, Some(Event::OutcomeUnknown));
    assert_eq!(looked.progress.next_check_at(), Some(later(start(), 220)));
    assert_eq!(due(&looked.progress, 219), SweepDue::NotYet);
    assert!(matches!(due(&looked.progress, 220), SweepDue::Find { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_recorded_unknown_is_due_at_its_next_check_without_waiting_for_the_claim() {
    assert_eq!(due(&recorded(), 119), SweepDue::NotYet);
    let SweepDue::Find { reference, .. } = due(&recorded(), 120) else {
        panic!("not due")
    };
    assert_eq!(
        reference.as_str(),
        "st_own",
        "the reference it was submitted under"
    );
    let early = claimed_with(|value| {
        value["deadline"] = json!(later(start(), 60).to_string());
        value["submission"] = json!({"driver": "letter", "reference": "st_own", "outcome": "unknown",
            "at": start().to_string()});
    });
    assert!(
        matches!(due(&early, 60), SweepDue::Find { .. }),
        "the deadline makes it due"
    );
}

#[tokio::test(start_paused = true)]
async fn sending_without_a_claim_or_a_document_goes_to_a_person() {
    let without = |key: &str| {
        claimed_with(|value| {
            value.as_object_mut().unwrap().remove(key);
        })
    };
    assert!(matches!(due(&without("claim"), 0), SweepDue::Review(_)));
    assert_eq!(due(&without("document"), 89), SweepDue::NotYet);
    assert!(matches!(due(&without("document"), 90), SweepDue::Review(_)));
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_time_a_person_moved_ahead_still_ends_after_its_deadline() {
    let moved = claimed_with(|value| value["claim"]["at"] = json!("2999-01-01T00:00:00Z"));
    assert_eq!(due(&moved, 90), SweepDue::NotYet);
    assert_eq!(due(&moved, DAY + 89), SweepDue::NotYet);
    assert!(matches!(due(&moved, DAY + 90), SweepDue::Find { .. }));
    let change = find(&moved, &FindAnswer::None, DAY + 90);
    assert_eq!(change.event, Some(Event::AcceptanceUnknown));
}

#[test]
fn one_match_is_accepted_also_after_grace_and_deadline() {
    for seconds in [90, 599, 600, DAY, 9 * DAY] {
        for progress in [claimed(), recorded()] {
            let change = find(&progress, &FindAnswer::One(external("ltr_1")), seconds);
            assert_eq!(change.event, Some(Event::Accepted));
            let submission = change.progress.submission.unwrap();
            assert_eq!(submission.outcome, SubmissionOutcome::Accepted);
            assert_eq!(submission.external_id, Some(external("ltr_1")));
            assert!(submission.evidence.class.starts_with("found"));
        }
    }
}

#[test]
fn none_is_asked_again_until_the_grace_is_over_then_a_person_decides_and_it_is_never_not_sent() {
    // The grace runs from the claim, or from the submit where it is known.
    for (progress, end) in [(claimed(), 600), (recorded(), 605)] {
        let change = find(&progress, &FindAnswer::None, end - 1);
        assert_eq!(change.event, Some(Event::OutcomeUnknown));
        for seconds in [end, end + 1, DAY, 9 * DAY] {
            let change = find(&progress, &FindAnswer::None, seconds);
            assert_eq!(change.event, Some(Event::AcceptanceUnknown));
            assert_eq!(change.progress.next_check_at(), None);
            assert_eq!(change.progress.claim.unwrap().resolved, None);
            assert_eq!(
                change.progress.last_error.unwrap().kind,
                "acceptance_unknown"
            );
        }
    }
    let short = claimed_with(|value| value["deadline"] = json!(later(start(), 200).to_string()));
    let change = find(&short, &FindAnswer::None, 200);
    assert_eq!(
        change.event,
        Some(Event::AcceptanceUnknown),
        "the deadline ends the grace"
    );
}

#[test]
fn several_go_to_a_person_with_the_ids_and_can_be_read_again() {
    let ids = vec!["ltr_1".to_owned(), "x".repeat(500), "=1".to_owned()];
    for progress in [claimed(), recorded()] {
        let change = find(&progress, &FindAnswer::Several(ids.clone()), 100);
        assert_eq!(change.event, Some(Event::AcceptanceUnknown));
        let read = Progress::decode(Some(&change.progress.encode())).unwrap();
        let submission = read.submission.unwrap();
        assert_eq!(submission.outcome, SubmissionOutcome::Unknown);
        assert_eq!(submission.external_id, None);
        assert_eq!(
            submission.evidence.found,
            ["ltr_1".to_owned(), "x".repeat(200), "'=1".to_owned()]
        );
    }
}

#[test]
fn no_answer_is_asked_again_until_the_deadline_and_retry_after_is_honoured() {
    let limited = FindAnswer::Failed(Failure::RateLimited {
        retry_after: Some(SignedDuration::from_secs(1_000)),
        evidence: evidence("status", Some(429)),
    });
    for (answer, wait) in [(failed(), 120), (limited, 1_000)] {
        let change = find(&claimed(), &answer, 700);
        assert_eq!(
            change.event,
            Some(Event::OutcomeUnknown),
            "past the grace, but not asked"
        );
        assert_eq!(
            change.progress.next_check_at(),
            Some(later(start(), 700 + wait))
        );
        assert_eq!(
            find(&claimed(), &answer, DAY - 1).event,
            Some(Event::OutcomeUnknown)
        );
        assert_eq!(
            find(&claimed(), &answer, DAY).event,
            Some(Event::AcceptanceUnknown)
        );
    }
}

#[test]
fn what_was_found_again_and_again_can_still_be_read() {
    let mut progress = recorded();
    for _ in 0..20 {
        progress = find(&progress, &FindAnswer::One(external("ltr_1")), 100).progress;
        progress = Progress::decode(Some(&progress.encode())).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_sweep_of_a_dead_function_never_submits_and_always_ends() {
    for (answer, state) in [
        (FindAnswer::One(external("ltr_1")), "accepted"),
        (FindAnswer::None, "needs_review"),
        (
            FindAnswer::Several(vec!["a".into(), "b".into()]),
            "needs_review",
        ),
        (failed(), "needs_review"),
    ] {
        let bench = Bench::finding();
        let id = bench.confirmed().await;
        // The function dies during the submit: its future is dropped.
        bench.driver().takes(SignedDuration::from_secs(600));
        let killed = std::time::Duration::from_secs(30);
        assert!(
            tokio::time::timeout(killed, bench.press(&id, "press_1"))
                .await
                .is_err()
        );
        bench.driver().takes(SignedDuration::ZERO);
        assert_eq!(bench.state(&id), "sending");
        let deadline = bench.progress(&id).deadline().unwrap();
        while bench.state(&id) == "sending" {
            assert!(bench.now() <= later(deadline, 240), "{answer:?} never ends");
            bench.driver().will_find(answer.clone());
            bench.pass(120).await;
            bench.poll().await;
        }
        assert_eq!(bench.state(&id), state, "{answer:?}");
        assert_eq!(bench.row(&id).notified, state == "needs_review");
        assert_eq!(bench.driver().submits().len(), 1, "{answer:?}");
        bench.type_state(&id, "confirmed");
        bench.pass(3).await;
        bench.press(&id, "press_2").await;
        assert_eq!(bench.driver().submits().len(), 1, "typed back: {answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_nothing_can_tell_the_first_sweep_gives_it_to_a_person() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    bench.driver().takes(SignedDuration::from_secs(600));
    let killed = std::time::Duration::from_secs(30);
    assert!(
        tokio::time::timeout(killed, bench.press(&id, "press_1"))
            .await
            .is_err()
    );
    let report = bench.poll().await;
    assert_eq!(
        (report.listed, report.written),
        (0, 0),
        "not before the claim is stale"
    );
    bench.pass(90).await;
    assert_eq!(bench.poll().await.acceptance_unknown, 1);
    assert_eq!(bench.state(&id), "needs_review");
    assert!(bench.driver().searches().is_empty());
    assert_eq!(bench.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_is_gone_keeps_the_state_until_the_deadline() {
    for outcome in [unknown(), accepted("ltr_1")] {
        let bench = Bench::finding();
        let id = bench.sent(outcome).await;
        let state = bench.state(&id);
        bench.edit_progress(&id, |progress| {
            progress["claim"]["driver"] = json!("gone");
            progress["submission"]["driver"] = json!("gone");
        });
        bench.pass(600).await;
        let before = bench.row(&id);
        let report = bench.poll().await;
        assert_eq!((report.no_driver, report.written), (1, 0));
        assert_eq!(bench.row(&id), before);
        assert_eq!(bench.state(&id), state);
        bench.pass(DAY).await;
        bench.poll().await;
        assert_eq!(bench.state(&id), "needs_review");
    }
}

#[tokio::test(start_paused = true)]
async fn sending_that_a_person_typed_on_an_unclaimed_record_goes_to_a_person() {
    let bench = Bench::finding();
    let id = bench.confirmed().await;
    bench.type_state(&id, "sending");
    bench.pass(120).await;
    bench.poll().await;
    assert_eq!(bench.state(&id), "needs_review");
    assert!(bench.driver().submits().is_empty() && bench.driver().searches().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_search_that_began_before_the_grace_was_over_is_not_the_last() {
    let bench = Bench::finding();
    let id = bench.sent(unknown()).await;
    let submitted = bench.progress(&id).submission.unwrap().at;
    let grace_end = later(submitted, pacing().find_grace.as_secs());
    let left = grace_end.duration_since(bench.now()).as_secs();
    bench.pass(left - 2).await;
    bench.driver().takes(SignedDuration::from_secs(5));
    bench.poll().await;
    assert!(bench.now() > grace_end, "the answer came after it");
    assert_eq!(bench.state(&id), "sending");
    bench.pass(150).await;
    bench.poll().await;
    assert_eq!(bench.state(&id), "needs_review");
    assert_eq!(bench.driver().searches().len(), 2);
}

#[test]
fn what_was_seen_of_a_submit_stays_when_it_is_found() {
    let mut progress = recorded();
    let submission = progress.submission.as_mut().unwrap();
    submission.evidence.status = Some(504);
    submission.evidence.detail = "gateway".to_owned();
    submission.evidence.bytes_sent = 4_711;
    let seen = submission.evidence.clone();
    let change = find(&progress, &FindAnswer::One(external("ltr_1")), 100);
    let kept = change.progress.submission.unwrap().evidence;
    let class = format!("found after {}", seen.class);
    assert_eq!(kept, SubmitEvidence { class, ..seen });
}
