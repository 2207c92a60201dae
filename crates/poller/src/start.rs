//! From the environment to a function that runs.

use std::process::ExitCode;

use jiff::SignedDuration;
use sendtrail_core::settings::SecretRef;
use sendtrail_sendapi::{DriverFile, Drivers, Timeouts};
use sendtrail_startup::lambda::{self, Invocation};
use sendtrail_startup::{
    Config, Environment, Function, Instance, Logs, Recipe as _, Secrets, StartError, SystemWorld,
    load, tls,
};
use sendtrail_zoho::{Opener, Zoho};

use crate::app::App;

/// The function as it runs on Lambda.
pub type Live = App<Zoho, Drivers, SystemWorld>;

/// How the function is made from its secrets.
#[derive(Debug)]
pub struct Recipe {
    config: Config<sendtrail_zoho::Config>,
    files: Vec<DriverFile>,
}

impl sendtrail_startup::Recipe for Recipe {
    type App = Live;

    async fn secrets(&self) -> Result<Secrets, StartError> {
        let asked = asked(&self.config, &self.files);
        let store = &self.config.secrets;
        store.resolve(Function::Poller, &asked).await
    }

    fn app(&self, secrets: &Secrets) -> Result<Live, StartError> {
        let config = &self.config;
        let tls = tls()?;
        let crm = sendtrail_zoho::Secrets {
            client_secret: secrets.get(&config.crm.client_secret)?.clone(),
            refresh_token: secrets.get(&config.crm.refresh_token.poller)?.clone(),
        };
        let opener = Opener {
            stage: &config.stage,
            function: Function::Poller.as_str(),
            account: &|| config.secrets.account(),
        };
        let cache = config.crm.open_token_cache(&opener);
        let cache = cache.map_err(|error| StartError::part("crm.token_cache", &error))?;
        let store = Zoho::new(&config.crm, crm, tls.clone(), cache)
            .map_err(|error| StartError::part("the CRM's client", &error))?;
        let secret = |name: &SecretRef| secrets.get(name).ok().cloned();
        let timeouts = timeouts(config.poller.row_timeout);
        let drivers = Drivers::build(self.files.clone(), secret, tls, timeouts)
            .map_err(|error| StartError::part("the drivers", &error))?;
        Ok(App {
            store,
            drivers,
            world: SystemWorld,
            policy: config.poll_policy(),
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
    Ok(Recipe { config, files })
}

/// The secrets this function uses, and no others: no key of a door, and no seal.
fn asked(config: &Config<sendtrail_zoho::Config>, files: &[DriverFile]) -> Vec<SecretRef> {
    let crm = [
        config.crm.client_secret.clone(),
        config.crm.refresh_token.poller.clone(),
    ];
    let drivers = files.iter().flat_map(DriverFile::secret_refs);
    crm.into_iter().chain(drivers).collect()
}

/// A look-up may take half of a row's time; the other half is for the write.
fn timeouts(row: SignedDuration) -> Timeouts {
    let usual = Timeouts::default();
    let look_up = usual.look_up.min(row / 2);
    Timeouts {
        connect: usual.connect.min(look_up / 2),
        look_up,
        // Nothing is submitted here, and nothing that could is linked.
        submit: usual.submit,
    }
}

/// Runs the function until Lambda ends it. A failed start ends the process, which Lambda reports as one.
pub async fn run(started: Result<Instance<Recipe>, StartError>) -> ExitCode {
    let started = started.map_err(|error| vec![error]);
    lambda::run(started, async |app: &Live, event: Invocation<'_>| {
        app.handle(event.payload, event.deadline).await
    })
    .await
}

#[cfg(test)]
mod tests;
