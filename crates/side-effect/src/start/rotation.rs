//! Secrets that are changed while the function lives.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sendtrail_core::ports::Clock as _;
use sendtrail_core::testing::TestWorld;
use sendtrail_signature::sign;
use sendtrail_startup::SAMPLE;
use sendtrail_startup::testing::{CapturedLogs, Counted};
use serde_json::{Value, json};

use super::*;

const DRIVER: &str = include_str!("../../../../infra/config/drivers/lob-letter.toml");
const OLD: &str = "old-signing-key-of-side-effect-0123456789";
const NEW: &str = "new-signing-key-of-side-effect-0123456789";

fn put(folder: &Path, name: &str, value: &str) {
    std::fs::write(folder.join(name), value).unwrap();
}

/// An installation with its secrets in files, and a CRM that is not there.
fn installation() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut text = SAMPLE.replace("https://accounts.zoho.com", "http://127.0.0.1:1");
    text = text.replace("https://www.zohoapis.com", "http://127.0.0.1:1");
    for (variable, value) in [
        ("CRM_CLIENT_SECRET", "the-client-secret"),
        ("CRM_REFRESH_SIDE_EFFECT", "the-refresh-token"),
        ("SEAL_KEY", "seal-key-0123456789abcdefghijklmnopqrs"),
        ("SIDE_EFFECT_K1", OLD),
        ("LOB_KEY", "test_0123456789_key_of_the_send_api"),
    ] {
        text = text.replace(
            &format!("\"env:{variable}\""),
            &format!("\"file:{variable}\""),
        );
        put(path, variable, value);
    }
    put(path, "sendtrail.toml", &text);
    std::fs::create_dir(path.join("drivers")).unwrap();
    put(path, "drivers/lob-letter.toml", DRIVER);
    folder
}

/// A press that this key signs.
fn press(key: &str, now: jiff::Timestamp) -> Value {
    let body = json!({
        "aud": "prod/side-effect", "op": "send", "history_id": "57",
        "document_sha256": "0".repeat(64), "actor": {"id": "u1", "name": "Sam Seller"},
    });
    let (body, timestamp) = (body.to_string(), now.as_second().to_string());
    let key = Secret::parse(key).unwrap();
    json!({
        "version": "2.0", "rawPath": "/v1/sends", "rawQueryString": "",
        "headers": {
            "webhook-id": "press-1", "webhook-timestamp": timestamp,
            "webhook-signature": sign(&key, "press-1", &timestamp, body.as_bytes()),
        },
        "requestContext": {
            "http": {"method": "POST", "path": "/v1/sends"},
            "requestId": "req-1", "timeEpoch": now.as_millisecond(),
        },
        "body": body, "isBase64Encoded": false,
    })
}

#[tokio::test(start_paused = true)]
async fn a_new_signing_key_works_in_the_same_process_and_a_flood_asks_once_in_five_minutes() {
    let folder = installation();
    let _logs = CapturedLogs::start("side-effect");
    let env = Environment::new([], folder.path());
    let recipe = recipe(&env, &Logs::start("side-effect", &env)).unwrap();
    let secrets = recipe.secrets().await.unwrap();
    let (recipe, reads) = Counted::new(recipe);
    let world = Arc::new(TestWorld::new());
    let mut instance = Instance::with_clock(recipe, secrets, Arc::clone(&world)).unwrap();
    let handler = async |app: &Live, event: Invocation<'_>| {
        app.handle(event.payload, event.request_id, event.deadline)
            .await
    };
    let mut code = async |key: &str| {
        let event = press(key, world.now()).to_string();
        let invocation = Invocation {
            payload: &event,
            request_id: "inv-1",
            // The function itself runs on the machine's clock.
            deadline: jiff::Timestamp::now() + SignedDuration::from_secs(60),
        };
        let served = instance.serve(invocation, &handler).await;
        let body: Value = serde_json::from_str(served.response.body()).unwrap();
        body["code"].as_str().unwrap().to_owned()
    };

    assert_eq!(code(OLD).await, "crm_unavailable", "let in");
    put(folder.path(), "SIDE_EFFECT_K1", NEW);
    assert_eq!(code(NEW).await, "crm_unavailable", "let in");
    for _ in 0..299 {
        assert_eq!(code(OLD).await, "unauthorized");
        world.sleep(SignedDuration::from_secs(1)).await;
    }
    assert_eq!(reads.load(Ordering::Relaxed), 1);
    world.sleep(SignedDuration::from_secs(1)).await;
    assert_eq!(code(OLD).await, "unauthorized");
    assert_eq!(reads.load(Ordering::Relaxed), 2);
}
