//! The ports a store has.

use bytes::Bytes;
use jiff::Timestamp;

use super::{Fault, Inner, MemoryStore, Row, apply, record_of};
use crate::ids::{CrmName, FileId, HistoryId, RequestKey, Revision, Sha256Hash};
use crate::ports::{
    Clock as _, CreateHistory, CreateReply, FindTwins, GuardedWrite, ListHistory, ListPage,
    ListQuery, ListStart, Metered, NewRecord, ReadDocument, ReadHistory, SourceFile, SourceFiles,
    StoreDocument, StoreError, Twin, UntouchedPage, UntouchedQuery, Usage, Write, WriteReply,
    clock_deadline,
};
use crate::progress::whole_seconds;
use crate::record::{HistoryRecord, Read, StateField};
use crate::state::State;

/// Every call costs one credit; no token is ever asked for.
impl Metered for MemoryStore {
    fn usage(&self) -> Usage {
        let calls = self.inner().calls;
        Usage {
            calls,
            credits: calls,
            ..Usage::default()
        }
    }
}

impl ReadHistory for MemoryStore {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        let before = self.call().await;
        let mut inner = self.inner();
        if let Some(error) = inner.failing_reads.pop_front() {
            return Err(error);
        }
        let row = inner.rows.get(id).cloned().ok_or(StoreError::NotFound)?;
        inner.reads += 1;
        Ok(self.stamped(&mut inner, &row, id, before))
    }
}

impl GuardedWrite for MemoryStore {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        self.call().await;
        let slow = self.inner().slow_writes.clone();
        if let Some((_, by)) = slow.filter(|(slow, _)| slow == id) {
            self.world.sleep(by).await;
        }
        let now = self.world.now();
        let mut inner = self.inner();
        inner.last_date = inner.last_date.max(Some(whole_seconds(now)));
        if let Some(error) = inner.failing_writes.pop_front() {
            return WriteReply::NotApplied(error);
        }
        if inner.poisoned.contains(id) {
            return WriteReply::NotApplied(StoreError::Refused {
                code: "INVALID_DATA".to_owned(),
                detail: "poisoned".to_owned(),
            });
        }
        let lost = WriteReply::Unknown(StoreError::Transient {
            detail: "the reply was lost".to_owned(),
        });
        match inner.faults.pop_front() {
            None => inner.write(now, id, revision, write),
            Some(Fault::AppliedReplyLost) => {
                inner.write(now, id, revision, write);
                lost
            }
            Some(Fault::LostBeforeApplied) => lost,
            Some(Fault::AppliedLate(after)) => {
                let at = clock_deadline(now, after);
                inner
                    .late
                    .push((at, id.clone(), revision.clone(), write.clone()));
                lost
            }
        }
    }
}

impl CreateHistory for MemoryStore {
    async fn create(&self, new: &NewRecord) -> CreateReply {
        self.call().await;
        let now = self.world.now();
        let mut inner = self.inner();
        inner.last_date = inner.last_date.max(Some(whole_seconds(now)));
        let key = new.request_key.as_str();
        let taken = inner.rows.values().any(|row| {
            row.request_key
                .as_deref()
                .is_some_and(|k| k.eq_ignore_ascii_case(key))
        });
        if taken {
            return CreateReply::Exists;
        }
        let mut row = Row {
            request_key: Some(key.to_owned()),
            source: Some((new.source_module.to_string(), new.source_record.to_string())),
            ..Row::default()
        };
        apply(&mut row, &new.write, now);
        let id = inner.fresh_id();
        inner.rows.insert(id.clone(), row);
        match inner.faults.pop_front() {
            None => CreateReply::Created(id),
            Some(_) => CreateReply::Unknown(StoreError::Transient {
                detail: "the reply was lost".to_owned(),
            }),
        }
    }

    async fn find_by_request_key(&self, key: &RequestKey) -> Result<Option<Read>, StoreError> {
        let before = self.call().await;
        let mut inner = self.inner();
        let found = inner
            .rows
            .iter()
            .find(|(_, row)| {
                row.request_key
                    .as_deref()
                    .is_some_and(|k| k.eq_ignore_ascii_case(key.as_str()))
            })
            .map(|(id, row)| (id.clone(), row.clone()));
        Ok(found.map(|(id, row)| self.stamped(&mut inner, &row, &id, before)))
    }
}

impl ListHistory for MemoryStore {
    type Cursor = (Option<Timestamp>, HistoryId);

    async fn list_due(
        &self,
        query: &ListQuery<Self::Cursor>,
    ) -> Result<ListPage<Self::Cursor>, StoreError> {
        let before = self.call().await;
        if let Some(error) = self.inner().failing_lists.pop_front() {
            return Err(error);
        }
        let due = self.due(query.now);
        let skip = match &query.start {
            ListStart::First => 0,
            ListStart::Offset(offset) => usize::try_from(*offset).unwrap_or(usize::MAX),
            ListStart::After(cursor) => due.iter().take_while(|key| *key <= cursor).count(),
        };
        let limit = query.limit as usize;
        let keys: Vec<_> = due.iter().skip(skip).take(limit).cloned().collect();
        let more = due.len() > skip.saturating_add(limit);
        let mut inner = self.inner();
        inner.lists += 1;
        let cut = inner.cut_lists_at;
        let rows = keys
            .iter()
            .filter_map(|(_, id)| {
                let row = as_listed(inner.rows.get(id)?, cut);
                Some(self.stamped(&mut inner, &row, id, before))
            })
            .collect();
        Ok(ListPage {
            rows,
            next: keys.last().filter(|_| more).cloned(),
        })
    }

    async fn count_due(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.call().await;
        Ok(self.due(now).len() as u64)
    }

    async fn list_untouched(&self, query: &UntouchedQuery) -> Result<UntouchedPage, StoreError> {
        let stamp = self.call().await;
        let mut inner = self.inner();
        if let Some(error) = inner.failing_lists.pop_front() {
            return Err(error);
        }
        inner.lists += 1;
        let ids = untouched(&inner, query.before);
        let skip = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let limit = query.limit as usize;
        let more = ids.len() > skip.saturating_add(limit);
        let cut = inner.cut_lists_at;
        let rows = ids.iter().skip(skip).take(limit).filter_map(|id| {
            let row = as_listed(inner.rows.get(id)?, cut);
            Some(self.stamped(&mut inner, &row, id, stamp))
        });
        Ok(UntouchedPage {
            rows: rows.collect(),
            more,
        })
    }

    async fn count_untouched(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.call().await;
        Ok(untouched(&self.inner(), before).len() as u64)
    }

    async fn count_foreign_states(&self) -> Result<u64, StoreError> {
        self.call().await;
        let inner = self.inner();
        let foreign = inner
            .rows
            .values()
            .filter(|row| matches!(StateField::of(row.state.as_deref()), StateField::Unknown(_)));
        Ok(foreign.count() as u64)
    }
}

/// The row as a list shows it.
fn as_listed(row: &Row, cut: Option<usize>) -> Row {
    let mut row = row.clone();
    if let (Some(cut), Some(text)) = (cut, row.progress.as_mut()) {
        text.truncate(cut);
    }
    row
}

/// Rows in flight that nobody wrote since, the oldest first.
fn untouched(inner: &Inner, before: Timestamp) -> Vec<HistoryId> {
    let in_flight = |row: &Row| {
        let state = StateField::of(row.state.as_deref()).known();
        state.is_some_and(State::is_in_flight) && row.modified <= before
    };
    let rows = inner.rows.iter().filter(|(_, row)| in_flight(row));
    let mut keys: Vec<_> = rows.map(|(id, row)| (row.modified, id.clone())).collect();
    keys.sort();
    keys.into_iter().map(|(_, id)| id).collect()
}

/// The most twins that are given: the newest.
const MOST_TWINS: usize = 50;

impl FindTwins for MemoryStore {
    async fn twins(
        &self,
        source_module: &CrmName,
        source_record: &CrmName,
        document: &Sha256Hash,
    ) -> Result<Vec<Twin>, StoreError> {
        self.call().await;
        let source = (source_module.to_string(), source_record.to_string());
        let hash = document.to_string();
        let seen_until = clock_deadline(self.world.now(), -self.inner().twins_lag);
        let mut inner = self.inner();
        if let Some(error) = inner.failing_twins.pop_front() {
            return Err(error);
        }
        let cut = inner.cut_lists_at;
        let same = |row: &Row| {
            row.source.as_ref() == Some(&source)
                && row.document_sha256.as_deref() == Some(hash.as_str())
                && row.modified <= seen_until
        };
        let newest_first = inner.rows.iter().rev().filter(|(_, row)| same(row));
        let twins = newest_first.take(MOST_TWINS).map(|(id, row)| Twin {
            record: record_of(id, &as_listed(row, cut)),
            version_at: row.modified,
        });
        Ok(twins.collect())
    }
}

impl StoreDocument for MemoryStore {
    async fn upload(&self, _: &str, bytes: Bytes) -> Result<FileId, StoreError> {
        self.call().await;
        let mut inner = self.inner();
        let text = format!("file_{}", inner.files.len() + 1);
        let id = FileId::parse(&text).map_err(|bad| StoreError::Malformed {
            detail: bad.to_string(),
        })?;
        inner.files.insert(id.clone(), bytes);
        Ok(id)
    }
}

fn bounded(bytes: Bytes, limit: u64) -> Result<Bytes, StoreError> {
    if bytes.len() as u64 > limit {
        return Err(StoreError::TooLarge { limit });
    }
    Ok(bytes)
}

impl ReadDocument for MemoryStore {
    async fn download(&self, record: &HistoryRecord, max_bytes: u64) -> Result<Bytes, StoreError> {
        self.call().await;
        let file = record.document.as_ref().ok_or(StoreError::NotFound)?;
        let bytes = self.inner().files.get(file).cloned();
        bounded(bytes.ok_or(StoreError::NotFound)?, max_bytes)
    }
}

impl SourceFiles for MemoryStore {
    async fn source_file(
        &self,
        module: &CrmName,
        record: &CrmName,
        file: &SourceFile,
        max_bytes: u64,
    ) -> Result<Bytes, StoreError> {
        self.call().await;
        let (SourceFile::Attachment(name) | SourceFile::Field(name)) = file;
        let key = (module.to_string(), record.to_string(), name.to_string());
        let bytes = self.inner().sources.get(&key).cloned();
        bounded(bytes.ok_or(StoreError::NotFound)?, max_bytes)
    }
}
