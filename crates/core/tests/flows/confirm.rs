use sendtrail_core::flows::{Confirmed, Previewable, Saved, previewable, save_again};
use sendtrail_core::ids::{HistoryId, Sha256Hash};
use sendtrail_core::input::input_sha256;
use sendtrail_core::ports::SubmitOutcome;

use crate::common::{Bench, PDF, accepted, down, not_sent, order};

#[tokio::test(start_paused = true)]
async fn a_confirm_stores_the_bytes_and_seals_them_with_the_input() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    let confirmed = bench.confirm(&saved, PDF).await;
    let Confirmed::Confirmed(record) = confirmed else {
        panic!("{confirmed:?}")
    };
    assert_eq!(record.rev, saved.rev + 1);
    let (row, document) = (
        bench.row(&saved.id),
        bench.progress(&saved.id).document.unwrap(),
    );
    assert_eq!(row.state.as_deref(), Some("confirmed"));
    assert_eq!(row.document, Some(document.file_id.clone()));
    assert_eq!(row.document_sha256, Some(document.sha256.to_string()));
    assert_eq!(document.sha256, Sha256Hash::of(PDF));
    assert_eq!(document.bytes, PDF.len() as u64);
    assert_eq!(
        document.input_sha256,
        input_sha256(&order("msg_1", "Ada").stored)
    );
    assert!(!document.seal.is_empty() && !row.notified);
    assert_eq!(
        bench.poll().await.listed,
        0,
        "nothing presses send for the user"
    );
    assert!(bench.driver().submits().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_same_confirm_again_uploads_and_writes_nothing() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    bench.confirm(&saved, PDF).await;
    bench.pass(3).await;
    let (writes, files) = (bench.store.writes(), bench.store.files());
    let again = bench.confirm(&saved, PDF).await;
    assert!(matches!(again, Confirmed::Same(_)), "{again:?}");
    assert_eq!((bench.store.writes(), bench.store.files()), (writes, files));
}

#[tokio::test(start_paused = true)]
async fn other_bytes_or_another_rev_are_stale_and_not_even_uploaded() {
    let bench = Bench::new();
    let mut saved = bench.saved("msg_1").await;
    bench.confirm(&saved, PDF).await;
    bench.pass(3).await;
    let before = bench.row(&saved.id);
    assert_eq!(
        bench.confirm(&saved, b"%PDF-1.4 others").await,
        Confirmed::Stale
    );
    saved.rev += 1;
    assert_eq!(bench.confirm(&saved, PDF).await, Confirmed::Stale);
    assert_eq!(bench.row(&saved.id), before);
    assert_eq!(bench.store.files(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_confirms_at_once_with_different_bytes_bind_one_document() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    let (one, two) = tokio::join!(
        bench.confirm(&saved, PDF),
        bench.confirm(&saved, b"%PDF-1.4 others")
    );
    let confirmed = [&one, &two]
        .into_iter()
        .filter(|c| matches!(c, Confirmed::Confirmed(_)));
    assert_eq!(confirmed.count(), 1, "{one:?} {two:?}");
    assert_eq!(bench.store.writes(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_edit_between_read_and_write_stands_and_nothing_is_confirmed() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    let edit = async {
        bench.moments(30).await;
        bench.store.edit_by_hand(&saved.id, |row| row.source = None);
    };
    let (result, ()) = tokio::join!(bench.confirm(&saved, PDF), edit);
    assert_eq!(result, Confirmed::ChangedElsewhere);
    let row = bench.row(&saved.id);
    assert_eq!((row.state.as_deref(), row.document), (Some("saved"), None));
}

#[tokio::test(start_paused = true)]
async fn a_confirm_whose_reply_was_lost_is_recognised_and_binds_once() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    bench.store.lose_next_write_reply();
    let confirmed = bench.confirm(&saved, PDF).await;
    assert!(
        matches!(confirmed, Confirmed::Confirmed(_)),
        "{confirmed:?}"
    );
    assert_eq!(bench.store.writes(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_was_submitted_is_not_confirmed_again_whatever_a_person_types() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    bench.type_state(&id, "saved");
    bench.pass(3).await;
    let before = bench.row(&id);
    let saved = saved_as_it_is(&bench, &id);
    assert_eq!(bench.confirm(&saved, PDF).await, Confirmed::Stale);
    assert_eq!(bench.row(&id), before);
}

#[tokio::test(start_paused = true)]
async fn input_that_cannot_be_read_is_named_and_not_sealed() {
    let bench = Bench::new();
    let mut saved = bench.saved("msg_1").await;
    bench
        .store
        .edit_by_hand(&saved.id, |row| row.input = Some("{}".into()));
    saved.input_sha256 = input_sha256("{}");
    bench.pass(3).await;
    let confirmed = bench.confirm(&saved, PDF).await;
    assert!(matches!(confirmed, Confirmed::Unusable(_)), "{confirmed:?}");
    assert_eq!((bench.store.writes(), bench.store.files()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_preview_is_served_of_what_the_token_was_given_for_and_of_nothing_else() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await;
    let preview = |rev| previewable(&bench.store, &saved.id, rev, &saved.input_sha256);
    assert!(matches!(preview(saved.rev).await, Previewable::Yes { .. }));
    assert_eq!(preview(saved.rev + 1).await, Previewable::Stale);
    bench.store.fail_next_read(down());
    assert_eq!(preview(saved.rev).await, Previewable::Failed(down()));
    for state in ["sending", "accepted", "failed", "sent!", ""] {
        bench.type_state(&saved.id, state);
        assert_eq!(preview(saved.rev).await, Previewable::Stale, "{state}");
    }
    bench.type_state(&saved.id, "saved");
    bench
        .store
        .edit_by_hand(&saved.id, |row| row.progress = Some("?".into()));
    assert_eq!(preview(saved.rev).await, Previewable::Stale);
    assert_eq!(bench.store.writes(), 0, "a preview only reads");
}

#[tokio::test(start_paused = true)]
async fn after_not_sent_the_old_ticket_confirms_nothing() {
    let bench = Bench::new();
    let id = bench.sent(SubmitOutcome::NotSent(not_sent(None))).await;
    let mut saved = saved_as_it_is(&bench, &id);
    saved.rev = 1;
    assert_eq!(bench.confirm(&saved, PDF).await, Confirmed::Stale);
}

fn saved_as_it_is(bench: &Bench, id: &HistoryId) -> sendtrail_core::flows::SavedRecord {
    sendtrail_core::flows::SavedRecord {
        id: id.clone(),
        state: sendtrail_core::state::State::Saved,
        rev: bench.progress(id).rev(),
        input_sha256: input_sha256(bench.row(id).input.as_deref().unwrap()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_ticket_of_an_earlier_save_confirms_nothing_though_the_input_is_the_same_again() {
    let bench = Bench::new();
    let first = bench.saved("msg_1").await;
    for (key, name) in [("msg_2", "Grace"), ("msg_3", "Ada")] {
        bench.pass(3).await;
        let until = bench.world.after(30);
        let order = order(key, name);
        let saved = save_again(&bench.store, &*bench.world, &first.id, &order, until).await;
        assert!(matches!(saved, Saved::Saved(_)), "{saved:?}");
    }
    bench.pass(3).await;
    let before = bench.row(&first.id);
    assert_eq!(before.input, Some(order("msg_1", "Ada").stored));
    assert_eq!(bench.confirm(&first, PDF).await, Confirmed::Stale);
    assert_eq!((bench.row(&first.id), bench.store.files()), (before, 0));
}
