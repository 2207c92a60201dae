//! `GET /v1/histories/{id}/preview`.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sendtrail_core::ids::{HistoryId, Sha256Hash};
use sendtrail_core::input::input_sha256;
use sendtrail_core::ports::StoreError;
use sendtrail_door::{Claims, Purpose, TokenKey};
use serde_json::json;

use super::support::{MAX_BYTES, PDF, Stack, TOKENS, held, input, secret};

#[tokio::test(start_paused = true)]
async fn the_preview_is_the_source_file_byte_for_byte_with_hash_and_receipt() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let answer = stack.preview(&saved.id, &saved.preview_token).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        STANDARD.decode(answer.handled.response.body()).unwrap(),
        PDF
    );
    assert_eq!(answer.header("content-type"), Some("application/pdf"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let sha256 = Sha256Hash::of(PDF).to_string();
    assert_eq!(
        answer.header("sendtrail-document-sha256"),
        Some(sha256.as_str())
    );
    assert!(answer.header("sendtrail-receipt").is_some());
    assert_eq!(stack.traces(), (0, 0, 1), "a preview writes nothing");
}

#[tokio::test(start_paused = true)]
async fn only_a_living_preview_token_of_this_record_and_stage_shows_anything() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    let other = HistoryId::parse("1").unwrap();
    let good = stack.claims(Purpose::Preview, &saved.id, 1);
    let calls = stack.app.crm.calls();
    for token in [
        String::new(),
        saved.ticket.clone(),
        stack.receipt_for(&saved.id, 1, PDF),
        stack.token(&stack.claims(Purpose::Preview, &other, 1)),
        TokenKey::new(secret(TOKENS), "prod").issue(&good),
        format!("{}A", saved.preview_token),
        saved.preview_token.to_lowercase(),
    ] {
        stack
            .preview(&saved.id, &token)
            .await
            .is(401, "unauthorized");
    }
    let path = format!("/v1/histories/{}/preview", saved.id);
    let without = stack.event("GET", &path, &json!({}), b"");
    stack.handle(&without).await.is(401, "unauthorized");
    tokio::time::advance(Duration::from_mins(10)).await;
    stack
        .preview(&saved.id, &saved.preview_token)
        .await
        .is(401, "unauthorized");
    assert_eq!(stack.app.crm.calls(), calls, "the CRM is not asked");
}

#[tokio::test(start_paused = true)]
async fn a_preview_of_what_changed_since_is_stale() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    for state in ["sending", "accepted", "succeeded", "typed", ""] {
        let store = &stack.app.crm.store;
        store.edit_by_hand(&saved.id, |row| row.state = Some(state.to_owned()));
        stack
            .preview(&saved.id, &saved.preview_token)
            .await
            .is(409, "stale_ticket");
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_shows_the_pdf_only_where_it_is_allowed_and_never_gives_a_receipt() {
    let off = Stack::new();
    let on = Stack::with(|settings| settings.preview_link = true);
    let link = |stack: &Stack, id: &HistoryId, token: &str| {
        let path = format!("/v1/histories/{id}/preview?token={token}");
        stack.event("GET", &path, &json!({}), b"")
    };
    let saved = off.saved().await;
    let refused = off
        .handle(&link(&off, &saved.id, &saved.preview_token))
        .await;
    refused.is(401, "unauthorized");
    let saved = on.saved().await;
    let shown = on.handle(&link(&on, &saved.id, &saved.preview_token)).await;
    assert_eq!(shown.status, 200);
    assert_eq!(shown.header("sendtrail-receipt"), None);
    let with_ticket = on.handle(&link(&on, &saved.id, &saved.ticket)).await;
    with_ticket.is(401, "unauthorized");
    // A header that does not hold is not made good by a link.
    let mut both = link(&on, &saved.id, &saved.preview_token);
    both["headers"]["authorization"] = json!("Bearer none");
    on.handle(&both).await.is(401, "unauthorized");
    // The widget's form gives one, also where links are allowed.
    on.seen(&saved).await;
}

#[tokio::test(start_paused = true)]
async fn a_document_that_cannot_be_sent_is_refused_in_words_for_the_person() {
    let locked = b"%PDF-1.4\ntrailer\n<< /Encrypt 5 0 R >>\nstartxref\n9\n%%EOF\n".to_vec();
    let large = vec![b'x'; usize::try_from(MAX_BYTES).unwrap() + 1];
    for (bytes, status, code, word) in [
        (Vec::new(), 422, "document_unusable", "empty"),
        (b"<html>".to_vec(), 422, "document_unusable", "not a PDF"),
        (
            b"%PDF-1.4".to_vec(),
            422,
            "document_unusable",
            "not complete",
        ),
        (locked, 422, "document_unusable", "protected"),
        (large, 413, "too_large", "2000 bytes"),
    ] {
        let stack = Stack::new();
        stack.app.crm.store.put_source("Deals", "57", "9", bytes);
        let saved = stack.saved().await;
        let answer = stack.preview(&saved.id, &saved.preview_token).await;
        answer.is(status, code);
        assert!(answer.text("detail").contains(word), "{answer:?}");
        assert_eq!(answer.header("sendtrail-receipt"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_missing_or_withheld_is_told_apart_from_a_crm_that_fails() {
    let detail = "words of the CRM".to_owned();
    let code = "NO_PERMISSION".to_owned();
    for (error, status, expected) in [
        (StoreError::NotFound, 502, "source_unavailable"),
        (
            StoreError::Unauthorized {
                detail: detail.clone(),
            },
            502,
            "source_unavailable",
        ),
        (
            StoreError::Refused {
                code,
                detail: detail.clone(),
            },
            502,
            "source_unavailable",
        ),
        (
            StoreError::RateLimited { retry_after: None },
            503,
            "rate_limited",
        ),
        (
            StoreError::Transient {
                detail: detail.clone(),
            },
            503,
            "crm_unavailable",
        ),
        (
            StoreError::Malformed {
                detail: detail.clone(),
            },
            503,
            "crm_unavailable",
        ),
    ] {
        let stack = Stack::new();
        let saved = stack.saved().await;
        stack.fail(|faults| faults.source = Some(error));
        let answer = stack.preview(&saved.id, &saved.preview_token).await;
        answer.is(status, expected);
        assert!(!answer.handled.response.body().contains(&detail));
    }
}

#[tokio::test(start_paused = true)]
async fn input_edited_after_the_save_is_not_shown() {
    let stack = Stack::with(|settings| settings.preview_link = true);
    let saved = stack.saved().await;
    stack.edit_recipient(&saved.id);
    let before = stack.row(&saved.id);
    let answer = stack.preview(&saved.id, &saved.preview_token).await;
    answer.is(409, "stale_ticket");
    assert_eq!(answer.header("sendtrail-receipt"), None);
    assert!(!answer.handled.response.body().contains("Eve"));
    let path = format!("/v1/histories/{}/preview?token=", saved.id);
    let link = stack.event("GET", &(path + &saved.preview_token), &json!({}), b"");
    stack.handle(&link).await.is(409, "stale_ticket");
    // The same save again does not bless the edit; a new one replaces it.
    let again = held(&stack.post("msg_1", &input()).await);
    stack
        .preview(&again.id, &again.preview_token)
        .await
        .is(409, "stale_ticket");
    assert_eq!((stack.row(&saved.id), stack.traces()), (before, (0, 0, 1)));
    let replaced = held(&stack.put(&saved.id, "msg_2", &input()).await);
    stack.seen(&replaced).await;
    assert!(!stack.row(&saved.id).input.unwrap().contains("Eve"));
}

#[tokio::test(start_paused = true)]
async fn input_that_a_person_made_unreadable_is_refused_and_not_repeated() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    stack.edit_input(&saved.id, "typed over");
    let answer = stack.preview(&saved.id, &saved.preview_token).await;
    answer.is(409, "stale_ticket");
    assert!(!answer.handled.response.body().contains("typed over"));
    // Nor when a token is for that very text.
    let token = stack.token(&Claims {
        input_sha256: input_sha256("typed over").to_string(),
        ..stack.claims(Purpose::Preview, &saved.id, 1)
    });
    let answer = stack.preview(&saved.id, &token).await;
    answer.is(409, "record_changed");
    assert!(!answer.handled.response.body().contains("typed over"));
}

#[tokio::test(start_paused = true)]
async fn a_field_of_the_source_record_is_a_source_too() {
    let stack = Stack::new();
    stack
        .app
        .crm
        .store
        .put_source("Deals", "57", "Contract_PDF", PDF);
    let mut body = input();
    body["source"] = json!({"module": "Deals", "record_id": "57", "field": "Contract_PDF"});
    let saved = held(&stack.post("msg_1", &body).await);
    stack.seen(&saved).await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_gone_is_404() {
    let stack = Stack::new();
    let saved = stack.saved().await;
    stack.app.crm.store.delete(&saved.id);
    stack
        .preview(&saved.id, &saved.preview_token)
        .await
        .is(404, "not_found");
}
