//! What a person does to a record.

use std::sync::Arc;

use bytes::Bytes;
use jiff::SignedDuration;
use sendtrail_core::ids::HistoryId;
use sendtrail_core::input::input_sha256;
use sendtrail_core::ports::clock_deadline;
use sendtrail_core::state::State as Delivery;
use sendtrail_core::testing::Row;
use serde_json::{Value, json};

use super::Edit;
use crate::actors::user;
use crate::checker::Touch;
use crate::crm::FOR_EVER;
use crate::sim::{State, World, instant, unit};

type Change = Box<dyn FnOnce(&mut Row)>;

/// Makes the edit now, unless the record is gone or people went home.
pub(super) fn make(world: &Arc<World>, id: &HistoryId, edit: Edit) {
    let now = world.now();
    let mut state = world.state();
    let state = &mut *state;
    let Some(row) = state.crm.rows.row(id).cloned() else {
        return;
    };
    if state.faults.are_over() {
        return;
    }
    let change = match edit {
        Edit::TypedState => Some(typed(state)),
        Edit::EditedInput => Some(edited_input(state.rng.chance(500_000))),
        Edit::SwappedDocument => swapped_document(state),
        Edit::OldProgress => old_progress(state, id),
        Edit::EmptiedField => Some(emptied(state.rng.below(6))),
        Edit::MarkedProgress => marked(state, id, &row),
        Edit::MovedDates => Some(moved_dates(state, now)),
        Edit::Cloned => {
            clone(world, state, now, row);
            None
        }
        Edit::Deleted => {
            state.checker.touched(id, Touch::Edited);
            state.crm.delete(now, id);
            None
        }
        Edit::Poison => return poison(state, now, id),
    };
    state.faults.count(edit.fault());
    state
        .log
        .line(now, "person", || format!("{}: {id}", edit.fault().label()));
    if let Some((touch, change)) = change {
        state.checker.touched(id, touch);
        state.crm.edit(now, id, change);
    }
}

fn swapped_document(state: &mut State) -> Option<(Touch, Change)> {
    let text = format!("%PDF-1.4 another one {}", state.rng.word());
    let file = state.crm.rows.upload(Bytes::from(text)).ok()?;
    Some((Touch::Edited, Box::new(|row| row.document = Some(file))))
}

/// One more key in the progress.
fn marked(state: &mut State, id: &HistoryId, row: &Row) -> Option<(Touch, Change)> {
    let mark = format!("note_{}", state.rng.below(1_000_000));
    let text = with_keys(row, |progress| {
        progress[&mark] = json!(1);
    })?;
    state.checker.marked(id, &mark);
    Some((Touch::Edited, Box::new(|row| row.progress = Some(text))))
}

fn typed(state: &mut State) -> (Touch, Change) {
    let words = [
        "saved",
        "confirmed",
        "confirmed",
        "sending",
        "accepted",
        "needs_review",
    ];
    let odd = ["succeeded", "failed", "sent!", "", "confirmed", "confirmed"];
    let is_odd = state.rng.chance(300_000);
    let word = state.rng.pick(if is_odd { &odd } else { &words });
    let word = word.unwrap_or_default().to_owned();
    (Touch::Typed, Box::new(|row| row.state = Some(word)))
}

/// Another input; some know that its hash stands in the progress, and set that right too.
fn edited_input(is_thorough: bool) -> (Touch, Change) {
    let change = move |row: &mut Row| {
        let input = row
            .input
            .as_deref()
            .unwrap_or_default()
            .replace("Ada", "Eve");
        if is_thorough {
            let text = with_keys(row, |progress| {
                if let Some(document) = progress.get_mut("document") {
                    document["input_sha256"] = json!(input_sha256(&input).to_string());
                }
            });
            row.progress = text.or_else(|| row.progress.take());
        }
        row.input = Some(input);
    };
    (Touch::Edited, Box::new(change))
}

/// An earlier text of the progress; some set the state back as well.
fn old_progress(state: &mut State, id: &HistoryId) -> Option<(Touch, Change)> {
    let earlier = &state.checker.ghost(id)?.earlier;
    let n = usize::try_from(state.rng.below(earlier.len() as u64)).ok()?;
    let text = earlier.get(n)?.clone();
    let types_too = state.rng.chance(500_000);
    let change = move |row: &mut Row| {
        row.progress = Some(text);
        if types_too {
            row.state = Some(Delivery::Confirmed.label().to_owned());
        }
    };
    Some((Touch::Forgot, Box::new(change)))
}

/// Which of the fields is emptied, and what that does.
fn emptied(which: u64) -> (Touch, Change) {
    match which {
        0 => (Touch::Forgot, Box::new(|row| row.progress = None)),
        1 => (
            Touch::Forgot,
            Box::new(|row| {
                let text = row.progress.take().unwrap_or_default();
                row.progress = Some(text.chars().take(text.len() / 2).collect());
            }),
        ),
        2 => (Touch::Edited, Box::new(|row| row.input = None)),
        3 => (Touch::Edited, Box::new(|row| row.external_id = None)),
        4 => (Touch::Edited, Box::new(|row| row.next_check_at = None)),
        _ => (Touch::Edited, Box::new(|row| row.deadline = None)),
    }
}

fn moved_dates(state: &mut State, now: i64) -> (Touch, Change) {
    let hours = state.rng.between(-50, 200);
    let at = clock_deadline(instant(now), SignedDuration::from_hours(hours));
    let both = state.rng.chance(500_000);
    let change = move |row: &mut Row| {
        row.next_check_at = Some(at);
        if both {
            row.deadline = Some(at);
        }
    };
    (Touch::Edited, Box::new(change))
}

/// The CRM's own button: every field but the unique one. Somebody presses the copy, too.
fn clone(world: &Arc<World>, state: &mut State, now: i64, mut row: Row) {
    row.request_key = None;
    let document = row.document_sha256.clone();
    let clock = state.crm.clock(now);
    let copy = state.crm.rows.insert(clock, row);
    state.crm.changed(now, &copy);
    state.checker.created(now, &copy);
    state.checker.copies += 1;
    state.checker.touched(&copy, Touch::Edited);
    state
        .log
        .line(now, "person", || format!("the copy is {copy}"));
    if let Some(document) = document.and_then(|text| text.parse().ok()) {
        let after = state.rng.between(unit::SECOND, 5 * unit::MINUTE);
        world.executor.spawn(user::presses_a_copy(
            Arc::clone(world),
            copy,
            document,
            after,
        ));
    }
}

fn poison(state: &mut State, now: i64, id: &HistoryId) {
    let hours = state.rng.pick(&[1, 5, 20]).unwrap_or(1);
    let lasts = state.rng.chance(300_000);
    let until = if lasts {
        FOR_EVER
    } else {
        now + hours * unit::HOUR
    };
    state.crm.poison(id, until);
    state
        .log
        .line(now, "CRM", || format!("{id} refuses writes from now on"));
}

/// The progress with something changed in it.
fn with_keys(row: &Row, change: impl FnOnce(&mut Value)) -> Option<String> {
    let mut value: Value = serde_json::from_str(row.progress.as_deref()?).ok()?;
    value.as_object()?;
    change(&mut value);
    Some(value.to_string())
}
