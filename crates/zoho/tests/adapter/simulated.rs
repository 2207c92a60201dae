//! The simulated CRM as a subject of the contract, and helpers to fill it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{Clock, Random};
use sendtrail_core::testing::contract::Subject;
use sendtrail_simulator::crm::{
    Crm, CrmConfig, CrmHandle, Fault, FaultKind, FaultMatch, Seed, SeedRecord, Switches,
};
use sendtrail_zoho::{NoTokenCache, Zoho};
use serde_json::{Map, Value, json};

use crate::{config, zoho_with};

pub(crate) const MODULE: &str = "Send_Histories";

/// A CRM and a client of it.
pub(crate) struct Simulated {
    pub(crate) crm: CrmHandle,
    pub(crate) zoho: Zoho,
    drawn: AtomicU64,
}

impl Simulated {
    pub(crate) async fn start(switches: Switches) -> Self {
        let crm = Crm::start(CrmConfig {
            switches,
            ..CrmConfig::default()
        })
        .await
        .unwrap();
        let zoho = client(&crm);
        Self {
            crm,
            zoho,
            drawn: AtomicU64::new(1),
        }
    }

    /// History records with these states and next checks in seconds from now; their ids.
    pub(crate) fn seed(&self, rows: &[(&str, Option<i64>)]) -> Vec<HistoryId> {
        let records = rows.iter().map(|(state, next)| {
            let next = next.map(|seconds| self.time(seconds));
            SeedRecord {
                module: MODULE.into(),
                fields: fields(&json!({"Delivery_State": state, "Next_Check_At": next})),
                ..SeedRecord::default()
            }
        });
        let seed = Seed {
            records: records.collect(),
        };
        let seeded = self.crm.seed(&seed).unwrap().records;
        let ids = seeded.iter().map(|one| HistoryId::parse(&one.id).unwrap());
        ids.collect()
    }

    pub(crate) fn edit(&self, id: &HistoryId, change: &Value) {
        let edited = self.crm.edit(MODULE, id.as_str(), &fields(change));
        edited.unwrap();
    }

    fn time(&self, seconds: i64) -> String {
        let at = self.now().as_second() + seconds;
        let at = Timestamp::from_second(at).unwrap();
        at.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
    }

    fn fault(&self, kind: FaultKind, ms: u64) {
        let matching = FaultMatch {
            method: Some("PUT".into()),
            // Not the probe of the guard.
            body_contains: Some("Progress_JSON".into()),
            ..FaultMatch::default()
        };
        self.crm.add_fault(Fault {
            ms,
            ..Fault::new(kind, matching)
        });
    }
}

pub(crate) fn client(crm: &CrmHandle) -> Zoho {
    let config = config(crm.url());
    zoho_with(&config, Box::new(NoTokenCache))
}

fn fields(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// The CRM's own clock. Long waits move it instead of passing.
impl Clock for Simulated {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.crm.clock().now_ms()).unwrap()
    }

    async fn sleep(&self, duration: SignedDuration) {
        let wait = Duration::try_from(duration).unwrap_or_default();
        let real = wait.min(Duration::from_millis(300));
        tokio::time::sleep(real).await;
        self.crm.clock().advance(wait.saturating_sub(real));
    }
}

impl Random for Simulated {
    fn bits(&self) -> u128 {
        u128::from(self.drawn.fetch_add(1, Ordering::Relaxed))
    }
}

impl Subject for Simulated {
    type Store = Zoho;
    type World = Self;

    fn store(&self) -> &Zoho {
        &self.zoho
    }

    fn world(&self) -> &Self {
        self
    }

    fn unique(&self) -> String {
        format!("u{}", self.bits())
    }

    async fn type_state(&self, id: &HistoryId, text: &str) {
        self.edit(id, &json!({"Delivery_State": text}));
    }

    async fn lose_next_write_reply(&self) {
        self.fault(FaultKind::LostReply, 0);
    }

    async fn apply_next_write_late(&self, after: SignedDuration) {
        let ms = u64::try_from(after.as_millis()).unwrap();
        self.fault(FaultKind::AppliedLate, ms);
    }
}
