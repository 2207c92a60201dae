//! What every store must do. The in-memory store and the real adapter pass the same suite.

mod lists;

use std::future::Future;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};

use crate::commit::{Change, Commit, commit, read_base};
use crate::flows::{SaveOrder, Saved, save};
use crate::ids::{HistoryId, RequestKey, Revision, Sha256Hash};
use crate::input::{Input, input_sha256};
use crate::ports::{
    Clock, CreateHistory, FindTwins, GuardedWrite, ListHistory, Random, ReadDocument,
    StoreDocument, StoreError, Write, WriteReply, clock_deadline,
};
use crate::progress::{Actor, Progress};
use crate::record::StateField;
use crate::state::Event;

pub use lists::{
    due_rows_are_listed_in_order_and_once, rows_that_nobody_wrote_are_listed_whatever_their_dates,
    the_copies_of_a_write_read_back, twins_are_found_whatever_their_state,
};

/// Everything the product asks of a store.
pub trait FullStore:
    GuardedWrite + CreateHistory + ListHistory + FindTwins + StoreDocument + ReadDocument
{
}
impl<S: GuardedWrite + CreateHistory + ListHistory + FindTwins + StoreDocument + ReadDocument>
    FullStore for S
{
}

/// A store under test, and the hand of a person and of a bad network on it.
pub trait Subject: Sync {
    /// The store.
    type Store: FullStore;
    /// Its clock, real or not.
    type World: Clock + Random;

    /// The store.
    fn store(&self) -> &Self::Store;
    /// The clock.
    fn world(&self) -> &Self::World;
    /// A text of letters and digits no other test of this subject uses.
    fn unique(&self) -> String;
    /// A person types this into the state field.
    fn type_state(&self, id: &HistoryId, text: &str) -> impl Future<Output = ()> + Send;
    /// The next guarded write is applied, and its reply lost.
    fn lose_next_write_reply(&self) -> impl Future<Output = ()> + Send;
    /// The next guarded write's reply is lost, and it is applied this much later.
    fn apply_next_write_late(&self, after: SignedDuration) -> impl Future<Output = ()> + Send;
}

fn until(subject: &impl Subject) -> Timestamp {
    clock_deadline(subject.world().now(), SignedDuration::from_secs(60))
}

#[expect(clippy::expect_used, reason = "test code")]
fn order(subject: &impl Subject, body: &[u8]) -> SaveOrder {
    let unique = subject.unique();
    let value = serde_json::json!({
        "driver": "letter",
        "source": {"module": "Deals", "record_id": unique, "field": "Contract_PDF"},
        "to": {"name": "Ada \u{1F408}"}, "fields": {},
    });
    let input = Input::from_object(value.as_object().expect("an object")).expect("good input");
    SaveOrder {
        key: RequestKey::parse(&format!("msg_{unique}")).expect("a key"),
        body_sha256: Sha256Hash::of(body),
        actor: Actor::new("1", "Ada").expect("an actor"),
        stored: input.to_stored().expect("small input"),
        input,
    }
}

async fn saved(subject: &impl Subject) -> HistoryId {
    let order = order(subject, b"body");
    match save(subject.store(), subject.world(), &order).await {
        Saved::Saved(record) => record.id,
        other => panic!("save: {other:?}"),
    }
}

async fn base(subject: &impl Subject, id: &HistoryId) -> crate::record::Base {
    match read_base(subject.store(), subject.world(), id, until(subject)).await {
        Ok(base) => base,
        Err(error) => panic!("read_base: {error:?}"),
    }
}

fn progress(base: &crate::record::Base) -> Progress {
    match Progress::decode(base.record().progress.as_deref()) {
        Ok(progress) => progress,
        Err(error) => panic!("progress: {error}"),
    }
}

async fn write_remark(subject: &impl Subject, base: &crate::record::Base) -> Commit {
    let change = Change::remark("contract", progress(base));
    commit(
        subject.store(),
        subject.world(),
        base,
        change,
        until(subject),
    )
    .await
}

/// A write on a revision that is no longer the record's conflicts, and writes nothing.
pub async fn stale_revision_conflicts_and_writes_nothing(subject: &impl Subject) {
    let id = saved(subject).await;
    let old = base(subject, &id).await;
    subject.type_state(&id, "confirmed").await;
    assert_eq!(write_remark(subject, &old).await, Commit::SkippedConflict);
    let now = base(subject, &id).await;
    assert_eq!(
        now.record().state.known(),
        Some(crate::state::State::Confirmed)
    );
    assert_eq!(now.record().progress, old.record().progress);
}

/// An edit right after a base was read always has a later version: versions have one-second grain, and the
/// base is read only once the second of its version has passed.
pub async fn an_edit_in_the_same_second_is_never_overwritten(subject: &impl Subject) {
    let id = saved(subject).await;
    for word in ["one", "two", "three"] {
        subject.type_state(&id, word).await;
        let read = base(subject, &id).await;
        assert_eq!(read.record().state, StateField::Unknown(word.to_owned()));
        subject.type_state(&id, "edited").await;
        assert_eq!(write_remark(subject, &read).await, Commit::SkippedConflict);
        let now = base(subject, &id).await;
        assert_eq!(now.record().state, StateField::Unknown("edited".to_owned()));
    }
}

/// A write on a fresh base is applied, once, and every field reads back.
pub async fn a_write_on_a_fresh_base_is_applied(subject: &impl Subject) {
    let id = saved(subject).await;
    let read = base(subject, &id).await;
    let rev = progress(&read).rev();
    let Commit::Written {
        progress: written, ..
    } = write_remark(subject, &read).await
    else {
        panic!("not written");
    };
    let now = base(subject, &id).await;
    assert_eq!(progress(&now), *written);
    assert_eq!(written.rev(), rev + 1);
    assert_eq!(now.record().input, read.record().input);
    assert_ne!(now.record().revision, read.record().revision);
}

/// The input reads back byte for byte: its hash is in the tokens and in the seal.
pub async fn saved_input_reads_back_as_it_was_written(subject: &impl Subject) {
    let order = order(subject, b"body");
    let saved = match save(subject.store(), subject.world(), &order).await {
        Saved::Saved(record) => record,
        other => panic!("save: {other:?}"),
    };
    let read = base(subject, &saved.id).await;
    assert_eq!(read.record().input.as_deref(), Some(order.stored.as_str()));
    assert_eq!(saved.input_sha256, input_sha256(&order.stored));
}

/// Commits this change on the record as it is.
async fn written(subject: &impl Subject, id: &HistoryId, change: impl FnOnce(&mut Progress)) {
    let read = base(subject, id).await;
    let mut progress = progress(&read);
    change(&mut progress);
    let change = Change::remark("contract", progress);
    let (store, world) = (subject.store(), subject.world());
    let outcome = commit(store, world, &read, change, until(subject)).await;
    assert!(matches!(outcome, Commit::Written { .. }), "{outcome:?}");
}

/// A record that is not there is not found, and not made.
#[expect(clippy::expect_used, reason = "test code")]
pub async fn update_of_a_missing_record_is_not_found(subject: &impl Subject) {
    let id = HistoryId::parse("999999999999999999").expect("an id");
    let write = Write {
        state: None,
        progress: "{}".to_owned(),
        next_check_at: None,
        deadline: None,
        external_id: None,
        document_sha256: None,
        input: None,
        document: crate::ports::DocumentChange::Keep,
        notify: false,
    };
    let revision = Revision::parse("2026-01-01T00:00:00+00:00").expect("a revision");
    let reply = subject.store().write(&id, &revision, &write).await;
    assert_eq!(reply, WriteReply::NotApplied(StoreError::NotFound));
    let read = crate::ports::ReadHistory::read(subject.store(), &id).await;
    assert_eq!(read.map(|_| ()), Err(StoreError::NotFound));
}

/// A write that was applied although its reply was lost is recognised by its write id, and made once.
pub async fn a_write_applied_although_its_reply_was_lost_is_recognised(subject: &impl Subject) {
    let id = saved(subject).await;
    let read = base(subject, &id).await;
    subject.lose_next_write_reply().await;
    let Commit::Written {
        progress: written, ..
    } = write_remark(subject, &read).await
    else {
        panic!("not recognised");
    };
    let now = base(subject, &id).await;
    assert_eq!(progress(&now), *written);
    assert_eq!(written.rev(), progress(&read).rev() + 1);
}

/// A write that is applied a moment after its reply was lost is recognised too.
pub async fn a_write_applied_late_is_recognised(subject: &impl Subject) {
    let id = saved(subject).await;
    let read = base(subject, &id).await;
    subject
        .apply_next_write_late(SignedDuration::from_millis(200))
        .await;
    let Commit::Written {
        progress: written, ..
    } = write_remark(subject, &read).await
    else {
        panic!("not recognised");
    };
    subject.world().sleep(SignedDuration::from_secs(1)).await;
    let now = base(subject, &id).await;
    assert_eq!(progress(&now), *written);
}

/// A state text that is none of the states reads as such, and no event is possible on it.
pub async fn an_unknown_state_text_is_read_and_left_alone(subject: &impl Subject) {
    let id = saved(subject).await;
    subject.type_state(&id, "almost done").await;
    let read = base(subject, &id).await;
    assert_eq!(
        read.record().state,
        StateField::Unknown("almost done".to_owned())
    );
    let change = Change::of(Event::InputSaved, progress(&read));
    let outcome = commit(
        subject.store(),
        subject.world(),
        &read,
        change,
        until(subject),
    )
    .await;
    assert_eq!(outcome, Commit::ForeignState);
    assert_eq!(base(subject, &id).await.record(), read.record());
}

/// State texts that are none of the states are counted, empty ones are not.
pub async fn foreign_states_are_counted(subject: &impl Subject) {
    let (word, empty) = (saved(subject).await, saved(subject).await);
    let store = subject.store();
    let Ok(before) = store.count_foreign_states().await else {
        panic!("no count");
    };
    subject.type_state(&word, "almost done").await;
    subject.type_state(&empty, "").await;
    assert_eq!(store.count_foreign_states().await, Ok(before + 1));
    subject.type_state(&word, "saved").await;
    assert_eq!(store.count_foreign_states().await, Ok(before));
}

/// Two creates with one request key make one record; the second is told whether it asks the same.
pub async fn create_twice_with_one_request_key_makes_one_record(subject: &impl Subject) {
    let first = order(subject, b"body");
    let (store, world) = (subject.store(), subject.world());
    let Saved::Saved(record) = save(store, world, &first).await else {
        panic!("not saved");
    };
    assert_eq!(
        save(store, world, &first).await,
        Saved::Same(record.clone())
    );
    let other = SaveOrder {
        body_sha256: Sha256Hash::of(b"other"),
        ..first.clone()
    };
    assert_eq!(save(store, world, &other).await, Saved::KeyReused);
    assert_eq!(save(store, world, &first).await, Saved::Same(record));
}

/// Uploaded bytes come back unchanged once they are bound, and not before.
pub async fn a_document_is_bound_by_the_guarded_write(subject: &impl Subject) {
    let id = saved(subject).await;
    let read = base(subject, &id).await;
    let bytes = Bytes::from((0..=255u8).cycle().take(70_000).collect::<Vec<_>>());
    let store = subject.store();
    let unbound = store.download(read.record(), 100_000).await;
    assert_eq!(unbound, Err(StoreError::NotFound));
    let file = match store.upload("contract.pdf", bytes.clone()).await {
        Ok(file) => file,
        Err(error) => panic!("upload: {error}"),
    };
    let mut change = Change::remark("bound", progress(&read));
    change.document = crate::ports::DocumentChange::Bind(file);
    let outcome = commit(store, subject.world(), &read, change, until(subject)).await;
    assert!(matches!(outcome, Commit::Written { .. }), "{outcome:?}");
    let now = base(subject, &id).await;
    assert_eq!(store.download(now.record(), 100_000).await, Ok(bytes));
    let small = store.download(now.record(), 69_999).await;
    assert_eq!(small, Err(StoreError::TooLarge { limit: 69_999 }));
    let mut change = Change::remark("dropped", progress(&now));
    change.document = crate::ports::DocumentChange::Drop;
    let outcome = commit(store, subject.world(), &now, change, until(subject)).await;
    assert!(matches!(outcome, Commit::Written { .. }), "{outcome:?}");
    let dropped = base(subject, &id).await;
    assert_eq!(
        store.download(dropped.record(), 100_000).await,
        Err(StoreError::NotFound)
    );
}

/// Runs every contract, one after the other.
pub async fn run_all(subject: &impl Subject) {
    stale_revision_conflicts_and_writes_nothing(subject).await;
    an_edit_in_the_same_second_is_never_overwritten(subject).await;
    a_write_on_a_fresh_base_is_applied(subject).await;
    saved_input_reads_back_as_it_was_written(subject).await;
    update_of_a_missing_record_is_not_found(subject).await;
    a_write_applied_although_its_reply_was_lost_is_recognised(subject).await;
    a_write_applied_late_is_recognised(subject).await;
    an_unknown_state_text_is_read_and_left_alone(subject).await;
    foreign_states_are_counted(subject).await;
    create_twice_with_one_request_key_makes_one_record(subject).await;
    a_document_is_bound_by_the_guarded_write(subject).await;
    due_rows_are_listed_in_order_and_once(subject).await;
    the_copies_of_a_write_read_back(subject).await;
    twins_are_found_whatever_their_state(subject).await;
    rows_that_nobody_wrote_are_listed_whatever_their_dates(subject).await;
}
