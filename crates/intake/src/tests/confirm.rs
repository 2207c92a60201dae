//! `PUT /v1/histories/{id}/document`.

use std::time::Duration;

use sendtrail_core::ids::{HistoryId, Sha256Hash};
use sendtrail_core::input::input_sha256;
use sendtrail_core::ports::StoreError;
use sendtrail_core::progress::Progress;
use sendtrail_core::seal::seal_holds;
use sendtrail_core::testing::CheckMac;
use sendtrail_door::{Claims, Purpose};
use serde_json::json;

use super::support::{MAX_BYTES, PDF, Saved, Stack, held, input};

const OTHER_PDF: &[u8] = b"%PDF-1.4\ntrailer\n<< /Root 2 0 R >>\nstartxref\n9\n%%EOF\n";

#[tokio::test(start_paused = true)]
async fn the_bytes_that_were_seen_are_stored_and_sealed_with_the_input() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    let answer = stack.confirm(&saved, &receipt, PDF).await;
    let sha256 = Sha256Hash::of(PDF);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        answer.body,
        json!({
            "history_id": saved.id.as_str(), "state": "confirmed",
            "document_sha256": sha256.to_string(),
        })
    );
    let row = stack.row(&saved.id);
    assert_eq!(row.state.as_deref(), Some("confirmed"));
    assert_eq!(row.document_sha256, Some(sha256.to_string()));
    let document = Progress::decode(row.progress.as_deref())
        .unwrap()
        .document
        .unwrap();
    assert_eq!(row.document, Some(document.file_id));
    let input = input_sha256(&row.input.unwrap());
    let holds = |stage| {
        let seal = &document.seal;
        seal_holds(&CheckMac(7), stage, &saved.id, &sha256, &input, seal)
    };
    assert!(holds("local") && !holds("prod"));
    assert_eq!(stack.traces(), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_same_confirm_again_is_200_without_a_write_or_an_upload() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    stack.confirm(&saved, &receipt, PDF).await;
    let before = stack.row(&saved.id);
    let again = stack.confirm(&saved, &receipt, PDF).await;
    assert_eq!(
        (again.status, again.text("state")),
        (200, "confirmed".into())
    );
    assert_eq!((stack.row(&saved.id), stack.traces()), (before, (1, 1, 1)));
}

#[tokio::test(start_paused = true)]
async fn ticket_and_receipt_are_both_needed_and_neither_stands_for_the_other() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    let other = HistoryId::parse("1").unwrap();
    let with_ticket = |ticket: &str| Saved {
        ticket: ticket.to_owned(),
        ..saved.clone()
    };
    let good_ticket = &saved.ticket;
    let old_receipt = stack.token(&Claims {
        document_sha256: Some(Sha256Hash::of(PDF).to_string()),
        expires_at: stack.world.after(0).as_second(),
        ..stack.claims(Purpose::Receipt, &saved.id, 1)
    });
    let bare_receipt = stack.token(&stack.claims(Purpose::Receipt, &saved.id, 1));
    let other_input = |purpose| {
        stack.token(&Claims {
            input_sha256: input_sha256("{}").to_string(),
            document_sha256: Some(Sha256Hash::of(PDF).to_string()),
            ..stack.claims(purpose, &saved.id, 1)
        })
    };
    let calls = stack.app.crm.calls();
    for (ticket, receipt) in [
        ("", receipt.as_str()),
        (good_ticket.as_str(), ""),
        (&receipt, good_ticket),
        (&receipt, &receipt),
        (good_ticket, good_ticket),
        (&saved.preview_token, &receipt),
        (good_ticket, &saved.preview_token),
        (good_ticket, &stack.receipt_for(&other, 1, PDF)),
        (good_ticket, &stack.receipt_for(&saved.id, 2, PDF)),
        (
            &stack.token(&stack.claims(Purpose::Confirm, &other, 1)),
            &receipt,
        ),
        (
            &stack.token(&stack.claims(Purpose::Confirm, &saved.id, 2)),
            &receipt,
        ),
        (good_ticket, &other_input(Purpose::Receipt)),
        (&other_input(Purpose::Confirm), &receipt),
        (good_ticket, &old_receipt),
        (good_ticket, &bare_receipt),
    ] {
        let answer = stack.confirm(&with_ticket(ticket), receipt, PDF).await;
        answer.is(401, "unauthorized");
    }
    tokio::time::advance(Duration::from_hours(1)).await;
    stack
        .confirm(&saved, &receipt, PDF)
        .await
        .is(401, "unauthorized");
    assert_eq!((stack.app.crm.calls(), stack.traces()), (calls, (0, 0, 1)));
}

#[tokio::test(start_paused = true)]
async fn no_body_is_decoded_for_anybody_without_both() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    let mut event = stack.document_event(&saved, "", PDF);
    event["body"] = json!("!!!!");
    stack.handle(&event).await.is(401, "unauthorized");
    event["headers"]["sendtrail-receipt"] = json!(receipt);
    stack.handle(&event).await.is(400, "malformed_request");
    assert_eq!(stack.traces(), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn bytes_that_were_not_seen_are_refused() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    for bytes in [OTHER_PDF, b"", &PDF[..PDF.len() - 1]] {
        stack
            .confirm(&saved, &receipt, bytes)
            .await
            .is(409, "document_changed");
    }
    assert_eq!(stack.traces(), (0, 0, 1));
    assert_eq!(stack.row(&saved.id).state.as_deref(), Some("saved"));
}

#[tokio::test(start_paused = true)]
async fn a_body_of_another_type_or_size_or_that_is_no_pdf_is_refused() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    let mut event = stack.document_event(&saved, &receipt, PDF);
    event["headers"]["content-type"] = json!("application/octet-stream");
    stack.handle(&event).await.is(415, "unsupported_media_type");
    let large = vec![b'x'; usize::try_from(MAX_BYTES).unwrap() + 1];
    stack
        .confirm(&saved, &receipt, &large)
        .await
        .is(413, "too_large");
    // A true receipt for such bytes does not make them a PDF.
    let receipt = stack.receipt_for(&saved.id, 1, b"<html>");
    let answer = stack.confirm(&saved, &receipt, b"<html>").await;
    answer.is(422, "document_unusable");
    assert_eq!(stack.traces(), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_ticket_of_before_the_last_save_is_stale() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    stack.put(&saved.id, "msg_2", &input()).await;
    let before = stack.row(&saved.id);
    stack
        .confirm(&saved, &receipt, PDF)
        .await
        .is(409, "stale_ticket");
    assert_eq!((stack.row(&saved.id), stack.traces()), (before, (1, 0, 1)));
}

#[tokio::test(start_paused = true)]
async fn input_edited_after_the_preview_is_not_sealed_and_nothing_is_stored() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    stack.edit_recipient(&saved.id);
    let before = stack.row(&saved.id);
    let answer = stack.confirm(&saved, &receipt, PDF).await;
    answer.is(409, "stale_ticket");
    assert!(!answer.handled.response.body().contains("Eve"));
    assert_eq!((stack.row(&saved.id), stack.traces()), (before, (0, 0, 1)));
    // Tokens of the same save again are of what was saved, too.
    let again = held(&stack.post("msg_1", &input()).await);
    stack
        .confirm(&again, &receipt, PDF)
        .await
        .is(409, "stale_ticket");
    assert_eq!(stack.traces(), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_was_sent_or_typed_over_cannot_be_confirmed() {
    for state in ["sending", "accepted", "needs_review", "confirmed", "typed"] {
        let stack = Stack::new();
        let saved = stack.saved().await;
        let receipt = stack.seen(&saved).await;
        let store = &stack.app.crm.store;
        store.edit_by_hand(&saved.id, |row| row.state = Some(state.to_owned()));
        stack
            .confirm(&saved, &receipt, PDF)
            .await
            .is(409, "stale_ticket");
        assert_eq!(stack.traces(), (0, 0, 1), "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_came_between_stands() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    tokio::time::advance(Duration::from_secs(3)).await;
    stack.fail(|faults| faults.edit_before_write = true);
    stack
        .confirm(&saved, &receipt, PDF)
        .await
        .is(409, "changed_elsewhere");
    let row = stack.row(&saved.id);
    assert_eq!(row.state.as_deref(), Some("saved"));
    assert_eq!((row.document, stack.traces().0), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn a_failed_upload_binds_nothing_and_can_be_repeated() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    let detail = "reset".to_owned();
    stack.fail(|faults| faults.upload = Some(StoreError::Transient { detail }));
    stack
        .confirm(&saved, &receipt, PDF)
        .await
        .is(503, "crm_unavailable");
    assert_eq!(stack.traces(), (0, 0, 1));
    stack.fail(|faults| faults.upload = None);
    assert_eq!(stack.confirm(&saved, &receipt, PDF).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_reply_was_lost_is_found_to_be_done() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    stack.app.crm.store.lose_next_write_reply();
    assert_eq!(stack.confirm(&saved, &receipt, PDF).await.status, 200);
    assert_eq!(stack.traces(), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn input_that_a_person_made_unreadable_is_not_sealed() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    stack.edit_input(&saved.id, "typed over");
    let answer = stack.confirm(&saved, &receipt, PDF).await;
    answer.is(409, "stale_ticket");
    assert!(!answer.handled.response.body().contains("typed over"));
    // Nor when ticket and receipt are for that very text.
    let of_that_text = |purpose| {
        stack.token(&Claims {
            input_sha256: input_sha256("typed over").to_string(),
            document_sha256: Some(Sha256Hash::of(PDF).to_string()),
            ..stack.claims(purpose, &saved.id, 1)
        })
    };
    let ticket = of_that_text(Purpose::Confirm);
    let receipt = of_that_text(Purpose::Receipt);
    let answer = stack
        .confirm(&Saved { ticket, ..saved }, &receipt, PDF)
        .await;
    answer.is(409, "record_changed");
    assert!(!answer.handled.response.body().contains("typed over"));
    assert_eq!(stack.traces(), (0, 0, 1));
}
