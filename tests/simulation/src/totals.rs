//! What is counted, for the report.

use crate::function::Kind;

/// Requests to the CRM, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A single record.
    Read,
    /// A guarded update.
    Write,
    /// A new record.
    Create,
    /// A record by its key.
    Find,
    /// A page of rows.
    List,
    /// A count of rows.
    Count,
    /// Records of one document.
    Twins,
    /// A file in.
    Upload,
    /// A file out.
    Download,
}

impl Call {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Write,
        Self::Create,
        Self::Find,
        Self::List,
        Self::Count,
        Self::Twins,
        Self::Upload,
        Self::Download,
    ];

    /// The word in logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Create => "create",
            Self::Find => "find by key",
            Self::List => "list",
            Self::Count => "count",
            Self::Twins => "twins",
            Self::Upload => "upload",
            Self::Download => "download",
        }
    }
}

const KINDS: usize = Kind::ALL.len();
const CALLS: usize = Call::ALL.len();

/// Counts of one world, or of many.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    calls: [[u64; CALLS]; KINDS],
    credits: [[u64; CALLS]; KINDS],
    /// Writes that met a 412.
    pub conflicts: u64,
    /// Requests to the send APIs for a result.
    pub look_ups: u64,
    /// Requests to the send APIs for an open claim.
    pub finds: u64,
    /// Invocations that were started.
    pub invocations: u64,
    /// Runs of the poller that listed.
    pub runs: u64,
    /// Rows the poller visited, by a call to a send API.
    pub visits: u64,
    /// The longest time from due to visited, in milliseconds.
    pub worst_lateness: i64,
    /// The most runs that worked between due and visited.
    pub worst_runs_missed: u64,
}

impl Totals {
    /// A request was sent.
    pub fn called(&mut self, kind: Kind, call: Call) {
        self.calls[kind as usize][call as usize] += 1;
    }

    /// A request was served. Each costs one credit: no list asks for more than 200 rows, no write for more
    /// than one record.
    pub fn charged(&mut self, kind: Kind, call: Call) {
        self.credits[kind as usize][call as usize] += 1;
    }

    /// Requests sent by this kind of function.
    pub fn calls_of(&self, kind: Kind) -> u64 {
        self.calls[kind as usize].iter().sum()
    }

    /// Credits used by this kind of function.
    pub fn credits_of(&self, kind: Kind) -> u64 {
        self.credits[kind as usize].iter().sum()
    }

    /// Credits used by this kind of function for one kind of call.
    pub fn credits_for(&self, kind: Kind, call: Call) -> u64 {
        self.credits[kind as usize][call as usize]
    }

    /// All requests.
    pub fn calls(&self) -> u64 {
        Kind::ALL.into_iter().map(|kind| self.calls_of(kind)).sum()
    }

    /// All credits.
    pub fn credits(&self) -> u64 {
        Kind::ALL
            .into_iter()
            .map(|kind| self.credits_of(kind))
            .sum()
    }

    /// Adds those of another world.
    pub fn add(&mut self, other: &Self) {
        for (all, one) in self
            .calls
            .iter_mut()
            .flatten()
            .zip(other.calls.iter().flatten())
        {
            *all += one;
        }
        for (all, one) in self
            .credits
            .iter_mut()
            .flatten()
            .zip(other.credits.iter().flatten())
        {
            *all += one;
        }
        self.conflicts += other.conflicts;
        self.look_ups += other.look_ups;
        self.finds += other.finds;
        self.invocations += other.invocations;
        self.runs += other.runs;
        self.visits += other.visits;
        self.worst_lateness = self.worst_lateness.max(other.worst_lateness);
        self.worst_runs_missed = self.worst_runs_missed.max(other.worst_runs_missed);
    }
}
