//! How the CRM and the send API serve a request.

use std::sync::Arc;

use jiff::Timestamp;
use sendtrail_core::ids::{HistoryId, Reference, Revision, Sha256Hash};
use sendtrail_core::ports::{
    Evidence, Failure, FindAnswer, LookUpAnswer, NotSent, StoreError, SubmitOutcome, Write,
    WriteReply,
};
use sendtrail_core::testing::SeenClock;

use crate::action::How;
use crate::job::external_id;
use crate::model::Model;
use crate::replay::{Answer, Request};
use crate::rules::Mark;
use crate::state::{Author, Fate, LateWrite, State, Submit};
use crate::watch::{self, Before};

impl Model {
    /// Serves a request in one of its ways, with all that this does to CRM and API.
    pub(crate) fn serve(
        &self,
        state: &mut State,
        place: usize,
        request: &Request,
        how: How,
    ) -> Answer {
        let fails = how == How::Fails || how == How::Limited;
        let now = state.now;
        let clock = |before: &Option<Timestamp>| SeenClock {
            date: now,
            before: *before,
        };
        match request {
            Request::Sleep { .. } => Answer::Slept,
            Request::Read { .. } if fails => Answer::Read(Err(error(how))),
            Request::Read { id, before } => Answer::Read(state.crm.read(id, clock(before))),
            Request::ListDue { .. } if fails => Answer::Listed(Err(error(how))),
            Request::ListDue { query, before } => {
                Answer::Listed(Ok(state.crm.list_due(query, clock(before))))
            }
            Request::Twins { .. } if fails => Answer::Twins(Err(error(how))),
            Request::Twins {
                module,
                record,
                document,
            } => Answer::Twins(Ok(state.crm.twins(module, record, document, now))),
            Request::Prepare if fails => Answer::Prepared(Err(not_sent())),
            Request::Prepare | Request::Download { .. } | Request::Upload { .. } => {
                self.inert_answer(state, request)
            }
            Request::Write {
                id,
                revision,
                write,
            } => Answer::Written(self.asked_to_write(state, place, id, revision, write, how)),
            Request::Submit {
                id,
                reference,
                document,
                input,
            } => {
                let sent = self.submit_of(state, place, id, reference, document);
                watch::proved(&self.scene, state, place, id);
                Answer::Submitted(self.submit(state, place, sent, *document, *input, how))
            }
            Request::LookUp { id } => Answer::LookedUp(look_up(state, id.as_str(), how)),
            Request::Find { reference } => Answer::Found(find(state, reference, how)),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other ways are those of other requests"
    )]
    fn asked_to_write(
        &self,
        state: &mut State,
        place: usize,
        id: &HistoryId,
        revision: &Revision,
        write: &Write,
        how: How,
    ) -> WriteReply {
        let lost = WriteReply::Unknown(error(How::Lost));
        let author = Author::of(&state.actors[place]);
        if author.job.is_none() {
            state.serial += 1;
        }
        match how {
            How::Limited => WriteReply::NotApplied(error(how)),
            How::InFlight => {
                let row = state.crm.row(id);
                if row.is_some_and(|row| row.record(id).revision == *revision) {
                    state.late.push(LateWrite {
                        id: id.clone(),
                        revision: revision.clone(),
                        write: Box::new(write.clone()),
                        author,
                    });
                }
                lost
            }
            How::Lost => {
                if self.write(state, id, revision, write, &author) == WriteReply::Applied {
                    self.reached(Mark::LostReply);
                }
                lost
            }
            _ => self.write(state, id, revision, write, &author),
        }
    }

    /// A write reaches the CRM.
    pub(crate) fn write(
        &self,
        state: &mut State,
        id: &HistoryId,
        revision: &Revision,
        write: &Write,
        author: &Author,
    ) -> WriteReply {
        let Some(record) = self.record_of(id) else {
            return WriteReply::NotApplied(StoreError::NotFound);
        };
        let before = Before {
            word: state.word(id).to_owned(),
            seen: Arc::clone(&state.records[record].seen.0),
        };
        let now = state.now;
        let reply = Arc::make_mut(&mut state.crm).write(now, id, revision, write);
        if reply == WriteReply::Applied {
            self.changed(state, record, id);
            let mut writers = state.actors.iter_mut();
            if author.job.is_some()
                && let Some(writer) = writers.find(|actor| actor.job == author.job)
            {
                writer.applied += 1;
            }
            for mark in watch::written(&self.scene, state, record, &before, write, author) {
                self.reached(mark);
            }
        } else {
            self.reached(Mark::Conflict);
        }
        reply
    }

    /// A record changed. Late writes that name an earlier revision of it can be applied no more.
    pub(crate) fn changed(&self, state: &mut State, record: usize, id: &HistoryId) {
        state.look_at(record, id);
        let Some(revision) = state.crm.row(id).map(|row| row.record(id).revision) else {
            return;
        };
        let before = state.late.len();
        let late = &mut state.late;
        late.retain(|late| late.id != *id || late.revision == revision);
        if late.len() < before {
            self.reached(Mark::LateConflict);
        }
    }

    fn submit_of(
        &self,
        state: &State,
        place: usize,
        id: &HistoryId,
        reference: &Reference,
        document: &Sha256Hash,
    ) -> Submit {
        let press = self.scene.job(&state.actors[place]);
        Submit {
            key: press.press_key().unwrap_or_default(),
            record: self.record_of(id).unwrap_or_default(),
            document: short(document),
            reference: reference.clone(),
            fate: Fate::Gone,
            result: None,
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other ways are those of other requests"
    )]
    fn submit(
        &self,
        state: &mut State,
        place: usize,
        mut sent: Submit,
        document: Sha256Hash,
        input: Sha256Hash,
        how: How,
    ) -> SubmitOutcome {
        let unknown = || {
            SubmitOutcome::Unknown(Evidence {
                class: "timeout".to_owned(),
                ..Evidence::default()
            })
        };
        let accepted = Fate::Accepted { at: state.now };
        let (fate, outcome) = match how {
            How::Accept | How::Serve => (
                accepted,
                SubmitOutcome::Accepted {
                    external_id: external_id(state.api.submits.len()),
                    evidence: Evidence::default(),
                },
            ),
            How::AcceptLost => (accepted, unknown()),
            How::Late => (Fate::Late, unknown()),
            How::Reject => (Fate::Gone, SubmitOutcome::Rejected(Evidence::default())),
            How::NotSent => (Fate::Gone, SubmitOutcome::NotSent(not_sent())),
            _ => (Fate::Gone, unknown()),
        };
        sent.fate = fate;
        state.api.submits.push(sent);
        let press = self.scene.job(&state.actors[place]);
        watch::submitted(&self.scene, state, press, document, input);
        watch::accepted(&self.scene, state, self.one_twin);
        outcome
    }
}

fn error(how: How) -> StoreError {
    if how == How::Limited {
        return StoreError::RateLimited { retry_after: None };
    }
    StoreError::Transient {
        detail: "a fault".to_owned(),
    }
}

fn not_sent() -> NotSent {
    NotSent {
        evidence: Evidence {
            class: "status".to_owned(),
            ..Evidence::default()
        },
        retry_after: None,
    }
}

/// Enough of a hash to tell the documents apart.
fn short(hash: &Sha256Hash) -> [u8; 8] {
    let text = hash.to_string();
    let mut short = [0; 8];
    short.copy_from_slice(&text.as_bytes()[..8]);
    short
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other ways are those of other requests"
)]
fn look_up(state: &mut State, id: &str, how: How) -> LookUpAnswer {
    let status = "a word".to_owned();
    let (answer, result) = match how {
        How::Delivered => (LookUpAnswer::Delivered { status }, Some(true)),
        How::Undelivered => (LookUpAnswer::Undelivered { status }, Some(false)),
        How::NotFound => (LookUpAnswer::NotFound, None),
        How::Fails | How::Down => {
            let failure = Failure::Transient(Evidence::default());
            (LookUpAnswer::Failed(failure), None)
        }
        _ => {
            let recognised = true;
            (LookUpAnswer::Pending { status, recognised }, None)
        }
    };
    for (place, submit) in state.api.submits.iter_mut().enumerate() {
        if external_id(place).as_str() == id {
            submit.result = submit.result.or(result);
        }
    }
    answer
}

fn find(state: &State, reference: &Reference, how: How) -> FindAnswer {
    if how == How::Fails || how == How::Down {
        return FindAnswer::Failed(Failure::Transient(Evidence::default()));
    }
    if how == How::NotYet {
        return FindAnswer::None;
    }
    let submits = state.api.submits.iter().enumerate();
    let accepted = submits.filter(|(_, submit)| {
        submit.reference == *reference && matches!(submit.fate, Fate::Accepted { .. })
    });
    let found: Vec<_> = accepted.map(|(place, _)| external_id(place)).collect();
    match found.as_slice() {
        [] => FindAnswer::None,
        [one] => FindAnswer::One(one.clone()),
        several => FindAnswer::Several(several.iter().map(ToString::to_string).collect()),
    }
}
