//! Many seeds, one world each; worlds do not know of each other, so that several threads may share them out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::report::Report;
use crate::run::{Outcome, Plan, run};

/// The seed of a world in which a promise broke, and that world.
pub type Broke = (u64, Outcome);

/// Runs the worlds of `seeds` seeds from `first.seed` on; `seen` is told after each how many are done.
///
/// # Errors
/// The world of the lowest seed that broke a promise; worlds that had not begun by then are left out.
pub fn run_many(
    first: &Plan,
    seeds: u64,
    jobs: usize,
    mut seen: impl FnMut(u64),
) -> Result<Report, Box<Broke>> {
    let next = AtomicU64::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut report = Report::default();
    let mut broke: Option<Broke> = None;
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= seeds {
                        return;
                    }
                    let plan = Plan {
                        seed: first.seed.wrapping_add(number),
                        ..*first
                    };
                    if sender.send((plan.seed, run(&plan))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut done = 0;
        for (seed, outcome) in &receiver {
            done += 1;
            seen(done);
            if outcome.broken.is_some() {
                next.store(seeds, Ordering::Relaxed);
                if broke.as_ref().is_none_or(|(lowest, _)| seed < *lowest) {
                    broke = Some((seed, outcome));
                }
                continue;
            }
            report.add(first.demand.sends, &outcome);
        }
    });
    match broke {
        Some(broke) => Err(Box::new(broke)),
        None => Ok(report),
    }
}
