//! A signing key is changed while the function lives.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::SignedDuration;
use sendtrail_core::ports::Clock as _;
use sendtrail_core::testing::TestWorld;
use sendtrail_signature::sign;
use sendtrail_startup::lambda::Invocation;
use sendtrail_startup::testing::{CapturedLogs, Counted};
use sendtrail_startup::{Environment, Instance, Logs, SAMPLE};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::support::{input, secret};
use crate::Recipe;

const OLD: &str = "old-signing-key-of-intake-0123456789abcdef";
const NEW: &str = "new-signing-key-of-intake-0123456789abcdef";

/// The function as it is deployed, with its secrets in files and a CRM that is not there.
struct Rig {
    folder: TempDir,
    instance: Instance<Counted<Recipe>, Arc<TestWorld>>,
    reads: Arc<AtomicU32>,
    world: Arc<TestWorld>,
    logs: CapturedLogs,
}

fn put(folder: &Path, name: &str, value: &str) {
    std::fs::write(folder.join(name), value).unwrap();
}

impl Rig {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let mut text = SAMPLE.replace("https://accounts.zoho.com", "http://127.0.0.1:1");
        text = text.replace("https://www.zohoapis.com", "http://127.0.0.1:1");
        for (variable, value) in [
            ("CRM_CLIENT_SECRET", "the-client-secret"),
            ("CRM_REFRESH_INTAKE", "the-refresh-token"),
            ("TOKEN_KEY", "token-key-of-intake-0123456789abcdefgh"),
            ("SEAL_KEY", "seal-key-0123456789abcdefghijklmnopqrs"),
            ("INTAKE_K1", OLD),
        ] {
            text = text.replace(
                &format!("\"env:{variable}\""),
                &format!("\"file:{variable}\""),
            );
            put(path, variable, value);
        }
        put(
            path,
            "sendtrail.toml",
            &text.replace("stage = \"prod\"", "stage = \"local\""),
        );
        std::fs::create_dir(path.join("drivers")).unwrap();
        put(path, "drivers/letter.toml", "");
        let logs = CapturedLogs::start("intake");
        let env = Environment::new([], path);
        let prepared = crate::start::prepared(&env, &Logs::start("intake", &env)).await;
        let (recipe, secrets) = prepared.unwrap();
        let (recipe, reads) = Counted::new(recipe);
        let world = Arc::new(TestWorld::new());
        Self {
            instance: Instance::with_clock(recipe, secrets, Arc::clone(&world)).unwrap(),
            folder,
            reads,
            world,
            logs,
        }
    }

    /// Serves a save that this key signs; its code, and the metrics line.
    async fn save(&mut self, key: &str) -> (String, Value) {
        let body = input().to_string();
        let timestamp = self.world.now().as_second().to_string();
        let event = json!({
            "version": "2.0", "rawPath": "/v1/histories", "rawQueryString": "",
            "headers": {
                "webhook-id": "msg_1", "webhook-timestamp": timestamp,
                "webhook-signature": sign(&secret(key), "msg_1", &timestamp, body.as_bytes()),
            },
            "requestContext": {
                "http": {"method": "POST", "path": "/v1/histories"},
                "requestId": "req-1", "timeEpoch": self.world.now().as_millisecond(),
            },
            "body": body, "isBase64Encoded": false,
        });
        let handler = async |app: &crate::Intake, event: Invocation<'_>| {
            app.handle(event.payload, event.request_id, event.deadline)
                .await
        };
        let invocation = Invocation {
            payload: &event.to_string(),
            request_id: "inv-1",
            // The function itself runs on the machine's clock.
            deadline: jiff::Timestamp::now() + SignedDuration::from_secs(30),
        };
        let served = self.instance.serve(invocation, &handler).await;
        let body: Value = serde_json::from_str(served.response.body()).unwrap();
        let line = served.metrics.render(self.world.now());
        (
            body["code"].as_str().unwrap().to_owned(),
            serde_json::from_str(&line).unwrap(),
        )
    }

    fn reads(&self) -> u32 {
        self.reads.load(Ordering::Relaxed)
    }
}

/// What a save comes to that the door let in: this CRM is not there.
const LET_IN: &str = "crm_unavailable";

#[tokio::test(start_paused = true)]
async fn a_new_key_works_in_the_same_process_after_one_reading_and_the_old_one_stops() {
    let mut rig = Rig::new().await;
    assert_eq!(rig.save(OLD).await.0, LET_IN);
    put(rig.folder.path(), "INTAKE_K1", NEW);
    let (code, line) = rig.save(NEW).await;
    assert_eq!(code, LET_IN);
    assert_eq!(line["secrets_read"], "changed");
    assert_eq!(
        (&line["unauthorized"], &line["key_name"]),
        (&json!(0), &json!("k1"))
    );
    assert_eq!(rig.save(OLD).await.0, "unauthorized");
    assert_eq!(rig.save(NEW).await.0, LET_IN);
    assert_eq!(rig.reads(), 1);
    let logged = rig.logs.text();
    assert!(!logged.contains(OLD) && !logged.contains(NEW), "{logged}");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_bad_signatures_has_the_secrets_read_once_in_five_minutes() {
    let mut rig = Rig::new().await;
    for _ in 0..299 {
        let (code, line) = rig.save(NEW).await;
        assert_eq!(
            (code.as_str(), &line["unauthorized"]),
            ("unauthorized", &json!(1))
        );
        rig.world.sleep(SignedDuration::from_secs(1)).await;
    }
    assert_eq!(rig.reads(), 1);
    rig.world.sleep(SignedDuration::from_secs(1)).await;
    rig.save(NEW).await;
    assert_eq!(rig.reads(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_goes_blank_or_short_leaves_the_function_with_the_old_one() {
    let mut rig = Rig::new().await;
    put(rig.folder.path(), "INTAKE_K1", "too short");
    rig.world.sleep(SignedDuration::from_mins(15)).await;
    let (code, line) = rig.save(OLD).await;
    assert_eq!(
        (code.as_str(), &line["secrets_read"]),
        (LET_IN, &json!("failed"))
    );
    let errors = rig
        .logs
        .lines()
        .into_iter()
        .filter(|line| line["level"] == "ERROR");
    let errors: Vec<_> = errors.collect();
    assert_eq!(errors.len(), 1);
    let told = errors[0]["error"].as_str().unwrap();
    assert!(
        told.contains("secret:intake-k1") && !told.contains("too short"),
        "{told}"
    );
}
