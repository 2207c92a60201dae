//! The schedule: every two minutes, but for ticks that are lost, doubled or late.

use std::sync::Arc;

use super::poller::poll;
use crate::sim::{Fault, Sabotage, World, millis_in, unit};

/// Fires for ever.
pub async fn fire(world: Arc<World>) {
    if world.settings.sabotage == Some(Sabotage::NeverPolls) {
        return;
    }
    let interval = millis_in(world.settings.poll.interval);
    let mut down_until = 0;
    let mut hour = 0;
    loop {
        let next = (world.now() / interval + 1) * interval;
        world.sleep(next - world.now()).await;
        let now = world.now();
        let delays = {
            let mut state = world.state();
            if now / unit::HOUR != hour {
                hour = now / unit::HOUR;
                if state.strikes(Fault::ScheduleDown) {
                    down_until = now + state.rng.between(unit::HOUR / 2, 8 * unit::HOUR);
                    state
                        .log
                        .line(now, "schedule", || "down for hours".to_owned());
                }
            }
            if now < down_until && !state.faults.are_over() {
                continue;
            }
            let kinds = [Fault::TickMissed, Fault::TickDoubled, Fault::TickLate];
            let soon = state.rng.between(0, 2 * unit::SECOND);
            match state.one_of(&kinds) {
                Some(Fault::TickMissed) => vec![],
                Some(Fault::TickDoubled) => vec![soon, state.rng.between(0, unit::SECOND)],
                Some(_) => vec![state.rng.between(unit::MINUTE, 119 * unit::SECOND)],
                None => vec![soon],
            }
        };
        for delay in delays {
            let world = Arc::clone(&world);
            world.executor.clone().spawn(async move {
                world.sleep(delay).await;
                poll(&world).await;
            });
        }
    }
}
