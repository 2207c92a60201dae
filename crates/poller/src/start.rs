//! From the environment to a function that runs.

use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use lambda_runtime::{LambdaEvent, service_fn};
use sendtrail_core::ports::{Clock, Random};
use sendtrail_core::settings::SecretRef;
use sendtrail_sendapi::{DriverFile, Drivers, Timeouts};
use sendtrail_startup::{Config, Environment, Logs, OsRandom, StartError, SystemClock, load, tls};
use sendtrail_zoho::Zoho;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::app::{App, Used};
use crate::failure::RunFailed;

/// The function as it runs on Lambda.
type Live = App<Zoho, Drivers, System>;

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

/// Reads configuration, driver files and secrets, and builds the clients once.
///
/// # Errors
/// [`StartError`] with every mistake of the part that has any.
pub fn start(env: &Environment, logs: &Logs) -> Result<Live, StartError> {
    let config = load(env, sendtrail_zoho::Config::read)?;
    logs.set_stage(&config.stage);
    let files = driver_files(&config)?;
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
        world: System::default(),
        policy: config.poll_policy(),
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

async fn serve(app: &Live, event: LambdaEvent<Box<RawValue>>) -> Result<Value, RunFailed> {
    let (payload, context) = event.into_parts();
    let handled = app.handle(payload.get(), end_of(context.deadline)).await;
    handled.metrics.emit(app.world.now());
    handled.result
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
