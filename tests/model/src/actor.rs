//! A running flow, as part of a state.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use sendtrail_core::ids::HistoryId;

use crate::job::{Ended, Job};
use crate::replay::{Answer, Entry, Reached, Request, Start, replay, whole_seconds};

/// A part of a state that follows from the rest of it: it is neither hashed nor compared.
#[derive(Debug, Clone)]
pub struct Derived<T>(pub T);

impl<T> Hash for Derived<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A flow that is under way.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Actor {
    /// Which job of the configuration; the poller is none of them.
    pub job: Option<usize>,
    /// Its place among those that run.
    pub slot: u8,
    /// When it started.
    pub started: Timestamp,
    /// When it is killed.
    pub until: Timestamp,
    seed: u64,
    digest: Digest,
    /// How many of its writes were applied.
    pub applied: u8,
    /// An answer that is on its way: the call was served, its reply is slow.
    pub held: Option<Held>,
    log: Derived<Arc<Vec<Arc<Entry>>>>,
    reached: Derived<Arc<Reached<Ended>>>,
}

/// An answer that is on its way.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Held {
    /// The number of the request.
    pub number: u32,
    /// When it was served.
    pub at: Timestamp,
    /// The answer.
    pub answer: Answer,
}

/// What flows have in common: the configuration's part.
#[derive(Debug)]
pub struct Scene {
    /// The jobs that users and persons start.
    pub jobs: Vec<Job>,
    /// The records.
    pub ids: Vec<HistoryId>,
    /// Whether the driver can find.
    pub can_find: bool,
    /// Whether a process knew the CRM's clock before.
    pub warm: bool,
    known: Known,
}

/// What flows have come to, by their log: replayed once, and looked up from then on.
#[derive(Debug, Default)]
struct Known(Mutex<HashMap<Digest, Arc<Reached<Ended>>>>);

/// Names a log.
type Digest = (u64, u64);

/// Above this, what is known is dropped, so that it does not fill the memory.
const MOST_KNOWN: usize = 200_000;

impl Scene {
    /// A scene where nothing was replayed yet.
    pub fn new(jobs: Vec<Job>, ids: Vec<HistoryId>, can_find: bool, warm: bool) -> Self {
        Self {
            jobs,
            ids,
            can_find,
            warm,
            known: Known::default(),
        }
    }

    /// The job of an actor.
    pub fn job(&self, actor: &Actor) -> &Job {
        actor.job.map_or(&Job::Poll, |job| &self.jobs[job])
    }

    /// Starts a flow.
    pub fn start(
        &self,
        job: Option<usize>,
        slot: u8,
        seed: u64,
        now: Timestamp,
        until: Timestamp,
    ) -> Actor {
        let digest = digest(&(job, seed, now, until));
        let mut actor = Actor {
            job,
            slot,
            started: now,
            until,
            seed,
            digest,
            applied: 0,
            held: None,
            log: Derived(Arc::default()),
            reached: Derived(Arc::new(Reached {
                pending: std::collections::BTreeMap::new(),
                ended: None,
                looked_up: None,
            })),
        };
        actor.reached.0 = self.reach(&actor);
        actor
    }

    /// Gives a flow an answer.
    pub fn tell(&self, actor: &mut Actor, number: u32, at: Timestamp, answer: Answer) {
        let entry = Entry { number, at, answer };
        actor.digest = digest(&(actor.digest, &entry));
        let mut log = Vec::with_capacity(actor.log.0.len() + 1);
        log.extend(actor.log.0.iter().cloned());
        log.push(Arc::new(entry));
        actor.log.0 = Arc::new(log);
        actor.reached.0 = self.reach(actor);
    }

    fn reach(&self, actor: &Actor) -> Arc<Reached<Ended>> {
        let known = || self.known.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reached) = known().get(&actor.digest) {
            return Arc::clone(reached);
        }
        let start = Start {
            at: actor.started,
            seed: actor.seed,
            crm_clock: self.warm.then(|| whole_seconds(actor.started)),
        };
        let reached = Arc::new(replay(start, &actor.log.0, |ports| {
            let job = self.job(actor);
            job.flow(&self.ids, self.can_find, ports, actor.until)
        }));
        let mut known = known();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(actor.digest, Arc::clone(&reached));
        reached
    }
}

impl Actor {
    /// What it waits for.
    pub fn pending(&self) -> impl Iterator<Item = (u32, &Request)> {
        let pending = self.reached.0.pending.iter();
        pending.map(|(number, request)| (*number, request))
    }

    /// What it waits for that was not served yet.
    pub fn unserved(&self) -> impl Iterator<Item = (u32, &Request)> {
        let held = self.held.as_ref().map(|held| held.number);
        self.pending()
            .filter(move |(number, _)| Some(*number) != held)
    }

    /// The request of this number.
    pub fn request(&self, number: u32) -> Option<&Request> {
        self.reached.0.pending.get(&number)
    }

    /// What it gave, at its end.
    pub fn ended(&self) -> Option<&Ended> {
        self.reached.0.ended.as_ref()
    }

    /// When it last asked for the result of a send.
    pub fn looked_up(&self) -> Option<Timestamp> {
        self.reached.0.looked_up
    }

    /// The answers it has got.
    pub fn log(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.log.0.iter().map(AsRef::as_ref)
    }

    /// When the first of its sleeps ends.
    pub fn wakes_at(&self) -> Option<Timestamp> {
        let sleeps = self.pending().filter_map(|(_, request)| request.until());
        sleeps.min()
    }

    /// Whether it waits for time alone.
    pub fn only_sleeps(&self) -> bool {
        self.pending().all(|(_, request)| request.until().is_some())
    }
}

/// Sixteen bytes: no two logs of a model have the same.
fn digest(value: &impl Hash) -> Digest {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        value.hash(&mut hasher);
        hasher.finish()
    };
    (half(1), half(2))
}
