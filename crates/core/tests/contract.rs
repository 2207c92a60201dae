//! The in-memory store passes the contract of every store.
#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::SignedDuration;
use sendtrail_core::ids::HistoryId;
use sendtrail_core::testing::contract::{self, Subject};
use sendtrail_core::testing::{MemoryStore, TestWorld};

struct InMemory {
    store: MemoryStore,
    world: Arc<TestWorld>,
    count: AtomicU32,
}

impl InMemory {
    fn new() -> Self {
        let world = Arc::new(TestWorld::new());
        Self {
            store: MemoryStore::new(world.clone()),
            world,
            count: AtomicU32::new(0),
        }
    }
}

impl Subject for InMemory {
    type Store = MemoryStore;
    type World = TestWorld;

    fn store(&self) -> &MemoryStore {
        &self.store
    }

    fn world(&self) -> &TestWorld {
        &self.world
    }

    fn unique(&self) -> String {
        format!("u{}", self.count.fetch_add(1, Ordering::Relaxed))
    }

    async fn type_state(&self, id: &HistoryId, text: &str) {
        self.store
            .edit_by_hand(id, |row| row.state = Some(text.to_owned()));
    }

    async fn lose_next_write_reply(&self) {
        self.store.lose_next_write_reply();
    }

    async fn apply_next_write_late(&self, after: SignedDuration) {
        self.store.apply_next_write_late(after);
    }
}

macro_rules! contracts {
    ($($name:ident,)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            contract::$name(&InMemory::new()).await;
        }
    )*};
}

contracts! {
    stale_revision_conflicts_and_writes_nothing,
    an_edit_in_the_same_second_is_never_overwritten,
    a_write_on_a_fresh_base_is_applied,
    saved_input_reads_back_as_it_was_written,
    update_of_a_missing_record_is_not_found,
    a_write_applied_although_its_reply_was_lost_is_recognised,
    a_write_applied_late_is_recognised,
    an_unknown_state_text_is_read_and_left_alone,
    foreign_states_are_counted,
    create_twice_with_one_request_key_makes_one_record,
    a_document_is_bound_by_the_guarded_write,
    due_rows_are_listed_in_order_and_once,
    the_copies_of_a_write_read_back,
    twins_are_found_whatever_their_state,
    rows_that_nobody_wrote_are_listed_whatever_their_dates,
}
