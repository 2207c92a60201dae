//! The POST that commits.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::super::PostCounts;
use super::super::submission::hex;
use super::{PDF, accepted, client, form, get, json, letter, start, until};

#[tokio::test]
async fn a_letter_is_accepted_and_its_bytes_are_known() {
    let api = start().await;
    let answer = letter(&api, "Ada Lovelace", "st_1").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let object = json(answer).await;
    assert!(object["id"].as_str().unwrap().starts_with("ltr_"));
    assert_eq!(object["status"], "processed");
    let letters = json(get(&api, "/_sim/letters?reference=st_1").await).await;
    assert_eq!(letters[0]["document_sha256"], hex(&Sha256::digest(PDF)));
    assert_eq!(letters[0]["document_bytes"], PDF.len());
    assert_eq!(letters[0]["recipient"], "Ada Lovelace");
    assert_eq!(letters[0]["address"], r#"{"city":"Zürich"}"#);
    assert_eq!(letters[0]["idempotency_key"], "st_1");
    assert_eq!(
        json(get(&api, "/_sim/letters?reference=st_2").await).await,
        json!([])
    );
}

#[tokio::test]
async fn a_message_in_json_is_accepted_in_each_of_its_forms() {
    let api = start().await;
    let document = STANDARD.encode(PDF);
    for body in [
        json!({"to": "Ada", "reference": "r", "document": document}),
        json!({"to": {"name": "Ada"}, "metadata": {"send_id": "r"}, "document": document}),
        json!({"to": ["Ada"], "reference": "r", "attachments": [{"content": document}]}),
    ] {
        let request = client()
            .post(format!("{}/v1/messages", api.url))
            .bearer_auth("test_key");
        let answer = request
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 200, "{body}");
        assert!(
            json(answer).await["id"]
                .as_str()
                .unwrap()
                .starts_with("msg_")
        );
    }
    let letters = api.letters(Some("r")).unwrap();
    assert_eq!(letters.len(), 3);
    assert!(letters.iter().all(|letter| letter.recipient == "Ada"));
    assert!(
        letters
            .iter()
            .all(|letter| letter.document_sha256 == hex(&Sha256::digest(PDF)))
    );
}

#[tokio::test]
async fn without_the_key_nothing_is_accepted() {
    let api = start().await;
    let url = format!("{}/v1/letters", api.url);
    let bare = || client().post(&url).multipart(form("Ada", "st_1", PDF));
    for request in [
        bare(),
        bare().basic_auth("other", Some("")),
        bare().bearer_auth("other"),
    ] {
        assert_eq!(request.send().await.unwrap().status(), 401);
    }
    assert_eq!(client().get(&url).send().await.unwrap().status(), 401);
    assert_eq!(
        client()
            .get(format!("{url}/ltr_1"))
            .send()
            .await
            .unwrap()
            .status(),
        401
    );
    assert_eq!(
        api.post_counts(None).unwrap(),
        PostCounts {
            refused: 3,
            ..PostCounts::default()
        }
    );
}

#[tokio::test]
async fn what_is_no_letter_is_refused() {
    let api = start().await;
    for (recipient, document) in [("Ada", &b""[..]), ("Ada", b"hello"), ("", PDF)] {
        let request = client()
            .post(format!("{}/v1/letters", api.url))
            .bearer_auth("test_key");
        let answer = request
            .multipart(form(recipient, "st_1", document))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 422);
    }
    let request = client()
        .post(format!("{}/v1/letters", api.url))
        .bearer_auth("test_key");
    let mut large = PDF.to_vec();
    large.resize(10_000_001, b' ');
    assert_eq!(
        request
            .multipart(form("Ada", "st_1", &large))
            .send()
            .await
            .unwrap()
            .status(),
        413
    );
    for body in ["", "[]", "{", r#"{"to":"Ada","document":"%"}"#] {
        let request = client()
            .post(format!("{}/v1/messages", api.url))
            .bearer_auth("test_key");
        assert_eq!(
            request.body(body).send().await.unwrap().status(),
            422,
            "{body}"
        );
    }
    assert_eq!(api.letters(None).unwrap(), []);
}

#[tokio::test]
async fn a_rejected_letter_is_refused_with_an_error_body() {
    let api = start().await;
    for (recipient, status) in [("rejected", 422), ("rejected 400", 400)] {
        let answer = letter(&api, recipient, recipient).send().await.unwrap();
        assert_eq!(answer.status(), status);
        assert_eq!(json(answer).await["error"]["status_code"], status);
        let counts = api.post_counts(Some(recipient)).unwrap();
        assert_eq!(
            counts,
            PostCounts {
                refused: 1,
                ..PostCounts::default()
            }
        );
    }
    assert_eq!(api.letters(None).unwrap(), []);
}

#[tokio::test]
async fn a_throttled_letter_says_when_in_seconds_or_as_date_and_is_taken_later() {
    let api = start().await;
    let recipient = "throttled 7s times 1, throttled 90s as date times 1";
    let first = letter(&api, recipient, "st_1").send().await.unwrap();
    assert_eq!(
        (
            first.status().as_u16(),
            first.headers()["retry-after"].to_str().unwrap()
        ),
        (429, "7")
    );
    let second = letter(&api, recipient, "st_1").send().await.unwrap();
    let date =
        httpdate::parse_http_date(second.headers()["retry-after"].to_str().unwrap()).unwrap();
    let wait = date.duration_since(SystemTime::now()).unwrap();
    assert!(
        (Duration::from_mins(1)..=Duration::from_secs(90)).contains(&wait),
        "{wait:?}"
    );
    accepted(&api, recipient, "st_1").await;
    let counts = api.post_counts(Some("st_1")).unwrap();
    assert_eq!(
        counts,
        PostCounts {
            received: 1,
            accepted: 1,
            refused: 2,
            incomplete: 0
        }
    );
    let posts = json(get(&api, "/_sim/posts?reference=st_1").await).await;
    assert_eq!(
        (&posts["received"], &posts["refused"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(posts["posts"][0]["outcome"], "refused");
}

#[tokio::test]
async fn server_errors_and_redirects_count_as_received_although_nothing_was_done() {
    let api = start().await;
    for (recipient, status) in [
        ("down", 503),
        ("down 500", 500),
        ("redirected", 307),
        ("redirected 303", 303),
    ] {
        let answer = letter(&api, recipient, recipient).send().await.unwrap();
        assert_eq!(answer.status(), status);
        let counts = api.post_counts(Some(recipient)).unwrap();
        assert_eq!(
            counts,
            PostCounts {
                received: 1,
                ..PostCounts::default()
            }
        );
    }
    assert_eq!(api.letters(None).unwrap(), []);
}

#[tokio::test]
async fn a_500_after_acting_hides_a_letter() {
    let api = start().await;
    assert_eq!(
        letter(&api, "reply 500", "st_1")
            .send()
            .await
            .unwrap()
            .status(),
        500
    );
    assert_eq!(api.letters(Some("st_1")).unwrap().len(), 1);
}

#[tokio::test]
async fn a_lost_reply_is_a_closed_connection_and_a_letter() {
    let api = start().await;
    let error = letter(&api, "reply lost", "st_1").send().await.unwrap_err();
    assert!(!error.is_connect() && !error.is_timeout(), "{error:?}");
    assert_eq!(api.letters(Some("st_1")).unwrap().len(), 1);
    assert_eq!(api.post_counts(Some("st_1")).unwrap().accepted, 1);
}

#[tokio::test]
async fn a_reset_after_reading_is_a_closed_connection_and_no_letter() {
    let api = start().await;
    let error = letter(&api, "reset times 1", "st_1")
        .send()
        .await
        .unwrap_err();
    assert!(!error.is_connect() && !error.is_timeout(), "{error:?}");
    assert_eq!(api.letters(None).unwrap(), []);
    // The caller cannot know that nothing was done.
    assert_eq!(api.post_counts(Some("st_1")).unwrap().received, 1);
    accepted(&api, "reset times 1", "st_1").await;
}

#[tokio::test]
async fn a_reset_midway_is_an_incomplete_post() {
    let api = start().await;
    let mut large = PDF.to_vec();
    large.resize(8_000_000, b' ');
    let request = client()
        .post(format!("{}/v1/letters", api.url))
        .bearer_auth("test_key");
    let error = request
        .multipart(form("reset midway times 1", "st_1", &large))
        .send()
        .await
        .unwrap_err();
    assert!(!error.is_connect() && !error.is_timeout(), "{error:?}");
    let counts = api.post_counts(Some("st_1")).unwrap();
    assert_eq!(
        counts,
        PostCounts {
            incomplete: 1,
            ..PostCounts::default()
        }
    );
    accepted(&api, "reset midway times 1", "st_1").await;
}

#[tokio::test]
async fn answers_that_cannot_be_read_hide_a_letter() {
    let api = start().await;
    let cut = letter(&api, "reply cut", "st_1").send().await.unwrap();
    assert_eq!(cut.status(), 200);
    assert!(cut.bytes().await.is_err());
    let garbage = letter(&api, "reply garbage", "st_2").send().await.unwrap();
    assert_eq!(garbage.status(), 200);
    assert!(serde_json::from_slice::<serde_json::Value>(&garbage.bytes().await.unwrap()).is_err());
    let nameless = json(
        letter(&api, "reply without id", "st_3")
            .send()
            .await
            .unwrap(),
    )
    .await;
    assert!(nameless.get("id").is_none());
    assert_eq!(api.letters(None).unwrap().len(), 3);
}

#[tokio::test]
async fn a_client_that_goes_away_does_not_stop_the_letter() {
    let api = start().await;
    let request = tokio::spawn(letter(&api, "hold 300ms before", "st_1").send());
    until("the POST is under way", || {
        api.posts(None).unwrap().len() == 1
    })
    .await;
    assert_eq!(api.posts(None).unwrap()[0].outcome, "pending");
    assert_eq!(api.post_counts(Some("st_1")).unwrap().received, 1);
    request.abort();
    until("the letter is there", || {
        api.letters(Some("st_1")).unwrap().len() == 1
    })
    .await;
    assert_eq!(api.posts(None).unwrap()[0].outcome, "accepted");
}

#[tokio::test]
async fn a_hold_after_acting_keeps_the_caller_waiting_with_the_letter_there() {
    let api = start().await;
    let request = tokio::spawn(letter(&api, "hold 1s", "st_1").send());
    until("the letter is there", || {
        api.letters(Some("st_1")).unwrap().len() == 1
    })
    .await;
    assert!(!request.is_finished());
    assert_eq!(request.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn a_script_comes_from_the_register_then_the_request_then_the_name() {
    let api = start().await;
    let with_script = |reference: &str, script: &str| {
        let request = client()
            .post(format!("{}/v1/letters", api.url))
            .bearer_auth("test_key");
        request
            .multipart(
                form("rejected 400", reference, PDF).text("metadata[script]", script.to_owned()),
            )
            .send()
    };
    assert_eq!(
        letter(&api, "rejected 400", "st_1")
            .send()
            .await
            .unwrap()
            .status(),
        400
    );
    assert_eq!(
        with_script("st_2", "rejected 404").await.unwrap().status(),
        404
    );
    assert_eq!(with_script("st_3", "nonsense").await.unwrap().status(), 400);
    let set = |script: &str| {
        let body = json!({"recipient": "rejected 400", "script": script}).to_string();
        let request = client()
            .post(format!("{}/_sim/scripts", api.url))
            .header("content-type", "application/json");
        request.body(body).send()
    };
    assert_eq!(set("nonsense").await.unwrap().status(), 422);
    assert_eq!(set("delivered").await.unwrap().status(), 200);
    assert_eq!(
        with_script("st_4", "rejected 404").await.unwrap().status(),
        200
    );
    assert_eq!(
        json(get(&api, "/_sim/scripts").await).await,
        json!({"rejected 400": "delivered"})
    );
}
