//! From the configuration to a function that can answer.

use std::convert::Infallible;
use std::process::ExitCode;

use jiff::SignedDuration;
use sendtrail_core::ids::DriverId;
use sendtrail_core::ports::SealMac;
use sendtrail_core::settings::SecretRef;
use sendtrail_door::{KeyRing, SealKey, Secret, TokenKey, key_ring};
use sendtrail_startup::lambda::{self, Invocation};
use sendtrail_startup::{
    Config, Environment, ExposeSecret as _, Function, Instance, Logs, Secrets, StartError,
    SystemWorld, load, tls,
};
use sendtrail_zoho::{Opener, Zoho};

use crate::app::{App, Settings};

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

/// How the function is made from its secrets.
#[derive(Debug)]
pub struct Recipe {
    config: ZohoConfig,
    drivers: Vec<DriverId>,
}

impl sendtrail_startup::Recipe for Recipe {
    type App = Intake;

    async fn secrets(&self) -> Result<Secrets, StartError> {
        secrets(&self.config).await
    }

    fn app(&self, secrets: &Secrets) -> Result<Intake, StartError> {
        let keys = keys(&self.config, secrets)?;
        let zoho = zoho(&self.config, secrets)?;
        let seal = Seal(keys.seal.clone());
        let settings = settings(&self.config, self.drivers.clone(), keys);
        Ok(App::new(zoho, SystemWorld, seal, settings))
    }

    fn lifetime(&self) -> SignedDuration {
        self.config.secrets_lifetime
    }
}

/// Reads the configuration and the secrets, and builds keys and clients.
///
/// # Errors
/// Everything that is wrong, as far as it can be known at once.
pub async fn start(env: &Environment, logs: &Logs) -> Result<Instance<Recipe>, Vec<StartError>> {
    let (recipe, secrets) = prepared(env, logs).await?;
    Instance::new(recipe, secrets).map_err(|error| vec![error])
}

/// The recipe, with secrets that were just read.
pub(crate) async fn prepared(
    env: &Environment,
    logs: &Logs,
) -> Result<(Recipe, Secrets), Vec<StartError>> {
    let config = load(env, sendtrail_zoho::Config::read).map_err(|error| vec![error])?;
    logs.set_stage(&config.stage);
    let drivers = config.driver_ids();
    let secrets = secrets(&config).await;
    match (drivers, secrets) {
        (Ok(drivers), Ok(secrets)) => Ok((Recipe { config, drivers }, secrets)),
        (drivers, secrets) => Err(drivers.err().into_iter().chain(secrets.err()).collect()),
    }
}

type ZohoConfig = Config<sendtrail_zoho::Config>;

struct Keys {
    ring: KeyRing,
    token: TokenKey,
    seal: SealKey,
}

async fn secrets(config: &ZohoConfig) -> Result<Secrets, StartError> {
    let mut wanted = config.intake_secrets();
    wanted.push(config.crm.client_secret.clone());
    wanted.push(config.crm.refresh_token.intake.clone());
    let store = &config.secrets;
    store
        .resolve_keys(Function::Intake, &wanted, Secret::parse)
        .await
}

fn keys(config: &ZohoConfig, secrets: &Secrets) -> Result<Keys, StartError> {
    let key = |reference: &SecretRef| {
        Secret::parse(secrets.get(reference)?.expose_secret())
            .map_err(|error| StartError::part("a key of intake", &error))
    };
    let token = key(&config.intake.token_key)?;
    let seal = key(&config.seal_key)?;
    let others = [("intake.token_key", &token), ("seal.key", &seal)];
    let signing = secrets.signing_keys(&config.intake.signing_keys)?;
    let ring = key_ring(&signing, &others)
        .map_err(|error| StartError::part("the keys of intake", &error))?;
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
    let cache = crm.open_token_cache(&Opener {
        stage: &config.stage,
        function: Function::Intake.as_str(),
        account: &|| config.secrets.account(),
    });
    let cache = cache.map_err(|error| StartError::part("crm.token_cache", &error))?;
    Zoho::new(crm, secrets, tls()?, cache)
        .map_err(|error| StartError::part("the CRM client", &error))
}

fn settings(config: &ZohoConfig, drivers: Vec<DriverId>, keys: Keys) -> Settings {
    Settings {
        stage: config.stage.clone(),
        drain: config.drain,
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

/// Runs the function until Lambda ends it. A failed start ends the process, which Lambda reports as one.
pub async fn run(started: Result<Instance<Recipe>, Vec<StartError>>) -> ExitCode {
    lambda::run(started, async |app: &Intake, event: Invocation<'_>| {
        let handled = app.handle(event.payload, event.request_id, event.deadline);
        handled.await.map(Ok::<_, Infallible>)
    })
    .await
}
