//! Explores a configuration to its end, and says what was found.

use std::time::{Duration, Instant};

use stateright::{Checker as _, HasDiscoveries, Model as _};

use crate::action::Action;
use crate::config::Config;
use crate::graph::{FAILING, Graph, QUIET};
use crate::model::Model;
use crate::rules::Mark;
use crate::state::State;

/// What was found.
#[derive(Debug)]
pub struct Report {
    /// States.
    pub states: usize,
    /// Edges between them.
    pub edges: usize,
    /// The longest of the shortest ways to a state.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// What it came to.
    pub reached: Vec<Mark>,
    /// What was broken.
    pub verdict: Verdict,
}

/// The end of an exploration.
#[derive(Debug)]
pub enum Verdict {
    /// Every rule holds in every state.
    Holds,
    /// A rule is broken, and how it comes to that.
    Broken {
        /// The rule.
        rule: &'static str,
        /// The steps, in words.
        path: Vec<String>,
    },
    /// Every rule holds, but the model did not come to what it is for.
    Vacuous(Vec<&'static str>),
    /// No rule was broken in what was explored, but there was more than the bound on steps allows.
    Grown,
}

/// The name of the rule that the pass over the graph proves.
pub const AN_END: &str = "an_end_can_always_be_reached";

/// Explores all states of a configuration; `only` names the one rule that is judged, where it is one.
/// `tell` is given the number of states found so far, now and then.
///
/// # Panics
/// When the model itself is at fault.
pub fn explore(
    config: &Config,
    only: Option<&'static str>,
    mut tell: impl FnMut(usize, usize),
) -> Report {
    let start = Instant::now();
    let mut model = Model::new(config);
    model.only = only;
    let checker = model
        .checker()
        .threads(2)
        .target_state_count(config.most_steps)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs();
    let mut checker = checker;
    let handles = checker.handles();
    while handles.iter().any(|handle| !handle.is_finished()) {
        std::thread::sleep(Duration::from_millis(50));
        tell(checker.unique_state_count(), checker.max_depth());
    }
    let died = handles.into_iter().any(|handle| handle.join().is_err());
    assert!(!died, "the checker died");
    let model = checker.model();
    let graph = model.recorder.close();
    let mut verdict = match checker.discoveries().into_iter().next() {
        Some((rule, path)) => {
            let mut path = crate::show::path(model, path.into_vec());
            // With two threads the state that was found first may lie behind the one in which it happened.
            if let Some(place) = path.iter().position(|line| line.contains(rule)) {
                path.truncate(place + 1);
            }
            Verdict::Broken { rule, path }
        }
        // What was not explored has no end yet: the pass over the graph would say nothing.
        None if checker.state_count() >= config.most_steps => Verdict::Grown,
        None => ends(model, &graph, config.silent_api),
    };
    let reached = model.marks();
    let missing = config
        .must_reach
        .iter()
        .filter(|mark| !reached.contains(mark));
    let missing: Vec<_> = missing.map(|mark| mark.name()).collect();
    if matches!(verdict, Verdict::Holds) && !missing.is_empty() {
        verdict = Verdict::Vacuous(missing);
    }
    Report {
        states: checker.unique_state_count(),
        edges: graph.edges(),
        depth: checker.max_depth(),
        took: start.elapsed(),
        reached,
        verdict,
    }
}

/// Whether every send comes to an end, with an API that knows no outcome and, where it may always fail, with
/// one that does nothing else.
fn ends(model: &Model, graph: &Graph, may_always_fail: bool) -> Verdict {
    let first = model.node(model.first());
    let failing = may_always_fail.then_some(FAILING);
    let mut apis = [QUIET].into_iter().chain(failing);
    match apis.find_map(|api| graph.trap(first, api)) {
        Some(way) => {
            let prints: Vec<_> = way.iter().map(|node| node.print).collect();
            Verdict::Broken {
                rule: AN_END,
                path: crate::show::path(model, retrace(model, &prints)),
            }
        }
        None => Verdict::Holds,
    }
}

/// The steps that lead through these states.
fn retrace(model: &Model, prints: &[u64]) -> Vec<(State, Option<Action>)> {
    let mut way = Vec::new();
    let mut state = model.first().clone();
    for print in prints.iter().skip(1) {
        let step = model.steps(&state).into_iter().find_map(|action| {
            let next = model.after(&state, action);
            (model.node(&next).print == *print).then_some((action, next))
        });
        let Some((action, next)) = step else {
            break;
        };
        way.push((state, Some(action)));
        state = next;
    }
    way.push((state, None));
    way
}
