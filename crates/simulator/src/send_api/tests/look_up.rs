//! Look-ups and searches.

use serde_json::{Value, json};

use super::super::{Calls, SendApi};
use super::{accepted, get, json, start, until};

/// The status and the last event of a look-up.
async fn look_up(api: &SendApi, id: &str) -> (Value, Value) {
    let answer = get(api, &format!("/v1/letters/{id}")).await;
    assert_eq!(answer.status(), 200);
    let object = json(answer).await;
    let events = object["tracking_events"].as_array().unwrap().clone();
    assert_eq!(object["last_event"], events.last().unwrap()["name"]);
    (
        object["status"].clone(),
        events.last().unwrap()["name"].clone(),
    )
}

async fn find(api: &SendApi, reference: &str, limit: u32) -> Value {
    let path = format!("/v1/letters?metadata%5Bsend_id%5D={reference}&limit={limit}");
    json(get(api, &path).await).await
}

#[tokio::test]
async fn a_letter_is_delivered_after_the_look_ups_it_was_told() {
    let api = start().await;
    let id = accepted(&api, "delivered after 2", "st_1").await;
    for expected in ["In Transit", "In Transit", "Delivered", "Delivered"] {
        assert_eq!(
            look_up(&api, &id).await,
            (json!("processed"), json!(expected))
        );
    }
    let now = accepted(&api, "delivered after 0", "st_2").await;
    assert_eq!(look_up(&api, &now).await.1, "Delivered");
}

#[tokio::test]
async fn each_ending_shows_in_its_own_way() {
    let api = start().await;
    for (recipient, status, event) in [
        ("undelivered after 0", "processed", "Returned to Sender"),
        ("failed after 0", "failed", "In Transit"),
        (
            "status lost_in_space after 0",
            "lost_in_space",
            "lost_in_space",
        ),
        ("silence", "processed", "In Transit"),
    ] {
        let id = accepted(&api, recipient, recipient).await;
        for _ in 0..3 {
            assert_eq!(
                look_up(&api, &id).await,
                (json!(status), json!(event)),
                "{recipient}"
            );
        }
    }
}

#[tokio::test]
async fn faults_of_look_ups_come_first_and_do_not_count_as_answers() {
    let api = start().await;
    let id = accepted(
        &api,
        "look-up 404 times 2, look-up 429, look-up 500, delivered after 1",
        "st_1",
    )
    .await;
    for expected in [404, 404, 429, 500] {
        let answer = get(&api, &format!("/v1/letters/{id}")).await;
        assert_eq!(answer.status(), expected);
        assert_eq!(
            answer.headers().contains_key("retry-after"),
            expected == 429
        );
    }
    assert_eq!(look_up(&api, &id).await.1, "In Transit");
    assert_eq!(look_up(&api, &id).await.1, "Delivered");
}

#[tokio::test]
async fn an_unknown_id_is_not_found() {
    let api = start().await;
    assert_eq!(get(&api, "/v1/letters/ltr_x").await.status(), 404);
    assert_eq!(get(&api, "/v1/messages/msg_x").await.status(), 404);
}

#[tokio::test]
async fn a_letter_is_found_by_its_reference_only() {
    let api = start().await;
    assert_eq!(
        find(&api, "st_1", 2).await,
        json!({"object": "list", "count": 0, "data": []})
    );
    let id = accepted(&api, "Ada", "st_1").await;
    accepted(&api, "Ada", "st_2").await;
    let found = find(&api, "st_1", 2).await;
    assert_eq!(
        (&found["count"], &found["data"][0]["id"]),
        (&json!(1), &json!(id))
    );
    assert_eq!(found["data"][0]["metadata"]["send_id"], "st_1");
    let same = json(get(&api, "/v1/messages?reference=st_1").await).await;
    assert_eq!(same["data"][0]["id"], id);
}

#[tokio::test]
async fn several_letters_of_one_reference_are_all_found_up_to_the_limit() {
    let api = start().await;
    for _ in 0..3 {
        accepted(&api, "keyless", "st_1").await;
    }
    assert_eq!(find(&api, "st_1", 2).await["count"], 2);
    assert_eq!(find(&api, "st_1", 10).await["count"], 3);
    for query in [
        "limit=2",
        "metadata[send_id]=st_1&limit=0",
        "metadata[send_id]=st_1&page=2",
    ] {
        assert_eq!(
            get(&api, &format!("/v1/letters?{query}")).await.status(),
            422,
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_search_lags_behind_but_a_look_up_does_not() {
    let api = start().await;
    let id = accepted(&api, "find delay 400ms", "st_1").await;
    assert_eq!(find(&api, "st_1", 2).await["count"], 0);
    assert_eq!(look_up(&api, &id).await.0, "processed");
    let accepted_ms = api.letters(None).unwrap()[0].accepted_ms;
    until("the index has caught up", || {
        jiff::Timestamp::now().as_millisecond() >= accepted_ms + 400
    })
    .await;
    assert_eq!(find(&api, "st_1", 2).await["count"], 1);
}

#[tokio::test]
async fn a_search_fails_as_often_as_it_was_told() {
    let api = start().await;
    accepted(&api, "find 503 times 2", "st_1").await;
    for expected in [503, 503, 200] {
        assert_eq!(
            get(&api, "/v1/letters?metadata[send_id]=st_1")
                .await
                .status(),
            expected
        );
    }
}

#[tokio::test]
async fn a_script_set_later_counts_for_a_letter_that_is_there() {
    let api = start().await;
    let id = accepted(&api, "silence", "st_1").await;
    assert_eq!(look_up(&api, &id).await.1, "In Transit");
    api.set_script("silence", "undelivered after 1").unwrap();
    assert_eq!(look_up(&api, &id).await.1, "Returned to Sender");
    assert!(api.set_script("silence", "nonsense").is_err());
}

#[tokio::test]
async fn calls_of_each_kind_are_counted() {
    let api = start().await;
    let id = accepted(&api, "Ada", "st_1").await;
    look_up(&api, &id).await;
    look_up(&api, &id).await;
    find(&api, "st_1", 2).await;
    assert_eq!(
        api.calls().unwrap(),
        Calls {
            posts: 1,
            look_ups: 2,
            finds: 1
        }
    );
    assert_eq!(
        json(get(&api, "/_sim/calls").await).await,
        json!({"posts": 1, "look_ups": 2, "finds": 1})
    );
}
