//! The same seed is the same run, every kind of fault happens, and a broken part breaks its promise.

use sendtrail_simulation::actors::Demand;
use sendtrail_simulation::checker::Promise;
use sendtrail_simulation::many::run_many;
use sendtrail_simulation::run::{Plan, run};
use sendtrail_simulation::sim::{Fault, Sabotage};

fn plan(seed: u64, sends: u64) -> Plan {
    Plan {
        seed,
        demand: Demand { sends, hours: 12 },
        keeps_log: false,
        sabotage: None,
    }
}

#[test]
fn the_same_seed_gives_the_same_event_log_byte_for_byte() {
    for seed in [1, 2, 5] {
        let plan = Plan {
            keeps_log: true,
            ..plan(seed, 15)
        };
        let (one, two) = (run(&plan), run(&plan));
        assert!(one.log.len() > 10_000, "{}", one.log.len());
        assert!(one.log == two.log, "seed {seed}");
        assert!(one.broken.is_none(), "{:?}", one.broken);
    }
}

#[test]
fn whether_the_log_is_kept_changes_nothing() {
    let kept = Plan {
        keeps_log: true,
        ..plan(3, 15)
    };
    let (with, without) = (run(&kept), run(&plan(3, 15)));
    assert_eq!(with.lasted, without.lasted);
    assert_eq!(with.endings, without.endings);
    assert_eq!(with.faults, without.faults);
}

#[test]
fn the_ends_add_up_to_the_sends_asked_and_the_copies_made() {
    let mut copies = 0;
    for seed in 1..=12 {
        let outcome = run(&plan(seed, 40));
        let records: u64 = outcome.endings.values().sum();
        assert_eq!(
            records + outcome.never_saved,
            40 + outcome.copies,
            "seed {seed}"
        );
        copies += outcome.copies;
    }
    assert!(copies > 0);
}

#[test]
fn every_promise_holds_while_every_kind_of_fault_happens() {
    let many = run_many(&plan(1, 60), 40, 1, |_| {});
    let report = many.unwrap_or_else(|broke| panic!("seed {}: {:?}", broke.0, broke.1.broken));
    for fault in Fault::ALL {
        assert!(
            report.struck(*fault) > 0,
            "never happened: {}",
            fault.label()
        );
    }
    assert_eq!(report.duplicates(), 0);
    assert_eq!(report.shortfalls(), Vec::<String>::new());
}

/// The promise that breaks in one of these seeds, the first.
fn breaks(sabotage: Sabotage) -> Option<Promise> {
    let plan = Plan {
        sabotage: Some(sabotage),
        ..plan(1, 60)
    };
    let many = run_many(&plan, 30, 1, |_| {});
    let (_, outcome) = *many.err()?;
    Some(outcome.broken?.promise)
}

#[test]
fn a_store_that_ignores_revisions_overwrites_edits() {
    assert_eq!(
        breaks(Sabotage::IgnoresRevisions),
        Some(Promise::NothingOverwritten)
    );
}

#[test]
fn a_driver_that_posts_again_sends_twice() {
    assert_eq!(breaks(Sabotage::SubmitsAgain), Some(Promise::AtMostOnce));
}

#[test]
fn a_schedule_that_never_fires_leaves_sends_in_flight() {
    assert_eq!(breaks(Sabotage::NeverPolls), Some(Promise::AlwaysEnds));
}

#[test]
fn a_product_that_sends_nothing_breaks_no_promise_and_falls_short() {
    let plan = Plan {
        sabotage: Some(Sabotage::NeverClaims),
        ..plan(1, 50)
    };
    let report =
        run_many(&plan, 20, 1, |_| {}).unwrap_or_else(|broke| panic!("{:?}", broke.1.broken));
    let short = report.shortfalls();
    assert!(
        short.contains(&"400 submits, but to 0".to_owned()),
        "{short:?}"
    );
    // Too few to tell.
    let few = run_many(&plan, 19, 1, |_| {}).unwrap_or_else(|broke| panic!("{:?}", broke.1.broken));
    assert_eq!(few.shortfalls(), Vec::<String>::new());
}

#[test]
fn clocks_far_beyond_the_margin_send_nothing_twice_and_lose_nothing() {
    assert_eq!(breaks(Sabotage::FarClocks), None);
}
