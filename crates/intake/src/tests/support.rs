//! Requests as a widget and a CRM function make them.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::SignedDuration;
use sendtrail_core::ids::{DriverId, HistoryId, Sha256Hash};
use sendtrail_core::input::{Input, input_sha256};
use sendtrail_core::ports::Clock as _;
use sendtrail_core::testing::{CheckMac, Row, TestWorld};
use sendtrail_door::{Claims, KeyRing, Purpose, Response, Secret, TokenKey};
use sendtrail_signature::sign;
use sendtrail_startup::lambda::Handled;
use serde_json::{Value, json};

use super::crm::{Faults, TestCrm};
use crate::{App, Settings};

pub(super) const PDF: &[u8] = b"%PDF-1.4\ntrailer\n<< /Root 1 0 R >>\nstartxref\n9\n%%EOF\n";
pub(super) const MAX_BYTES: u64 = 2_000;
pub(super) const SIGNING: &str = "signing-key-of-intake-0123456789abcdef";
pub(super) const TOKENS: &str = "token-key-of-intake-0123456789abcdefgh";

/// The function, its CRM and its clock.
pub(super) struct Stack {
    pub(super) app: App<TestCrm, Arc<TestWorld>, CheckMac>,
    pub(super) world: Arc<TestWorld>,
}

/// An answer, read.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) body: Value,
    pub(super) handled: Handled<Response>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.handled.response.header(name)
    }

    pub(super) fn text(&self, key: &str) -> String {
        self.body[key].as_str().unwrap().to_owned()
    }

    pub(super) fn is(&self, status: u16, code: &str) {
        assert_eq!(
            (self.status, self.code.as_str()),
            (status, code),
            "{self:?}"
        );
    }
}

/// What the widget holds after a save.
#[derive(Debug, Clone)]
pub(super) struct Saved {
    pub(super) id: HistoryId,
    pub(super) preview_token: String,
    pub(super) ticket: String,
}

pub(super) fn secret(text: &str) -> Secret {
    Secret::parse(text).unwrap()
}

pub(super) fn input() -> Value {
    json!({
        "aud": "local/intake", "op": "save", "driver": "letter",
        "source": {"module": "Deals", "record_id": "57", "attachment_id": "9"},
        "to": {"name": "Ann Recipient", "city": "Brno"}, "fields": {"color": false},
        "actor": {"id": "u1", "name": "Sam Seller"},
    })
}

impl Stack {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let world = Arc::new(TestWorld::new());
        let signing = ("k1".to_owned(), secret(SIGNING));
        let mut settings = Settings {
            stage: "local".to_owned(),
            drain: false,
            signing_keys: KeyRing::new(vec![signing]).unwrap(),
            token_key: TokenKey::new(secret(TOKENS), "local"),
            drivers: BTreeSet::from([DriverId::parse("letter").unwrap()]),
            preview_ttl: SignedDuration::from_mins(10),
            confirm_ttl: SignedDuration::from_mins(60),
            preview_link: false,
            max_document_bytes: MAX_BYTES,
            attempt_time: SignedDuration::from_secs(10),
        };
        change(&mut settings);
        let crm = TestCrm::new(Arc::clone(&world));
        crm.store.put_source("Deals", "57", "9", PDF);
        Self {
            app: App::new(crm, Arc::clone(&world), CheckMac(7), settings),
            world,
        }
    }

    pub(super) fn fail(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.app.crm.faults.lock().unwrap());
    }

    pub(super) async fn handle(&self, event: &Value) -> Answer {
        self.handle_text(&event.to_string()).await
    }

    pub(super) async fn handle_text(&self, event: &str) -> Answer {
        let handled = self.app.handle(event, "inv-1", self.world.after(30)).await;
        let body: Value = serde_json::from_str(handled.response.body()).unwrap_or_default();
        Answer {
            status: handled.response.status(),
            code: body["code"].as_str().unwrap_or_default().to_owned(),
            body,
            handled,
        }
    }

    /// An event as a Function URL sends it.
    pub(super) fn event(&self, method: &str, path: &str, headers: &Value, body: &[u8]) -> Value {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        json!({
            "version": "2.0", "rawPath": path, "rawQueryString": query, "headers": headers,
            "requestContext": {
                "http": {"method": method, "path": path, "protocol": "HTTP/1.1"},
                "requestId": "req-1", "timeEpoch": self.world.now().as_millisecond(),
            },
            "body": STANDARD.encode(body), "isBase64Encoded": true,
        })
    }

    pub(super) fn signed(&self, method: &str, path: &str, key: &str, body: &Value) -> Value {
        let body = body.to_string();
        let timestamp = self.world.now().as_second().to_string();
        let headers = json!({
            "content-type": "application/json", "webhook-id": key, "webhook-timestamp": timestamp,
            "webhook-signature": sign(&secret(SIGNING), key, &timestamp, body.as_bytes()),
        });
        self.event(method, path, &headers, body.as_bytes())
    }

    pub(super) async fn post(&self, key: &str, body: &Value) -> Answer {
        self.handle(&self.signed("POST", "/v1/histories", key, body))
            .await
    }

    pub(super) async fn put(&self, id: &HistoryId, key: &str, body: &Value) -> Answer {
        let mut body = body.clone();
        body["history_id"] = json!(id.as_str());
        let path = format!("/v1/histories/{id}");
        self.handle(&self.signed("PUT", &path, key, &body)).await
    }

    pub(super) async fn saved(&self) -> Saved {
        let answer = self.post("msg_1", &input()).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        held(&answer)
    }

    pub(super) async fn preview(&self, id: &HistoryId, token: &str) -> Answer {
        let headers = json!({"authorization": format!("Bearer {token}")});
        let path = format!("/v1/histories/{id}/preview");
        self.handle(&self.event("GET", &path, &headers, b"")).await
    }

    /// The receipt of a preview that is shown.
    pub(super) async fn seen(&self, saved: &Saved) -> String {
        let answer = self.preview(&saved.id, &saved.preview_token).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.header("sendtrail-receipt").unwrap().to_owned()
    }

    pub(super) fn document_event(&self, saved: &Saved, receipt: &str, bytes: &[u8]) -> Value {
        let headers = json!({
            "authorization": format!("Bearer {}", saved.ticket), "sendtrail-receipt": receipt,
            "content-type": "application/pdf",
        });
        let path = format!("/v1/histories/{}/document", saved.id);
        self.event("PUT", &path, &headers, bytes)
    }

    pub(super) async fn confirm(&self, saved: &Saved, receipt: &str, bytes: &[u8]) -> Answer {
        self.handle(&self.document_event(saved, receipt, bytes))
            .await
    }

    pub(super) fn token(&self, claims: &Claims) -> String {
        self.app.settings.token_key.issue(claims)
    }

    /// Claims that are good for this record now, with the input of [`input`].
    pub(super) fn claims(&self, purpose: Purpose, id: &HistoryId, rev: u64) -> Claims {
        Claims {
            purpose,
            history_id: id.to_string(),
            rev,
            input_sha256: saved_input_sha256(&input()),
            document_sha256: None,
            expires_at: self.world.now().as_second() + 60,
        }
    }

    pub(super) fn receipt_for(&self, id: &HistoryId, rev: u64, bytes: &[u8]) -> String {
        self.token(&Claims {
            document_sha256: Some(Sha256Hash::of(bytes).to_string()),
            ..self.claims(Purpose::Receipt, id, rev)
        })
    }

    /// A person replaces the input in the CRM.
    pub(super) fn edit_input(&self, id: &HistoryId, text: &str) {
        let store = &self.app.crm.store;
        store.edit_by_hand(id, |row| row.input = Some(text.to_owned()));
    }

    /// A person changes the recipient in the CRM: the input stays good.
    pub(super) fn edit_recipient(&self, id: &HistoryId) {
        let text = self.row(id).input.unwrap();
        let edited = text.replace("Ann", "Eve");
        assert!(edited != text && Input::from_stored(&edited).is_ok());
        self.edit_input(id, &edited);
    }

    pub(super) fn row(&self, id: &HistoryId) -> Row {
        self.app.crm.store.row(id).unwrap()
    }

    /// Writes, uploads and records: what must not grow when a request is refused.
    pub(super) fn traces(&self) -> (u64, usize, usize) {
        let store = &self.app.crm.store;
        (store.writes(), store.files(), store.ids().len())
    }

    pub(super) fn metrics(&self, answer: &Answer) -> Value {
        serde_json::from_str(&answer.handled.metrics.render(self.world.now())).unwrap()
    }
}

/// The hash of the text that is stored for this body.
pub(super) fn saved_input_sha256(body: &Value) -> String {
    let input = Input::from_object(body.as_object().unwrap()).unwrap();
    input_sha256(&input.to_stored().unwrap()).to_string()
}

/// What the widget holds after this answer.
pub(super) fn held(answer: &Answer) -> Saved {
    Saved {
        id: HistoryId::parse(&answer.text("history_id")).unwrap(),
        preview_token: answer.text("preview_token"),
        ticket: answer.text("confirm_ticket"),
    }
}
