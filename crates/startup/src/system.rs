//! The real clock, the real random bits, and TLS.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use sendtrail_core::ports::{Clock, Random};

use crate::error::StartError;

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn sleep(&self, duration: SignedDuration) -> impl Future<Output = ()> + Send {
        let positive = Duration::try_from(duration).unwrap_or_default();
        async move {
            if !positive.is_zero() {
                tokio::time::sleep(positive).await;
            }
        }
    }
}

/// The random bits of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    fn bits(&self) -> u128 {
        let mut bytes = [0; 16];
        if let Err(error) = getrandom::fill(&mut bytes) {
            // Nothing safe can be done with bits that may repeat: end this invocation.
            panic!("the system gives no random bits: {error}");
        }
        u128::from_ne_bytes(bytes)
    }
}

/// The machine's clock and random bits, for what wants both in one.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemWorld;

impl Clock for SystemWorld {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn sleep(&self, duration: SignedDuration) -> impl Future<Output = ()> + Send {
        SystemClock.sleep(duration)
    }
}

impl Random for SystemWorld {
    fn bits(&self) -> u128 {
        OsRandom.bits()
    }
}

/// TLS for clients: the ring provider, TLS 1.2 and 1.3, and Mozilla's roots, which are compiled in so that
/// no file has to be found and parsed at start.
///
/// # Errors
/// [`StartError::Part`] when the provider does not fit the protocol versions.
pub fn tls() -> Result<ClientConfig, StartError> {
    // A second call finds it installed, which is what is wanted.
    let _ = ring::default_provider().install_default();
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| StartError::part("TLS", &error))?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sleep_lasts_as_asked_and_not_at_all_when_negative() {
        let start = tokio::time::Instant::now();
        SystemClock.sleep(SignedDuration::from_secs(-5)).await;
        SystemClock.sleep(SignedDuration::ZERO).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        SystemClock.sleep(SignedDuration::from_secs(3)).await;
        assert_eq!(start.elapsed(), Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn the_world_is_that_clock_and_those_bits() {
        let before = SystemClock.now();
        assert!(SystemWorld.now() >= before && SystemWorld.now() <= SystemClock.now());
        let start = tokio::time::Instant::now();
        SystemWorld.sleep(SignedDuration::from_secs(-5)).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        SystemWorld.sleep(SignedDuration::from_secs(3)).await;
        assert_eq!(start.elapsed(), Duration::from_secs(3));
        assert_ne!(SystemWorld.bits(), SystemWorld.bits());
    }

    #[test]
    fn random_bits_do_not_repeat() {
        assert_ne!(OsRandom.bits(), OsRandom.bits());
    }

    #[test]
    fn tls_can_be_asked_for_twice() {
        assert!(tls().is_ok());
        let again = tls().unwrap();
        assert!(again.alpn_protocols.is_empty());
    }
}
