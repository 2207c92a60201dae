//! What holds whatever happens, in any order.

use jiff::SignedDuration;
use proptest::prelude::*;
use sendtrail_core::commit::{Change, Commit, commit, read_base};
use sendtrail_core::flows::{Operation, Wake, operate, save_again, wake};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{FindAnswer, LookUpAnswer, SubmitOutcome};
use sendtrail_core::progress::Progress;
use sendtrail_core::state::{Event, State};

use crate::common::{
    Bench, PDF, accepted, down, evidence, external, not_sent, on_a_paused_clock, order, unknown,
};

/// What can happen to a record and to those who work on it.
#[derive(Debug, Clone, Copy)]
enum Step {
    SaveAgain,
    Confirm,
    Press(Outcome),
    /// A press whose function is killed after this many milliseconds.
    PressKilled(Outcome, u16),
    /// Two presses and a run of the poller at once.
    Crowd(Outcome),
    Poll(Answer),
    Type(&'static str),
    ClearProgress,
    Settle,
    Resume,
    Wake,
    Wait(u32),
    LoseReply,
    LoseWrite,
    WriteLate(u8),
    ReadFails,
    WriteFails,
}

#[derive(Debug, Clone, Copy)]
enum Outcome {
    Accepted,
    Rejected,
    Unknown,
    NotSent,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Nothing,
    Delivered,
    Found,
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Accepted),
        Just(Outcome::Rejected),
        Just(Outcome::Unknown),
        Just(Outcome::NotSent),
    ]
}

const TYPED: [&str; 7] = [
    "saved",
    "confirmed",
    "sending",
    "accepted",
    "needs_review",
    "sent!",
    "",
];

fn typed() -> impl Strategy<Value = Step> {
    proptest::sample::select(&TYPED[..]).prop_map(Step::Type)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::SaveAgain),
        2 => Just(Step::Confirm),
        4 => outcome().prop_map(Step::Press),
        3 => (outcome(), 0u16..9_000).prop_map(|(o, ms)| Step::PressKilled(o, ms)),
        2 => outcome().prop_map(Step::Crowd),
        4 => prop_oneof![Just(Answer::Nothing), Just(Answer::Delivered), Just(Answer::Found)]
            .prop_map(Step::Poll),
        3 => typed(),
        1 => Just(Step::Settle),
        1 => Just(Step::Resume),
        1 => Just(Step::Wake),
        3 => (0u32..400).prop_map(Step::Wait),
        1 => Just(Step::Wait(100_000)),
        1 => Just(Step::LoseReply),
        1 => Just(Step::LoseWrite),
        1 => (0u8..200).prop_map(Step::WriteLate),
        1 => Just(Step::ReadFails),
        1 => Just(Step::WriteFails),
    ]
}

fn step_or_loss() -> impl Strategy<Value = Step> {
    prop_oneof![5 => step(), 1 => Just(Step::ClearProgress)]
}

fn submitted(outcome: Outcome) -> SubmitOutcome {
    match outcome {
        Outcome::Accepted => accepted("ltr_1"),
        Outcome::Rejected => SubmitOutcome::Rejected(evidence("status", Some(422))),
        Outcome::Unknown => unknown(),
        Outcome::NotSent => SubmitOutcome::NotSent(not_sent(None)),
    }
}

/// A bench, its record, and what the send API may have taken.
struct Play {
    bench: Bench,
    id: HistoryId,
    presses: u32,
    /// Submits whose outcome was not proved to be nothing.
    taken: u32,
}

impl Play {
    /// A hasty sweep takes a claim for dead while its function lives, as wrong clocks would have it.
    async fn new(can_find: bool, hasty: bool) -> Self {
        let mut bench = if can_find {
            Bench::finding()
        } else {
            Bench::new()
        };
        if hasty {
            bench.policy.claim_stale = SignedDuration::ZERO;
            bench.polling.claim_stale = SignedDuration::ZERO;
        }
        let id = bench.confirmed().await;
        Self {
            bench,
            id,
            presses: 0,
            taken: 0,
        }
    }

    fn key(&mut self) -> String {
        self.presses += 1;
        format!("press_{}", self.presses)
    }

    /// Submits begun and ended so far.
    fn submits(&self) -> (usize, usize) {
        let driver = self.bench.driver();
        (driver.submits().len(), driver.ended())
    }

    /// Counts a submit since then; of one that did not end nobody knows.
    fn count(&mut self, before: (usize, usize), outcome: Outcome) {
        let (begun, ended) = self.submits();
        assert!(begun - before.0 <= 1, "one press, one submit");
        let proved = ended > before.1 && matches!(outcome, Outcome::NotSent);
        if begun > before.0 && !proved {
            self.taken += 1;
        }
    }

    async fn press(&mut self, outcome: Outcome, killed_after: Option<u16>) {
        let key = self.key();
        let before = self.submits();
        let driver = self.bench.driver();
        driver.next_submit(submitted(outcome));
        driver.takes(SignedDuration::from_secs(3));
        let life = std::time::Duration::from_millis(killed_after.map_or(60_000, u64::from));
        let press = self.bench.press(&self.id, &key);
        // A function that is killed is dropped wherever it is.
        Box::pin(tokio::time::timeout(life, press)).await.ok();
        driver.takes(SignedDuration::ZERO);
        self.count(before, outcome);
    }

    async fn crowd(&mut self, outcome: Outcome) {
        let (one, two) = (self.key(), self.key());
        let before = self.submits();
        self.bench.driver().next_submit(submitted(outcome));
        let (bench, id) = (&self.bench, &self.id);
        tokio::join!(
            bench.press(id, &one),
            bench.press(id, &two),
            bench.poll_quietly()
        );
        self.count(before, outcome);
    }

    async fn take(&mut self, step: Step) {
        let (store, world, until) = (
            &self.bench.store,
            &*self.bench.world,
            self.bench.world.after(30),
        );
        let resume = Operation::Resume {
            external_id: Some(external("ltr_1")),
            give_up: SignedDuration::from_hours(1),
        };
        match step {
            Step::SaveAgain => {
                let key = self.key();
                let (store, world) = (&self.bench.store, &*self.bench.world);
                save_again(store, world, &self.id, &order(&key, "Ada"), until).await;
            }
            Step::Confirm => self.bench.confirm_as_it_is(&self.id, PDF).await,
            Step::Press(outcome) => self.press(outcome, None).await,
            Step::PressKilled(outcome, ms) => self.press(outcome, Some(ms)).await,
            Step::Crowd(outcome) => Box::pin(self.crowd(outcome)).await,
            Step::Poll(answer) => {
                match answer {
                    Answer::Nothing => {}
                    Answer::Delivered => self.bench.driver().will_answer(LookUpAnswer::Delivered {
                        status: "delivered".to_owned(),
                    }),
                    Answer::Found => self
                        .bench
                        .driver()
                        .will_find(FindAnswer::One(external("ltr_1"))),
                }
                self.bench.poll_quietly().await;
            }
            Step::Type(state) => self.bench.type_state(&self.id, state),
            Step::ClearProgress => store.edit_by_hand(&self.id, |row| row.progress = None),
            Step::Settle => {
                let settle = Operation::SettleFailed;
                operate(
                    store, world, "local", &self.id, &settle, "Olga", "why", until,
                )
                .await;
            }
            Step::Resume => {
                operate(
                    store, world, "local", &self.id, &resume, "Olga", "why", until,
                )
                .await;
            }
            Step::Wake => {
                let by = Wake {
                    by: "Olga",
                    reason: None,
                };
                wake(store, world, &self.id, by, until).await;
            }
            Step::Wait(seconds) => self.bench.pass(seconds.into()).await,
            Step::LoseReply => store.lose_next_write_reply(),
            Step::LoseWrite => store.lose_next_write(),
            Step::WriteLate(seconds) => {
                store.apply_next_write_late(SignedDuration::from_secs(seconds.into()));
            }
            Step::ReadFails => store.fail_next_read(down()),
            Step::WriteFails => store.fail_next_write(down()),
        }
    }

    /// The record as a reader would see it.
    fn seen(&self) -> (String, Progress) {
        (self.bench.state(&self.id), self.bench.progress(&self.id))
    }

    /// Left to the poller alone, it ends.
    async fn ends(&mut self) -> Result<(), TestCaseError> {
        // What is late arrives, and faults that were set are used up on another record.
        let other = self.bench.saved_quietly("other").await;
        for _ in 0..60 {
            let (store, world) = (&self.bench.store, &*self.bench.world);
            if let Ok(base) = read_base(store, world, &other, self.bench.world.after(30)).await {
                let progress = Progress::decode(base.record().progress.as_deref()).unwrap();
                let change = Change::remark("other", progress);
                commit(store, world, &base, change, self.bench.world.after(5)).await;
            }
        }
        self.bench.pass(300).await;
        for _ in 0..600 {
            if !["sending", "accepted"].contains(&self.bench.state(&self.id).as_str()) {
                return Ok(());
            }
            self.bench.pass(600).await;
            self.bench.poll_quietly().await;
        }
        prop_assert!(false, "never ends: {:?}", self.bench.row(&self.id));
        Ok(())
    }
}

fn holds_between(
    before: &(String, Progress),
    after: &(String, Progress),
    step: Step,
) -> Result<(), TestCaseError> {
    let (old, new) = (&before.1, &after.1);
    prop_assert!(new.rev() >= old.rev());
    if new.write == old.write {
        prop_assert_eq!(new, old, "a change without a write");
    } else {
        prop_assert!(new.rev() > old.rev(), "a write that does not count");
    }
    prop_assert!(new.attempts() >= old.attempts());
    if let (Some(check), Some(deadline)) = (new.next_check_at(), new.deadline()) {
        prop_assert!(check <= deadline);
    }
    if State::from_label(&before.0).is_some_and(State::is_final) && !matches!(step, Step::Type(_)) {
        prop_assert_eq!(&before.0, &after.0, "a final state was left");
    }
    let known = |progress: &Progress| progress.submission.clone().and_then(|s| s.external_id);
    if known(old).is_some() {
        prop_assert_eq!(known(old), known(new), "an id was lost");
    }
    prop_assert!(
        old.submission.is_none() || new.submission.is_some(),
        "a submission was lost"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_a_document_goes_out_at_most_once_and_the_record_ends(
        can_find: bool, hasty: bool, steps in proptest::collection::vec(step(), 1..25),
    ) {
        on_a_paused_clock(async {
            let mut play = Play::new(can_find, hasty).await;
            for step in steps {
                let before = play.seen();
                Box::pin(play.take(step)).await;
                holds_between(&before, &play.seen(), step)?;
                prop_assert!(play.taken <= 1, "submitted again");
            }
            play.ends().await?;
            prop_assert!(play.taken <= 1);
            Ok(())
        })?;
    }

    #[test]
    fn also_where_a_person_loses_the_progress_nothing_goes_out_twice_and_the_record_ends(
        can_find: bool, hasty: bool, steps in proptest::collection::vec(step_or_loss(), 1..25),
    ) {
        on_a_paused_clock(async {
            let mut play = Play::new(can_find, hasty).await;
            for step in steps {
                Box::pin(play.take(step)).await;
                prop_assert!(play.taken <= 1, "submitted again");
            }
            play.ends().await
        })?;
    }

    #[test]
    fn commits_of_any_events_only_go_where_the_table_allows(
        events in proptest::collection::vec(proptest::sample::select(&Event::ALL[..]), 1..30),
    ) {
        on_a_paused_clock(async {
            let bench = Bench::new();
            let id = bench.saved("msg_1").await.id;
            for event in events {
                bench.settle(&id).await;
                let (store, world, until) = (&bench.store, &*bench.world, bench.world.after(30));
                let base = read_base(store, world, &id, until).await.unwrap();
                let (row, old) = (bench.row(&id), bench.progress(&id));
                let from = base.record().state.known().unwrap();
                let result = commit(store, world, &base, Change::of(event, old.clone()), until).await;
                match from.next(event) {
                    Ok(to) => {
                        prop_assert_eq!(bench.state(&id), to.label());
                        prop_assert_eq!(bench.progress(&id).rev(), old.rev() + 1);
                        prop_assert_eq!(bench.row(&id).notified, to.notifies());
                        prop_assert!(!from.is_final());
                    }
                    Err(illegal) => {
                        prop_assert_eq!(result, Commit::Illegal(illegal));
                        prop_assert_eq!(bench.row(&id), row);
                    }
                }
            }
            Ok(())
        })?;
    }
}
