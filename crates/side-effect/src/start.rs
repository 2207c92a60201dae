//! From the environment to a function that runs.

use std::convert::Infallible;
use std::process::ExitCode;

use jiff::SignedDuration;
use sendtrail_core::ports::SealMac;
use sendtrail_core::settings::SecretRef;
use sendtrail_door::{KeyRing, SealKey, Secret, key_ring};
use sendtrail_sendapi::{DriverFile, Drivers, Timeouts};
use sendtrail_startup::lambda::{self, Invocation};
use sendtrail_startup::{
    Config, Environment, ExposeSecret as _, Function, Instance, Logs, Recipe as _, Secrets,
    SideEffect, StartError, SystemWorld, load, tls,
};
use sendtrail_zoho::{Opener, Zoho};

use crate::app::App;
use crate::wake_ups::WakeUps;

/// The function as it runs on Lambda.
pub type Live = App<Zoho, Drivers, SystemWorld, Seal>;

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

/// How the function is made from its secrets.
#[derive(Debug)]
pub struct Recipe {
    config: Config<sendtrail_zoho::Config>,
    files: Vec<DriverFile>,
    env: Environment,
}

impl sendtrail_startup::Recipe for Recipe {
    type App = Live;

    async fn secrets(&self) -> Result<Secrets, StartError> {
        let asked = asked(&self.config, &self.files);
        let store = &self.config.secrets;
        store
            .resolve_keys(Function::SideEffect, &asked, Secret::parse)
            .await
    }

    fn app(&self, secrets: &Secrets) -> Result<Live, StartError> {
        let config = &self.config;
        let (ring, seal) = keys(config, secrets)?;
        let tls = tls()?;
        let crm = sendtrail_zoho::Secrets {
            client_secret: secrets.get(&config.crm.client_secret)?.clone(),
            refresh_token: secrets.get(&config.crm.refresh_token.side_effect)?.clone(),
        };
        let opener = Opener {
            stage: &config.stage,
            function: Function::SideEffect.as_str(),
            account: &|| config.secrets.account(),
        };
        let cache = config.crm.open_token_cache(&opener);
        let cache = cache.map_err(|error| StartError::part("crm.token_cache", &error))?;
        let store = Zoho::new(&config.crm, crm, tls.clone(), cache)
            .map_err(|error| StartError::part("the CRM's client", &error))?;
        let secret = |name: &SecretRef| secrets.get(name).ok().cloned();
        let timeouts = timeouts(&config.side_effect);
        let drivers = Drivers::build(self.files.clone(), secret, tls, timeouts)
            .map_err(|error| StartError::part("the drivers", &error))?;
        let wake_ups = WakeUps::of(config.wake.as_ref(), config.poller.interval, &self.env)?;
        Ok(App {
            ring,
            store,
            drivers,
            world: SystemWorld,
            mac: seal,
            policy: config.submit_policy(),
            wake_ups,
            drain: config.drain,
        })
    }

    fn lifetime(&self) -> SignedDuration {
        self.config.secrets_lifetime
    }
}

/// Reads configuration, driver files and secrets, and builds the clients.
///
/// # Errors
/// [`StartError`] with every mistake of the part that has any.
pub async fn start(env: &Environment, logs: &Logs) -> Result<Instance<Recipe>, StartError> {
    let recipe = recipe(env, logs)?;
    let secrets = recipe.secrets().await?;
    Instance::new(recipe, secrets)
}

/// What the configuration and the driver files say.
fn recipe(env: &Environment, logs: &Logs) -> Result<Recipe, StartError> {
    let config = load(env, sendtrail_zoho::Config::read)?;
    logs.set_stage(&config.stage);
    let files = config.drivers(sendtrail_sendapi::load)?;
    let env = env.clone();
    Ok(Recipe { config, files, env })
}

/// The secrets this function uses, and no others.
fn asked(config: &Config<sendtrail_zoho::Config>, files: &[DriverFile]) -> Vec<SecretRef> {
    let mut refs = config.side_effect_secrets();
    refs.push(config.crm.client_secret.clone());
    refs.push(config.crm.refresh_token.side_effect.clone());
    refs.extend(files.iter().flat_map(DriverFile::secret_refs));
    refs
}

/// The keys of the door and of the seal.
fn keys(
    config: &Config<sendtrail_zoho::Config>,
    secrets: &Secrets,
) -> Result<(KeyRing, Seal), StartError> {
    let seal = Secret::parse(secrets.get(&config.seal_key)?.expose_secret())
        .map_err(|error| StartError::part("the seal's key", &error))?;
    let signing = secrets.signing_keys(&config.side_effect.signing_keys)?;
    let ring = key_ring(&signing, &[("seal.key", &seal)])
        .map_err(|error| StartError::part("the keys of side-effect", &error))?;
    Ok((ring, Seal(SealKey::new(seal, &config.stage))))
}

fn timeouts(settings: &SideEffect) -> Timeouts {
    let connect = settings.connect_timeout;
    Timeouts {
        connect,
        submit: settings.submit_time(),
        // Nothing is looked up here, but the pair is checked.
        look_up: Timeouts::default().look_up.max(connect.saturating_mul(2)),
    }
}

/// Runs the function until Lambda ends it. A failed start ends the process, which Lambda reports as one.
pub async fn run(started: Result<Instance<Recipe>, StartError>) -> ExitCode {
    let started = started.map_err(|error| vec![error]);
    lambda::run(started, async |app: &Live, event: Invocation<'_>| {
        let handled = app.handle(event.payload, event.request_id, event.deadline);
        handled.await.map(Ok::<_, Infallible>)
    })
    .await
}

#[cfg(test)]
mod rotation;
#[cfg(test)]
mod tests;
