//! The function with everything around it in memory.

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::policy::PollPolicy;
use sendtrail_core::ports::{Clock, Random};
use sendtrail_core::testing::{MemoryStore, Row, ScriptedDriver, ScriptedDrivers, TestWorld};
use sendtrail_startup::{Environment, logs_to};
use serde_json::{Value, json};

use crate::{App, RunFailed, Used};

pub(super) const TICK: &str = r#"{"v":1,"kind":"tick"}"#;
/// What must be in no log, metric or report.
pub(super) const RECIPIENT: &str = "Ann Recipient";

/// The test's clock, shared with the store.
#[derive(Debug, Clone)]
pub(super) struct World(pub(super) Arc<TestWorld>);

impl Clock for World {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
    async fn sleep(&self, duration: SignedDuration) {
        self.0.sleep(duration).await;
    }
}

impl Random for World {
    fn bits(&self) -> u128 {
        self.0.bits()
    }
}

#[derive(Debug, Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything a test touches. Logs are captured as long as it lives.
pub(super) struct Rig {
    pub(super) world: World,
    pub(super) app: App<MemoryStore, ScriptedDrivers, World>,
    sink: Sink,
    _guard: tracing::subscriber::DefaultGuard,
}

/// What a run gave back, and its metrics.
pub(super) struct Seen {
    pub(super) result: Result<Value, RunFailed>,
    pub(super) metrics: Value,
}

impl Rig {
    pub(super) fn new() -> Self {
        let world = World(Arc::new(TestWorld::new()));
        let app = App {
            store: MemoryStore::new(Arc::clone(&world.0)),
            drivers: ScriptedDrivers(ScriptedDriver::new(true)),
            world: world.clone(),
            policy: PollPolicy {
                stage: "local".to_owned(),
                claim_stale: SignedDuration::from_secs(90),
                page_rows: 200,
                max_pages: 5,
                concurrency: 8,
                rate_per_second: 20,
                row_timeout: SignedDuration::from_secs(20),
                reserve: SignedDuration::from_secs(15),
                list_lag: SignedDuration::from_secs(60),
                interval: SignedDuration::from_mins(2),
            },
            used: |_| Used::default(),
        };
        let sink = Sink::default();
        // The most that can be asked for: a secret that is logged at any level is found.
        let level = ("AWS_LAMBDA_LOG_LEVEL".to_owned(), "TRACE".to_owned());
        let env = Environment::new([level], "");
        let writer = sink.clone();
        let (subscriber, _logs) = logs_to("poller", &env, move || writer.clone());
        Self {
            world,
            app,
            sink,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    pub(super) fn driver(&self) -> &ScriptedDriver {
        &self.app.drivers.0
    }

    /// A tick with 110 seconds to go.
    pub(super) async fn tick(&self) -> Seen {
        self.run(TICK, self.world.0.after(110)).await
    }

    pub(super) async fn run(&self, event: &str, deadline: Timestamp) -> Seen {
        let handled = self.app.handle(event, deadline).await;
        let line = handled.metrics.render(self.world.now());
        assert!(!line.contains(RECIPIENT));
        assert!(!self.logs().contains(RECIPIENT));
        Seen {
            result: handled.result,
            metrics: serde_json::from_str(&line).unwrap(),
        }
    }

    /// An accepted send that is due, and whose deadline is this many seconds off.
    pub(super) fn accepted(&self, external_id: &str, deadline: i64) -> HistoryId {
        let (past, at) = (self.world.0.after(-100), self.world.0.after(deadline));
        let progress = json!({
            "v": 1, "rev": 4, "next_check_at": past.to_string(), "attempts": 0,
            "deadline": at.to_string(),
            "submission": {
                "driver": "letter", "reference": "st_0123456789abcdef0123456789abcdef",
                "outcome": "accepted", "external_id": external_id, "at": past.to_string(),
                "evidence": {},
            },
            "trail": [],
        });
        self.row("accepted", &progress.to_string())
    }

    /// A record in this state, due, with this text as its progress.
    pub(super) fn row(&self, state: &str, progress: &str) -> HistoryId {
        let mut row = Row::default();
        row.state = Some(state.to_owned());
        row.progress = Some(progress.to_owned());
        row.input = Some(format!(r#"{{"to":{{"name":"{RECIPIENT}"}}}}"#));
        row.next_check_at = Some(self.world.0.after(-100));
        self.app.store.insert(row)
    }

    /// Lets the versions of all rows become old enough for a list to be a base.
    pub(super) async fn settle(&self) {
        self.world.sleep(SignedDuration::from_secs(61)).await;
    }

    pub(super) fn state(&self, id: &HistoryId) -> String {
        self.app.store.row(id).unwrap().state.unwrap_or_default()
    }

    /// Every log line so far.
    pub(super) fn lines(&self) -> Vec<Value> {
        self.logs()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn logs(&self) -> String {
        String::from_utf8(self.sink.0.lock().unwrap().clone()).unwrap()
    }
}

impl Seen {
    /// The report of a run that happened.
    pub(super) fn report(&self) -> &Value {
        self.result.as_ref().unwrap()
    }
}
