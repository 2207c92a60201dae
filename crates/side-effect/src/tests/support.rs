//! The function with everything around it in memory, and requests signed as a CRM function signs them.

use std::sync::Arc;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{Confirmed, DocumentToConfirm, SaveOrder, Saved, confirm, save};
use sendtrail_core::ids::{ExternalId, HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::input::Input;
use sendtrail_core::policy::SubmitPolicy;
use sendtrail_core::ports::{
    Clock as _, Evidence, FindTwins, GuardedWrite, Metered, NotSent, ReadDocument, SubmitOutcome,
};
use sendtrail_core::progress::{Actor, Progress};
use sendtrail_core::testing::{
    CheckMac, MemoryStore, Row, ScriptedDriver, ScriptedDrivers, TestWorld,
};
use sendtrail_door::{KeyRing, Secret};
use sendtrail_signature::sign;
use sendtrail_startup::Rotation;
use sendtrail_startup::lambda::Handled;
use sendtrail_startup::testing::CapturedLogs;
use serde_json::{Value, json};

use crate::{App, WakeUps};

pub(super) const PDF: &[u8] = b"%PDF-1.7 a letter";
/// What must never be in a log, a metric or an answer.
pub(super) const SECRET: &str = "a signing secret of more than 32 characters";
pub(super) const RECIPIENT: &str = "Ann Recipient";
pub(super) const ACTOR: &str = "Sam Seller";

/// Everything a test touches. Logs are captured as long as it lives.
pub(super) struct Rig<S = MemoryStore> {
    pub(super) world: Arc<TestWorld>,
    pub(super) memory: MemoryStore,
    pub(super) app: App<S, ScriptedDrivers, Arc<TestWorld>, CheckMac>,
    logs: CapturedLogs,
}

/// An answer as a caller and an operator see it.
pub(super) struct Seen {
    pub(super) status: u16,
    pub(super) body: Value,
    pub(super) metrics: Value,
    /// Everything that went out, for looking for what must not.
    pub(super) text: String,
    pub(super) retry_after: Option<String>,
    pub(super) allow: Option<String>,
    pub(super) rotation: Rotation,
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(|store| store)
    }
}

impl<S: GuardedWrite + ReadDocument + FindTwins + Metered> Rig<S> {
    /// A function whose store is what `wrap` makes of the one in memory.
    pub(super) fn with(wrap: impl FnOnce(MemoryStore) -> S) -> Self {
        let world = Arc::new(TestWorld::new());
        let memory = MemoryStore::new(Arc::clone(&world));
        let ring = KeyRing::new(vec![("k1".to_owned(), Secret::parse(SECRET).unwrap())]).unwrap();
        let app = App {
            ring,
            store: wrap(memory.clone()),
            drivers: ScriptedDrivers(ScriptedDriver::new(true)),
            world: world.clone(),
            mac: CheckMac(7),
            policy: SubmitPolicy {
                stage: "local".to_owned(),
                claim_settle: SignedDuration::from_secs(2),
                claim_stale: SignedDuration::from_secs(90),
                record_reserve: SignedDuration::from_secs(15),
            },
            wake_ups: WakeUps::default(),
            drain: false,
        };
        Self {
            world,
            memory,
            app,
            logs: CapturedLogs::start("side-effect"),
        }
    }

    pub(super) fn driver(&self) -> &ScriptedDriver {
        &self.app.drivers.0
    }

    /// A record that is ready to be sent.
    pub(super) async fn confirmed(&self, key: &str) -> HistoryId {
        self.confirmed_with(key, "letter", PDF).await
    }

    pub(super) async fn confirmed_with(&self, key: &str, driver: &str, pdf: &[u8]) -> HistoryId {
        let object = json!({
            "driver": driver,
            "source": {"module": "Deals", "record_id": "1", "attachment_id": "9"},
            "to": {"name": RECIPIENT},
            "fields": {},
        });
        let input = Input::from_object(object.as_object().unwrap()).unwrap();
        let order = SaveOrder {
            key: RequestKey::parse(key).unwrap(),
            body_sha256: Sha256Hash::of(key.as_bytes()),
            actor: Actor::new("u1", ACTOR).unwrap(),
            stored: input.to_stored().unwrap(),
            input,
        };
        let Saved::Saved(saved) = save(&self.memory, &self.world, &order).await else {
            panic!("not saved");
        };
        let document = DocumentToConfirm {
            bytes: Bytes::copy_from_slice(pdf),
            sha256: Sha256Hash::of(pdf),
            rev: saved.rev,
            input_sha256: saved.input_sha256,
        };
        let (mac, until) = (&self.app.mac, self.world.after(60));
        let confirmed = confirm(
            &self.memory,
            &self.world,
            mac,
            "local",
            &saved.id,
            document,
            until,
        );
        assert!(matches!(confirmed.await, Confirmed::Confirmed(_)));
        saved.id
    }

    pub(super) fn row(&self, id: &HistoryId) -> Row {
        self.memory.row(id).unwrap()
    }

    pub(super) fn state(&self, id: &HistoryId) -> String {
        self.row(id).state.unwrap_or_default()
    }

    pub(super) fn progress(&self, id: &HistoryId) -> Progress {
        Progress::decode(self.row(id).progress.as_deref()).unwrap()
    }

    /// Serves an event with 60 seconds to go.
    pub(super) async fn serve(&self, event: &str) -> Seen {
        self.serve_until(event, self.world.after(60)).await
    }

    pub(super) async fn serve_until(&self, event: &str, deadline: Timestamp) -> Seen {
        let handled = self.app.handle(event, "inv-1", deadline).await;
        let Handled {
            response, metrics, ..
        } = &handled;
        let line = metrics.render(self.world.now());
        Seen {
            status: response.status(),
            body: serde_json::from_str(response.body()).unwrap(),
            text: format!(
                "{}{line}{}",
                serde_json::to_string(response).unwrap(),
                self.logs.text()
            ),
            metrics: serde_json::from_str(&line).unwrap(),
            retry_after: response.header("retry-after").map(str::to_owned),
            allow: response.header("allow").map(str::to_owned),
            rotation: handled.rotation,
        }
    }

    /// Presses *send* under this `webhook-id`.
    pub(super) async fn press(&self, key: &str, id: &HistoryId) -> Seen {
        self.post(key, &send_body(id)).await
    }

    pub(super) async fn post(&self, key: &str, body: &Value) -> Seen {
        let event = self.signed(key, &body.to_string()).to_string();
        self.serve(&event).await
    }

    /// The event of a signed request.
    pub(super) fn signed(&self, key: &str, body: &str) -> Value {
        let secret = Secret::parse(SECRET).unwrap();
        let timestamp = self.world.now().as_second().to_string();
        let headers = json!({
            "content-type": "application/json",
            "webhook-id": key,
            "webhook-timestamp": timestamp,
            "webhook-signature": sign(&secret, key, &timestamp, body.as_bytes()),
        });
        self.event("POST", "/v1/sends", &headers, body)
    }

    pub(super) fn event(&self, method: &str, path: &str, headers: &Value, body: &str) -> Value {
        json!({
            "version": "2.0",
            "rawPath": path,
            "rawQueryString": "",
            "headers": headers,
            "requestContext": {
                "http": {"method": method, "path": path},
                "requestId": "req-1",
                "timeEpoch": self.world.now().as_millisecond(),
            },
            "body": body,
            "isBase64Encoded": false,
        })
    }

    /// Every log line so far.
    pub(super) fn lines(&self) -> Vec<Value> {
        self.logs.lines()
    }

    /// The lines of this level.
    pub(super) fn lines_at(&self, level: &str) -> Vec<Value> {
        let mut lines = self.lines();
        lines.retain(|line| line["level"] == level);
        lines
    }

    /// That a refused press left no trace: no submit, no write.
    pub(super) fn assert_untouched(&self, writes_before: u64) {
        assert_eq!(self.driver().submits(), []);
        assert_eq!(self.memory.writes(), writes_before);
    }
}

impl Seen {
    pub(super) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// That a problem of this status and code is what came, and that its metrics say so.
    pub(super) fn assert_problem(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.body);
        assert_eq!(self.metrics["code"], code);
        assert_eq!(self.metrics["refused"], u64::from(status < 500));
        assert_eq!(self.metrics["errors"], u64::from(status >= 500));
        assert_eq!(self.metrics["outcome"], "none");
        self.assert_discreet();
    }

    /// That nothing that went out holds a secret, a signature, a body or personal data.
    pub(super) fn assert_discreet(&self) {
        for hidden in [SECRET, RECIPIENT, ACTOR, "v1,", "%PDF", "local/side-effect"] {
            assert!(!self.text.contains(hidden), "{hidden} in {}", self.text);
        }
    }
}

pub(super) fn send_body(id: &HistoryId) -> Value {
    json!({
        "aud": "local/side-effect",
        "op": "send",
        "history_id": id.as_str(),
        "document_sha256": Sha256Hash::of(PDF).to_string(),
        "actor": {"id": "u1", "name": ACTOR},
    })
}

pub(super) fn evidence(class: &str, status: Option<u16>) -> Evidence {
    Evidence {
        class: class.to_owned(),
        status,
        detail: "detail of the API".to_owned(),
        bytes_sent: 20,
    }
}

pub(super) fn accepted(id: &str) -> SubmitOutcome {
    SubmitOutcome::Accepted {
        external_id: ExternalId::parse(id).unwrap(),
        evidence: evidence("status", Some(200)),
    }
}

pub(super) fn not_sent(retry_after: Option<SignedDuration>) -> NotSent {
    NotSent {
        evidence: evidence("status", Some(429)),
        retry_after,
    }
}
