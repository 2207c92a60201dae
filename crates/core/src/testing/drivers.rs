use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;

use crate::ids::{DriverId, ExternalId, Reference, Sha256Hash};
use crate::policy::Pacing;
use crate::ports::{
    Capabilities, FindAnswer, LookUp, LookUpAnswer, LookUpDrivers, NotSent, Order, SealMac, Submit,
    SubmitDrivers, SubmitOutcome,
};

/// Pacing short enough to read: first 60 s, every 600 s, give up after a day, graces of 600 s.
pub fn pacing() -> Pacing {
    Pacing {
        first: SignedDuration::from_secs(60),
        every: SignedDuration::from_secs(600),
        give_up: SignedDuration::from_hours(24),
        not_found_grace: SignedDuration::from_secs(600),
        find_grace: SignedDuration::from_secs(600),
    }
}

/// A driver that answers what it was told to, in order, and remembers what it was asked.
#[derive(Debug)]
pub struct ScriptedDriver {
    capabilities: Capabilities,
    pacing: Pacing,
    script: Mutex<Script>,
}

#[derive(Debug, Default)]
struct Script {
    refuse_prepare: Option<NotSent>,
    outcomes: VecDeque<SubmitOutcome>,
    answers: VecDeque<LookUpAnswer>,
    finds: VecDeque<FindAnswer>,
    submits: Vec<(Reference, Sha256Hash)>,
    times_left: Vec<SignedDuration>,
    ended: usize,
    look_ups: Vec<ExternalId>,
    searches: Vec<Reference>,
    takes: SignedDuration,
}

impl ScriptedDriver {
    /// A driver that takes 1 MB, with [`pacing`].
    pub fn new(can_find: bool) -> Self {
        Self {
            capabilities: Capabilities {
                can_find,
                max_document_bytes: 1_000_000,
            },
            pacing: pacing(),
            script: Mutex::default(),
        }
    }

    /// The next submit ends so.
    pub fn will_submit(&self, outcome: SubmitOutcome) {
        self.script().outcomes.push_back(outcome);
    }

    /// The next submit ends so, whatever was said before.
    pub fn next_submit(&self, outcome: SubmitOutcome) {
        self.script().outcomes = VecDeque::from([outcome]);
    }

    /// The harmless steps fail so.
    pub fn will_not_prepare(&self, not_sent: NotSent) {
        self.script().refuse_prepare = Some(not_sent);
    }

    /// The harmless steps succeed again.
    pub fn will_prepare(&self) {
        self.script().refuse_prepare = None;
    }

    /// The next look-up answers so; without one it is pending.
    pub fn will_answer(&self, answer: LookUpAnswer) {
        self.script().answers.push_back(answer);
    }

    /// The next search answers so; without one there is nothing.
    pub fn will_find(&self, answer: FindAnswer) {
        self.script().finds.push_back(answer);
    }

    /// Every call takes this long.
    pub fn takes(&self, duration: SignedDuration) {
        self.script().takes = duration;
    }

    /// What was submitted.
    pub fn submits(&self) -> Vec<(Reference, Sha256Hash)> {
        self.script().submits.clone()
    }

    /// The time each submit was given.
    pub fn times_left(&self) -> Vec<SignedDuration> {
        self.script().times_left.clone()
    }

    /// How many submits ended; one whose caller was killed did not.
    pub fn ended(&self) -> usize {
        self.script().ended
    }

    /// What was looked up.
    pub fn look_ups(&self) -> Vec<ExternalId> {
        self.script().look_ups.clone()
    }

    /// What was searched for.
    pub fn searches(&self) -> Vec<Reference> {
        self.script().searches.clone()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass_time(&self) {
        let takes = self.script().takes;
        if let Ok(duration) = std::time::Duration::try_from(takes) {
            tokio::time::sleep(duration).await;
        }
    }
}

impl Submit for ScriptedDriver {
    type Prepared = ();

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn pacing(&self) -> &Pacing {
        &self.pacing
    }

    async fn prepare(&self, _: &Order) -> Result<(), NotSent> {
        self.script().refuse_prepare.clone().map_or(Ok(()), Err)
    }

    fn draft_id((): &()) -> Option<&str> {
        None
    }

    async fn submit(&self, order: &Order, (): (), time_left: SignedDuration) -> SubmitOutcome {
        self.script().times_left.push(time_left);
        self.script()
            .submits
            .push((order.reference.clone(), order.document_sha256));
        self.pass_time().await;
        self.script().ended += 1;
        self.script()
            .outcomes
            .pop_front()
            .unwrap_or_else(|| SubmitOutcome::Unknown(crate::ports::Evidence::default()))
    }
}

impl LookUp for ScriptedDriver {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn pacing(&self) -> &Pacing {
        &self.pacing
    }

    async fn look_up(&self, id: &ExternalId) -> LookUpAnswer {
        self.script().look_ups.push(id.clone());
        self.pass_time().await;
        self.script()
            .answers
            .pop_front()
            .unwrap_or(LookUpAnswer::Pending {
                status: "processed".to_owned(),
                recognised: true,
            })
    }

    async fn find(&self, reference: &Reference, _: Option<&str>) -> FindAnswer {
        self.script().searches.push(reference.clone());
        self.pass_time().await;
        self.script().finds.pop_front().unwrap_or(FindAnswer::None)
    }
}

/// One driver under the name `letter`.
#[derive(Debug)]
pub struct ScriptedDrivers(pub ScriptedDriver);

impl SubmitDrivers for ScriptedDrivers {
    type Driver = ScriptedDriver;
    fn driver(&self, id: &DriverId) -> Option<&ScriptedDriver> {
        (id.as_str() == "letter").then_some(&self.0)
    }
}

impl LookUpDrivers for ScriptedDrivers {
    type Driver = ScriptedDriver;
    fn driver(&self, id: &DriverId) -> Option<&ScriptedDriver> {
        (id.as_str() == "letter").then_some(&self.0)
    }
}

/// A seal's MAC for tests: a hash with a key in front.
#[derive(Debug, Clone, Copy)]
pub struct CheckMac(pub u8);

impl SealMac for CheckMac {
    fn seal(&self, message: &[u8]) -> String {
        Sha256Hash::of(&[&[self.0], message].concat()).to_string()
    }

    fn check(&self, message: &[u8], seal: &str) -> bool {
        self.seal(message) == seal
    }
}
