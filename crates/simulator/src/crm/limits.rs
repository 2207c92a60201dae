//! Credits per rolling 24 h and calls at once.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use serde_json::json;

use super::lock;
use super::reply::{Problem, Reply};
use super::switches::LimitBody;

const DAY_MINUTES: i64 = 1440;

/// Credits used, by minute.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    minutes: Mutex<BTreeMap<i64, u64>>,
}

impl Ledger {
    pub(crate) fn load(rows: Vec<(i64, i64)>) -> Self {
        let row = |(minute, credits): (i64, i64)| (minute, credits.unsigned_abs());
        Self {
            minutes: Mutex::new(rows.into_iter().map(row).collect()),
        }
    }

    pub(crate) fn used(&self, now_ms: i64) -> u64 {
        let mut minutes = lock(&self.minutes);
        let oldest = now_ms.div_euclid(60_000) - DAY_MINUTES;
        *minutes = minutes.split_off(&oldest);
        minutes.values().sum()
    }

    pub(crate) fn add(&self, now_ms: i64, credits: u64) {
        *lock(&self.minutes)
            .entry(now_ms.div_euclid(60_000))
            .or_default() += credits;
    }

    /// Forgets what was used and starts from `used`.
    pub(crate) fn set(&self, now_ms: i64, used: u64) {
        *lock(&self.minutes) = BTreeMap::from([(now_ms.div_euclid(60_000), used)]);
    }
}

type Counts = Arc<Mutex<HashMap<String, u32>>>;

/// Calls under way, by client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load {
    counts: Counts,
}

/// One call under way; ends when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    counts: Counts,
    key: String,
}

impl Load {
    /// Counts one more call under `key`, unless `most` are under way.
    pub(crate) fn enter(&self, key: &str, most: u32) -> Option<Permit> {
        let mut counts = lock(&self.counts);
        let count = counts.entry(key.to_owned()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Permit {
            counts: Arc::clone(&self.counts),
            key: key.to_owned(),
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(count) = lock(&self.counts).get_mut(&self.key) {
            *count = count.saturating_sub(1);
        }
    }
}

/// The one answer for "credits used up" and "too many at once".
pub(crate) fn too_many(body: LimitBody, message: &str) -> Reply {
    let reply = match body {
        LimitBody::Modern => Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TOO_MANY_REQUESTS",
            message,
            json!({}),
        )
        .flat(),
        LimitBody::Legacy => Reply::json(
            StatusCode::TOO_MANY_REQUESTS,
            json!({"code": 429, "error": "TOO_MANY_REQUESTS", "error_info": message, "details": []}),
        ),
    };
    reply.costing(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_older_than_a_day_come_back() {
        let ledger = Ledger::default();
        ledger.add(0, 7);
        ledger.add(3_600_000, 2);
        assert_eq!(ledger.used(3_600_000), 9);
        assert_eq!(ledger.used(86_400_000 + 60_000), 2);
    }

    #[test]
    fn a_call_that_ended_frees_its_place() {
        let load = Load::default();
        let first = load.enter("a", 1);
        assert!(first.is_some());
        assert!(load.enter("a", 1).is_none());
        assert!(load.enter("b", 1).is_some());
        drop(first);
        assert!(load.enter("a", 1).is_some());
    }
}
