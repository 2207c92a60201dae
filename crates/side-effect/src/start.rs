//! From the environment to a function that runs.

use std::convert::Infallible;
use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use lambda_runtime::{LambdaEvent, service_fn};
use sendtrail_core::ports::{Clock, Random, SealMac};
use sendtrail_core::settings::SecretRef;
use sendtrail_door::{KeyRing, Response, SealKey, Secret};
use sendtrail_sendapi::{DriverFile, Drivers, Timeouts};
use sendtrail_startup::{
    Config, Environment, ExposeSecret as _, Logs, OsRandom, SecretMistake, SecretString, Secrets,
    SideEffect, StartError, SystemClock, load, tls,
};
use sendtrail_zoho::Zoho;
use serde_json::value::RawValue;

use crate::app::{App, Used};

/// The function as it runs on Lambda.
type Live = App<Zoho, Drivers, System, Seal>;

/// The clock and the random bits of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct System {
    clock: SystemClock,
    random: OsRandom,
}

impl Clock for System {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn sleep(&self, duration: SignedDuration) -> impl Future<Output = ()> + Send {
        self.clock.sleep(duration)
    }
}

impl Random for System {
    fn bits(&self) -> u128 {
        self.random.bits()
    }
}

/// The seal's MAC under the configured key.
#[derive(Debug)]
pub struct Seal(SealKey);

impl SealMac for Seal {
    fn seal(&self, message: &[u8]) -> String {
        self.0.seal(message)
    }

    fn check(&self, message: &[u8], seal: &str) -> bool {
        self.0.check(message, seal)
    }
}

/// Reads configuration, driver files and secrets, and builds the clients once.
///
/// # Errors
/// [`StartError`] with every mistake of the part that has any.
pub fn start(env: &Environment, logs: &Logs) -> Result<Live, StartError> {
    let config = load(env, sendtrail_zoho::Config::read)?;
    logs.set_stage(&config.stage);
    let files = driver_files(&config)?;
    let secrets = resolve(&config, &files)?;
    let (ring, seal) = keys(&config, &secrets)?;
    let tls = tls()?;
    let crm = sendtrail_zoho::Secrets {
        client_secret: secrets.get(&config.crm.client_secret)?.clone(),
        refresh_token: secrets.get(&config.crm.refresh_token.side_effect)?.clone(),
    };
    let cache = config.crm.open_token_cache();
    let store = Zoho::new(&config.crm, crm, tls.clone(), cache)
        .map_err(|error| StartError::part("the CRM's client", &error))?;
    let secret = |name: &SecretRef| secrets.get(name).ok().cloned();
    let drivers = Drivers::build(files, secret, tls, timeouts(&config.side_effect))
        .map_err(|error| StartError::part("the drivers", &error))?;
    Ok(App {
        ring,
        store,
        drivers,
        world: System::default(),
        mac: seal,
        policy: config.submit_policy(),
        used,
    })
}

fn driver_files(config: &Config<sendtrail_zoho::Config>) -> Result<Vec<DriverFile>, StartError> {
    let files = config.driver_files()?;
    let named: Vec<_> = files
        .into_iter()
        .map(|file| (file.path, file.text))
        .collect();
    sendtrail_sendapi::load(&named).map_err(StartError::Drivers)
}

/// The secrets this function uses, and no others.
fn asked(config: &Config<sendtrail_zoho::Config>, files: &[DriverFile]) -> Vec<SecretRef> {
    let mut refs = config.side_effect_secrets();
    refs.push(config.crm.client_secret.clone());
    refs.push(config.crm.refresh_token.side_effect.clone());
    refs.extend(files.iter().flat_map(DriverFile::secret_refs));
    refs
}

/// Reads them; what is missing and what is no key are told together.
fn resolve(
    config: &Config<sendtrail_zoho::Config>,
    files: &[DriverFile],
) -> Result<Secrets, StartError> {
    let resolved = config.secrets.resolve(&asked(config, files));
    let mut mistakes = match resolved {
        Err(StartError::Secrets(ref missing)) => missing.clone(),
        Ok(_) | Err(_) => Vec::new(),
    };
    let keys = config.side_effect_secrets();
    mistakes.extend(keys.iter().filter_map(|key| {
        let found = config.secrets.resolve([key]).ok()?;
        let error = Secret::parse(found.get(key).ok()?.expose_secret()).err()?;
        Some(SecretMistake {
            name: key.name().to_owned(),
            what: error.to_string(),
        })
    }));
    if mistakes.is_empty() {
        resolved
    } else {
        Err(StartError::Secrets(mistakes))
    }
}

/// The keys of the door and of the seal.
fn keys(
    config: &Config<sendtrail_zoho::Config>,
    secrets: &Secrets,
) -> Result<(KeyRing, Seal), StartError> {
    let parsed = |text: &SecretString| {
        Secret::parse(text.expose_secret()).map_err(|error| StartError::part("a key", &error))
    };
    let seal = parsed(secrets.get(&config.seal_key)?)?;
    let named = secrets.signing_keys(&config.side_effect.signing_keys)?;
    let ring: Result<Vec<_>, StartError> = named
        .into_iter()
        .map(|(name, text)| Ok((name, parsed(&text)?)))
        .collect();
    let ring = KeyRing::new(ring?).map_err(|error| StartError::part("the signing keys", &error))?;
    Ok((ring, Seal(SealKey::new(seal, &config.stage))))
}

/// A submit may take what the function has, but for the claim and the record of the outcome.
fn timeouts(settings: &SideEffect) -> Timeouts {
    let connect = settings.connect_timeout;
    let kept = settings
        .record_reserve
        .saturating_add(settings.claim_settle);
    Timeouts {
        connect,
        submit: settings.timeout.saturating_sub(kept),
        // Nothing is looked up here, but the pair is checked.
        look_up: Timeouts::default().look_up.max(connect.saturating_mul(2)),
    }
}

fn used(store: &Zoho) -> Used {
    let usage = store.usage();
    Used {
        calls: usage.calls,
        credits: usage.credits,
        token_requests: usage.token_requests,
        credits_remaining: usage.credits_remaining,
    }
}

/// Runs the function until Lambda ends it. A failed start ends the process, which Lambda reports as one.
pub async fn run(started: Result<Live, StartError>) -> ExitCode {
    let app = match started {
        Ok(app) => app,
        Err(error) => return error.report(),
    };
    // Boxed, for the runtime's layers copy the future they are given.
    let handler = service_fn(|event| Box::pin(serve(&app, event)));
    match lambda_runtime::run(handler).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %error, "the Lambda runtime ended");
            ExitCode::FAILURE
        }
    }
}

async fn serve(app: &Live, event: LambdaEvent<Box<RawValue>>) -> Result<Response, Infallible> {
    let (payload, context) = event.into_parts();
    let deadline = end_of(context.deadline);
    let handled = app
        .handle(payload.get(), &context.request_id, deadline)
        .await;
    handled.metrics.emit(app.world.now());
    Ok(handled.response)
}

/// The end of the invocation, from Unix milliseconds.
fn end_of(deadline_ms: u64) -> Timestamp {
    i64::try_from(deadline_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
