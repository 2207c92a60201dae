//! What the CRM keeps: records in memory for quick reading, every change in SQLite before it is answered.

mod blobs;
mod journal;
mod schema;
mod tokens;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params};
use serde_json::{Map, Value};

pub(crate) use blobs::{Attachment, StoredFile};
pub use journal::LogLine;

/// Values by field name; dates as epoch seconds, files as the arrays a read shows.
pub(crate) type Fields = Map<String, Value>;

/// Longest list lag that can be served from kept versions.
const KEPT_MS: i64 = 600_000;

/// One version of a record.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) modified_s: i64,
    pub(crate) modified_by: String,
    pub(crate) fields: Arc<Fields>,
    pub(crate) deleted: bool,
}

/// One record with the versions a lagging list may still serve.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) id: i64,
    pub(crate) created_ms: i64,
    pub(crate) created_by: String,
    pub(crate) writes: u32,
    pub(crate) now: Version,
    past: Vec<(i64, Version)>,
}

impl Record {
    /// The version a list of `at_ms` shows, if the record existed and was not deleted then.
    pub(crate) fn at(&self, at_ms: i64) -> Option<&Version> {
        if at_ms < self.created_ms {
            return None;
        }
        let old = self
            .past
            .iter()
            .find(|(until_ms, _)| at_ms < *until_ms)
            .map(|(_, version)| version);
        Some(old.unwrap_or(&self.now)).filter(|version| !version.deleted)
    }
}

/// The CRM's data.
#[derive(Debug)]
pub(crate) struct Store {
    db: Connection,
    modules: HashMap<String, BTreeMap<i64, Record>>,
    last_id: i64,
}

impl Store {
    pub(crate) fn open(file: Option<&Path>) -> rusqlite::Result<Self> {
        let db = match file {
            Some(path) => Connection::open(path)?,
            None => Connection::open_in_memory()?,
        };
        schema::prepare(&db)?;
        let mut store = Self {
            db,
            modules: HashMap::new(),
            last_id: FIRST_ID,
        };
        store.load()?;
        Ok(store)
    }

    fn load(&mut self) -> rusqlite::Result<()> {
        let mut statement = self.db.prepare(
            "SELECT module, id, created_ms, created_by, writes, modified_s, modified_by, deleted, fields FROM records",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let module: String = row.get(0)?;
            let text: String = row.get(8)?;
            let now = Version {
                modified_s: row.get(5)?,
                modified_by: row.get(6)?,
                deleted: row.get(7)?,
                fields: Arc::new(serde_json::from_str(&text).unwrap_or_default()),
            };
            let record = Record {
                id: row.get(1)?,
                created_ms: row.get(2)?,
                created_by: row.get(3)?,
                writes: row.get(4)?,
                now,
                past: Vec::new(),
            };
            self.last_id = self.last_id.max(record.id);
            self.modules
                .entry(module)
                .or_default()
                .insert(record.id, record);
        }
        let highest: Option<i64> =
            self.db
                .query_row("SELECT max(id) FROM attachments", [], |row| row.get(0))?;
        self.last_id = self.last_id.max(highest.unwrap_or(0));
        Ok(())
    }

    /// A fresh id: 19 digits, rising, so close together that a float cannot tell two apart.
    pub(crate) fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// Every record of a module by rising id, deleted ones too.
    pub(crate) fn all(&self, module: &str) -> impl DoubleEndedIterator<Item = &Record> {
        self.modules
            .get(module)
            .into_iter()
            .flat_map(BTreeMap::values)
    }

    /// A record that is there and not deleted.
    pub(crate) fn live(&self, module: &str, id: i64) -> Option<&Record> {
        self.any(module, id).filter(|record| !record.now.deleted)
    }

    /// A record, deleted or not.
    pub(crate) fn any(&self, module: &str, id: i64) -> Option<&Record> {
        self.modules.get(module)?.get(&id)
    }

    /// Adds a record under a fresh id.
    pub(crate) fn insert(
        &mut self,
        module: &str,
        id: i64,
        fields: Fields,
        by: &str,
        now_ms: i64,
    ) -> rusqlite::Result<()> {
        let now = Version {
            modified_s: now_ms.div_euclid(1000),
            modified_by: by.to_owned(),
            fields: Arc::new(fields),
            deleted: false,
        };
        let record = Record {
            id,
            created_ms: now_ms,
            created_by: by.to_owned(),
            writes: 1,
            now,
            past: Vec::new(),
        };
        self.save(module, record)
    }

    /// Puts a new version in place of the present one; a missing record is left missing.
    pub(crate) fn replace(
        &mut self,
        module: &str,
        id: i64,
        fields: Fields,
        deleted: bool,
        by: &str,
        now_ms: i64,
    ) -> rusqlite::Result<()> {
        let Some(old) = self.any(module, id) else {
            return Ok(());
        };
        let mut record = old.clone();
        record
            .past
            .retain(|(until_ms, _)| *until_ms > now_ms - KEPT_MS);
        let next = Version {
            modified_s: now_ms.div_euclid(1000),
            modified_by: by.to_owned(),
            fields: Arc::new(fields),
            deleted,
        };
        let old = std::mem::replace(&mut record.now, next);
        record.past.push((now_ms, old));
        record.writes += 1;
        self.save(module, record)
    }

    fn save(&mut self, module: &str, record: Record) -> rusqlite::Result<()> {
        let text = serde_json::to_string(&*record.now.fields).unwrap_or_default();
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO records
                 (module, id, created_ms, created_by, writes, modified_s, modified_by, deleted, fields)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                module,
                record.id,
                record.created_ms,
                record.created_by,
                record.writes,
                record.now.modified_s,
                record.now.modified_by,
                record.now.deleted,
                text,
            ])?;
        self.modules
            .entry(module.to_owned())
            .or_default()
            .insert(record.id, record);
        Ok(())
    }
}

/// Ids have 19 digits and fit a signed 64-bit number.
const FIRST_ID: i64 = 4_876_876_000_000_100_000;
