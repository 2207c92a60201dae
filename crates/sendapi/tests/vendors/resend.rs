//! Resend: JSON with base64, an idempotency key, and no search.

use sendtrail_core::ports::{FindAnswer, LookUp as _, LookUpAnswer, Order, SubmitOutcome};
use serde_json::json;

use super::{Stage, delivered, undelivered};

async fn stage() -> Stage {
    Stage::start("resend-mail", "https://api.resend.com", "/resend").await
}

fn order(script: &str, reference: &str) -> Order {
    let to = json!({"email": format!("Ada ({script}) <ada@example.com>")});
    let fields = json!({"from": "us@example.com", "subject": "NDA", "text": "Please read."});
    super::order("resend-mail", reference, &to, &fields)
}

#[tokio::test]
async fn a_mail_is_accepted_with_key_reference_and_bytes_and_delivered() {
    let stage = stage().await;
    let order = order("delivered", "st_1");
    let id = stage.accepted(&order).await;
    let mails = stage.api.letters(Some("st_1")).unwrap();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].id, id.as_str());
    assert_eq!(mails[0].idempotency_key.as_deref(), Some("st_1"));
    assert_eq!(mails[0].document_sha256, order.document_sha256.to_string());
    assert_eq!(stage.ending(&id).await, delivered("delivered"));
    assert_eq!(stage.posts(), (1, 0));
}

#[tokio::test]
async fn each_last_event_has_its_meaning() {
    let stage = stage().await;
    for (number, (script, ending)) in [
        ("undelivered", undelivered("bounced")),
        ("failed", undelivered("failed")),
        ("status complained", undelivered("complained")),
        ("status suppressed", undelivered("suppressed")),
        ("status canceled", undelivered("canceled")),
        ("status opened", delivered("opened")),
        ("status clicked", delivered("clicked")),
    ]
    .into_iter()
    .enumerate()
    {
        let id = stage
            .accepted(&order(script, &format!("st_{number}")))
            .await;
        assert_eq!(stage.ending(&id).await, ending, "{script}");
    }
    let id = stage
        .accepted(&order("status invented after 0", "st_x"))
        .await;
    let answer = stage.driver().look_up(&id).await;
    let expected = LookUpAnswer::Pending {
        status: "invented".into(),
        recognised: false,
    };
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn a_key_in_use_is_unknown_and_never_a_refusal() {
    let stage = stage().await;
    stage.accepted(&order("delivered", "st_1")).await;
    // The same key with another body: an earlier mail went out.
    let mut other = order("delivered", "st_1");
    other
        .input
        .fields
        .insert("subject".into(), "Another".into());
    let outcome = stage.submit(&other).await;
    let SubmitOutcome::Unknown(seen) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(seen.detail, "invalid_idempotent_request");
    assert_eq!(stage.api.letters(None).unwrap().len(), 1);
}

#[tokio::test]
async fn a_lost_reply_is_unknown_and_cannot_be_found() {
    let stage = stage().await;
    for (script, received) in [
        ("reply lost", 1),
        ("reply cut", 2),
        ("reply garbage", 3),
        ("reply 500", 4),
    ] {
        let lost = order(script, &format!("st_{received}"));
        let outcome = stage.submit(&lost).await;
        assert!(
            matches!(outcome, SubmitOutcome::Unknown(_)),
            "{script}: {outcome:?}"
        );
        assert_eq!(stage.posts(), (received, 0), "{script}");
        let found = stage.driver().find(&lost.reference, None).await;
        assert_eq!(found, FindAnswer::None);
    }
    assert!(!stage.driver_can_find());
}

#[tokio::test]
async fn a_quota_is_not_sent_with_its_wait_and_a_refusal_is_rejected() {
    let stage = stage().await;
    let outcome = stage.submit(&order("throttled 30s", "st_1")).await;
    let SubmitOutcome::NotSent(proof) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(proof.retry_after.map(|wait| wait.as_secs()), Some(30));
    assert_eq!(proof.evidence.detail, "rate_limit_exceeded");
    let outcome = stage.submit(&order("rejected", "st_2")).await;
    assert!(matches!(outcome, SubmitOutcome::Rejected(_)), "{outcome:?}");
    assert_eq!(stage.posts(), (0, 2));
    assert_eq!(stage.api.letters(None).unwrap(), []);
}
