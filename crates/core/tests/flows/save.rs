use sendtrail_core::flows::{Saved, save, save_again};
use sendtrail_core::ids::{HistoryId, RequestKey};
use sendtrail_core::input::Input;
use sendtrail_core::ports::{CreateHistory, CreateReply, NewRecord, ReadHistory, StoreError};
use sendtrail_core::record::Read;
use sendtrail_core::testing::MemoryStore;

use crate::common::{Bench, accepted, down, not_sent, order};
use sendtrail_core::ports::SubmitOutcome;

async fn again(bench: &Bench, id: &HistoryId, key: &str, name: &str) -> Saved {
    let until = bench.world.after(30);
    save_again(&bench.store, &*bench.world, id, &order(key, name), until).await
}

#[tokio::test(start_paused = true)]
async fn a_save_makes_one_record_that_holds_input_and_key_and_is_not_looked_at_by_the_poller() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    let row = bench.row(&saved.id);
    assert_eq!((row.state.as_deref(), saved.rev), (Some("saved"), 1));
    assert_eq!(row.request_key.as_deref(), Some("msg_1"));
    assert_eq!(row.source, Some(("Deals".into(), "57".into())));
    let input = Input::from_stored(row.input.as_deref().unwrap()).unwrap();
    assert_eq!(input, order("msg_1", "Ada").input);
    assert!(row.next_check_at.is_none() && row.deadline.is_none() && row.document.is_none());
    assert!(!row.notified);
    assert_eq!(bench.poll().await.listed, 0);
    assert_eq!(bench.store.writes(), 0, "a create is no second write");
}

#[tokio::test(start_paused = true)]
async fn the_same_save_again_creates_and_writes_nothing() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    let before = bench.row(&saved.id);
    let again = save(&bench.store, &*bench.world, &order("msg_1", "Ada")).await;
    assert_eq!(again, Saved::Same(saved.clone()));
    assert_eq!(bench.store.ids().len(), 1);
    assert_eq!(bench.row(&saved.id), before);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_used_for_another_body_is_refused_and_changes_nothing() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    let before = bench.row(&saved.id);
    let (store, world) = (&bench.store, &*bench.world);
    assert_eq!(
        save(store, world, &order("msg_1", "Eve")).await,
        Saved::KeyReused
    );
    // A unique field of the CRM takes no notice of case; the key does.
    assert_eq!(
        save(store, world, &order("MSG_1", "Ada")).await,
        Saved::KeyReused
    );
    assert_eq!(
        again(&bench, &saved.id, "msg_1", "Eve").await,
        Saved::KeyReused
    );
    assert_eq!(bench.store.ids().len(), 1);
    assert_eq!(bench.row(&saved.id), before);
}

#[tokio::test(start_paused = true)]
async fn a_create_whose_reply_was_lost_is_found_by_its_key() {
    let bench = Bench::new();
    bench.store.lose_next_write_reply();
    let (store, world) = (&bench.store, &*bench.world);
    let saved = save(store, world, &order("msg_1", "Ada")).await;
    assert!(matches!(saved, Saved::Same(_)), "{saved:?}");
    assert_eq!(bench.store.ids().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_saves_with_one_key_at_once_make_one_record() {
    let bench = Bench::new();
    let (store, world, order) = (&bench.store, &*bench.world, order("msg_1", "Ada"));
    let (one, two) = tokio::join!(save(store, world, &order), save(store, world, &order));
    let id = |saved| match saved {
        Saved::Saved(record) | Saved::Same(record) => record.id,
        Saved::KeyReused | Saved::NotSavable | Saved::ChangedElsewhere | Saved::Failed(_) => {
            panic!("neither saved nor the same")
        }
    };
    assert_eq!(id(one), id(two));
    assert_eq!(bench.store.ids().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn saving_again_replaces_the_input_and_drops_document_and_seal() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let saved = again(&bench, &id, "msg_2", "Grace").await;
    let Saved::Saved(record) = saved else {
        panic!("{saved:?}")
    };
    assert_eq!(record.rev, 3);
    let row = bench.row(&id);
    assert_eq!(row.state.as_deref(), Some("saved"));
    assert_eq!(row.input, Some(order("msg_2", "Grace").stored));
    assert!(row.document.is_none() && row.document_sha256.is_none());
    assert!(bench.progress(&id).document.is_none());
    assert_eq!(
        bench.events(&id),
        ["input_saved", "document_confirmed", "input_saved"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_same_save_again_of_a_record_writes_once() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    again(&bench, &saved.id, "msg_2", "Grace").await;
    let writes = bench.store.writes();
    bench.pass(3).await;
    let repeat = again(&bench, &saved.id, "msg_2", "Grace").await;
    assert!(matches!(repeat, Saved::Same(_)), "{repeat:?}");
    assert_eq!(bench.store.writes(), writes);
}

#[tokio::test(start_paused = true)]
async fn a_record_past_confirmed_is_not_saved_again_whatever_a_person_types() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    for typed in [
        "accepted",
        "saved",
        "confirmed",
        "needs_review",
        "sent!",
        "",
    ] {
        bench.type_state(&id, typed);
        bench.pass(3).await;
        let before = bench.row(&id);
        let saved = again(&bench, &id, "msg_9", "Grace").await;
        assert_eq!(saved, Saved::NotSavable, "{typed}");
        assert_eq!(bench.row(&id), before, "{typed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_send_that_was_proved_not_sent_may_be_saved_again() {
    let bench = Bench::new();
    let id = bench.sent(SubmitOutcome::NotSent(not_sent(None))).await;
    let saved = again(&bench, &id, "msg_2", "Grace").await;
    assert!(matches!(saved, Saved::Saved(_)), "{saved:?}");
    let progress = bench.progress(&id);
    assert!(progress.last_error.is_none() && progress.document.is_none());
    assert!(
        progress.claim.is_some(),
        "the presses that were served stay known"
    );
}

#[tokio::test(start_paused = true)]
async fn an_edit_between_read_and_write_stands_and_nothing_is_saved() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    let edit = async {
        bench.moments(30).await;
        bench.store.edit_by_hand(&saved.id, |row| row.source = None);
    };
    let (result, ()) = tokio::join!(again(&bench, &saved.id, "msg_2", "Grace"), edit);
    assert_eq!(result, Saved::ChangedElsewhere);
    let row = bench.row(&saved.id);
    assert_eq!(
        (row.source, row.input),
        (None, Some(order("msg_1", "Ada").stored))
    );
    assert_eq!(bench.store.writes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_record_whose_progress_was_lost_is_not_saved_again() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    bench.store.edit_by_hand(&id, |row| row.progress = None);
    bench.pass(61).await;
    assert_eq!(
        again(&bench, &id, "msg_2", "Grace").await,
        Saved::NotSavable
    );
    assert_eq!(bench.poll().await.malformed, 1);
    // Now the progress reads well again, and knows nothing of the submit any more.
    bench.type_state(&id, "saved");
    bench.pass(3).await;
    assert_eq!(
        again(&bench, &id, "msg_2", "Grace").await,
        Saved::NotSavable
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_saves_nothing_and_a_repeat_is_safe() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    bench.store.fail_next_read(down());
    let failed = again(&bench, &saved.id, "msg_2", "Grace").await;
    assert_eq!(failed, Saved::Failed(down()));
    bench.store.fail_next_write(down());
    let failed = again(&bench, &saved.id, "msg_2", "Grace").await;
    assert_eq!(failed, Saved::Failed(down()));
    assert_eq!(bench.store.writes(), 0);
    bench.store.lose_next_write_reply();
    let repeat = again(&bench, &saved.id, "msg_2", "Grace").await;
    assert!(matches!(repeat, Saved::Saved(_)), "{repeat:?}");
    assert_eq!(bench.store.writes(), 1);
}

/// A CRM whose unique field let two records of one key through; the caller's is the younger one.
struct TwoThrough<'a>(&'a MemoryStore);

impl ReadHistory for TwoThrough<'_> {
    async fn read(&self, id: &HistoryId) -> Result<Read, StoreError> {
        self.0.read(id).await
    }
}

impl CreateHistory for TwoThrough<'_> {
    async fn create(&self, new: &NewRecord) -> CreateReply {
        match self.0.create(new).await {
            CreateReply::Created(first) => {
                let row = self.0.row(&first).unwrap();
                CreateReply::Created(self.0.insert(row))
            }
            other
            @ (CreateReply::Exists | CreateReply::NotCreated(_) | CreateReply::Unknown(_)) => other,
        }
    }

    async fn find_by_request_key(&self, key: &RequestKey) -> Result<Option<Read>, StoreError> {
        self.0.find_by_request_key(key).await
    }
}

#[tokio::test(start_paused = true)]
async fn where_two_records_of_one_key_got_through_everybody_is_told_the_first() {
    let bench = Bench::new();
    let store = TwoThrough(&bench.store);
    let saved = save(&store, &*bench.world, &order("msg_1", "Ada")).await;
    let ids = bench.store.ids();
    let Saved::Same(record) = saved else {
        panic!("{saved:?}")
    };
    assert_eq!((ids.len(), &record.id), (2, &ids[0]));
}
