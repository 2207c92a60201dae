//! The request log, from which the credits of the last 24 h follow.

use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::Store;

/// One request as it was seen; never a body, never a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Number, rising.
    pub n: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Method.
    pub method: String,
    /// Path with query; a token or secret in a query is not kept.
    pub path: String,
    /// The CRM's status; absent when the request was never handled.
    pub status: Option<u16>,
    /// Credits it cost.
    pub credits: u32,
    /// The fault that met it.
    pub fault: Option<String>,
}

impl Store {
    pub(crate) fn log(&mut self, line: &LogLine) -> rusqlite::Result<()> {
        self.db
            .prepare_cached(
                "INSERT INTO log (at_ms, method, path, status, credits, fault) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![line.at_ms, line.method, line.path, line.status, line.credits, line.fault])?;
        Ok(())
    }

    /// Log lines after number `after`, oldest first.
    pub(crate) fn log_after(&self, after: i64) -> rusqlite::Result<Vec<LogLine>> {
        let mut statement = self.db.prepare_cached(
            "SELECT n, at_ms, method, path, status, credits, fault FROM log WHERE n > ?1 ORDER BY n",
        )?;
        let rows = statement.query_map([after], |row| {
            Ok(LogLine {
                n: row.get(0)?,
                at_ms: row.get(1)?,
                method: row.get(2)?,
                path: row.get(3)?,
                status: row.get(4)?,
                credits: row.get(5)?,
                fault: row.get(6)?,
            })
        })?;
        rows.collect()
    }

    /// Credits by minute since `since_ms`, as (minute, credits).
    pub(crate) fn credits_since(&self, since_ms: i64) -> rusqlite::Result<Vec<(i64, i64)>> {
        let mut statement = self.db.prepare(
            "SELECT at_ms / 60000, sum(credits) FROM log WHERE at_ms > ?1 AND credits > 0 GROUP BY 1",
        )?;
        let rows = statement.query_map([since_ms], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }
}
