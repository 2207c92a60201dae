//! From the configuration to a function that can answer.

use std::process::ExitCode;

use lambda_runtime::service_fn;
use sendtrail_core::ids::DriverId;
use sendtrail_core::ports::SealMac;
use sendtrail_core::settings::SecretRef;
use sendtrail_door::{KeyRing, KeyRingError, SealKey, Secret, TokenKey, ensure_distinct};
use sendtrail_startup::{
    Config, Environment, ExposeSecret as _, Logs, SecretMistake, Secrets, StartError, SystemWorld,
    load, tls,
};
use sendtrail_zoho::Zoho;

use crate::app::{App, Crm, Settings, Usage};
use crate::service::serve;

/// The function as it is deployed.
pub type Intake = App<Zoho, SystemWorld, Seal>;

/// The seal key as core's port.
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

impl Crm for Zoho {
    fn usage(&self) -> Usage {
        let usage = Self::usage(self);
        Usage {
            calls: usage.calls,
            credits: usage.credits,
        }
    }
}

/// Starts the function and serves until the process ends.
pub async fn run(env: &Environment, logs: &Logs) -> ExitCode {
    let app = match start(env, logs) {
        Ok(app) => app,
        Err(errors) => {
            return errors
                .iter()
                .fold(ExitCode::FAILURE, |_, error| error.report());
        }
    };
    let app = &app;
    match lambda_runtime::run(service_fn(move |event| serve(app, event))).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => StartError::part("the Lambda runtime", &error).report(),
    }
}

/// Reads the configuration and builds keys and clients, once for the life of the process.
///
/// # Errors
/// Everything that is wrong, as far as it can be known at once.
pub fn start(env: &Environment, logs: &Logs) -> Result<Intake, Vec<StartError>> {
    let config = load(env, sendtrail_zoho::Config::read).map_err(|error| vec![error])?;
    logs.set_stage(&config.stage);
    let drivers = config.driver_ids();
    let keys = secrets(&config).and_then(|secrets| {
        let keys = keys(&config, &secrets)?;
        Ok((keys, zoho(&config, &secrets)?))
    });
    match (drivers, keys) {
        (Ok(drivers), Ok((keys, zoho))) => {
            let seal = Seal(keys.seal.clone());
            let settings = settings(&config, drivers, keys);
            Ok(App::new(zoho, SystemWorld, seal, settings))
        }
        (drivers, keys) => Err(drivers.err().into_iter().chain(keys.err()).collect()),
    }
}

type ZohoConfig = Config<sendtrail_zoho::Config>;

struct Keys {
    ring: KeyRing,
    token: TokenKey,
    seal: SealKey,
}

fn secrets(config: &ZohoConfig) -> Result<Secrets, StartError> {
    let mut wanted = config.intake_secrets();
    wanted.push(config.crm.client_secret.clone());
    wanted.push(config.crm.refresh_token.intake.clone());
    config.secrets.resolve(&wanted)
}

/// Reads every key, and names every one that is none.
fn keys(config: &ZohoConfig, secrets: &Secrets) -> Result<Keys, StartError> {
    let mut mistakes = Vec::new();
    let mut key = |reference: &SecretRef| -> Result<Option<Secret>, StartError> {
        let text = secrets.get(reference)?;
        Ok(Secret::parse(text.expose_secret())
            .map_err(|error| {
                mistakes.push(SecretMistake {
                    name: reference.name().to_owned(),
                    what: error.to_string(),
                });
            })
            .ok())
    };
    let token = key(&config.intake.token_key)?;
    let seal = key(&config.seal_key)?;
    let mut signing = Vec::new();
    for signing_key in &config.intake.signing_keys {
        let secret = key(&signing_key.secret)?;
        signing.extend(secret.map(|secret| (signing_key.name.clone(), secret)));
    }
    let (Some(token), Some(seal), true) = (token, seal, mistakes.is_empty()) else {
        return Err(StartError::Secrets(mistakes));
    };
    let part = |error: KeyRingError| StartError::part("the keys of intake", &error);
    let ring = KeyRing::new(signing).map_err(part)?;
    let own = [("intake.token_key", &token), ("seal.key", &seal)];
    let all: Vec<_> = ring.iter().chain(own).collect();
    ensure_distinct(&all).map_err(part)?;
    Ok(Keys {
        ring,
        token: TokenKey::new(token, &config.stage),
        seal: SealKey::new(seal, &config.stage),
    })
}

fn zoho(config: &ZohoConfig, secrets: &Secrets) -> Result<Zoho, StartError> {
    let crm = &config.crm;
    let secrets = sendtrail_zoho::Secrets {
        client_secret: secrets.get(&crm.client_secret)?.clone(),
        refresh_token: secrets.get(&crm.refresh_token.intake)?.clone(),
    };
    Zoho::new(crm, secrets, tls()?, crm.open_token_cache())
        .map_err(|error| StartError::part("the CRM client", &error))
}

fn settings(config: &ZohoConfig, drivers: Vec<DriverId>, keys: Keys) -> Settings {
    Settings {
        stage: config.stage.clone(),
        signing_keys: keys.ring,
        token_key: keys.token,
        drivers: drivers.into_iter().collect(),
        preview_ttl: config.intake.preview_ttl,
        confirm_ttl: config.intake.confirm_ttl,
        preview_link: config.intake.preview_link,
        max_document_bytes: config.documents.max_bytes,
        attempt_time: config.crm.request_timeout,
    }
}
