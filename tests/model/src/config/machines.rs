//! Users, functions and pollers, without a person's edits.

use super::{Begin, Config, press};
use crate::rules::Mark;
use crate::state::Budget;

pub(super) fn presses(short: bool) -> Config {
    let mut config = Config::new(
        "presses",
        "two users press at once; functions die, replies are lost",
    );
    config.jobs = vec![press(0, "press_a"), press(0, "press_b")];
    config.budget = Budget {
        deaths: 1,
        writes: 1,
        submits: u8::from(!short),
        ..Budget::default()
    };
    config.must_reach = vec![
        Mark::Accepted,
        Mark::Rejected,
        Mark::NotSent,
        Mark::PressedAgain,
        Mark::Conflict,
        Mark::Died,
        Mark::LateWrite,
        Mark::LostReply,
        Mark::Review,
        Mark::Result,
        Mark::GaveUp,
    ];
    config
}

pub(super) fn same_press(short: bool) -> Config {
    let mut config = Config::new("same-press", "a press is repeated, and another follows");
    config.jobs = vec![
        press(0, "press_a"),
        press(0, "press_a"),
        press(0, "press_b"),
    ];
    config.budget = Budget {
        deaths: u8::from(!short),
        writes: 1,
        ..Budget::default()
    };
    config.must_reach = vec![Mark::SamePress, Mark::NotSent, Mark::PressedAgain];
    config
}

pub(super) fn sweep(short: bool) -> Config {
    let mut config = Config::new(
        "sweep",
        "a finding driver: lost and late submits, beside two pollers",
    );
    config.jobs = vec![press(0, "press_a")];
    config.pollers = 2;
    config.refusals = false;
    config.budget = Budget {
        deaths: u8::from(!short),
        submits: 1,
        ..Budget::default()
    };
    config.must_reach = vec![
        Mark::Found,
        Mark::Review,
        Mark::LateSubmit,
        Mark::TwoPollers,
    ];
    config
}

pub(super) fn blind(short: bool) -> Config {
    let mut config = Config::new("blind", "a driver that cannot find");
    config.can_find = false;
    config.jobs = vec![press(0, "press_a"), press(0, "press_b")];
    config.budget = Budget {
        deaths: 1,
        writes: 1,
        submits: 1,
        slow: u8::from(!short),
        ..Budget::default()
    };
    config.must_reach = vec![Mark::Review, Mark::LateSubmit, Mark::Died];
    config
}

pub(super) fn silent(short: bool) -> Config {
    let mut config = Config::new(
        "silent",
        "an API that never tells an outcome: it knows none, or only ever fails",
    );
    config.silent_api = true;
    config.refusals = false;
    config.jobs = vec![press(0, "press_a")];
    config.budget = Budget {
        deaths: 1,
        writes: u8::from(!short),
        submits: 1,
        ..Budget::default()
    };
    config.must_reach = vec![Mark::Accepted, Mark::GaveUp, Mark::Review, Mark::Died];
    config
}

pub(super) fn slow(short: bool) -> Config {
    let mut config = Config::new(
        "slow",
        "calls that hang, functions that are killed at their end",
    );
    config.jobs = vec![press(0, "press_a"), press(0, "press_b")];
    config.refusals = false;
    config.budget = Budget {
        slow: if short { 1 } else { 2 },
        writes: 1,
        ..Budget::default()
    };
    config.must_reach = vec![Mark::Slow, Mark::Killed, Mark::LateWrite, Mark::Unrecorded];
    config
}

pub(super) fn two_pollers(short: bool) -> Config {
    let mut config = Config::new(
        "two-pollers",
        "two pollers on an accepted send; calls fail, replies are lost",
    );
    config.begin = Begin::Accepted;
    config.pollers = 2;
    config.budget = Budget {
        deaths: u8::from(!short),
        writes: 1,
        reads: u8::from(!short),

        ..Budget::default()
    };
    config.must_reach = vec![Mark::TwoPollers, Mark::Conflict, Mark::Result, Mark::GaveUp];
    config
}

pub(super) fn twins(short: bool) -> Config {
    let mut config = Config::new("twins", "two records of one document, pressed at once");
    config.records = 2;
    config.one_twin = true;
    config.jobs = vec![press(0, "press_a"), press(1, "press_b")];
    config.refusals = false;
    config.budget = Budget {
        writes: 1,
        reads: u8::from(!short),
        slow: u8::from(!short),
        ..Budget::default()
    };
    config.must_reach = vec![Mark::Twin, Mark::Accepted];
    config
}

pub(super) fn refused_calls(short: bool) -> Config {
    let mut config = Config::new(
        "refused-calls",
        "calls fail or are refused at every point, the driver's first steps too",
    );
    config.jobs = vec![press(0, "press_a"), press(0, "press_b")];
    config.unprepared = true;
    config.budget = Budget {
        reads: if short { 1 } else { 2 },
        limits: 1,
        writes: 1,
        ..Budget::default()
    };
    config.must_reach = vec![Mark::Accepted, Mark::NotSent, Mark::Conflict];
    config
}
