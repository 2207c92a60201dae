//! AWS Systems Manager Parameter Store and, for reading, Secrets Manager, as far as Sendtrail calls them.
//!
//! Everything is in memory and gone with the process. A call needs a Signature Version 4 header for the right
//! service, whose signature is not computed again. Rates, sizes, names and batches are limited as AWS limits them.
//!
//! | route | |
//! |---|---|
//! | `POST /` with `x-amz-target` | `AmazonSSM.GetParameters`, `GetParameter`, `PutParameter`, `DeleteParameters`, `DeleteParameter`; `secretsmanager.GetSecretValue` |
//! | `GET`, `POST /_sim/parameters` | every parameter; `{"name":…,"value":…,"kind":"String"}` writes one, `{"name":…}` deletes it |
//! | `POST /_sim/secrets` | `{"name":…,"value":…}` |
//! | `GET`, `POST /_sim/switches` | [`ParameterSwitches`]; a change names only what it changes |
//! | `GET`, `POST`, `DELETE /_sim/faults` | [`ParameterFault`] |
//! | `GET /_sim/calls` | how many calls of each action, and each call |

mod actions;
mod control;
mod faults;
mod handle;
mod rate;
mod serve;
mod store;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::routing::post;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

pub use faults::{ParameterFault, ParameterFaultKind};
pub use handle::ParametersHandle;
pub use store::{ParameterKind, StoredParameter};

use crate::net::{Connection, CuttingListener};
use faults::Faults;
use rate::Window;
use store::Store;

/// How the store behaves where AWS may behave in more than one way, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParameterSwitches {
    /// How late a read may be: of three reads one misses the writes of so many milliseconds, one misses none,
    /// one those of half the time.
    pub stale_ms: u64,
    /// How long a deleted name cannot be made again, in milliseconds. AWS asks to wait 30 s.
    pub recreate_ms: u64,
    /// `PutParameter` in a second; 0: any number.
    pub puts_per_second: u32,
    /// `GetParameter` and `GetParameters` together in a second; 0: any number.
    pub gets_per_second: u32,
    /// `DeleteParameter` and `DeleteParameters` together in a second; 0: any number.
    pub deletes_per_second: u32,
}

impl Default for ParameterSwitches {
    fn default() -> Self {
        Self {
            stale_ms: 0,
            recreate_ms: 30_000,
            puts_per_second: 3,
            gets_per_second: 40,
            deletes_per_second: 5,
        }
    }
}

/// How to start one.
#[derive(Clone, Debug, Default)]
pub struct ParametersConfig {
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// Limits and behaviour.
    pub switches: ParameterSwitches,
}

/// One call, as it was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParameterCall {
    /// Action, such as `PutParameter`.
    pub action: String,
    /// The names it was about.
    pub names: Vec<String>,
    /// `ok`, or the code of the refusal; for a fault that answers nothing its name.
    pub outcome: String,
}

/// What every handler shares.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) switches: ParameterSwitches,
    pub(crate) store: Store,
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) faults: Faults,
    pub(crate) calls: Vec<ParameterCall>,
    pub(crate) written: Vec<StoredParameter>,
    puts: Window,
    gets: Window,
    deletes: Window,
    reads: u64,
}

/// The state, shared by handlers and handle. No handler keeps it over a wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Mutex<State>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The simulated services.
#[derive(Debug)]
pub struct Parameters;

impl Parameters {
    /// Starts them on 127.0.0.1, empty.
    ///
    /// # Errors
    /// The port is taken or cannot be bound.
    pub async fn start(config: ParametersConfig) -> std::io::Result<ParametersHandle> {
        let listener = CuttingListener::bind(config.port).await?;
        let address = listener.address()?;
        let shared = Shared::default();
        shared.lock().switches = config.switches;
        let service = router(&shared).into_make_service_with_connect_info::<Connection>();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = axum::serve(listener, service).with_graceful_shutdown(async move {
            // A dropped sender is the same wish.
            let _ = stopped.await;
        });
        let task = tokio::spawn(async move {
            if let Err(error) = served.await {
                tracing::error!(%error, "the simulated Parameter Store ended");
            }
        });
        Ok(ParametersHandle::new(shared, address, stop, task))
    }
}

fn router(shared: &Shared) -> Router {
    Router::new()
        .route("/", post(serve::serve))
        .merge(control::routes())
        .with_state(shared.clone())
}
