//! One configuration, as a model of states and steps.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use sendtrail_core::ids::{FileId, HistoryId};
use sendtrail_core::ports::StoreError;
use sendtrail_core::state::State as Word;
use stateright::Property;

use crate::action::{Action, Edit, How};
use crate::actor::{Derived, Scene};
use crate::config::{Begin, Config};
use crate::graph::{Node, Recorder};
use crate::job::Job;
use crate::replay::Request;
use crate::rules::{Mark, Rule};
use crate::seen::Seen;
use crate::setup::{self, Doc, at};
use crate::state::{Api, Record, State};
use crate::watch::Broken;

/// The most pollers at once; their slots come first.
pub(crate) const SLOTS_OF_POLLERS: u8 = 2;

/// A configuration that can be explored.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a yes or no of its configuration"
)]
#[derive(Debug)]
pub struct Model {
    /// What flows have in common.
    pub scene: Scene,
    pub(crate) together: usize,
    pub(crate) pollers: u8,
    pub(crate) edits: Vec<Edit>,
    pub(crate) refusals: bool,
    pub(crate) unprepared: bool,
    pub(crate) silent_api: bool,
    pub(crate) one_twin: bool,
    /// The progress of each record as it was when its document was confirmed.
    pub(crate) old_progress: Vec<Option<String>>,
    files: Vec<FileId>,
    first: State,
    reached: AtomicU32,
    /// The one rule that is judged; every one where there is none.
    pub only: Option<&'static str>,
    /// The edges between the states that were met.
    pub recorder: Recorder,
}

impl Model {
    /// The model of a configuration.
    pub fn new(config: &Config) -> Self {
        let (mut crm, ids) = setup::saved(config.records);
        let files = Doc::ALL
            .iter()
            .filter_map(|doc| crm.upload(doc.bytes()).ok());
        let files = files.collect();
        let mut jobs = config.jobs.clone();
        let own = jobs.len();
        jobs.extend((0..ids.len()).map(|record| Job::Confirm {
            record,
            document: Doc::One,
            rev: 0,
        }));
        jobs.push(Job::Press {
            record: 0,
            key: "first_press",
            document: Doc::One,
        });
        let first = State {
            now: at(-60),
            records: ids
                .iter()
                .map(|_| Record {
                    marks: 0,
                    touched: false,
                    seen: Derived(Arc::default()),
                })
                .collect(),
            crm: Arc::new(crm),
            api: Api::default(),
            actors: Vec::new(),
            late: Vec::new(),
            budget: crate::state::Budget::default(),
            started: 0,
            serial: 0,
            ids_written: 0,
            broken: Broken::default(),
        };
        let mut model = Self {
            old_progress: vec![None; ids.len()],
            scene: Scene::new(jobs, ids, config.can_find, config.warm),
            together: config.together,
            pollers: config.pollers,
            edits: config.edits.clone(),
            refusals: config.refusals,
            unprepared: config.unprepared,
            silent_api: config.silent_api,
            one_twin: config.one_twin,
            files,
            first,
            reached: AtomicU32::new(0),
            only: None,
            recorder: Recorder::default(),
        };
        model.first = model.set_up(config, own);
        model.reached = AtomicU32::new(0);
        model
    }

    /// Brings the records to where the configuration begins, by the flows themselves.
    fn set_up(&mut self, config: &Config, own: usize) -> State {
        let mut state = self.first.clone();
        let records = self.scene.ids.len();
        for record in 0..records {
            let id = self.scene.ids[record].clone();
            state.look_at(record, &id);
        }
        if config.begin != Begin::Saved {
            for record in 0..records {
                self.play(&mut state, own + record, How::Accept);
            }
        }
        for record in 0..records {
            let row = state.crm.row(&self.scene.ids[record]);
            self.old_progress[record] = row.and_then(|row| row.progress.clone());
        }
        state.now = at(0);
        match config.begin {
            Begin::Saved | Begin::Confirmed => {}
            Begin::Accepted => self.play(&mut state, own + records, How::Accept),
            Begin::Unknown => self.play(&mut state, own + records, How::Late),
        }
        state.started = !0 << own;
        state.budget = config.budget;
        state
    }

    /// Runs a job to its end, undisturbed.
    fn play(&self, state: &mut State, job: usize, submit: How) {
        let started = state.now;
        state.budget.submits = 1;
        *state = self.after(state, Action::Start(job));
        while let Some(actor) = state.actors.first() {
            let call = actor
                .pending()
                .find(|(_, request)| !matches!(request, Request::Sleep { .. }));
            let step = match call {
                Some((number, request)) => {
                    let is_submit = matches!(request, Request::Submit { .. });
                    let how = if is_submit { submit } else { How::Plain };
                    Action::Answer {
                        actor: 0,
                        number,
                        how,
                    }
                }
                None => Action::Time(actor.wakes_at().unwrap_or(started)),
            };
            *state = self.after(state, step);
        }
    }

    /// The place of a record.
    pub fn record_of(&self, id: &HistoryId) -> Option<usize> {
        self.scene.ids.iter().position(|known| known == id)
    }

    pub(crate) fn file_of(&self, bytes: &Bytes) -> Result<FileId, StoreError> {
        let place = Doc::ALL.iter().position(|doc| doc.bytes() == *bytes);
        place
            .and_then(|place| self.files.get(place))
            .cloned()
            .ok_or(StoreError::NotFound)
    }

    /// Notes that the model came to this.
    pub(crate) fn reached(&self, mark: Mark) {
        self.reached.fetch_or(mark.bit(), Ordering::Relaxed);
    }

    /// What the model came to so far.
    pub fn marks(&self) -> Vec<Mark> {
        let reached = self.reached.load(Ordering::Relaxed);
        Mark::ALL
            .iter()
            .copied()
            .filter(|mark| reached & mark.bit() != 0)
            .collect()
    }

    /// Whether this rule is judged.
    pub fn judges(&self, rule: Rule) -> bool {
        self.only.is_none_or(|only| only == rule.name())
    }

    /// Where it begins.
    pub fn first(&self) -> &State {
        &self.first
    }

    /// The state as a node of the graph.
    pub fn node(&self, state: &State) -> Node {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        let mut node = Node {
            print: hasher.finish(),
            in_flight: 0,
            ended: 0,
        };
        for (record, id) in self.scene.ids.iter().enumerate() {
            let word = Word::from_label(state.word(id));
            if word.is_some_and(Word::is_in_flight) {
                node.in_flight |= 1 << record;
            }
            if is_end(word, state.seen(record)) {
                node.ended |= 1 << record;
            }
        }
        node
    }
}

/// An end of a send: a final state, a person's turn, or the proof that nothing was sent.
fn is_end(word: Option<Word>, seen: &Seen) -> bool {
    match word {
        Some(Word::Succeeded | Word::Failed | Word::NeedsReview) => true,
        Some(Word::Confirmed) => seen.claim.as_ref().is_some_and(|claim| !claim.open),
        Some(Word::Saved | Word::Sending | Word::Accepted) | None => false,
    }
}

impl stateright::Model for Model {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.first.clone()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend(self.steps(state));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let next = self.after(last, action);
        if next == *last {
            return None;
        }
        if self.recorder.is_open() {
            let of_itself = self.of_itself(last, action);
            self.recorder
                .edge(self.node(last), self.node(&next), of_itself);
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties()
    }
}

/// Every rule as a property. A property's condition is a plain function, so that each needs its own.
fn properties() -> Vec<Property<Model>> {
    fn holds<const RULE: usize>(model: &Model, state: &State) -> bool {
        !model.judges(Rule::ALL[RULE]) || !state.broken.has(Rule::ALL[RULE])
    }
    macro_rules! each {
        ($($rule:literal)*) => { vec![$(Property::always(Rule::ALL[$rule].name(), holds::<$rule>),)*] };
    }
    let properties = each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
    debug_assert_eq!(properties.len(), Rule::ALL.len());
    properties
}
