//! Telnyx fax: 202, no key, and a list compared by `client_state`.

use sendtrail_core::ports::{Failure, FindAnswer, LookUp as _, Order, SubmitOutcome};
use serde_json::json;

use super::{Stage, delivered, undelivered};

async fn stage() -> Stage {
    Stage::start("telnyx-fax", "https://api.telnyx.com/v2", "/telnyx").await
}

/// A fax to a number with this script.
fn order(stage: &Stage, number: &str, script: &str, reference: &str) -> Order {
    stage.api.set_script(number, script).unwrap();
    let fields = json!({"from": "+15550001", "connection_id": "c-1"});
    super::order("telnyx-fax", reference, &json!({"fax": number}), &fields)
}

#[tokio::test]
async fn a_fax_is_accepted_with_202_and_ends() {
    let stage = stage().await;
    let good = order(&stage, "+15551", "delivered after 2", "st_1");
    let id = stage.accepted(&good).await;
    let faxes = stage.api.letters(Some("st_1")).unwrap();
    assert_eq!((faxes.len(), faxes[0].id.as_str()), (1, id.as_str()));
    assert_eq!(faxes[0].idempotency_key, None);
    assert_eq!(faxes[0].document_sha256, good.document_sha256.to_string());
    assert_eq!(stage.ending(&id).await, delivered("delivered"));
    let bad = order(&stage, "+15552", "failed", "st_2");
    let id = stage.accepted(&bad).await;
    assert_eq!(stage.ending(&id).await, undelivered("failed"));
}

#[tokio::test]
async fn a_lost_reply_is_found_in_the_list_and_another_fax_is_not_ours() {
    let stage = stage().await;
    let other = order(&stage, "+15550", "delivered", "st_other");
    stage.accepted(&other).await;
    let lost = order(&stage, "+15551", "reply lost", "st_1");
    let outcome = stage.submit(&lost).await;
    assert!(matches!(outcome, SubmitOutcome::Unknown(_)), "{outcome:?}");
    let id = stage.api.letters(Some("st_1")).unwrap().remove(0).id;
    let found = stage.driver().find(&lost.reference, None).await;
    assert!(
        matches!(&found, FindAnswer::One(one) if one.as_str() == id),
        "{found:?}"
    );
    let reset = order(&stage, "+15552", "reset", "st_2");
    let outcome = stage.submit(&reset).await;
    assert!(matches!(outcome, SubmitOutcome::Unknown(_)), "{outcome:?}");
    assert_eq!(
        stage.driver().find(&reset.reference, None).await,
        FindAnswer::None
    );
    assert_eq!(stage.posts(), (3, 0));
}

#[tokio::test]
async fn several_matches_are_named_and_a_list_that_fails_proves_nothing() {
    let stage = stage().await;
    let twice = order(&stage, "+15551", "find 503 times 1", "st_1");
    let first = stage.accepted(&twice).await;
    let second = stage.accepted(&twice).await;
    let failed = stage.driver().find(&twice.reference, None).await;
    assert!(
        matches!(failed, FindAnswer::Failed(Failure::Transient(_))),
        "{failed:?}"
    );
    let found = stage.driver().find(&twice.reference, None).await;
    let FindAnswer::Several(mut ids) = found else {
        panic!("{found:?}");
    };
    ids.sort();
    let mut both = [first.to_string(), second.to_string()];
    both.sort();
    assert_eq!(ids, both);
}

#[tokio::test]
async fn a_refusal_carries_the_vendors_code() {
    let stage = stage().await;
    let wrong = order(&stage, "+15551", "rejected 422", "st_1");
    let outcome = stage.submit(&wrong).await;
    let SubmitOutcome::Rejected(seen) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((seen.status, seen.detail.as_str()), (Some(422), "rejected"));
    assert_eq!(stage.posts(), (0, 1));
}
