//! The configuration, typed. `read` reads it.

use std::path::PathBuf;

use jiff::SignedDuration;
use sendtrail_core::ids::DriverId;
use sendtrail_core::policy::{PollPolicy, SubmitPolicy};
use sendtrail_core::settings::{Mistakes, SecretRef};

use crate::drivers::{self, DriverFile};
use crate::error::StartError;
use crate::secrets::SecretStore;

/// The whole configuration; `C` is what the CRM's adapter made of `[crm]`.
#[derive(Debug, Clone)]
pub struct Config<C> {
    /// The stage: 1 to 20 lower-case letters, digits or `-`. Part of every token, seal and reference.
    pub stage: String,
    /// Whether intake and side-effect answer every request that they are being drained. The poller works on.
    pub drain: bool,
    /// How long secrets are used before they are read again; at least a minute.
    pub secrets_lifetime: SignedDuration,
    /// The CRM.
    pub crm: C,
    /// The intake function.
    pub intake: Intake,
    /// The side-effect function.
    pub side_effect: SideEffect,
    /// The key of the seal.
    pub seal_key: SecretRef,
    /// Documents.
    pub documents: Documents,
    /// The poller.
    pub poller: Poller,
    /// How a look-up is brought forward; without it only the schedule starts the poller.
    pub wake: Option<Wake>,
    /// Where secrets are kept.
    pub secrets: SecretStore,
    pub(crate) folder: PathBuf,
}

/// A key that may sign requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// Its name, which metrics show: 1 to 40 letters, digits, `_`, `.` or `-`.
    pub name: String,
    /// Its value.
    pub secret: SecretRef,
}

/// Settings of the intake function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intake {
    /// The key of preview tokens, confirm tickets and receipts.
    pub token_key: SecretRef,
    /// How long a preview token is good for; not longer than `confirm_ttl`.
    pub preview_ttl: SignedDuration,
    /// How long a confirm ticket and a receipt are good for.
    pub confirm_ttl: SignedDuration,
    /// Whether the preview token is also taken from the query of a link.
    pub preview_link: bool,
    /// The keys that sign requests to intake; at least one.
    pub signing_keys: Vec<SigningKey>,
}

/// Settings of the side-effect function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideEffect {
    /// The function's time-out; up to 15 minutes.
    pub timeout: SignedDuration,
    /// Wait between the claim and the read that proves it.
    pub claim_settle: SignedDuration,
    /// How far two clocks may differ.
    pub clock_margin: SignedDuration,
    /// Kept back from the submit for recording the outcome.
    pub record_reserve: SignedDuration,
    /// Time for connecting to the send API.
    pub connect_timeout: SignedDuration,
    /// The keys that sign requests to side-effect; at least one.
    pub signing_keys: Vec<SigningKey>,
}

impl SideEffect {
    /// The most a submit may take: what the function has, but for the claim and the record of the outcome.
    /// At least twice `connect_timeout`.
    pub fn submit_time(&self) -> SignedDuration {
        let kept = self.record_reserve.saturating_add(self.claim_settle);
        self.timeout.saturating_sub(kept)
    }
}

/// Settings of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Documents {
    /// The largest document, in bytes: 1 to 4 500 000.
    pub max_bytes: u64,
}

/// Settings of the poller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poller {
    /// The function's time-out; up to 15 minutes.
    pub timeout: SignedDuration,
    /// Time between two ticks of the schedule.
    pub interval: SignedDuration,
    /// Rows in one page, 1 to 200.
    pub page_rows: u32,
    /// Pages in one run, 1 to 50.
    pub max_pages: u32,
    /// Rows worked on at once, 1 to 100.
    pub concurrency: u32,
    /// Look-ups started in one second, 1 to 1000.
    pub rate_per_second: u32,
    /// The time one row may take.
    pub row_timeout: SignedDuration,
    /// No row is started when less than this is left of the invocation.
    pub reserve: SignedDuration,
    /// A listed row younger than this is no base for a write.
    pub list_lag: SignedDuration,
}

/// What is needed for a one-time schedule that invokes the poller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// The group in which the schedules are made.
    pub group: String,
    /// The role they invoke the poller with.
    pub role_arn: String,
    /// The poller.
    pub target_arn: String,
    /// The queue for a wake-up that could not be handed over.
    pub dead_letter_arn: String,
}

impl<C> Config<C> {
    /// How the poller works.
    pub fn poll_policy(&self) -> PollPolicy {
        let settings = &self.poller;
        PollPolicy {
            stage: self.stage.clone(),
            claim_stale: self.claim_stale(),
            page_rows: settings.page_rows,
            max_pages: settings.max_pages,
            concurrency: settings.concurrency as usize,
            rate_per_second: settings.rate_per_second,
            row_timeout: settings.row_timeout,
            reserve: settings.reserve,
            list_lag: settings.list_lag,
            interval: settings.interval,
        }
    }

    /// The age of a claim whose function cannot be alive on either clock.
    fn claim_stale(&self) -> SignedDuration {
        let settings = &self.side_effect;
        settings.timeout.saturating_add(settings.clock_margin)
    }

    /// How side-effect submits.
    pub fn submit_policy(&self) -> SubmitPolicy {
        let settings = &self.side_effect;
        SubmitPolicy {
            stage: self.stage.clone(),
            claim_settle: settings.claim_settle,
            claim_stale: self.claim_stale(),
            record_reserve: settings.record_reserve,
        }
    }

    /// The secrets intake uses, besides the CRM's.
    pub fn intake_secrets(&self) -> Vec<SecretRef> {
        let signing = self
            .intake
            .signing_keys
            .iter()
            .map(|key| key.secret.clone());
        let own = [self.intake.token_key.clone(), self.seal_key.clone()];
        own.into_iter().chain(signing).collect()
    }

    /// The secrets side-effect uses, besides the CRM's and the drivers'.
    pub fn side_effect_secrets(&self) -> Vec<SecretRef> {
        let keys = &self.side_effect.signing_keys;
        let signing = keys.iter().map(|key| key.secret.clone());
        [self.seal_key.clone()].into_iter().chain(signing).collect()
    }

    /// The driver files: `drivers/*.toml` next to the configuration file, sorted by id.
    ///
    /// # Errors
    /// [`StartError::DriverFolder`] when there is none, one cannot be read, or a name is no driver id.
    pub fn driver_files(&self) -> Result<Vec<DriverFile>, StartError> {
        drivers::files(&self.folder.join("drivers"))
    }

    /// The drivers, as `load` reads the files, each given by its path and text.
    ///
    /// # Errors
    /// As [`Config::driver_files`], and [`StartError::Drivers`] with the mistakes that `load` found.
    pub fn drivers<T>(
        &self,
        load: impl FnOnce(&[(String, String)]) -> Result<T, Mistakes>,
    ) -> Result<T, StartError> {
        let files = self.driver_files()?.into_iter();
        let named: Vec<_> = files.map(|file| (file.path, file.text)).collect();
        load(&named).map_err(StartError::Drivers)
    }

    /// The ids of the drivers, sorted, without reading their files.
    ///
    /// # Errors
    /// As [`Config::driver_files`].
    pub fn driver_ids(&self) -> Result<Vec<DriverId>, StartError> {
        drivers::ids(&self.folder.join("drivers"))
    }
}
