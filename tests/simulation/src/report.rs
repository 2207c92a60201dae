//! What many worlds come to, as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::floors::{self, Amounts};
use crate::function::Kind;
use crate::run::{Ending, Outcome};
use crate::sim::{Fault, Temper, unit};
use crate::totals::{Call, Totals};

/// The sum of many worlds.
#[derive(Debug, Default)]
pub struct Report {
    seeds: u64,
    calm_seeds: u64,
    sends: u64,
    submits: u64,
    duplicates: u64,
    lost: u64,
    found: u64,
    pressed_again: u64,
    copies: u64,
    never_saved: u64,
    endings: BTreeMap<Ending, u64>,
    faults: BTreeMap<Fault, u64>,
    totals: Totals,
    calm: Totals,
    days: i64,
}

impl Report {
    /// Adds a world of which this many sends were asked.
    pub fn add(&mut self, sends: u64, outcome: &Outcome) {
        self.seeds += 1;
        self.sends += sends;
        self.submits += outcome.submits;
        self.duplicates += outcome.duplicates;
        self.lost += outcome.lost;
        self.found += outcome.found;
        self.pressed_again += outcome.pressed_again;
        self.copies += outcome.copies;
        self.never_saved += outcome.never_saved;
        self.days += outcome.lasted / unit::DAY;
        for (ending, count) in &outcome.endings {
            *self.endings.entry(*ending).or_default() += count;
        }
        for (fault, count) in &outcome.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        self.totals.add(&outcome.totals);
        if outcome.temper == Temper::Calm {
            self.calm_seeds += 1;
            self.calm.add(&outcome.totals);
        }
    }

    /// How often this kind of fault struck.
    pub fn struck(&self, fault: Fault) -> u64 {
        self.faults.get(&fault).copied().unwrap_or_default()
    }

    /// Requests that reached a send API beyond the first for a record: records submitted twice.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// What the worlds should have come to and did not; nothing where they are too few to tell.
    pub fn shortfalls(&self) -> Vec<String> {
        if self.seeds < floors::WORLDS || self.sends / self.seeds < floors::SENDS {
            return Vec::new();
        }
        let ended = |ending| self.endings.get(&ending).copied().unwrap_or_default();
        let came_to = Amounts {
            submits: self.submits,
            succeeded: ended(Ending::Succeeded),
            failed: ended(Ending::Failed),
            needs_review: ended(Ending::NeedsReview),
            found: self.found,
            pressed_again: self.pressed_again,
            conflicts: self.totals.conflicts,
        };
        floors::shortfalls(self.sends, &came_to)
    }

    /// The table.
    pub fn table(&self) -> String {
        let mut table = Table::default();
        table.row("worlds, one for each seed", self.seeds);
        table.row("  of them calm: without faults", self.calm_seeds);
        table.row("simulated days", self.days);
        table.row("sends asked", self.sends);
        table.row("  of them never saved: no record", self.never_saved);
        table.row("submits that reached a send API", self.submits);
        table.row("records submitted twice", self.duplicates);
        table.row("accepted, then lost from sight", self.lost);
        table.row("found by a search", self.found);
        table.row("not sent and pressed again", self.pressed_again);
        table.row("records", self.endings.values().sum::<u64>());
        table.row("  of them copies that people made", self.copies);
        table.title("how the records ended, copies too");
        for ending in Ending::ALL {
            let count = self.endings.get(&ending).copied().unwrap_or_default();
            table.row(&format!("  {}", ending.label()), count);
        }
        self.work(&mut table);
        table.title("faults: how often; writes, calls or ticks where no other unit is given");
        for fault in Fault::ALL {
            let unit = fault.counted().map(|unit| format!(" ({unit})"));
            let label = format!("  {}{}", fault.label(), unit.unwrap_or_default());
            table.row(&label, self.struck(*fault));
        }
        table.0
    }

    fn work(&self, table: &mut Table) {
        let totals = &self.totals;
        table.title("work");
        table.row("  conflicts (412)", totals.conflicts);
        let is_calm = self.calm_seeds > 0;
        let calm = is_calm.then(|| minutes(self.calm.worst_lateness));
        table.row(
            "  worst lateness of a due row, calm: minutes",
            calm.unwrap_or_else(|| "-".to_owned()),
        );
        table.row(
            "  worst lateness of a due row, all: minutes",
            minutes(totals.worst_lateness),
        );
        table.row(
            "  worst of all, in runs that worked meanwhile",
            totals.worst_runs_missed,
        );
        table.row("  look-ups for each send", per(totals.look_ups, self.sends));
        table.row("  searches for each send", per(totals.finds, self.sends));
        table.row("  CRM calls for each send", per(totals.calls(), self.sends));
        table.row(
            "  CRM credits for each send",
            per(totals.credits(), self.sends),
        );
        let lists = totals.credits_for(Kind::Poller, Call::List)
            + totals.credits_for(Kind::Poller, Call::Count);
        table.row(
            "    without the poller's lists",
            per(totals.credits() - lists, self.sends),
        );
        for kind in Kind::ALL {
            let label = format!("    {}", kind.label());
            table.row(&label, per(totals.credits_of(kind), self.sends));
        }
        table.title(
            "    A call that the CRM serves costs a credit, a 412 or a lost reply too; one that it\n    \
             refuses (429, token), that never arrives, or a read answered 5xx costs none.",
        );
        table.row("  runs of the poller", totals.runs);
        table.row("  its lists for each run", per(lists, totals.runs));
        table.row("  invocations", totals.invocations);
    }
}

fn minutes(millis: i64) -> String {
    tenths(millis.unsigned_abs() * 10 / unit::MINUTE.unsigned_abs())
}

/// Rows of a name and a value.
#[derive(Default)]
struct Table(String);

impl Table {
    fn row(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name:<58} {value:>10}");
    }

    fn title(&mut self, name: &str) {
        let _ = writeln!(self.0, "{name}");
    }
}

/// Tenths as a number with one decimal.
pub(crate) fn tenths(n: u64) -> String {
    format!("{}.{}", n / 10, n % 10)
}

/// `n` for each of `of`, with two decimals.
pub(crate) fn per(n: u64, of: u64) -> String {
    let hundredths = u128::from(n) * 100 / u128::from(of.max(1));
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// `n` for each of `of`, with three decimals.
pub(crate) fn per_fine(n: u64, of: u64) -> String {
    let thousandths = u128::from(n) * 1_000 / u128::from(of.max(1));
    format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_with_their_decimals_and_of_none_is_no_panic() {
        assert_eq!(per(7, 2), "3.50");
        assert_eq!(per(1, 0), "1.00");
        assert_eq!(per_fine(48, 5_055), "0.009");
        assert_eq!(tenths(25), "2.5");
    }
}
