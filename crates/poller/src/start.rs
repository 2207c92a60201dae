//! From the environment to a function that runs.

use std::process::ExitCode;

use jiff::SignedDuration;
use sendtrail_core::settings::SecretRef;
use sendtrail_sendapi::{DriverFile, Drivers, Timeouts};
use sendtrail_startup::lambda::{self, Invocation};
use sendtrail_startup::{Config, Environment, Logs, StartError, SystemWorld, load, tls};
use sendtrail_zoho::Zoho;

use crate::app::App;

/// The function as it runs on Lambda.
type Live = App<Zoho, Drivers, SystemWorld>;

/// Reads configuration, driver files and secrets, and builds the clients once.
///
/// # Errors
/// [`StartError`] with every mistake of the part that has any.
pub fn start(env: &Environment, logs: &Logs) -> Result<Live, StartError> {
    let config = load(env, sendtrail_zoho::Config::read)?;
    logs.set_stage(&config.stage);
    let files = config.drivers(sendtrail_sendapi::load)?;
    let secrets = config.secrets.resolve(&asked(&config, &files))?;
    let tls = tls()?;
    let crm = sendtrail_zoho::Secrets {
        client_secret: secrets.get(&config.crm.client_secret)?.clone(),
        refresh_token: secrets.get(&config.crm.refresh_token.poller)?.clone(),
    };
    let cache = config.crm.open_token_cache();
    let store = Zoho::new(&config.crm, crm, tls.clone(), cache)
        .map_err(|error| StartError::part("the CRM's client", &error))?;
    let secret = |name: &SecretRef| secrets.get(name).ok().cloned();
    let drivers = Drivers::build(files, secret, tls, timeouts(config.poller.row_timeout))
        .map_err(|error| StartError::part("the drivers", &error))?;
    Ok(App {
        store,
        drivers,
        world: SystemWorld,
        policy: config.poll_policy(),
    })
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
pub async fn run(started: Result<Live, StartError>) -> ExitCode {
    let started = started.map_err(|error| vec![error]);
    lambda::run(started, async |app: &Live, event: Invocation<'_>| {
        app.handle(event.payload, event.deadline).await
    })
    .await
}

#[cfg(test)]
mod tests;
