//! What is checked when a write is applied.

use sendtrail_core::ids::derive_reference;
use sendtrail_core::input::Input;
use sendtrail_core::ports::DocumentChange;
use sendtrail_core::progress::{MAX_ENCODED, Progress};
use sendtrail_core::record::StateField;
use sendtrail_core::state::State;
use sendtrail_core::testing::Row;

use super::{Checker, Promise, ghost::deadline_of, is_own};
use crate::api::ApiState;
use crate::crm::Sent;
use crate::function::Kind;
use crate::sim::{STAGE, Settings, clock, millis_in, millis_of};

/// The most earlier texts that are kept for people to put back.
const EARLIER: usize = 4;

fn text(row: &Row) -> &str {
    row.progress.as_deref().unwrap_or_default()
}

/// A write that was applied.
#[derive(Clone, Copy)]
pub struct Applied<'a> {
    /// When.
    pub at: i64,
    /// What was sent.
    pub sent: &'a Sent,
    /// The record before it.
    pub before: &'a Row,
    /// The record after it.
    pub after: &'a Row,
    /// How often the record had changed before.
    pub changes: u64,
}

impl Checker {
    /// A write was applied.
    pub fn written(&mut self, applied: &Applied<'_>, api: &ApiState, settings: &Settings) {
        let Applied {
            at: now,
            sent,
            before,
            after,
            changes,
        } = *applied;
        let id = &sent.id;
        if sent.seen != Some(changes) {
            self.breaks(Promise::NothingOverwritten, now, || {
                format!(
                    "{} wrote {id} as after {:?} changes of {changes}",
                    sent.name, sent.seen
                )
            });
        }
        self.keeps_what_was_there(now, sent, before, after);
        let progress = Progress::decode(after.progress.as_deref());
        let length = text(after).len();
        let progress = match progress {
            Ok(progress) if length <= MAX_ENCODED => progress,
            Ok(_) | Err(_) => {
                return self.breaks(Promise::ReadableProgress, now, || {
                    format!("{id}: {length} bytes, {progress:?}")
                });
            }
        };
        if let DocumentChange::Bind(_) = sent.write.document {
            self.confirms(now, sent, before);
        }
        let from = StateField::of(before.state.as_deref()).known();
        if let (Some(from), Some(to)) = (from, sent.write.state) {
            self.moves(now, sent, from, to, &progress);
            self.tells_the_truth(now, sent, to, &progress, api);
            if to == State::NeedsReview {
                self.asked_last(now, sent, from, &progress, settings);
            }
        }
        let ghost = self.entry(id);
        if ghost.earlier.len() < EARLIER {
            ghost.earlier.push(text(before).to_owned());
        }
        if let Some(state) = sent.write.state {
            ghost.last_writer = Some(sent.kind);
            if state.is_in_flight() {
                ghost.ended_at = None;
                ghost.deadline = deadline_of(after);
            } else if from.is_some_and(State::is_in_flight) {
                ghost.ended_at = Some(now);
            }
        }
    }

    /// A confirm is of what its user looked at: this input at this revision. The same input may have been saved
    /// before and again after another one.
    fn confirms(&mut self, now: i64, sent: &Sent, before: &Row) {
        let rev = Progress::decode(before.progress.as_deref()).map(|progress| progress.rev());
        let input = Input::from_stored(before.input.as_deref().unwrap_or_default());
        let is_looked_at = sent.ticket.as_ref().is_some_and(|ticket| {
            rev.as_ref() == Ok(&ticket.rev) && input.as_ref() == Ok(&ticket.input)
        });
        if !is_looked_at {
            let of = sent.ticket.as_ref().map(|ticket| ticket.rev);
            self.breaks(Promise::SeenIsConfirmed, now, || {
                format!("{} at revision {rev:?}, looked at {of:?}", sent.id)
            });
        }
        self.entry(&sent.id).confirmed.clone_from(&sent.ticket);
    }

    fn moves(&mut self, now: i64, sent: &Sent, from: State, to: State, progress: &Progress) {
        let id = &sent.id;
        let what = || format!("{} led {id} from {from:?} to {to:?}", sent.name);
        if from.is_final() {
            self.breaks(Promise::FinalStays, now, what);
        }
        if !is_own(sent.kind, from, to) {
            self.breaks(Promise::OwnTransitions, now, what);
        }
        match (sent.kind, from, to) {
            (Kind::Poller, State::Sending, State::Accepted) => self.found += 1,
            (Kind::SideEffect, State::Sending, State::Confirmed) => {
                self.entry(id).was_not_sent = true;
            }
            _ => {}
        }
        if (from, to) != (State::Confirmed, State::Sending) {
            return;
        }
        let Some(claim) = &progress.claim else {
            return self.breaks(Promise::OwnTransitions, now, what);
        };
        let key = claim.request_key.as_str().to_owned();
        if let Some(document) = &progress.document {
            let reference = derive_reference(STAGE, id, &document.sha256);
            self.by_reference.insert(reference, id.clone());
        }
        self.pressed_again += u64::from(self.entry(id).was_not_sent);
        let ghost = self.entry(id);
        // Where a person took the earlier presses out of the progress, nothing knows of them.
        if !ghost.claims.insert(key.clone()) && !ghost.was_forgotten() {
            self.breaks(Promise::OnePressOneClaim, now, || format!("{id}: {key}"));
        }
    }

    /// What the poller gives to a person it asked for a last time: at the deadline, or when the time was over in
    /// which a submit turns up.
    fn asked_last(
        &mut self,
        now: i64,
        sent: &Sent,
        from: State,
        progress: &Progress,
        settings: &Settings,
    ) {
        let ghost = self.entry(&sent.id);
        if sent.kind != Kind::Poller || ghost.is_touched() {
            return;
        }
        let by_it = ghost.asked.iter().find(|(name, _)| *name == sent.name);
        let asked = by_it.map(|(_, at)| *at);
        let Some(deadline) = progress.deadline().map(millis_of) else {
            return;
        };
        let claim = progress.claim.as_ref();
        let pacing = &settings.pacing.letter;
        let last = match from {
            // The other driver cannot be asked for a submit.
            State::Sending if claim.is_none_or(|claim| claim.driver.as_str() != "letter") => return,
            State::Sending => claim.map_or(deadline, |claim| {
                let submitted = progress.submission.as_ref().map(|s| s.at);
                let since = submitted.map_or(claim.at, |at| at.max(claim.at));
                deadline.min(millis_of(since) + millis_in(pacing.find_grace))
            }),
            // A send API that does not know the id is asked until that grace is over.
            _ if progress
                .last_error
                .as_ref()
                .is_some_and(|error| error.kind == "not_found") =>
            {
                let accepted = progress
                    .submission
                    .as_ref()
                    .map_or(deadline, |s| millis_of(s.at));
                accepted + millis_in(pacing.not_found_grace)
            }
            State::Saved
            | State::Confirmed
            | State::Accepted
            | State::Succeeded
            | State::Failed
            | State::NeedsReview => deadline,
        };
        if asked.is_none_or(|asked| asked < last) {
            self.breaks(Promise::LastLookUp, now, || {
                let asked = asked.map_or("never".to_owned(), clock);
                format!("{}: asked {asked}, to be asked {}", sent.id, clock(last))
            });
        }
    }

    /// Ends that machines write must be what the send API says.
    fn tells_the_truth(
        &mut self,
        now: i64,
        sent: &Sent,
        to: State,
        progress: &Progress,
        api: &ApiState,
    ) {
        let id = &sent.id;
        let external = progress
            .submission
            .as_ref()
            .and_then(|s| s.external_id.as_ref());
        let accepted = external.and_then(|id| api.accepted(id.as_str()));
        let is_true = match (sent.kind, to) {
            (Kind::Poller, State::Succeeded) => accepted.is_some_and(|one| one.is_delivered),
            (Kind::Poller, State::Failed) => accepted.is_some_and(|one| !one.is_delivered),
            (Kind::SideEffect, State::Failed) => {
                let ghost = self.entry(id);
                ghost.is_rejected && ghost.accepted.is_empty()
            }
            (Kind::SideEffect, State::Confirmed) => self.entry(id).receipts == 0,
            _ => true,
        };
        if !is_true {
            self.breaks(Promise::EndIsTrue, now, || {
                format!("{} wrote {id} as {to:?}", sent.name)
            });
        }
    }

    /// Ids and people's marks survive.
    fn keeps_what_was_there(&mut self, now: i64, sent: &Sent, before: &Row, after: &Row) {
        let (old, new) = (text(before), text(after));
        let ghost = self.rows.entry(sent.id.clone()).or_default();
        let mut gone = None;
        for id in &ghost.accepted {
            let quoted = format!("\"{id}\"");
            if new.contains(&quoted) {
                ghost.recorded.insert(id.clone());
            } else if old.contains(&quoted) {
                gone = Some((Promise::IdStays, id.clone()));
            }
        }
        if !ghost.marks.is_empty() && Progress::decode(Some(old)).is_ok() {
            let mut marks = ghost.marks.iter();
            if let Some(mark) = marks.find(|m| old.contains(*m) && !new.contains(*m)) {
                gone = Some((Promise::MarksStay, mark.clone()));
            }
        }
        if let Some((promise, what)) = gone {
            let (id, name) = (&sent.id, &sent.name);
            self.breaks(promise, now, || format!("{name} took {what} from {id}"));
        }
    }
}
