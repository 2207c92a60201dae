//! Starts and stops a local stack.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sendtrail_host::{CorsConfig, FunctionSpec, Host, HostError, LogSink, Schedule, UrlConfig};
use sendtrail_signature::{Secret, SecretError};
use sendtrail_simulator::crm::{
    Crm, CrmConfig, CrmError, CrmHandle, Seed, SeedFile, SeedRecord, Switches,
};
use sendtrail_simulator::send_api::{SendApi, SendApiConfig, SendApiError};
use thiserror::Error;

use super::config::{self, STAGE, Timing};
use super::endpoints::{Endpoints, Signing, SigningKey, Source};
use super::{drivers, pdf, secrets};

/// A local stack that could not be started.
#[derive(Debug, Error)]
pub(crate) enum LocalError {
    /// A file or folder cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another stack runs on the same data.
    #[error("{0} is in use by another local stack: end it, or name another folder with --data")]
    InUse(PathBuf),
    /// The functions are not built.
    #[error("{0} is not there: build the functions first, or name their folder with --functions")]
    NotBuilt(PathBuf),
    /// The driver that ships cannot be patched.
    #[error("the shipped driver file has another shape than expected")]
    ShippedDriver,
    /// The simulated CRM.
    #[error("the simulated CRM: {0}")]
    Crm(#[from] CrmError),
    /// The simulated send API.
    #[error("the simulated send API: {0}")]
    SendApi(#[from] SendApiError),
    /// The host.
    #[error("the host: {0}")]
    Host(#[from] HostError),
    /// A duration of the stack's own timing.
    #[error("the timing: {0}")]
    Timing(&'static str),
    /// A secret in the data folder cannot be used.
    #[error("a secret in the data folder: {0}")]
    Secret(#[from] SecretError),
}

impl LocalError {
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}

/// What a stack is started with.
#[derive(Debug, Clone)]
pub(crate) struct StackOptions {
    /// The folder with the binaries of the three functions; none where they run elsewhere.
    pub(crate) functions: Option<PathBuf>,
    /// The folder for everything the stack keeps; must exist.
    pub(crate) data: PathBuf,
    /// How long things take.
    pub(crate) timing: Timing,
    /// Whether the poller is called by a schedule.
    pub(crate) scheduled: bool,
    /// How the CRM answers where nobody knows how it does.
    pub(crate) switches: Switches,
}

/// A running local stack. Dropping it ends every process it started.
pub(crate) struct LocalStack {
    /// The simulated CRM.
    pub(crate) crm: CrmHandle,
    /// The simulated send API.
    pub(crate) send_api: SendApi,
    /// The three functions.
    pub(crate) host: Host,
    /// Where it is reached.
    pub(crate) endpoints: Endpoints,
    /// Held as long as the stack runs.
    _lock: File,
}

impl LocalStack {
    /// Starts everything, on the ports of the last start where they are free.
    pub(crate) async fn start(options: &StackOptions) -> Result<Self, LocalError> {
        let data = std::path::absolute(&options.data)
            .map_err(|source| LocalError::file(&options.data, source))?;
        let lock = lock(&data)?;
        let secrets_folder = data.join("secrets");
        let secrets = secrets::ensure(&secrets_folder)
            .map_err(|source| LocalError::file(&secrets_folder, source))?;
        let ports = Ports::of_last_start(&data);
        let crm = start_crm(&data, &secrets, ports.crm, &options.switches).await?;
        let send_api = start_send_api(&data, &secrets, ports.send_api).await?;
        let configuration = write_configuration(&data, &crm, &send_api, &options.timing)?;
        let source = source_record(&data, &crm)?;
        let host = start_host(options, &data, &configuration, crm.url(), ports).await?;
        let tick = duration(options.timing.tick)?;
        if options.scheduled {
            host.add_schedule(Schedule {
                name: "tick".to_owned(),
                function: "poller".to_owned(),
                every: tick,
                input: tick_input(),
            })?;
        }
        let url = |function: &str| host.url(function).unwrap_or_default();
        let key = |name: &str| -> Result<SigningKey, LocalError> {
            Ok(SigningKey {
                name: "k1".to_owned(),
                secret: Secret::parse(&secrets[name])?.to_whsec(),
            })
        };
        let endpoints = Endpoints {
            intake_url: url("intake"),
            side_effect_url: url("side-effect"),
            crm_url: crm.url().to_owned(),
            send_api_url: send_api.url.clone(),
            history_page: format!("{}/", crm.url()),
            stage: STAGE.to_owned(),
            signing: Signing {
                intake: key("intake-k1")?,
                side_effect: key("side-effect-k1")?,
            },
            source,
            config: configuration.display().to_string(),
        };
        Ports::keep(&data, &endpoints)?;
        Ok(Self {
            crm,
            send_api,
            host,
            endpoints,
            _lock: lock,
        })
    }

    /// Ends everything: no process is left, and the data are on disk.
    pub(crate) async fn shutdown(self) {
        self.host.shutdown().await;
        self.send_api.shutdown().await;
        self.crm.shutdown().await;
    }
}

/// One stack for each data folder; the lock goes with the process, however it ends.
fn lock(data: &Path) -> Result<File, LocalError> {
    let path = data.join("lock");
    let failed = |source| LocalError::file(&path, source);
    let file = File::create(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LocalError::InUse(data.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// The ports of the last start with the same data, so that an open page goes on working.
#[derive(Debug, Clone, Copy, Default)]
struct Ports {
    crm: u16,
    send_api: u16,
    intake: u16,
    side_effect: u16,
}

impl Ports {
    const FILE: &str = "ports.json";

    fn of_last_start(data: &Path) -> Self {
        let text = std::fs::read_to_string(data.join(Self::FILE)).unwrap_or_default();
        let kept: BTreeMap<String, u16> = serde_json::from_str(&text).unwrap_or_default();
        let port = |name: &str| {
            let port = kept.get(name).copied().unwrap_or(0);
            // Somebody else may have it by now.
            let free = std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
            if free { port } else { 0 }
        };
        Self {
            crm: port("crm"),
            send_api: port("send_api"),
            intake: port("intake"),
            side_effect: port("side_effect"),
        }
    }

    fn keep(data: &Path, endpoints: &Endpoints) -> Result<(), LocalError> {
        let port = |url: &str| {
            url.trim_end_matches('/')
                .rsplit(':')
                .next()
                .and_then(|port| port.parse().ok())
        };
        let kept: BTreeMap<&str, Option<u16>> = BTreeMap::from([
            ("crm", port(&endpoints.crm_url)),
            ("send_api", port(&endpoints.send_api_url)),
            ("intake", port(&endpoints.intake_url)),
            ("side_effect", port(&endpoints.side_effect_url)),
        ]);
        let path = data.join(Self::FILE);
        let text = serde_json::json!(kept).to_string();
        std::fs::write(&path, text).map_err(|source| LocalError::file(&path, source))
    }
}

async fn start_crm(
    data: &Path,
    secrets: &BTreeMap<&str, String>,
    port: u16,
    switches: &Switches,
) -> Result<CrmHandle, LocalError> {
    let config = CrmConfig {
        port,
        switches: switches.clone(),
        file: Some(data.join("crm.sqlite")),
        clients: vec![config::client(|name| secrets[name].clone())],
        ..CrmConfig::default()
    };
    Ok(Crm::start(config).await?)
}

async fn start_send_api(
    data: &Path,
    secrets: &BTreeMap<&str, String>,
    port: u16,
) -> Result<SendApi, LocalError> {
    let config = SendApiConfig {
        database: Some(data.join("send-api.sqlite")),
        port,
        api_key: secrets["lob-key"].clone(),
        ..SendApiConfig::default()
    };
    Ok(SendApi::start(config).await?)
}

fn write_configuration(
    data: &Path,
    crm: &CrmHandle,
    send_api: &SendApi,
    timing: &Timing,
) -> Result<PathBuf, LocalError> {
    drivers::write(&data.join("drivers"), send_api, timing)?;
    let path = data.join("sendtrail.toml");
    // An installation sets this above what `sendtrail zoho check` measured.
    let list_lag = match crm.switches().list_lag_seconds {
        0 => timing.list_lag.to_owned(),
        seconds => format!("{}s", seconds.saturating_add(1)),
    };
    let text = config::text(crm.url(), data, timing, &list_lag, &secrets::NAMES);
    std::fs::write(&path, text).map_err(|source| LocalError::file(&path, source))?;
    Ok(path)
}

/// The source record with a PDF, made at the first start.
fn source_record(data: &Path, crm: &CrmHandle) -> Result<Source, LocalError> {
    let path = data.join("source.json");
    if let Ok(text) = std::fs::read_to_string(&path)
        && let Ok(source) = serde_json::from_str(&text)
    {
        return Ok(source);
    }
    let pdf = pdf::sample_pdf("Contract 2026-1 between Example Ltd and Ada");
    let mut fields = serde_json::Map::new();
    fields.insert("Deal_Name".to_owned(), "Example contract".into());
    let seeded = crm.seed(&Seed {
        records: vec![SeedRecord {
            module: "Deals".to_owned(),
            fields,
            attachments: vec![SeedFile::new("contract.pdf", &pdf)],
            files: BTreeMap::from([(
                "Contract_PDF".to_owned(),
                vec![SeedFile::new("contract.pdf", &pdf)],
            )]),
        }],
    })?;
    let record = seeded.records.into_iter().next();
    let source = record.map(|record| Source {
        module: record.module,
        record_id: record.id,
        attachment_id: record.attachments.into_iter().next().unwrap_or_default(),
    });
    let source = source.ok_or_else(|| CrmError::BadSeed("nothing was made".to_owned()))?;
    let text = serde_json::json!(source).to_string();
    std::fs::write(&path, text).map_err(|source| LocalError::file(&path, source))?;
    Ok(source)
}

async fn start_host(
    options: &StackOptions,
    data: &Path,
    configuration: &Path,
    page: &str,
    ports: Ports,
) -> Result<Host, LocalError> {
    let logs = data.join("logs");
    std::fs::create_dir_all(&logs).map_err(|source| LocalError::file(&logs, source))?;
    let sink = LogSink::new().in_dir(logs);
    let Some(folder) = &options.functions else {
        return Ok(Host::start(Vec::new(), sink).await?);
    };
    let spec = |name: &str, timeout: Duration| -> Result<FunctionSpec, LocalError> {
        let binary = folder.join(name);
        if !binary.is_file() {
            return Err(LocalError::NotBuilt(binary));
        }
        let mut spec = FunctionSpec::new(name, binary);
        spec.timeout = timeout;
        let path = configuration.display().to_string();
        spec.env.insert("SENDTRAIL_CONFIG".to_owned(), path);
        Ok(spec)
    };
    let cors = cors(page);
    let mut intake = spec("intake", Duration::from_secs(30))?;
    intake.url = Some(UrlConfig {
        port: ports.intake,
        cors: Some(cors.clone()),
    });
    let mut side_effect = spec("side-effect", duration(options.timing.side_effect)?)?;
    side_effect.url = Some(UrlConfig {
        port: ports.side_effect,
        cors: Some(cors),
    });
    let mut poller = spec("poller", Duration::from_secs(30))?;
    poller.max_concurrency = Some(1);
    let mut unreserved = spec("poller", Duration::from_secs(30))?;
    POLLER_UNRESERVED.clone_into(&mut unreserved.name);
    let functions = vec![intake, side_effect, poller, unreserved];
    Ok(Host::start(functions, sink).await?)
}

fn cors(page: &str) -> CorsConfig {
    let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect();
    CorsConfig {
        allow_origins: vec![page.to_owned()],
        allow_methods: texts(&["GET", "POST", "PUT"]),
        allow_headers: texts(&[
            "authorization",
            "content-type",
            "sendtrail-receipt",
            "webhook-id",
            "webhook-timestamp",
            "webhook-signature",
        ]),
        expose_headers: texts(&["sendtrail-document-sha256", "sendtrail-receipt"]),
        ..CorsConfig::default()
    }
}

/// The poller without reserved concurrency: the schedule does not call it, scenarios run it beside itself.
pub(crate) const POLLER_UNRESERVED: &str = "poller-unreserved";

/// What the schedule hands to the poller.
pub(crate) fn tick_input() -> serde_json::Value {
    serde_json::json!({"v": 1, "kind": "tick"})
}

fn duration(text: &str) -> Result<Duration, LocalError> {
    let duration = sendtrail_core::settings::parse_duration(text).map_err(LocalError::Timing)?;
    Ok(duration.unsigned_abs())
}
