//! The same document from the same source record goes out once, unless the press says otherwise.

use jiff::SignedDuration;
use sendtrail_core::flows::{Press, Recorded, Refused, Sent};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{StoreError, SubmitOutcome};

use crate::common::{Bench, accepted, down, not_sent, press, unknown};

async fn send(bench: &Bench, press: &Press) -> Sent {
    bench.pass(3).await;
    bench.send(press, bench.world.after(30)).await
}

fn already_sent(id: &HistoryId) -> Sent {
    Sent::Refused(Refused::AlreadySent(id.clone()))
}

fn submits(bench: &Bench) -> usize {
    bench.driver().submits().len()
}

#[tokio::test(start_paused = true)]
async fn a_state_that_a_person_typed_hides_no_twin() {
    for outcome in [accepted("ltr_1"), unknown()] {
        for state in ["saved", "confirmed", "almost done", ""] {
            let bench = Bench::finding();
            let first = bench.sent(outcome.clone()).await;
            bench.type_state(&first, state);
            let second = bench.confirmed().await;
            let sent = send(&bench, &press(&second, "press_2")).await;
            assert_eq!(sent, already_sent(&first), "{state}");
            assert_eq!(submits(&bench), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_twin_whose_progress_tells_nothing_counts_as_sent_and_a_failed_one_does_not() {
    for progress in [None, Some("?"), Some(r#"{"v":2}"#)] {
        let bench = Bench::new();
        let first = bench.confirmed().await;
        bench
            .store
            .edit_by_hand(&first, |row| row.progress = progress.map(ToOwned::to_owned));
        let second = bench.confirmed().await;
        let sent = send(&bench, &press(&second, "press_2")).await;
        assert_eq!(sent, already_sent(&first), "{progress:?}");
        assert_eq!(submits(&bench), 0);
        bench.type_state(&first, "failed");
        bench.driver().will_submit(accepted("ltr_2"));
        let sent = send(&bench, &press(&second, "press_3")).await;
        assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_twin_whose_earlier_progress_was_put_back_counts_by_its_copies() {
    let bench = Bench::new();
    let first = bench.confirmed().await;
    let confirmed = bench.row(&first);
    bench.driver().will_submit(accepted("ltr_1"));
    bench.press(&first, "press_1").await;
    bench.store.edit_by_hand(&first, |row| {
        row.state.clone_from(&confirmed.state);
        row.progress.clone_from(&confirmed.progress);
    });
    let second = bench.confirmed().await;
    let sent = send(&bench, &press(&second, "press_2")).await;
    assert_eq!(sent, already_sent(&first));
}

#[tokio::test(start_paused = true)]
async fn text_that_the_list_cut_is_read_singly_before_it_is_judged() {
    let bench = Bench::new();
    bench.confirmed().await;
    let second = bench.confirmed().await;
    bench.store.cut_lists_at(20);
    bench.driver().will_submit(accepted("ltr_2"));
    let sent = send(&bench, &press(&second, "press_2")).await;
    assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    let third = bench.confirmed().await;
    bench.type_state(&second, "confirmed");
    let sent = send(&bench, &press(&third, "press_3")).await;
    assert_eq!(sent, already_sent(&second));
    assert_eq!(submits(&bench), 1);
}

#[tokio::test(start_paused = true)]
async fn of_several_twins_the_newest_must_be_named_and_that_covers_the_older_ones() {
    let bench = Bench::new();
    let first = bench.sent(accepted("ltr_1")).await;
    let mut ids = vec![first.clone()];
    for (number, again_of) in [(2, first.clone()), (3, first.clone())] {
        let id = bench.confirmed().await;
        let mut press = press(&id, &format!("press_{number}"));
        press.again_of = Some(again_of);
        bench
            .driver()
            .will_submit(accepted(&format!("ltr_{number}")));
        let sent = send(&bench, &press).await;
        if number == 2 {
            assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
        } else {
            assert_eq!(sent, already_sent(&ids[1]), "the oldest was named");
            press.again_of = Some(ids[1].clone());
            let sent = send(&bench, &press).await;
            assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
        }
        ids.push(id);
    }
    assert_eq!(submits(&bench), 3);
    // A record that never went out excuses nothing.
    let (idle, last) = (bench.confirmed().await, bench.confirmed().await);
    let mut press = press(&last, "press_4");
    press.again_of = Some(idle);
    assert_eq!(send(&bench, &press).await, already_sent(&ids[2]));
}

/// What became of two presses, the second this much later, with writes of the first or the second record
/// slower by `slow`, and how many were submitted.
async fn two_at_once(
    behind: i64,
    slow: Option<(usize, i64)>,
) -> ([Sent; 2], Bench, [HistoryId; 2]) {
    let bench = Bench::new();
    let ids = [bench.confirmed().await, bench.confirmed().await];
    if let Some((which, millis)) = slow {
        let by = SignedDuration::from_millis(millis);
        bench.store.slow_writes(&ids[which], by);
    }
    bench.driver().takes(SignedDuration::from_secs(8));
    for number in 1..=2 {
        bench
            .driver()
            .will_submit(accepted(&format!("ltr_{number}")));
    }
    // Which is pressed first: either order.
    let [first, second] = if behind < 0 { [1, 0] } else { [0, 1] };
    let until = bench.world.after(40);
    let (one, two) = tokio::join!(
        async {
            let press = press(&ids[first], "press_1");
            bench.send(&press, until).await
        },
        async {
            bench.moments(behind.abs()).await;
            let press = press(&ids[second], "press_2");
            bench.send(&press, until).await
        }
    );
    let sent = if first == 0 { [one, two] } else { [two, one] };
    (sent, bench, ids)
}

#[tokio::test(start_paused = true)]
async fn two_records_pressed_at_once_send_one_document_whichever_is_slower() {
    let slow = [
        None,
        Some((0, 900)),
        Some((1, 900)),
        Some((0, 5_000)),
        Some((1, 5_000)),
    ];
    for behind in [-3_000, -900, -70, -30, 0, 30, 70, 900, 3_000] {
        for slow in slow {
            let (sent, bench, ids) = Box::pin(two_at_once(behind, slow)).await;
            let case = format!("{behind} {slow:?}: {sent:?}");
            assert_eq!(submits(&bench), 1, "{case}");
            let went = |id: &HistoryId| bench.state(id) == "accepted";
            let (winner, loser) = if went(&ids[0]) { (0, 1) } else { (1, 0) };
            assert_eq!(bench.state(&ids[winner]), "accepted", "{case}");
            assert_eq!(sent[loser], already_sent(&ids[winner]), "{case}");
            // The one that gave way may be pressed again, and is told of the other then.
            assert_eq!(bench.state(&ids[loser]), "confirmed", "{case}");
            assert_eq!(bench.row(&ids[loser]).deadline, None);
            let again = send(&bench, &press(&ids[loser], "press_9")).await;
            assert_eq!(again, already_sent(&ids[winner]));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_gave_way_may_go_out_beside_the_other_when_the_press_names_it() {
    let (sent, bench, ids) = Box::pin(two_at_once(0, None)).await;
    assert_eq!(sent[1], already_sent(&ids[0]));
    let mut again = press(&ids[1], "press_9");
    again.again_of = Some(ids[0].clone());
    let sent = send(&bench, &again).await;
    assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    assert_eq!(submits(&bench), 2);
}

#[tokio::test(start_paused = true)]
async fn a_twin_that_is_named_may_be_sending_meanwhile() {
    let bench = Bench::new();
    let ids = [bench.confirmed().await, bench.confirmed().await];
    bench.driver().takes(SignedDuration::from_secs(8));
    let until = bench.world.after(40);
    let mut beside = press(&ids[1], "press_2");
    beside.again_of = Some(ids[0].clone());
    let first = press(&ids[0], "press_1");
    let (one, two) = tokio::join!(bench.send(&first, until), async {
        bench.pass(4).await;
        bench.send(&beside, until).await
    });
    assert!(matches!(one, Sent::Done { .. }) && matches!(two, Sent::Done { .. }));
    assert_eq!(submits(&bench), 2);
}

#[tokio::test(start_paused = true)]
async fn a_twin_check_that_fails_under_the_claim_gives_way() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let press_1 = press(&id, "press_1");
    let (sent, ()) = tokio::join!(
        bench.send(&press_1, bench.world.after(30)),
        bench.when(&id, "sending", || bench.store.fail_next_twins(down()))
    );
    let Sent::Done { outcome, recorded } = sent else {
        panic!("{sent:?}")
    };
    let SubmitOutcome::NotSent(not_sent) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(not_sent.evidence.detail, "the twin check could not be made");
    assert!(matches!(recorded, Recorded::Written { .. }), "{recorded:?}");
    assert_eq!(submits(&bench), 0);
    assert_eq!(bench.state(&id), "confirmed");
    bench.driver().will_submit(accepted("ltr_1"));
    let sent = send(&bench, &press(&id, "press_2")).await;
    assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    assert_eq!(bench.state(&id), "accepted");
}

#[tokio::test(start_paused = true)]
async fn a_twin_check_that_fails_before_the_claim_sends_nothing() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let before = bench.row(&id);
    let limited = StoreError::RateLimited { retry_after: None };
    bench.store.fail_next_twins(limited.clone());
    let sent = send(&bench, &press(&id, "press_1")).await;
    assert_eq!(sent, Sent::Failed(limited));
    assert_eq!(bench.row(&id), before);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_is_no_twin_also_where_a_person_moved_it() {
    let bench = Bench::new();
    let first = bench.confirmed().await;
    bench
        .driver()
        .will_submit(SubmitOutcome::NotSent(not_sent(None)));
    bench.driver().takes(SignedDuration::from_secs(4));
    let press_1 = press(&first, "press_1");
    tokio::join!(
        bench.send(&press_1, bench.world.after(30)),
        bench.when_submitting(|| bench.type_state(&first, "confirmed"))
    );
    let row = bench.row(&first);
    assert_eq!((row.deadline, row.next_check_at), (None, None));
    let second = bench.confirmed().await;
    bench.driver().will_submit(accepted("ltr_2"));
    let sent = send(&bench, &press(&second, "press_2")).await;
    assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    assert_eq!(bench.state(&second), "accepted");
    // Nor does it stand in its own way, once the other failed.
    bench.type_state(&second, "failed");
    bench.driver().will_submit(accepted("ltr_1"));
    let sent = send(&bench, &press(&first, "press_3")).await;
    assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    assert_eq!(bench.state(&first), "accepted");
}

/// The README names this limit: the search is a courtesy.
#[tokio::test(start_paused = true)]
async fn a_list_that_lags_can_hide_a_twin() {
    let bench = Bench::new();
    bench.store.twins_lag(SignedDuration::from_secs(60));
    let ids = [bench.confirmed().await, bench.confirmed().await];
    for (number, id) in ids.iter().enumerate() {
        bench
            .driver()
            .will_submit(accepted(&format!("ltr_{number}")));
        let sent = send(&bench, &press(id, &format!("press_{number}"))).await;
        assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    }
    assert_eq!(submits(&bench), 2);
    bench.pass(60).await;
    let third = bench.confirmed().await;
    let sent = send(&bench, &press(&third, "press_3")).await;
    assert_eq!(sent, already_sent(&ids[1]));
}
