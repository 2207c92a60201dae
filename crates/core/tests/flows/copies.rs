//! The copies beside the progress: what they tell of an earlier submit, and how they are set right again.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{Confirmed, Sent, save_again};
use sendtrail_core::flows::{Refused, Saved, SavedRecord};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::input::input_sha256;
use sendtrail_core::ports::{LookUpAnswer, SubmitOutcome};
use sendtrail_core::state::State;
use sendtrail_core::testing::Row;
use serde_json::json;

use crate::common::{Bench, PDF, accepted, later, not_sent, order, press, unknown};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
const WHY: &str = "the record shows an earlier submit that its progress does not";

/// A record that was confirmed, as it was then, and pressed with this outcome.
async fn sent_from(bench: &Bench, outcome: SubmitOutcome) -> (HistoryId, Row) {
    let id = bench.confirmed().await;
    let confirmed = bench.row(&id);
    bench.driver().will_submit(outcome);
    bench.press(&id, "press_1").await;
    (id, confirmed)
}

/// A person puts back the progress the record had when it was confirmed, and types the state.
fn paste(bench: &Bench, id: &HistoryId, confirmed: &Row, state: &str) {
    bench.store.edit_by_hand(id, |row| {
        row.progress.clone_from(&confirmed.progress);
        row.state = Some(state.to_owned());
    });
}

/// Pressing, saving again and confirming are refused, and write nothing.
async fn nothing_is_open(bench: &Bench, id: &HistoryId, why: &str) {
    let submits = bench.driver().submits().len();
    bench.pass(3).await;
    bench.type_state(id, "confirmed");
    bench.pass(3).await;
    let before = bench.row(id);
    let sent = bench.press(id, "press_2").await;
    let Sent::Refused(Refused::NotSendable { why: said, .. }) = sent else {
        panic!("{sent:?}")
    };
    assert_eq!(said, why);
    let until = bench.world.after(30);
    let order = order("msg_again", "Eve");
    let saved = save_again(&bench.store, &*bench.world, id, &order, until).await;
    assert_eq!(saved, Saved::NotSavable);
    assert_eq!(bench.row(id), before);
    bench.type_state(id, "saved");
    bench.pass(3).await;
    let before = bench.row(id);
    let ticket = SavedRecord {
        id: id.clone(),
        state: State::Saved,
        rev: bench.progress(id).rev(),
        input_sha256: input_sha256(before.input.as_deref().unwrap()),
    };
    assert_eq!(bench.confirm(&ticket, PDF).await, Confirmed::Stale);
    assert_eq!(bench.row(id), before);
    assert_eq!(bench.driver().submits().len(), submits);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_progress_that_is_put_back_opens_nothing() {
    for outcome in [
        accepted("ltr_1"),
        unknown(),
        SubmitOutcome::Rejected(sendtrail_core::ports::Evidence::default()),
    ] {
        let bench = Bench::finding();
        let (id, confirmed) = sent_from(&bench, outcome).await;
        paste(&bench, &id, &confirmed, "confirmed");
        nothing_is_open(&bench, &id, WHY).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_a_person_marks_as_not_sent_opens_nothing() {
    let bench = Bench::new();
    let (id, _) = sent_from(&bench, accepted("ltr_1")).await;
    bench.edit_progress(&id, |progress| {
        progress["claim"]["resolved"] = json!("not_sent");
        progress["submission"] = json!(null);
    });
    nothing_is_open(&bench, &id, WHY).await;
    // Either copy is enough.
    for (no_id, no_deadline) in [(true, false), (false, true)] {
        let row = bench.row(&id);
        bench.store.edit_by_hand(&id, |row| {
            row.external_id = row.external_id.take().filter(|_| !no_id);
            row.deadline = row.deadline.filter(|_| !no_deadline);
        });
        nothing_is_open(&bench, &id, WHY).await;
        bench.store.edit_by_hand(&id, |edited| *edited = row);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_renews_the_copies_keeps_that_there_was_a_submit() {
    let bench = Bench::new();
    let (id, confirmed) = sent_from(&bench, accepted("ltr_1")).await;
    // The state stays, so the poller gives the record up, and its write renews the copies.
    paste(&bench, &id, &confirmed, "accepted");
    bench.pass(180).await;
    assert_eq!(bench.poll().await.gave_up, 1);
    let row = bench.row(&id);
    assert_eq!(row.external_id.as_deref(), Some("ltr_1"));
    assert!(row.deadline.is_some());
    assert!(bench.progress(&id).was_replaced());
    assert!(row.progress.unwrap().contains("external id ltr_1"));
    nothing_is_open(&bench, &id, "an earlier progress was lost").await;
}

#[tokio::test(start_paused = true)]
async fn an_earlier_progress_that_is_put_back_once_more_after_a_write_opens_nothing() {
    for outcome in [accepted("ltr_1"), unknown()] {
        let bench = Bench::finding();
        let (id, confirmed) = sent_from(&bench, outcome).await;
        paste(&bench, &id, &confirmed, "accepted");
        bench.pass(180).await;
        assert_eq!(bench.poll().await.gave_up, 1);
        paste(&bench, &id, &confirmed, "confirmed");
        nothing_is_open(&bench, &id, WHY).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_proved_not_sent_leaves_no_copy_and_may_be_saved_confirmed_and_sent_again() {
    let bench = Bench::new();
    let id = bench.sent(SubmitOutcome::NotSent(not_sent(None))).await;
    let row = bench.row(&id);
    assert_eq!((row.external_id, row.deadline), (None, None));
    let until = bench.world.after(30);
    let again = order("msg_again", "Eve");
    let Saved::Saved(saved) = save_again(&bench.store, &*bench.world, &id, &again, until).await
    else {
        panic!("not saved")
    };
    bench.settle(&id).await;
    let confirmed = bench.confirm(&saved, PDF).await;
    assert!(
        matches!(confirmed, Confirmed::Confirmed(_)),
        "{confirmed:?}"
    );
    bench.settle(&id).await;
    bench.driver().will_submit(accepted("ltr_1"));
    let sent = bench.press(&id, "press_2").await;
    assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    assert_eq!(bench.state(&id), "accepted");
    assert!(!bench.progress(&id).was_replaced());
}

fn move_dates(
    bench: &Bench,
    id: &HistoryId,
    check: Option<Timestamp>,
    deadline: Option<Timestamp>,
) {
    bench.store.edit_by_hand(id, |row| {
        row.next_check_at = check;
        row.deadline = deadline;
    });
}

fn far() -> Option<Timestamp> {
    "2999-01-01T00:00:00Z".parse().ok()
}

/// An accepted record that is due in about ten minutes.
async fn waiting(bench: &Bench) -> HistoryId {
    let id = bench.due(1).await.remove(0);
    bench.poll().await;
    bench.edit_progress(&id, |progress| {
        progress["next_check_at"] = json!(later(bench.now(), 1_000).to_string());
    });
    let (check, deadline) = {
        let progress = bench.progress(&id);
        (progress.next_check_at(), progress.deadline())
    };
    move_dates(bench, &id, check, deadline);
    bench.pass(120).await;
    bench.even_tick().await;
    id
}

#[tokio::test(start_paused = true)]
async fn a_listed_row_whose_dates_were_moved_gets_them_back_once() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    let (good, looked_up) = (bench.row(&id), bench.look_ups().len());
    for (check, deadline) in [(None, good.deadline), (Some(bench.now()), None)] {
        move_dates(&bench, &id, check, deadline);
        bench.edit_progress(&id, |progress| progress["trail"] = json!([]));
        bench.pass(1).await;
        let report = bench.poll().await;
        assert_eq!((report.schedules_restored, report.not_due), (1, 1));
        let row = bench.row(&id);
        assert_eq!(row.next_check_at, good.next_check_at);
        assert_eq!(row.deadline, good.deadline);
        assert_eq!(row.external_id, good.external_id);
        assert_eq!(bench.events(&id), ["schedule_restored"]);
        assert_eq!(bench.state(&id), "accepted");
    }
    // Where the fields do not take what is written, it is not written again and again.
    move_dates(&bench, &id, None, None);
    bench.pass(1).await;
    let before = bench.row(&id);
    let report = bench.poll().await;
    assert_eq!((report.schedules_restored, report.not_due), (0, 1));
    assert_eq!(bench.row(&id), before);
    assert_eq!(bench.look_ups().len(), looked_up);
}

#[tokio::test(start_paused = true)]
async fn dates_are_left_alone_under_a_claim_that_may_be_alive() {
    let bench = Bench::finding();
    let id = bench.confirmed().await;
    bench.driver().takes(SignedDuration::from_secs(20));
    bench.driver().will_submit(accepted("ltr_1"));
    let press = press(&id, "press_1");
    let (sent, ()) = tokio::join!(bench.send(&press, bench.world.after(40)), async {
        bench
            .when_submitting(|| move_dates(&bench, &id, None, None))
            .await;
        let report = bench.poll().await;
        assert_eq!((report.not_due, report.schedules_restored), (1, 0));
    });
    assert!(matches!(sent, Sent::Done { .. }));
    assert_eq!(bench.state(&id), "accepted");
}

/// Runs every tick from now on for so long; how many rows were looked at that the list does not show.
async fn ticks(bench: &Bench, seconds: i64) -> u64 {
    let (end, mut untouched) = (later(bench.now(), seconds), 0);
    while bench.now() < end {
        let interval = bench.polling.interval.as_secs();
        bench
            .pass(interval - bench.now().as_second() % interval)
            .await;
        untouched += bench.poll().await.untouched;
    }
    untouched
}

#[tokio::test(start_paused = true)]
async fn a_send_whose_dates_were_both_moved_far_ahead_still_ends() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    move_dates(&bench, &id, far(), far());
    assert_eq!(ticks(&bench, DAY - 600).await, 0);
    assert_eq!(bench.state(&id), "accepted");
    assert!(ticks(&bench, HOUR + 900).await > 0);
    // Its own deadline is past by then: looked up once more, and given up.
    assert_eq!(bench.state(&id), "needs_review");
    let error = bench.progress(&id).last_error.unwrap();
    assert_eq!(error.kind, "gave_up");
    assert!(error.detail.starts_with("no result by the deadline"));
}

#[tokio::test(start_paused = true)]
async fn a_row_that_waits_longer_than_a_day_is_looked_at_and_left_or_set_right() {
    let bench = Bench::new();
    let id = waiting(&bench).await;
    let wait = later(bench.now(), 30 * DAY);
    bench.edit_progress(&id, |progress| {
        progress["next_check_at"] = json!(wait.to_string());
        progress["deadline"] = json!(wait.to_string());
    });
    move_dates(&bench, &id, Some(wait), Some(wait));
    let (before, writes) = (bench.row(&id), bench.store.writes());
    assert!(ticks(&bench, DAY + 3 * HOUR).await >= 2);
    assert_eq!((bench.row(&id), bench.store.writes()), (before, writes));
    move_dates(&bench, &id, far(), far());
    ticks(&bench, DAY + 2 * HOUR).await;
    assert_eq!(bench.row(&id).next_check_at, Some(wait));
    assert_eq!(bench.row(&id).deadline, Some(wait));
    assert_eq!(bench.store.writes(), writes + 1);
}

#[tokio::test(start_paused = true)]
async fn many_untouched_rows_are_each_met_in_their_hour() {
    let mut bench = Bench::new();
    bench.polling.page_rows = 3;
    let ids = bench.due(20).await;
    let wait = later(bench.now(), 60 * DAY);
    let hidden = &ids[17];
    for id in &ids {
        bench.edit_progress(id, |progress| {
            progress["deadline"] = json!(wait.to_string());
            if id != hidden {
                progress["next_check_at"] = json!(wait.to_string());
            }
        });
        move_dates(&bench, id, Some(wait), Some(wait));
    }
    let status = "delivered".to_owned();
    bench
        .driver()
        .will_answer(LookUpAnswer::Delivered { status });
    bench.pass(DAY).await;
    for _ in 0..5 * ids.len().div_ceil(3) {
        bench.pass(HOUR - bench.now().as_second() % HOUR).await;
        assert!(bench.poll().await.untouched <= 3);
    }
    assert_eq!(bench.state(hidden), "succeeded");
    assert_eq!(bench.look_ups().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_list_of_untouched_rows_costs_one_call_an_hour() {
    let bench = Bench::new();
    waiting(&bench).await;
    bench.pass(HOUR - bench.now().as_second() % HOUR).await;
    bench.poll().await;
    bench.pass(120).await;
    let lists = bench.store.lists();
    // Thirty runs, of which one is an hour's first.
    ticks(&bench, HOUR - 60).await;
    assert_eq!(bench.store.lists() - lists, 30 + 1);
}

#[tokio::test(start_paused = true)]
async fn an_untouched_list_that_fails_stops_no_run() {
    let bench = Bench::new();
    bench.due(3).await;
    bench.pass(HOUR - bench.now().as_second() % HOUR).await;
    let lists = bench.store.lists();
    let fail = async {
        while bench.store.lists() == lists {
            bench.moment().await;
        }
        bench.store.fail_next_list(crate::common::down());
    };
    let (report, ()) = tokio::join!(bench.poll(), fail);
    assert_eq!((report.store_errors, report.written), (1, 3));
}
