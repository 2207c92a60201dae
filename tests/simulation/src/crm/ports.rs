//! The store's ports, as one invocation uses them.
//!
//! Reads are served at some moment between question and answer. Writes travel on their own: what was sent
//! arrives, also where its sender is killed meanwhile.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use jiff::Timestamp;
use sendtrail_core::ids::{CrmName, FileId, HistoryId, RequestKey, Revision, Sha256Hash};
use sendtrail_core::ports::{
    CreateHistory, CreateReply, FindTwins, GuardedWrite, ListHistory, ListPage, ListQuery,
    NewRecord, ReadDocument, ReadHistory, StoreDocument, StoreError, Twin, UntouchedPage,
    UntouchedQuery, Write, WriteReply,
};
use sendtrail_core::record::{HistoryRecord, Read};
use sendtrail_core::state::State as Delivery;
use sendtrail_core::testing::{Crm, Cursor, SeenClock};

use super::calls::{End, Fate, REQUEST_TIMEOUT};
use crate::actors::spring;
use crate::checker::{Applied, Ticket};
use crate::function::{Function, Kind};
use crate::sim::{Fault, Sabotage, State, World, lock};
use crate::totals::Call;

/// A write on its way.
pub struct Sent {
    /// Who sent it.
    pub kind: Kind,
    /// Its name in the log.
    pub name: String,
    /// The record.
    pub id: HistoryId,
    /// After how many changes the sender was shown the record that it writes on.
    pub seen: Option<u64>,
    revision: Revision,
    /// What a user looked at, where its sender was told to confirm that.
    pub ticket: Option<Arc<Ticket>>,
    /// What it changes.
    pub write: Write,
}

impl Function {
    /// One request that changes nothing: `serve` looks at the CRM at the moment it is served.
    async fn ask<T: std::fmt::Debug>(
        &self,
        call: Call,
        about: &str,
        serve: impl FnOnce(&mut State, i64, SeenClock) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let Fate { before, after, end } = {
            let (now, is_cold) = (self.world.now(), self.is_cold());
            let mut state = self.world.state();
            state.totals.called(self.kind, call);
            state.read_fate(now, is_cold)
        };
        self.world.sleep(before).await;
        if let Some(error) = end.error() {
            self.world.sleep(after).await;
            self.world
                .log(&self.name, || format!("{} -> {error}", what(call, about)));
            return Err(error);
        }
        let (answer, date) = {
            let now = self.world.now();
            let mut state = self.world.state();
            let seen = state.crm.seen(self, now, now + after);
            let date = seen.date;
            state.totals.charged(self.kind, call);
            (serve(&mut state, now, seen), date)
        };
        self.world.sleep(after).await;
        self.learn_date(date);
        self.world.log(&self.name, || match &answer {
            Ok(_) => format!("{} -> ok", what(call, about)),
            Err(error) => format!("{} -> {error}", what(call, about)),
        });
        answer
    }

    /// One request that may change something: `serve` runs when it arrives, whatever became of us.
    async fn tell<T: Send + 'static>(
        &self,
        call: Call,
        serve: impl FnOnce(&Arc<World>, &mut State) -> T + Send + 'static,
    ) -> Result<T, End> {
        let Fate { before, after, end } = {
            let (now, is_cold) = (self.world.now(), self.is_cold());
            let mut state = self.world.state();
            state.totals.called(self.kind, call);
            state.write_fate(now, is_cold)
        };
        let arrives = match &end {
            End::Served | End::Lost { served: true, .. } => Some(before),
            End::Refused(_) | End::Lost { served: false, .. } => None,
            End::Late(by) => Some(REQUEST_TIMEOUT + by),
        };
        let answer = Arc::new(Mutex::new(None));
        if let Some(after) = arrives {
            let (world, answer, kind) = (Arc::clone(&self.world), Arc::clone(&answer), self.kind);
            self.world.executor.spawn(async move {
                world.sleep(after).await;
                let mut state = world.state();
                state.totals.charged(kind, call);
                *lock(&answer) = Some(serve(&world, &mut state));
            });
        }
        let wait = match &end {
            End::Late(_) => REQUEST_TIMEOUT,
            End::Served | End::Refused(_) | End::Lost { .. } => before + after.max(1),
        };
        let made = self.world.now() + before;
        self.world.sleep(wait).await;
        match end {
            End::Served => {
                let date = self.world.state().crm.seen(self, made, made + after).date;
                self.learn_date(date);
                lock(&answer).take().ok_or(End::Late(0))
            }
            End::Refused(_) | End::Lost { .. } | End::Late(_) => Err(end),
        }
    }

    /// Notes what it is shown of a record.
    fn shown(&self, read: Read, changes: u64) -> Read {
        self.saw(&read.record.id, changes);
        read
    }

    /// A list: of rows as they are, or as they were.
    async fn list<T: std::fmt::Debug>(
        &self,
        call: Call,
        look: impl FnOnce(&Crm, SeenClock) -> (T, Vec<HistoryId>) + Send,
    ) -> Result<T, StoreError> {
        self.ask(call, "", |state, now, clock| {
            let (rows, changes, is_behind) = state.crm.listed(now);
            let (answer, shown) = look(rows, clock);
            for id in shown {
                self.saw(&id, changes.get(&id).copied().unwrap_or_default());
            }
            if is_behind {
                state.faults.count(Fault::ListLags);
            }
            Ok(answer)
        })
        .await
    }
}

/// A call and what it is about, where it is about one record.
fn what(call: Call, about: &str) -> String {
    format!("{} {about}", call.label()).trim_end().to_owned()
}

fn ids_of(rows: &[Read]) -> Vec<HistoryId> {
    rows.iter().map(|read| read.record.id.clone()).collect()
}

impl ReadHistory for Function {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        self.ask(Call::Read, id.as_str(), |state, _, clock| {
            let read = state.crm.rows.read(id, clock)?;
            Ok(self.shown(read, state.crm.changes(id)))
        })
        .await
    }
}

impl GuardedWrite for Function {
    async fn write(&self, id: &HistoryId, revision: &Revision, write: &Write) -> WriteReply {
        let sent = Sent {
            kind: self.kind,
            name: self.name.clone(),
            id: id.clone(),
            seen: self.seen(id),
            revision: revision.clone(),
            ticket: self.ticket(),
            write: write.clone(),
        };
        let arrive = move |world: &Arc<World>, state: &mut State| state.write(world, &sent);
        match self.tell(Call::Write, arrive).await {
            Ok(reply) => reply,
            Err(End::Refused(error)) => {
                self.world
                    .log(&self.name, || format!("write {id} -> {error}"));
                WriteReply::NotApplied(error)
            }
            Err(end) => {
                let error = end.error().unwrap_or(StoreError::NotFound);
                self.world
                    .log(&self.name, || format!("write {id} -> unknown: {error}"));
                WriteReply::Unknown(error)
            }
        }
    }
}

impl State {
    /// A write arrives.
    fn write(&mut self, world: &Arc<World>, sent: &Sent) -> WriteReply {
        let now = world.now();
        let id = &sent.id;
        let reply = self.apply(world, now, sent);
        self.log.line(now, &sent.name, || {
            let state = sent.write.state.map_or("as it is", |s| s.label());
            format!(
                "write {id} on version {} state {state} -> {reply:?}",
                sent.revision
            )
        });
        reply
    }

    fn apply(&mut self, world: &Arc<World>, now: i64, sent: &Sent) -> WriteReply {
        let id = &sent.id;
        let is_claim = sent.write.state == Some(Delivery::Sending);
        if is_claim && world.settings.sabotage == Some(Sabotage::NeverClaims) {
            return WriteReply::NotApplied(StoreError::NotFound);
        }
        if self.crm.is_poisoned(now, id) {
            self.faults.count(Fault::Poison);
            return WriteReply::NotApplied(StoreError::Refused {
                code: "INVALID_DATA".to_owned(),
                detail: "poisoned".to_owned(),
            });
        }
        let Some(before) = self.crm.rows.row(id).cloned() else {
            return WriteReply::NotApplied(StoreError::NotFound);
        };
        let clock = self.crm.clock(now);
        let revision = if world.settings.sabotage == Some(Sabotage::IgnoresRevisions) {
            &before.record(id).revision
        } else {
            &sent.revision
        };
        let reply = self.crm.rows.write(clock, id, revision, &sent.write);
        if reply == WriteReply::Applied {
            let changes = self.crm.changes(id);
            self.crm.changed(now, id);
            if let Some(after) = self.crm.rows.row(id) {
                let applied = Applied {
                    at: now,
                    sent,
                    before: &before,
                    after,
                    changes,
                };
                self.checker.written(&applied, &self.api, &world.settings);
            }
            if let Some(into) = sent.write.state {
                spring(world, self, id, into);
            }
        } else {
            self.totals.conflicts += 1;
        }
        reply
    }
}

impl CreateHistory for Function {
    async fn create(&self, new: &NewRecord) -> CreateReply {
        let order = new.clone();
        let name = self.name.clone();
        let arrive = move |world: &Arc<World>, state: &mut State| {
            let now = world.now();
            let clock = state.crm.clock(now);
            let reply = state.crm.rows.create(clock, &order);
            if let CreateReply::Created(id) = &reply {
                state.crm.changed(now, id);
                state.checker.created(now, id);
            }
            state.log.line(now, &name, || {
                format!("create {} -> {reply:?}", order.request_key)
            });
            reply
        };
        match self.tell(Call::Create, arrive).await {
            Ok(reply) => {
                self.knows_its_record();
                reply
            }
            Err(End::Refused(error)) => CreateReply::NotCreated(error),
            Err(end) => CreateReply::Unknown(end.error().unwrap_or(StoreError::NotFound)),
        }
    }

    /// A query, unless the answer to the create named the record.
    async fn find_by_request_key(&self, key: &RequestKey) -> Result<Option<Read>, StoreError> {
        let is_named = self.has_a_named_record();
        self.ask(Call::Find, key.as_str(), |state, now, clock| {
            if is_named {
                let found = state.crm.rows.find_by_request_key(key, clock);
                return Ok(found.map(|read| {
                    let changes = state.crm.changes(&read.record.id);
                    self.shown(read, changes)
                }));
            }
            let (rows, changes, _) = state.crm.listed(now);
            let found = rows.find_by_request_key(key, clock);
            Ok(found.map(|read| {
                let changes = changes.get(&read.record.id).copied();
                self.shown(read, changes.unwrap_or_default())
            }))
        })
        .await
    }
}

impl ListHistory for Function {
    type Cursor = Cursor;

    async fn list_due(&self, query: &ListQuery<Cursor>) -> Result<ListPage<Cursor>, StoreError> {
        self.list(Call::List, |rows, clock| {
            let page = rows.list_due(query, clock);
            let ids = ids_of(&page.rows);
            (page, ids)
        })
        .await
    }

    async fn count_due(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.list(Call::Count, |rows, _| (rows.count_due(now), Vec::new()))
            .await
    }

    async fn list_untouched(&self, query: &UntouchedQuery) -> Result<UntouchedPage, StoreError> {
        self.list(Call::List, |rows, clock| {
            let page = rows.list_untouched(query, clock);
            let ids = ids_of(&page.rows);
            (page, ids)
        })
        .await
    }

    async fn count_untouched(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.list(Call::Count, |rows, _| {
            (rows.count_untouched(before), Vec::new())
        })
        .await
    }

    async fn count_foreign_states(&self) -> Result<u64, StoreError> {
        self.list(Call::Count, |rows, _| {
            (rows.count_foreign_states(), Vec::new())
        })
        .await
    }
}

impl FindTwins for Function {
    async fn twins(
        &self,
        source_module: &CrmName,
        source_record: &CrmName,
        document: &Sha256Hash,
    ) -> Result<Vec<Twin>, StoreError> {
        self.list(Call::Twins, |rows, _| {
            let now = Timestamp::MAX;
            (
                rows.twins(source_module, source_record, document, now),
                Vec::new(),
            )
        })
        .await
    }
}

impl StoreDocument for Function {
    async fn upload(&self, name: &str, bytes: Bytes) -> Result<FileId, StoreError> {
        self.ask(Call::Upload, name, |state, _, _| {
            state.crm.rows.upload(bytes)
        })
        .await
    }
}

impl ReadDocument for Function {
    async fn download(&self, record: &HistoryRecord, max_bytes: u64) -> Result<Bytes, StoreError> {
        self.ask(Call::Download, record.id.as_str(), |state, _, _| {
            state.crm.rows.download(record, max_bytes)
        })
        .await
    }
}
