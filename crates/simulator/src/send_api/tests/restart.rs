//! What was taken is still there after the process is gone.

use super::super::{SendApi, SendApiConfig};
use super::{accepted, get, json, letter, until};

async fn start_on(file: &std::path::Path) -> SendApi {
    SendApi::start(SendApiConfig {
        database: Some(file.to_owned()),
        ..SendApiConfig::default()
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn letters_scripts_and_counts_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("send.sqlite");
    let first = start_on(&file).await;
    let id = accepted(&first, "delivered after 1", "st_1").await;
    assert_eq!(
        get(&first, &format!("/v1/letters/{id}")).await.status(),
        200
    );
    first.set_script("Ada", "rejected").unwrap();
    // Dropped without a shutdown, as a killed process leaves it.
    drop(first);
    let second = start_on(&file).await;
    let object = json(get(&second, &format!("/v1/letters/{id}")).await).await;
    assert_eq!(object["last_event"], "Delivered");
    assert_eq!(second.letters(Some("st_1")).unwrap().len(), 1);
    assert_eq!(second.post_counts(Some("st_1")).unwrap().accepted, 1);
    assert_eq!(
        letter(&second, "Ada", "st_2")
            .send()
            .await
            .unwrap()
            .status(),
        422
    );
}

#[tokio::test]
async fn a_post_under_way_when_the_process_died_counts_as_received_and_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("send.sqlite");
    let first = start_on(&file).await;
    first.set_script("Ada", "hold 5m before").unwrap();
    let request = tokio::spawn(letter(&first, "Ada", "st_1").send());
    until("the POST is under way", || {
        first.posts(None).unwrap().len() == 1
    })
    .await;
    let second = start_on(&file).await;
    request.abort();
    assert_eq!(second.posts(None).unwrap()[0].outcome, "unanswered");
    assert_eq!(second.post_counts(Some("st_1")).unwrap().received, 1);
    second.set_script("Ada", "delivered").unwrap();
    accepted(&second, "Ada", "st_1").await;
}
