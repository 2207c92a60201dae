//! A look-up that is brought forward: only forward, only where there is one, guarded like every other write.

use proptest::prelude::*;
use sendtrail_core::flows::{Wake, Woken, wake};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::LookUpAnswer;

use crate::common::{Bench, accepted, down, later, on_a_paused_clock, unknown};

const BY: Wake<'static> = Wake {
    by: "Olga",
    reason: Some("=asked\nthem"),
};

async fn woken(bench: &Bench, id: &HistoryId) -> Woken {
    wake(&bench.store, &*bench.world, id, BY, bench.world.after(30)).await
}

fn pending() -> LookUpAnswer {
    LookUpAnswer::Pending {
        status: "in_transit".to_owned(),
        recognised: true,
    }
}

/// An accepted send whose next look-up is far away.
async fn waiting(bench: &Bench) -> HistoryId {
    let id = bench.sent(accepted("ltr_1")).await;
    for _ in 0..3 {
        bench.driver().will_answer(pending());
        bench.pass(700).await;
        bench.poll().await;
    }
    bench.settle(&id).await;
    assert!(bench.progress(&id).next_check_at().unwrap() > later(bench.now(), 60));
    id
}

#[tokio::test(start_paused = true)]
async fn a_woken_send_is_due_now_and_the_trail_says_who_asked_and_why() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    let (before, now) = (bench.progress(&id), bench.now());
    let Woken::Woken { next_check_at } = woken(&bench, &id).await else {
        panic!("not woken");
    };
    let (row, after) = (bench.row(&id), bench.progress(&id));
    assert!(next_check_at.is_some_and(|at| at >= later(now, -1) && at <= bench.now()));
    assert_eq!(after.next_check_at(), next_check_at);
    assert_eq!(
        row.next_check_at, next_check_at,
        "the list goes by the copy"
    );
    assert_eq!(row.state.as_deref(), Some("accepted"));
    assert!(!row.notified);
    assert_eq!(after.deadline(), before.deadline());
    assert_eq!(after.attempts(), before.attempts(), "a wake is no look-up");
    let last = after.trail.last().unwrap();
    assert_eq!(
        (last.event.as_str(), last.to.as_str()),
        ("woken", "accepted")
    );
    assert_eq!(last.by.as_deref(), Some("Olga"));
    assert_eq!(last.reason.as_deref(), Some("'=asked them"));

    bench.driver().will_answer(pending());
    bench.pass(61).await;
    assert_eq!(bench.poll().await.looked_up, 1);
    assert_eq!(bench.progress(&id).attempts(), before.attempts() + 1);
    assert_eq!(
        bench.driver().submits().len(),
        1,
        "to wake is not to submit"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_due_or_will_be_in_a_moment_is_not_written() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    let next = bench.progress(&id).next_check_at().unwrap();
    let wait = next.duration_since(bench.now()).as_secs();
    // Half a minute before it is due, when it is, and long after.
    for pass in [wait - 28, 28, 3_600] {
        bench.pass(pass).await;
        let before = bench.row(&id);
        let writes = bench.store.writes();
        let next_check_at = Some(next);
        assert_eq!(
            woken(&bench, &id).await,
            Woken::AlreadyDue { next_check_at }
        );
        assert_eq!((bench.row(&id), bench.store.writes()), (before, writes));
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_wake_finds_it_due_and_writes_nothing() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    assert!(matches!(woken(&bench, &id).await, Woken::Woken { .. }));
    let writes = bench.store.writes();
    assert!(matches!(woken(&bench, &id).await, Woken::AlreadyDue { .. }));
    assert_eq!(bench.store.writes(), writes);
}

#[tokio::test(start_paused = true)]
async fn a_due_send_that_the_list_does_not_show_is_written_so_that_it_does() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    woken(&bench, &id).await;
    let far = later(bench.now(), 9_999);
    bench
        .store
        .edit_by_hand(&id, |row| row.next_check_at = Some(far));
    bench.settle(&id).await;
    assert!(matches!(woken(&bench, &id).await, Woken::Woken { .. }));
    assert!(bench.row(&id).next_check_at.unwrap() <= bench.now());
}

#[tokio::test(start_paused = true)]
async fn no_other_state_is_woken() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    for state in [
        "saved",
        "confirmed",
        "sending",
        "succeeded",
        "failed",
        "needs_review",
        "sent!",
        "",
    ] {
        bench.type_state(&id, state);
        bench.settle(&id).await;
        let before = bench.row(&id);
        let Woken::NotAccepted { state: told } = woken(&bench, &id).await else {
            panic!("{state} was woken");
        };
        assert_eq!((told.as_str(), bench.row(&id)), (state, before));
    }
    let bench = Bench::new();
    let review = bench.sent(unknown()).await;
    let refused = woken(&bench, &review).await;
    assert!(matches!(refused, Woken::NotAccepted { state } if state == "needs_review"));
}

#[tokio::test(start_paused = true)]
async fn a_progress_that_is_lost_or_newer_is_left_alone() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    for text in ["oops", r#"{"v":2}"#, ""] {
        bench
            .store
            .edit_by_hand(&id, |row| row.progress = Some(text.to_owned()));
        bench.settle(&id).await;
        let before = bench.row(&id);
        let refused = woken(&bench, &id).await;
        assert!(matches!(refused, Woken::Refused(_)), "{text}: {refused:?}");
        assert_eq!(bench.row(&id), before);
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_in_between_stands_and_a_store_that_fails_is_told() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    let edit = async {
        bench.moments(30).await;
        bench.type_state(&id, "failed");
    };
    let (result, ()) = tokio::join!(woken(&bench, &id), edit);
    assert_eq!(result, Woken::ChangedElsewhere);
    assert_eq!(bench.state(&id), "failed");

    let id = waiting(&bench).await;
    bench.store.fail_next_read(down());
    assert_eq!(woken(&bench, &id).await, Woken::NotWritten(down()));
    let writes = bench.store.writes();
    bench.store.lose_next_write_reply();
    assert!(matches!(woken(&bench, &id).await, Woken::Woken { .. }));
    assert_eq!(bench.store.writes(), writes + 1, "a lost reply wakes once");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_wake_moves_a_look_up_forward_only_and_never_past_the_deadline(
        waits in proptest::collection::vec((0u32..4_000, any::<bool>()), 1..20),
    ) {
        on_a_paused_clock(async {
            let bench = Bench::new();
            let id = bench.sent(accepted("ltr_1")).await;
            for (seconds, polls) in waits {
                bench.pass(seconds.into()).await;
                if polls {
                    bench.driver().will_answer(pending());
                    bench.poll().await;
                }
                bench.settle(&id).await;
                let (before, writes) = (bench.progress(&id), bench.store.writes());
                let result = woken(&bench, &id).await;
                let after = bench.progress(&id);
                prop_assert_eq!(after.attempts(), before.attempts());
                prop_assert_eq!(after.deadline(), before.deadline());
                // No time is the soonest: it means at once.
                prop_assert!(after.next_check_at() <= before.next_check_at());
                prop_assert!(after.next_check_at() <= after.deadline());
                match result {
                    Woken::Woken { .. } => {
                        prop_assert_eq!(bench.store.writes(), writes + 1);
                        prop_assert!(after.next_check_at() <= Some(bench.now()));
                    }
                    Woken::AlreadyDue { .. } => {
                        prop_assert_eq!(bench.store.writes(), writes);
                        prop_assert!(after.next_check_at() <= Some(later(bench.now(), 30)));
                    }
                    Woken::NotAccepted { state } => prop_assert_eq!(state, "needs_review"),
                    other @ (Woken::Refused(_)
                    | Woken::ChangedElsewhere
                    | Woken::NotWritten(_)
                    | Woken::Unconfirmed(_)) => prop_assert!(false, "{:?}", other),
                }
            }
            Ok(())
        })?;
    }
}
