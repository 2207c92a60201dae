//! Idempotency keys and duplicates.

use super::super::PostCounts;
use super::{PDF, accepted, client, form, json, letter, start, until};

#[tokio::test]
async fn the_same_key_again_answers_the_same_letter_and_makes_none() {
    let api = start().await;
    let first = accepted(&api, "Ada", "st_1").await;
    let again = letter(&api, "Ada", "st_1").send().await.unwrap();
    assert_eq!(again.status(), 200);
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(json(again).await["id"], first);
    assert_eq!(api.letters(None).unwrap().len(), 1);
    // Both POSTs came in: whoever promises one must not hide behind the key.
    assert_eq!(api.post_counts(Some("st_1")).unwrap().received, 2);
}

#[tokio::test]
async fn the_same_key_for_something_else_is_a_conflict() {
    let api = start().await;
    accepted(&api, "Ada", "st_1").await;
    let other = client()
        .post(format!("{}/v1/letters", api.url))
        .bearer_auth("test_key");
    let other = other
        .header("Idempotency-Key", "st_1")
        .multipart(form("Eve", "st_1", PDF));
    let answer = other.send().await.unwrap();
    assert_eq!(answer.status(), 409);
    assert_eq!(json(answer).await["error"]["code"], "conflict");
    assert_eq!(api.letters(None).unwrap().len(), 1);
}

#[tokio::test]
async fn the_same_key_while_the_first_is_under_way_is_refused() {
    let api = start().await;
    let first = tokio::spawn(letter(&api, "Ada (hold 600ms before)", "st_1").send());
    until("the first is under way", || {
        api.posts(None).unwrap().len() == 1
    })
    .await;
    let second = letter(&api, "Ada (hold 600ms before)", "st_1")
        .send()
        .await
        .unwrap();
    assert_eq!(json(second).await["error"]["code"], "in_flight");
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
    assert_eq!(api.letters(None).unwrap().len(), 1);
}

#[tokio::test]
async fn an_api_without_keys_makes_a_letter_each_time() {
    let api = start().await;
    accepted(&api, "keyless", "st_1").await;
    accepted(&api, "keyless", "st_1").await;
    assert_eq!(api.letters(Some("st_1")).unwrap().len(), 2);
    assert_eq!(api.post_counts(Some("st_1")).unwrap().accepted, 2);
}

#[tokio::test]
async fn an_api_that_detects_duplicates_refuses_the_second() {
    let api = start().await;
    accepted(&api, "keyless, unique", "st_1").await;
    let second = letter(&api, "keyless, unique", "st_1")
        .send()
        .await
        .unwrap();
    assert_eq!(second.status(), 409);
    assert_eq!(json(second).await["error"]["code"], "duplicate");
    let counts = api.post_counts(Some("st_1")).unwrap();
    assert_eq!(
        counts,
        PostCounts {
            received: 1,
            accepted: 1,
            refused: 1,
            incomplete: 0
        }
    );
}
