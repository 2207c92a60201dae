//! The one submit against servers that misbehave in time and place; the rest is in the matrix.

mod common;

use std::time::{Duration, Instant};

use common::outcome::{LITTLE, PLENTY, not_sent, submit_text, submit_to, submit_within, unknown};
use common::{Act, Server, build, file_text, json, letters, order_of};
use sendtrail_core::ports::{Submit as _, SubmitOutcome};
use tokio::net::{TcpListener, TcpSocket};

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for status in [
        "301 Moved",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let target = Server::start(vec![Act::Answer(json("200 OK", "", r#"{"id":"x"}"#))]).await;
        let location = format!("location: http://127.0.0.1:{}/v1/letters\r\n", target.port);
        let (outcome, posts) = submit_to(Act::Answer(json(status, &location, "{}"))).await;
        assert_eq!(unknown(outcome, "status").status, status[..3].parse().ok());
        assert_eq!(posts, 1);
        assert_eq!(target.connections(), 0, "{status} was followed");
    }
}

/// Without this the test above would prove nothing: an ordinary client does post again.
#[tokio::test]
async fn control_a_default_client_posts_again_after_a_307() {
    let target = Server::start(vec![Act::Answer(json("200 OK", "", "{}"))]).await;
    let location = format!("location: http://127.0.0.1:{}/v1/letters\r\n", target.port);
    let first = Server::start(vec![Act::Answer(json(
        "307 Temporary Redirect",
        &location,
        "{}",
    ))])
    .await;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(common::tls())
        .build()
        .unwrap();
    let url = format!("http://127.0.0.1:{}/v1/letters", first.port);
    let answer = client.post(url).body("once").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(first.posts() + target.posts(), 2);
}

#[tokio::test]
async fn an_answer_in_slow_pieces_is_read_within_the_time() {
    let body = json("200 OK", "", r#"{"id":"ltr_1"}"#);
    let pieces = body.chunks(20).map(<[u8]>::to_vec).collect();
    let (outcome, posts) = submit_to(Act::Pieces(pieces, Duration::from_millis(20))).await;
    assert!(
        matches!(outcome, SubmitOutcome::Accepted { .. }),
        "{outcome:?}"
    );
    assert_eq!(posts, 1);
}

#[tokio::test]
async fn a_body_that_never_ends_is_unknown_when_the_time_is_over() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n".to_vec();
    let mut pieces = vec![head];
    pieces.extend(vec![b"{".to_vec(); 9_000]);
    let begun = Instant::now();
    let (outcome, posts) =
        submit_within(Act::Pieces(pieces, Duration::from_millis(20)), LITTLE).await;
    unknown(outcome, "unreadable");
    assert_eq!(posts, 1);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_rule_of_the_file_reads_the_apis_code() {
    let refused = json("409 Conflict", "", r#"{"error":{"code":"refused"}}"#);
    let (outcome, posts) = submit_to(Act::Answer(refused)).await;
    let SubmitOutcome::Rejected(seen) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((seen.detail.as_str(), posts), ("refused", 1));
}

#[tokio::test]
async fn a_429_is_not_sent_with_the_wait_in_each_of_its_forms() {
    for (headers, wait) in [
        ("retry-after: 30\r\n", Some(30)),
        (
            "date: Thu, 01 Jan 2026 00:00:00 GMT\r\nretry-after: Thu, 01 Jan 2026 00:01:00 GMT\r\n",
            Some(60),
        ),
        (
            "date: Thu, 01 Jan 2026 00:00:00 GMT\r\nratelimit-reset: 1767225605\r\n",
            Some(5),
        ),
        ("retry-after: whenever\r\n", None),
        ("", None),
    ] {
        let (outcome, posts) = submit_to(Act::Answer(json("429 Slow Down", headers, "{}"))).await;
        let SubmitOutcome::NotSent(proof) = outcome else {
            panic!("{headers}: {outcome:?}");
        };
        assert_eq!(
            proof.retry_after.map(|wait| wait.as_secs()),
            wait,
            "{headers}"
        );
        assert_eq!((proof.evidence.status, posts), (Some(429), 1));
    }
}

#[tokio::test]
async fn a_refused_port_is_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    not_sent(submit_text(&file_text(port), PLENTY).await, "connect");
}

#[tokio::test]
async fn a_tls_failure_or_a_handshake_without_end_is_not_sent() {
    let no_tls = Act::Speak(b"HTTP/1.1 400 Bad\r\n\r\n".to_vec());
    let closes = Act::Speak(Vec::new());
    // The server waits for the end of a request head, which a TLS greeting does not have.
    for act in [no_tls, closes, Act::Hang] {
        let server = Server::start(vec![act]).await;
        let text = file_text(server.port).replace("http://", "https://");
        let begun = Instant::now();
        not_sent(submit_text(&text, PLENTY).await, "connect");
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!((server.connections(), server.posts()), (1, 0));
    }
}

#[tokio::test]
async fn a_connect_time_out_is_not_sent_although_it_is_a_time_out() {
    // A full backlog answers no further connection.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) = tokio::time::timeout(
        Duration::from_millis(200),
        tokio::net::TcpStream::connect(address),
    )
    .await
    {
        waiting.push(stream);
        assert!(waiting.len() < 200, "the backlog never fills");
    }
    let begun = Instant::now();
    not_sent(
        submit_text(&file_text(address.port()), PLENTY).await,
        "connect",
    );
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "the total time-out came first"
    );
}

#[tokio::test]
async fn an_early_413_is_never_more_than_one_try() {
    let server = Server::start(vec![Act::AnswerEarly(json("413 Too Large", "", "{}"))]).await;
    let drivers = build(&file_text(server.port));
    let driver = letters(&drivers);
    let order = order_of(&vec![b'x'; 999_000]);
    let prepared = driver.prepare(&order).await.unwrap();
    // The answer can be lost in the reset that follows the unread body; either way it is no acceptance.
    let outcome = driver.submit(&order, prepared, PLENTY).await;
    assert!(
        matches!(
            outcome,
            SubmitOutcome::Rejected(_) | SubmitOutcome::Unknown(_)
        ),
        "{outcome:?}"
    );
    assert_eq!((server.connections(), server.posts()), (1, 0));
}
