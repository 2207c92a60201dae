//! An outcome that the function could not write, recorded by a person.

use jiff::SignedDuration;
use sendtrail_core::flows::{Operated, Operation, operate};
use sendtrail_core::ids::{HistoryId, Sha256Hash, derive_reference};
use sendtrail_core::ports::{LookUpAnswer, SubmitOutcome};
use sendtrail_core::progress::SubmissionOutcome;
use serde_json::json;

use crate::common::{Bench, PDF, accepted, down, external, later, not_sent, unknown};

async fn recorded(bench: &Bench, id: &HistoryId, external_id: &str) -> Operated {
    let operation = Operation::Record {
        external_id: external(external_id),
        give_up: SignedDuration::from_hours(2),
    };
    let (store, world, until) = (&bench.store, &*bench.world, bench.world.after(30));
    operate(
        store,
        world,
        "local",
        id,
        &operation,
        "Olga",
        "from the log",
        until,
    )
    .await
}

fn done(state: &str) -> Operated {
    let state = state.to_owned();
    Operated::Done { state }
}

/// A record whose claim stands and whose outcome nobody wrote.
async fn claimed(bench: &Bench) -> HistoryId {
    let id = bench.sent(accepted("ltr_1")).await;
    bench.type_state(&id, "sending");
    bench.edit_progress(&id, |progress| {
        progress.as_object_mut().unwrap().remove("submission");
        progress["last_error"] = json!({"at": "2026-01-01T00:00:00Z", "kind": "x"});
    });
    bench.settle(&id).await;
    id
}

#[tokio::test(start_paused = true)]
async fn the_outcome_of_an_open_claim_is_recorded_and_looked_up_next() {
    let bench = Bench::new();
    let id = claimed(&bench).await;
    let claim = bench.progress(&id).claim.unwrap();
    let claimed_until = bench.progress(&id).deadline().unwrap();
    assert_eq!(recorded(&bench, &id, "ltr_9").await, done("accepted"));
    let progress = bench.progress(&id);
    let submission = progress.submission.clone().unwrap();
    assert_eq!(submission.outcome, SubmissionOutcome::Accepted);
    assert_eq!(submission.external_id, Some(external("ltr_9")));
    assert_eq!(submission.driver, claim.driver);
    let reference = derive_reference("local", &id, &Sha256Hash::of(PDF));
    assert_eq!(submission.reference, reference);
    assert_eq!(submission.evidence.class, "named by a person");
    assert_eq!(progress.claim, Some(claim), "the claim stays");
    assert!(progress.last_error.is_none());
    assert_eq!(
        progress.deadline(),
        Some(claimed_until),
        "the later of the two"
    );
    assert!(progress.next_check_at().unwrap() <= bench.now());
    let last = progress.trail.last().unwrap();
    assert_eq!(
        (
            last.event.as_str(),
            last.by.as_deref(),
            last.reason.as_deref()
        ),
        ("accepted", Some("Olga"), Some("from the log"))
    );
    assert_eq!(bench.row(&id).external_id.as_deref(), Some("ltr_9"));
    // It goes on by itself from here.
    let status = "delivered".to_owned();
    bench
        .driver()
        .will_answer(LookUpAnswer::Delivered { status });
    bench.pass(120).await;
    bench.even_tick().await;
    bench.poll().await;
    assert_eq!(bench.state(&id), "succeeded");
    assert_eq!(bench.look_ups(), ["ltr_9"]);
    assert_eq!(bench.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_was_recorded_as_unknown_gets_its_id_and_keeps_its_evidence() {
    let bench = Bench::finding();
    let id = bench.sent(unknown()).await;
    assert_eq!(bench.state(&id), "sending");
    assert_eq!(recorded(&bench, &id, "ltr_9").await, done("accepted"));
    let submission = bench.progress(&id).submission.unwrap();
    assert_eq!(submission.external_id, Some(external("ltr_9")));
    assert_eq!(submission.outcome, SubmissionOutcome::Accepted);
    assert_eq!(submission.evidence.class, "timeout");
}

#[tokio::test(start_paused = true)]
async fn in_review_it_is_a_resume_with_a_new_deadline() {
    let bench = Bench::new();
    let id = bench.sent(unknown()).await;
    assert_eq!(bench.state(&id), "needs_review");
    assert_eq!(recorded(&bench, &id, "ltr_9").await, done("accepted"));
    let progress = bench.progress(&id);
    assert_eq!(progress.trail.last().unwrap().event, "resumed");
    assert!(progress.deadline().unwrap() <= later(bench.now(), 2 * 3_600));
    assert_eq!(
        progress.submission.unwrap().external_id,
        Some(external("ltr_9"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_record_that_has_no_outcome_to_record_is_left_alone_with_words() {
    for state in [
        "saved",
        "confirmed",
        "accepted",
        "succeeded",
        "failed",
        "sent!",
        "",
    ] {
        let bench = Bench::new();
        let id = claimed(&bench).await;
        bench.type_state(&id, state);
        bench.pass(3).await;
        let before = bench.row(&id);
        let refused = recorded(&bench, &id, "ltr_9").await;
        let Operated::Refused(why) = refused else {
            panic!("{state}: {refused:?}")
        };
        assert!(why.contains(state) && why.contains("needs_review"), "{why}");
        assert_eq!(bench.row(&id), before);
    }
}

#[tokio::test(start_paused = true)]
async fn sending_without_an_open_claim_is_not_taken_for_a_submit() {
    let bench = Bench::new();
    let resolved = bench.sent(SubmitOutcome::NotSent(not_sent(None))).await;
    let unclaimed = bench.confirmed().await;
    for (id, words) in [(resolved, "no open claim"), (unclaimed, "never claimed")] {
        bench.type_state(&id, "sending");
        bench.pass(3).await;
        let before = bench.row(&id);
        let refused = recorded(&bench, &id, "ltr_9").await;
        assert!(
            matches!(&refused, Operated::Refused(why) if why.contains(words)),
            "{refused:?}"
        );
        assert_eq!(bench.row(&id), before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_refused_and_one_that_may_stand_are_told_apart() {
    let bench = Bench::new();
    let id = claimed(&bench).await;
    bench.store.fail_next_write(down());
    assert_eq!(
        recorded(&bench, &id, "ltr_9").await,
        Operated::NotWritten(down())
    );
    assert_eq!(bench.state(&id), "sending");
    for _ in 0..3 {
        bench.store.lose_next_write();
    }
    let unconfirmed = recorded(&bench, &id, "ltr_9").await;
    assert!(
        matches!(unconfirmed, Operated::Unconfirmed(_)),
        "{unconfirmed:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_edit_in_between_stands() {
    let bench = Bench::new();
    let id = claimed(&bench).await;
    let edit = async {
        let reads = bench.store.reads();
        while bench.store.reads() == reads {
            bench.moment().await;
        }
        bench.type_state(&id, "failed");
    };
    let (operated, ()) = tokio::join!(recorded(&bench, &id, "ltr_9"), edit);
    assert_eq!(operated, Operated::ChangedElsewhere);
    assert_eq!(bench.state(&id), "failed");
}
