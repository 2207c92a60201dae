//! Uploaded files and attachments.

use rusqlite::{OptionalExtension, params};

use super::Store;

/// An uploaded file.
#[derive(Clone, Debug)]
pub(crate) struct StoredFile {
    pub(crate) name: String,
    pub(crate) uploaded_ms: i64,
    pub(crate) bound: bool,
    pub(crate) size: i64,
}

/// An attachment without its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Attachment {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) created_ms: i64,
    pub(crate) size: i64,
}

impl Store {
    pub(crate) fn add_file(
        &mut self,
        id: &str,
        name: &str,
        bytes: &[u8],
        now_ms: i64,
    ) -> rusqlite::Result<()> {
        self.db.execute(
            "INSERT INTO files (id, name, uploaded_ms, bound, bytes) VALUES (?1, ?2, ?3, 0, ?4)",
            params![id, name, now_ms, bytes],
        )?;
        Ok(())
    }

    pub(crate) fn file(&self, id: &str) -> rusqlite::Result<Option<StoredFile>> {
        let sql = "SELECT name, uploaded_ms, bound, length(bytes) FROM files WHERE id = ?1";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(StoredFile {
                name: row.get(0)?,
                uploaded_ms: row.get(1)?,
                bound: row.get(2)?,
                size: row.get(3)?,
            })
        };
        self.db.query_row(sql, [id], read).optional()
    }

    pub(crate) fn file_bytes(&self, id: &str) -> rusqlite::Result<Option<Vec<u8>>> {
        self.db
            .query_row("SELECT bytes FROM files WHERE id = ?1", [id], |row| {
                row.get(0)
            })
            .optional()
    }

    pub(crate) fn bind_file(&mut self, id: &str) -> rusqlite::Result<()> {
        self.db
            .execute("UPDATE files SET bound = 1 WHERE id = ?1", [id])?;
        Ok(())
    }

    pub(crate) fn add_attachment(
        &mut self,
        record: i64,
        name: &str,
        bytes: &[u8],
        now_ms: i64,
    ) -> rusqlite::Result<i64> {
        let id = self.next_id();
        self.db.execute(
            "INSERT INTO attachments (id, record, name, created_ms, bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, record, name, now_ms, bytes],
        )?;
        Ok(id)
    }

    pub(crate) fn attachments(&self, record: i64) -> rusqlite::Result<Vec<Attachment>> {
        let mut statement = self.db.prepare_cached(
            "SELECT id, name, created_ms, length(bytes) FROM attachments WHERE record = ?1 ORDER BY id",
        )?;
        let rows = statement.query_map([record], |row| {
            Ok(Attachment {
                id: row.get(0)?,
                name: row.get(1)?,
                created_ms: row.get(2)?,
                size: row.get(3)?,
            })
        })?;
        rows.collect()
    }

    pub(crate) fn attachment_bytes(
        &self,
        record: i64,
        id: i64,
    ) -> rusqlite::Result<Option<(String, Vec<u8>)>> {
        let sql = "SELECT name, bytes FROM attachments WHERE record = ?1 AND id = ?2";
        self.db
            .query_row(sql, [record, id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    }

    /// Removes an attachment, as a person may; tells whether it was there.
    pub(crate) fn remove_attachment(&mut self, record: i64, id: i64) -> rusqlite::Result<bool> {
        let gone = self.db.execute(
            "DELETE FROM attachments WHERE record = ?1 AND id = ?2",
            [record, id],
        )?;
        Ok(gone > 0)
    }
}
