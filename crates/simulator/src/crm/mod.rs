//! The CRM: Zoho's API as far as Sendtrail uses it, a control API under `/_sim`, and the history page.

mod attachments;
mod auth;
mod clock;
mod config;
mod control;
mod coql;
mod doubts;
mod faults;
mod fields;
mod files;
mod gate;
mod limits;
mod records;
mod reply;
mod seed;
mod store;
mod switches;
mod update;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use clock::Clock;
pub use config::{
    ClientSpec, CrmConfig, FieldKind, FieldSpec, HistoryNames, Limits, ModuleSpec, RefreshToken,
    STATES,
};
pub use control::{CreditState, RawRecord};
pub use doubts::{Doubt, DoubtKind};
pub use faults::{Fault, FaultKind, FaultMatch};
pub use seed::{Seed, SeedFile, SeedRecord, Seeded, SeededFile, SeededRecord};
pub use store::LogLine;
pub use switches::{
    ConflictBody, CoqlCount, CoqlIdRange, CoqlNulls, CoqlQuote, CoqlText, DateHeader,
    DuplicateDetails, EmptyValue, ExpiryUnit, FileField, Guard, GuardEqual, IdForm, InvalidToken,
    LengthUnit, LimitBody, MalformedGuard, MissingRecord, Picklist, Switches, TextStorage,
    TimeForm, Unique, UnknownField,
};

pub(crate) use clock::{Zone, parse_seconds, render_seconds};
pub(crate) use control::local_only;

use crate::net::{Connection, CuttingListener};
use faults::Faults;
use fields::Look;
use limits::{Ledger, Load};
use store::Store;

/// Name under which API writes are recorded.
pub(crate) const API_USER: &str = "Integration User";

const DAY_MS: i64 = 86_400_000;

/// Why the CRM did not start, or refused a control call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrmError {
    /// The port is taken or cannot be bound.
    #[error("cannot listen on 127.0.0.1:{port}")]
    Listen {
        /// The port asked for.
        port: u16,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The database cannot be opened, read or written.
    #[error("the database failed")]
    Database(#[from] rusqlite::Error),
    /// The organisation has no such module.
    #[error("no module {0}")]
    NoModule(String),
    /// The module has no such record.
    #[error("no record {id} in {module}")]
    NoRecord {
        /// Module.
        module: String,
        /// Record id.
        id: String,
    },
    /// A seed cannot be used: what is wrong with it.
    #[error("bad seed: {0}")]
    BadSeed(String),
    /// The operating system gave no random bytes.
    #[error("no random bytes")]
    NoRandom,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `N` random bytes in lower hex.
pub(crate) fn random_hex<const N: usize>() -> Result<String, CrmError> {
    use std::fmt::Write as _;
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).map_err(|_| CrmError::NoRandom)?;
    let mut text = String::with_capacity(2 * N);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// What every handler shares.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: CrmConfig,
    pub(crate) url: String,
    pub(crate) clock: Clock,
    switches: Mutex<Switches>,
    faults: Faults,
    store: Mutex<Store>,
    ledger: Ledger,
    load: Load,
    answers: AtomicU32,
}

impl App {
    fn switches(&self) -> Switches {
        lock(&self.switches).clone()
    }

    /// How the next answer writes times and ids.
    fn look(&self) -> Look {
        let switches = self.switches();
        let minutes = self.config.zone_minutes;
        let zone = match switches.time_form {
            TimeForm::UserZone => minutes.into(),
            TimeForm::Utc => Zone::Zulu,
            TimeForm::Flipping => {
                let odd = self.answers.fetch_add(1, Ordering::Relaxed) % 2 == 1;
                Zone::Minutes(minutes + if odd { 60 } else { 0 })
            }
        };
        Look {
            zone,
            id_form: switches.id_form,
        }
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    /// The bytes of an uploaded file.
    pub(crate) fn file_bytes(&self, id: &str) -> Option<Vec<u8>> {
        self.store().file_bytes(id).ok().flatten()
    }

    pub(crate) fn module(&self, name: &str) -> Option<&ModuleSpec> {
        self.config
            .modules
            .iter()
            .find(|module| module.name == name)
    }
}

/// The simulated CRM.
#[derive(Debug)]
pub struct Crm;

impl Crm {
    /// Starts an organisation on 127.0.0.1. With a file, everything answered before a kill is there again.
    ///
    /// # Errors
    /// [`CrmError::Listen`] and [`CrmError::Database`].
    pub async fn start(config: CrmConfig) -> Result<CrmHandle, CrmError> {
        let port = config.port;
        let listen = |source| CrmError::Listen { port, source };
        let store = Store::open(config.file.as_deref())?;
        let listener = CuttingListener::bind(port).await.map_err(listen)?;
        let address = listener.address().map_err(listen)?;
        let clock = Clock::default();
        let ledger = Ledger::load(store.credits_since(clock.now_ms() - DAY_MS)?);
        let app = Arc::new(App {
            url: format!("http://{address}"),
            clock,
            switches: Mutex::new(config.switches.clone()),
            faults: Faults::default(),
            store: Mutex::new(store),
            ledger,
            load: Load::default(),
            answers: AtomicU32::new(0),
            config,
        });
        let service = router(&app).into_make_service_with_connect_info::<Connection>();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = axum::serve(listener, service).with_graceful_shutdown(async move {
            // A dropped sender is the same wish.
            let _ = stopped.await;
        });
        let task = tokio::spawn(async move {
            if let Err(error) = served.await {
                tracing::error!(%error, "the simulated CRM ended");
            }
        });
        Ok(CrmHandle {
            app,
            address,
            stop: Some(stop),
            task,
        })
    }
}

fn router(app: &Arc<App>) -> Router {
    let api = Router::new()
        .merge(auth::routes())
        .merge(files::routes())
        .merge(attachments::routes())
        .merge(coql::routes())
        .merge(records::routes())
        .layer(axum::middleware::from_fn_with_state(
            Arc::clone(app),
            gate::gate,
        ));
    Router::new()
        .merge(api)
        .merge(control::routes())
        .merge(crate::page::routes())
        .fallback(gate::no_such_url)
        .method_not_allowed_fallback(gate::no_such_method)
        .layer(axum::middleware::from_fn_with_state(
            Arc::clone(app),
            gate::date,
        ))
        .layer(DefaultBodyLimit::max(110 * 1024 * 1024))
        .with_state(Arc::clone(app))
}

/// A running CRM. Dropping it ends it.
#[derive(Debug)]
pub struct CrmHandle {
    app: Arc<App>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl CrmHandle {
    /// `http://127.0.0.1:port`: token endpoint, API, control API and page alike.
    pub fn url(&self) -> &str {
        &self.app.url
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The configuration it was started with.
    pub fn config(&self) -> &CrmConfig {
        &self.app.config
    }

    /// The CRM's clock.
    pub fn clock(&self) -> &Clock {
        &self.app.clock
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Answers what is under way (for at most two seconds), then ends.
    pub async fn shutdown(mut self) {
        drop(self.stop.take());
        let _ = tokio::time::timeout(Duration::from_secs(2), &mut self.task).await;
    }
}

impl Drop for CrmHandle {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.task.abort();
    }
}
