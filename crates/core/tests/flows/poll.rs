//! One run of the poller: bounded, polite, and not stopped by any row.

use std::time::Duration;

use jiff::SignedDuration;
use sendtrail_core::flows;
use sendtrail_core::ids::{DriverId, HistoryId};
use sendtrail_core::ports::{Failure, LookUpAnswer, LookUpDrivers, StoreError};
use sendtrail_core::testing::ScriptedDriver;
use serde_json::json;

use crate::common::{Bench, accepted, down, evidence, later};

fn limited() -> LookUpAnswer {
    LookUpAnswer::Failed(Failure::RateLimited {
        retry_after: None,
        evidence: evidence("status", Some(429)),
    })
}

fn named(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|n| format!("ltr_{n}")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_look_up_costs_one_call_to_each_side_and_a_page_one_list() {
    let mut bench = Bench::new();
    bench.polling.page_rows = 5;
    bench.due(12).await;
    let (reads, writes) = (bench.store.reads(), bench.store.writes());
    let report = bench.poll().await;
    assert_eq!(
        (report.listed, report.looked_up, report.written),
        (12, 12, 12)
    );
    assert_eq!(
        bench.look_ups(),
        named(0..12),
        "in the order of the list, each once"
    );
    assert_eq!(bench.store.lists(), 3);
    assert_eq!(bench.store.reads(), reads, "no read per row");
    assert_eq!(bench.store.writes(), writes + 12);
}

#[tokio::test(start_paused = true)]
async fn a_row_younger_than_the_list_may_lag_is_read_singly_first() {
    let mut bench = Bench::new();
    bench.polling.list_lag = SignedDuration::from_hours(1);
    bench.due(3).await;
    let reads = bench.store.reads();
    assert_eq!(bench.poll().await.written, 3);
    assert!(bench.store.reads() >= reads + 3);
}

#[tokio::test(start_paused = true)]
async fn nothing_due_costs_one_list_and_no_call() {
    let bench = Bench::new();
    // Neither the first tick of a day nor of an hour.
    bench.pass(200).await;
    bench.sent(accepted("ltr_1")).await;
    let (reads, writes) = (bench.store.reads(), bench.store.writes());
    let lists = bench.store.lists();
    let report = bench.poll().await;
    assert_eq!(bench.store.lists(), lists + 1);
    assert_eq!(report.to_string(), "pages 1");
    assert_eq!((bench.store.reads(), bench.store.writes()), (reads, writes));
    assert!(bench.look_ups().is_empty());
}

#[tokio::test(start_paused = true)]
async fn rows_are_worked_on_in_the_order_of_their_next_check_and_an_empty_one_comes_first() {
    let mut bench = Bench::new();
    bench.polling.concurrency = 1;
    let ids = bench.due(4).await;
    let now = bench.now();
    for (id, at) in [
        (&ids[0], Some(-10)),
        (&ids[1], Some(-30)),
        (&ids[2], None),
        (&ids[3], Some(-20)),
    ] {
        bench.store.edit_by_hand(id, |row| {
            row.next_check_at = at.map(|seconds| later(now, seconds));
        });
    }
    bench.even_tick().await;
    bench.poll().await;
    assert_eq!(bench.look_ups(), named([2, 1, 3, 0]));
}

#[tokio::test(start_paused = true)]
async fn rows_that_are_not_due_never_fill_the_page() {
    let mut bench = Bench::new();
    bench.polling.page_rows = 5;
    bench.polling.max_pages = 1;
    let ids = bench.due(30).await;
    let far = later(bench.now(), 5_000);
    for id in &ids[..25] {
        bench
            .store
            .edit_by_hand(id, |row| row.next_check_at = Some(far));
        bench.edit_progress(id, |progress| {
            progress["next_check_at"] = json!(far.to_string());
        });
    }
    bench.even_tick().await;
    let report = bench.poll().await;
    assert_eq!((report.listed, report.looked_up, report.not_due), (5, 5, 0));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_turn_at_the_api_uses_up_no_rows_time() {
    let mut bench = Bench::new();
    bench.polling.rate_per_second = 1;
    bench.polling.concurrency = 50;
    bench.polling.row_timeout = SignedDuration::from_secs(10);
    bench.due(60).await;
    let begin = bench.now();
    let report = bench.poll().await;
    assert_eq!(
        (report.looked_up, report.written, report.timed_out),
        (60, 60, 0)
    );
    assert!(bench.now() >= later(begin, 59), "one look-up a second");
}

#[tokio::test(start_paused = true)]
async fn a_row_whose_turn_comes_too_late_is_not_started() {
    let mut bench = Bench::new();
    bench.polling.rate_per_second = 1;
    bench.polling.concurrency = 50;
    bench.due(60).await;
    let report = bench.run_until(bench.world.after(45)).await;
    assert_eq!(report.looked_up + report.not_started, 60);
    assert!((29..=31).contains(&report.looked_up), "{report}");
    assert_eq!((report.written, report.timed_out), (report.looked_up, 0));
    assert_eq!(bench.look_ups().len() as u64, report.looked_up);
}

#[tokio::test(start_paused = true)]
async fn when_the_time_is_nearly_used_nothing_more_is_started_and_what_is_done_is_written() {
    let mut bench = Bench::new();
    bench.polling.concurrency = 1;
    bench.due(10).await;
    bench.driver().takes(SignedDuration::from_secs(2));
    let report = bench.run_until(bench.world.after(20)).await;
    assert_eq!(
        (report.looked_up, report.written, report.not_started),
        (3, 3, 7)
    );
    let report = bench.run_until(bench.world.after(15)).await;
    assert_eq!((report.looked_up, report.not_started), (0, 7));
    let report = bench.run_until(bench.world.after(-5)).await;
    assert_eq!(report.looked_up, 0);
}

struct TwoDrivers(ScriptedDriver, ScriptedDriver);

impl LookUpDrivers for TwoDrivers {
    type Driver = ScriptedDriver;
    fn driver(&self, id: &DriverId) -> Option<&ScriptedDriver> {
        match id.as_str() {
            "letter" => Some(&self.0),
            "fax" => Some(&self.1),
            _ => None,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_that_asks_to_slow_down_is_left_alone_for_this_run_and_the_others_are_not() {
    let mut bench = Bench::new();
    bench.polling.concurrency = 1;
    let ids = bench.due(8).await;
    for id in ids.iter().skip(1).step_by(2) {
        bench.edit_progress(id, |progress| {
            progress["submission"]["driver"] = json!("fax");
        });
    }
    bench.even_tick().await;
    let drivers = TwoDrivers(ScriptedDriver::new(false), ScriptedDriver::new(false));
    drivers.0.will_answer(limited());
    let until = bench.world.after(110);
    let run = flows::run(&bench.store, &drivers, &*bench.world, &bench.polling, until);
    let report = run.await.unwrap();
    assert_eq!(
        (drivers.0.look_ups().len(), drivers.1.look_ups().len()),
        (1, 4)
    );
    assert_eq!(
        (report.api_rate_limited, report.held_back, report.written),
        (1, 3, 5)
    );
    let state = |id: &HistoryId| (bench.state(id), bench.progress(id).attempts());
    assert_eq!(state(&ids[0]), ("accepted".to_owned(), 1));
    assert_eq!(
        state(&ids[2]),
        ("accepted".to_owned(), 0),
        "held back, not written"
    );
}

#[tokio::test(start_paused = true)]
async fn rows_that_are_held_back_take_no_turn_of_the_others() {
    let mut bench = Bench::new();
    bench.polling.concurrency = 1;
    bench.polling.rate_per_second = 1;
    bench.due(60).await;
    bench.driver().will_answer(limited());
    let begin = bench.now();
    let report = bench.poll().await;
    assert_eq!((report.looked_up, report.held_back), (1, 59));
    assert!(bench.now() < later(begin, 5));
}

#[tokio::test(start_paused = true)]
async fn a_crm_that_asks_to_slow_down_ends_the_run_without_further_calls() {
    for error in [
        StoreError::RateLimited { retry_after: None },
        StoreError::TokenThrottled,
    ] {
        let mut bench = Bench::new();
        bench.polling.concurrency = 1;
        bench.polling.page_rows = 5;
        bench.due(12).await;
        let lists = bench.store.lists();
        bench.store.fail_next_write(error);
        let report = bench.poll().await;
        assert_eq!(
            (report.looked_up, report.written, report.crm_rate_limited),
            (1, 0, 1)
        );
        assert_eq!(report.not_started, 4);
        assert_eq!(
            (bench.look_ups().len(), bench.store.lists()),
            (1, lists + 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_list_fails_and_a_later_page_that_cannot_be_listed_ends_it() {
    let mut bench = Bench::new();
    bench.polling.page_rows = 5;
    bench.due(12).await;
    bench.store.fail_next_list(down());
    let until = bench.world.after(110);
    let run = flows::run(
        &bench.store,
        &bench.drivers,
        &*bench.world,
        &bench.polling,
        until,
    );
    assert_eq!(run.await, Err(down()));
    assert!(bench.look_ups().is_empty());
    let fail = async {
        while bench.store.lists() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        bench.store.fail_next_list(down());
    };
    let (report, ()) = tokio::join!(bench.poll(), fail);
    assert_eq!(
        (report.pages, report.written, report.store_errors),
        (1, 5, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn states_that_people_typed_are_counted_in_the_first_tick_of_a_day_and_in_no_other() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    bench.type_state(&id, "almost done");
    let into_the_day = bench.now().as_second().rem_euclid(86_400);
    bench.pass(86_400 - into_the_day + 5).await;
    let writes = bench.store.writes();
    let first = bench.poll().await;
    assert_eq!((first.audited, first.foreign_states), (1, 1));
    bench.pass(bench.polling.interval.as_secs()).await;
    let second = bench.poll().await;
    assert_eq!((second.audited, second.foreign_states), (0, 0));
    assert_eq!(bench.store.writes(), writes, "they are left alone");
    assert_eq!(bench.state(&id), "almost done");
}
