//! What the host's tests share.
#![expect(clippy::unwrap_used, reason = "helpers of tests only")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use sendtrail_host::{FunctionSpec, Host, LogLine, LogSink};
use serde_json::Value;

/// How long a condition may take to come true before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// An example binary of this package; cargo builds the examples together with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test
        .parent()
        .and_then(|deps| deps.parent())
        .unwrap()
        .join("examples")
        .join(name);
    assert!(
        path.is_file(),
        "{} is missing: build the examples",
        path.display()
    );
    path
}

/// The test function under this name.
pub(crate) fn spec(name: &str) -> FunctionSpec {
    FunctionSpec {
        timeout: Duration::from_secs(20),
        ..FunctionSpec::new(name, example("host-test-function"))
    }
}

/// A host of one function without logs.
pub(crate) async fn host(spec: FunctionSpec) -> Host {
    Host::start(vec![spec], LogSink::new()).await.unwrap()
}

/// Calls a function and reads its answer.
pub(crate) async fn call(host: &Host, function: &str, payload: Value) -> Value {
    let answer = host.invoke(function, payload.to_string()).await.unwrap();
    serde_json::from_slice(&answer).unwrap()
}

/// A sink that keeps every line.
pub(crate) fn kept_log() -> (LogSink, Arc<Mutex<Vec<LogLine>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&lines);
    (
        LogSink::new().on_line(move |line| into.lock().unwrap().push(line.clone())),
        lines,
    )
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !holds() {
        assert!(
            tokio::time::Instant::now() < deadline,
            "waited in vain until {what}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process is there and no zombie.
pub(crate) fn runs(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status
        .lines()
        .any(|line| line.starts_with("State:") && !line.contains('Z') && !line.contains('X'))
}

/// A plain client; the TLS library wants its provider installed also where there is no TLS.
pub(crate) fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        rustls::crypto::ring::default_provider()
            .install_default()
            .unwrap();
    });
    reqwest::Client::builder().no_proxy().build().unwrap()
}
