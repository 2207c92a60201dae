//! The tables.

use rusqlite::Connection;

/// Creates what is missing and sets the journal so that a killed process loses nothing it answered.
pub(super) fn prepare(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.busy_timeout(std::time::Duration::from_secs(5))?;
    db.execute_batch(
        "CREATE TABLE IF NOT EXISTS records (
             id INTEGER PRIMARY KEY, module TEXT NOT NULL, created_ms INTEGER NOT NULL, created_by TEXT NOT NULL,
             writes INTEGER NOT NULL, modified_s INTEGER NOT NULL, modified_by TEXT NOT NULL,
             deleted INTEGER NOT NULL, fields TEXT NOT NULL);
         CREATE TABLE IF NOT EXISTS files (
             id TEXT PRIMARY KEY, name TEXT NOT NULL, uploaded_ms INTEGER NOT NULL, bound INTEGER NOT NULL,
             bytes BLOB NOT NULL);
         CREATE TABLE IF NOT EXISTS attachments (
             id INTEGER PRIMARY KEY, record INTEGER NOT NULL, name TEXT NOT NULL, created_ms INTEGER NOT NULL,
             bytes BLOB NOT NULL);
         CREATE TABLE IF NOT EXISTS tokens (
             token TEXT PRIMARY KEY, refresh TEXT NOT NULL, issued_ms INTEGER NOT NULL,
             expires_ms INTEGER NOT NULL, dead INTEGER NOT NULL);
         CREATE TABLE IF NOT EXISTS revoked (refresh TEXT PRIMARY KEY);
         CREATE TABLE IF NOT EXISTS log (
             n INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL,
             status INTEGER, credits INTEGER NOT NULL, fault TEXT);",
    )
}
