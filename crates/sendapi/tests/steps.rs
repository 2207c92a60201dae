//! Steps before the commit: what is sent where, and what a failure is.

mod common;

use std::time::{Duration, Instant};

use common::outcome::{LITTLE, PLENTY, unknown};
use common::steps::{ok, prepare, steps_text, token};
use common::{Act, Arrived, Server, build, external_id, json, letters, order};
use sendtrail_core::ports::{FindAnswer, LookUp as _, Submit as _, SubmitOutcome};
use sendtrail_sendapi::Driver;

/// An API whose n-th connection answers the n-th step, and the place to upload to.
async fn api(upload: &Server, rest: Vec<Act>) -> Server {
    let url = format!(
        r#"{{"url":"http://127.0.0.1:{}/up/1?X-Sig=a%2Fb"}}"#,
        upload.port
    );
    let mut acts = vec![token("tok1", 3600), ok(&url)];
    acts.extend(rest);
    Server::start(acts).await
}

async fn upload() -> Server {
    Server::start(vec![Act::Answer(json("201 Created", "", "{}"))]).await
}

fn draft() -> Act {
    Act::Answer(json("201 Created", "", r#"{"id":"d/1"}"#))
}

#[tokio::test]
async fn steps_run_in_order_and_credentials_go_to_the_base_only() {
    let up = upload().await;
    let commit = Act::Answer(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
    let server = api(&up, vec![draft(), commit]).await;
    let drivers = build(&steps_text(server.port));
    let prepared = prepare(&drivers).await.unwrap();
    assert_eq!(Driver::draft_id(&prepared), Some("d/1"));
    assert!(!format!("{prepared:?}").contains("tok1"));
    let before = server.arrived();
    let heads: Vec<_> = before.iter().map(Arrived::line).collect();
    assert_eq!(
        heads,
        [
            "POST /token HTTP/1.1",
            "GET /v1/upload HTTP/1.1",
            "POST /v1/documents HTTP/1.1"
        ]
    );
    assert_eq!(
        before[0].header("authorization"),
        Some("Basic bWU6dGVzdF8wMTIzNDU2Nzg5")
    );
    assert_eq!(before[0].body, b"grant_type=client_credentials&scope=send");
    for step in &before[1..] {
        assert_eq!(step.header("authorization"), Some("Bearer tok1"));
        assert_eq!(step.header("x-version"), Some("2026-01"));
        assert_eq!(step.header("idempotency-key"), None);
    }
    let form = "application/x-www-form-urlencoded";
    assert_eq!(before[2].header("content-type"), Some(form));
    assert_eq!(
        before[2].body,
        format!("note={}&tag=t1", common::reference()).as_bytes()
    );

    let put = up.arrived().remove(0);
    assert_eq!(put.line(), "PUT /up/1?X-Sig=a%2Fb HTTP/1.1");
    assert_eq!(put.body, order().document);
    assert_eq!(put.header("content-type"), Some("application/pdf"));
    assert_eq!(put.header("x-kind"), Some("letter"));
    for name in ["authorization", "x-version", "idempotency-key"] {
        assert_eq!(put.header(name), None, "{name}");
    }

    let outcome = letters(&drivers).submit(&order(), prepared, PLENTY).await;
    let SubmitOutcome::Accepted { external_id, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(external_id.as_str(), "d/1");
    let commit = server.arrived().remove(3);
    assert_eq!(commit.line(), "POST /v1/documents/d%2F1/send HTTP/1.1");
    assert_eq!(commit.header("content-length"), Some("0"));
    assert_eq!(commit.header("content-type"), None);
    let key = common::reference().to_string();
    assert_eq!(commit.header("idempotency-key"), Some(key.as_str()));
}

#[tokio::test]
async fn what_a_step_answers_wrongly_is_not_sent_and_nothing_follows_it() {
    for (act, status, detail) in [
        (
            Act::Answer(json("200 OK", "", r#"{"id":"d"}"#)),
            Some(200),
            "step create: HTTP 200",
        ),
        (
            Act::Answer(json("307 There", "location: /v1/x\r\n", "{}")),
            Some(307),
            "step create: HTTP 307",
        ),
        (
            Act::Answer(json("500 Oops", "", "{}")),
            Some(500),
            "step create: HTTP 500",
        ),
        (
            Act::Answer(json("422 Unfit", "", r#"{"error":"bad_note"}"#)),
            Some(422),
            "step create: bad_note",
        ),
        (
            Act::Answer(json("201 Created", "", r#"{"other":1}"#)),
            Some(201),
            "step create: the answer has no doc",
        ),
        (
            Act::Answer(json("201 Created", "", "<html>")),
            Some(201),
            "step create: the answer has no doc",
        ),
        (
            Act::Answer(json("201 Created", "", "{\"id\":\"a\\nb\"}")),
            Some(201),
            "step create: the answer has no doc",
        ),
        (
            Act::Answer(json("201 Created", "", r#"{"id":"=1+1"}"#)),
            None,
            "the draft's id is unusable",
        ),
        (Act::Close, None, "step create: reset: "),
        (Act::Reset, None, "step create: reset: "),
    ] {
        let up = upload().await;
        let server = api(&up, vec![act.clone(), Act::Hang]).await;
        let drivers = build(&steps_text(server.port));
        let proof = prepare(&drivers).await.expect_err(detail);
        assert_eq!(
            (proof.evidence.class.as_str(), proof.evidence.status),
            ("step", status)
        );
        assert!(proof.evidence.detail.starts_with(detail), "{proof:?}");
        assert_eq!(server.connections(), 3, "{act:?}");
    }
}

#[tokio::test]
async fn a_limit_on_a_step_carries_the_wait() {
    let up = upload().await;
    let limited = Act::Answer(json("429 Slow", "retry-after: 12\r\n", "{}"));
    let server = api(&up, vec![limited]).await;
    let proof = prepare(&build(&steps_text(server.port))).await.unwrap_err();
    assert_eq!(proof.retry_after.map(|wait| wait.as_secs()), Some(12));
}

#[tokio::test]
async fn an_address_on_another_host_is_never_called() {
    for url in [
        "https://evil.example.org/up",
        "http://localhost:PORT/up",
        "http://user:pw@127.0.0.1:PORT/up",
        "ftp://127.0.0.1:PORT/up",
        "/up",
        "",
    ] {
        let up = upload().await;
        let url = url.replace("PORT", &up.port.to_string());
        let first = ok(&format!(r#"{{"url":"{url}"}}"#));
        let server = Server::start(vec![token("tok1", 3600), first, Act::Hang]).await;
        let proof = prepare(&build(&steps_text(server.port))).await.unwrap_err();
        assert_eq!(proof.evidence.class, "step", "{url}");
        assert_eq!((server.connections(), up.connections()), (2, 0), "{url}");
    }
}

#[tokio::test]
async fn steps_are_bounded_by_half_of_the_submit_time() {
    let up = upload().await;
    let server = api(&up, vec![Act::Hang]).await;
    let begun = Instant::now();
    let proof = prepare(&build(&steps_text(server.port))).await.unwrap_err();
    assert_eq!(
        proof.evidence.detail,
        "step create: timeout: operation timed out"
    );
    // The common time-out of a submit is 6 s.
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn an_input_that_does_not_fit_calls_nobody() {
    let server = Server::start(vec![Act::Hang]).await;
    let text = steps_text(server.port).replace("tag = \"{{tag}}\"", "tag = \"{{to.missing}}\"");
    let proof = prepare(&build(&text)).await.unwrap_err();
    assert_eq!(
        proof.evidence.detail,
        "to.missing is missing from the input"
    );
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_commit_of_steps_is_classified_like_any_other() {
    for (act, class) in [
        (Act::Close, "reset"),
        (Act::Answer(json("500 Oops", "", "{}")), "status"),
        (Act::Answer(json("202 Later", "", "{}")), "status"),
        (
            Act::Answer(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()),
            "unreadable",
        ),
    ] {
        let up = upload().await;
        let server = api(&up, vec![draft(), act]).await;
        let drivers = build(&steps_text(server.port));
        let prepared = prepare(&drivers).await.unwrap();
        unknown(
            letters(&drivers).submit(&order(), prepared, LITTLE).await,
            class,
        );
        let sends = server.arrived();
        let sends = sends.iter().filter(|one| one.line().contains("/send "));
        assert_eq!(sends.count(), 1);
    }
}

#[tokio::test]
async fn a_draft_is_read_back_with_a_token() {
    let server = Server::start(vec![token("tok1", 3600), ok(r#"{"status":1}"#)]).await;
    let drivers = build(&steps_text(server.port));
    let found = letters(&drivers)
        .find(&common::reference(), Some("d/1"))
        .await;
    assert_eq!(found, FindAnswer::One(external_id("d/1")));
    let arrived = server.arrived();
    assert_eq!(arrived[1].line(), "GET /v1/documents/d%2F1 HTTP/1.1");
    assert_eq!(arrived[1].header("authorization"), Some("Bearer tok1"));
}
