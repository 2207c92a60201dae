//! The claim's condition, and that the record is what was confirmed.

use sendtrail_core::flows::{Press, Refused, Sent};
use sendtrail_core::ids::{FileId, HistoryId, Sha256Hash};
use sendtrail_core::input::input_sha256;
use sendtrail_core::ports::{StoreDocument as _, StoreError, SubmitOutcome};
use sendtrail_core::testing::CheckMac;
use serde_json::json;

use crate::common::{Bench, PDF, accepted, down, not_sent, order, press, unknown};

/// Presses, and holds that nothing was sent and the record is as it was.
async fn refused(bench: &Bench, press: &Press) -> Refused {
    bench.pass(3).await;
    let (before, submits) = (bench.row(&press.history_id), bench.driver().submits().len());
    let sent = bench.send(press, bench.world.after(30)).await;
    let Sent::Refused(refused) = sent else {
        panic!("{sent:?}")
    };
    assert_eq!(bench.row(&press.history_id), before);
    assert_eq!(bench.driver().submits().len(), submits);
    refused
}

async fn why(bench: &Bench, id: &HistoryId) -> String {
    refused(bench, &press(id, "press_x")).await.to_string()
}

#[tokio::test(start_paused = true)]
async fn only_a_confirmed_record_may_be_claimed() {
    let bench = Bench::new();
    let saved = bench.saved("msg_1").await.id;
    assert!(why(&bench, &saved).await.contains("not confirmed"));
    let id = bench.confirmed().await;
    for state in [
        "saved",
        "sending",
        "accepted",
        "succeeded",
        "failed",
        "needs_review",
        "sent!",
        "",
    ] {
        bench.type_state(&id, state);
        assert!(why(&bench, &id).await.contains("not confirmed"), "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_state_typed_back_opens_nothing_once_a_submission_is_known() {
    for outcome in [
        accepted("ltr_1"),
        unknown(),
        SubmitOutcome::Rejected(sendtrail_core::ports::Evidence::default()),
    ] {
        let bench = Bench::new();
        let id = bench.sent(outcome).await;
        bench.type_state(&id, "confirmed");
        assert!(why(&bench, &id).await.contains("submitted before"));
        // Also where a person marks the claim as resolved.
        bench.edit_progress(&id, |progress| {
            progress["claim"]["resolved"] = json!("not_sent");
        });
        assert!(why(&bench, &id).await.contains("submitted before"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_not_resolved_forbids_a_claim_and_a_resolved_one_does_not() {
    let bench = Bench::new();
    let id = bench.sent(SubmitOutcome::NotSent(not_sent(None))).await;
    bench.edit_progress(&id, |progress| {
        progress["claim"]
            .as_object_mut()
            .unwrap()
            .remove("resolved");
    });
    assert!(why(&bench, &id).await.contains("claim is not resolved"));
    bench.edit_progress(&id, |progress| {
        progress["claim"]["resolved"] = json!("not_sent");
    });
    bench.pass(3).await;
    bench.driver().will_submit(accepted("ltr_1"));
    let sent = bench.press(&id, "press_y").await;
    assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    assert_eq!(bench.state(&id), "accepted");
}

#[tokio::test(start_paused = true)]
async fn a_progress_that_is_gone_broken_or_newer_forbids_a_claim() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    for text in [
        None,
        Some("?"),
        Some(r#"{"v":2,"rev":1}"#),
        Some(r#"{"v":1,"rev":1}"#),
    ] {
        bench
            .store
            .edit_by_hand(&id, |row| row.progress = text.map(ToOwned::to_owned));
        let why = why(&bench, &id).await;
        assert!(why.contains("not sendable"), "{text:?}: {why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_whose_progress_was_lost_is_never_claimed_again() {
    let bench = Bench::new();
    let id = bench.sent(accepted("ltr_1")).await;
    let document = serde_json::to_value(
        serde_json::from_str::<serde_json::Value>(bench.row(&id).progress.as_deref().unwrap())
            .unwrap()["document"]
            .clone(),
    );
    bench
        .store
        .edit_by_hand(&id, |row| row.progress = Some("oops".into()));
    bench.pass(120).await;
    assert_eq!(bench.poll().await.malformed, 1);
    // A person pastes the confirmed document back and types the state.
    bench.edit_progress(&id, |progress| progress["document"] = document.unwrap());
    bench.type_state(&id, "confirmed");
    assert!(why(&bench, &id).await.contains("progress was lost"));
}

#[tokio::test(start_paused = true)]
async fn another_document_than_the_signed_one_is_refused() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let mut press = press(&id, "press_1");
    press.document_sha256 = Sha256Hash::of(b"another");
    let refused = refused(&bench, &press).await;
    assert!(matches!(refused, Refused::RecordChanged(_)), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_changed_document_input_hash_or_seal_is_refused() {
    let changed = |what: &str| {
        Refused::RecordChanged(match what {
            "gone" => "the document is gone",
            "document" => "the document differs",
            "input" => "the input differs",
            _ => "the seal does not hold",
        })
    };
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let good = bench.row(&id);
    let restore = || bench.store.edit_by_hand(&id, |row| *row = good.clone());
    let press = press(&id, "press_1");

    let same_length = bytes::Bytes::from(PDF.to_ascii_uppercase());
    for other in [
        bytes::Bytes::from_static(b"%PDF"),
        same_length,
        vec![b'x'; 500].into(),
    ] {
        let file = bench.store.upload("x.pdf", other).await.unwrap();
        bench
            .store
            .edit_by_hand(&id, |row| row.document = Some(file));
        assert_eq!(refused(&bench, &press).await, changed("document"));
    }
    restore();
    for gone in [None, Some(FileId::parse("nowhere").unwrap())] {
        bench.store.edit_by_hand(&id, |row| row.document = gone);
        assert_eq!(refused(&bench, &press).await, changed("gone"));
    }
    restore();
    let other = order("msg_1", "Eve").stored;
    for input in [
        Some(other.clone()),
        Some(format!("{} ", good.input.clone().unwrap())),
        None,
    ] {
        bench.store.edit_by_hand(&id, |row| row.input = input);
        assert_eq!(refused(&bench, &press).await, changed("input"));
    }
    // A person who also adapts the hash, or the seal, has no key.
    bench
        .store
        .edit_by_hand(&id, |row| row.input = Some(other.clone()));
    let hash = input_sha256(&other).to_string();
    bench.edit_progress(&id, |progress| {
        progress["document"]["input_sha256"] = json!(hash);
    });
    assert_eq!(refused(&bench, &press).await, changed("seal"));
    restore();
    for seal in ["", "0".repeat(64).as_str()] {
        bench.edit_progress(&id, |progress| progress["document"]["seal"] = json!(seal));
        assert_eq!(refused(&bench, &press).await, changed("seal"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloned_record_is_refused_since_the_seal_names_the_first() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let clone = bench.store.insert(bench.row(&id));
    let refused = refused(&bench, &press(&clone, "press_1")).await;
    assert_eq!(refused, Refused::RecordChanged("the seal does not hold"));
}

#[tokio::test(start_paused = true)]
async fn a_seal_of_another_stage_or_key_is_refused() {
    let mut bench = Bench::new();
    let id = bench.confirmed().await;
    bench.policy.stage = "prod".to_owned();
    assert!(why(&bench, &id).await.contains("seal"));
    bench.policy.stage = "local".to_owned();
    bench.mac = CheckMac(8);
    assert!(why(&bench, &id).await.contains("seal"));
}

#[tokio::test(start_paused = true)]
async fn a_twin_is_refused_unless_the_press_names_it() {
    let bench = Bench::new();
    let first = bench.sent(accepted("ltr_1")).await;
    let second = bench.confirmed().await;
    let mut again = press(&second, "press_2");
    assert_eq!(
        refused(&bench, &again).await,
        Refused::AlreadySent(first.clone())
    );
    again.again_of = Some(second.clone());
    assert_eq!(
        refused(&bench, &again).await,
        Refused::AlreadySent(first.clone())
    );
    again.again_of = Some(first);
    bench.driver().will_submit(accepted("ltr_2"));
    let sent = bench.send(&again, bench.world.after(30)).await;
    assert!(matches!(sent, Sent::Done { .. }), "{sent:?}");
    assert_eq!(bench.driver().submits().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_failed_or_was_not_sent_is_no_twin() {
    for outcome in [
        SubmitOutcome::Rejected(sendtrail_core::ports::Evidence::default()),
        SubmitOutcome::NotSent(not_sent(None)),
    ] {
        let bench = Bench::new();
        bench.sent(outcome).await;
        let second = bench.sent(accepted("ltr_2")).await;
        assert_eq!(bench.state(&second), "accepted");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_driver_and_a_document_too_large_for_it_are_refused() {
    let bench = Bench::new();
    let mut order = order("msg_1", "Ada");
    order.input.driver = sendtrail_core::ids::DriverId::parse("fax").unwrap();
    order.stored = order.input.to_stored().unwrap();
    let saved = sendtrail_core::flows::save(&bench.store, &*bench.world, &order).await;
    let sendtrail_core::flows::Saved::Saved(saved) = saved else {
        panic!("{saved:?}")
    };
    bench.pass(3).await;
    bench.confirm(&saved, PDF).await;
    let other = refused(&bench, &press(&saved.id, "press_1")).await;
    assert_eq!(other, Refused::UnknownDriver);

    let saved = bench.saved("msg_2").await;
    let large: &'static [u8] = Box::leak(vec![b'x'; 1_000_001].into_boxed_slice());
    bench.confirm(&saved, large).await;
    let mut press = press(&saved.id, "press_2");
    press.document_sha256 = Sha256Hash::of(large);
    assert_eq!(refused(&bench, &press).await, Refused::TooLarge(1_000_000));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_sends_nothing() {
    let bench = Bench::new();
    let id = bench.confirmed().await;
    let before = bench.row(&id);
    bench.store.fail_next_read(down());
    assert_eq!(bench.press(&id, "press_1").await, Sent::Failed(down()));
    let limited = StoreError::RateLimited { retry_after: None };
    bench.store.fail_next_write(limited.clone());
    assert_eq!(bench.press(&id, "press_1").await, Sent::Failed(limited));
    assert_eq!(bench.row(&id), before);
    let missing = HistoryId::parse("77").unwrap();
    assert_eq!(
        bench.press(&missing, "press_1").await,
        Sent::Failed(StoreError::NotFound)
    );
    assert!(bench.driver().submits().is_empty());
}
