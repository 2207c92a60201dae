//! The function with everything around it in memory.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::policy::PollPolicy;
use sendtrail_core::ports::Clock as _;
use sendtrail_core::testing::{MemoryStore, Row, ScriptedDriver, ScriptedDrivers, TestWorld};
use sendtrail_startup::Rotation;
use sendtrail_startup::testing::CapturedLogs;
use serde_json::{Value, json};

use crate::{App, RunFailed};

pub(super) const TICK: &str = r#"{"v":1,"kind":"tick"}"#;
/// What must be in no log, metric or report.
pub(super) const RECIPIENT: &str = "Ann Recipient";

/// Everything a test touches. Logs are captured as long as it lives.
pub(super) struct Rig {
    pub(super) world: Arc<TestWorld>,
    pub(super) app: App<MemoryStore, ScriptedDrivers, Arc<TestWorld>>,
    logs: CapturedLogs,
}

/// What a run gave back, and its metrics.
pub(super) struct Seen {
    pub(super) result: Result<Value, RunFailed>,
    pub(super) metrics: Value,
    pub(super) rotation: Rotation,
}

impl Rig {
    pub(super) fn new() -> Self {
        let world = Arc::new(TestWorld::new());
        let app = App {
            store: MemoryStore::new(Arc::clone(&world)),
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
        };
        Self {
            world,
            app,
            logs: CapturedLogs::start("poller"),
        }
    }

    pub(super) fn driver(&self) -> &ScriptedDriver {
        &self.app.drivers.0
    }

    /// A tick with 110 seconds to go.
    pub(super) async fn tick(&self) -> Seen {
        self.run(TICK, self.world.after(110)).await
    }

    pub(super) async fn run(&self, event: &str, deadline: Timestamp) -> Seen {
        let handled = self.app.handle(event, deadline).await;
        let line = handled.metrics.render(self.world.now());
        assert!(!line.contains(RECIPIENT));
        assert!(!self.logs.text().contains(RECIPIENT));
        Seen {
            result: handled.response,
            metrics: serde_json::from_str(&line).unwrap(),
            rotation: handled.rotation,
        }
    }

    /// An accepted send that is due, and whose deadline is this many seconds off.
    pub(super) fn accepted(&self, external_id: &str, deadline: i64) -> HistoryId {
        let (past, at) = (self.world.after(-100), self.world.after(deadline));
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
        row.next_check_at = Some(self.world.after(-100));
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
        self.logs.lines()
    }
}

impl Seen {
    /// The report of a run that happened.
    pub(super) fn report(&self) -> &Value {
        self.result.as_ref().unwrap()
    }
}
