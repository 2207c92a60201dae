//! Two send APIs: `letter`, which can be asked by reference, and `fax`, which cannot. Neither knows repeats:
//! what reaches it twice is accepted twice.

mod driver;

use std::collections::BTreeMap;

use sendtrail_core::ids::{DriverId, ExternalId, Reference, Sha256Hash};
use sendtrail_core::input::Input;
use sendtrail_core::ports::{FindAnswer, LookUpAnswer, Order};

pub use driver::{Driver, Drivers};

use crate::sim::{Fault, State, World, unit};

/// When results come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Results {
    /// Some in minutes, most in hours, some in days, some never.
    #[default]
    Mixed,
    /// Each after this many milliseconds.
    After(i64),
    /// Never.
    Never,
}

/// What the send APIs hold.
#[derive(Debug, Default)]
pub struct ApiState {
    accepted: Vec<Accepted>,
    by_id: BTreeMap<String, usize>,
    by_reference: BTreeMap<Reference, Vec<usize>>,
    /// From when no call is answered properly any more; `None` is never.
    down_from: Option<i64>,
    /// When results come.
    pub results: Results,
    /// No look-up is answered but with 429 after this many in one minute; 0 is no limit.
    pub most_in_a_minute: u32,
    minute: (i64, u32),
}

/// Something that was accepted.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// Its id.
    pub id: ExternalId,
    /// From when it is found by its reference.
    found_from: i64,
    /// From when it is known by its id.
    known_from: i64,
    /// When its result is there; `None` is never.
    result_at: Option<i64>,
    /// What the result is.
    pub is_delivered: bool,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// Our reference.
    pub reference: Reference,
    /// The hash of the bytes that arrived.
    pub document: Sha256Hash,
    /// The input that came with them.
    pub input: Input,
    /// Whether it was refused for good.
    pub is_rejected: bool,
}

impl Receipt {
    fn of(order: &Order, is_rejected: bool) -> Self {
        Self {
            reference: order.reference.clone(),
            document: Sha256Hash::of(&order.document),
            input: order.input.clone(),
            is_rejected,
        }
    }
}

impl ApiState {
    /// They hold nothing yet, and are down from then on, or never.
    pub fn down_from(down_from: Option<i64>) -> Self {
        Self {
            down_from,
            ..Self::default()
        }
    }

    /// What is held under this id.
    pub fn accepted(&self, id: &str) -> Option<&Accepted> {
        self.by_id.get(id).map(|n| &self.accepted[*n])
    }

    /// Holds something under this id, its result there at a time or never.
    pub fn hold(&mut self, id: ExternalId, result_at: Option<i64>) {
        self.by_id.insert(id.to_string(), self.accepted.len());
        self.accepted.push(Accepted {
            id,
            found_from: 0,
            known_from: 0,
            result_at,
            is_delivered: true,
        });
    }

    /// The ids accepted under this reference.
    pub fn ids_of(&self, reference: &Reference) -> Vec<ExternalId> {
        let held = self.by_reference.get(reference).into_iter().flatten();
        held.map(|n| self.accepted[*n].id.clone()).collect()
    }

    /// How many were accepted.
    pub fn len(&self) -> usize {
        self.accepted.len()
    }

    /// Whether no call is answered properly any more.
    fn is_down(&self, now: i64) -> bool {
        self.down_from.is_some_and(|from| from <= now)
    }

    /// Whether nothing was accepted.
    pub fn is_empty(&self) -> bool {
        self.accepted.is_empty()
    }

    /// A look-up comes in: whether it is one too many.
    fn is_over_the_limit(&mut self, now: i64) -> bool {
        let minute = now / unit::MINUTE;
        if self.minute.0 != minute {
            self.minute = (minute, 0);
        }
        self.minute.1 += 1;
        self.most_in_a_minute > 0 && self.minute.1 > self.most_in_a_minute
    }
}

impl State {
    /// A submit reaches an API. Gives the id where it is accepted.
    fn receive(
        &mut self,
        world: &World,
        driver: &DriverId,
        receipt: &Receipt,
    ) -> Option<ExternalId> {
        let now = world.now();
        self.checker.received(now, receipt);
        if receipt.is_rejected {
            return None;
        }
        let id = ExternalId::parse(&format!("{driver}_{}", self.api.len() + 1)).ok()?;
        let late = |strikes: bool, by: i64| if strikes { now + by } else { now };
        let by = self.rng.around(2 * unit::MINUTE).min(15 * unit::MINUTE);
        let found_from = late(self.strikes(Fault::FindDelayed), by);
        let by = self.rng.between(unit::SECOND, 12 * unit::MINUTE);
        let known_from = late(self.strikes(Fault::NotFoundYet), by);
        let accepted = Accepted {
            id: id.clone(),
            found_from,
            known_from,
            result_at: self.result_after().map(|after| now + after),
            is_delivered: self.rng.chance(900_000),
        };
        let number = self.api.len();
        self.api.accepted.push(accepted);
        self.api.by_id.insert(id.to_string(), number);
        let same = self.api.by_reference.entry(receipt.reference.clone());
        same.or_default().push(number);
        self.checker.accepted(&receipt.reference, &id);
        Some(id)
    }

    fn result_after(&mut self) -> Option<i64> {
        let results = self.api.results;
        match results {
            Results::After(millis) => Some(millis),
            Results::Never => None,
            Results::Mixed if self.strikes(Fault::NoResult) => None,
            Results::Mixed => {
                let span = [
                    unit::MINUTE,
                    15 * unit::MINUTE,
                    unit::HOUR,
                    unit::HOUR,
                    4 * unit::HOUR,
                    30 * unit::HOUR,
                ];
                let span = self.rng.pick(&span).unwrap_or(unit::HOUR);
                Some(self.rng.between(span / 4, span + 1))
            }
        }
    }

    fn result_of(&mut self, now: i64, id: &ExternalId) -> LookUpAnswer {
        let Some(accepted) = self.api.accepted(id.as_str()) else {
            return LookUpAnswer::NotFound;
        };
        if now < accepted.known_from {
            return LookUpAnswer::NotFound;
        }
        match (
            accepted.result_at.filter(|at| *at <= now),
            accepted.is_delivered,
        ) {
            (Some(_), true) => LookUpAnswer::Delivered {
                status: "delivered".to_owned(),
            },
            (Some(_), false) => LookUpAnswer::Undelivered {
                status: "returned to sender".to_owned(),
            },
            (None, _) => LookUpAnswer::Pending {
                status: "in transit".to_owned(),
                recognised: true,
            },
        }
    }

    fn found(&self, now: i64, reference: &Reference) -> FindAnswer {
        let held = self.api.by_reference.get(reference).into_iter().flatten();
        let held = held.map(|n| &self.api.accepted[*n]);
        let found: Vec<_> = held.filter(|one| one.found_from <= now).collect();
        match found.as_slice() {
            [] => FindAnswer::None,
            [one] => FindAnswer::One(one.id.clone()),
            several => FindAnswer::Several(several.iter().map(|one| one.id.to_string()).collect()),
        }
    }
}
