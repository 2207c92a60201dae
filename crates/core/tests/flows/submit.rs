//! From the claim to the outcome: one submit, or none.

use jiff::SignedDuration;
use sendtrail_core::flows::{Recorded, Refused, Sent};
use sendtrail_core::ids::{ClaimToken, Sha256Hash, derive_reference};
use sendtrail_core::ports::{FindAnswer, SubmitOutcome};
use sendtrail_core::progress::{Resolution, SubmissionOutcome};

use crate::common::{
    Bench, PDF, accepted, down, evidence, external, later, not_sent, press, unknown,
};

fn is_not_sent(sent: &Sent) -> bool {
    matches!(
        sent,
        Sent::Done {
            outcome: SubmitOutcome::NotSent(_),
            ..
        }
    )
}

#[tokio::test(start_paused = true)]
async fn an_accepted_submit_is_claimed_sent_once_and_recorded() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    bench.driver().will_submit(accepted("ltr_1"));
    let begin = bench.now();
    let sent = bench.press(&id, "press_1").await;
    let recorded = Recorded::Written {
        state: "accepted".to_owned(),
        conflicts: 0,
        late: false,
        next_check_at: bench.progress(&id).next_check_at(),
    };
    let outcome = accepted("ltr_1");
    assert_eq!(sent, Sent::Done { outcome, recorded });
    let hash = Sha256Hash::of(PDF);
    let reference = derive_reference("local", &id, &hash);
    assert_eq!(bench.driver().submits(), [(reference.clone(), hash)]);
    assert_eq!(bench.store.writes(), 3, "confirm, claim, outcome");

    let (row, progress) = (bench.row(&id), bench.progress(&id));
    let submission = progress.submission.clone().unwrap();
    assert_eq!(submission.outcome, SubmissionOutcome::Accepted);
    assert_eq!(
        (submission.external_id, submission.reference),
        (Some(external("ltr_1")), reference)
    );
    assert_eq!(submission.evidence.bytes_sent, 99);
    assert!(submission.evidence.started_at.is_some());
    assert_eq!(row.external_id.as_deref(), Some("ltr_1"));
    assert_eq!(row.next_check_at, progress.next_check_at());
    assert_eq!(row.deadline, progress.deadline());
    let claim = progress.claim.clone().unwrap();
    assert_eq!(progress.deadline(), Some(later(claim.at, 24 * 3600)));
    let check = progress.next_check_at().unwrap();
    assert!(check >= later(begin, 60) && check <= later(bench.now(), 60));
    assert_eq!((progress.attempts(), progress.last_error), (0, None));
    assert!(!row.notified, "accepted is no result");
    let events = bench.events(&id);
    assert_eq!(events[2..], ["claimed", "accepted"]);
    assert_eq!(
        bench.progress(&id).trail[2].by.as_deref(),
        Some("Sam Seller")
    );
}

#[tokio::test(start_paused = true)]
async fn a_rejected_submit_fails_at_once_and_is_never_looked_up() {
    let bench = Bench::finding();
    let id = bench
        .sent(SubmitOutcome::Rejected(evidence("status", Some(422))))
        .await;
    let (row, progress) = (bench.row(&id), bench.progress(&id));
    assert_eq!(row.state.as_deref(), Some("failed"));
    assert!(row.next_check_at.is_none() && row.notified);
    let error = progress.last_error.unwrap();
    assert_eq!((error.kind.as_str(), error.status), ("rejected", Some(422)));
    assert_eq!(
        progress.submission.unwrap().outcome,
        SubmissionOutcome::Rejected
    );
    bench.pass(200_000).await;
    assert_eq!(bench.poll().await.listed, 0);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_that_nothing_can_tell_is_given_to_a_person_at_once() {
    let bench = Bench::new();
    let id = bench.sent(unknown()).await;
    let (row, progress) = (bench.row(&id), bench.progress(&id));
    assert_eq!(row.state.as_deref(), Some("needs_review"));
    assert!(row.next_check_at.is_none() && row.notified);
    assert_eq!(progress.last_error.unwrap().kind, "acceptance_unknown");
    assert_eq!(
        progress.submission.unwrap().outcome,
        SubmissionOutcome::Unknown
    );
    assert_eq!(bench.events(&id)[3], "acceptance_unknown");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_that_can_be_found_stays_sending_and_is_swept() {
    let bench = Bench::finding();
    let id = bench.sent(unknown()).await;
    let (row, progress) = (bench.row(&id), bench.progress(&id));
    assert_eq!(row.state.as_deref(), Some("sending"));
    let at = progress.submission.clone().unwrap().at;
    // A fifth of the grace of 600 s.
    assert_eq!(progress.next_check_at(), Some(later(at, 120)));
    assert!(progress.deadline().is_some() && !row.notified);
    bench.driver().will_find(FindAnswer::One(external("ltr_9")));
    bench.pass(130).await;
    assert_eq!(bench.poll().await.found, 1);
    assert_eq!(bench.state(&id), "accepted");
    assert_eq!(bench.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn not_sent_goes_back_to_confirmed_and_only_another_press_sends() {
    let bench = Bench::new();
    let id = bench.sent(SubmitOutcome::NotSent(not_sent(Some(30)))).await;
    let (row, progress) = (bench.row(&id), bench.progress(&id));
    assert_eq!(row.state.as_deref(), Some("confirmed"));
    assert!(row.next_check_at.is_none() && row.deadline.is_none());
    let error = progress.last_error.unwrap();
    assert!(
        error.kind == "not_sent" && error.detail.contains("30 s"),
        "{error:?}"
    );
    assert_eq!(progress.claim.unwrap().resolved, Some(Resolution::NotSent));
    assert!(progress.submission.is_none());
    bench.pass(200_000).await;
    assert_eq!(bench.poll().await.listed, 0, "nothing presses again");

    bench.driver().will_submit(accepted("ltr_1"));
    let sent = bench.press(&id, "press_2").await;
    assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    assert_eq!(bench.state(&id), "accepted");
    let submits = bench.driver().submits();
    assert_eq!(submits.len(), 2);
    assert_eq!(
        submits[0], submits[1],
        "the same reference, so that a vendor can tell a repeat"
    );
    assert!(bench.progress(&id).last_error.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_same_press_again_sends_nothing_also_after_not_sent_and_after_later_presses() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    for n in 0..4 {
        bench
            .driver()
            .will_submit(SubmitOutcome::NotSent(not_sent(None)));
        let sent = bench.press(&id, &format!("press_{n}")).await;
        assert!(is_not_sent(&sent), "{sent:?}");
        bench.pass(3).await;
    }
    let before = bench.row(&id);
    for n in 0..4 {
        let same = bench.press(&id, &format!("press_{n}")).await;
        let state = "confirmed".to_owned();
        let outcome = Some("not_sent");
        assert_eq!(same, Sent::SamePress { state, outcome }, "press_{n}");
    }
    assert_eq!(bench.driver().submits().len(), 4);
    assert_eq!(bench.row(&id), before);
}

#[tokio::test(start_paused = true)]
async fn the_same_press_again_tells_the_state_it_led_to() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    let same = bench.press(&id, &format!("press_{id}")).await;
    let state = "accepted".to_owned();
    let outcome = Some("accepted");
    assert_eq!(same, Sent::SamePress { state, outcome });
    assert_eq!(bench.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_presses_at_once_submit_once() {
    for (one, two) in [("press_1", "press_2"), ("press_1", "press_1")] {
        let bench = Bench::new();
        let id = bench.confirmed().await;
        bench.driver().will_submit(accepted("ltr_1"));
        let (one, two) = tokio::join!(bench.press(&id, one), bench.press(&id, two));
        assert_eq!(bench.driver().submits().len(), 1);
        let lost = Sent::Refused(Refused::ChangedElsewhere);
        assert_eq!(
            [&one, &two]
                .into_iter()
                .filter(|sent| **sent == lost)
                .count(),
            1
        );
        assert_eq!(bench.state(&id), "accepted");
    }
}

#[tokio::test(start_paused = true)]
async fn harmless_steps_that_fail_claim_nothing_send_nothing_and_leave_the_reason() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    bench.driver().will_not_prepare(not_sent(None));
    let before = bench.row(&id);
    let sent = bench.press(&id, "press_1").await;
    let state = "confirmed".to_owned();
    let recorded = Recorded::Nothing { state };
    let outcome = SubmitOutcome::NotSent(not_sent(None));
    assert_eq!(sent, Sent::Done { outcome, recorded });
    let (row, progress) = (bench.row(&id), bench.progress(&id));
    assert_eq!((row.state, row.deadline), (before.state, None));
    assert!(progress.claim.is_none() && progress.submission.is_none());
    assert_eq!(
        progress.last_error.map(|error| error.kind),
        Some("not_sent".to_owned())
    );
    assert!(bench.driver().submits().is_empty());
    // The record stays as sendable as it was.
    bench.driver().will_submit(accepted("ltr_1"));
    bench.driver().will_prepare();
    bench.pass(3).await;
    bench.press(&id, "press_2").await;
    assert_eq!(bench.state(&id), "accepted");
}

#[tokio::test(start_paused = true)]
async fn an_edit_before_the_claim_is_a_conflict_and_nothing_is_submitted() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    // Read, download, twins, then the claim: 20 ms each.
    let edit = async {
        bench.pass(0).await;
        tokio::time::sleep(std::time::Duration::from_millis(70)).await;
        bench
            .store
            .edit_by_hand(&id, |row| row.external_id = Some("typed".into()));
    };
    let (sent, ()) = tokio::join!(bench.press(&id, "press_1"), edit);
    assert_eq!(sent, Sent::Refused(Refused::ChangedElsewhere));
    assert!(bench.driver().submits().is_empty());
    assert_eq!(bench.row(&id).external_id.as_deref(), Some("typed"));
    assert_eq!(bench.store.writes(), 1, "the confirm");
}

#[tokio::test(start_paused = true)]
async fn a_state_a_person_moves_between_claim_and_proof_stops_the_submit_and_frees_the_claim() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let edit = bench.when(&id, "sending", || bench.type_state(&id, "confirmed"));
    let (sent, ()) = tokio::join!(bench.press(&id, "press_1"), edit);
    assert_eq!(sent, Sent::Refused(Refused::ChangedElsewhere));
    assert!(bench.driver().submits().is_empty());
    assert_eq!(bench.state(&id), "confirmed", "the person's state stands");
    assert_eq!(
        bench.progress(&id).claim.unwrap().resolved,
        Some(Resolution::NotSent)
    );
    // Nothing was sent, so that another press may.
    bench.driver().will_submit(accepted("ltr_1"));
    bench.pass(3).await;
    bench.press(&id, "press_2").await;
    assert_eq!(bench.state(&id), "accepted");
    assert_eq!(bench.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_another_one_replaced_submits_nothing() {
    // A CRM whose check and write are not one step lets a second claim through.
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let other = bench.when(&id, "sending", || {
        bench.edit_progress(&id, |progress| progress["claim"]["token"] = "other".into());
    });
    let (sent, ()) = tokio::join!(bench.press(&id, "press_1"), other);
    assert_eq!(sent, Sent::Refused(Refused::ChangedElsewhere));
    assert!(bench.driver().submits().is_empty());
    let claim = bench.progress(&id).claim.unwrap();
    assert_eq!(claim.token, ClaimToken::parse("other").unwrap());
    assert_eq!(
        claim.resolved, None,
        "the other's claim is not ours to free"
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_reply_was_lost_is_recognised_and_submits_once() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    bench.driver().will_submit(accepted("ltr_1"));
    bench.store.lose_next_write_reply();
    bench.press(&id, "press_1").await;
    assert_eq!(bench.state(&id), "accepted");
    assert_eq!(bench.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_never_confirmed_submits_nothing_and_leaves_the_record_as_it_was() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let before = bench.row(&id);
    for _ in 0..3 {
        bench.store.lose_next_write();
    }
    let sent = bench.press(&id, "press_1").await;
    assert!(is_not_sent(&sent), "{sent:?}");
    assert!(bench.driver().submits().is_empty());
    assert_eq!(bench.row(&id), before);
}

#[tokio::test(start_paused = true)]
async fn a_claim_applied_after_its_function_died_submits_nothing_and_is_ended_by_the_sweep() {
    let bench = Bench::finding();
    let id = bench.confirmed().await;
    for _ in 0..3 {
        bench
            .store
            .apply_next_write_late(SignedDuration::from_secs(60));
    }
    let sent = bench.press(&id, "press_1").await;
    assert!(is_not_sent(&sent), "{sent:?}");
    bench.pass(70).await;
    assert_eq!(bench.state(&id), "sending");
    for _ in 0..20 {
        bench.pass(120).await;
        bench.poll().await;
    }
    assert_eq!(bench.state(&id), "needs_review");
    assert!(bench.driver().submits().is_empty());
    assert!(!bench.driver().searches().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_cannot_be_read_back_submits_nothing_and_is_recorded_as_not_sent() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let fail = bench.when(&id, "sending", || bench.store.fail_next_read(down()));
    let (sent, ()) = tokio::join!(bench.press(&id, "press_1"), fail);
    assert!(is_not_sent(&sent), "{sent:?}");
    assert!(bench.driver().submits().is_empty());
    assert_eq!(bench.state(&id), "confirmed");
    assert_eq!(
        bench.progress(&id).claim.unwrap().resolved,
        Some(Resolution::NotSent)
    );
    assert_eq!(bench.events(&id)[2..], ["claimed", "not_sent"]);
}

#[tokio::test(start_paused = true)]
async fn too_little_time_claims_nothing() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let before = bench.row(&id);
    for seconds in [0, 1, 5] {
        let sent = bench
            .send(&press(&id, "press_1"), bench.world.after(seconds))
            .await;
        assert_eq!(sent, Sent::Refused(Refused::NoTime), "{seconds}");
    }
    assert_eq!(bench.row(&id), before);
    assert!(bench.driver().submits().is_empty());
}

#[tokio::test(start_paused = true)]
async fn too_little_time_after_the_claim_submits_nothing_and_is_recorded_as_not_sent() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    // Reserve 5 s, the claim and its proof 2.2 s: less than a second would be left for the submit.
    let sent = bench
        .send(&press(&id, "press_1"), bench.world.after(8))
        .await;
    assert!(is_not_sent(&sent), "{sent:?}");
    assert!(bench.driver().submits().is_empty());
    assert_eq!(bench.state(&id), "confirmed");
}

#[tokio::test(start_paused = true)]
async fn the_submit_is_given_what_is_left_without_the_time_to_record() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    bench.driver().will_submit(accepted("ltr_1"));
    bench.press(&id, "press_1").await;
    let [left] = bench.driver().times_left()[..] else {
        panic!("one submit")
    };
    let most = SignedDuration::from_secs(30 - 5 - 2);
    assert!(
        left < most && left > most - SignedDuration::from_secs(1),
        "{left:?}"
    );
}
