//! A user: saves, looks at the preview, confirms, presses; and repeats what failed, as people do.

mod saves;

use std::sync::Arc;

use futures_util::future::join;
use sendtrail_core::flows::{Press, Refused, Sent, SubmitPorts, send};
use sendtrail_core::ids::{HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::ports::SubmitOutcome;
use sendtrail_core::progress::Actor;
use sendtrail_core::testing::CheckMac;

use super::invocation::{End, invoke};
use super::{operator, people};
use crate::api::Drivers;
use crate::function::Kind;
use crate::sim::{World, unit};

const MAC: CheckMac = CheckMac(7);
/// Kept back from side-effect's time for its answer.
const ANSWER_RESERVE: i64 = unit::SECOND;

/// One user with one thing to send.
struct User {
    world: Arc<World>,
    name: String,
    number: u64,
    driver: &'static str,
    /// The source record; a twin shares that of the user before.
    source: u64,
    keys: u64,
    /// What makes the input that was saved last differ from the others.
    wish: u64,
}

/// Sends one document, as well as it goes.
pub async fn sends(world: Arc<World>, number: u64) {
    let (driver, source) = {
        let mut state = world.state();
        let is_plain = world.settings.has_plain_users;
        let is_letter = is_plain || state.rng.chance(700_000);
        let is_twin = number > 0 && !is_plain && state.rng.chance(30_000);
        let driver = if is_letter { "letter" } else { "fax" };
        (driver, number - u64::from(is_twin))
    };
    let mut user = User {
        name: format!("user {number}"),
        world,
        number,
        driver,
        source,
        keys: 0,
        wish: 0,
    };
    let Some(saved) = user.saves().await else {
        return user.gives_up("saving");
    };
    let tempts = people::befall(&user.world, &saved.id);
    let id = saved.id.clone();
    let Some(mut document) = user.confirms(saved).await else {
        return user.gives_up("confirming");
    };
    if user.chance(50_000) {
        // On second thought.
        if let Some(again) = user.saves_again(&id).await
            && let Some(other) = user.confirms(again).await
        {
            document = other;
        }
    }
    if !user.chance(150_000) {
        user.thinks(2, 60).await;
    }
    user.presses(&id, document).await;
    if user.chance(if tempts { 600_000 } else { 60_000 }) {
        user.thinks(30, 100_000).await;
        if !user.world.is_past_the_day() {
            user.comes_back(&id, document).await;
        }
    }
}

/// Somebody presses a copy of a record.
pub(super) async fn presses_a_copy(
    world: Arc<World>,
    id: HistoryId,
    document: Sha256Hash,
    after: i64,
) {
    world.sleep(after).await;
    let mut user = User {
        name: format!("user of {id}"),
        world,
        number: id
            .as_str()
            .bytes()
            .fold(0, |n, b| n * 10 % 1_000_000 + u64::from(b % 10)),
        driver: "letter",
        source: 0,
        keys: 1_000,
        wish: 0,
    };
    user.presses(&id, document).await;
}

impl User {
    fn chance(&self, per_million: u32) -> bool {
        !self.world.settings.has_plain_users && self.world.state().rng.chance(per_million)
    }

    async fn thinks(&self, from: i64, to: i64) {
        let wait = self.world.state().rng.between(from, to) * unit::SECOND;
        self.world.sleep(wait).await;
    }

    fn gives_up(&self, what: &str) {
        self.world.log(&self.name, || format!("gives up {what}"));
    }

    fn key(&mut self) -> Option<RequestKey> {
        self.keys += 1;
        RequestKey::parse(&format!("u{}_{}", self.number, self.keys)).ok()
    }

    fn press(&mut self, id: &HistoryId, document: Sha256Hash) -> Option<Press> {
        Some(Press {
            key: self.key()?,
            history_id: id.clone(),
            document_sha256: document,
            again_of: None,
            actor: Actor::new("u1", &self.name)?,
        })
    }

    async fn presses_once(&self, press: &Press) -> End<Sent> {
        let world = &self.world;
        let timeout = world.settings.side_effect_timeout;
        let end = invoke(world, Kind::SideEffect, timeout, |function| async move {
            let drivers = Drivers::of(&function)?;
            let ports = SubmitPorts {
                store: &*function,
                drivers: &drivers,
                world: &*function,
                mac: &MAC,
                policy: &function.world.settings.submit,
            };
            let until = function.after(timeout - ANSWER_RESERVE);
            let sent = send(&ports, press, until).await;
            let now = function.world.now();
            let mut state = function.world.state();
            let (id, key) = (&press.history_id, &press.key);
            state.log.line(now, &function.name, || {
                format!("press {key} {id} -> {sent:?}")
            });
            state.checker.served(now, id, &sent);
            Some(sent)
        });
        match end.await {
            End::Done(Some(sent)) => {
                self.heeds_the_alarm(press, &sent);
                End::Done(sent)
            }
            End::Done(None) | End::Killed => End::Killed,
            End::TimedOut => End::TimedOut,
        }
    }

    /// What could not be recorded is reported, and somebody records it.
    fn heeds_the_alarm(&self, press: &Press, sent: &Sent) {
        use sendtrail_core::flows::Recorded;
        if let Sent::Done {
            outcome: SubmitOutcome::Accepted { external_id, .. },
            recorded: Recorded::Unrecorded { .. },
        } = sent
        {
            let (id, world) = (press.history_id.clone(), Arc::clone(&self.world));
            let records = operator::record(world, id, external_id.clone());
            self.world.executor.spawn(records);
        }
    }

    /// How somebody presses: mostly once.
    fn way(&self) -> u64 {
        if self.world.settings.has_plain_users {
            return u64::MAX;
        }
        self.world.state().rng.below(20)
    }

    async fn presses(&mut self, id: &HistoryId, document: Sha256Hash) {
        let Some(mut press) = self.press(id, document) else {
            return;
        };
        for _ in 0..5 {
            let way = self.way();
            let end = match way {
                0 => {
                    let Some(other) = self.press(id, document) else {
                        return;
                    };
                    join(self.presses_once(&press), self.presses_once(&other))
                        .await
                        .0
                }
                1 => {
                    join(self.presses_once(&press), self.presses_once(&press))
                        .await
                        .0
                }
                2 => {
                    self.presses_once(&press).await;
                    self.presses_once(&press).await
                }
                _ => self.presses_once(&press).await,
            };
            let keeps_key = match end {
                // The answer is lost: the same request again, or a new press.
                End::Killed | End::TimedOut => self.chance(500_000),
                End::Done(
                    Sent::Failed(_) | Sent::Refused(Refused::ChangedElsewhere | Refused::NoTime),
                ) => self.chance(300_000),
                End::Done(Sent::Done {
                    outcome: SubmitOutcome::NotSent(_),
                    ..
                }) => false,
                End::Done(Sent::Refused(Refused::AlreadySent(twin))) if self.chance(500_000) => {
                    press.again_of = Some(twin);
                    false
                }
                End::Done(Sent::Done { .. } | Sent::SamePress { .. } | Sent::Refused(_)) => return,
            };
            if self.chance(200_000) {
                return;
            }
            self.thinks(3, 200).await;
            if !keeps_key && let Some(key) = self.key() {
                press.key = key;
            }
        }
    }

    /// Later, somebody tries once more: the same document, or another one.
    async fn comes_back(&mut self, id: &HistoryId, document: Sha256Hash) {
        if self.chance(500_000) {
            return self.presses(id, document).await;
        }
        if let Some(again) = self.saves_again(id).await
            && let Some(other) = self.confirms(again).await
        {
            self.presses(id, other).await;
        }
    }
}
