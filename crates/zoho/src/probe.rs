//! Before the first guarded write of a process: is the guard heeded at all?
//!
//! A CRM that ignores `If-Unmodified-Since` turns every lost race into a lost edit, and two presses into two
//! letters. So one harmless update on a version far in the past is sent first, and nothing is written until
//! it was refused. It names one field, the source record, with the value that was just read: nobody changes
//! that field, so that even where the guard is ignored the record holds what it held before.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use reqwest::Method;
use sendtrail_core::ids::{HistoryId, Revision};
use sendtrail_core::ports::StoreError;
use sendtrail_core::text::ascii_json;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::fault::Fault;
use crate::http::Call;
use crate::store::Zoho;

/// The code of the refusal, for logs and alarms.
pub(crate) const GUARD_IGNORED: &str = "GUARD_IGNORED";
/// A version no record has.
pub(crate) const LONG_PAST: &str = "2000-01-01T00:00:00+00:00";
/// Source records kept for a probe that may still come.
const MOST_KNOWN: usize = 1_000;

/// What is known about the guard, for the life of the process.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    state: Mutex<State>,
    /// Set once nothing more need be remembered.
    is_decided: AtomicBool,
    sources: std::sync::Mutex<HashMap<HistoryId, Value>>,
}

#[derive(Debug, Default)]
struct State {
    is_heeded: Option<bool>,
    failed: Option<(Instant, StoreError)>,
}

impl Probe {
    /// Remembers what a row holds in the field that the probe writes back; a row without it teaches nothing.
    pub(crate) fn remember(&self, id: &HistoryId, row: &Map<String, Value>, field: &str) {
        if self.is_decided.load(Ordering::Relaxed) {
            return;
        }
        if let Some(value) = row.get(field) {
            let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
            if sources.len() >= MOST_KNOWN {
                sources.clear();
            }
            sources.insert(id.clone(), value.clone());
        }
    }

    fn known(&self, id: &HistoryId) -> Option<Value> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.get(id).cloned()
    }

    fn decide(&self, state: &mut State, is_heeded: bool) {
        state.is_heeded = Some(is_heeded);
        self.is_decided.store(true, Ordering::Relaxed);
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        *sources = HashMap::new();
    }
}

impl Zoho {
    /// Whether a guarded write may be sent: one call, on the first write of the process only.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with `GUARD_IGNORED` when the guard has no effect, for the life of the
    /// process. Any other error leaves it open: nothing was written, and the next write asks again.
    pub(crate) async fn ensure_the_guard_is_heeded(
        &self,
        id: &HistoryId,
    ) -> Result<(), StoreError> {
        let asked = Instant::now();
        let mut state = self.probe.state.lock().await;
        match (state.is_heeded, &state.failed) {
            (Some(true), _) => return Ok(()),
            (Some(false), _) => return Err(guard_ignored()),
            // Who waited for a probe that failed shares its failure.
            (None, Some((at, error))) if *at >= asked => return Err(error.clone()),
            (None, _) => {}
        }
        match self.is_an_old_version_refused(id).await {
            Ok(is_heeded) => {
                self.probe.decide(&mut state, is_heeded);
                if is_heeded {
                    return Ok(());
                }
                let error = guard_ignored();
                tracing::error!(%error, "the CRM ignores the guard: this process writes nothing");
                Err(error)
            }
            Err(error) => {
                state.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    async fn is_an_old_version_refused(&self, id: &HistoryId) -> Result<bool, StoreError> {
        let field = self.fields.source_record.as_str();
        let value = if let Some(value) = self.probe.known(id) {
            value
        } else {
            let rows = self.record_rows(&self.module, id.as_str(), field).await?;
            let row = rows.first().ok_or(StoreError::NotFound)?;
            row.get(field).cloned().unwrap_or(Value::Null)
        };
        if value.is_array() || value.is_object() {
            let detail = format!("expected text in {field}");
            return Err(StoreError::Malformed { detail });
        }
        let body = ascii_json(&json!({"data": [{field: value}], "trigger": []}));
        let long_past = Revision::parse(LONG_PAST).map_err(|bad| StoreError::Malformed {
            detail: bad.to_string(),
        })?;
        let call = Call::json(Method::PUT, &[&self.module, id.as_str()], body);
        match self.caller.call(&call.guarded_by(&long_past)).await {
            Err(Fault::Conflict) => Ok(true),
            Err(fault) => Err(fault.into_error()),
            Ok(answer) => match answer.written() {
                Ok(_) => Ok(false),
                Err(Fault::Conflict) => Ok(true),
                Err(fault) => Err(fault.into_error()),
            },
        }
    }
}

fn guard_ignored() -> StoreError {
    StoreError::Refused {
        code: GUARD_IGNORED.to_owned(),
        detail:
            "it takes a write on an old version of a record, so that edits get lost and a document \
                 could go out twice; nothing is written. Run `sendtrail zoho check`"
                .to_owned(),
    }
}
