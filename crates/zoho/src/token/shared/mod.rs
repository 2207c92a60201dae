//! One access token for every instance of a function, in a parameter of AWS, got by one instance at a time.
//!
//! Parameter Store cannot compare and set. What it can do in one step is make a parameter that is not there. So
//! the right to ask for a token is a parameter that only one can make: the lock of this slot of time. Its name is
//! never used again, so that a holder that died holds up nobody for longer than the slot. Of those who wait too
//! long for a holder one may ask as well, by a second lock of the slot; who sees no holder asks alone. Nothing here is needed for a right outcome: with everything lost, late, false or denied, each
//! instance asks for itself, as if there were no shared token.
//!
//! Locks would pile up. A refresher deletes the locks that the entry before its own names, its own from slots in
//! which it failed, and those of the slots just before, known or not; it names its own and the last few in its
//! entry, so that each is deleted more than once, should a deletion fail. A lock that turns out not to be needed is
//! deleted at once by who made it. What may stay is the lock of an instance that died holding it, when nobody asks
//! within the next slots: rare, and a name of a few bytes.

mod entry;
mod lock;
mod store;
mod turn;
mod warnings;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use sendtrail_aws::{AwsError, Created, Parameters};
use tokio::time::{Instant, sleep, timeout};

use super::{AccessToken, CacheFuture, TokenCache, Turn};
use entry::{Useless, decode, decode_mark};
use lock::{Lock, marks, purpose, slot};
use turn::{Asker, LONGEST_WAIT, Seen, Step, holders_pause, pause, slot_s};
use warnings::Warnings;

/// The longest a first reading may take.
const LOAD: Duration = Duration::from_millis(1_500);
/// The longest it may take until it is one's turn: the wait, and the call that is under way at its end.
const TURN: Duration = LONGEST_WAIT.saturating_add(Duration::from_secs(1));
/// The longest it may take to store a token and delete old locks, repeats included.
const STORE: Duration = Duration::from_secs(2);

/// Keeps the token in a parameter. It takes at most 9 s of a request in all: 1.5 s for reading, 5.5 s for a turn, 2 s
/// for storing. With a token request and a call of the CRM of 10 s each, intake's 30 s still hold.
#[derive(Debug)]
pub struct ParameterTokenCache {
    store: Parameters,
    parameter: String,
    slot_s: i64,
    state: Mutex<State>,
    warnings: Warnings,
}

#[derive(Debug, Default)]
struct State {
    /// What the last `load` saw; `None` when it failed, and once it was used.
    seen: Option<Seen>,
    /// The lock that is held, or was when a request failed.
    held: Option<Lock>,
    /// Earlier ones, not deleted yet.
    left: Vec<Lock>,
}

impl ParameterTokenCache {
    /// A cache in the parameter of this name, where a token request may take as long as `request`.
    pub fn new(store: Parameters, parameter: String, request: Duration) -> Self {
        Self {
            store,
            parameter,
            slot_s: slot_s(request),
            state: Mutex::default(),
            warnings: Warnings::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call: the token, the marks of a refusal that may hold, and the lock of the slot.
    async fn read(&self, key: &str, purpose: &str) -> Result<Seen, AwsError> {
        let now = Timestamp::now();
        let [this, before, ..] = marks(&self.parameter, key, now);
        let lock = Lock::new(slot(now, self.slot_s), purpose);
        let lock_name = lock.parameter(&self.parameter);
        let names = [&self.parameter, &this, &before, &lock_name].map(Clone::clone);
        let mut found = self.store.get(names).await?;
        let mut seen = Seen {
            is_known: true,
            ..Seen::default()
        };
        let entry = found.remove(&self.parameter);
        if let Some(entry) = entry.map(|text| decode(&text, key, now)) {
            seen.locks = entry.locks;
            match entry.token {
                Ok(token) => seen.token = Some(token),
                // Usual: the secret was changed, or nothing was asked for an hour.
                Err(Useless::Foreign | Useless::Expired) => {}
                Err(useless @ (Useless::Corrupt | Useless::Future)) => {
                    self.warnings.useless(useless);
                }
            }
        }
        let denied = [this, before].map(|name| decode_mark(found.get(&name)?, key, now));
        seen.denied_until = denied.into_iter().flatten().max();
        let holder = found.remove(&lock_name);
        seen.holder = holder.map(|text| (lock, text.expose_secret().to_owned()));
        Ok(seen)
    }

    /// The first reading. A connection may have died while the sandbox was frozen: then the second attempt makes
    /// another. Too many at once is a sign that somebody is at work, and worth waiting for.
    async fn first(&self, key: &str) -> Result<Seen, AwsError> {
        let purpose = purpose(key, None);
        let read = match self.read(key, &purpose).await {
            Err(AwsError::Unavailable { .. }) => self.read(key, &purpose).await,
            other => other,
        };
        match read {
            Err(error @ AwsError::Throttled { .. }) => {
                self.warnings.aws(&error);
                Ok(Seen::default())
            }
            other => other,
        }
    }

    async fn wait_for_turn(
        &self,
        key: &str,
        refused: Option<&AccessToken>,
        may_wait: bool,
        mut seen: Seen,
    ) -> Result<(Turn, Seen), AwsError> {
        let purpose = purpose(key, refused.map(|refused| refused.token.expose_secret()));
        let held = self.state().held.clone();
        let mut asker = Asker {
            refused,
            may_wait,
            slot_s: self.slot_s,
            lost: None,
            // Who failed in this slot may go on in it.
            own: held
                .filter(|held| held.is_for(&purpose))
                .map(|held| held.slot()),
        };
        // Tells our own lock from another's when the answer to its making was lost.
        let nonce = format!("{:016x}", random());
        let began = Instant::now();
        for attempt in 0_u32.. {
            self.note_holder(&mut asker, &seen, &purpose, &nonce);
            let waited = began.elapsed();
            match asker.next(&seen, Timestamp::now(), waited) {
                Step::Take => return Ok((Turn::taken(seen.token.take()), seen)),
                Step::HeldBack => return Ok((Turn::Throttled, seen)),
                Step::Ask | Step::Alone => return Ok((Turn::Ask, seen)),
                Step::Later => return Ok((Turn::Later, seen)),
                Step::Second(slot) => {
                    let lock = Lock::second(slot, &purpose);
                    return Ok(match self.make(&lock, &nonce).await? {
                        Made::Ours => {
                            self.leave(lock);
                            (Turn::Ask, seen)
                        }
                        Made::Anothers | Made::NotKnown => (Turn::Later, seen),
                    });
                }
                Step::Lock(slot) => {
                    let lock = Lock::new(slot, &purpose);
                    match self.make(&lock, &nonce).await? {
                        Made::Ours => {
                            self.hold(&mut asker, &lock);
                            if attempt == 0 {
                                // What was read a moment ago still stands.
                                continue;
                            }
                        }
                        // Not known: too many at once. One of them has it, until a reading shows that none has.
                        Made::Anothers | Made::NotKnown => asker.lost = Some(slot),
                    }
                    seen.is_known = false;
                }
                Step::Wait => {
                    let pause = match asker.own {
                        Some(_) => holders_pause(random()),
                        None => pause(attempt, random()),
                    };
                    sleep(pause.min(LONGEST_WAIT.saturating_sub(waited))).await;
                    match self.read(key, &purpose).await {
                        Ok(read) => seen = read,
                        Err(error @ AwsError::Throttled { .. }) => self.warnings.aws(&error),
                        Err(other) => return Err(other),
                    }
                }
            }
        }
        Ok((Turn::Ask, seen))
    }

    /// Whose lock it is, where a reading tells.
    fn note_holder(&self, asker: &mut Asker<'_>, seen: &Seen, purpose: &str, nonce: &str) {
        let Some((lock, holder)) = &seen.holder else {
            // A late reading may miss the lock that was lost; to try for it again does no harm.
            if seen.is_known {
                asker.lost = None;
            }
            return;
        };
        if !lock.is_for(purpose) {
            return;
        }
        if holder == nonce {
            self.hold(asker, lock);
        } else if asker.own != Some(lock.slot()) {
            asker.lost = Some(lock.slot());
        }
    }

    fn hold(&self, asker: &mut Asker<'_>, lock: &Lock) {
        asker.own = Some(lock.slot());
        let mut state = self.state();
        if state.held.as_ref() == Some(lock) {
            return;
        }
        state.left.retain(|left| left != lock);
        let before = state.held.replace(lock.clone());
        drop(state);
        if let Some(before) = before {
            self.leave(before);
        }
    }

    /// Remembers a lock for deletion.
    fn leave(&self, lock: Lock) {
        let left = &mut self.state().left;
        left.push(lock);
        let surplus = left.len().saturating_sub(3);
        left.drain(..surplus);
    }

    async fn make(&self, lock: &Lock, nonce: &str) -> Result<Made, AwsError> {
        let name = lock.parameter(&self.parameter);
        match self.store.create(&name, nonce).await {
            Ok(Created::Now) => Ok(Made::Ours),
            Ok(Created::Before) => Ok(Made::Anothers),
            Err(error @ AwsError::Throttled { .. }) => {
                self.warnings.aws(&error);
                Ok(Made::NotKnown)
            }
            Err(error @ AwsError::Unavailable { .. }) => {
                self.warnings.aws(&error);
                // It may have been made: the next reading tells, and should none, it is to be deleted.
                self.leave(lock.clone());
                Ok(Made::NotKnown)
            }
            Err(error @ AwsError::Denied { .. }) => Err(error),
        }
    }

    /// Gives up a lock that turned out not to be needed.
    async fn give_back(&self) {
        let held = self.state().held.take();
        if let Some(lock) = held {
            let names = vec![lock.parameter(&self.parameter)];
            self.warn_of(self.store.delete(names).await);
        }
    }

    fn warn_of(&self, result: Result<(), AwsError>) {
        if let Err(error) = result {
            self.warnings.aws(&error);
        }
    }
}

/// What became of a lock that was tried.
enum Made {
    Ours,
    Anothers,
    NotKnown,
}

impl TokenCache for ParameterTokenCache {
    fn load<'a>(&'a self, key: &'a str) -> CacheFuture<'a, Option<AccessToken>> {
        Box::pin(async move {
            let seen = match timeout(LOAD, self.first(key)).await {
                Ok(Ok(seen)) => Some(seen),
                Ok(Err(error)) => {
                    self.warnings.aws(&error);
                    None
                }
                Err(_) => {
                    self.warnings.slow();
                    None
                }
            };
            let token = seen.as_ref().and_then(|seen| seen.token.clone());
            self.state().seen = seen;
            token
        })
    }

    fn store<'a>(&'a self, key: &'a str, token: &'a AccessToken) -> CacheFuture<'a, ()> {
        Box::pin(async move {
            if timeout(STORE, self.write(key, token)).await.is_err() {
                self.warnings.slow();
            }
        })
    }

    fn turn<'a>(
        &'a self,
        key: &'a str,
        refused: Option<&'a AccessToken>,
        may_wait: bool,
    ) -> CacheFuture<'a, Turn> {
        Box::pin(async move {
            let seen = self.state().seen.take();
            let Some(seen) = seen else {
                return Turn::Ask;
            };
            let waiting = self.wait_for_turn(key, refused, may_wait, seen);
            let turn = match timeout(TURN, waiting).await {
                Ok(Ok((turn, seen))) => {
                    self.state().seen = Some(seen);
                    turn
                }
                Ok(Err(error)) => {
                    self.warnings.aws(&error);
                    Turn::Ask
                }
                Err(_) => {
                    self.warnings.slow();
                    Turn::Ask
                }
            };
            if matches!(turn, Turn::Take(_)) {
                self.give_back().await;
            }
            turn
        })
    }

    fn throttled<'a>(&'a self, key: &'a str) -> CacheFuture<'a, ()> {
        Box::pin(async move {
            if timeout(STORE, self.mark(key)).await.is_err() {
                self.warnings.slow();
            }
        })
    }
}

/// A number to spread those who began together; it protects nothing.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
