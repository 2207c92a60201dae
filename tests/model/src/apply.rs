//! What a step does.

use jiff::Timestamp;
use sendtrail_core::ports::{StoreError, WriteReply, clock_deadline};
use sendtrail_core::record::Read;

use crate::action::{Action, Death, How, is_any_call_slow};
use crate::actor::{Actor, Held};
use crate::model::Model;
use crate::replay::{Answer, Request, whole_seconds};
use crate::rules::Mark;
use crate::setup::{LIFE, REQUEST_TIMEOUT};
use crate::state::{Fate, State};
use crate::watch;

impl Model {
    /// The state after a step.
    pub fn after(&self, last: &State, action: Action) -> State {
        let mut state = last.clone();
        match action {
            Action::Start(job) => {
                state.started |= 1 << job;
                let slot = u8::try_from(job).unwrap_or_default() + crate::model::SLOTS_OF_POLLERS;
                self.start(&mut state, Some(job), slot, u64::from(slot));
            }
            Action::Poll => {
                let taken = |slot| state.actors.iter().any(|actor| actor.slot == slot);
                let slot = (0..crate::model::SLOTS_OF_POLLERS)
                    .find(|slot| !taken(*slot))
                    .unwrap_or_default();
                let seed = (state.serial + 1) * 64 + u64::from(slot);
                self.start(&mut state, None, slot, seed);
                let pollers = state.actors.iter().filter(|actor| actor.job.is_none());
                if pollers.count() > 1 {
                    self.reached(Mark::TwoPollers);
                }
            }
            Action::Answer { actor, number, how } => self.answer(&mut state, actor, number, how),
            Action::Die { actor, how } => self.die(&mut state, actor, how),
            Action::Time(to) => {
                if is_any_call_slow(&state) {
                    state.budget.slow -= 1;
                    self.reached(Mark::Slow);
                }
                state.now = to;
                self.wake(&mut state);
            }
            Action::Arrive(place) => {
                let late = state.late.remove(place);
                let reply = self.write(
                    &mut state,
                    &late.id,
                    &late.revision,
                    &late.write,
                    &late.author,
                );
                let applied = reply == WriteReply::Applied;
                self.reached(if applied {
                    Mark::LateWrite
                } else {
                    Mark::LateConflict
                });
            }
            Action::Receive(place) => {
                state.api.submits[place].fate = Fate::Accepted { at: state.now };
                watch::accepted(&self.scene, &mut state, self.one_twin);
                self.reached(Mark::LateSubmit);
            }
            Action::Edit { record, edit } => self.edit(&mut state, record, edit),
        }
        state
    }

    fn start(&self, state: &mut State, job: Option<usize>, slot: u8, seed: u64) {
        let until = clock_deadline(state.now, LIFE);
        let actor = self.scene.start(job, slot, seed, state.now, until);
        state.actors.push(actor);
        state.actors.sort_by_key(|actor| actor.slot);
        let place = state.actors.iter().position(|actor| actor.slot == slot);
        self.settle(state, place.unwrap_or_default());
    }

    /// Wakes the flows whose sleep is over.
    fn wake(&self, state: &mut State) {
        let slots: Vec<_> = state.actors.iter().map(|actor| actor.slot).collect();
        for slot in slots {
            let place = state.actors.iter().position(|actor| actor.slot == slot);
            if let Some(place) = place {
                self.settle(state, place);
            }
        }
    }

    /// Takes a flow to where something can come between: calls that nothing in the model can influence, and
    /// that influence nothing, are answered at once, and so is a sleep that is over when nothing else is
    /// waited for. Such a step commutes with every other, so no order is lost.
    fn settle(&self, state: &mut State, place: usize) {
        while state.actors[place].until > state.now {
            let actor = &state.actors[place];
            if let Some(ended) = actor.ended() {
                let ended = ended.clone();
                let actor = state.actors.remove(place);
                for mark in watch::ended(state, &ended, actor.applied > 0) {
                    self.reached(mark);
                }
                return;
            }
            let Some((number, request)) = self.next_alone(state, actor) else {
                return;
            };
            let answer = self.inert_answer(state, request);
            let now = state.now;
            self.scene
                .tell(&mut state.actors[place], number, now, answer);
        }
    }

    fn next_alone<'a>(&self, state: &State, actor: &'a Actor) -> Option<(u32, &'a Request)> {
        let inert = actor.pending().find(|(_, request)| self.is_inert(request));
        let over = actor.pending().filter_map(|(number, request)| {
            let until = request.until().filter(|until| *until <= state.now)?;
            Some((until, number, request))
        });
        let over = over.min_by_key(|(until, number, _)| (*until, *number));
        let over = over.map(|(_, number, request)| (number, request));
        inert.or_else(|| over.filter(|_| actor.only_sleeps()))
    }

    fn is_inert(&self, request: &Request) -> bool {
        match request {
            Request::Download { .. } | Request::Upload { .. } => true,
            Request::Prepare => !self.unprepared,
            Request::Twins { .. } => self.scene.ids.len() == 1,
            Request::Sleep { .. }
            | Request::Read { .. }
            | Request::Write { .. }
            | Request::ListDue { .. }
            | Request::Submit { .. }
            | Request::LookUp { .. }
            | Request::Find { .. } => false,
        }
    }

    /// The answer to what is asked of a file, of the driver's harmless steps, or of twins where there is no
    /// other record.
    pub(crate) fn inert_answer(&self, state: &State, request: &Request) -> Answer {
        match request {
            Request::Download { record, max_bytes } => {
                Answer::Downloaded(state.crm.download(record, *max_bytes))
            }
            // Both documents are stored from the start: an upload gives the file that is there.
            Request::Upload { bytes } => Answer::Uploaded(self.file_of(bytes)),
            Request::Prepare => Answer::Prepared(Ok(())),
            Request::Twins { .. } => Answer::Twins(Ok(Vec::new())),
            Request::Sleep { .. }
            | Request::Read { .. }
            | Request::Write { .. }
            | Request::ListDue { .. }
            | Request::Submit { .. }
            | Request::LookUp { .. }
            | Request::Find { .. } => Answer::Slept,
        }
    }

    pub(crate) fn answer(&self, state: &mut State, place: usize, number: u32, how: How) {
        if how == How::Deliver {
            if let Some(held) = state.actors[place].held.take() {
                let answer = delivered(held, state.now);
                self.tell(state, place, number, answer);
            }
            return;
        }
        let Some(request) = state.actors[place].request(number).cloned() else {
            return;
        };
        spend(state, how);
        let answer = self.serve(state, place, &request, how);
        if how == How::Serve {
            let at = state.now;
            state.actors[place].held = Some(Held { number, at, answer });
        } else {
            self.tell(state, place, number, answer);
        }
    }

    fn tell(&self, state: &mut State, place: usize, number: u32, answer: Answer) {
        let now = state.now;
        let actor = &mut state.actors[place];
        self.scene.tell(actor, number, now, answer);
        // The call whose reply was on its way may have been given up for a timer.
        if let Some(held) = &actor.held
            && actor.request(held.number).is_none()
        {
            actor.held = None;
        }
        self.settle(state, place);
    }

    fn die(&self, state: &mut State, place: usize, how: Death) {
        let actor: Actor = state.actors[place].clone();
        if actor.until <= state.now {
            self.reached(Mark::Killed);
        } else {
            state.budget.deaths -= 1;
            self.reached(Mark::Died);
        }
        for (_, request) in actor.unserved() {
            let is_write = matches!(request, Request::Write { .. });
            let is_submit = matches!(request, Request::Submit { .. });
            let way = match how {
                Death::Applied if is_write => How::Plain,
                Death::Accepted if is_submit => How::AcceptLost,
                Death::Late if is_submit => How::Late,
                Death::Quiet | Death::Applied | Death::Accepted | Death::Late => continue,
            };
            self.serve(state, place, request, way);
        }
        state.actors.remove(place);
    }
}

/// Takes from the budget what this way of answering costs.
fn spend(state: &mut State, how: How) {
    let budget = &mut state.budget;
    let left = match how {
        How::Fails | How::NotFound => &mut budget.reads,
        How::Limited => &mut budget.limits,
        How::Lost | How::InFlight => &mut budget.writes,
        How::AcceptLost | How::Vanish | How::Late => &mut budget.submits,
        How::Serve => &mut budget.slow,
        How::Plain
        | How::Deliver
        | How::Accept
        | How::Reject
        | How::NotSent
        | How::Pending
        | How::Delivered
        | How::Undelivered
        | How::NotYet
        | How::Down => return,
    };
    *left -= 1;
}

/// A slow reply: its `Date` may be the time at which it was sent and not that at which it was served. One
/// that took longer than a request may take is none.
fn delivered(held: Held, now: Timestamp) -> Answer {
    let Held { at, answer, .. } = held;
    let is_too_late = now > clock_deadline(at, REQUEST_TIMEOUT);
    let timeout = || StoreError::Transient {
        detail: "timeout".to_owned(),
    };
    let redate = |mut read: Read| {
        read.stamp.date = Some(whole_seconds(now));
        read
    };
    match answer {
        Answer::Read(_) if is_too_late => Answer::Read(Err(timeout())),
        Answer::Listed(_) if is_too_late => Answer::Listed(Err(timeout())),
        Answer::Written(_) if is_too_late => Answer::Written(WriteReply::Unknown(timeout())),
        Answer::Read(read) => Answer::Read(read.map(redate)),
        Answer::Listed(page) => Answer::Listed(page.map(|mut page| {
            page.rows = page.rows.into_iter().map(redate).collect();
            page
        })),
        answer @ (Answer::Written(_)
        | Answer::Slept
        | Answer::Twins(_)
        | Answer::Downloaded(_)
        | Answer::Uploaded(_)
        | Answer::Prepared(_)
        | Answer::Submitted(_)
        | Answer::LookedUp(_)
        | Answer::Found(_)) => answer,
    }
}
