//! What every test sets up.

use std::sync::Arc;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{
    self, Confirmed, DocumentToConfirm, Press, SaveOrder, Saved, SavedRecord, Sent, SubmitPorts,
    confirm, save,
};
use sendtrail_core::ids::{ExternalId, HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::input::{Input, input_sha256};
use sendtrail_core::policy::{PollPolicy, SubmitPolicy};
use sendtrail_core::ports::{
    Clock, Evidence, NotSent, ReadHistory as _, StoreError, SubmitOutcome, clock_deadline,
};
use sendtrail_core::progress::{Actor, Progress};
use sendtrail_core::state::State;
use sendtrail_core::testing::{
    CheckMac, MemoryStore, Row, ScriptedDriver, ScriptedDrivers, TestWorld,
};
use serde_json::{Value, json};

pub(crate) const PDF: &[u8] = b"%PDF-1.4 the bytes that were seen";

/// A store, drivers and settings.
pub(crate) struct Bench {
    pub(crate) world: Arc<TestWorld>,
    pub(crate) store: MemoryStore,
    pub(crate) drivers: ScriptedDrivers,
    pub(crate) mac: CheckMac,
    pub(crate) policy: SubmitPolicy,
    pub(crate) polling: PollPolicy,
}

impl Bench {
    /// The driver cannot find.
    pub(crate) fn new() -> Self {
        Self::with(false)
    }

    /// The driver can find.
    pub(crate) fn finding() -> Self {
        Self::with(true)
    }

    fn with(can_find: bool) -> Self {
        let world = Arc::new(TestWorld::new());
        let secs = SignedDuration::from_secs;
        Self {
            store: MemoryStore::new(Arc::clone(&world)),
            world,
            drivers: ScriptedDrivers(ScriptedDriver::new(can_find)),
            mac: CheckMac(7),
            policy: SubmitPolicy {
                stage: "local".to_owned(),
                claim_settle: secs(2),
                claim_stale: secs(90),
                record_reserve: secs(5),
            },
            polling: PollPolicy {
                stage: "local".to_owned(),
                claim_stale: secs(90),
                page_rows: 200,
                max_pages: 5,
                concurrency: 8,
                rate_per_second: 20,
                row_timeout: secs(20),
                reserve: secs(15),
                list_lag: secs(60),
                interval: secs(120),
            },
        }
    }

    pub(crate) fn driver(&self) -> &ScriptedDriver {
        &self.drivers.0
    }

    pub(crate) async fn pass(&self, seconds: i64) {
        self.world.sleep(SignedDuration::from_secs(seconds)).await;
    }

    /// A millisecond, for something else to get on.
    pub(crate) async fn moment(&self) {
        self.moments(1).await;
    }

    pub(crate) async fn moments(&self, millis: i64) {
        self.world.sleep(SignedDuration::from_millis(millis)).await;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// A saved record, its version long past.
    pub(crate) async fn saved(&self, key: &str) -> SavedRecord {
        let Saved::Saved(record) = save(&self.store, &*self.world, &order(key, "Ada")).await else {
            panic!("not saved");
        };
        self.settle(&record.id).await;
        record
    }

    /// Lets the record's version pass, and the store's clock be known to have passed it.
    pub(crate) async fn settle(&self, id: &HistoryId) {
        self.pass(3).await;
        self.store.read(id).await.unwrap();
    }

    pub(crate) async fn confirm(&self, saved: &SavedRecord, bytes: &'static [u8]) -> Confirmed {
        let document = DocumentToConfirm {
            bytes: Bytes::from_static(bytes),
            sha256: Sha256Hash::of(bytes),
            rev: saved.rev,
            input_sha256: saved.input_sha256,
        };
        let (store, world, mac) = (&self.store, &*self.world, &self.mac);
        let until = self.world.after(30);
        confirm(store, world, mac, "local", &saved.id, document, until).await
    }

    /// A confirmed record, its version long past.
    pub(crate) async fn confirmed(&self) -> HistoryId {
        let key = format!("bench_{}", self.store.ids().len());
        let saved = self.saved(&key).await;
        let Confirmed::Confirmed(record) = self.confirm(&saved, PDF).await else {
            panic!("not confirmed");
        };
        self.settle(&record.id).await;
        record.id
    }

    /// A press with 30 s to live.
    pub(crate) async fn press(&self, id: &HistoryId, key: &str) -> Sent {
        self.send(&press(id, key), self.world.after(30)).await
    }

    pub(crate) async fn send(&self, press: &Press, until: Timestamp) -> Sent {
        let ports = SubmitPorts {
            store: &self.store,
            drivers: &self.drivers,
            world: &*self.world,
            mac: &self.mac,
            policy: &self.policy,
        };
        flows::send(&ports, press, until).await
    }

    /// A record whose submit ended so.
    pub(crate) async fn sent(&self, outcome: SubmitOutcome) -> HistoryId {
        let id = self.confirmed().await;
        self.driver().will_submit(outcome);
        let key = format!("press_{id}");
        assert!(matches!(self.press(&id, &key).await, Sent::Done { .. }));
        self.pass(3).await;
        id
    }

    /// This many accepted records, due and older than the list may lag. They are looked up as `ltr_0` and so
    /// on, in this order.
    pub(crate) async fn due(&self, rows: usize) -> Vec<HistoryId> {
        let first = self.sent(accepted("ltr_0")).await;
        let row = self.row(&first);
        let mut ids = vec![first];
        for n in 1..rows {
            let mut copy = row.clone();
            let progress = copy.progress.as_deref().unwrap();
            copy.progress = Some(progress.replace("ltr_0", &format!("ltr_{n}")));
            ids.push(self.store.insert(copy));
        }
        self.pass(120).await;
        self.even_tick().await;
        ids
    }

    /// Waits for a tick whose run starts at the front of the backlog.
    pub(crate) async fn even_tick(&self) {
        self.pass(240 - self.now().as_second() % 240).await;
    }

    pub(crate) fn look_ups(&self) -> Vec<String> {
        let ids = self.driver().look_ups();
        ids.into_iter().map(|id| id.to_string()).collect()
    }

    /// A run of the poller with 110 s to live.
    pub(crate) async fn poll(&self) -> flows::PollReport {
        self.run_until(self.world.after(110)).await
    }

    pub(crate) async fn run_until(&self, until: Timestamp) -> flows::PollReport {
        let run = flows::run(
            &self.store,
            &self.drivers,
            &*self.world,
            &self.polling,
            until,
        );
        run.await.unwrap()
    }

    /// A run that may fail to list.
    pub(crate) async fn poll_quietly(&self) {
        let until = self.world.after(110);
        let run = flows::run(
            &self.store,
            &self.drivers,
            &*self.world,
            &self.polling,
            until,
        );
        run.await.ok();
    }

    /// A record that is only saved, whatever faults are set.
    pub(crate) async fn saved_quietly(&self, key: &str) -> HistoryId {
        loop {
            match save(&self.store, &*self.world, &order(key, "Ada")).await {
                Saved::Saved(record) | Saved::Same(record) => return record.id,
                Saved::KeyReused
                | Saved::NotSavable
                | Saved::ChangedElsewhere
                | Saved::Failed(_) => self.pass(1).await,
            }
        }
    }

    /// Confirms the record with the revision and input it has, as a ticket given just now would.
    pub(crate) async fn confirm_as_it_is(&self, id: &HistoryId, bytes: &'static [u8]) {
        let row = self.row(id);
        let Ok(progress) = Progress::decode(row.progress.as_deref()) else {
            return;
        };
        let saved = SavedRecord {
            id: id.clone(),
            state: State::Saved,
            rev: progress.rev(),
            input_sha256: input_sha256(row.input.as_deref().unwrap_or_default()),
        };
        self.confirm(&saved, bytes).await;
    }

    pub(crate) fn row(&self, id: &HistoryId) -> Row {
        self.store.row(id).unwrap()
    }

    pub(crate) fn state(&self, id: &HistoryId) -> String {
        self.row(id).state.unwrap_or_default()
    }

    pub(crate) fn progress(&self, id: &HistoryId) -> Progress {
        Progress::decode(self.row(id).progress.as_deref()).unwrap()
    }

    pub(crate) fn events(&self, id: &HistoryId) -> Vec<String> {
        let trail = self.progress(id).trail;
        trail.into_iter().map(|entry| entry.event).collect()
    }

    /// A person types this into the state field.
    pub(crate) fn type_state(&self, id: &HistoryId, state: &str) {
        self.store
            .edit_by_hand(id, |row| row.state = Some(state.to_owned()));
    }

    /// A person edits the progress; the copies beside it stay as they are.
    pub(crate) fn edit_progress(&self, id: &HistoryId, edit: impl FnOnce(&mut Value)) {
        self.store.edit_by_hand(id, |row| {
            let mut value = serde_json::from_str(row.progress.as_deref().unwrap()).unwrap();
            edit(&mut value);
            row.progress = Some(value.to_string());
        });
    }

    /// Does this once the record is in this state, while something else runs.
    pub(crate) async fn when(&self, id: &HistoryId, state: &str, act: impl FnOnce()) {
        while self.state(id) != state {
            self.moment().await;
        }
        act();
    }

    /// Does this once a submit is under way.
    pub(crate) async fn when_submitting(&self, act: impl FnOnce()) {
        while self.driver().submits().is_empty() {
            self.moment().await;
        }
        act();
    }
}

pub(crate) fn order(key: &str, name: &str) -> SaveOrder {
    let value = json!({
        "driver": "letter",
        "source": {"module": "Deals", "record_id": "57", "attachment_id": "9"},
        "to": {"name": name}, "fields": {},
    });
    let input = Input::from_object(value.as_object().unwrap()).unwrap();
    SaveOrder {
        key: RequestKey::parse(key).unwrap(),
        body_sha256: Sha256Hash::of(name.as_bytes()),
        actor: Actor::new("u1", "Sam Seller").unwrap(),
        stored: input.to_stored().unwrap(),
        input,
    }
}

pub(crate) fn press(id: &HistoryId, key: &str) -> Press {
    Press {
        key: RequestKey::parse(key).unwrap(),
        history_id: id.clone(),
        document_sha256: Sha256Hash::of(PDF),
        again_of: None,
        actor: Actor::new("u1", "Sam Seller").unwrap(),
    }
}

pub(crate) fn external(id: &str) -> ExternalId {
    ExternalId::parse(id).unwrap()
}

pub(crate) fn evidence(class: &str, status: Option<u16>) -> Evidence {
    Evidence {
        class: class.to_owned(),
        status,
        detail: "seen".to_owned(),
        bytes_sent: 99,
    }
}

pub(crate) fn accepted(id: &str) -> SubmitOutcome {
    SubmitOutcome::Accepted {
        external_id: external(id),
        evidence: evidence("status", Some(200)),
    }
}

pub(crate) fn unknown() -> SubmitOutcome {
    SubmitOutcome::Unknown(evidence("timeout", None))
}

pub(crate) fn not_sent(retry_after: Option<i64>) -> NotSent {
    NotSent {
        evidence: evidence("connect", None),
        retry_after: retry_after.map(SignedDuration::from_secs),
    }
}

pub(crate) fn down() -> StoreError {
    StoreError::Transient {
        detail: "down".to_owned(),
    }
}

/// This much later.
pub(crate) fn later(at: Timestamp, seconds: i64) -> Timestamp {
    clock_deadline(at, SignedDuration::from_secs(seconds))
}

pub(crate) fn on_a_paused_clock<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(test)
}
