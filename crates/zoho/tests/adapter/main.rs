//! The adapter over HTTP.
#![expect(clippy::unwrap_used, reason = "test code")]

mod check;
mod contract;
mod doubts;
mod fake;
mod hostile;
mod hostile_server;
mod lists;
mod probe;
mod requests;
mod shared;
mod simulated;
mod tokens;
mod writes;

use sendtrail_core::settings::Reader;
use sendtrail_zoho::{Config, NoTokenCache, Secrets, TokenCache, Zoho};

/// A configuration for a CRM at `url`.
pub(crate) fn config(url: &str) -> Config {
    let text = format!(
        "[crm]\naccounts_url = \"{url}\"\napi_url = \"{url}\"\nclient_id = \"1000.LOCALCLIENT\"\n\
         client_secret = \"secret:c\"\nrequest_timeout = \"2s\"\nconnect_timeout = \"500ms\"\n\
         notify = [\"workflow\"]\n[crm.refresh_token]\nintake = \"secret:a\"\n\
         side_effect = \"secret:b\"\npoller = \"secret:c\"\n"
    );
    let reader = Reader::new("s.toml", &text);
    let config = Config::read(&reader.root().section("crm"));
    reader.finish().unwrap();
    config.unwrap()
}

pub(crate) fn secrets() -> Secrets {
    Secrets {
        client_secret: "local-client-secret".into(),
        refresh_token: "1000.refresh.intake".into(),
    }
}

pub(crate) fn tls() -> rustls::ClientConfig {
    let provider = rustls::crypto::ring::default_provider();
    rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

pub(crate) fn zoho_with(config: &Config, cache: Box<dyn TokenCache>) -> Zoho {
    Zoho::new(config, secrets(), tls(), cache).unwrap()
}

/// A client of the CRM at `url`.
pub(crate) fn zoho(url: &str) -> Zoho {
    let config = config(url);
    zoho_with(&config, Box::new(NoTokenCache))
}
