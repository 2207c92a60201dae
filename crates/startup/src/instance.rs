//! One instance of a function: what it is made of, and how it is made anew when a secret changes.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ports::Clock;

use crate::error::StartError;
use crate::lambda::{Handled, Invocation};
use crate::rotation::{Reason, Rotation, Schedule};
use crate::secrets::Secrets;
use crate::system::SystemClock;

/// The most that reading secrets again may take of an invocation, and of what is left of it.
const READ_TIME: SignedDuration = SignedDuration::from_secs(5);
const READ_SHARE: i32 = 4;

/// How a function is made from its secrets. Everything else it is made of stays the same while the process
/// lives.
pub trait Recipe {
    /// The function.
    type App;

    /// Reads the secrets of this function, and no others.
    fn secrets(&self) -> impl Future<Output = Result<Secrets, StartError>>;

    /// Makes the function from them.
    ///
    /// # Errors
    /// [`StartError`] when they cannot be used.
    fn app(&self, secrets: &Secrets) -> Result<Self::App, StartError>;

    /// How long secrets are used before they are read again.
    fn lifetime(&self) -> SignedDuration;
}

/// A function that serves, with the secrets it was made of.
pub struct Instance<R: Recipe, C = SystemClock> {
    recipe: R,
    clock: C,
    app: R::App,
    secrets: Secrets,
    schedule: Schedule,
}

/// What came of reading the secrets again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reread {
    Changed,
    Same,
    Failed,
}

impl Reread {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Same => "same",
            Self::Failed => "failed",
        }
    }
}

impl<R: Recipe, C> fmt::Debug for Instance<R, C>
where
    R::App: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("app", &self.app)
            .field("secrets", &self.secrets)
            .finish_non_exhaustive()
    }
}

impl<R: Recipe> Instance<R> {
    /// A function made from secrets that were just read.
    ///
    /// # Errors
    /// As [`Recipe::app`].
    pub fn new(recipe: R, secrets: Secrets) -> Result<Self, StartError> {
        Self::with_clock(recipe, secrets, SystemClock)
    }
}

impl<R: Recipe, C: Clock> Instance<R, C> {
    /// The same, on this clock.
    ///
    /// # Errors
    /// As [`Recipe::app`].
    pub fn with_clock(recipe: R, secrets: Secrets, clock: C) -> Result<Self, StartError> {
        let app = recipe.app(&secrets)?;
        let schedule = Schedule::new(recipe.lifetime(), clock.now());
        Ok(Self {
            recipe,
            clock,
            app,
            secrets,
            schedule,
        })
    }

    /// The function as it is now.
    pub fn app(&self) -> &R::App {
        &self.app
    }

    /// Serves one invocation. Secrets that are due are read first. A request that was refused because no key
    /// matched is served once more when a secret has changed: nothing was done for it, and the second answer is
    /// the one that counts, with its metrics.
    pub async fn serve<T>(
        &mut self,
        invocation: Invocation<'_>,
        handler: &impl AsyncFn(&R::App, Invocation<'_>) -> Handled<T>,
    ) -> Handled<T> {
        let mut reread = None;
        if let Some(reason) = self.schedule.due(self.clock.now()) {
            reread = Some(self.read_again(reason, invocation.deadline).await);
        }
        let mut served = handler(&self.app, invocation).await;
        if served.rotation == Rotation::NoKeyMatched && self.schedule.may_suspect(self.clock.now())
        {
            let read = self
                .read_again(Reason::Suspicion, invocation.deadline)
                .await;
            reread = Some(read);
            if read == Reread::Changed {
                served = handler(&self.app, invocation).await;
            }
        }
        if served.rotation == Rotation::CredentialsRefused {
            self.schedule.mark_stale();
        }
        if let Some(reread) = reread {
            served.metrics = served.metrics.property("secrets_read", reread.as_str());
        }
        served
    }

    /// Reads the secrets and, when one has changed, makes the function anew. Whatever fails is logged once, and
    /// the function stays as it is.
    async fn read_again(&mut self, reason: Reason, deadline: Timestamp) -> Reread {
        self.schedule.begin(reason, self.clock.now());
        let reread = match self.read_in_time(deadline).await {
            Ok(secrets) if secrets.is_same(&self.secrets) => Reread::Same,
            Ok(secrets) => self.replace(secrets, reason),
            Err(error) => {
                log(&error);
                Reread::Failed
            }
        };
        let is_read = reread != Reread::Failed;
        self.schedule.end(is_read, self.clock.now());
        reread
    }

    async fn read_in_time(&self, deadline: Timestamp) -> Result<Secrets, StartError> {
        let left = deadline.duration_since(self.clock.now());
        let time = (left / READ_SHARE).min(READ_TIME);
        let time = Duration::try_from(time).unwrap_or_default();
        match tokio::time::timeout(time, self.recipe.secrets()).await {
            Ok(read) => read,
            Err(_) => Err(StartError::SecretsLate { time }),
        }
    }

    fn replace(&mut self, secrets: Secrets, reason: Reason) -> Reread {
        match self.recipe.app(&secrets) {
            Ok(app) => {
                let reason = reason.as_str();
                tracing::info!(
                    reason,
                    "a secret has changed; the function uses it from now on"
                );
                self.app = app;
                self.secrets = secrets;
                Reread::Changed
            }
            Err(error) => {
                log(&error);
                Reread::Failed
            }
        }
    }
}

/// What could not be read may be read later; what was read and cannot be used needs a person.
fn log(error: &StartError) {
    let error_type = error.error_type();
    if error.is_unreadable() {
        tracing::warn!(
            error_type,
            %error,
            "secrets cannot be read again; the function uses those it has"
        );
    } else {
        tracing::error!(
            error_type,
            %error,
            "a secret has changed and cannot be used; the function uses those it has"
        );
    }
}

#[cfg(test)]
mod tests;
