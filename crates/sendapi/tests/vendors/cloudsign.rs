//! CloudSign: a draft in three steps, a commit without a key, and the draft read back.

use sendtrail_core::ports::{
    Failure, FindAnswer, LookUp as _, LookUpAnswer, Order, Submit as _, SubmitOutcome,
};
use sendtrail_sendapi::Driver;
use serde_json::json;

use super::{PDF, PLENTY, Stage, delivered, undelivered};

const REFERENCE: &str = "st_00000000000000000000000000000001";

async fn stage() -> Stage {
    Stage::start("cloudsign", "https://api.cloudsign.jp", "/cloudsign").await
}

fn order(name: &str) -> Order {
    let to = json!({"name": name, "email": "ada@example.com", "organization": "Lovelace & Co"});
    super::order("cloudsign", REFERENCE, &to, &json!({"title": "NDA"}))
}

/// The answer that ends a search for what `order` submitted.
async fn find(stage: &Stage, draft: &str) -> FindAnswer {
    let reference = order("x").reference;
    stage.driver().find(&reference, Some(draft)).await
}

#[tokio::test]
async fn a_draft_is_made_committed_once_and_concluded() {
    let stage = stage().await;
    let order = order("Ada");
    let prepared = stage.driver().prepare(&order).await.unwrap();
    // Nothing is out before the commit, and the claim gets the draft's id.
    let draft = Driver::draft_id(&prepared).unwrap().to_owned();
    assert_eq!(stage.posts(), (0, 0));
    assert_eq!(find(&stage, &draft).await, FindAnswer::None);
    let outcome = stage.driver().submit(&order, prepared, PLENTY).await;
    let SubmitOutcome::Accepted { external_id, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(external_id.as_str(), draft);
    assert_eq!(stage.posts(), (1, 0));
    let drafts = stage.api.drafts().unwrap();
    assert_eq!(drafts.len(), 1);
    assert_eq!(
        (drafts[0].reminders, drafts[0].email.as_str()),
        (0, "ada@example.com")
    );
    assert_eq!(drafts[0].document_bytes, i64::try_from(PDF.len()).unwrap());
    assert_eq!(drafts[0].document_sha256, order.document_sha256.to_string());
    assert_eq!(drafts[0].reference.as_deref(), Some(REFERENCE));
    assert_eq!(stage.ending(&external_id).await, delivered("2"));
}

#[tokio::test]
async fn declined_is_undelivered_and_an_undocumented_number_ends_nothing() {
    let stage = stage().await;
    let id = stage.accepted(&order("undelivered")).await;
    assert_eq!(stage.ending(&id).await, undelivered("3"));
    stage.api.set_script("odd", "status 13 after 0").unwrap();
    let id = stage.accepted(&order("odd")).await;
    let answer = stage.driver().look_up(&id).await;
    let expected = LookUpAnswer::Pending {
        status: "13".into(),
        recognised: false,
    };
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn a_lost_reply_is_unknown_and_the_draft_tells() {
    let stage = stage().await;
    for (name, found) in [("reply lost", true), ("reset", false), ("down", false)] {
        let order = order(name);
        let prepared = stage.driver().prepare(&order).await.unwrap();
        let draft = Driver::draft_id(&prepared).unwrap().to_owned();
        let before = stage.posts().0;
        let outcome = stage.driver().submit(&order, prepared, PLENTY).await;
        assert!(
            matches!(outcome, SubmitOutcome::Unknown(_)),
            "{name}: {outcome:?}"
        );
        assert_eq!(stage.posts().0, before + 1, "{name}");
        let answer = find(&stage, &draft).await;
        match answer {
            FindAnswer::One(id) => assert!(found && id.as_str() == draft, "{name}"),
            FindAnswer::None => assert!(!found, "{name}"),
            FindAnswer::Several(_) | FindAnswer::Failed(_) => panic!("{name}: {answer:?}"),
        }
    }
    assert!(
        stage
            .api
            .drafts()
            .unwrap()
            .iter()
            .all(|draft| draft.reminders == 0)
    );
}

#[tokio::test]
async fn a_commit_that_shows_late_is_found_once_it_shows() {
    let stage = stage().await;
    let order = order("reply lost, find delay 1m");
    let prepared = stage.driver().prepare(&order).await.unwrap();
    let draft = Driver::draft_id(&prepared).unwrap().to_owned();
    stage.driver().submit(&order, prepared, PLENTY).await;
    assert_eq!(find(&stage, &draft).await, FindAnswer::None);
    stage
        .api
        .set_script("reply lost, find delay 1m", "delivered")
        .unwrap();
    assert!(matches!(find(&stage, &draft).await, FindAnswer::One(_)));
}

#[tokio::test]
async fn a_rejected_commit_is_rejected_with_the_vendors_code() {
    let stage = stage().await;
    let outcome = stage.submit(&order("rejected 403")).await;
    let SubmitOutcome::Rejected(seen) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((seen.status, seen.detail.as_str()), (Some(403), "rejected"));
    assert_eq!(stage.posts(), (0, 1));
}

#[tokio::test]
async fn a_step_that_fails_is_not_sent_and_commits_nothing() {
    let stage = stage().await;
    let mut wrong = order("Ada");
    wrong.input.to.insert("email".into(), "no address".into());
    let proof = stage.driver().prepare(&wrong).await.unwrap_err();
    assert_eq!(proof.evidence.class, "step");
    assert_eq!(proof.evidence.status, Some(400));
    assert_eq!(proof.evidence.detail, "step participant: bad_request");
    assert_eq!(stage.posts(), (0, 0));
    // What our own check finds leaves no draft behind.
    let drafts = stage.api.drafts().unwrap().len();
    wrong.input.to.remove("email");
    let proof = stage.driver().prepare(&wrong).await.unwrap_err();
    assert_eq!(proof.evidence.detail, "to.email is missing from the input");
    assert_eq!(stage.api.drafts().unwrap().len(), drafts);
}

#[tokio::test]
async fn a_refused_token_rejects_a_submit_and_is_not_replaced_inside_it() {
    let stage = stage().await;
    let order = order("Ada");
    let prepared = stage.driver().prepare(&order).await.unwrap();
    stage.api.revoke_token().unwrap();
    let outcome = stage.driver().submit(&order, prepared, PLENTY).await;
    let SubmitOutcome::Rejected(seen) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(
        (seen.status, seen.detail.as_str()),
        (Some(401), "unauthorized")
    );
    assert_eq!(stage.posts(), (0, 1));
    // The next press has a new token.
    stage.accepted(&order).await;
}

#[tokio::test]
async fn a_look_up_replaces_a_refused_token_once() {
    let stage = stage().await;
    let id = stage.accepted(&order("silence")).await;
    stage.api.revoke_token().unwrap();
    let answer = stage.driver().look_up(&id).await;
    assert!(matches!(answer, LookUpAnswer::Pending { .. }), "{answer:?}");
    // A second time within the minute it is the credentials' fault.
    stage.api.revoke_token().unwrap();
    let answer = stage.driver().look_up(&id).await;
    assert!(
        matches!(answer, LookUpAnswer::Failed(Failure::Unauthorized(_))),
        "{answer:?}"
    );
}

#[tokio::test]
async fn without_a_draft_nothing_is_looked_for() {
    let stage = stage().await;
    let reference = order("x").reference;
    assert_eq!(
        stage.driver().find(&reference, None).await,
        FindAnswer::None
    );
    assert_eq!(
        find(&stage, "0123456789abcdef0123456789abcdef").await,
        FindAnswer::None
    );
}
