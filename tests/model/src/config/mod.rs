//! The configurations, and their bounds.

mod machines;
mod people;

use crate::action::Edit;
use crate::job::Job;
use crate::rules::Mark;
use crate::setup::Doc;
use crate::state::Budget;

/// A bound for the memory of a machine: a step takes some 100 bytes at the end, a state more.
const MOST_STEPS: usize = 40_000_000;

/// Where the records of a configuration stand at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Begin {
    /// Saved.
    Saved,
    /// Confirmed.
    Confirmed,
    /// Accepted a moment ago.
    Accepted,
    /// Submitted a moment ago; its outcome is not known, and the API may still receive it.
    Unknown,
}

/// What takes part, and how much may go wrong.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a yes or no of its own, named where it is set"
)]
#[derive(Debug, Clone)]
pub struct Config {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// How many records.
    pub records: u8,
    /// Where they stand.
    pub begin: Begin,
    /// What users and persons start, each once, at any moment.
    pub jobs: Vec<Job>,
    /// How many of them run at once at most.
    pub together: usize,
    /// How many pollers run at once at most; each may start whenever a row is due.
    pub pollers: u8,
    /// How a person edits.
    pub edits: Vec<Edit>,
    /// Whether the driver can find.
    pub can_find: bool,
    /// Whether a process knows the CRM's clock when it starts.
    pub warm: bool,
    /// Whether the API also refuses, or is proved not to have accepted.
    pub refusals: bool,
    /// Whether the driver's harmless steps can fail.
    pub unprepared: bool,
    /// Whether the API never tells an outcome once it was submitted to: a look-up is pending or fails, a search
    /// finds nothing or fails, as often as it is asked.
    pub silent_api: bool,
    /// Whether at most one of the records may be sent.
    pub one_twin: bool,
    /// What may go wrong.
    pub budget: Budget,
    /// How many steps are explored at most.
    pub most_steps: usize,
    /// What it must come to.
    pub must_reach: Vec<Mark>,
}

const fn press(record: usize, key: &'static str) -> Job {
    Job::Press {
        record,
        key,
        document: Doc::One,
    }
}

impl Config {
    fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            records: 1,
            begin: Begin::Confirmed,
            jobs: Vec::new(),
            together: 2,
            pollers: 1,
            edits: Vec::new(),
            can_find: true,
            warm: true,
            refusals: true,
            unprepared: false,
            silent_api: false,
            one_twin: false,
            budget: Budget::default(),
            most_steps: MOST_STEPS,
            must_reach: Vec::new(),
        }
    }
}

/// Every configuration, in its full or its short form.
pub fn all(short: bool) -> Vec<Config> {
    vec![
        machines::presses(short),
        machines::same_press(short),
        machines::sweep(short),
        machines::blind(short),
        machines::silent(short),
        machines::slow(short),
        people::cold(short),
        people::same_second(short),
        people::typed_states(short),
        people::old_progress(short),
        people::edited(short),
        people::person_and_poller(short),
        people::confirm(short),
        machines::two_pollers(short),
        machines::twins(short),
        people::commands(short),
        machines::refused_calls(short),
    ]
}
