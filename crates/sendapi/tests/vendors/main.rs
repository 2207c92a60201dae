//! The shipped drivers, whole, against the simulated API each was written for: submit, find and look up.

#![expect(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

mod cloudsign;
mod lob;
mod resend;
mod telnyx;

use bytes::Bytes;
use secrecy::SecretString;
use sendtrail_core::ids::{DriverId, ExternalId, HistoryId, Reference, Sha256Hash};
use sendtrail_core::input::Input;
use sendtrail_core::ports::{LookUp as _, LookUpAnswer, Order, Submit as _, SubmitOutcome};
use sendtrail_sendapi::{Driver, Drivers, Timeouts, load};
use sendtrail_simulator::send_api::{SendApi, SendApiConfig};
use serde_json::{Value, json};

const PDF: &[u8] = b"%PDF-1.7\n\xffhello\n%%EOF\n";
const PLENTY: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// A shipped driver and the API it talks to.
struct Stage {
    api: SendApi,
    drivers: Drivers,
    id: DriverId,
}

impl Stage {
    /// `vendor` is the address in the file, `path` where the simulator has that API.
    async fn start(id: &str, vendor: &str, path: &str) -> Self {
        let api = SendApi::start(SendApiConfig::default()).await.unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../infra/config/drivers");
        let text = std::fs::read_to_string(format!("{folder}/{id}.toml")).unwrap();
        let host = vendor.trim_start_matches("https://");
        let host = host.split('/').next().unwrap();
        let local = format!("{}{path}", api.url);
        assert!(text.contains(vendor) && text.contains(&format!("\"{host}\"")));
        let text = text
            .replace(vendor, &local)
            .replace(&format!("\"{host}\""), "\"127.0.0.1\"");
        let files = load(&[(format!("{id}.toml"), text)]).unwrap_or_else(|bad| panic!("{bad}"));
        let secret = |_: &_| Some(SecretString::from("test_key"));
        let drivers = Drivers::build(files, secret, tls(), Timeouts::default()).unwrap();
        let id = DriverId::parse(id).unwrap();
        Self { api, drivers, id }
    }

    fn driver(&self) -> &Driver {
        self.drivers.get(&self.id).unwrap()
    }

    async fn submit(&self, order: &Order) -> SubmitOutcome {
        let prepared = match self.driver().prepare(order).await {
            Ok(prepared) => prepared,
            Err(proof) => return SubmitOutcome::NotSent(proof),
        };
        self.driver().submit(order, prepared, PLENTY).await
    }

    /// Submits what must be accepted.
    async fn accepted(&self, order: &Order) -> ExternalId {
        match self.submit(order).await {
            SubmitOutcome::Accepted { external_id, .. } => external_id,
            other @ (SubmitOutcome::Rejected(_)
            | SubmitOutcome::NotSent(_)
            | SubmitOutcome::Unknown(_)) => panic!("{other:?}"),
        }
    }

    /// Looks up until it is not pending; the words on the way must be known to the driver.
    async fn ending(&self, id: &ExternalId) -> LookUpAnswer {
        for _ in 0..10 {
            match self.driver().look_up(id).await {
                LookUpAnswer::Pending { recognised, status } => assert!(recognised, "{status}"),
                ending @ (LookUpAnswer::Delivered { .. }
                | LookUpAnswer::Undelivered { .. }
                | LookUpAnswer::NotFound
                | LookUpAnswer::Failed(_)) => return ending,
            }
        }
        panic!("still pending");
    }

    fn driver_can_find(&self) -> bool {
        sendtrail_core::ports::LookUp::capabilities(self.driver()).can_find
    }

    /// How many POSTs were acted on or may have been, and how many were refused.
    fn posts(&self) -> (u32, u32) {
        let counts = self.api.post_counts(None).unwrap();
        assert_eq!(counts.incomplete, 0);
        (counts.received, counts.refused)
    }
}

fn order(driver: &str, reference: &str, to: &Value, fields: &Value) -> Order {
    let source = json!({"module": "Deals", "record_id": "1", "attachment_id": "2"});
    let input = json!({"driver": driver, "source": source, "to": to, "fields": fields});
    Order {
        history_id: HistoryId::parse("57").unwrap(),
        reference: Reference::parse(reference).unwrap(),
        input: Input::from_stored(&input.to_string()).unwrap(),
        document: Bytes::from_static(PDF),
        document_sha256: Sha256Hash::of(PDF),
    }
}

fn tls() -> rustls::ClientConfig {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

fn delivered(status: &str) -> LookUpAnswer {
    let status = status.to_owned();
    LookUpAnswer::Delivered { status }
}

fn undelivered(status: &str) -> LookUpAnswer {
    let status = status.to_owned();
    LookUpAnswer::Undelivered { status }
}
