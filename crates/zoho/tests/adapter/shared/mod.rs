//! One token for many instances, over the simulated Parameter Store.

mod troubles;
mod turns;

use std::io::Write;
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use sendtrail_aws::Account;
use sendtrail_core::ids::{HistoryId, Sha256Hash};
use sendtrail_core::ports::{ReadHistory as _, StoreError};
use sendtrail_simulator::parameters::{
    ParameterFault, ParameterKind, ParameterSwitches, Parameters, ParametersConfig,
    ParametersHandle,
};
use sendtrail_zoho::{Opener, TokenPlace, Zoho};
use serde_json::{Value, json};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::fake::{Fake, json as reply};
use crate::{config, zoho_with};

/// The parameter that holds the token.
const NAME: &str = "/sendtrail/dev/intake/crm-token";
const RECORD: &str = r#"{"data":[{"id":"7","Modified_Time":"2026-01-01T00:00:00+00:00"}]}"#;
const INVALID: &str =
    r#"{"code":"INVALID_TOKEN","details":{},"message":"invalid oauth token","status":"error"}"#;
const DENIED: &str = r#"{"error_description":"x","error":"Access Denied","status":"failure"}"#;

/// A CRM and a Parameter Store that instances share.
struct World {
    crm: Fake,
    store: ParametersHandle,
}

impl World {
    async fn new() -> Self {
        Self::with(
            ParameterSwitches::default(),
            Fake::answering(reply(200, RECORD)).await,
        )
        .await
    }

    async fn with(switches: ParameterSwitches, crm: Fake) -> Self {
        let config = ParametersConfig { port: 0, switches };
        let store = Parameters::start(config).await.unwrap();
        Self { crm, store }
    }

    /// A function that has just been started.
    fn instance(&self) -> Zoho {
        instance(&self.crm.url, self.store.url())
    }

    /// Starts so many at once; each reads a record.
    async fn start_at_once(&self, count: usize) -> Vec<Result<(), StoreError>> {
        let starts = (0..count).map(|_| {
            let zoho = self.instance();
            tokio::spawn(async move { read(&zoho).await })
        });
        let mut results = Vec::new();
        for start in starts.collect::<Vec<_>>() {
            results.push(start.await.unwrap());
        }
        results
    }

    fn fault(&self, fault: ParameterFault) {
        self.store.add_fault(fault);
    }

    fn put(&self, value: &str) {
        self.store.put(NAME, value, ParameterKind::SecureString);
    }

    fn entry(&self) -> Value {
        serde_json::from_str(&self.store.value(NAME).unwrap()).unwrap()
    }

    /// The names of everything but the token.
    fn beside(&self) -> Vec<String> {
        let all = self.store.all().into_iter().map(|one| one.name);
        all.filter(|name| name != NAME).collect()
    }

    /// What an instance stores after it asked for a token, with the times moved to so many seconds from now.
    async fn stored(&self, refresh_in: i64, expires_in: i64) -> Value {
        read(&self.instance()).await.unwrap();
        let mut entry = self.entry();
        let at = |seconds| json!(Timestamp::now() + SignedDuration::from_secs(seconds));
        entry["refresh_at"] = at(refresh_in);
        entry["expires_at"] = at(expires_in);
        summed(entry)
    }
}

/// The entry with its sum over what it holds now.
fn summed(mut entry: Value) -> Value {
    let parts = [
        "key",
        "access_token",
        "api_domain",
        "refresh_at",
        "expires_at",
    ];
    let texts = parts.map(|part| entry[part].as_str().unwrap_or_default());
    let sum = Sha256Hash::of(texts.join("\n").as_bytes()).to_string();
    entry["sum"] = sum.into();
    entry
}

/// A function that has just been started, between these two.
fn instance(crm: &str, store: &str) -> Zoho {
    let mut config = config(crm);
    config.token_cache =
        TokenPlace::Parameter("/sendtrail/{stage}/{function}/crm-token".to_owned());
    let variable = |name: &str| match name {
        "AWS_REGION" => Some("eu-central-1"),
        "AWS_ACCESS_KEY_ID" => Some("AKIDLOCAL"),
        "AWS_SECRET_ACCESS_KEY" => Some("hidden-aws-key"),
        "AWS_ENDPOINT_URL" => Some(store),
        _ => None,
    };
    let cache = config.open_token_cache(&Opener {
        stage: "dev",
        function: "intake",
        account: &|| Account::of_variables(variable),
    });
    zoho_with(&config, cache.unwrap())
}

async fn read(zoho: &Zoho) -> Result<(), StoreError> {
    zoho.read(&HistoryId::parse("7").unwrap()).await.map(drop)
}

/// The warnings of the token among lines of a log.
fn warnings(log: &str) -> Vec<&str> {
    let ours = |line: &&str| line.contains(" WARN ") && line.contains("sendtrail_zoho::token");
    log.lines().filter(ours).collect()
}

/// Everything that is logged while `work` runs, as the functions log at their lowest level: other people's code
/// logs bodies there and is not let below `WARN`.
async fn logged<T>(work: impl Future<Output = T>) -> (T, String) {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let writer = lines.clone();
    let targets = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("sendtrail_zoho", LevelFilter::TRACE)
        .with_target("sendtrail_aws", LevelFilter::TRACE);
    let lines_out = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(move || writer.clone());
    let subscriber = tracing_subscriber::registry().with(targets).with(lines_out);
    let guard = tracing::subscriber::set_default(subscriber);
    let result = work.await;
    drop(guard);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    (result, text)
}
