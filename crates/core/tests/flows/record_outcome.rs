//! The outcome of a submit is not lost, and not written over a person.

use jiff::SignedDuration;
use sendtrail_core::flows::{Recorded, Sent};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{Clock as _, FindAnswer, Metered as _, SubmitOutcome};
use sendtrail_core::progress::{Resolution, SubmissionOutcome};
use serde_json::json;

use crate::common::{Bench, accepted, down, evidence, external, not_sent, unknown};

/// Presses, does this while the submit is under way, and tells what became of recording.
async fn recorded(
    bench: &Bench,
    id: &HistoryId,
    outcome: SubmitOutcome,
    meanwhile: impl FnOnce(),
) -> Recorded {
    bench.driver().takes(SignedDuration::from_secs(5));
    bench.driver().will_submit(outcome);
    let (sent, ()) = tokio::join!(bench.press(id, "press_1"), bench.when_submitting(meanwhile));
    assert_eq!(bench.driver().submits().len(), 1, "never a second time");
    let Sent::Done { recorded, .. } = sent else {
        panic!("{sent:?}")
    };
    recorded
}

#[tokio::test(start_paused = true)]
async fn a_conflict_with_the_claim_intact_is_written_on_the_new_revision() {
    for (outcome, state) in [
        (accepted("ltr_1"), "accepted"),
        (
            SubmitOutcome::Rejected(evidence("status", Some(422))),
            "failed",
        ),
        (unknown(), "needs_review"),
        (SubmitOutcome::NotSent(not_sent(None)), "confirmed"),
    ] {
        let bench = Bench::new();
        let id = bench.confirmed().await;
        let edit = || bench.store.edit_by_hand(&id, |row| row.source = None);
        let recorded = recorded(&bench, &id, outcome, edit).await;
        let conflicts = 1;
        let state = state.to_owned();
        assert_eq!(bench.state(&id), state);
        let next_check_at = bench.progress(&id).next_check_at();
        assert_eq!(next_check_at.is_some(), state == "accepted", "{state}");
        assert_eq!(
            recorded,
            Recorded::Written {
                state,
                conflicts,
                late: true,
                next_check_at
            }
        );
        assert_eq!(bench.row(&id).source, None, "the edit stands");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_of_a_later_version_that_came_meanwhile_survive() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let edit = || bench.edit_progress(&id, |progress| progress["later"] = json!(7));
    recorded(&bench, &id, accepted("ltr_1"), edit).await;
    assert!(bench.row(&id).progress.unwrap().contains(r#""later":7"#));
    assert_eq!(bench.state(&id), "accepted");
}

#[tokio::test(start_paused = true)]
async fn a_state_a_person_moved_stays_and_the_submission_joins_the_progress() {
    for typed in [
        "needs_review",
        "failed",
        "confirmed",
        "accepted",
        "saved",
        "sent!",
        "",
    ] {
        let bench = Bench::new();
        let id = bench.confirmed().await;
        let edit = || bench.type_state(&id, typed);
        let recorded = recorded(&bench, &id, accepted("ltr_1"), edit).await;
        let state = typed.to_owned();
        assert_eq!(bench.state(&id), state);
        assert_eq!(recorded, Recorded::BesideAPerson { state });
        let submission = bench.progress(&id).submission.unwrap();
        assert_eq!(submission.external_id, Some(external("ltr_1")));
        assert_eq!(bench.row(&id).external_id.as_deref(), Some("ltr_1"));
        assert_eq!(bench.events(&id).last().unwrap(), "outcome_noted");
        assert!(!bench.row(&id).notified);
        // Typed back, it is still known to have been submitted.
        bench.type_state(&id, "confirmed");
        bench.pass(3).await;
        bench.press(&id, "press_2").await;
        assert_eq!(bench.driver().submits().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn not_sent_beside_a_person_only_frees_the_claim() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let edit = || bench.type_state(&id, "needs_review");
    let outcome = SubmitOutcome::NotSent(not_sent(None));
    let recorded = recorded(&bench, &id, outcome, edit).await;
    let state = "needs_review".to_owned();
    assert_eq!(recorded, Recorded::BesideAPerson { state });
    let progress = bench.progress(&id);
    assert_eq!(progress.claim.unwrap().resolved, Some(Resolution::NotSent));
    assert!(progress.submission.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_progress_a_person_emptied_or_broke_gets_the_submission_and_keeps_the_text() {
    for text in [None, Some(""), Some("  "), Some("oops"), Some("[]")] {
        let bench = Bench::new();
        let id = bench.confirmed().await;
        let edit = || {
            bench
                .store
                .edit_by_hand(&id, |row| row.progress = text.map(ToOwned::to_owned));
        };
        let recorded = recorded(&bench, &id, accepted("ltr_1"), edit).await;
        let state = "sending".to_owned();
        assert_eq!(recorded, Recorded::BesideAPerson { state });
        let submission = bench.progress(&id).submission.unwrap();
        assert_eq!(submission.external_id, Some(external("ltr_1")));
        let written = bench.row(&id).progress.unwrap();
        assert!(written.contains(text.unwrap_or_default().trim()));
        // Such a record ends: a person decides, with the id at hand.
        bench.pass(120).await;
        bench.poll().await;
        assert_eq!(bench.state(&id), "needs_review");
        assert_eq!(bench.row(&id).external_id.as_deref(), Some("ltr_1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_newer_progress_is_left_untouched_and_the_outcome_is_reported() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let text = r#"{"v":2,"new":true}"#;
    let edit = || {
        bench
            .store
            .edit_by_hand(&id, |row| row.progress = Some(text.to_owned()));
    };
    let recorded = recorded(&bench, &id, accepted("ltr_1"), edit).await;
    assert!(
        matches!(recorded, Recorded::Unrecorded { .. }),
        "{recorded:?}"
    );
    assert_eq!(bench.row(&id).progress.as_deref(), Some(text));
}

#[tokio::test(start_paused = true)]
async fn what_the_sweep_found_meanwhile_is_not_replaced() {
    for (outcome, noted) in [
        (accepted("ltr_1"), None),
        (accepted("ltr_2"), Some("ltr_2")),
        (unknown(), None),
        (SubmitOutcome::NotSent(not_sent(None)), None),
    ] {
        // The poller takes the living function for dead: its margin for clocks is wrong.
        let mut bench = Bench::finding();
        bench.polling.claim_stale = SignedDuration::ZERO;
        bench.policy.claim_stale = SignedDuration::ZERO;
        let id = bench.confirmed().await;
        bench.driver().will_submit(outcome);
        bench.driver().will_find(FindAnswer::One(external("ltr_1")));
        bench.driver().takes(SignedDuration::from_secs(5));
        let sweep = async {
            bench.when_submitting(|| ()).await;
            bench.driver().takes(SignedDuration::ZERO);
            bench.pass(1).await;
            bench.poll().await
        };
        let (_, report) = tokio::join!(bench.press(&id, "press_1"), sweep);
        assert_eq!(report.found, 1);
        let submission = bench.progress(&id).submission.unwrap();
        assert_eq!(submission.external_id, Some(external("ltr_1")));
        assert_eq!(submission.outcome, SubmissionOutcome::Accepted);
        let found: Vec<_> = noted.into_iter().map(ToOwned::to_owned).collect();
        assert_eq!(submission.evidence.found, found);
        assert_eq!(bench.state(&id), "accepted");
        assert_eq!(bench.driver().submits().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sweep_that_found_nothing_yet_does_not_take_the_outcome_away() {
    let mut bench = Bench::finding();
    bench.polling.claim_stale = SignedDuration::ZERO;
    bench.policy.claim_stale = SignedDuration::ZERO;
    let id = bench.confirmed().await;
    let mut attempts = 0;
    bench.driver().will_submit(accepted("ltr_1"));
    bench.driver().takes(SignedDuration::from_secs(8));
    let sweep = async {
        bench.when_submitting(|| ()).await;
        bench.driver().takes(SignedDuration::ZERO);
        bench.pass(1).await;
        bench.poll().await;
        attempts = bench.progress(&id).attempts();
    };
    let (_, ()) = tokio::join!(bench.press(&id, "press_1"), sweep);
    assert_eq!(attempts, 1);
    assert_eq!(bench.state(&id), "accepted");
    assert_eq!(bench.progress(&id).attempts(), 1);
    assert_eq!(
        bench.events(&id)[2..],
        ["claimed", "outcome_unknown", "accepted"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_sweep_that_gave_a_living_submit_to_a_person_keeps_the_state_and_gets_the_id() {
    let mut bench = Bench::new();
    bench.polling.claim_stale = SignedDuration::ZERO;
    bench.policy.claim_stale = SignedDuration::ZERO;
    let id = bench.confirmed().await;
    bench.driver().will_submit(accepted("ltr_1"));
    bench.driver().takes(SignedDuration::from_secs(5));
    let sweep = async {
        bench.when_submitting(|| ()).await;
        bench.pass(1).await;
        bench.poll().await
    };
    let (sent, report) = tokio::join!(bench.press(&id, "press_1"), sweep);
    assert_eq!(report.acceptance_unknown, 1);
    let Sent::Done { recorded, .. } = sent else {
        panic!("{sent:?}")
    };
    let state = "needs_review".to_owned();
    assert_eq!(recorded, Recorded::BesideAPerson { state });
    assert_eq!(bench.state(&id), "needs_review");
    let submission = bench.progress(&id).submission.unwrap();
    assert_eq!(submission.external_id, Some(external("ltr_1")));
    assert_eq!(bench.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_whose_reply_was_lost_is_written_once() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let recorded = recorded(&bench, &id, accepted("ltr_1"), || {
        bench.store.lose_next_write_reply();
    });
    assert!(matches!(
        recorded.await,
        Recorded::Written { conflicts: 0, .. }
    ));
    assert_eq!(bench.store.writes(), 3);
    assert_eq!(bench.events(&id)[2..], ["claimed", "accepted"]);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_applied_late_is_written_once_and_told() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let recorded = recorded(&bench, &id, accepted("ltr_1"), || {
        for _ in 0..3 {
            bench
                .store
                .apply_next_write_late(SignedDuration::from_secs(4));
        }
    });
    let recorded = recorded.await;
    bench.pass(10).await;
    assert_eq!(bench.store.writes(), 3);
    assert_eq!(bench.state(&id), "accepted");
    assert_eq!(
        bench.progress(&id).submission.unwrap().external_id,
        Some(external("ltr_1"))
    );
    assert!(matches!(recorded, Recorded::Written { .. }), "{recorded:?}");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_down_leaves_the_outcome_to_the_alarm_and_the_record_to_the_sweep() {
    let bench = Bench::finding();
    let id = bench.confirmed().await;
    let recorded = recorded(&bench, &id, accepted("ltr_1"), || {
        for _ in 0..200 {
            bench.store.fail_next_write(down());
        }
    });
    let until = bench.world.after(30);
    let recorded = recorded.await;
    assert!(
        matches!(recorded, Recorded::Unrecorded { .. }),
        "{recorded:?}"
    );
    assert!(bench.now() <= until);
    assert_eq!(bench.state(&id), "sending");
    // The store is back: the sweep finds it by reference.
    while bench.state(&id) == "sending" {
        bench.driver().will_find(FindAnswer::One(external("ltr_1")));
        bench.pass(120).await;
        bench.poll().await;
    }
    assert_eq!(bench.state(&id), "accepted");
    assert_eq!(bench.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_back_in_time_gets_the_outcome() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let recorded = recorded(&bench, &id, accepted("ltr_1"), || {
        for _ in 0..5 {
            bench.store.fail_next_write(down());
        }
        for _ in 0..3 {
            bench.store.fail_next_read(down());
        }
    });
    assert!(matches!(recorded.await, Recorded::Written { .. }));
    assert_eq!(bench.state(&id), "accepted");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_of_a_deleted_record_is_told_soon_and_costs_few_reads() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let calls = std::cell::Cell::new(0);
    let start = std::cell::Cell::new(bench.world.now());
    let delete = || {
        bench.store.delete(&id);
        calls.set(bench.store.usage().calls);
        start.set(bench.world.now());
    };
    let recorded = recorded(&bench, &id, accepted("ltr_1"), delete).await;
    let Recorded::Unrecorded { detail } = recorded else {
        panic!("{recorded:?}")
    };
    assert!(detail.contains("not found"), "{detail}");
    assert!(bench.store.usage().calls - calls.get() < 10);
    let took = bench.world.now().duration_since(start.get());
    assert!(took < SignedDuration::from_secs(10), "{took}");
}
