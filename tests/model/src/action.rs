//! What can happen next.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::clock_deadline;
use sendtrail_core::state::State as Word;

use crate::actor::Actor;
use crate::model::{Model, SLOTS_OF_POLLERS};
use crate::replay::{Request, whole_seconds};
use crate::setup::{CLAIM_STALE, END, FIND_GRACE, INDEX_DELAY, at};
use crate::state::{Fate, State};

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A user, or a person with the command, starts this job.
    Start(usize),
    /// The schedule starts the poller.
    Poll,
    /// A request is answered.
    Answer {
        /// Whose.
        actor: usize,
        /// Which.
        number: u32,
        /// How.
        how: How,
    },
    /// An invocation dies.
    Die {
        /// Which.
        actor: usize,
        /// What becomes of its call.
        how: Death,
    },
    /// Time passes to the next moment at which something can be different.
    Time(Timestamp),
    /// A write whose caller was told nothing arrives.
    Arrive(usize),
    /// A submit whose caller was told nothing is received.
    Receive(usize),
    /// A person edits a record.
    Edit {
        /// Which.
        record: usize,
        /// How.
        edit: Edit,
    },
}

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    /// As it should be.
    Plain,
    /// It fails.
    Fails,
    /// It is refused, since there are too many; nothing is done.
    Limited,
    /// A write is applied, and its reply lost.
    Lost,
    /// A write is told to be unknown, and may arrive later or never.
    InFlight,
    /// It is served now, and its reply is slow.
    Serve,
    /// The slow reply comes.
    Deliver,
    /// A submit is accepted.
    Accept,
    /// A submit is accepted, and its reply lost.
    AcceptLost,
    /// A submit is refused for good.
    Reject,
    /// A submit is proved not to have been accepted.
    NotSent,
    /// A submit is never received, and nobody knows.
    Vanish,
    /// A submit is not received yet, and nobody knows.
    Late,
    /// No result yet.
    Pending,
    /// Delivered.
    Delivered,
    /// Not delivered.
    Undelivered,
    /// The API does not know the id.
    NotFound,
    /// The index is behind.
    NotYet,
    /// A look-up or a search fails, of an API that never tells an outcome and may fail as often as it is asked.
    Down,
}

/// What becomes of the call of an invocation that dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Death {
    /// Nothing.
    Quiet,
    /// Its write is applied.
    Applied,
    /// Its submit is accepted.
    Accepted,
    /// Its submit may be received later.
    Late,
}

/// What a person does to a record in the CRM's own page. Each edit leaves a mark in the progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edit {
    /// Adds a key of their own to the progress.
    Touch,
    /// Types a state.
    Type(&'static str),
    /// Replaces the input.
    Input,
    /// Replaces the input, and repairs its hash in the progress.
    InputAndHash,
    /// Replaces the stored document.
    Document,
    /// Puts back the progress as it was when the document was confirmed.
    OldProgress,
    /// Does that, and types `confirmed`.
    OldProgressConfirmed,
    /// Empties the progress.
    Clear,
}

impl How {
    /// Whether it is no fault: what happens of itself when nothing goes wrong.
    pub fn is_regular(self) -> bool {
        match self {
            Self::Plain
            | Self::Deliver
            | Self::Accept
            | Self::Reject
            | Self::NotSent
            | Self::Pending
            | Self::Delivered
            | Self::Undelivered
            | Self::NotYet => true,
            Self::Fails
            | Self::Limited
            | Self::Lost
            | Self::InFlight
            | Self::Serve
            | Self::AcceptLost
            | Self::Vanish
            | Self::Late
            | Self::NotFound
            | Self::Down => false,
        }
    }
}

impl Model {
    /// Every step that is possible.
    pub fn steps(&self, state: &State) -> Vec<Action> {
        let mut steps = Vec::new();
        self.answers(state, &mut steps);
        self.deaths(state, &mut steps);
        let running = state.actors.iter().filter(|actor| actor.job.is_some());
        let may_start = running.count() < self.together;
        for job in 0..self.scene.jobs.len() {
            if may_start && state.started & 1 << job == 0 {
                steps.push(Action::Start(job));
            }
        }
        let pollers = state.actors.iter().filter(|actor| actor.job.is_none());
        if pollers.count() < usize::from(self.pollers.min(SLOTS_OF_POLLERS))
            && state.crm.count_due(state.now) > 0
        {
            steps.push(Action::Poll);
        }
        steps.extend((0..state.late.len()).map(Action::Arrive));
        let submits = state.api.submits.iter().enumerate();
        let late = submits.filter(|(_, submit)| submit.fate == Fate::Late);
        steps.extend(late.map(|(place, _)| Action::Receive(place)));
        if state.budget.edits > 0 {
            for record in 0..self.scene.ids.len() {
                let edits = self.edits.iter();
                steps.extend(edits.map(|edit| Action::Edit {
                    record,
                    edit: *edit,
                }));
            }
        }
        if let Some(to) = self.next_moment(state) {
            steps.push(Action::Time(to));
        }
        steps
    }

    fn answers(&self, state: &State, steps: &mut Vec<Action>) {
        for (place, actor) in state.actors.iter().enumerate() {
            if actor.until <= state.now {
                continue;
            }
            for (number, request) in actor.pending() {
                let is_held = actor
                    .held
                    .as_ref()
                    .is_some_and(|held| held.number == number);
                let ways = if is_held {
                    vec![How::Deliver]
                } else {
                    self.ways(state, actor, request)
                };
                steps.extend(ways.into_iter().map(|how| Action::Answer {
                    actor: place,
                    number,
                    how,
                }));
            }
        }
    }

    /// The ways in which a request can be answered now.
    pub(crate) fn ways(&self, state: &State, actor: &Actor, request: &Request) -> Vec<How> {
        let budget = &state.budget;
        let mut ways = Vec::new();
        let mut allow = |left: u8, how: How| {
            if left > 0 {
                ways.push(how);
            }
        };
        let may_be_slow = u8::from(budget.slow > 0 && actor.held.is_none());
        match request {
            Request::Sleep { until } => allow(u8::from(*until <= state.now), How::Plain),
            Request::Read { .. } | Request::ListDue { .. } => {
                allow(1, How::Plain);
                allow(budget.reads, How::Fails);
                allow(budget.limits, How::Limited);
                allow(may_be_slow, How::Serve);
            }
            Request::Write { .. } => {
                allow(1, How::Plain);
                allow(budget.writes, How::Lost);
                allow(budget.writes, How::InFlight);
                allow(budget.limits, How::Limited);
                allow(may_be_slow, How::Serve);
            }
            Request::Twins { .. } | Request::Prepare => {
                allow(1, How::Plain);
                allow(budget.reads, How::Fails);
            }
            Request::Download { .. } | Request::Upload { .. } => allow(1, How::Plain),
            Request::Submit { .. } => {
                allow(1, How::Accept);
                allow(u8::from(self.refusals), How::Reject);
                allow(u8::from(self.refusals), How::NotSent);
                allow(budget.submits, How::AcceptLost);
                allow(budget.submits, How::Vanish);
                allow(budget.submits, How::Late);
                allow(may_be_slow, How::Serve);
            }
            Request::LookUp { .. } if self.silent_api => ways.extend([How::Pending, How::Down]),
            Request::Find { .. } if self.silent_api => ways.extend([How::NotYet, How::Down]),
            Request::LookUp { id } => {
                let submits = state.api.submits.iter().enumerate();
                let result = submits
                    .filter(|(place, _)| crate::job::external_id(*place) == *id)
                    .find_map(|(_, submit)| submit.result);
                allow(u8::from(result.is_none()), How::Pending);
                allow(u8::from(result != Some(false)), How::Delivered);
                allow(u8::from(result != Some(true)), How::Undelivered);
                allow(budget.reads, How::NotFound);
                allow(budget.reads, How::Fails);
            }
            Request::Find { reference } => {
                allow(1, How::Plain);
                let is_new = state.api.submits.iter().any(|submit| {
                    let young = matches!(submit.fate, Fate::Accepted { at }
                        if clock_deadline(at, INDEX_DELAY) > state.now);
                    submit.reference == *reference && young
                });
                allow(u8::from(is_new), How::NotYet);
                allow(budget.reads, How::Fails);
            }
        }
        ways
    }

    #[expect(
        clippy::unused_self,
        reason = "one of the kinds of step, each a method of the model"
    )]
    fn deaths(&self, state: &State, steps: &mut Vec<Action>) {
        for (place, actor) in state.actors.iter().enumerate() {
            let is_over = actor.until <= state.now;
            if !is_over && state.budget.deaths == 0 {
                continue;
            }
            let mut ways = vec![Death::Quiet];
            for (_, request) in actor.unserved() {
                if let Request::Write { .. } = request {
                    ways.push(Death::Applied);
                }
                if let Request::Submit { .. } = request {
                    ways.extend([Death::Accepted, Death::Late]);
                }
            }
            steps.extend(
                ways.into_iter()
                    .map(|how| Action::Die { actor: place, how }),
            );
        }
    }

    /// The next moment at which something can be different, if time may pass at all.
    fn next_moment(&self, state: &State) -> Option<Timestamp> {
        let now = state.now;
        // A sleep that is over wakes its flow, and a function is killed at its end, before more time passes.
        let is_due = |actor: &Actor| {
            actor.until <= now || actor.wakes_at().is_some_and(|wakes| wakes <= now)
        };
        if state.actors.iter().any(is_due) {
            return None;
        }
        if is_any_call_slow(state) && state.budget.slow == 0 {
            return None;
        }
        let mut moments = Vec::new();
        for actor in &state.actors {
            moments.push(actor.until);
            moments.extend(actor.wakes_at());
        }
        for (place, id) in self.scene.ids.iter().enumerate() {
            self.moments_of(state, place, id, &mut moments);
        }
        let next = moments.into_iter().filter(|moment| *moment > now).min();
        next.filter(|moment| *moment <= at(END))
    }

    fn moments_of(
        &self,
        state: &State,
        record: usize,
        id: &HistoryId,
        moments: &mut Vec<Timestamp>,
    ) {
        let Some(row) = state.crm.row(id) else {
            return;
        };
        if row.modified() == whole_seconds(state.now) {
            moments.push(clock_deadline(row.modified(), SignedDuration::from_secs(1)));
        }
        let word = row.state.as_deref().and_then(Word::from_label);
        if !word.is_some_and(Word::is_in_flight) {
            return;
        }
        moments.extend(row.next_check_at);
        moments.extend(row.deadline);
        let seen = state.seen(record);
        let claimed = seen.claim.as_ref().map(|claim| claim.at);
        let told = seen.submission.as_ref().map(|submission| submission.at);
        if self.can_be_edited() {
            let over = claimed.into_iter().chain(seen.deadline);
            moments.extend(over.map(|at| clock_deadline(at, CLAIM_STALE)));
        }
        if word == Some(Word::Sending) {
            let last = claimed.max(told);
            moments.extend(last.map(|at| clock_deadline(at, FIND_GRACE)));
        }
    }

    fn can_be_edited(&self) -> bool {
        !self.edits.is_empty()
    }
}

/// Whether a call is under way that was not served yet: time passes meanwhile only if it is slow.
pub(crate) fn is_any_call_slow(state: &State) -> bool {
    let mut unserved = state.actors.iter().flat_map(Actor::unserved);
    unserved.any(|(_, request)| request.until().is_none())
}
