//! The model's own machinery.

use std::collections::BTreeMap;

use sendtrail_core::ports::Clock as _;
use sendtrail_core::ports::{GuardedWrite as _, ReadHistory as _};

use crate::action::{Action, How};
use crate::config::{self, Config};
use crate::explore::{Verdict, explore};
use crate::job::Job;
use crate::model::Model;
use crate::replay::{Answer, Entry, Start, replay};
use crate::setup::{self, at};

fn named(name: &str) -> Config {
    let mut all = config::all(true).into_iter();
    all.find(|config| config.name == name).unwrap()
}

/// Follows one way through the presses, and gives what each flow waits for after each step.
fn follow(model: &Model) -> Vec<BTreeMap<u32, crate::replay::Request>> {
    let mut state = model.after(model.first(), Action::Start(0));
    state = model.after(&state, Action::Start(1));
    let mut waits = Vec::new();
    for _ in 0..40 {
        let steps = model.steps(&state);
        let next = steps.into_iter().find(|step| {
            matches!(step, Action::Time(_))
                || matches!(step, Action::Answer { how, .. } if how.is_regular())
        });
        let Some(step) = next else {
            break;
        };
        state = model.after(&state, step);
        for actor in &state.actors {
            waits.push(actor.pending().map(|(n, r)| (n, r.clone())).collect());
        }
    }
    assert!(waits.len() > 10);
    waits
}

#[test]
fn the_same_steps_lead_to_the_same_state() {
    // A fresh model replays all; nothing is remembered from the other.
    assert_eq!(
        follow(&Model::new(&named("presses"))),
        follow(&Model::new(&named("presses")))
    );
}

#[test]
fn a_replay_asks_what_was_asked_and_sees_the_time_of_each_answer() {
    let (_, ids) = setup::saved(1);
    let start = Start {
        at: at(0),
        seed: 1,
        crm_clock: None,
    };
    let id = &ids[0];
    let flow = |ports: crate::replay::Ports| async move {
        let first = ports.now();
        let _ = ports.read(id).await;
        ports.sleep(jiff::SignedDuration::from_secs(2)).await;
        let _ = ports.read(id).await;
        (first, ports.now())
    };
    let none = || Answer::Read(Err(sendtrail_core::ports::StoreError::NotFound));
    let entry = |number, seconds, answer| {
        std::sync::Arc::new(Entry {
            number,
            at: at(seconds),
            answer,
        })
    };
    let log = [
        entry(1, 1, none()),
        entry(2, 3, Answer::Slept),
        entry(3, 7, none()),
    ];
    for answered in 0..log.len() {
        let reached = replay(start, &log[..answered], flow);
        assert_eq!(reached.ended, None);
        let number = u32::try_from(answered).unwrap() + 1;
        assert_eq!(
            reached.pending.keys().copied().collect::<Vec<_>>(),
            [number]
        );
    }
    assert_eq!(replay(start, &log, flow).ended, Some((at(0), at(7))));
}

#[test]
fn a_call_that_lost_against_a_timer_waits_no_more() {
    let (_, ids) = setup::saved(1);
    let start = Start {
        at: at(0),
        seed: 1,
        crm_clock: None,
    };
    let id = &ids[0];
    let flow = |ports: crate::replay::Ports| async move {
        {
            let read = std::pin::pin!(ports.read(id));
            let timer = std::pin::pin!(ports.sleep(jiff::SignedDuration::from_secs(1)));
            futures_util::future::select(read, timer).await;
        }
        std::future::pending::<()>().await;
    };
    assert_eq!(replay(start, &[], flow).pending.len(), 2);
    let late = Entry {
        number: 2,
        at: at(1),
        answer: Answer::Slept,
    };
    assert!(
        replay(start, &[std::sync::Arc::new(late)], flow)
            .pending
            .is_empty()
    );
}

#[test]
#[should_panic(expected = "an answer to nothing")]
fn a_flow_that_is_no_function_of_its_answers_is_noticed() {
    let start = Start {
        at: at(0),
        seed: 1,
        crm_clock: None,
    };
    let entry = Entry {
        number: 2,
        at: at(0),
        answer: Answer::Slept,
    };
    let flow = |ports: crate::replay::Ports| async move {
        ports.sleep(jiff::SignedDuration::from_secs(1)).await;
    };
    replay(start, &[std::sync::Arc::new(entry)], flow);
}

#[test]
fn a_flow_that_submits_without_a_claim_is_caught_and_the_way_to_it_is_told() {
    let mut config = named("presses");
    config.jobs = vec![
        Job::Reckless {
            record: 0,
            key: "a",
        },
        Job::Reckless {
            record: 0,
            key: "b",
        },
    ];
    config.must_reach = Vec::new();
    for rule in [
        crate::rules::Rule::AtMostOne,
        crate::rules::Rule::Claimed,
        crate::rules::Rule::ClaimProved,
    ] {
        let report = explore(&config, Some(rule.name()), |_, _| ());
        let Verdict::Broken { rule: broken, path } = report.verdict else {
            panic!("{rule:?} is not broken");
        };
        assert_eq!(broken, rule.name());
        let told = path.last().is_some_and(|line| line.contains(broken));
        assert!(told, "{path:#?}");
    }
}

#[test]
fn a_configuration_that_comes_to_nothing_is_vacuous() {
    let mut config = named("two-pollers");
    config.pollers = 0;
    let report = explore(&config, Some("at_most_one_accepted_submit"), |_, _| ());
    // Nothing ends without a poller either, which the pass over the graph says first.
    assert!(
        matches!(report.verdict, Verdict::Broken { rule, .. } if rule == crate::explore::AN_END)
    );
    config.begin = config::Begin::Confirmed;
    let report = explore(&config, None, |_, _| ());
    assert!(
        matches!(report.verdict, Verdict::Vacuous(_)),
        "{:?}",
        report.verdict
    );
}

#[test]
fn two_pollers_hold_every_rule_within_the_short_bounds() {
    let report = explore(&named("two-pollers"), None, |_, _| ());
    assert!(
        matches!(report.verdict, Verdict::Holds),
        "{:?}",
        report.verdict
    );
    assert!(report.states > 1_000 && report.edges > report.states);
}

#[test]
fn a_configuration_that_grows_past_its_bound_says_so() {
    let mut config = named("two-pollers");
    config.most_steps = 1_000;
    let report = explore(&config, None, |_, _| ());
    assert!(
        matches!(report.verdict, Verdict::Grown),
        "{:?}",
        report.verdict
    );
}

#[test]
fn names_of_configurations_differ_and_each_has_what_it_must_come_to() {
    let names = |short| {
        config::all(short)
            .into_iter()
            .map(|config| config.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(true), names(false));
    let mut once = names(true);
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), names(true).len());
    assert!(
        config::all(true)
            .iter()
            .all(|config| !config.must_reach.is_empty())
    );
}

#[test]
fn a_regular_answer_is_no_fault() {
    assert!(
        How::Accept.is_regular() && !How::AcceptLost.is_regular() && !How::InFlight.is_regular()
    );
}

#[test]
fn a_write_of_the_ports_is_asked_with_its_revision() {
    let (crm, ids) = setup::saved(1);
    let record = crm.row(&ids[0]).unwrap().record(&ids[0]);
    let start = Start {
        at: at(0),
        seed: 1,
        crm_clock: None,
    };
    let write = sendtrail_core::ports::Write {
        state: None,
        progress: String::new(),
        next_check_at: None,
        deadline: None,
        external_id: None,
        document_sha256: None,
        input: None,
        document: sendtrail_core::ports::DocumentChange::Keep,
        notify: false,
    };
    let reached = replay(start, &[], |ports| {
        let (record, write) = (&record, &write);
        async move { ports.write(&record.id, &record.revision, write).await }
    });
    let asked = reached.pending.into_values().next().unwrap();
    assert!(
        matches!(asked, crate::replay::Request::Write { revision, .. } if revision == record.revision)
    );
}
