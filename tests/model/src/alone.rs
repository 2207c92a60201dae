//! Which steps happen of themselves.

use crate::action::{Action, How, is_any_call_slow};
use crate::actor::Actor;
use crate::graph::{FAILING, QUIET};
use crate::model::Model;
use crate::replay::Request;
use crate::state::State;

impl Model {
    /// Whether the step is one of machine and time alone, with an API that is [`QUIET`] and with one that is
    /// [`FAILING`], as bits: no user, no person, no fault, and no answer that ends a send.
    pub fn of_itself(&self, state: &State, action: Action) -> u8 {
        let is = match action {
            Action::Answer { actor, number, how } => {
                return self.answered_of_itself(state, &state.actors[actor], number, how);
            }
            Action::Poll | Action::Arrive(_) | Action::Receive(_) => true,
            Action::Time(_) => !is_any_call_slow(state),
            Action::Die { actor, .. } => state.actors[actor].until <= state.now,
            Action::Start(_) | Action::Edit { .. } => false,
        };
        if is { QUIET | FAILING } else { 0 }
    }

    fn answered_of_itself(&self, state: &State, actor: &Actor, number: u32, how: How) -> u8 {
        let asked = actor
            .request(number)
            .filter(|request| matches!(request, Request::LookUp { .. } | Request::Find { .. }));
        let Some(request) = asked else {
            let ends = matches!(how, How::Reject | How::NotSent);
            let is = how.is_regular() && !ends;
            return if is { QUIET | FAILING } else { 0 };
        };
        if how == How::Down {
            return FAILING;
        }
        // An outcome does not count where the API may as well not tell it. Once it told a result, or has to
        // find what it accepted, it has no other answer.
        let tells_nothing = |how: &How| matches!(how, How::Pending | How::NotYet);
        let may_tell_nothing = self.ways(state, actor, request).iter().any(tells_nothing);
        let helps = may_tell_nothing && !tells_nothing(&how);
        if how.is_regular() && !helps { QUIET } else { 0 }
    }
}
