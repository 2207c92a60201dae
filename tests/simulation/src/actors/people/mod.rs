//! People who edit history records by hand: at any moment, and some just when the record has got somewhere.

mod edits;

use std::sync::Arc;

use sendtrail_core::ids::HistoryId;
use sendtrail_core::state::State as Delivery;

use crate::sim::{Fault, Rng, State, World, unit};

/// Edits that wait for the record to get into a state.
#[derive(Debug, Clone, Copy)]
pub struct Ambush {
    state: Delivery,
    edit: Edit,
    /// Milliseconds after that.
    after: i64,
}

macro_rules! edits {
    ($($name:ident,)*) => {
        /// What a person, or the CRM itself, does to one record; each is a kind of fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Edit {
            $($name,)*
        }

        impl Edit {
            const ALL: &[Self] = &[$(Self::$name,)*];

            const fn fault(self) -> Fault {
                match self { $(Self::$name => Fault::$name,)* }
            }
        }
    };
}

edits! {
    TypedState,
    EditedInput,
    SwappedDocument,
    OldProgress,
    EmptiedField,
    MarkedProgress,
    MovedDates,
    Cloned,
    Deleted,
    Poison,
}

/// Decides what befalls a new record. Whether that will tempt somebody to press again is told.
pub(super) fn befall(world: &Arc<World>, id: &HistoryId) -> bool {
    let mut state = world.state();
    let faults = state.faults.clone();
    let mut edits = Edit::ALL.to_vec();
    edits.retain(|edit| faults.would(&mut state.rng, edit.fault()));
    // Putting an old progress back and emptying the record's own copies as well is the one thing that no
    // code can see through; see core's README.
    if edits.contains(&Edit::OldProgress) {
        edits.retain(|edit| *edit != Edit::EmptiedField);
    }
    let mut at_random = Vec::new();
    for edit in &edits {
        let waits_for = [
            Delivery::Confirmed,
            Delivery::Sending,
            Delivery::Sending,
            Delivery::Accepted,
            Delivery::NeedsReview,
        ];
        if state.rng.chance(500_000)
            && let Some(waits_for) = state.rng.pick(&waits_for)
        {
            let spans = [20, 500, 2_500, 6_000, 60_000];
            let span = state.rng.pick(&spans).unwrap_or(1);
            let ambush = Ambush {
                state: waits_for,
                edit: *edit,
                after: state.rng.between(0, span),
            };
            state.ambushes.entry(id.clone()).or_default().push(ambush);
        } else {
            let spans = [10, 60, 300, 3_600, 100_000];
            let span = state.rng.pick(&spans).unwrap_or(60) * unit::SECOND;
            at_random.push((*edit, state.rng.between(0, span)));
        }
    }
    drop(state);
    for (edit, after) in at_random {
        edit_after(world, id, edit, after);
    }
    edits
        .iter()
        .any(|edit| matches!(edit, Edit::TypedState | Edit::OldProgress))
}

fn edit_after(world: &Arc<World>, id: &HistoryId, edit: Edit, after: i64) {
    let (editing, id) = (Arc::clone(world), id.clone());
    world.executor.spawn(async move {
        editing.sleep(after).await;
        edits::make(&editing, &id, edit);
        let (again, after) = once_more(&mut editing.state().rng, edit);
        if let Some(again) = again {
            editing.sleep(after).await;
            edits::make(&editing, &id, again);
        }
    });
}

/// Some edit once more: within a second, or the same old text again, when a machine wrote meanwhile.
fn once_more(rng: &mut Rng, edit: Edit) -> (Option<Edit>, i64) {
    let (soon, later) = (rng.between(20, 990), rng.around(unit::MINUTE));
    match (edit, rng.below(10)) {
        (Edit::OldProgress, 0..=4) => (Some(Edit::OldProgress), later),
        (_, 0..=2) => (Some(Edit::MarkedProgress), soon),
        _ => (None, 0),
    }
}

/// The record got into this state: whoever waited for that edits it soon.
pub fn spring(world: &Arc<World>, state: &mut State, id: &HistoryId, into: Delivery) {
    let Some(waiting) = state.ambushes.get_mut(id) else {
        return;
    };
    let ready: Vec<_> = waiting
        .extract_if(.., |ambush| ambush.state == into)
        .collect();
    for Ambush { edit, after, .. } in ready {
        edit_after(world, id, edit, after);
    }
}
