//! People who edit by hand, confirm and command.

use super::{Begin, Config, press};
use crate::action::Edit;
use crate::job::{Command, Job};
use crate::rules::Mark;
use crate::setup::Doc;
use crate::state::Budget;

pub(super) fn cold(short: bool) -> Config {
    let mut config = Config::new(
        "cold",
        "processes that do not know the CRM's clock, and edits within a second",
    );
    config.warm = false;
    config.jobs = vec![press(0, "press_a")];
    config.refusals = false;
    config.edits = vec![Edit::Touch];
    config.budget = Budget {
        edits: if short { 1 } else { 2 },
        slow: 1,
        ..Budget::default()
    };
    config.must_reach = vec![
        Mark::SameSecond,
        Mark::EditBeside,
        Mark::Slow,
        Mark::Conflict,
    ];
    config
}

pub(super) fn same_second(short: bool) -> Config {
    let mut config = Config::new(
        "same-second",
        "a person edits twice, at any moment, also within the second of a version",
    );
    config.jobs = vec![press(0, "press_a")];
    config.refusals = !short;
    config.edits = vec![Edit::Touch];
    config.budget = Budget {
        edits: 2,
        writes: u8::from(!short),
        ..Budget::default()
    };
    config.must_reach = vec![Mark::SameSecond, Mark::EditBeside, Mark::Conflict];
    config
}

pub(super) fn typed_states(short: bool) -> Config {
    let mut config = Config::new(
        "typed-states",
        "a person types states while a press and a poller work",
    );
    config.jobs = vec![press(0, "press_a")];
    config.refusals = false;
    let words = [
        "saved",
        "confirmed",
        "sending",
        "accepted",
        "failed",
        "whatever",
    ];
    config.edits = words.into_iter().map(Edit::Type).collect();
    config.budget = Budget {
        edits: if short { 1 } else { 2 },
        submits: u8::from(short),
        ..Budget::default()
    };
    config.must_reach = vec![
        Mark::Beside,
        Mark::EditBeside,
        Mark::SameSecond,
        Mark::NotSendable,
    ];
    config
}

pub(super) fn old_progress(short: bool) -> Config {
    let mut config = Config::new(
        "old-progress",
        "a person puts an earlier progress back, or empties it",
    );
    config.jobs = vec![press(0, "press_a"), press(0, "press_b")];
    config.refusals = short;
    config.edits = vec![
        Edit::OldProgress,
        Edit::OldProgressConfirmed,
        Edit::Clear,
        Edit::Type("confirmed"),
    ];
    config.budget = Budget {
        edits: if short { 1 } else { 2 },
        ..Budget::default()
    };
    config.must_reach = vec![Mark::Beside, Mark::EditBeside, Mark::NotSendable];
    config
}

pub(super) fn edited(short: bool) -> Config {
    let mut config = Config::new("edited", "a person edits input, its hash, and the document");
    config.jobs = vec![
        press(0, "press_a"),
        Job::Press {
            record: 0,
            key: "press_b",
            document: Doc::Two,
        },
    ];
    config.refusals = false;
    config.edits = vec![Edit::Input, Edit::InputAndHash, Edit::Document];
    config.budget = Budget {
        edits: if short { 1 } else { 2 },
        ..Budget::default()
    };
    config.must_reach = vec![Mark::Changed, Mark::Accepted, Mark::EditBeside];
    config
}

pub(super) fn person_and_poller(short: bool) -> Config {
    let mut config = Config::new(
        "person-and-poller",
        "a person edits an accepted send beside two pollers",
    );
    config.begin = Begin::Accepted;
    config.pollers = 2;
    config.edits = vec![Edit::Touch, Edit::Type("failed"), Edit::OldProgress];
    if !short {
        let more = [Edit::Type("sending"), Edit::Clear];
        config.edits.extend(more);
    }
    config.budget = Budget {
        edits: 1,
        ..Budget::default()
    };
    config.must_reach = vec![Mark::Result, Mark::GaveUp, Mark::Conflict, Mark::TwoPollers];
    config
}

pub(super) fn confirm(short: bool) -> Config {
    let mut config = Config::new(
        "confirm",
        "confirm, save again, confirm the other document, and presses of both",
    );
    config.begin = Begin::Saved;
    config.jobs = vec![
        Job::Confirm {
            record: 0,
            document: Doc::One,
            rev: 0,
        },
        Job::SaveAgain { record: 0 },
        Job::Confirm {
            record: 0,
            document: Doc::Two,
            rev: 2,
        },
        press(0, "press_a"),
        Job::Press {
            record: 0,
            key: "press_b",
            document: Doc::Two,
        },
    ];
    config.refusals = false;
    config.budget = Budget {
        deaths: u8::from(!short),
        writes: 1,
        ..Budget::default()
    };
    config.must_reach = vec![
        Mark::Confirmed,
        Mark::Stale,
        Mark::Accepted,
        Mark::NotSendable,
    ];
    config
}

pub(super) fn commands(short: bool) -> Config {
    let mut config = Config::new(
        "commands",
        "a person's commands on a send of unknown outcome",
    );
    config.begin = Begin::Unknown;
    let commands: &[_] = if short {
        &[Command::SettleSucceeded, Command::SettleFailed]
    } else {
        &[Command::Resume, Command::Record]
    };
    let job = |what: &Command| Job::Operate {
        record: 0,
        what: *what,
    };
    config.jobs = commands.iter().map(job).collect();
    config.together = 1;
    config.refusals = false;
    config.must_reach = vec![Mark::Operated, Mark::Found, Mark::LateSubmit, Mark::Review];
    config
}
