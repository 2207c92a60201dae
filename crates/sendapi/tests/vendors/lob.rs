//! Lob: one multipart POST, an idempotency key, and a search by metadata.

use sendtrail_core::ports::{FindAnswer, LookUp as _, LookUpAnswer, Order, SubmitOutcome};
use serde_json::json;

use super::{Stage, delivered, undelivered};

async fn stage() -> Stage {
    Stage::start("lob-letter", "https://api.lob.com/v1", "/v1").await
}

fn order(name: &str, reference: &str) -> Order {
    let to = json!({
        "name": name, "address_line1": "1 Main St", "address_city": "Boston", "address_state": "MA",
        "address_zip": "02110",
    });
    super::order(
        "lob-letter",
        reference,
        &to,
        &json!({"from_address": "adr_1"}),
    )
}

#[tokio::test]
async fn a_letter_is_accepted_with_key_and_reference_and_its_last_event_decides() {
    let stage = stage().await;
    let order_1 = order("Ada (delivered after 2)", "st_1");
    let id = stage.accepted(&order_1).await;
    let letters = stage.api.letters(Some("st_1")).unwrap();
    assert_eq!(letters[0].id, id.as_str());
    assert_eq!(letters[0].idempotency_key.as_deref(), Some("st_1"));
    assert_eq!(
        letters[0].document_sha256,
        order_1.document_sha256.to_string()
    );
    assert_eq!(stage.ending(&id).await, delivered("Delivered"));
    let id = stage.accepted(&order("undelivered", "st_2")).await;
    assert_eq!(stage.ending(&id).await, undelivered("Returned to Sender"));
    let id = stage.accepted(&order("failed", "st_3")).await;
    assert_eq!(stage.ending(&id).await, undelivered("failed"));
    let id = stage.accepted(&order("status lost after 0", "st_4")).await;
    let answer = stage.driver().look_up(&id).await;
    assert!(
        matches!(
            answer,
            LookUpAnswer::Pending {
                recognised: false,
                ..
            }
        ),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_lost_reply_is_found_by_metadata_once_the_index_shows_it() {
    let stage = stage().await;
    let lost = order("Ada (reply lost, find delay 1m)", "st_1");
    let outcome = stage.submit(&lost).await;
    assert!(matches!(outcome, SubmitOutcome::Unknown(_)), "{outcome:?}");
    assert_eq!(
        stage.driver().find(&lost.reference, None).await,
        FindAnswer::None
    );
    let name = "Ada (reply lost, find delay 1m)";
    stage.api.set_script(name, "delivered").unwrap();
    let found = stage.driver().find(&lost.reference, None).await;
    assert!(matches!(found, FindAnswer::One(_)), "{found:?}");
    assert_eq!(stage.posts(), (1, 0));
}

#[tokio::test]
async fn a_conflict_is_unknown_and_a_refusal_is_rejected() {
    let stage = stage().await;
    stage.accepted(&order("Ada", "st_1")).await;
    let outcome = stage.submit(&order("Bob", "st_1")).await;
    let SubmitOutcome::Unknown(seen) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((seen.status, seen.detail.as_str()), (Some(409), "conflict"));
    let outcome = stage.submit(&order("rejected", "st_2")).await;
    assert!(matches!(outcome, SubmitOutcome::Rejected(_)), "{outcome:?}");
    assert_eq!(stage.api.letters(None).unwrap().len(), 1);
}
