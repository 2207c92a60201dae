//! One CRM access token for every instance of a function, through the real binaries: a Parameter Store beside the
//! local CRM, and functions that are started cold as often as a test wants.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sendtrail_host::{FunctionSpec, Host, InvokeError, LogSink, Schedule, UrlConfig};
use sendtrail_simulator::parameters::{
    ParameterFault, ParameterFaultKind, ParameterKind, Parameters, ParametersConfig,
    ParametersHandle,
};
use serde_json::{Value, json};

use crate::binaries::{folder, root};

const FUNCTIONS: [&str; 3] = ["intake", "side-effect", "poller"];
const NAME: &str = "ssm:/sendtrail/{stage}/{function}/crm-token";

/// CRM and send API as a process, Parameter Store and functions in this one.
struct World {
    services: Child,
    data: tempfile::TempDir,
    endpoints: Value,
    store: ParametersHandle,
    host: Host,
    http: reqwest::Client,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.services.kill();
        let _ = self.services.wait();
    }
}

impl World {
    async fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let (services, endpoints) = services(data.path());
        let store = Parameters::start(ParametersConfig::default())
            .await
            .unwrap();
        let specs = FUNCTIONS.map(|name| spec(name, data.path(), &endpoints, store.url()));
        let logs = LogSink::new().in_dir(data.path().join("logs"));
        let host = Host::start(specs.into(), logs).await.unwrap();
        let tls = sendtrail_startup::tls().unwrap();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy();
        Self {
            services,
            data,
            endpoints,
            store,
            host,
            http: http.build().unwrap(),
        }
    }

    fn text(&self, key: &str) -> &str {
        self.endpoints[key].as_str().unwrap()
    }

    /// The answers of the accounts server so far.
    async fn token_requests(&self) -> usize {
        let url = format!("{}/_sim/log", self.text("crm_url"));
        let answer = self.http.get(url).send().await.unwrap();
        let log: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        let lines = log["log"].as_array().unwrap().iter();
        lines
            .filter(|line| line["path"] == "/oauth/v2/token")
            .count()
    }

    async fn end_all_tokens(&self) {
        let url = format!("{}/_sim/tokens", self.text("crm_url"));
        let request = self
            .http
            .post(url)
            .header("content-type", "application/json");
        let answer = request.body(r#"{"end_all":true}"#).send().await.unwrap();
        assert!(answer.status().is_success());
    }

    async fn tick(&self) -> Result<(), InvokeError> {
        self.host.invoke("poller", "{}").await.map(drop)
    }

    fn log(&self, function: &str) -> String {
        let path = self.data.path().join(format!("logs/{function}.log"));
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// How often a function's log holds this text.
    fn said(&self, function: &str, text: &str) -> usize {
        self.log(function).matches(text).count()
    }
}

/// Starts `sendtrail local` without functions, and waits until it says where it is.
fn services(data: &Path) -> (Child, Value) {
    let file = data.join("endpoints.json");
    let mut child = Command::new(folder().join("sendtrail"))
        .args(["local", "--quick", "--no-functions", "--data"])
        .arg(data)
        .arg("--endpoints")
        .arg(&file)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if let Ok(endpoints) = serde_json::from_str(&text) {
            return (child, endpoints);
        }
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "sendtrail local ended by itself");
        assert!(Instant::now() < end, "sendtrail local did not start");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// The function as it is deployed. The host gives no credentials, so a script in front of the binary does.
fn spec(name: &str, data: &Path, endpoints: &Value, store: &str) -> FunctionSpec {
    let script = data.join(format!("start-{name}"));
    let binary = folder().join(name);
    let lines = format!(
        "#!/bin/sh\nexport AWS_ACCESS_KEY_ID=AKIDLOCAL AWS_SECRET_ACCESS_KEY=local-aws-key\nexec '{}'\n",
        binary.display()
    );
    std::fs::write(&script, lines).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut spec = FunctionSpec::new(name, script);
    for (key, value) in [
        ("SENDTRAIL_CONFIG", endpoints["config"].as_str().unwrap()),
        ("SENDTRAIL_CRM__TOKEN_CACHE", NAME),
        ("AWS_ENDPOINT_URL", store),
    ] {
        spec.env.insert(key.to_owned(), value.to_owned());
    }
    if name == "side-effect" {
        // The quick stack's 10 s leave no room for what a store in trouble may take.
        let key = "SENDTRAIL_SIDE_EFFECT__TIMEOUT".to_owned();
        spec.env.insert(key, "30s".to_owned());
    }
    if name != "poller" {
        spec.url = Some(UrlConfig::default());
    }
    spec
}

#[tokio::test]
async fn fifty_cold_starts_in_one_second_ask_for_at_most_two_tokens() {
    let world = Arc::new(World::start().await);
    let ticks = (0..50).map(|_| {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.tick().await })
    });
    for tick in ticks.collect::<Vec<_>>() {
        // Fifty at once are more than the CRM's concurrency: some runs fail for that, and for no other reason.
        let _ = tick.await.unwrap();
    }
    assert_eq!(world.host.counts("poller").started, 50);
    let asked = world.token_requests().await;
    assert!((1..=2).contains(&asked), "{asked}");
    assert_eq!(world.said("poller", "refuses new tokens"), 0);
    assert_eq!(world.said("poller", "1000."), 0, "a token is in the log");
}

#[tokio::test]
async fn fifty_cold_starts_one_after_the_other_ask_for_at_most_two_tokens() {
    let world = World::start().await;
    for _ in 0..50 {
        world.tick().await.unwrap();
        assert_eq!(world.host.kill_instances("poller").await, 1);
    }
    assert_eq!(world.host.counts("poller").started, 50);
    let asked = world.token_requests().await;
    assert!((1..=2).contains(&asked), "{asked}");
}

#[tokio::test]
async fn denied_the_store_each_start_works_alone_until_the_limit_of_the_crm() {
    let world = World::start().await;
    for action in ["GetParameters", "PutParameter", "DeleteParameters"] {
        let fault = ParameterFault::lasting(ParameterFaultKind::Deny, action);
        world.store.add_fault(fault);
    }
    let mut worked = Vec::new();
    for _ in 0..12 {
        worked.push(world.tick().await.is_ok());
        world.host.kill_instances("poller").await;
    }
    assert_eq!(worked, [vec![true; 10], vec![false; 2]].concat());
    assert_eq!(world.token_requests().await, 12);
    let said = world.said("poller", "the role may not ssm:GetParameters");
    assert_eq!(said, 12, "each start says it once");
    assert!(world.store.all().is_empty());
}

#[tokio::test]
async fn a_limit_that_was_met_is_shared_and_later_starts_do_not_ask() {
    let world = World::start().await;
    // Ten tokens are gone before the store can be used.
    let deny = ParameterFault::lasting(ParameterFaultKind::Deny, "GetParameters");
    world.store.add_fault(deny);
    for _ in 0..10 {
        world.tick().await.unwrap();
        world.host.kill_instances("poller").await;
    }
    world.store.clear_faults();
    for stored in world.store.all() {
        world.store.delete(&stored.name);
    }
    for _ in 0..5 {
        assert!(world.tick().await.is_err());
        world.host.kill_instances("poller").await;
    }
    assert_eq!(world.token_requests().await, 11);
}

/// Destroys the token of every function, in another way each time, until it is told to stop.
fn vandal(world: &Arc<World>, stop: &Arc<AtomicBool>) -> std::thread::JoinHandle<usize> {
    let (world, stop) = (Arc::clone(world), Arc::clone(stop));
    std::thread::spawn(move || {
        let mut done = 0;
        while !stop.load(Ordering::SeqCst) {
            for function in FUNCTIONS {
                let name = format!("/sendtrail/local/{function}/crm-token");
                let before = world.store.value(&name).unwrap_or_default();
                let broken = match done % 5 {
                    0 => {
                        world.store.delete(&name);
                        continue;
                    }
                    1 => "{ cut".to_owned(),
                    2 => before.replace("1000.", "2000."),
                    3 => before.replace("20", "29"),
                    _ => "x".repeat(4_096),
                };
                world.store.put(&name, &broken, ParameterKind::SecureString);
            }
            done += 1;
            std::thread::park_timeout(Duration::from_millis(20));
        }
        done
    })
}

#[tokio::test]
async fn a_token_destroyed_at_any_moment_changes_no_outcome_of_a_send() {
    let python = std::env::var_os("SENDTRAIL_TEST_PYTHON")
        .map_or_else(|| root().join("target/python/bin/python"), PathBuf::from);
    let world = Arc::new(World::start().await);
    let mut endpoints = world.endpoints.clone();
    for (key, function) in [("intake_url", "intake"), ("side_effect_url", "side-effect")] {
        endpoints[key] = world.host.url(function).unwrap().into();
    }
    let file = world.data.path().join("host.json");
    std::fs::write(&file, endpoints.to_string()).unwrap();
    let ticks = Schedule {
        name: "tick".to_owned(),
        function: "poller".to_owned(),
        every: Duration::from_secs(1),
        input: json!({}),
    };
    let _ticks = world.host.add_schedule(ticks).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let vandal = vandal(&world, &stop);
    let mut send = tokio::process::Command::new(python)
        .arg(root().join("tests/suite/standard_webhooks.py"))
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    // Every token is ended in its course, so that each function needs another one meanwhile; never twice in the time
    // that one call may take, which has one other token to try.
    for pause in [1, 12, 12].map(Duration::from_secs) {
        if tokio::time::timeout(pause, send.wait()).await.is_ok() {
            break;
        }
        world.end_all_tokens().await;
    }
    let output = send.wait_with_output().await.unwrap();
    stop.store(true, Ordering::SeqCst);
    assert!(vandal.join().unwrap() > 10);
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{text}\n{errors}\n{}",
        world.log("intake")
    );
    let log = world.log("side-effect");
    assert!(text.contains("sent 200 accepted\n"), "{text}\n{log}");
    let asked = world.token_requests().await;
    assert!(
        asked > FUNCTIONS.len(),
        "no token was needed meanwhile: {asked}"
    );
    assert!(text.ends_with("final succeeded\n"), "{text}");
    let posts = format!("{}/_sim/posts", world.text("send_api_url"));
    let posts = world
        .http
        .get(posts)
        .send()
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap();
    let posts: Value = serde_json::from_slice(&posts).unwrap();
    assert_eq!(
        (&posts["received"], &posts["accepted"]),
        (&json!(1), &json!(1))
    );
}
