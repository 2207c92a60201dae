//! Saving, the preview and the confirm.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join;
use sendtrail_core::flows::{
    Confirmed, DocumentToConfirm, Previewable, SaveOrder, Saved, SavedRecord, confirm, previewable,
    save, save_again,
};
use sendtrail_core::ids::{HistoryId, Sha256Hash};
use sendtrail_core::input::Input;
use sendtrail_core::progress::Actor;
use serde_json::json;

use super::{MAC, User};
use crate::actors::invocation::invoke;
use crate::checker::Ticket;
use crate::function::Kind;
use crate::sim::{STAGE, unit};

/// What the user looks at.
struct Look {
    ticket: Arc<Ticket>,
    input_sha256: Sha256Hash,
    bytes: Bytes,
}

impl User {
    /// An order to save an input that no other has.
    fn order(&mut self) -> Option<SaveOrder> {
        self.wish = self.keys + 1;
        self.order_again()
    }

    /// An order of its own to save the same input as before.
    fn order_again(&mut self) -> Option<SaveOrder> {
        let key = self.key()?;
        let value = json!({
            "driver": self.driver,
            "source": {"module": "Deals", "record_id": format!("{}", self.source), "attachment_id": "9"},
            "to": {"name": "Ada", "wish": self.wish}, "fields": {},
        });
        let input = Input::from_object(value.as_object()?).ok()?;
        let stored = input.to_stored().ok()?;
        Some(SaveOrder {
            key,
            body_sha256: Sha256Hash::of(stored.as_bytes()),
            actor: Actor::new("u1", &self.name)?,
            input,
            stored,
        })
    }

    async fn saves_once(&self, order: &SaveOrder) -> Option<SavedRecord> {
        let timeout = self.world.settings.intake_timeout;
        let end = invoke(&self.world, Kind::Intake, timeout, |function| async move {
            let saved = save(&*function, &*function, order).await;
            function.world.log(&function.name, || {
                format!("save {} -> {saved:?}", order.key)
            });
            saved
        });
        match end.await.done()? {
            Saved::Saved(record) | Saved::Same(record) => Some(record),
            Saved::KeyReused | Saved::NotSavable | Saved::ChangedElsewhere | Saved::Failed(_) => {
                None
            }
        }
    }

    pub(super) async fn saves(&mut self) -> Option<SavedRecord> {
        let order = self.order()?;
        let is_twice = self.chance(30_000);
        for _ in 0..8 {
            let saved = if is_twice {
                let (one, two) = join(self.saves_once(&order), self.saves_once(&order)).await;
                one.or(two)
            } else {
                self.saves_once(&order).await
            };
            if saved.is_some() {
                return saved;
            }
            self.thinks(2, 60).await;
        }
        None
    }

    pub(super) async fn saves_again(&mut self, id: &HistoryId) -> Option<SavedRecord> {
        let order = self.order()?;
        self.saves_over(id, &order).await
    }

    /// Saves something else and then the same as before, in another window: what the first one shows is of then.
    async fn wavers(&mut self, id: &HistoryId) -> Option<SavedRecord> {
        let wish = self.wish;
        self.saves_again(id).await?;
        self.wish = wish;
        let order = self.order_again()?;
        self.saves_over(id, &order).await
    }

    async fn saves_over(&self, id: &HistoryId, order: &SaveOrder) -> Option<SavedRecord> {
        let timeout = self.world.settings.intake_timeout;
        for _ in 0..4 {
            let end = invoke(&self.world, Kind::Intake, timeout, |function| async move {
                let until = function.after(timeout - 10 * unit::SECOND);
                let saved = save_again(&*function, &*function, id, order, until).await;
                function
                    .world
                    .log(&function.name, || format!("save again {id} -> {saved:?}"));
                saved
            });
            match end.await.done() {
                Some(Saved::Saved(record) | Saved::Same(record)) => return Some(record),
                Some(Saved::KeyReused | Saved::NotSavable) => return None,
                Some(Saved::ChangedElsewhere | Saved::Failed(_)) | None => {}
            }
            self.thinks(2, 30).await;
        }
        None
    }

    /// Looks at the preview and confirms what it shows.
    pub(super) async fn confirms(&mut self, mut saved: SavedRecord) -> Option<Sha256Hash> {
        for _ in 0..4 {
            if let Some(look) = self.looks(&saved).await {
                self.thinks(1, 40).await;
                if self.chance(20_000) {
                    self.wavers(&saved.id).await;
                }
                if let Some(document) = self.confirms_once(&saved.id, look).await {
                    return Some(document);
                }
            }
            saved = self.saves_again(&saved.id).await?;
        }
        None
    }

    /// What a preview shows: the bytes depend on source and input.
    async fn looks(&self, saved: &SavedRecord) -> Option<Look> {
        let timeout = self.world.settings.intake_timeout;
        for _ in 0..5 {
            let end = invoke(&self.world, Kind::Intake, timeout, |function| async move {
                let (id, rev, input) = (&saved.id, saved.rev, &saved.input_sha256);
                previewable(&*function, id, rev, input).await
            });
            match end.await.done() {
                Some(Previewable::Yes { record, input }) => {
                    let wish = input.to.get("wish").cloned().unwrap_or_default();
                    let text = format!("%PDF-1.4 of {} as {wish}", input.source.record_id);
                    let bytes = Bytes::from(text);
                    let ticket = Ticket {
                        rev: record.rev,
                        document: Sha256Hash::of(&bytes),
                        input: *input,
                    };
                    return Some(Look {
                        ticket: Arc::new(ticket),
                        input_sha256: record.input_sha256,
                        bytes,
                    });
                }
                Some(Previewable::Stale | Previewable::Unusable(_)) => return None,
                Some(Previewable::Failed(_)) | None => self.thinks(1, 10).await,
            }
        }
        None
    }

    async fn confirms_once(&self, id: &HistoryId, look: Look) -> Option<Sha256Hash> {
        let timeout = self.world.settings.intake_timeout;
        let sha256 = look.ticket.document;
        for _ in 0..5 {
            let document = DocumentToConfirm {
                bytes: look.bytes.clone(),
                sha256,
                rev: look.ticket.rev,
                input_sha256: look.input_sha256,
            };
            let ticket = Arc::clone(&look.ticket);
            let end = invoke(&self.world, Kind::Intake, timeout, |function| async move {
                function.confirms(ticket);
                let until = function.after(timeout - 10 * unit::SECOND);
                let f = &*function;
                let confirmed = confirm(f, f, &MAC, STAGE, id, document, until).await;
                function
                    .world
                    .log(&function.name, || format!("confirm {id} -> {confirmed:?}"));
                confirmed
            });
            match end.await.done() {
                Some(Confirmed::Confirmed(_) | Confirmed::Same(_)) => return Some(sha256),
                Some(Confirmed::Stale | Confirmed::Unusable(_)) => return None,
                Some(Confirmed::ChangedElsewhere | Confirmed::Failed(_)) | None => {}
            }
            self.thinks(1, 20).await;
        }
        None
    }
}
