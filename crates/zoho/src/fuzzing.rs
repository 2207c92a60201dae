//! For fuzzing: what answers are read as and how queries are written, without a network.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::HeaderMap;
use sendtrail_core::ids::{CrmName, HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::ports::{
    CreateReply, ListPage, ListQuery, StoreError, UntouchedQuery, WriteReply,
};
use sendtrail_core::record::Read;
use sendtrail_core::state::State;

use crate::answer::{Answer, Head};
use crate::fault::Fault;
use crate::store::{Zoho, write_reply};
use crate::token::AccessToken;
use crate::{Cursor, list, token};

/// An answer as it came from the network.
#[derive(Debug, Clone, Copy)]
pub struct RawAnswer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body, whole.
    pub body: &'a [u8],
}

impl RawAnswer<'_> {
    fn read(&self) -> Result<Answer, Fault> {
        let body = Bytes::copy_from_slice(self.body);
        Head::of(self.status, self.headers).with_body(body, None)
    }

    fn of_read(&self) -> Result<Answer, StoreError> {
        self.read().map_err(Fault::into_error)
    }
}

/// How long the answer asks to wait.
pub fn retry_after(headers: &HeaderMap) -> Option<SignedDuration> {
    Head::of(200, headers).retry_after
}

/// What the token endpoint's answer to a refresh asked for at `now` gives.
///
/// # Errors
/// [`StoreError`], as for any request.
pub fn token(status: u16, body: &[u8], now: Timestamp) -> Result<AccessToken, StoreError> {
    token::read(status, body, now)
}

/// A client that is asked about answers and queries only.
#[derive(Debug)]
pub struct Offline(Zoho);

impl Offline {
    /// Around this client.
    pub fn of(zoho: Zoho) -> Self {
        Self(zoho)
    }

    /// Drops what earlier answers taught, so that each answer is judged alone.
    pub fn forget(&mut self) {
        self.0.forget();
    }

    /// A single read of this record.
    ///
    /// # Errors
    /// As [`sendtrail_core::ports::ReadHistory::read`].
    pub fn read(&self, id: &HistoryId, raw: &RawAnswer<'_>) -> Result<Read, StoreError> {
        self.0.single(id, &raw.of_read()?)
    }

    /// A page of due rows.
    ///
    /// # Errors
    /// As [`sendtrail_core::ports::ListHistory::list_due`].
    pub fn list(
        &self,
        query: &ListQuery<Cursor>,
        raw: &RawAnswer<'_>,
    ) -> Result<ListPage<Cursor>, StoreError> {
        self.0.list_page(query, query.limit, &raw.of_read()?)
    }

    /// A count of rows; `None` where the answer holds none.
    ///
    /// # Errors
    /// As [`sendtrail_core::ports::ListHistory::count_due`].
    pub fn count(&self, raw: &RawAnswer<'_>) -> Result<Option<u64>, StoreError> {
        let rows = raw.of_read()?.rows()?;
        Ok(rows.first().and_then(list::count))
    }

    /// What became of a guarded write.
    pub fn write(&self, raw: &RawAnswer<'_>) -> WriteReply {
        let answer = raw.read();
        write_reply(answer.and_then(|answer| answer.written().map(drop)))
    }

    /// What became of a create under this key.
    pub fn create(&self, key: &RequestKey, raw: &RawAnswer<'_>) -> CreateReply {
        let answer = raw.read();
        let created = answer.and_then(|answer| self.0.created_id(key, &answer));
        self.0.create_reply(key, created)
    }

    /// A file.
    ///
    /// # Errors
    /// As [`sendtrail_core::ports::ReadDocument::download`].
    pub fn file(&self, raw: &RawAnswer<'_>) -> Result<Bytes, StoreError> {
        raw.of_read()?.file()
    }

    /// The query for a page of due rows.
    pub fn list_query(&self, query: &ListQuery<Cursor>) -> String {
        self.0.list_query(query, query.limit)
    }

    /// The query for rows not written since.
    pub fn untouched_query(&self, query: &UntouchedQuery) -> String {
        self.0.untouched_query(query, query.limit)
    }

    /// The query for the records that changed last.
    pub fn recent_query(&self, limit: u32, states: &[State]) -> String {
        self.0.recent_query(limit, states)
    }

    /// The query for the records with this key.
    pub fn key_query(&self, key: &RequestKey) -> String {
        self.0.key_query(key)
    }

    /// The query for the twins of a document.
    pub fn twins_query(&self, module: &CrmName, record: &CrmName, document: &Sha256Hash) -> String {
        let document = document.to_string();
        self.0
            .twins_query(&self.0.wanted_of_twins(module, record, &document))
    }
}
