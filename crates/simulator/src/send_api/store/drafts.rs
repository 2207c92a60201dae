//! Documents before they are sent, and the tokens they are made with.

use rusqlite::{OptionalExtension, Row, params};

use super::{Store, bump};
use crate::send_api::record::DraftRecord;

const DRAFT: &str = "id, reference, recipient, email, document_sha256, document_bytes, reminders";

impl Store {
    pub(crate) fn create_draft(&self, id: &str, reference: Option<&str>) -> rusqlite::Result<()> {
        let sql = "INSERT INTO drafts (id, reference) VALUES (?1, ?2)";
        self.lock().execute(sql, params![id, reference]).map(|_| ())
    }

    pub(crate) fn draft(&self, id: &str) -> rusqlite::Result<Option<DraftRecord>> {
        let sql = format!("SELECT {DRAFT} FROM drafts WHERE id = ?1");
        self.lock().query_row(&sql, [id], read).optional()
    }

    pub(crate) fn drafts(&self) -> rusqlite::Result<Vec<DraftRecord>> {
        let connection = self.lock();
        let mut rows = connection.prepare(&format!("SELECT {DRAFT} FROM drafts ORDER BY n"))?;
        rows.query_map([], read)?.collect()
    }

    /// Writes down a draft as it is now.
    pub(crate) fn change_draft(&self, draft: &DraftRecord) -> rusqlite::Result<()> {
        let sql = "UPDATE drafts SET recipient = ?2, email = ?3, document_sha256 = ?4, document_bytes = ?5 \
             WHERE id = ?1";
        let values = params![
            draft.id,
            draft.recipient,
            draft.email,
            draft.document_sha256,
            draft.document_bytes
        ];
        self.lock().execute(sql, values).map(|_| ())
    }

    pub(crate) fn count_reminder(&self, id: &str) -> rusqlite::Result<()> {
        let sql = "UPDATE drafts SET reminders = reminders + 1 WHERE id = ?1";
        self.lock().execute(sql, [id]).map(|_| ())
    }

    /// How often the token was revoked.
    pub(crate) fn revoked(&self) -> rusqlite::Result<u32> {
        let sql = "SELECT n FROM counters WHERE name = 'revoked'";
        let found = self.lock().query_row(sql, [], |row| row.get(0)).optional();
        found.map(Option::unwrap_or_default)
    }

    pub(crate) fn revoke(&self) -> rusqlite::Result<()> {
        bump(&self.lock(), "revoked").map(|_| ())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<DraftRecord> {
    Ok(DraftRecord {
        id: row.get(0)?,
        reference: row.get(1)?,
        recipient: row.get(2)?,
        email: row.get(3)?,
        document_sha256: row.get(4)?,
        document_bytes: row.get(5)?,
        reminders: row.get(6)?,
    })
}
