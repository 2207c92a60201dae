//! What a submit sends, and what keeps it from being sent.

mod common;

use std::time::{Duration, Instant};

use common::outcome::{LITTLE, PLENTY, not_sent, submit_text, submit_within, unknown};
use common::{Act, Server, build, file_text, json, letters, order, order_of};
use jiff::SignedDuration;
use sendtrail_core::ports::{Submit as _, SubmitOutcome};

#[tokio::test]
async fn an_accepted_submit_is_one_whole_post() {
    let server = Server::start(vec![Act::Answer(json("200 OK", "", r#"{"id":"ltr_1"}"#))]).await;
    let outcome = submit_text(&file_text(server.port), PLENTY).await;
    let SubmitOutcome::Accepted {
        external_id,
        evidence,
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(external_id.as_str(), "ltr_1");
    let arrived = server.arrived();
    assert_eq!(arrived.len(), 1);
    let request = &arrived[0];
    assert!(
        request.head.starts_with("POST /v1/letters HTTP/1.1\r\n"),
        "{}",
        request.head
    );
    assert_eq!(
        request.header("authorization"),
        Some("Basic dGVzdF8wMTIzNDU2Nzg5Og==")
    );
    assert_eq!(
        request.header("idempotency-key"),
        Some("st_0123456789abcdef0123456789abcdef")
    );
    assert_eq!(request.header("transfer-encoding"), None);
    let length = request.body.len().to_string();
    assert_eq!(request.header("content-length"), Some(length.as_str()));
    assert_eq!(evidence.bytes_sent.to_string(), length);
    let has = |text: &[u8]| request.body.windows(text.len()).any(|w| w == text);
    assert!(has(b"\r\n\r\n%PDF-1.7\r\n\xff\x00%%EOF\r\n--"));
    assert!(has("name=\"to[name]\"\r\n\r\nÅ. Doe\r\n".as_bytes()));
}

#[tokio::test]
async fn a_json_body_with_bearer_and_a_quoted_key() {
    let server = Server::start(vec![Act::Answer(json("200 OK", "", r#"{"id":17}"#))]).await;
    let text = file_text(server.port)
        .replace("multipart", "json")
        .replace(
            "kind = \"basic\"\nuser = \"secret:letters-key\"\npassword = \"\"",
            "kind = \"bearer\"\ntoken = \"secret:k\"",
        )
        .replace(
            "header = \"Idempotency-Key\"",
            "header = \"Idempotency-Key\"\nquoted = true",
        );
    let outcome = submit_text(&text, PLENTY).await;
    assert!(
        matches!(outcome, SubmitOutcome::Accepted { external_id, .. } if external_id.as_str() == "17")
    );
    let request = &server.arrived()[0];
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(
        request.header("authorization"),
        Some("Bearer test_0123456789")
    );
    assert_eq!(
        request.header("idempotency-key"),
        Some("\"st_0123456789abcdef0123456789abcdef\"")
    );
    let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["to[name]"], "Å. Doe");
    assert_eq!(body["file"], "JVBERi0xLjcNCv8AJSVFT0Y=");
}

#[tokio::test]
async fn too_little_time_is_not_sent_and_connects_to_nothing() {
    let server = Server::start(vec![Act::Hang]).await;
    let drivers = build(&file_text(server.port));
    let driver = letters(&drivers);
    let order = order();
    for left in [-5_000, 0, 1, 1_999] {
        let prepared = driver.prepare(&order).await.unwrap();
        let outcome = driver
            .submit(&order, prepared, SignedDuration::from_millis(left))
            .await;
        not_sent(outcome, "time");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_time_left_bounds_the_whole_request() {
    let begun = Instant::now();
    let (outcome, posts) = submit_within(Act::Hang, LITTLE).await;
    unknown(outcome, "timeout");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "the driver's own time-out came first"
    );
    assert_eq!(posts, 1);
}

#[tokio::test]
async fn what_our_own_checks_refuse_is_not_sent_and_connects_to_nothing() {
    let server = Server::start(vec![Act::Hang]).await;
    let drivers = build(&file_text(server.port));
    let driver = letters(&drivers);
    let large = order_of(&vec![b'x'; 1_000_001]);
    let proof = driver.prepare(&large).await.unwrap_err();
    assert_eq!(proof.evidence.class, "size");
    for (name, detail) in [
        (serde_json::Value::Null, "to.name is missing from the input"),
        (
            "a\r\nx: y".into(),
            "to.name has a line end or another control character in it",
        ),
    ] {
        let mut broken = order();
        broken.input.to.insert("name".into(), name);
        let proof = driver.prepare(&broken).await.unwrap_err();
        assert_eq!(
            (
                proof.evidence.class.as_str(),
                proof.evidence.detail.as_str()
            ),
            ("input", detail)
        );
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_request_prepared_for_another_order_is_not_sent() {
    let server = Server::start(vec![Act::Hang]).await;
    let drivers = build(&file_text(server.port));
    let driver = letters(&drivers);
    let mut other = order();
    let prepared = driver.prepare(&other).await.unwrap();
    other.reference = "st_other".parse().unwrap();
    not_sent(driver.submit(&other, prepared, PLENTY).await, "input");
    assert_eq!(server.connections(), 0);
}
