//! The drivers' ports, as one invocation uses them.

use std::future::pending;
use std::sync::{Arc, Mutex};

use jiff::SignedDuration;
use sendtrail_core::ids::{DriverId, ExternalId, HistoryId, Reference};
use sendtrail_core::policy::Pacing;
use sendtrail_core::ports::{
    Capabilities, Clock as _, Evidence, Failure, FindAnswer, LookUp, LookUpAnswer, LookUpDrivers,
    NotSent, Order, Submit, SubmitDrivers, SubmitOutcome,
};

use super::Receipt;
use crate::function::Function;
use crate::sim::{Fault, Sabotage, State, lock, millis_in, unit::SECOND};

/// One driver in one invocation.
pub struct Driver {
    function: Arc<Function>,
    id: DriverId,
    can_find: bool,
    pacing: Pacing,
}

/// Both drivers.
pub struct Drivers([Driver; 2]);

impl Drivers {
    /// The drivers of this invocation.
    pub fn of(function: &Arc<Function>) -> Option<Self> {
        let driver = |name: &str, can_find, pacing: &Pacing| {
            Some(Driver {
                function: Arc::clone(function),
                id: DriverId::parse(name).ok()?,
                can_find,
                pacing: pacing.clone(),
            })
        };
        let pacing = &function.world.settings.pacing;
        Some(Self([
            driver("letter", true, &pacing.letter)?,
            driver("fax", false, &pacing.fax)?,
        ]))
    }

    fn find(&self, id: &DriverId) -> Option<&Driver> {
        self.0.iter().find(|driver| driver.id == *id)
    }
}

impl SubmitDrivers for Drivers {
    type Driver = Driver;
    fn driver(&self, id: &DriverId) -> Option<&Driver> {
        self.find(id)
    }
}

impl LookUpDrivers for Drivers {
    type Driver = Driver;
    fn driver(&self, id: &DriverId) -> Option<&Driver> {
        self.find(id)
    }
}

fn evidence(class: &str, status: Option<u16>) -> Evidence {
    Evidence {
        class: class.to_owned(),
        status,
        detail: "simulated".to_owned(),
        bytes_sent: 1_000,
    }
}

/// Tells, when it is dropped, that a submit is over, also where its function is killed.
struct Over<'a>(&'a Driver, &'a HistoryId);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let Self(driver, id) = self;
        driver.function.world.state().checker.submitted(id);
    }
}

/// How one submit goes.
struct Fate {
    /// When it arrives, if it does, in milliseconds.
    arrives: Option<i64>,
    /// When it is answered, if it is.
    answered: Option<i64>,
    fault: Option<Fault>,
}

impl State {
    fn submit_fate(&mut self, now: i64) -> Fate {
        let kinds = [
            Fault::SubmitReplyLost,
            Fault::SubmitLate,
            Fault::SubmitLost,
            Fault::SubmitRejected,
            Fault::SubmitRefused,
            Fault::SubmitBrokenBefore,
            Fault::SubmitBrokenAfter,
            Fault::SubmitHangs,
        ];
        let fault = if self.api.is_down(now) {
            Some(Fault::SubmitBrokenBefore)
        } else {
            self.one_of(&kinds)
        };
        let (there, back) = (self.rng.around(200), self.rng.around(300));
        let (arrives, answered) = match fault {
            Some(Fault::SubmitLost) => (None, self.rng.chance(500_000).then_some(there + back)),
            Some(Fault::SubmitRefused | Fault::SubmitBrokenBefore) => (None, Some(there + back)),
            Some(Fault::SubmitLate) => {
                let seconds = [1, 20, 90, 600, 3_600];
                let by = self.rng.pick(&seconds).unwrap_or(1) * SECOND;
                // Counted from a start at which the caller has given up by then.
                (Some(60 * SECOND + self.rng.between(0, by)), None)
            }
            Some(Fault::SubmitHangs) => {
                let arrives = self.rng.chance(500_000).then_some(there);
                (arrives, None)
            }
            Some(_) | None => (Some(there), Some(there + back)),
        };
        Fate {
            arrives,
            answered,
            fault,
        }
    }
}

impl State {
    /// What a send API that is down does with a question: mostly it answers, but nothing of use.
    fn how_it_is_down(&mut self) -> Fault {
        match self.rng.below(20) {
            0 => Fault::LookUpHangs,
            1..=5 => Fault::LookUpUnauthorized,
            _ => Fault::LookUpBroken,
        }
    }
}

impl Driver {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            can_find: self.can_find,
            max_document_bytes: 1_000_000,
        }
    }

    /// Posts once. Gives the id, if it is accepted and the answer comes.
    async fn post(&self, order: &Order, fate: Fate, time_left: SignedDuration) -> SubmitOutcome {
        let world = &self.function.world;
        let accepted = Arc::new(Mutex::new(None));
        if let Some(after) = fate.arrives {
            let (wire, accepted) = (Arc::clone(world), Arc::clone(&accepted));
            let receipt = Receipt::of(order, fate.fault == Some(Fault::SubmitRejected));
            let (driver, name) = (self.id.clone(), self.function.name.clone());
            world.executor.spawn(async move {
                wire.sleep(after).await;
                let mut state = wire.state();
                let id = state.receive(&wire, &driver, &receipt);
                state.log.line(wire.now(), &driver.to_string(), || {
                    let what = id
                        .as_ref()
                        .map_or("rejected".to_owned(), ToString::to_string);
                    format!("receives {} of {name} -> {what}", receipt.reference)
                });
                *lock(&accepted) = id;
            });
        }
        let most = millis_in(time_left).max(0);
        let answered = fate.answered.filter(|at| *at < most);
        world.sleep(answered.map_or(most, |at| at.max(1))).await;
        let unknown = |class, status| SubmitOutcome::Unknown(evidence(class, status));
        if answered.is_none() {
            return unknown("timeout", None);
        }
        match fate.fault {
            Some(Fault::SubmitRejected) => SubmitOutcome::Rejected(evidence("status", Some(422))),
            Some(Fault::SubmitRefused) => SubmitOutcome::NotSent(NotSent {
                evidence: evidence("connect", None),
                retry_after: None,
            }),
            Some(Fault::SubmitBrokenBefore | Fault::SubmitBrokenAfter) => {
                unknown("status", Some(502))
            }
            Some(_) => unknown("reset", None),
            None => match lock(&accepted).take() {
                Some(external_id) => SubmitOutcome::Accepted {
                    external_id,
                    evidence: evidence("status", Some(200)),
                },
                None => unknown("reset", None),
            },
        }
    }

    /// What goes wrong with a question for a result.
    async fn failure(&self) -> Option<Failure> {
        let world = &self.function.world;
        let (fault, latency) = {
            let mut state = world.state();
            let kinds = [
                Fault::LookUpLimited,
                Fault::LookUpBroken,
                Fault::LookUpHangs,
                Fault::LookUpUnauthorized,
            ];
            let now = world.now();
            let fault = if state.api.is_over_the_limit(now) {
                Some(Fault::LookUpLimited)
            } else if state.api.is_down(now) {
                Some(state.how_it_is_down())
            } else {
                state.one_of(&kinds)
            };
            (fault, state.rng.around(150))
        };
        if fault == Some(Fault::LookUpHangs) {
            pending::<()>().await;
        }
        world.sleep(latency).await;
        let fault = fault?;
        if fault == Fault::LookUpUnauthorized {
            return Some(Failure::Unauthorized(evidence("status", Some(401))));
        }
        if fault != Fault::LookUpLimited {
            return Some(Failure::Transient(evidence("status", Some(503))));
        }
        let seconds = world.state().rng.between(0, 120);
        Some(Failure::RateLimited {
            retry_after: (seconds > 0).then(|| SignedDuration::from_secs(seconds)),
            evidence: evidence("status", Some(429)),
        })
    }

    fn result(&self, id: &ExternalId) -> LookUpAnswer {
        let world = &self.function.world;
        let mut state = world.state();
        if state.strikes(Fault::UnknownStatus) {
            return LookUpAnswer::Pending {
                status: "on hold".to_owned(),
                recognised: false,
            };
        }
        state.result_of(world.now(), id)
    }

    fn log(&self, what: impl FnOnce() -> String) {
        self.function.world.log(&self.function.name, what);
    }
}

impl Submit for Driver {
    type Prepared = ();

    fn capabilities(&self) -> Capabilities {
        self.capabilities()
    }

    fn pacing(&self) -> &Pacing {
        &self.pacing
    }

    async fn prepare(&self, _: &Order) -> Result<(), NotSent> {
        let (fails, latency) = {
            let mut state = self.function.world.state();
            (state.strikes(Fault::PrepareFails), state.rng.around(100))
        };
        self.function.world.sleep(latency).await;
        if fails {
            self.log(|| "prepare -> fails".to_owned());
            return Err(NotSent {
                evidence: evidence("status", Some(503)),
                retry_after: Some(SignedDuration::from_secs(30)),
            });
        }
        Ok(())
    }

    fn draft_id((): &()) -> Option<&str> {
        None
    }

    async fn submit(&self, order: &Order, (): (), time_left: SignedDuration) -> SubmitOutcome {
        let world = &self.function.world;
        let begin = || {
            let now = world.now();
            let mut state = world.state();
            let under = state.crm.rows.row(&order.history_id).cloned();
            state.checker.submits(now, order, under.as_ref());
            state.submit_fate(now)
        };
        let _over = Over(self, &order.history_id);
        let mut outcome = self.post(order, begin(), time_left).await;
        let posts_again = world.settings.sabotage == Some(Sabotage::SubmitsAgain);
        let has_time = |evidence: &Evidence| evidence.class != "timeout";
        if posts_again && matches!(&outcome, SubmitOutcome::Unknown(why) if has_time(why)) {
            outcome = self.post(order, begin(), time_left).await;
        }
        self.log(|| format!("submit {} -> {outcome:?}", order.history_id));
        outcome
    }
}

impl LookUp for Driver {
    fn capabilities(&self) -> Capabilities {
        self.capabilities()
    }

    fn pacing(&self) -> &Pacing {
        &self.pacing
    }

    async fn look_up(&self, id: &ExternalId) -> LookUpAnswer {
        let world = &self.function.world;
        {
            let (now, asked) = (world.now(), self.function.now());
            let mut state = world.state();
            state.totals.look_ups += 1;
            state.visited(now, id);
            if let Some(record) = state.checker.record_of(id).cloned() {
                state.checker.asked(&self.function.name, asked, &record);
            }
        }
        let failure = self.failure().await;
        let answer = failure.map_or_else(|| self.result(id), LookUpAnswer::Failed);
        self.log(|| format!("look up {id} -> {answer:?}"));
        answer
    }

    async fn find(&self, reference: &Reference, _: Option<&str>) -> FindAnswer {
        let world = &self.function.world;
        {
            let (now, asked) = (world.now(), self.function.now());
            let mut state = world.state();
            state.totals.finds += 1;
            state.checker.searched(now, reference);
            if let Some(id) = state.checker.record_of_reference(reference).cloned() {
                state.visited_row(now, &id);
                state.checker.asked(&self.function.name, asked, &id);
            }
        }
        let answer = match self.failure().await {
            Some(failure) => FindAnswer::Failed(failure),
            None => world.state().found(world.now(), reference),
        };
        self.log(|| format!("find {reference} -> {answer:?}"));
        answer
    }
}
