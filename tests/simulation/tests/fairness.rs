//! Every due row is visited within the stated bound, whatever the load.

use proptest::prelude::*;
use sendtrail_simulation::fairness::{Load, bound};

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn every_due_row_is_visited_within_the_bound(
        seed: u64,
        rows in 1u64..70,
        poisoned in 0u32..900_000,
        arrivals in 0u64..3,
        page_rows in 3u32..12,
        max_pages in 1u32..5,
        rate_per_second in 1u32..50,
        spare in 0i64..60,
    ) {
        let runs = bound(rows, page_rows, max_pages) + 12;
        let load = Load {
            seed, rows, poisoned, arrivals, page_rows, max_pages, rate_per_second, spare, runs,
            fires_each: 1,
        };
        let seen = load.watch().map_err(TestCaseError::fail)?;
        prop_assert!(seen.visits > 0 && seen.limited == 0, "{:?}", seen);
    }
}

#[test]
fn the_bound_is_eight_runs_for_each_window_and_two() {
    assert_eq!(bound(10_000, 200, 5), 8 * 16 + 2);
    assert_eq!(bound(1, 200, 5), 10);
    assert_eq!(bound(10, 5, 1), 8 * 2 + 2);
}

#[test]
fn runs_that_all_start_at_the_front_are_found_unfair() {
    let load = Load {
        seed: 1,
        rows: 60,
        poisoned: 900_000,
        arrivals: 0,
        page_rows: 5,
        max_pages: 2,
        rate_per_second: 20,
        spare: 10,
        runs: bound(60, 5, 2) + 5,
        fires_each: 2,
    };
    let unfair = load.watch().unwrap_err();
    assert!(unfair.contains("the bound is"), "{unfair}");
}
