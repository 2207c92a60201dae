//! The configured drivers, with their credentials and clients.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use secrecy::SecretString;
use sendtrail_core::ids::DriverId;
use sendtrail_core::settings::SecretRef;
use thiserror::Error;

use crate::auth::{Credentials, resolved};
use crate::file::DriverFile;

/// How long requests may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Making a connection: name, TCP and TLS. At most half of the other two, so that a connection that is
    /// never made is seen as such and not as an unknown outcome.
    pub connect: SignedDuration,
    /// A submit as a whole, its answer included; less where less time is left. The steps before it, and the
    /// token, may together take half of this.
    pub submit: SignedDuration,
    /// A look-up as a whole.
    pub look_up: SignedDuration,
}

impl Default for Timeouts {
    /// 5 s, 60 s and 10 s.
    fn default() -> Self {
        Self {
            connect: SignedDuration::from_secs(5),
            submit: SignedDuration::from_secs(60),
            look_up: SignedDuration::from_secs(10),
        }
    }
}

/// Why the drivers cannot be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// A secret that a driver names is missing or unusable.
    #[error("driver {driver}: the secret {name} {what}")]
    Secret {
        /// The driver's id.
        driver: String,
        /// The name of the secret.
        name: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The credentials do not make a header.
    #[error("driver {driver}: the credentials do not make a header")]
    Credentials {
        /// The driver's id.
        driver: String,
    },
    /// The connect time-out is not above zero, or above half of another one.
    #[error("the connect time-out must be above zero and at most half of the other time-outs")]
    Timeouts,
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built")]
    Client(#[from] reqwest::Error),
}

impl BuildError {
    pub(crate) fn secret(driver: &str, name: &SecretRef, what: &'static str) -> Self {
        Self::Secret {
            driver: driver.to_owned(),
            name: name.name().to_owned(),
            what,
        }
    }
}

/// One external send API, ready for use.
#[derive(Debug)]
pub struct Driver {
    pub(crate) parts: Parts,
    #[cfg(feature = "submit")]
    pub(crate) submit: crate::submit::Client,
    #[cfg(feature = "look-up")]
    pub(crate) look_up: reqwest::Client,
}

/// What both halves of a driver use.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) file: DriverFile,
    pub(crate) auth: Credentials,
    /// The secrets that stand in bodies, by name.
    pub(crate) secrets: BTreeMap<String, SecretString>,
}

/// The configured drivers, by id.
#[derive(Debug)]
pub struct Drivers {
    by_id: BTreeMap<String, Driver>,
}

impl Drivers {
    /// Builds the drivers. `secret` gives the value of a secret that a file names; `tls` is used for every
    /// connection, with HTTP/1.1 as its only protocol.
    ///
    /// # Errors
    /// [`BuildError`]; the first one found.
    pub fn build(
        files: Vec<DriverFile>,
        secret: impl Fn(&SecretRef) -> Option<SecretString>,
        tls: rustls::ClientConfig,
        timeouts: Timeouts,
    ) -> Result<Self, BuildError> {
        let clients = Clients::new(tls, timeouts)?;
        let mut by_id = BTreeMap::new();
        for file in files {
            let id = file.id().as_str().to_owned();
            let auth = file.auth.build(&id, &secret)?;
            let mut secrets = BTreeMap::new();
            for name in file.body_secrets() {
                secrets.insert(name.name().to_owned(), resolved(&id, &name, &secret)?);
            }
            let parts = Parts {
                file,
                auth,
                secrets,
            };
            by_id.insert(id, clients.driver(parts));
        }
        Ok(Self { by_id })
    }

    /// The ids, in alphabetical order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_id.keys().map(String::as_str)
    }

    /// The driver with this id.
    pub fn get(&self, id: &DriverId) -> Option<&Driver> {
        self.by_id.get(id.as_str())
    }
}

#[cfg(feature = "submit")]
impl sendtrail_core::ports::SubmitDrivers for Drivers {
    type Driver = Driver;
    fn driver(&self, id: &DriverId) -> Option<&Driver> {
        self.get(id)
    }
}

#[cfg(feature = "look-up")]
impl sendtrail_core::ports::LookUpDrivers for Drivers {
    type Driver = Driver;
    fn driver(&self, id: &DriverId) -> Option<&Driver> {
        self.get(id)
    }
}

/// The clients, shared by all drivers.
struct Clients {
    #[cfg(feature = "submit")]
    submit: crate::submit::Client,
    #[cfg(feature = "look-up")]
    look_up: reqwest::Client,
}

impl Clients {
    fn new(mut tls: rustls::ClientConfig, timeouts: Timeouts) -> Result<Self, BuildError> {
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        tls.enable_early_data = false;
        let least = timeouts.connect.saturating_mul(2);
        if timeouts.connect <= SignedDuration::ZERO
            || timeouts.submit < least
            || timeouts.look_up < least
        {
            return Err(BuildError::Timeouts);
        }
        Ok(Self {
            #[cfg(feature = "submit")]
            submit: crate::submit::Client::new(|| builder(tls.clone(), timeouts), timeouts)?,
            // A connection that was kept through a pause of the sandbox is dead more often than not.
            #[cfg(feature = "look-up")]
            look_up: builder(tls.clone(), timeouts)
                .pool_idle_timeout(Duration::from_secs(20))
                .timeout(std(timeouts.look_up))
                .build()?,
        })
    }

    #[cfg_attr(
        not(any(feature = "submit", feature = "look-up")),
        expect(clippy::unused_self, reason = "without a feature there is no client")
    )]
    fn driver(&self, parts: Parts) -> Driver {
        Driver {
            parts,
            #[cfg(feature = "submit")]
            submit: self.submit.clone(),
            #[cfg(feature = "look-up")]
            look_up: self.look_up.clone(),
        }
    }
}

/// What every client has in common: no retries, no redirects, no proxy, HTTP/1.1.
#[cfg(any(feature = "submit", feature = "look-up"))]
fn builder(tls: rustls::ClientConfig, timeouts: Timeouts) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .user_agent(concat!("sendtrail/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(std(timeouts.connect))
}

/// As the standard library has it; nothing below zero.
pub(crate) fn std(duration: SignedDuration) -> Duration {
    Duration::try_from(duration).unwrap_or(Duration::ZERO)
}
