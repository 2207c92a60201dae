//! The calls of a check, with more of their answers than the ports give.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use sendtrail_core::ids::{CrmName, HistoryId, Revision};
use sendtrail_core::text::ascii_json;
use serde_json::{Map, Value, json};

use crate::config::Fields;
use crate::fault::Fault;
use crate::http::Call;
use crate::record::{self, MODIFIED_TIME};
use crate::store::Zoho;

/// Calls the CRM for a check.
pub(super) struct Raw<'z> {
    pub(super) zoho: &'z Zoho,
}

/// What became of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Put {
    /// Applied; the version the answer names, and the answer's `Date`.
    Applied {
        version: Option<String>,
        date: Option<Timestamp>,
    },
    Conflict,
    /// Refused, and why.
    Refused(String),
    /// Not known whether it was applied, and why.
    Unknown(String),
}

/// What became of a create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    New { id: HistoryId, is_text: bool },
    Duplicate,
    Refused(String),
    Unknown(String),
}

/// A record as it was read.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) fields: Map<String, Value>,
    pub(super) version: String,
    pub(super) version_at: Timestamp,
    pub(super) clock_before: Option<Timestamp>,
    pub(super) date: Option<Timestamp>,
}

impl Seen {
    pub(super) fn get(&self, name: &CrmName) -> Value {
        self.fields.get(name.as_str()).cloned().unwrap_or_default()
    }
}

impl<'z> Raw<'z> {
    pub(super) fn new(zoho: &'z Zoho) -> Self {
        Self { zoho }
    }

    pub(super) fn fields(&self) -> &'z Fields {
        &self.zoho.fields
    }

    pub(super) fn module(&self) -> &'z str {
        &self.zoho.module
    }

    pub(super) async fn create(&self, key: &str) -> Made {
        let fields = self.fields();
        let row = json!({
            fields.request_key.as_str(): key,
            fields.source_module.as_str(): "check",
            fields.source_record.as_str(): "check",
        });
        let body = ascii_json(&json!({"data": [row], "trigger": []}));
        let call = Call::json(Method::POST, &[self.module()], body);
        let details = match self.zoho.caller.call(&call).await {
            Ok(answer) => answer.written(),
            Err(fault) => Err(fault),
        };
        match details {
            Ok(details) => match id_of(&details) {
                Some((id, is_text)) => Made::New { id, is_text },
                None => Made::Unknown("the answer names no id".to_owned()),
            },
            Err(Fault::Duplicate { .. }) => Made::Duplicate,
            Err(fault) if is_not_done(&fault) => Made::Refused(words(fault)),
            Err(fault) => Made::Unknown(words(fault)),
        }
    }

    /// An update under any text as guard.
    pub(super) async fn put(&self, id: &HistoryId, guard: &str, row: &Value) -> Put {
        let Ok(guard) = Revision::parse(guard) else {
            return Put::Refused("the version is unreadable".to_owned());
        };
        let body = ascii_json(&json!({"data": [row], "trigger": []}));
        let call = Call::json(Method::PUT, &[self.module(), id.as_str()], body);
        let answer = match self.zoho.caller.call(&call.guarded_by(&guard)).await {
            Ok(answer) => answer,
            Err(fault) => return put_of(fault),
        };
        match answer.written() {
            Ok(details) => Put::Applied {
                version: details
                    .get(MODIFIED_TIME)
                    .and_then(Value::as_str)
                    .map(str::to_owned),
                date: answer.date,
            },
            Err(fault) => put_of(fault),
        }
    }

    /// An update on the record's own version, tried again when something else moves the record.
    pub(super) async fn set(&self, id: &HistoryId, row: &Value) -> Put {
        let mut put = Put::Conflict;
        for _ in 0..3 {
            let Ok(seen) = self.read(id).await else {
                return Put::Unknown("the record could not be read".to_owned());
            };
            put = self.put(id, &seen.version, row).await;
            if put != Put::Conflict {
                return put;
            }
            pause(1_100).await;
        }
        put
    }

    pub(super) async fn read(&self, id: &HistoryId) -> Result<Seen, String> {
        let names = self.fields().all().map(CrmName::as_str).join(",");
        let names = format!("{MODIFIED_TIME},{names}");
        let call = Call::get(&[self.module(), id.as_str()]).with_query("fields", names);
        let answer = self.zoho.caller.call(&call).await.map_err(words)?;
        let rows = answer.rows().map_err(|error| error.to_string())?;
        let row = rows.into_iter().next().ok_or("the record is gone")?;
        let version = record::text(&row, MODIFIED_TIME).unwrap_or_default();
        let version_at = version
            .parse()
            .map_err(|_| format!("{MODIFIED_TIME} is no time"))?;
        Ok(Seen {
            fields: row,
            version,
            version_at,
            clock_before: answer.clock_before,
            date: answer.date,
        })
    }

    /// Reads the record once the CRM's clock is past its version, as the core does before it writes.
    pub(super) async fn settled(&self, id: &HistoryId) -> Result<Seen, String> {
        let mut seen = self.read(id).await?;
        for _ in 0..10 {
            if seen.clock_before.is_some_and(|at| at > seen.version_at) {
                break;
            }
            pause(400).await;
            seen = self.read(id).await?;
        }
        Ok(seen)
    }

    pub(super) async fn query(&self, text: String) -> Result<Vec<Map<String, Value>>, String> {
        let answer = self.zoho.query(text, 200).await;
        let rows = answer.and_then(|answer| answer.rows());
        rows.map_err(|error| error.to_string())
    }

    pub(super) async fn delete(&self, id: &HistoryId) -> Result<(), String> {
        let path = [self.module(), id.as_str()];
        let answer = self.zoho.caller.call(&Call::delete(&path)).await;
        let answer = answer.map_err(words)?;
        answer.written().map(drop).map_err(words)
    }
}

pub(super) async fn pause(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

fn put_of(fault: Fault) -> Put {
    if fault == Fault::Conflict {
        Put::Conflict
    } else if is_not_done(&fault) {
        Put::Refused(words(fault))
    } else {
        Put::Unknown(words(fault))
    }
}

fn is_not_done(fault: &Fault) -> bool {
    match fault {
        Fault::Failed { not_done, .. } => *not_done,
        Fault::Conflict | Fault::Duplicate { .. } | Fault::StaleToken { .. } => true,
    }
}

fn words(fault: Fault) -> String {
    fault.into_error().to_string()
}

/// The id in an answer, also one that came as a number, and whether it was text.
pub(super) fn id_of(row: &Map<String, Value>) -> Option<(HistoryId, bool)> {
    let value = row.get("id")?;
    let is_text = value.is_string();
    let text = record::text(row, "id")?;
    HistoryId::parse(&text).ok().map(|id| (id, is_text))
}
