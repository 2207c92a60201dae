//! What lasts: a day's credits that are used up, a token endpoint that refuses.

use std::sync::Arc;

use crate::sim::{Fault, World, unit};

/// Changes every hour, until faults are over.
pub(super) async fn change(world: Arc<World>) {
    while !world.state().faults.are_over() {
        world.sleep(unit::HOUR).await;
        let now = world.now();
        let mut state = world.state();
        if state.strikes(Fault::CreditsExhausted) {
            let until = now + state.rng.between(5 * unit::MINUTE, 4 * unit::HOUR);
            state.crm.exhaust(until);
            state
                .log
                .line(now, "CRM", || "credits are used up for a while".to_owned());
        }
        if state.strikes(Fault::TokenThrottled) {
            state.crm.throttle(now + 10 * unit::MINUTE);
            state
                .log
                .line(now, "CRM", || "no new tokens for ten minutes".to_owned());
        }
    }
}
