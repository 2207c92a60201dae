//! What a person edits in the input after the save is not shown, not confirmed and not sealed as if it had
//! been saved.
#![cfg(test)]

use std::sync::Arc;

use bytes::Bytes;
use sendtrail_core::flows::{
    Confirmed, DocumentToConfirm, Previewable, SaveOrder, Saved, SavedRecord, confirm, previewable,
    save, save_again,
};
use sendtrail_core::ids::{RequestKey, Sha256Hash};
use sendtrail_core::input::{Input, input_sha256};
use sendtrail_core::progress::Actor;
use sendtrail_core::testing::{CheckMac, MemoryStore, Row, TestWorld};

const PDF: &[u8] = b"%PDF-1.4 the bytes that were seen";

struct Desk {
    store: MemoryStore,
    world: Arc<TestWorld>,
}

fn order(key: &str, name: &str) -> SaveOrder {
    let value = serde_json::json!({
        "driver": "letter",
        "source": {"module": "Deals", "record_id": "57", "attachment_id": "9"},
        "to": {"name": name}, "fields": {},
    });
    let input = Input::from_object(value.as_object().unwrap()).unwrap();
    SaveOrder {
        key: RequestKey::parse(key).unwrap(),
        body_sha256: Sha256Hash::of(name.as_bytes()),
        actor: Actor::new("u1", "Sam Seller").unwrap(),
        stored: input.to_stored().unwrap(),
        input,
    }
}

impl Desk {
    fn new() -> Self {
        let world = Arc::new(TestWorld::new());
        Self {
            store: MemoryStore::new(Arc::clone(&world)),
            world,
        }
    }

    async fn saved(&self, order: &SaveOrder) -> SavedRecord {
        let saved = save(&self.store, &*self.world, order).await;
        let Saved::Saved(record) = saved else {
            panic!("{saved:?}");
        };
        record
    }

    async fn preview(&self, saved: &SavedRecord) -> Previewable {
        previewable(&self.store, &saved.id, saved.rev, &saved.input_sha256).await
    }

    async fn confirm(&self, saved: &SavedRecord) -> Confirmed {
        let document = DocumentToConfirm {
            bytes: Bytes::from_static(PDF),
            sha256: Sha256Hash::of(PDF),
            rev: saved.rev,
            input_sha256: saved.input_sha256,
        };
        let until = self.world.after(60);
        let (store, world) = (&self.store, &*self.world);
        confirm(
            store,
            world,
            &CheckMac(7),
            "local",
            &saved.id,
            document,
            until,
        )
        .await
    }

    fn edit(&self, saved: &SavedRecord, text: Option<String>) {
        self.store.edit_by_hand(&saved.id, |row| row.input = text);
    }

    fn row(&self, saved: &SavedRecord) -> Row {
        self.store.row(&saved.id).unwrap()
    }
}

/// Good input for somebody else, the same input written otherwise, and what is no input.
fn edits() -> [Option<String>; 5] {
    let own = order("msg_1", "Ann").stored;
    [
        Some(order("msg_1", "Eve").stored),
        Some(format!("{own} ")),
        Some("typed over".to_owned()),
        Some(String::new()),
        None,
    ]
}

#[tokio::test(start_paused = true)]
async fn a_save_tells_the_hash_of_the_text_it_stored() {
    let desk = Desk::new();
    let saved = desk.saved(&order("msg_1", "Ann")).await;
    let stored = desk.row(&saved).input.unwrap();
    assert_eq!(saved.input_sha256, input_sha256(&stored));
}

#[tokio::test(start_paused = true)]
async fn input_edited_after_the_save_is_not_previewed() {
    for edit in edits() {
        let desk = Desk::new();
        let saved = desk.saved(&order("msg_1", "Ann")).await;
        desk.edit(&saved, edit.clone());
        assert_eq!(desk.preview(&saved).await, Previewable::Stale, "{edit:?}");
        // What was saved may be shown again once it stands there again.
        desk.edit(&saved, Some(order("msg_1", "Ann").stored));
        assert!(matches!(
            desk.preview(&saved).await,
            Previewable::Yes { record, .. } if record == saved
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn input_edited_after_the_preview_is_not_confirmed_and_nothing_is_stored() {
    for edit in edits() {
        let desk = Desk::new();
        let saved = desk.saved(&order("msg_1", "Ann")).await;
        assert!(matches!(
            desk.preview(&saved).await,
            Previewable::Yes { .. }
        ));
        desk.edit(&saved, edit.clone());
        let before = desk.row(&saved);
        assert_eq!(desk.confirm(&saved).await, Confirmed::Stale, "{edit:?}");
        assert_eq!(desk.row(&saved), before);
        assert_eq!((desk.store.files(), desk.store.writes()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_save_again_does_not_bless_an_edit() {
    let desk = Desk::new();
    let first = order("msg_1", "Ann");
    let saved = desk.saved(&first).await;
    desk.edit(&saved, Some(order("msg_1", "Eve").stored));
    let posted = save(&desk.store, &*desk.world, &first).await;
    let until = desk.world.after(60);
    let put = save_again(&desk.store, &*desk.world, &saved.id, &first, until).await;
    for again in [posted, put] {
        let Saved::Same(again) = again else {
            panic!("{again:?}");
        };
        assert_eq!(again, saved);
        assert_eq!(desk.preview(&again).await, Previewable::Stale);
        assert_eq!(desk.confirm(&again).await, Confirmed::Stale);
    }
    assert_eq!((desk.store.files(), desk.store.writes()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn saving_again_replaces_an_edit_and_can_be_confirmed() {
    let desk = Desk::new();
    let saved = desk.saved(&order("msg_1", "Ann")).await;
    desk.edit(&saved, Some(order("msg_1", "Eve").stored));
    let second = order("msg_2", "Bob");
    let until = desk.world.after(60);
    let again = save_again(&desk.store, &*desk.world, &saved.id, &second, until).await;
    let Saved::Saved(again) = again else {
        panic!("{again:?}");
    };
    assert_eq!(again.input_sha256, input_sha256(&second.stored));
    assert!(matches!(
        desk.preview(&again).await,
        Previewable::Yes { input, .. } if *input == second.input
    ));
    let confirmed = desk.confirm(&again).await;
    assert!(
        matches!(&confirmed, Confirmed::Confirmed(record) if record.input_sha256 == again.input_sha256),
        "{confirmed:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_confirm_for_other_input_is_not_the_same_confirm_again() {
    let desk = Desk::new();
    let saved = desk.saved(&order("msg_1", "Ann")).await;
    assert!(matches!(
        desk.confirm(&saved).await,
        Confirmed::Confirmed(_)
    ));
    let row = desk.row(&saved);
    let other = SavedRecord {
        input_sha256: input_sha256(&order("msg_1", "Eve").stored),
        ..saved.clone()
    };
    assert_eq!(desk.confirm(&other).await, Confirmed::Stale);
    let again = desk.confirm(&saved).await;
    assert!(
        matches!(&again, Confirmed::Same(record) if record.input_sha256 == saved.input_sha256),
        "{again:?}"
    );
    assert_eq!(desk.row(&saved), row);
    assert_eq!((desk.store.files(), desk.store.writes()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn saved_text_that_is_no_input_is_told_as_such_and_not_sealed() {
    let desk = Desk::new();
    let unreadable = SaveOrder {
        stored: "{}".to_owned(),
        ..order("msg_1", "Ann")
    };
    let saved = desk.saved(&unreadable).await;
    assert!(matches!(
        desk.preview(&saved).await,
        Previewable::Unusable(_)
    ));
    assert!(matches!(desk.confirm(&saved).await, Confirmed::Unusable(_)));
    assert_eq!((desk.store.files(), desk.store.writes()), (0, 0));
}
