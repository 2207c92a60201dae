//! What the poller does with each row, and that no row stops the others.

use jiff::SignedDuration;
use sendtrail_core::ports::LookUpAnswer;
use serde_json::json;

use crate::common::{Bench, accepted};

#[tokio::test(start_paused = true)]
async fn a_record_in_no_flight_is_not_touched() {
    let bench = Bench::new();
    let ids = bench.due(7).await;
    let states = [
        "saved",
        "confirmed",
        "succeeded",
        "failed",
        "needs_review",
        "sent!",
        "",
    ];
    for (id, state) in ids.iter().zip(states) {
        bench.type_state(id, state);
    }
    bench.even_tick().await;
    let before: Vec<_> = ids.iter().map(|id| bench.row(id)).collect();
    assert_eq!(bench.poll().await.listed, 0);
    let after: Vec<_> = ids.iter().map(|id| bench.row(id)).collect();
    assert_eq!(before, after);
}

#[tokio::test(start_paused = true)]
async fn an_edit_during_the_look_up_stands_and_the_row_is_skipped() {
    let bench = Bench::new();
    let ids = bench.due(2).await;
    bench.driver().takes(SignedDuration::from_secs(3));
    let edit = async {
        bench.pass(1).await;
        bench.type_state(&ids[0], "needs_review");
    };
    let (report, ()) = tokio::join!(bench.poll(), edit);
    assert_eq!((report.conflicts_skipped, report.written), (1, 1));
    assert_eq!(bench.state(&ids[0]), "needs_review");
    assert_eq!(bench.progress(&ids[0]).attempts(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_streak_of_412_writes_nothing_and_ends_once_nobody_edits_in_between() {
    let bench = Bench::new();
    let ids = bench.due(2).await;
    bench.driver().takes(SignedDuration::from_secs(3));
    for _ in 0..5 {
        let edit = async {
            bench.pass(1).await;
            bench.type_state(&ids[0], "accepted");
        };
        let (report, ()) = tokio::join!(bench.poll(), edit);
        assert_eq!(report.conflicts_skipped, 1, "{report}");
        assert_eq!(bench.progress(&ids[0]).attempts(), 0);
        bench.pass(120).await;
    }
    assert_eq!(bench.poll().await.conflicts_skipped, 0);
    assert_eq!(bench.progress(&ids[0]).attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_vanishes_or_cannot_be_written_does_not_stop_the_others() {
    let mut bench = Bench::new();
    bench.polling.list_lag = SignedDuration::from_hours(1);
    let ids = bench.due(5).await;
    bench.store.poison(&ids[1]);
    let delete = async {
        while bench.store.lists() == 0 {
            bench.moment().await;
        }
        bench.store.delete(&ids[0]);
    };
    let (report, ()) = tokio::join!(bench.poll(), delete);
    assert_eq!(
        (report.not_due, report.store_errors, report.written),
        (1, 1, 3)
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_cut_and_the_others_go_on() {
    let mut bench = Bench::new();
    bench.polling.concurrency = 1;
    let ids = bench.due(5).await;
    bench.driver().takes(SignedDuration::from_hours(1));
    let hang_once = async {
        while bench.look_ups().is_empty() {
            bench.moment().await;
        }
        bench.driver().takes(SignedDuration::ZERO);
    };
    let (report, ()) = tokio::join!(bench.poll(), hang_once);
    assert_eq!(
        (report.timed_out, report.looked_up, report.written),
        (1, 5, 5)
    );
    assert_eq!(
        bench.progress(&ids[0]).last_error.unwrap().kind,
        "no_answer"
    );
    assert_eq!(bench.state(&ids[0]), "accepted");
}

#[tokio::test(start_paused = true)]
async fn a_send_whose_api_always_hangs_still_ends_at_its_deadline() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    bench.driver().takes(SignedDuration::from_hours(1));
    bench.pass(24 * 3600).await;
    assert_eq!(bench.poll().await.gave_up, 1);
    assert_eq!(bench.state(&id), "needs_review");
}

#[tokio::test(start_paused = true)]
async fn a_progress_the_list_cut_is_read_singly_and_looked_up() {
    let bench = Bench::new();
    bench.due(3).await;
    bench.store.cut_lists_at(100);
    let reads = bench.store.reads();
    let report = bench.poll().await;
    assert_eq!(
        (report.looked_up, report.written, report.malformed),
        (3, 3, 0)
    );
    assert!(bench.store.reads() >= reads + 3);
}

#[tokio::test(start_paused = true)]
async fn a_progress_that_cannot_be_read_goes_to_a_person_with_its_text_and_a_newer_one_is_left() {
    let bench = Bench::new();
    let ids = bench.due(5).await;
    let newer = r#"{"v":2,"later":true}"#;
    for (id, text) in ids
        .iter()
        .zip(["half of {\"v\":1,", "", newer, "{\"v\":1}"])
    {
        bench
            .store
            .edit_by_hand(id, |row| row.progress = Some(text.to_owned()));
    }
    bench.even_tick().await;
    let before = bench.row(&ids[2]);
    let report = bench.poll().await;
    assert_eq!(
        (report.malformed, report.newer, report.looked_up),
        (3, 1, 1)
    );
    for id in [&ids[0], &ids[1], &ids[3]] {
        assert_eq!(bench.state(id), "needs_review");
        assert_eq!(
            bench.progress(id).last_error.unwrap().kind,
            "malformed_progress"
        );
        assert!(bench.row(id).notified && bench.progress(id).was_replaced());
    }
    assert!(bench.row(&ids[0]).progress.unwrap().contains("half of"));
    assert_eq!(bench.row(&ids[2]), before);
    assert_eq!(bench.state(&ids[4]), "accepted");
}

#[tokio::test(start_paused = true)]
async fn a_next_check_that_a_person_moved_ahead_does_not_outlive_the_deadline() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    let far = Some("2999-01-01T00:00:00Z".parse().unwrap());
    bench.store.edit_by_hand(&id, |row| row.next_check_at = far);
    bench.pass(3_600).await;
    assert_eq!(bench.poll().await.listed, 0);
    bench.pass(24 * 3_600).await;
    assert_eq!(bench.poll().await.gave_up, 1);
    assert_eq!(bench.look_ups(), ["ltr_1"], "looked up once more");
}

#[tokio::test(start_paused = true)]
async fn accepted_without_an_id_goes_to_a_person() {
    let bench = Bench::new();
    let ids = bench.due(2).await;
    bench.edit_progress(&ids[0], |progress| {
        progress["submission"]["external_id"] = json!(null);
    });
    bench.edit_progress(&ids[1], |progress| {
        progress.as_object_mut().unwrap().remove("submission");
    });
    bench.even_tick().await;
    assert_eq!(bench.poll().await.gave_up, 2);
    assert!(bench.look_ups().is_empty());
}

#[tokio::test(start_paused = true)]
async fn two_runs_at_once_write_each_row_once() {
    for lag in [60, 3_600] {
        let mut bench = Bench::new();
        bench.polling.list_lag = SignedDuration::from_secs(lag);
        let ids = bench.due(20).await;
        let writes = bench.store.writes();
        let (one, two) = tokio::join!(bench.poll(), bench.poll());
        assert_eq!(one.written + two.written, 20, "{one} | {two}");
        assert_eq!(bench.store.writes(), writes + 20);
        assert!(ids.iter().all(|id| bench.progress(id).attempts() == 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_reply_was_lost_is_counted_once_and_a_lost_tick_harms_nothing() {
    let bench = Bench::new();
    let ids = bench.due(2).await;
    bench.store.lose_next_write_reply();
    assert_eq!(bench.poll().await.written, 2);
    assert!(ids.iter().all(|id| bench.progress(id).attempts() == 1));
    bench.pass(10_000).await;
    let report = bench.poll().await;
    assert_eq!(report.written, 2);
    assert!(report.oldest_due_seconds > 9_000);
}

#[tokio::test(start_paused = true)]
async fn the_final_answer_ends_a_send_and_notifies_once() {
    let bench = Bench::new();
    let ids = bench.due(2).await;
    let status = "delivered".to_owned();
    bench
        .driver()
        .will_answer(LookUpAnswer::Delivered { status });
    let status = "lost".to_owned();
    bench
        .driver()
        .will_answer(LookUpAnswer::Undelivered { status });
    let report = bench.poll().await;
    assert_eq!((report.delivered, report.undelivered), (1, 1));
    let ends: Vec<_> = ids.iter().map(|id| bench.state(id)).collect();
    assert_eq!(ends, ["succeeded", "failed"]);
    assert!(ids.iter().all(|id| bench.row(id).notified));
    bench.pass(10_000).await;
    assert_eq!(bench.poll().await.listed, 0);
}
