//! A path, in words.

use std::fmt::Write as _;

use jiff::Timestamp;

use crate::action::Action;
use crate::model::Model;
use crate::replay::Request;
use crate::setup::start;
use crate::state::State;

/// Each step on a line: when, what, and what the records are after it.
pub(crate) fn path(model: &Model, way: Vec<(State, Option<Action>)>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut next = way.into_iter().peekable();
    while let Some((state, action)) = next.next() {
        let Some(action) = action else {
            continue;
        };
        let after = next.peek().map(|(state, _)| state);
        let changed = after.map(|after| changes(model, &state, after));
        lines.push(format!(
            "{}  {}{}",
            clock(state.now),
            step(model, &state, action),
            changed.unwrap_or_default()
        ));
    }
    lines
}

fn clock(at: Timestamp) -> String {
    format!("{:+9.3}s", at.duration_since(start()).as_secs_f64())
}

fn step(model: &Model, state: &State, action: Action) -> String {
    let name = |actor: usize| model.scene.job(&state.actors[actor]).name();
    match action {
        Action::Start(job) => format!("start: {}", model.scene.jobs[job].name()),
        Action::Poll => "start: poller".to_owned(),
        Action::Answer { actor, number, how } => {
            let request = state.actors[actor].request(number).map(request);
            let request = request.unwrap_or_default();
            format!("{}: {request} -> {how:?}", name(actor))
        }
        Action::Die { actor, how } => {
            let killed = state.actors[actor].until <= state.now;
            let word = if killed { "killed at its end" } else { "dies" };
            format!("{}: {word} ({how:?})", name(actor))
        }
        Action::Time(to) => format!("time passes to {}", clock(to).trim()),
        Action::Arrive(_) => "a late write arrives".to_owned(),
        Action::Receive(place) => format!("the API receives the late submit {place}"),
        Action::Edit { record, edit } => format!("a person edits record {record}: {edit:?}"),
    }
}

fn request(request: &Request) -> String {
    match request {
        Request::Sleep { until } => format!("sleep until {}", clock(*until).trim()),
        Request::Read { .. } => "read".to_owned(),
        Request::Write { write, .. } => {
            let state = write
                .state
                .map_or("no state", sendtrail_core::state::State::label);
            format!("write {state}")
        }
        Request::ListDue { .. } => "list".to_owned(),
        Request::Twins { .. } => "twins".to_owned(),
        Request::Download { .. } => "download".to_owned(),
        Request::Upload { .. } => "upload".to_owned(),
        Request::Prepare => "prepare".to_owned(),
        Request::Submit { .. } => "SUBMIT".to_owned(),
        Request::LookUp { .. } => "look up".to_owned(),
        Request::Find { .. } => "find".to_owned(),
    }
}

fn changes(model: &Model, before: &State, after: &State) -> String {
    let mut text = String::new();
    for (record, id) in model.scene.ids.iter().enumerate() {
        let (was, is) = (before.crm.row(id), after.crm.row(id));
        if was != is {
            let seen = after.seen(record);
            let claim = seen
                .claim
                .as_ref()
                .map_or("none", |claim| if claim.open { "open" } else { "resolved" });
            let submission = seen.submission.as_ref().map_or("none", |submission| {
                if submission.has_id {
                    "with id"
                } else {
                    "without id"
                }
            });
            let event = &seen.event;
            let word = after.word(id);
            let _ = write!(
                text,
                "  [record {record}: {word}, last {event}, claim {claim}, submission {submission}]"
            );
        }
    }
    for rule in crate::rules::Rule::ALL {
        if after.broken.has(*rule) && !before.broken.has(*rule) {
            let _ = write!(text, "  <-- {}", rule.name());
        }
    }
    text
}
