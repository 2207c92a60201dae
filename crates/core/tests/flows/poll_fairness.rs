//! Every due row is visited within a stated number of runs, whatever stands before it.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use proptest::prelude::*;
use sendtrail_core::flows::PollReport;

use crate::common::{Bench, on_a_paused_clock};

/// Runs the poller at its next tick.
async fn tick(bench: &Bench) -> PollReport {
    let interval = bench.polling.interval.as_secs();
    let into = bench.now().as_second() % interval;
    bench.pass(interval - into).await;
    bench.poll().await
}

/// The most runs until every row that is due now has been visited, where each run has time for its pages:
/// eight for each window, and the two ticks until such a run comes. `place_in_backlog` tells why.
fn bound(bench: &Bench, backlog: usize) -> usize {
    let pages = bench.polling.max_pages.saturating_sub(1).max(1);
    let window = (bench.polling.page_rows * pages) as usize;
    8 * backlog.div_ceil(window).next_power_of_two() + 2
}

async fn all_are_visited(bench: &Bench, rows: usize, most: usize) -> Result<(), TestCaseError> {
    let mut runs = 0;
    loop {
        let seen: BTreeSet<_> = bench.look_ups().into_iter().collect();
        if seen.len() == rows {
            return Ok(());
        }
        prop_assert!(runs < most, "{} of {rows} rows in {runs} runs", seen.len());
        tick(bench).await;
        runs += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn rows_that_cannot_be_written_starve_no_other(
        rows in 1usize..120,
        poison in proptest::collection::vec(any::<bool>(), 120),
        front in 0usize..120,
        page_rows in 1u32..12,
        max_pages in 1u32..5,
        skip in 0i64..40,
    ) {
        on_a_paused_clock(async {
            let mut bench = Bench::new();
            bench.polling.page_rows = page_rows;
            bench.polling.max_pages = max_pages;
            bench.polling.rate_per_second = 1_000;
            let ids = bench.due(rows).await;
            for (n, id) in ids.iter().enumerate() {
                if n < front || poison[n] {
                    bench.store.poison(id);
                }
            }
            bench.pass(skip * 120).await;
            let most = bound(&bench, rows);
            all_are_visited(&bench, rows, most).await
        })?;
    }
}

/// Half of the rows can never be written, and each takes so long that a run has time for `short` of them.
async fn slow_rows_starve_none(page_rows: u32, max_pages: u32, rows: usize, short: usize) {
    let mut bench = Bench::new();
    bench.polling.concurrency = 1;
    bench.polling.page_rows = page_rows;
    bench.polling.max_pages = max_pages;
    bench.polling.row_timeout = SignedDuration::from_mins(2);
    let ids = bench.due(rows).await;
    for id in &ids[..rows / 2] {
        bench.store.poison(id);
    }
    // A run starts rows for 95 s.
    let millis = 95_000 / i64::try_from(short).unwrap();
    bench.driver().takes(SignedDuration::from_millis(millis));
    let most = 20 * rows.div_ceil(short) + 2;
    all_are_visited(&bench, rows, most).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn slow_rows_at_the_front_of_the_only_page_do_not_starve_the_rest() {
    slow_rows_starve_none(200, 5, 40, 9).await;
    slow_rows_starve_none(200, 5, 100, 2).await;
}

#[tokio::test(start_paused = true)]
async fn slow_rows_that_fill_the_first_pages_do_not_starve_the_others() {
    slow_rows_starve_none(20, 5, 60, 19).await;
    slow_rows_starve_none(5, 3, 60, 7).await;
    slow_rows_starve_none(5, 3, 60, 3).await;
    slow_rows_starve_none(10, 1, 60, 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_never_lists_more_pages_than_configured_and_visits_no_row_twice() {
    let mut bench = Bench::new();
    bench.polling.page_rows = 5;
    bench.polling.max_pages = 3;
    bench.due(50).await;
    for _ in 0..8 {
        let before = bench.look_ups().len();
        let report = tick(&bench).await;
        assert!(report.pages <= 3, "{report}");
        let now = bench.look_ups()[before..].to_vec();
        assert_eq!(now.iter().collect::<BTreeSet<_>>().len(), now.len());
        assert!(now.len() <= 15);
        for id in bench.store.ids() {
            bench.store.poison(&id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn rows_of_a_newer_format_that_stay_due_starve_no_other_and_do_not_hide_how_old_they_are() {
    let mut bench = Bench::new();
    bench.polling.page_rows = 1;
    bench.polling.max_pages = 2;
    let ids = bench.due(12).await;
    for id in &ids[..10] {
        bench
            .store
            .edit_by_hand(id, |row| row.progress = Some(r#"{"v":2}"#.to_owned()));
    }
    let before: Vec<_> = ids[..10].iter().map(|id| bench.row(id)).collect();
    let most = bound(&bench, ids.len());
    let (mut oldest, mut runs) = (0, 0);
    while bench.look_ups().len() < 2 {
        assert!(runs < most, "{runs} runs");
        oldest = oldest.max(tick(&bench).await.oldest_due_seconds);
        runs += 1;
    }
    assert!(oldest >= 120, "{oldest}");
    let after: Vec<_> = ids[..10].iter().map(|id| bench.row(id)).collect();
    assert_eq!(before, after, "they are left alone");
}

#[tokio::test(start_paused = true)]
async fn a_row_that_cannot_be_read_tells_its_age_by_its_date_field() {
    for text in [Some(r#"{"v":2}"#), Some("?"), None] {
        let bench = Bench::new();
        let ids = bench.due(2).await;
        let due = bench.row(&ids[0]).next_check_at.unwrap();
        let soon = crate::common::later(due, 500);
        bench.store.edit_by_hand(&ids[0], |row| {
            row.progress = text.map(ToOwned::to_owned);
        });
        bench.edit_progress(&ids[1], |progress| {
            progress["next_check_at"] = serde_json::json!(soon.to_string());
        });
        bench.pass(3_000).await;
        bench.even_tick().await;
        let age = bench.now().duration_since(due).as_secs().unsigned_abs();
        assert_eq!(bench.poll().await.oldest_due_seconds, age);
    }
}
