//! Who acts in a world.

mod invocation;
mod operator;
mod people;
mod poller;
mod schedule;
mod user;
mod weather;

use std::sync::Arc;

pub use invocation::{End, invoke};
pub use people::{Ambush, spring};
pub use poller::{Ran, poll};
pub use schedule::fire;
pub use user::sends;

use crate::sim::{World, unit::HOUR};

/// What is asked of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Sends.
    pub sends: u64,
    /// Over this many hours.
    pub hours: i64,
}

/// After the last send people, operators and faults go on for this many hours.
const AFTERMATH: i64 = 30;

impl Demand {
    /// When faults are over and people go home.
    pub fn calm_at(self) -> i64 {
        (self.hours + AFTERMATH) * HOUR
    }
}

/// Starts everybody.
pub fn start(world: &Arc<World>, demand: Demand) {
    let executor = &world.executor;
    executor.spawn(schedule::fire(Arc::clone(world)));
    executor.spawn(operator::work(Arc::clone(world)));
    executor.spawn(weather::change(Arc::clone(world)));
    let begins = Arc::clone(world);
    executor.spawn(async move {
        let gap = demand.hours * HOUR / i64::try_from(demand.sends.max(1)).unwrap_or(i64::MAX);
        for number in 0..demand.sends {
            let wait = begins.state().rng.between(0, 2 * gap + 1);
            begins.sleep(wait).await;
            begins
                .executor
                .spawn(user::sends(Arc::clone(&begins), number));
        }
    });
}
