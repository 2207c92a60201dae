//! Access tokens and revoked refresh tokens.

use rusqlite::{OptionalExtension, params};

use super::Store;

/// One access token.
#[derive(Clone, Debug)]
pub(crate) struct TokenRow {
    pub(crate) refresh: String,
    pub(crate) expires_ms: i64,
}

impl Store {
    /// Access tokens issued for a refresh token since `since_ms`, dead ones too.
    pub(crate) fn issued_since(&self, refresh: &str, since_ms: i64) -> rusqlite::Result<u32> {
        let sql = "SELECT count(*) FROM tokens WHERE refresh = ?1 AND issued_ms > ?2";
        self.db
            .query_row(sql, params![refresh, since_ms], |row| row.get(0))
    }

    /// Issues a token; the oldest live ones die until `live` are left.
    pub(crate) fn issue(
        &mut self,
        token: &str,
        refresh: &str,
        now_ms: i64,
        expires_ms: i64,
        live: u32,
    ) -> rusqlite::Result<()> {
        self.db.execute(
            "INSERT INTO tokens (token, refresh, issued_ms, expires_ms, dead) VALUES (?1, ?2, ?3, ?4, 0)",
            params![token, refresh, now_ms, expires_ms],
        )?;
        self.db.execute(
            "UPDATE tokens SET dead = 1 WHERE rowid IN (
                 SELECT rowid FROM tokens WHERE refresh = ?1 AND dead = 0 AND expires_ms > ?2
                 ORDER BY rowid DESC LIMIT -1 OFFSET ?3)",
            params![refresh, now_ms, live],
        )?;
        Ok(())
    }

    /// A token that has not been ended; it may still have expired.
    pub(crate) fn token(&self, token: &str) -> rusqlite::Result<Option<TokenRow>> {
        let sql = "SELECT refresh, expires_ms FROM tokens WHERE token = ?1 AND dead = 0";
        self.db
            .query_row(sql, [token], |row| {
                Ok(TokenRow {
                    refresh: row.get(0)?,
                    expires_ms: row.get(1)?,
                })
            })
            .optional()
    }

    /// Ends every access token there is.
    pub(crate) fn end_all_tokens(&mut self) -> rusqlite::Result<usize> {
        self.db.execute("UPDATE tokens SET dead = 1", [])
    }

    /// Revokes a refresh token with all its access tokens.
    pub(crate) fn revoke(&mut self, refresh: &str) -> rusqlite::Result<()> {
        self.db.execute(
            "INSERT OR REPLACE INTO revoked (refresh) VALUES (?1)",
            [refresh],
        )?;
        self.db
            .execute("UPDATE tokens SET dead = 1 WHERE refresh = ?1", [refresh])?;
        Ok(())
    }

    pub(crate) fn is_revoked(&self, refresh: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT count(*) FROM revoked WHERE refresh = ?1";
        self.db
            .query_row(sql, [refresh], |row| row.get::<_, u32>(0))
            .map(|count| count > 0)
    }
}
