//! Operators: they settle what waits for them, start look-ups again, and record what a function reported.

use std::sync::Arc;

use jiff::SignedDuration;
use sendtrail_core::flows::{Operated, Operation, operate};
use sendtrail_core::ids::{ExternalId, HistoryId};
use sendtrail_core::state::State;

use super::invocation::invoke;
use crate::function::Kind;
use crate::sim::{STAGE, World, unit};

/// Time for one decision.
const TIME: i64 = 30 * unit::SECOND;

/// Every hour or so some of the records in review are dealt with.
pub(super) async fn work(world: Arc<World>) {
    loop {
        let wait = world.state().rng.between(unit::HOUR / 2, 2 * unit::HOUR);
        world.sleep(wait).await;
        if world.state().faults.are_over() || world.is_past_the_day() {
            return;
        }
        for (id, operation) in decisions(&world) {
            act(&world, &id, operation).await;
        }
    }
}

fn decisions(world: &World) -> Vec<(HistoryId, Operation)> {
    let mut state = world.state();
    let review = Some(State::NeedsReview.label());
    let rows = state.crm.rows.rows();
    let waiting = rows.filter(|(_, row)| row.state.as_deref() == review);
    let waiting: Vec<_> = waiting.map(|(id, _)| id.clone()).collect();
    let mut decided = Vec::new();
    for id in waiting {
        // Some wait for days.
        if !state.rng.chance(300_000) {
            continue;
        }
        let ids = state.checker.ghost(&id).map(|ghost| ghost.accepted.clone());
        let known = ids.and_then(|ids| ExternalId::parse(ids.first()?).ok());
        let give_up = SignedDuration::from_hours(state.rng.between(1, 40));
        let operation = match (state.rng.below(4), known) {
            (0, _) => Operation::SettleSucceeded,
            (1, Some(external_id)) => Operation::Record {
                external_id,
                give_up,
            },
            (2, external_id) => Operation::Resume {
                external_id,
                give_up,
            },
            _ => Operation::SettleFailed,
        };
        decided.push((id, operation));
    }
    decided
}

/// One decision, in a process of its own.
pub(super) async fn act(world: &Arc<World>, id: &HistoryId, operation: Operation) -> bool {
    let end = invoke(
        world,
        Kind::Operator,
        TIME + unit::MINUTE,
        |function| async move {
            let until = function.after(TIME);
            let by = "Olga Operator";
            let why = "as told on the phone";
            let done = operate(
                &*function, &*function, STAGE, id, &operation, by, why, until,
            )
            .await;
            function
                .world
                .log(&function.name, || format!("{operation:?} {id} -> {done:?}"));
            done
        },
    );
    match end.await.done() {
        Some(Operated::Done { .. } | Operated::Refused(_)) => true,
        Some(Operated::ChangedElsewhere | Operated::NotWritten(_) | Operated::Unconfirmed(_))
        | None => false,
    }
}

/// A function reported an id it could not record: somebody runs the command of the alarm.
pub(super) async fn record(world: Arc<World>, id: HistoryId, external_id: ExternalId) {
    let wait = world.state().rng.between(unit::MINUTE, 6 * unit::HOUR);
    world.sleep(wait).await;
    for _ in 0..20 {
        let operation = Operation::Record {
            external_id: external_id.clone(),
            give_up: SignedDuration::from_hours(24),
        };
        if act(&world, &id, operation).await {
            return;
        }
        world.sleep(10 * unit::MINUTE).await;
    }
}
