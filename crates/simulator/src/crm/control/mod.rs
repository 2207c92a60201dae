//! What a test or a person does to the CRM from the side, as methods of the handle; `api` serves the same.

mod api;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use api::{local_only, routes};

use super::faults::Fault;
use super::fields::{Look, Rules, Showing, merge, show_record};
use super::records::{insert, parse_id};
use super::reply::Problem;
use super::seed::{Seed, Seeded};
use super::store::{Fields, LogLine, Record};
use super::switches::Switches;
use super::{App, CrmError, CrmHandle, FieldKind, ModuleSpec, render_seconds};

/// Name under which edits by hand are recorded.
pub(crate) const EDITOR: &str = "Pat Editor";

/// A record as it is stored, deleted or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawRecord {
    /// Record id.
    pub id: String,
    /// Creation, in the CRM's text form.
    pub created_time: String,
    /// Last change, in the CRM's text form.
    pub modified_time: String,
    /// Who made it.
    pub modified_by: String,
    /// Writes so far, the creation included.
    pub writes: u32,
    /// Whether it is in the recycle bin.
    pub deleted: bool,
    /// Every field, uncut.
    pub fields: Map<String, Value>,
}

/// Credits of the last 24 h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreditState {
    /// Used.
    pub used: u64,
    /// Allowed.
    pub total: u64,
}

impl App {
    fn record_id(&self, module: &str, id: &str) -> Result<(&ModuleSpec, i64), CrmError> {
        let spec = self
            .module(module)
            .ok_or_else(|| CrmError::NoModule(module.to_owned()))?;
        let missing = || CrmError::NoRecord {
            module: module.to_owned(),
            id: id.to_owned(),
        };
        Ok((spec, parse_id(id).ok_or_else(missing)?))
    }

    fn raw(&self, module: &ModuleSpec, record: &Record) -> RawRecord {
        let zone = self.config.zone_minutes;
        let showing = Showing {
            look: Look {
                zone: zone.into(),
                ..Look::default()
            },
            ..Showing::default()
        };
        let shown = show_record(showing, module, record, &record.now, None);
        RawRecord {
            id: record.id.to_string(),
            created_time: render_seconds(record.created_ms.div_euclid(1000), zone),
            modified_time: render_seconds(record.now.modified_s, zone),
            modified_by: record.now.modified_by.clone(),
            writes: record.writes,
            deleted: record.now.deleted,
            fields: shown.as_object().cloned().unwrap_or_default(),
        }
    }

    pub(crate) fn record(&self, module: &str, id: &str) -> Result<RawRecord, CrmError> {
        let (spec, number) = self.record_id(module, id)?;
        let missing = || CrmError::NoRecord {
            module: module.to_owned(),
            id: id.to_owned(),
        };
        let store = self.store();
        store
            .any(module, number)
            .map(|record| self.raw(spec, record))
            .ok_or_else(missing)
    }

    pub(crate) fn all_records(&self, module: &str) -> Result<Vec<RawRecord>, CrmError> {
        let spec = self
            .module(module)
            .ok_or_else(|| CrmError::NoModule(module.to_owned()))?;
        Ok(self
            .store()
            .all(module)
            .map(|record| self.raw(spec, record))
            .collect())
    }

    /// An edit by hand: no guard, no check of length or type.
    pub(crate) fn edit(&self, module: &str, id: &str, incoming: &Fields) -> Result<(), CrmError> {
        self.change(module, id, |spec, store, old| {
            let switches = self.switches();
            let rules = Rules {
                module: spec,
                switches: &switches,
                index: 0,
                now_ms: self.clock.now_ms(),
                lenient: true,
            };
            let bad = |problem: Problem| {
                CrmError::BadSeed(format!("{} {}", problem.message, problem.details))
            };
            Ok((merge(rules, store, old, incoming).map_err(bad)?, false))
        })
    }

    fn delete(&self, module: &str, id: &str) -> Result<(), CrmError> {
        self.change(module, id, |_, _, old| Ok((old.clone(), true)))
    }

    fn change(
        &self,
        module: &str,
        id: &str,
        next: impl FnOnce(&ModuleSpec, &mut super::Store, &Fields) -> Result<(Fields, bool), CrmError>,
    ) -> Result<(), CrmError> {
        let (spec, number) = self.record_id(module, id)?;
        let mut store = self.store();
        let missing = || CrmError::NoRecord {
            module: module.to_owned(),
            id: id.to_owned(),
        };
        let old = store
            .live(module, number)
            .map(|record| Arc::clone(&record.now.fields))
            .ok_or_else(missing)?;
        let (fields, deleted) = next(spec, &mut store, &old)?;
        store.replace(module, number, fields, deleted, EDITOR, self.clock.now_ms())?;
        Ok(())
    }

    /// A copy of a record, as a person makes one: everything but what must be unique.
    fn clone_record(&self, module: &str, id: &str) -> Result<String, CrmError> {
        let (spec, number) = self.record_id(module, id)?;
        let missing = || CrmError::NoRecord {
            module: module.to_owned(),
            id: id.to_owned(),
        };
        let mut store = self.store();
        let mut fields = store
            .live(module, number)
            .map(|record| (*record.now.fields).clone())
            .ok_or_else(missing)?;
        let unique = |name: &str| {
            let is = |kind: &FieldKind| matches!(kind, FieldKind::Text { unique: true, .. });
            spec.fields
                .iter()
                .any(|field| field.name == name && is(&field.kind))
        };
        fields.retain(|name, _| !unique(name));
        let copied = insert(&mut store, spec, fields, EDITOR, self.clock.now_ms());
        copied
            .map(|id| id.to_string())
            .map_err(|problem| CrmError::BadSeed(problem.message))
    }

    fn credits(&self) -> CreditState {
        CreditState {
            used: self.ledger.used(self.clock.now_ms()),
            total: self.config.limits.credits,
        }
    }

    fn merge_switches(&self, change: &Value) -> Result<Switches, serde_json::Error> {
        let mut next = serde_json::to_value(self.switches())?;
        if let (Some(next), Some(change)) = (next.as_object_mut(), change.as_object()) {
            next.extend(change.clone());
        }
        let next: Switches = serde_json::from_value(next)?;
        *super::lock(&self.switches) = next.clone();
        Ok(next)
    }
}

/// The control API as methods.
impl CrmHandle {
    /// Puts records, files and attachments into the organisation.
    ///
    /// # Errors
    /// [`CrmError::NoModule`], [`CrmError::BadSeed`], [`CrmError::Database`].
    pub fn seed(&self, seed: &Seed) -> Result<Seeded, CrmError> {
        self.app().seed(seed)
    }

    /// A record as it is stored, deleted or not.
    pub fn record(&self, module: &str, id: &str) -> Result<RawRecord, CrmError> {
        self.app().record(module, id)
    }

    /// Every record of a module by rising id, deleted ones too.
    pub fn records(&self, module: &str) -> Result<Vec<RawRecord>, CrmError> {
        self.app().all_records(module)
    }

    /// An edit by a person: moves `Modified_Time`, needs no guard; fields not named stay.
    pub fn edit(
        &self,
        module: &str,
        id: &str,
        fields: &Map<String, Value>,
    ) -> Result<(), CrmError> {
        self.app().edit(module, id, fields)
    }

    /// A person puts the record into the recycle bin.
    pub fn delete(&self, module: &str, id: &str) -> Result<(), CrmError> {
        self.app().delete(module, id)
    }

    /// A person clones the record; unique fields are left out. Returns the new id.
    pub fn clone_record(&self, module: &str, id: &str) -> Result<String, CrmError> {
        self.app().clone_record(module, id)
    }

    /// The present switches.
    pub fn switches(&self) -> Switches {
        self.app().switches()
    }

    /// Puts other switches in place.
    pub fn set_switches(&self, switches: Switches) {
        *super::lock(&self.app().switches) = switches;
    }

    /// Sets a fault; returns its number.
    pub fn add_fault(&self, fault: Fault) -> u64 {
        self.app().faults.add(fault)
    }

    /// How many requests a fault has met so far; a delayed one counts from the start of its wait.
    pub fn fault_met(&self, id: u64) -> u32 {
        self.app().faults.met(id)
    }

    /// Removes every fault.
    pub fn clear_faults(&self) {
        self.app().faults.clear();
    }

    /// Requests after log number `after`, oldest first; 0 for all.
    pub fn log(&self, after: i64) -> Result<Vec<LogLine>, CrmError> {
        Ok(self.app().store().log_after(after)?)
    }

    /// Credits of the last 24 h.
    pub fn credits(&self) -> CreditState {
        self.app().credits()
    }

    /// Ends every access token: the next API call of each client meets a 401.
    pub fn end_all_tokens(&self) -> Result<(), CrmError> {
        self.app().store().end_all_tokens()?;
        Ok(())
    }
}
