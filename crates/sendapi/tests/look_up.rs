//! Look-ups and searches over the network.

mod common;

use std::time::Duration;

use common::{Act, Server, build, external_id, file_text, json, letters, reference};
use sendtrail_core::ports::{Failure, FindAnswer, LookUp as _, LookUpAnswer};
use tokio::net::TcpListener;

async fn look_up(act: Act) -> LookUpAnswer {
    let server = Server::start(vec![act]).await;
    let drivers = build(&file_text(server.port));
    let answer = letters(&drivers).look_up(&external_id("ltr_1")).await;
    assert!(server.connections() <= 1, "asked twice");
    answer
}

async fn find(act: Act) -> FindAnswer {
    let server = Server::start(vec![act]).await;
    let drivers = build(&file_text(server.port));
    letters(&drivers).find(&reference(), None).await
}

#[track_caller]
fn transient(answer: LookUpAnswer, class: &str) {
    let LookUpAnswer::Failed(Failure::Transient(seen)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(seen.class, class, "{seen:?}");
}

#[tokio::test]
async fn a_look_up_is_one_get_with_the_id_encoded() {
    let answer = json("200 OK", "", r#"{"status":"delivered"}"#);
    let server = Server::start(vec![Act::Answer(answer)]).await;
    let drivers = build(&file_text(server.port));
    let found = letters(&drivers).look_up(&external_id("a/../b?c#d")).await;
    assert_eq!(
        found,
        LookUpAnswer::Delivered {
            status: "delivered".into()
        }
    );
    let arrived = server.arrived();
    assert_eq!(arrived.len(), 1);
    assert!(
        arrived[0]
            .head
            .starts_with("GET /v1/letters/a%2F..%2Fb%3Fc%23d HTTP/1.1\r\n"),
        "{}",
        arrived[0].head
    );
    assert_eq!(
        arrived[0].header("authorization"),
        Some("Basic dGVzdF8wMTIzNDU2Nzg5Og==")
    );
    assert_eq!(arrived[0].header("idempotency-key"), None);
}

#[tokio::test]
async fn an_id_that_cannot_stand_in_a_path_is_not_found_and_not_asked_for() {
    let server = Server::start(vec![Act::Hang]).await;
    let drivers = build(&file_text(server.port));
    let answer = letters(&drivers).look_up(&external_id("..")).await;
    assert_eq!(answer, LookUpAnswer::NotFound);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn each_answer_has_its_meaning() {
    let pending = |status: &str, recognised| LookUpAnswer::Pending {
        status: status.into(),
        recognised,
    };
    let ok = |body: &str| Act::Answer(json("200 OK", "", body));
    assert_eq!(
        look_up(ok(r#"{"status":"processed"}"#)).await,
        pending("processed", true)
    );
    assert_eq!(
        look_up(ok(r#"{"status":"new_word"}"#)).await,
        pending("new_word", false)
    );
    assert_eq!(
        look_up(Act::Answer(json("404 No", "", "{}"))).await,
        LookUpAnswer::NotFound
    );
    for status in ["401 Who", "403 No"] {
        let answer = look_up(Act::Answer(json(status, "", "{}"))).await;
        assert!(
            matches!(answer, LookUpAnswer::Failed(Failure::Unauthorized(_))),
            "{answer:?}"
        );
    }
    let limited = look_up(Act::Answer(json("429 Slow", "retry-after: 9\r\n", "{}"))).await;
    let LookUpAnswer::Failed(Failure::RateLimited { retry_after, .. }) = limited else {
        panic!("{limited:?}");
    };
    assert_eq!(retry_after.map(|wait| wait.as_secs()), Some(9));
}

#[tokio::test]
async fn a_broken_look_up_is_transient_and_not_repeated() {
    transient(look_up(Act::Close).await, "reset");
    transient(look_up(Act::Reset).await, "reset");
    transient(look_up(Act::Hang).await, "timeout");
    transient(
        look_up(Act::Answer(json("503 Busy", "", "<html>"))).await,
        "status",
    );
    transient(
        look_up(Act::Answer(json("200 OK", "", "<html>"))).await,
        "unreadable",
    );
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec();
    transient(look_up(Act::Answer(cut)).await, "unreadable");
    let redirect = json(
        "307 There",
        "location: http://127.0.0.1:1/\r\n",
        r#"{"status":"delivered"}"#,
    );
    transient(look_up(Act::Answer(redirect)).await, "status");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let drivers = build(&file_text(port));
    transient(
        letters(&drivers).look_up(&external_id("x")).await,
        "connect",
    );
}

#[tokio::test]
async fn find_asks_by_reference_and_counts_what_is_ours() {
    let item = |id: &str| {
        format!(
            r#"{{"id":"{id}","metadata":{{"send_id":"{}"}}}}"#,
            reference()
        )
    };
    let list = |items: &str| Act::Answer(json("200 OK", "", &format!(r#"{{"data":[{items}]}}"#)));
    assert_eq!(find(list("")).await, FindAnswer::None);
    assert_eq!(
        find(list(&item("a"))).await,
        FindAnswer::One(external_id("a"))
    );
    let two = format!("{},{}", item("a"), item("b"));
    assert_eq!(
        find(list(&two)).await,
        FindAnswer::Several(vec!["a".into(), "b".into()])
    );
    assert_eq!(
        find(list(r#"{"id":"a","metadata":{}}"#)).await,
        FindAnswer::None
    );
    assert_eq!(
        find(Act::Answer(json("404 No", "", "{}"))).await,
        FindAnswer::None
    );
    for act in [
        Act::Close,
        Act::Answer(json("200 OK", "", "{}")),
        Act::Answer(json("500 No", "", "{}")),
    ] {
        let answer = find(act).await;
        assert!(
            matches!(answer, FindAnswer::Failed(Failure::Transient(_))),
            "{answer:?}"
        );
    }
    let server = Server::start(vec![list("")]).await;
    let drivers = build(&file_text(server.port));
    letters(&drivers).find(&reference(), Some("draft")).await;
    let line = format!(
        "GET /v1/letters?metadata[send_id]={}&limit=2 HTTP/1.1\r\n",
        reference()
    );
    assert!(
        server.arrived()[0].head.starts_with(&line),
        "{}",
        server.arrived()[0].head
    );
}

#[tokio::test]
async fn an_answer_in_slow_pieces_is_read() {
    let body = json("200 OK", "", r#"{"status":"delivered"}"#);
    let pieces = body.chunks(15).map(<[u8]>::to_vec).collect();
    let answer = look_up(Act::Pieces(pieces, Duration::from_millis(15))).await;
    assert!(
        matches!(answer, LookUpAnswer::Delivered { .. }),
        "{answer:?}"
    );
}
