//! What can go wrong, how often in this world, and how often it did.

use super::rng::Rng;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident $label:literal $per_million:literal,)*) => {
        /// Everything that is made to go wrong, by kind.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in reports and logs.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// How many of a million cases are struck in a mild world that has this kind.
            const fn per_million(self) -> u32 {
                match self { $(Self::$name => $per_million,)* }
            }
        }
    };
}

faults! {
    /// A write is applied and its reply lost.
    WriteReplyLost "CRM write: reply lost" 15_000,
    /// A write is lost before it is applied.
    WriteLost "CRM write: lost" 10_000,
    /// A write arrives after its caller gave it up.
    WriteLate "CRM write: arrives late" 10_000,
    /// A write is answered 5xx, applied or not.
    WriteBroken "CRM write: 5xx" 8_000,
    /// A read or list is answered 5xx.
    ReadBroken "CRM read: 5xx" 8_000,
    /// The CRM takes seconds.
    CrmSlow "CRM: slow" 15_000,
    /// The CRM does not answer within the time-out.
    CrmHangs "CRM: hangs" 3_000,
    /// The CRM answers 429.
    CrmLimits "CRM: 429" 8_000,
    /// A day's credits are used up for a while.
    CreditsExhausted "CRM: credits exhausted" 40_000,
    /// The token endpoint refuses new tokens for ten minutes.
    TokenThrottled "CRM: token throttle" 40_000,
    /// A list or query shows a record as it was before.
    ListLags "CRM: list lags" 500_000,
    /// A list cuts long text.
    ListCuts "CRM: list cuts text" 150_000,
    /// A record refuses every write.
    Poison "CRM: poisoned record" 10_000,
    /// A person types a state.
    TypedState "person: types a state" 20_000,
    /// A person edits the input.
    EditedInput "person: edits the input" 8_000,
    /// A person stores another document on the record.
    SwappedDocument "person: swaps the document" 6_000,
    /// A person puts an earlier progress back.
    OldProgress "person: puts an old progress back" 15_000,
    /// A person empties a field.
    EmptiedField "person: empties a field" 10_000,
    /// A person writes something into the progress.
    MarkedProgress "person: adds to the progress" 20_000,
    /// A person moves the date fields.
    MovedDates "person: moves the dates" 8_000,
    /// A person makes a copy of the record, and presses that.
    Cloned "person: copies the record" 5_000,
    /// A person deletes the record.
    Deleted "person: deletes the record" 2_000,
    /// A function is killed at some await.
    Killed "function: killed" 25_000,
    /// A function's clock is wrong.
    ClockSkewed "function: clock differs" 300_000,
    /// A function's clock jumps while it runs.
    ClockJumps "function: clock jumps" 15_000,
    /// A tick is lost.
    TickMissed "schedule: tick missed" 40_000,
    /// A tick is fired twice at once.
    TickDoubled "schedule: tick doubled" 30_000,
    /// A tick comes late, into the next one's run.
    TickLate "schedule: tick late" 30_000,
    /// The schedule stands still for hours.
    ScheduleDown "schedule: down for hours" 15_000,
    /// The harmless steps fail.
    PrepareFails "send API: harmless steps fail" 15_000,
    /// A submit is accepted and its reply lost.
    SubmitReplyLost "send API: submit accepted, reply lost" 15_000,
    /// A submit arrives after its caller gave up.
    SubmitLate "send API: submit arrives late" 12_000,
    /// A submit is lost.
    SubmitLost "send API: submit lost" 10_000,
    /// A submit is refused for good.
    SubmitRejected "send API: submit rejected" 15_000,
    /// A submit is proved not to have been sent.
    SubmitRefused "send API: submit refused" 15_000,
    /// A submit is answered 5xx before it is accepted.
    SubmitBrokenBefore "send API: 5xx before accepting" 8_000,
    /// A submit is answered 5xx after it is accepted.
    SubmitBrokenAfter "send API: 5xx after accepting" 8_000,
    /// A submit hangs, accepted or not.
    SubmitHangs "send API: submit hangs" 8_000,
    /// What was accepted is found by its reference only later.
    FindDelayed "send API: find is behind" 200_000,
    /// What was accepted is not known by its id for a while.
    NotFoundYet "send API: 404 for a while" 60_000,
    /// A look-up is answered 429.
    LookUpLimited "send API: 429" 8_000,
    /// A look-up is answered 5xx.
    LookUpBroken "send API: look-up 5xx" 15_000,
    /// A look-up hangs.
    LookUpHangs "send API: look-up hangs" 5_000,
    /// A look-up is answered with a status nobody knows.
    UnknownStatus "send API: unknown status" 15_000,
    /// A look-up is answered 401.
    LookUpUnauthorized "send API: 401" 8_000,
    /// The send APIs go down at some moment and stay so, also when all else is calm.
    ApiDown "send API: down for good" 150_000,
    /// No result ever comes.
    NoResult "send API: never a result" 15_000,
}

/// What is counted, where it is not plain from the label.
const COUNTED: [(Fault, &str); 13] = [
    (Fault::Poison, "writes refused"),
    (Fault::ListLags, "lists"),
    (Fault::ListCuts, "worlds"),
    (Fault::CreditsExhausted, "spells"),
    (Fault::TokenThrottled, "spells"),
    (Fault::ScheduleDown, "spells"),
    (Fault::Killed, "invocations"),
    (Fault::ClockJumps, "invocations"),
    (Fault::ClockSkewed, "containers"),
    (Fault::ApiDown, "worlds"),
    (Fault::FindDelayed, "accepted sends"),
    (Fault::NotFoundYet, "accepted sends"),
    (Fault::NoResult, "accepted sends"),
];

impl Fault {
    /// What is counted, where it is not plain from the label.
    pub fn counted(self) -> Option<&'static str> {
        let mut units = COUNTED.iter();
        units
            .find(|(fault, _)| *fault == self)
            .map(|(_, unit)| *unit)
    }
}

const KINDS: usize = Fault::ALL.len();

/// How much goes wrong in a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temper {
    /// Nothing.
    Calm,
    /// Now and then something.
    Mild,
    /// Several times as much.
    Wild,
}

impl Temper {
    /// The word in logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Mild => "mild",
            Self::Wild => "wild",
        }
    }
}

/// The faults of one world.
#[derive(Debug, Clone)]
pub struct Faults {
    temper: Temper,
    per_million: [u32; KINDS],
    counts: [u64; KINDS],
    are_over: bool,
}

impl Faults {
    /// None at all.
    pub fn none() -> Self {
        Self {
            temper: Temper::Calm,
            per_million: [0; KINDS],
            counts: [0; KINDS],
            are_over: false,
        }
    }

    /// One world in five is calm; the others have most kinds, each at its own rate.
    pub fn drawn(rng: &mut Rng) -> Self {
        let mut faults = Self::none();
        let most = match rng.below(10) {
            0 | 1 => return faults,
            2..=5 => {
                faults.temper = Temper::Mild;
                1
            }
            _ => {
                faults.temper = Temper::Wild;
                6
            }
        };
        for (chance, fault) in faults.per_million.iter_mut().zip(Fault::ALL) {
            if rng.chance(750_000) {
                let hundredths = rng.between(20, 100 * most + 1);
                let scaled = i64::from(fault.per_million()) * hundredths / 100;
                *chance = u32::try_from(scaled.min(900_000)).unwrap_or_default();
            }
        }
        faults
    }

    /// How much goes wrong.
    pub fn temper(&self) -> Temper {
        self.temper
    }

    /// Whether this kind strikes now; counted when it does.
    pub fn strikes(&mut self, rng: &mut Rng, fault: Fault) -> bool {
        let strikes = self.would(rng, fault);
        if strikes {
            self.count(fault);
        }
        strikes
    }

    /// Whether this kind strikes; the caller counts it once it has an effect.
    pub fn would(&self, rng: &mut Rng, fault: Fault) -> bool {
        !self.are_over && rng.chance(self.per_million[fault as usize])
    }

    /// The first of these kinds that strikes.
    pub fn one_of(&mut self, rng: &mut Rng, kinds: &[Fault]) -> Option<Fault> {
        kinds.iter().copied().find(|kind| self.strikes(rng, *kind))
    }

    /// Counts one.
    pub fn count(&mut self, fault: Fault) {
        self.counts[fault as usize] += 1;
    }

    /// From now on nothing goes wrong.
    pub fn end(&mut self) {
        self.are_over = true;
    }

    /// Whether nothing goes wrong any more.
    pub fn are_over(&self) -> bool {
        self.are_over
    }

    /// How often each kind struck.
    pub fn counts(&self) -> impl Iterator<Item = (Fault, u64)> {
        Fault::ALL
            .iter()
            .map(|fault| (*fault, self.counts[*fault as usize]))
    }
}
