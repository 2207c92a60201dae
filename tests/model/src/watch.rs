//! Judges each step by the rules. What is judged is read by the model's own eyes ([`crate::seen`]).

use jiff::Timestamp;
use sendtrail_core::flows::{Confirmed, Operated, Recorded, Refused, Saved, Sent};
use sendtrail_core::ids::{HistoryId, Sha256Hash};
use sendtrail_core::ports::{FindAnswer, LookUpAnswer, SubmitOutcome, Write};
use sendtrail_core::state::State as Word;

use crate::actor::{Actor, Scene};
use crate::job::{Ended, Job};
use crate::replay::Answer;
use crate::rules::{Mark, Rule};
use crate::seen::Seen;
use crate::setup::{Doc, FIND_GRACE};
use crate::state::{Author, Fate, State, Submit};

/// The rules that were broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Broken(u32);

impl Broken {
    /// Whether this rule was broken.
    pub fn has(self, rule: Rule) -> bool {
        self.0 & rule.bit() != 0
    }

    fn unless(&mut self, rule: Rule, holds: bool) {
        if !holds {
            self.0 |= rule.bit();
        }
    }
}

/// A record before a write.
#[derive(Debug, Clone)]
pub struct Before {
    /// The word in its state field.
    pub word: String,
    /// What it told.
    pub seen: std::sync::Arc<Seen>,
}

impl Author {
    /// Who this flow is, as far as its log tells.
    pub fn of(actor: &Actor) -> Self {
        let unknown_id = actor
            .log()
            .any(|entry| entry.answer == Answer::LookedUp(LookUpAnswer::NotFound));
        let nothing = Answer::Found(FindAnswer::None);
        let mut searches = actor.log().rev().filter(|entry| entry.answer == nothing);
        Self {
            job: actor.job,
            looked_up: actor.looked_up(),
            unknown_id,
            found_nothing: searches.next().map(|entry| entry.at),
        }
    }
}

/// Judges a write of ours that was applied, and says what it came to.
pub fn written(
    scene: &Scene,
    state: &mut State,
    record: usize,
    before: &Before,
    write: &Write,
    author: &Author,
) -> Vec<Mark> {
    let after = state.records[record].seen.0.clone();
    let was = Word::from_label(&before.word);
    let is = write.state.or(was);
    let marks = state.records[record].marks;
    let broken = &mut state.broken;
    let was_final = was.is_some_and(Word::is_final);
    broken.unless(Rule::FinalStays, !was_final || is == was);
    let keeps_word = was.is_some() || write.state.is_none();
    broken.unless(Rule::ForeignStays, keeps_word);
    broken.unless(Rule::EditStays, after.marks & marks == marks);
    broken.unless(Rule::IdStays, before.seen.ids & !after.ids == 0);
    state.ids_written |= after.ids;
    let event = after.event.as_str();
    let from_poller = author.job.is_none();
    if event == "claimed" && write.state.is_some() {
        let fresh = was == Some(Word::Confirmed) && !before.seen.may_have_been_sent();
        broken.unless(Rule::ClaimFresh, fresh);
        state.records[record].touched = false;
    }
    if event == "not_sent" || event == "not_sent_noted" {
        judge_resolved(state, record);
    }
    if from_poller && was == Some(Word::Sending) && write.state.is_some() {
        judge_sweep(scene, state, record, before, is, author);
    }
    if from_poller
        && event == "gave_up"
        && before.seen.submission.as_ref().is_some_and(|s| s.has_id)
    {
        let in_time = author.looked_up.is_some_and(|at| {
            author.unknown_id || before.seen.deadline.is_none_or(|deadline| at >= deadline)
        });
        state.broken.unless(Rule::LastLookUp, in_time);
    }
    if from_poller && (event == "delivered" || event == "undelivered") {
        let told =
            state.api.submits.iter().any(|submit| {
                submit.record == record && submit.result == Some(event == "delivered")
            });
        state.broken.unless(Rule::ResultTold, told);
    }
    if event == "rejected" {
        let open = state
            .api
            .submits
            .iter()
            .any(|submit| submit.record == record && submit.may_be_accepted());
        state.broken.unless(Rule::ResultTold, !open);
    }
    if let Some(Job::Operate { .. }) = author.job.map(|job| &scene.jobs[job]) {
        state.records[record].touched = true;
    }
    let again = before.seen.claim.as_ref().is_some_and(|claim| claim.again);
    marks_of(event, from_poller, again)
}

fn marks_of(event: &str, from_poller: bool, again: bool) -> Vec<Mark> {
    let mark = match event {
        "accepted" if from_poller => Mark::Found,
        "accepted" if again => return vec![Mark::Accepted, Mark::PressedAgain],
        "accepted" => Mark::Accepted,
        "rejected" => Mark::Rejected,
        "not_sent" => Mark::NotSent,
        "delivered" | "undelivered" => Mark::Result,
        "gave_up" => Mark::GaveUp,
        "acceptance_unknown" => Mark::Review,
        "outcome_noted" => Mark::Beside,
        _ => return Vec::new(),
    };
    vec![mark]
}

/// A sweep: the function must be dead, and nothing found is no end within the grace.
fn judge_sweep(
    scene: &Scene,
    state: &mut State,
    record: usize,
    before: &Before,
    is: Option<Word>,
    author: &Author,
) {
    let Some(claim) = before.seen.claim.as_ref().filter(|claim| claim.open) else {
        return;
    };
    let submission = before.seen.submission.as_ref();
    if submission.is_none() && !state.records[record].touched {
        let lives = state.actors.iter().any(|actor| {
            let job = scene.job(actor);
            job.record() == Some(record) && job.press_key() == Some(claim.key.as_str())
        });
        // The same press again is another invocation, which holds no claim.
        let repeats = scene.jobs.iter().filter(|job| {
            job.record() == Some(record) && job.press_key() == Some(claim.key.as_str())
        });
        if repeats.count() == 1 {
            state.broken.unless(Rule::LivingNotSwept, !lives);
        }
    }
    if let (Some(Word::NeedsReview), Some(at)) = (is, author.found_nothing) {
        let last = submission.map_or(claim.at, |submission| submission.at.max(claim.at));
        let over =
            |since: Timestamp| at >= sendtrail_core::ports::clock_deadline(since, FIND_GRACE);
        let past_deadline = before.seen.deadline.is_some_and(|deadline| at >= deadline);
        state
            .broken
            .unless(Rule::Grace, over(last) || past_deadline);
    }
}

/// A claim that is said to have sent nothing: the API must never accept its submit.
fn judge_resolved(state: &mut State, record: usize) {
    let seen = state.records[record].seen.0.clone();
    let resolved = seen.claim.as_ref().filter(|claim| !claim.open);
    if let Some(claim) = resolved {
        let accepted = state.api.submits.iter().any(|submit| {
            submit.record == record && submit.key == claim.key && submit.may_be_accepted()
        });
        state.broken.unless(Rule::NotSentProved, !accepted);
    }
}

/// Judges that a flow submits: the last it read of the record must be its own claim.
pub fn proved(scene: &Scene, state: &mut State, place: usize, id: &HistoryId) {
    let press = scene.job(&state.actors[place]);
    let last = state.actors[place].log().rev().find_map(|entry| {
        let Answer::Read(Ok(read)) = &entry.answer else {
            return None;
        };
        (read.record.id == *id).then_some(&read.record)
    });
    let proved = last.is_some_and(|record| {
        let seen = Seen::of_text(record.progress.as_deref().unwrap_or_default());
        record.state.known() == Some(Word::Sending)
            && seen
                .claim
                .is_some_and(|claim| Some(claim.key.as_str()) == press.press_key())
    });
    state.broken.unless(Rule::ClaimProved, proved);
}

/// Judges the submit that was sent last.
pub fn submitted(
    scene: &Scene,
    state: &mut State,
    press: &Job,
    document: Sha256Hash,
    input: Sha256Hash,
) {
    let Some(record) = press.record() else {
        return;
    };
    let seen_by_a_user = Doc::ALL.iter().any(|doc| {
        doc.sha256() == document && doc.input_sha256() == input && press_names(press, *doc)
    });
    state.broken.unless(Rule::SeenIsSent, seen_by_a_user);
    let seen = state.records[record].seen.0.clone();
    let stands = state.word(&scene.ids[record]) == "sending"
        && seen
            .claim
            .as_ref()
            .is_some_and(|claim| claim.open && Some(claim.key.as_str()) == press.press_key());
    let touched = state.records[record].touched;
    state.broken.unless(Rule::Claimed, stands || touched);
    let submits = &state.api.submits;
    let same_key = |submit: &&Submit| Some(submit.key) == press.press_key();
    let once = submits.iter().filter(same_key).count() <= 1;
    let named = submits.iter().all(|a| {
        submits.iter().all(|b| {
            let same = a.record == b.record && a.document == b.document;
            same == (a.reference == b.reference)
        })
    });
    state.broken.unless(Rule::OnePress, once);
    state.broken.unless(Rule::Reference, named);
}

fn press_names(press: &Job, doc: Doc) -> bool {
    matches!(press, Job::Press { document, .. } if *document == doc)
}

/// Judges that the API accepted a submit.
pub fn accepted(scene: &Scene, state: &mut State, one_twin: bool) {
    for record in 0..scene.ids.len() {
        let count = accepted_of(state, |submit| submit.record == record);
        state.broken.unless(Rule::AtMostOne, count <= 1);
        judge_resolved(state, record);
    }
    // A send that failed may be followed by another of the same document.
    let failed: Vec<_> = scene
        .ids
        .iter()
        .map(|id| state.word(id) == "failed")
        .collect();
    let all = accepted_of(state, |submit| !failed[submit.record]);
    state.broken.unless(Rule::OneTwin, !one_twin || all <= 1);
}

fn accepted_of(state: &State, which: impl Fn(&Submit) -> bool) -> usize {
    let submits = state.api.submits.iter();
    submits
        .filter(|submit| which(submit) && matches!(submit.fate, Fate::Accepted { .. }))
        .count()
}

/// Judges what a flow gave at its end, and says what it came to.
pub fn ended(state: &mut State, ended: &Ended, wrote: bool) -> Vec<Mark> {
    let says_so = match ended {
        Ended::Saved(saved) => matches!(saved, Saved::Saved(_)),
        Ended::Confirmed(confirmed) => matches!(confirmed, Confirmed::Confirmed(_)),
        Ended::Operated(operated) => matches!(operated, Operated::Done { .. }),
        Ended::Pressed(_) | Ended::Polled => false,
    };
    state.broken.unless(Rule::ToldWritten, wrote || !says_so);
    match ended {
        Ended::Pressed(sent) => pressed(state, sent),
        Ended::Confirmed(Confirmed::Confirmed(_)) => vec![Mark::Confirmed],
        Ended::Confirmed(Confirmed::Stale) => vec![Mark::Stale],
        Ended::Operated(Operated::Done { .. }) => vec![Mark::Operated],
        Ended::Saved(_) | Ended::Polled | Ended::Confirmed(_) | Ended::Operated(_) => Vec::new(),
    }
}

fn pressed(state: &mut State, sent: &Sent) -> Vec<Mark> {
    match sent {
        Sent::Done { outcome, recorded } => {
            let unrecorded = matches!(recorded, Recorded::Unrecorded { .. });
            if let SubmitOutcome::Accepted { external_id, .. } = outcome {
                let written = (0..16).any(|n| {
                    state.ids_written & 1 << n != 0
                        && external_id.as_str() == crate::job::external_id(n).as_str()
                });
                state.broken.unless(Rule::IdStays, written || unrecorded);
            }
            unrecorded.then_some(Mark::Unrecorded).into_iter().collect()
        }
        Sent::SamePress { .. } => vec![Mark::SamePress],
        Sent::Refused(Refused::NotSendable { .. }) => vec![Mark::NotSendable],
        Sent::Refused(Refused::RecordChanged(_)) => vec![Mark::Changed],
        Sent::Refused(Refused::AlreadySent(_)) => vec![Mark::Twin],
        Sent::Refused(_) | Sent::Failed(_) => Vec::new(),
    }
}
