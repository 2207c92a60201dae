//! Tokens, and credentials in bodies: had before they are needed, sent where they belong.

mod common;

use common::outcome::PLENTY;
use common::steps::{ok, prepare, steps_text, token};
use common::{Act, Server, build, external_id, json, letters, order, tls};
use jiff::SignedDuration;
use sendtrail_core::ports::{Failure, LookUp as _, LookUpAnswer, Submit as _, SubmitOutcome};
use sendtrail_sendapi::{Drivers, Timeouts};

#[tokio::test]
async fn a_token_that_cannot_be_had_is_not_sent_and_the_endpoint_is_left_alone_for_a_while() {
    for (act, status, wait) in [
        (
            Act::Answer(json("401 Who", "", r#"{"error":"invalid_client"}"#)),
            Some(401),
            None,
        ),
        (
            Act::Answer(json("200 OK", "", r#"{"error":"Access Denied"}"#)),
            Some(200),
            None,
        ),
        (
            Act::Answer(json("429 Slow", "retry-after: 40\r\n", "{}")),
            Some(429),
            Some(40),
        ),
        (Act::Answer(json("503 Busy", "", "{}")), Some(503), None),
        (Act::Close, None, None),
    ] {
        let server = Server::start(vec![act]).await;
        let drivers = build(&steps_text(server.port));
        for _ in 0..3 {
            let proof = prepare(&drivers).await.unwrap_err();
            assert_eq!(
                (proof.evidence.class.as_str(), proof.evidence.status),
                ("token", status)
            );
            assert_eq!(proof.retry_after.map(|wait| wait.as_secs()), wait);
        }
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn a_token_about_to_expire_is_no_token_for_a_submit() {
    let server = Server::start(vec![token("tok1", 20), Act::Hang]).await;
    let proof = prepare(&build(&steps_text(server.port))).await.unwrap_err();
    assert_eq!(proof.evidence.detail, "the token is about to expire");
    let wait = proof.retry_after.map(|wait| wait.as_secs());
    assert!(
        wait.is_some_and(|secs| (15..=20).contains(&secs)),
        "{wait:?}"
    );
}

#[tokio::test]
async fn a_step_that_refuses_the_token_drops_it_for_the_next_press() {
    let refused = Act::Answer(json("401 Who", "", "{}"));
    let server = Server::start(vec![
        token("tok1", 3600),
        refused,
        token("tok2", 3600),
        Act::Close,
    ])
    .await;
    let drivers = build(&steps_text(server.port));
    let proof = prepare(&drivers).await.unwrap_err();
    assert_eq!(proof.evidence.status, Some(401));
    assert_eq!(server.connections(), 2, "a step was repeated");
    prepare(&drivers).await.unwrap_err();
    let last = server.arrived().remove(3);
    assert_eq!(last.header("authorization"), Some("Bearer tok2"));
}

#[tokio::test]
async fn many_look_ups_fetch_one_token() {
    let pending = ok(r#"{"status":1}"#);
    let server = Server::start(vec![token("tok1", 3600), pending]).await;
    let drivers = build(&steps_text(server.port));
    let driver = letters(&drivers);
    let ids = ["a", "b", "c"].map(external_id);
    let answers = tokio::join!(
        driver.look_up(&ids[0]),
        driver.look_up(&ids[1]),
        driver.look_up(&ids[2])
    );
    for answer in [answers.0, answers.1, answers.2] {
        assert!(matches!(answer, LookUpAnswer::Pending { .. }), "{answer:?}");
    }
    assert_eq!(server.posts(), 1);
    assert_eq!(server.arrived().len(), 4);
}

#[tokio::test]
async fn a_token_past_its_life_is_fetched_again() {
    let pending = || ok(r#"{"status":1}"#);
    let acts = vec![token("tok1", 0), pending(), token("tok2", 3600), pending()];
    let server = Server::start(acts).await;
    let drivers = build(&steps_text(server.port));
    for _ in 0..3 {
        letters(&drivers).look_up(&external_id("a")).await;
    }
    let bearers: Vec<_> = server
        .arrived()
        .iter()
        .filter(|one| one.line().starts_with("GET "))
        .map(|one| one.header("authorization").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(bearers, ["Bearer tok1", "Bearer tok2", "Bearer tok2"]);
    assert_eq!(server.posts(), 2);
}

#[tokio::test]
async fn a_look_up_without_a_token_says_whose_fault_it_is() {
    let refused = Act::Answer(json("400 Bad", "", r#"{"error":"invalid_client"}"#));
    let limited = Act::Answer(json("429 Slow", "retry-after: 9\r\n", "{}"));
    for (act, kind) in [
        (refused, "unauthorized"),
        (limited, "limited"),
        (Act::Close, "transient"),
    ] {
        let server = Server::start(vec![act]).await;
        let drivers = build(&steps_text(server.port));
        let answer = letters(&drivers).look_up(&external_id("a")).await;
        let LookUpAnswer::Failed(failure) = answer else {
            panic!("{answer:?}");
        };
        let found = match failure {
            Failure::Unauthorized(_) => "unauthorized",
            Failure::RateLimited { retry_after, .. } => {
                assert_eq!(retry_after.map(|wait| wait.as_secs()), Some(9));
                "limited"
            }
            Failure::Transient(_) => "transient",
        };
        assert_eq!((found, server.connections()), (kind, 1));
    }
}

#[tokio::test]
async fn credentials_in_bodies_are_sent_in_bodies_with_an_exact_content_type() {
    let server = Server::start(vec![
        Act::Answer(json("200 OK", "", r#"{"id":17}"#)),
        ok(r#"{"status":"sent"}"#),
    ])
    .await;
    let text = include_str!("common/in_body.toml").replace("PORT", &server.port.to_string());
    let drivers = build(&text);
    let prepared = prepare(&drivers).await.unwrap();
    assert!(!format!("{prepared:?}{drivers:?}").contains("test_0123456789"));
    let outcome = letters(&drivers).submit(&order(), prepared, PLENTY).await;
    assert!(
        matches!(outcome, SubmitOutcome::Accepted { .. }),
        "{outcome:?}"
    );
    let answer = letters(&drivers).look_up(&external_id("17")).await;
    assert!(
        matches!(answer, LookUpAnswer::Delivered { .. }),
        "{answer:?}"
    );
    let arrived = server.arrived();
    assert_eq!(arrived[1].line(), "GET /v1/jobs/17 HTTP/1.1");
    for request in arrived {
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("authorization"), None);
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body["auth"]["key"], "test_0123456789");
    }
}

#[tokio::test]
async fn a_client_secret_in_the_body_and_a_client_id_alone() {
    for (auth, form) in [
        (
            "kind = \"oauth2_client_credentials\"\nclient_id = \"me\"\nclient_secret = \"secret:k\"\nsend = \"body\"\nscope = \"s\"",
            "grant_type=client_credentials&client_id=me&client_secret=test_0123456789&scope=s",
        ),
        (
            "kind = \"token_form\"\nclient_id = \"secret:k\"",
            "client_id=test_0123456789",
        ),
    ] {
        let server = Server::start(vec![token("tok1", 3600), ok(r#"{"status":1}"#)]).await;
        let text = steps_text(server.port).replace(
            "kind = \"oauth2_client_credentials\"\nclient_id = \"me\"\nclient_secret = \"secret:client\"\nscope = \"send\"",
            auth,
        );
        assert!(text.contains(auth));
        let drivers = build(&text);
        letters(&drivers).look_up(&external_id("a")).await;
        let first = server.arrived().remove(0);
        assert_eq!(String::from_utf8_lossy(&first.body), form);
        assert_eq!(first.header("authorization"), None);
    }
}

#[test]
fn a_secret_of_a_body_is_checked_when_drivers_are_built() {
    let text = include_str!("common/in_body.toml").replace("PORT", "9");
    let give = |name: &sendtrail_core::settings::SecretRef| {
        (name.name() != "key").then(|| secrecy::SecretString::from("x"))
    };
    let timeouts = Timeouts {
        connect: SignedDuration::from_secs(1),
        ..Timeouts::default()
    };
    let built = Drivers::build(common::load_one(&text), give, tls(), timeouts);
    let error = built.unwrap_err().to_string();
    assert_eq!(error, "driver letters: the secret key is not known");
}
