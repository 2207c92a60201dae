//! The client, and single history records: read, guarded write, create.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use reqwest::Method;
use sendtrail_core::ids::{FileId, HistoryId, RequestKey, Revision};
use sendtrail_core::ports::{
    CreateHistory, CreateReply, DocumentChange, GuardedWrite, NewRecord, ReadHistory, StoreError,
    Write, WriteReply,
};
use sendtrail_core::record::Read;
use thiserror::Error;

use crate::answer::Answer;
use crate::config::{Config, Fields, Secrets};
use crate::coql::Condition;
use crate::created::{Created, lowest_first};
use crate::fault::Fault;
use crate::http::{self, Call, Caller};
use crate::probe::Probe;
use crate::token::{TokenCache, Tokens};
use crate::usage::Counters;
use crate::versions::Versions;
use crate::{body, record};

/// The client could not be made.
#[derive(Debug, Error)]
#[error("the HTTP client for the CRM cannot be made")]
pub struct BuildError(#[source] reqwest::Error);

/// The history store over Zoho CRM. One per process, for one refresh token.
pub struct Zoho {
    pub(crate) caller: Caller,
    pub(crate) module: String,
    pub(crate) fields: Fields,
    notify: Vec<String>,
    request_timeout: SignedDuration,
    pub(crate) probe: Probe,
    created: Created,
    versions: Versions,
    has_warned: AtomicBool,
    pub(crate) counters: Arc<Counters>,
}

impl fmt::Debug for Zoho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zoho")
            .field("module", &self.module)
            .finish_non_exhaustive()
    }
}

impl Zoho {
    /// A client. `tls` says which certificates are trusted; it is not used for `http://` to this machine.
    ///
    /// # Errors
    /// [`BuildError`] when the TLS settings do not fit the HTTP client.
    pub fn new(
        config: &Config,
        secrets: Secrets,
        tls: rustls::ClientConfig,
        token_cache: Box<dyn TokenCache>,
    ) -> Result<Self, BuildError> {
        let timeout: Duration = config.request_timeout.unsigned_abs();
        let client =
            http::client(tls, config.connect_timeout.unsigned_abs()).map_err(BuildError)?;
        let counters = Arc::new(Counters::default());
        let tokens = Tokens::new(
            client.clone(),
            &config.accounts_url,
            config.client_id.clone(),
            secrets,
            token_cache,
            timeout,
            Arc::clone(&counters),
        );
        let api_url = config.api_url.clone();
        Ok(Self {
            caller: Caller::new(client, tokens, api_url, timeout, Arc::clone(&counters)),
            module: config.module.as_str().to_owned(),
            fields: config.fields.clone(),
            notify: config.notify.clone(),
            request_timeout: config.request_timeout,
            probe: Probe::default(),
            created: Created::default(),
            versions: Versions::default(),
            has_warned: AtomicBool::new(false),
            counters,
        })
    }

    /// Drops what earlier answers taught.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn forget(&mut self) {
        self.probe = Probe::default();
        self.created = Created::default();
        self.versions = Versions::default();
    }

    /// Reads a row of an answer.
    pub(crate) fn row(
        &self,
        row: &serde_json::Map<String, serde_json::Value>,
        answer: &Answer,
    ) -> Result<Read, StoreError> {
        let mut read = record::read(&self.fields, row, answer, self.request_timeout)?;
        self.versions.settle(&mut read);
        let source = self.fields.source_record.as_str();
        self.probe.remember(&read.record.id, row, source);
        if answer.date.is_none() && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "an answer of the CRM carries no Date: without one no read is a base for a write. \
                 If this stays, run `sendtrail zoho check`"
            );
        }
        Ok(read)
    }

    /// The handles of the files that a write takes off the record. The write that follows is guarded, so
    /// that files which came after this read are met by a conflict.
    async fn files_to_remove(
        &self,
        id: &HistoryId,
        change: &DocumentChange,
    ) -> Result<Vec<FileId>, Fault> {
        match change {
            DocumentChange::Keep => Ok(Vec::new()),
            DocumentChange::Drop | DocumentChange::Bind(_) => {
                let name = self.fields.document.as_str();
                let rows = self.record_rows(&self.module, id.as_str(), name).await;
                let rows = rows.map_err(Fault::not_done)?;
                let row = rows.first().ok_or(Fault::not_done(StoreError::NotFound))?;
                Ok(record::files(row, name))
            }
        }
    }

    /// A single read of any record: no row when there is none.
    pub(crate) async fn record_rows(
        &self,
        module: &str,
        id: &str,
        fields: &str,
    ) -> Result<Vec<serde_json::Map<String, serde_json::Value>>, StoreError> {
        let call = Call::get(&[module, id]).with_query("fields", fields.to_owned());
        let answer = self.caller.call(&call).await;
        answer.map_err(Fault::into_error)?.rows()
    }

    async fn try_write(
        &self,
        id: &HistoryId,
        revision: &Revision,
        write: &Write,
    ) -> Result<(), Fault> {
        let old_files = self.files_to_remove(id, &write.document).await?;
        let body = body::update(&self.fields, write, &old_files, &self.notify);
        let call = Call::json(Method::PUT, &[&self.module, id.as_str()], body);
        let answer = self.caller.call(&call.guarded_by(revision)).await?;
        answer.written().map(drop)
    }

    async fn try_create(&self, new: &NewRecord) -> Result<HistoryId, Fault> {
        let body = body::create(&self.fields, new, &self.notify);
        let call = Call::json(Method::POST, &[&self.module], body);
        let answer = self.caller.call(&call).await?;
        self.created_id(&new.request_key, &answer)
    }

    /// The ids of the records with this key, the lowest first, those with its exact letters before others:
    /// the CRM may not tell upper case from lower.
    async fn ids_by_key(&self, key: &RequestKey) -> Result<Option<HistoryId>, StoreError> {
        let name = self.fields.request_key.as_str();
        let rows = self.query(self.key_query(key), 10).await?.rows()?;
        let exact = rows
            .iter()
            .find(|row| record::text(row, name).as_deref() == Some(key.as_str()));
        exact.or(rows.first()).map(record::id).transpose()
    }

    pub(crate) fn key_query(&self, key: &RequestKey) -> String {
        let name = self.fields.request_key.as_str();
        let condition = Condition::compare(name, "=", key.as_str());
        format!(
            "select id, {name} from {} where {condition} order by id asc limit 10",
            self.module
        )
    }

    /// The one record of an answer.
    pub(crate) fn single(&self, id: &HistoryId, answer: &Answer) -> Result<Read, StoreError> {
        let rows = answer.rows()?;
        let read = self.row(rows.first().ok_or(StoreError::NotFound)?, answer)?;
        if read.record.id == *id {
            Ok(read)
        } else {
            Err(StoreError::Malformed {
                detail: "expected the record that was asked for".to_owned(),
            })
        }
    }

    /// The id that the answer to a create gives.
    pub(crate) fn created_id(&self, key: &RequestKey, answer: &Answer) -> Result<HistoryId, Fault> {
        let details = answer.written()?;
        // It says that it was created: without a readable id it still was.
        let id = record::id(&details).map_err(Fault::unsure)?;
        self.created.keep(key, id.clone());
        Ok(id)
    }

    /// What became of a create.
    pub(crate) fn create_reply(
        &self,
        key: &RequestKey,
        created: Result<HistoryId, Fault>,
    ) -> CreateReply {
        let key_field = self.fields.request_key.as_str();
        match created {
            Ok(id) => CreateReply::Created(id),
            Err(Fault::Duplicate { field, other })
                if field.as_deref().is_none_or(|field| field == key_field) =>
            {
                if let Some(other) = other {
                    self.created.keep(key, other);
                }
                CreateReply::Exists
            }
            Err(Fault::Failed {
                error,
                not_done: false,
            }) => CreateReply::Unknown(error),
            Err(
                fault @ (Fault::Conflict
                | Fault::Duplicate { .. }
                | Fault::StaleToken { .. }
                | Fault::Failed { not_done: true, .. }),
            ) => CreateReply::NotCreated(fault.into_error()),
        }
    }
}

impl ReadHistory for Zoho {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        let fields = record::single_read_fields(&self.fields);
        let call = Call::get(&[&self.module, id.as_str()]).with_query("fields", fields);
        let answer = self.caller.call(&call).await.map_err(Fault::into_error)?;
        self.single(id, &answer)
    }
}

impl GuardedWrite for Zoho {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        if let Err(error) = self.ensure_the_guard_is_heeded(id).await {
            return WriteReply::NotApplied(error);
        }
        write_reply(self.try_write(id, revision, write).await)
    }
}

/// What became of a guarded write.
pub(crate) fn write_reply(written: Result<(), Fault>) -> WriteReply {
    match written {
        Ok(()) => WriteReply::Applied,
        Err(Fault::Conflict) => WriteReply::Conflict,
        Err(Fault::Failed {
            error,
            not_done: false,
        }) => WriteReply::Unknown(error),
        Err(
            fault @ (Fault::Duplicate { .. }
            | Fault::StaleToken { .. }
            | Fault::Failed { not_done: true, .. }),
        ) => WriteReply::NotApplied(fault.into_error()),
    }
}

impl CreateHistory for Zoho {
    async fn create(&self, new: &NewRecord) -> CreateReply {
        self.create_reply(&new.request_key, self.try_create(new).await)
    }

    async fn find_by_request_key(&self, key: &RequestKey) -> Result<Option<Read>, StoreError> {
        let found = self.ids_by_key(key).await?;
        // Where the query lags, the answer to the create tells.
        for id in lowest_first(found, self.created.get(key)) {
            match self.read(&id).await {
                Err(StoreError::NotFound) => {}
                other => return other.map(Some),
            }
        }
        Ok(None)
    }
}
