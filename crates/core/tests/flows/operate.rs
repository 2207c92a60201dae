//! What a person settles or resumes, guarded like every other write.

use jiff::SignedDuration;
use sendtrail_core::flows::{Operated, Operation, operate};
use sendtrail_core::ids::{ExternalId, HistoryId, Sha256Hash, derive_reference};
use sendtrail_core::ports::{LookUpAnswer, SubmitOutcome};
use sendtrail_core::progress::SubmissionOutcome;

use crate::common::{Bench, PDF, accepted, down, evidence, external, later, unknown};

async fn operated(bench: &Bench, id: &HistoryId, operation: &Operation) -> Operated {
    let (store, world, until) = (&bench.store, &*bench.world, bench.world.after(30));
    operate(
        store,
        world,
        "local",
        id,
        operation,
        "Olga",
        "=asked\nthem",
        until,
    )
    .await
}

fn resume(external_id: Option<ExternalId>) -> Operation {
    Operation::Resume {
        external_id,
        give_up: SignedDuration::from_hours(2),
    }
}

fn done(state: &str) -> Operated {
    let state = state.to_owned();
    Operated::Done { state }
}

/// A record in review, since nothing can tell what became of the submit.
async fn in_review(bench: &Bench) -> HistoryId {
    let id = bench.sent(unknown()).await;
    assert_eq!(bench.state(&id), "needs_review");
    id
}

#[tokio::test(start_paused = true)]
async fn a_person_settles_a_record_in_review_and_the_reason_stays() {
    for (operation, state, event) in [
        (Operation::SettleSucceeded, "succeeded", "settled_succeeded"),
        (Operation::SettleFailed, "failed", "settled_failed"),
    ] {
        let bench = Bench::new();
        let id = in_review(&bench).await;
        assert_eq!(operated(&bench, &id, &operation).await, done(state));
        let (row, progress) = (bench.row(&id), bench.progress(&id));
        assert_eq!(row.state.as_deref(), Some(state));
        assert!(row.next_check_at.is_none() && row.notified);
        let last = progress.trail.last().unwrap();
        assert_eq!(
            (last.event.as_str(), last.by.as_deref()),
            (event, Some("Olga"))
        );
        assert_eq!(last.reason.as_deref(), Some("'=asked them"));
        // A final state is never left.
        bench.pass(3).await;
        let before = bench.row(&id);
        for operation in [
            Operation::SettleFailed,
            Operation::SettleSucceeded,
            resume(Some(external("l"))),
        ] {
            let refused = operated(&bench, &id, &operation).await;
            assert!(matches!(refused, Operated::Refused(_)), "{refused:?}");
        }
        assert_eq!(bench.row(&id), before);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_settled_or_resumed_from_any_other_state() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    for state in [
        "saved",
        "confirmed",
        "sending",
        "accepted",
        "succeeded",
        "failed",
        "sent!",
        "",
    ] {
        bench.type_state(&id, state);
        bench.pass(3).await;
        let before = bench.row(&id);
        for operation in [
            Operation::SettleFailed,
            Operation::SettleSucceeded,
            resume(None),
        ] {
            let refused = operated(&bench, &id, &operation).await;
            assert!(
                matches!(refused, Operated::Refused(_)),
                "{state}: {refused:?}"
            );
        }
        assert_eq!(bench.row(&id), before, "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resumed_send_is_looked_up_at_once_and_ends_by_its_new_deadline() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    bench.pass(25 * 3600).await;
    bench.poll().await;
    assert_eq!(bench.state(&id), "needs_review");
    let attempts = bench.progress(&id).attempts();
    bench.pass(120).await;
    let now = bench.now();
    assert_eq!(operated(&bench, &id, &resume(None)).await, done("accepted"));
    let progress = bench.progress(&id);
    assert_eq!(progress.attempts(), attempts, "attempts never fall");
    let deadline = progress.deadline().unwrap();
    assert!(deadline >= later(now, 7_199) && deadline <= later(bench.now(), 7_200));
    let status = "delivered".to_owned();
    bench.driver().will_answer(LookUpAnswer::Pending {
        status,
        recognised: true,
    });
    bench.pass(120).await;
    assert_eq!(bench.poll().await.pending, 1);
    bench.pass(7_200).await;
    assert_eq!(bench.poll().await.gave_up, 1);
    assert_eq!(
        bench.driver().submits().len(),
        1,
        "to resume is not to submit"
    );
}

#[tokio::test(start_paused = true)]
async fn a_resume_needs_an_id_and_takes_the_one_a_person_names() {
    let bench = Bench::new();
    let id = in_review(&bench).await;
    let before = bench.row(&id);
    let refused = operated(&bench, &id, &resume(None)).await;
    assert!(
        matches!(&refused, Operated::Refused(why) if why.contains("external id")),
        "{refused:?}"
    );
    assert_eq!(bench.row(&id), before);
    assert_eq!(
        operated(&bench, &id, &resume(Some(external("ltr_7")))).await,
        done("accepted")
    );
    let submission = bench.progress(&id).submission.unwrap();
    assert_eq!(submission.outcome, SubmissionOutcome::Accepted);
    assert_eq!(submission.external_id, Some(external("ltr_7")));
    assert_eq!(bench.row(&id).external_id.as_deref(), Some("ltr_7"));
    bench.pass(120).await;
    bench.poll().await;
    assert_eq!(bench.driver().look_ups(), [external("ltr_7")]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_outcome_was_never_recorded_can_be_resumed_with_the_id_of_the_alarm() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    bench.driver().takes(SignedDuration::from_secs(600));
    let killed = std::time::Duration::from_secs(30);
    assert!(
        tokio::time::timeout(killed, bench.press(&id, "press_1"))
            .await
            .is_err()
    );
    bench.pass(120).await;
    bench.poll().await;
    assert!(bench.progress(&id).submission.is_none());
    bench.pass(3).await;
    assert_eq!(
        operated(&bench, &id, &resume(Some(external("ltr_7")))).await,
        done("accepted")
    );
    let submission = bench.progress(&id).submission.unwrap();
    assert_eq!(
        submission.reference,
        derive_reference("local", &id, &Sha256Hash::of(PDF))
    );
    assert_eq!(submission.driver.as_str(), "letter");
}

#[tokio::test(start_paused = true)]
async fn an_edit_in_between_stands_and_nothing_is_settled() {
    let bench = Bench::new();
    let id = in_review(&bench).await;
    bench.settle(&id).await;
    let edit = async {
        bench.moments(30).await;
        bench.type_state(&id, "failed");
    };
    let (result, ()) = tokio::join!(operated(&bench, &id, &Operation::SettleSucceeded), edit);
    assert_eq!(result, Operated::ChangedElsewhere);
    assert_eq!(bench.state(&id), "failed");
}

#[tokio::test(start_paused = true)]
async fn a_progress_that_is_lost_can_be_settled_and_keeps_its_text_but_a_newer_one_is_left() {
    let bench = Bench::new();
    let id = in_review(&bench).await;
    bench
        .store
        .edit_by_hand(&id, |row| row.progress = Some("oops".into()));
    bench.pass(3).await;
    let refused = operated(&bench, &id, &resume(Some(external("ltr_1")))).await;
    assert!(matches!(refused, Operated::Refused(_)), "{refused:?}");
    assert_eq!(
        operated(&bench, &id, &Operation::SettleFailed).await,
        done("failed")
    );
    assert!(bench.row(&id).progress.unwrap().contains("oops"));

    let id = in_review(&bench).await;
    bench
        .store
        .edit_by_hand(&id, |row| row.progress = Some(r#"{"v":2}"#.into()));
    bench.pass(3).await;
    let before = bench.row(&id);
    let refused = operated(&bench, &id, &Operation::SettleFailed).await;
    assert!(
        matches!(&refused, Operated::Refused(why) if why.contains('2')),
        "{refused:?}"
    );
    assert_eq!(bench.row(&id), before);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_settles_nothing_and_a_lost_reply_settles_once() {
    let bench = Bench::new();
    let id = in_review(&bench).await;
    bench.store.fail_next_read(down());
    let failed = operated(&bench, &id, &Operation::SettleFailed).await;
    assert_eq!(failed, Operated::NotWritten(down()));
    assert_eq!(bench.state(&id), "needs_review");
    let writes = bench.store.writes();
    bench.store.lose_next_write_reply();
    assert_eq!(
        operated(&bench, &id, &Operation::SettleFailed).await,
        done("failed")
    );
    assert_eq!(bench.store.writes(), writes + 1);
}

#[tokio::test(start_paused = true)]
async fn a_settled_send_can_not_be_pressed_again() {
    let bench = Bench::new();
    let id = bench
        .sent(SubmitOutcome::Unknown(evidence("reset", None)))
        .await;
    operated(&bench, &id, &Operation::SettleFailed).await;
    bench.pass(3).await;
    for state in ["failed", "confirmed"] {
        bench.type_state(&id, state);
        bench.pass(3).await;
        bench.press(&id, "press_2").await;
    }
    assert_eq!(bench.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_send_that_was_never_claimed_is_not_told_as_delivered_or_looked_up() {
    for operation in [
        Operation::SettleSucceeded,
        Operation::Resume {
            external_id: Some(external("ltr_zz")),
            give_up: SignedDuration::from_hours(1),
        },
    ] {
        let bench = Bench::new();
        let id = bench.confirmed().await;
        bench.type_state(&id, "needs_review");
        bench.pass(3).await;
        let before = bench.row(&id);
        let refused = operated(&bench, &id, &operation).await;
        assert!(
            matches!(&refused, Operated::Refused(why) if why.contains("nothing was sent")),
            "{refused:?}"
        );
        assert_eq!(bench.row(&id), before);
    }
}
