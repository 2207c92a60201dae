//! The metrics line of each trouble, as the alarms see it.

use sendtrail_core::ports::StoreError;
use sendtrail_door::KeyRing;
use sendtrail_startup::testing::{CapturedLogs, assert_committed_lines};
use serde_json::Value;

use super::support::{SIGNING, Stack, input, secret};

async fn saved(stack: &Stack) -> Value {
    let answer = stack.post("msg_1", &input()).await;
    stack.metrics(&answer)
}

async fn with_failing_create(error: StoreError) -> Value {
    let stack = Stack::new();
    stack.fail(|faults| faults.create = Some(error));
    saved(&stack).await
}

async fn unsigned() -> Value {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let answer = stack.preview(&saved.id, "none").await;
    stack.metrics(&answer)
}

/// `k1` signs, and another key stands before it.
async fn signed_with_an_old_key() -> Value {
    let stack = Stack::with(|settings| {
        let newer = (
            "k2".to_owned(),
            secret("another-signing-key-0123456789abcdef"),
        );
        let keys = vec![newer, ("k1".to_owned(), secret(SIGNING))];
        settings.signing_keys = KeyRing::new(keys).unwrap();
    });
    saved(&stack).await
}

async fn previewed() -> Value {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let answer = stack.preview(&saved.id, &saved.preview_token).await;
    stack.metrics(&answer)
}

async fn confirmed() -> Value {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    let answer = stack.confirm(&saved, &receipt, super::support::PDF).await;
    stack.metrics(&answer)
}

#[tokio::test(start_paused = true)]
async fn the_committed_metrics_lines_are_what_the_code_emits() {
    // A call site first met while nobody listens may stay mute for the tests that run beside this one.
    let _logs = CapturedLogs::start("intake");
    let detail = || "invalid_code".to_owned();
    let lines = [
        ("quiet", saved(&Stack::new()).await),
        ("quiet: a preview", previewed().await),
        ("quiet: a confirm", confirmed().await),
        (
            "quiet: drained",
            saved(&Stack::with(|settings| settings.drain = true)).await,
        ),
        ("unauthorized", unsigned().await),
        (
            "errors",
            with_failing_create(StoreError::Transient { detail: detail() }).await,
        ),
        ("old_key_used", signed_with_an_old_key().await),
        (
            "crm_token_throttled",
            with_failing_create(StoreError::TokenThrottled).await,
        ),
        (
            "crm_token_refused",
            with_failing_create(StoreError::Unauthorized { detail: detail() }).await,
        ),
    ];
    assert_committed_lines("intake", &lines);
}
