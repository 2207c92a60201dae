//! What the API knows, in SQLite: a killed process loses nothing that it had taken.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::record::{Calls, LetterRecord, PostCounts, PostRecord};
use super::submission::Submission;

mod drafts;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS scripts (recipient TEXT PRIMARY KEY, script TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS letters (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, reference TEXT,
    idempotency_key TEXT, fingerprint TEXT NOT NULL, recipient TEXT NOT NULL, address TEXT NOT NULL,
    document_sha256 TEXT NOT NULL, document_bytes INTEGER NOT NULL, script TEXT, accepted_ms INTEGER NOT NULL,
    look_ups INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS letters_reference ON letters (reference);
CREATE TABLE IF NOT EXISTS posts (
    n INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, reference TEXT, idempotency_key TEXT,
    recipient TEXT NOT NULL, document_sha256 TEXT, outcome TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS posts_reference ON posts (reference);
CREATE TABLE IF NOT EXISTS drafts (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, reference TEXT, recipient TEXT NOT NULL DEFAULT '',
    email TEXT NOT NULL DEFAULT '', document_sha256 TEXT NOT NULL DEFAULT '', document_bytes INTEGER NOT NULL DEFAULT 0,
    reminders INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL);
";

const LETTER: &str = "id, kind, reference, idempotency_key, fingerprint, recipient, address, document_sha256, \
     document_bytes, script, accepted_ms, look_ups";

/// The database. Every method is one transaction.
pub(crate) struct Store {
    connection: Mutex<Connection>,
}

/// A POST that was read whole, as it was written down before anything was done with it.
pub(crate) struct Begun {
    pub(crate) post: i64,
    /// How many POSTs of the same reference came before.
    pub(crate) earlier: u32,
    /// What the same idempotency key led to before.
    pub(crate) before: Before,
}

pub(crate) enum Before {
    Nothing,
    InFlight,
    Letter(Box<LetterRecord>),
}

impl Store {
    pub(crate) fn open(path: Option<&Path>) -> rusqlite::Result<Self> {
        let connection = match path {
            Some(path) => Connection::open(path)?,
            None => Connection::open_in_memory()?,
        };
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        connection.execute_batch(SCHEMA)?;
        // What was under way when the process died will never be answered.
        connection.execute(
            "UPDATE posts SET outcome = 'unanswered' WHERE outcome = 'pending'",
            [],
        )?;
        Ok(Self {
            connection: Mutex::new(connection),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_script(&self, recipient: &str, script: &str) -> rusqlite::Result<()> {
        let sql =
            "INSERT INTO scripts VALUES (?1, ?2) ON CONFLICT (recipient) DO UPDATE SET script = ?2";
        self.lock()
            .execute(sql, params![recipient, script])
            .map(|_| ())
    }

    pub(crate) fn script(&self, recipient: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT script FROM scripts WHERE recipient = ?1";
        self.lock()
            .query_row(sql, [recipient], |row| row.get(0))
            .optional()
    }

    pub(crate) fn scripts(&self) -> rusqlite::Result<Vec<(String, String)>> {
        let connection = self.lock();
        let mut all =
            connection.prepare("SELECT recipient, script FROM scripts ORDER BY recipient")?;
        all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
    }

    /// How many POSTs of this reference came so far, complete or not.
    pub(crate) fn earlier(
        &self,
        reference: Option<&str>,
        recipient: &str,
    ) -> rusqlite::Result<u32> {
        earlier(&self.lock(), reference, recipient)
    }

    /// Writes down a POST as pending.
    pub(crate) fn begin(&self, submission: &Submission) -> rusqlite::Result<Begun> {
        let mut connection = self.lock();
        let tx = connection.transaction()?;
        let earlier = earlier(&tx, submission.reference.as_deref(), &submission.recipient)?;
        let before = match &submission.idempotency_key {
            Some(key) => before(&tx, key)?,
            None => Before::Nothing,
        };
        insert_post(&tx, submission, "pending")?;
        let post = tx.last_insert_rowid();
        tx.commit()?;
        Ok(Begun {
            post,
            earlier,
            before,
        })
    }

    /// Writes down a POST whose end is known already.
    pub(crate) fn note_post(&self, submission: &Submission, outcome: &str) -> rusqlite::Result<()> {
        insert_post(&self.lock(), submission, outcome)
    }

    /// Writes down how a POST ended.
    pub(crate) fn end_post(&self, post: i64, outcome: &str) -> rusqlite::Result<()> {
        self.lock()
            .execute(
                "UPDATE posts SET outcome = ?2 WHERE n = ?1",
                params![post, outcome],
            )
            .map(|_| ())
    }

    /// Takes the letter; `None` when `unique` and its reference has one already.
    pub(crate) fn accept(
        &self,
        post: i64,
        id: &str,
        submission: &Submission,
        unique: bool,
    ) -> rusqlite::Result<Option<LetterRecord>> {
        let mut connection = self.lock();
        let tx = connection.transaction()?;
        if unique && !letters(&tx, submission.reference.as_deref())?.is_empty() {
            tx.execute("UPDATE posts SET outcome = 'refused' WHERE n = ?1", [post])?;
            tx.commit()?;
            return Ok(None);
        }
        let sql =
            format!("INSERT INTO letters ({LETTER}) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,0)");
        let bytes = i64::try_from(submission.document_bytes).unwrap_or(i64::MAX);
        tx.execute(
            &sql,
            params![
                id,
                submission.kind.name(),
                submission.reference,
                submission.idempotency_key,
                submission.fingerprint,
                submission.recipient,
                submission.address,
                submission.document_sha256,
                bytes,
                submission.script,
                Timestamp::now().as_millisecond(),
            ],
        )?;
        tx.execute("UPDATE posts SET outcome = 'accepted' WHERE n = ?1", [post])?;
        let letter = letter(&tx, id)?;
        tx.commit()?;
        Ok(letter)
    }

    /// The letter, and how often it was looked up before; this look-up is counted.
    pub(crate) fn look_up(&self, id: &str) -> rusqlite::Result<Option<LetterRecord>> {
        let mut connection = self.lock();
        let tx = connection.transaction()?;
        bump(&tx, "look_ups")?;
        let found = letter(&tx, id)?;
        tx.execute(
            "UPDATE letters SET look_ups = look_ups + 1 WHERE id = ?1",
            [id],
        )?;
        tx.commit()?;
        Ok(found)
    }

    /// All letters of a reference, oldest first, and how often it was searched before; this search is counted.
    pub(crate) fn find(&self, reference: &str) -> rusqlite::Result<(Vec<LetterRecord>, u32)> {
        let mut connection = self.lock();
        let tx = connection.transaction()?;
        bump(&tx, "finds")?;
        let times = bump(&tx, &format!("find {reference}"))?;
        let found = letters(&tx, Some(reference))?;
        tx.commit()?;
        Ok((found, times - 1))
    }

    /// The letter of this id. Not counted.
    pub(crate) fn letter(&self, id: &str) -> rusqlite::Result<Option<LetterRecord>> {
        letter(&self.lock(), id)
    }

    /// Counts a look at a draft.
    pub(crate) fn count_find(&self) -> rusqlite::Result<()> {
        bump(&self.lock(), "finds").map(|_| ())
    }

    /// All letters of a kind, oldest first, and how often they were listed before; this time is counted.
    pub(crate) fn find_kind(&self, kind: &str) -> rusqlite::Result<(Vec<LetterRecord>, u32)> {
        let mut connection = self.lock();
        let tx = connection.transaction()?;
        bump(&tx, "finds")?;
        let times = bump(&tx, &format!("find {kind}"))?;
        let mut found = letters(&tx, None)?;
        found.retain(|letter| letter.kind == kind);
        tx.commit()?;
        Ok((found, times - 1))
    }

    /// All letters, or those of one reference, oldest first. Not counted.
    pub(crate) fn letters(&self, reference: Option<&str>) -> rusqlite::Result<Vec<LetterRecord>> {
        letters(&self.lock(), reference)
    }

    /// The POSTs, or those of one reference, oldest first.
    pub(crate) fn posts(&self, reference: Option<&str>) -> rusqlite::Result<Vec<PostRecord>> {
        let connection = self.lock();
        let sql = "SELECT at_ms, reference, idempotency_key, recipient, document_sha256, outcome FROM posts \
             WHERE ?1 IS NULL OR reference = ?1 ORDER BY n";
        let mut rows = connection.prepare(sql)?;
        let read = |row: &Row<'_>| {
            Ok(PostRecord {
                at_ms: row.get(0)?,
                reference: row.get(1)?,
                idempotency_key: row.get(2)?,
                recipient: row.get(3)?,
                document_sha256: row.get(4)?,
                outcome: row.get(5)?,
            })
        };
        rows.query_map([reference], read)?.collect()
    }

    /// The POSTs counted.
    pub(crate) fn counts(&self, reference: Option<&str>) -> rusqlite::Result<PostCounts> {
        Ok(PostCounts::of(&self.posts(reference)?))
    }

    /// How often each kind of call was made.
    pub(crate) fn calls(&self) -> rusqlite::Result<Calls> {
        let connection = self.lock();
        let read = |name: &str| {
            let sql = "SELECT n FROM counters WHERE name = ?1";
            connection
                .query_row(sql, [name], |row| row.get(0))
                .optional()
                .map(Option::unwrap_or_default)
        };
        let posts = connection.query_row("SELECT count(*) FROM posts", [], |row| row.get(0))?;
        Ok(Calls {
            posts,
            look_ups: read("look_ups")?,
            finds: read("finds")?,
        })
    }
}

fn earlier(
    connection: &Connection,
    reference: Option<&str>,
    recipient: &str,
) -> rusqlite::Result<u32> {
    let (sql, key) = match reference {
        Some(reference) => ("SELECT count(*) FROM posts WHERE reference = ?1", reference),
        None => (
            "SELECT count(*) FROM posts WHERE reference IS NULL AND recipient = ?1",
            recipient,
        ),
    };
    connection.query_row(sql, [key], |row| row.get(0))
}

fn before(connection: &Connection, key: &str) -> rusqlite::Result<Before> {
    let sql = format!("SELECT {LETTER} FROM letters WHERE idempotency_key = ?1 ORDER BY n LIMIT 1");
    if let Some(letter) = connection.query_row(&sql, [key], read_letter).optional()? {
        return Ok(Before::Letter(Box::new(letter)));
    }
    let sql = "SELECT count(*) FROM posts WHERE idempotency_key = ?1 AND outcome = 'pending'";
    let pending: u32 = connection.query_row(sql, [key], |row| row.get(0))?;
    Ok(if pending == 0 {
        Before::Nothing
    } else {
        Before::InFlight
    })
}

fn insert_post(
    connection: &Connection,
    submission: &Submission,
    outcome: &str,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO posts (at_ms, reference, idempotency_key, recipient, document_sha256, outcome) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let sha256 = Some(&submission.document_sha256).filter(|sha256| !sha256.is_empty());
    let now = Timestamp::now().as_millisecond();
    let Submission {
        reference,
        idempotency_key,
        recipient,
        ..
    } = submission;
    connection
        .execute(
            sql,
            params![now, reference, idempotency_key, recipient, sha256, outcome],
        )
        .map(|_| ())
}

fn bump(connection: &Connection, name: &str) -> rusqlite::Result<u32> {
    let sql = "INSERT INTO counters VALUES (?1, 1) ON CONFLICT (name) DO UPDATE SET n = n + 1 RETURNING n";
    connection.query_row(sql, [name], |row| row.get(0))
}

fn letter(connection: &Connection, id: &str) -> rusqlite::Result<Option<LetterRecord>> {
    let sql = format!("SELECT {LETTER} FROM letters WHERE id = ?1");
    connection.query_row(&sql, [id], read_letter).optional()
}

fn letters(
    connection: &Connection,
    reference: Option<&str>,
) -> rusqlite::Result<Vec<LetterRecord>> {
    let sql = format!("SELECT {LETTER} FROM letters WHERE ?1 IS NULL OR reference = ?1 ORDER BY n");
    let mut rows = connection.prepare(&sql)?;
    rows.query_map([reference], read_letter)?.collect()
}

fn read_letter(row: &Row<'_>) -> rusqlite::Result<LetterRecord> {
    Ok(LetterRecord {
        id: row.get(0)?,
        kind: row.get(1)?,
        reference: row.get(2)?,
        idempotency_key: row.get(3)?,
        fingerprint: row.get(4)?,
        recipient: row.get(5)?,
        address: row.get(6)?,
        document_sha256: row.get(7)?,
        document_bytes: row.get(8)?,
        script: row.get(9)?,
        accepted_ms: row.get(10)?,
        look_ups: row.get(11)?,
    })
}
