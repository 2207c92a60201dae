//! Every hostile server in one table, with and without TLS: never more than one whole POST, and the outcome is the
//! table's.

mod common;

use std::time::Duration;

use common::h2_server::{H2Server, REPLIES, goaway, reset_stream};
use common::outcome::{LITTLE, PLENTY, not_sent, submit_with, unknown};
use common::wire::Identity;
use common::{Act, Server, build, build_with, file_text, json, letters, order, tls, tls_with};
use sendtrail_core::ports::{Failure, LookUp as _, LookUpAnswer, Submit as _, SubmitOutcome};
use sendtrail_sendapi::Drivers;

/// What the submit must become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Accepted,
    Rejected,
    NotSent,
    Unknown,
}

fn kind(outcome: &SubmitOutcome) -> Expected {
    match outcome {
        SubmitOutcome::Accepted { .. } => Expected::Accepted,
        SubmitOutcome::Rejected(_) => Expected::Rejected,
        SubmitOutcome::NotSent(_) => Expected::NotSent,
        SubmitOutcome::Unknown(_) => Expected::Unknown,
    }
}

/// One server: its name, what it does, how many whole POSTs it can see, and the outcome.
type Row = (&'static str, Act, usize, Expected);

const ID: &str = r#"{"id":"ltr_1"}"#;

fn answer(status: &str, headers: &str, body: &str) -> Act {
    Act::Answer(json(status, headers, body))
}

fn raw(text: &[u8]) -> Act {
    Act::Answer(text.to_vec())
}

fn pieces(bytes: &[u8], size: usize) -> Act {
    let pieces = bytes.chunks(size).map(<[u8]>::to_vec).collect();
    Act::Pieces(pieces, Duration::from_millis(5))
}

fn breaks() -> Vec<Row> {
    use Expected::Unknown;
    vec![
        ("reset before reading", Act::ResetUnread, 0, Unknown),
        ("reset half-way", Act::ResetHalfway, 0, Unknown),
        ("reset after reading", Act::Reset, 1, Unknown),
        ("closed without answer", Act::Close, 1, Unknown),
        ("no answer in time", Act::Hang, 1, Unknown),
        ("half a status line", raw(b"HTTP/1.1 2"), 1, Unknown),
        ("half the headers", raw(b"HTTP/1.1 200 OK\r\ncontent-le"), 1, Unknown),
        ("garbage", raw(b"\x00\xff\x16\x03 what?\r\n\r\n"), 1, Unknown),
        ("an HTTP/0.9 body", raw(b"{\"id\":\"ltr_1\"}"), 1, Unknown),
        ("GOAWAY that denies", raw(&goaway(0, 0)), 1, Unknown),
        ("GOAWAY that admits", raw(&goaway(1, 0)), 1, Unknown),
        ("REFUSED_STREAM", raw(&reset_stream(1, 7)), 1, Unknown),
        (
            "two lengths",
            raw(b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\ncontent-length: 3\r\n\r\n{\"id\":\"ltr_1\"}"),
            1,
            Unknown,
        ),
        (
            "100 and no more",
            raw(b"HTTP/1.1 100 Continue\r\n\r\n"),
            1,
            Unknown,
        ),
        (
            "101 to HTTP/2",
            raw(b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"),
            1,
            Unknown,
        ),
    ]
}

fn bodies() -> Vec<Row> {
    use Expected::{Accepted, Unknown};
    let whole = json("200 OK", "", ID);
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let with = |tail: &[u8]| Act::Answer([&chunked, tail].concat());
    let large = format!(r#"{{"id":"ltr_1","x":"{}"}}"#, "y".repeat(70_000));
    vec![
        ("in single bytes", pieces(&whole, 1), 1, Accepted),
        ("in chunks", with(b"5\r\n{\"id\"\r\n9\r\n:\"ltr_1\"}\r\n0\r\n\r\n"), 1, Accepted),
        (
            "after 100 and 103",
            raw(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{\"id\":\"ltr_1\"}"),
            1,
            Accepted,
        ),
        ("cut", raw(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"id\":\"ltr_1\"}"), 1, Unknown),
        ("a length too short", raw(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{\"id\":\"ltr_1\"}"), 1, Unknown),
        ("a chunk cut", with(b"E\r\n{\"id\":\"lt"), 1, Unknown),
        ("no last chunk", with(b"E\r\n{\"id\":\"ltr_1\"}\r\n"), 1, Unknown),
        ("a chunk of no size", with(b"xyz\r\n{\"id\":\"ltr_1\"}\r\n0\r\n\r\n"), 1, Unknown),
        ("too large", answer("200 OK", "", &large), 1, Unknown),
        ("no JSON", answer("200 OK", "", "<html>ok</html>"), 1, Unknown),
        ("empty", answer("200 OK", "", ""), 1, Unknown),
        ("no id", answer("200 OK", "", r#"{"object":"letter"}"#), 1, Unknown),
        ("an id that is none", answer("200 OK", "", r#"{"id":{"a":1}}"#), 1, Unknown),
        ("compressed unasked", answer("200 OK", "content-encoding: gzip\r\n", "\x1f\u{8b}"), 1, Unknown),
        ("204", raw(b"HTTP/1.1 204 No Content\r\n\r\n"), 1, Unknown),
    ]
}

fn statuses() -> Vec<Row> {
    use Expected::{NotSent, Rejected, Unknown};
    let to = "location: /v1/elsewhere\r\n";
    let again = "retry-after: 0\r\n";
    vec![
        ("301", answer("301 Moved", to, ID), 1, Unknown),
        ("302", answer("302 Found", to, ID), 1, Unknown),
        ("303", answer("303 See", to, ID), 1, Unknown),
        ("307", answer("307 There", to, ID), 1, Unknown),
        ("308", answer("308 There", to, ID), 1, Unknown),
        ("400", answer("400 Bad", "", "{}"), 1, Rejected),
        (
            "401",
            answer("401 Who", "www-authenticate: Basic\r\n", "{}"),
            1,
            Rejected,
        ),
        ("403", answer("403 No", "", "{}"), 1, Rejected),
        ("407", answer("407 Proxy", "", "{}"), 1, Unknown),
        ("408", answer("408 Slow", again, "{}"), 1, Unknown),
        ("409", answer("409 Conflict", again, "{}"), 1, Unknown),
        ("413", answer("413 Large", again, "{}"), 1, Rejected),
        ("421", answer("421 Misdirected", "", "{}"), 1, Unknown),
        ("422", answer("422 Unfit", "", "{}"), 1, Rejected),
        ("423", answer("423 Locked", "", "{}"), 1, Unknown),
        ("425", answer("425 Early", again, "{}"), 1, Unknown),
        ("429", answer("429 Many", again, "{}"), 1, NotSent),
        ("500", answer("500 Oops", "", ID), 1, Unknown),
        ("501", answer("501 None", "", "{}"), 1, Unknown),
        ("502", answer("502 Gate", again, "{}"), 1, Unknown),
        ("503", answer("503 Busy", again, "{}"), 1, Unknown),
        ("504", answer("504 Gate", again, "{}"), 1, Unknown),
        ("599", answer("599 Odd", "", ID), 1, Unknown),
        ("999", answer("999 Odd", "", ID), 1, Unknown),
        ("202", answer("202 Later", "", ID), 1, Unknown),
        (
            "201 of an unlisted kind",
            answer("201 Made", "", ID),
            1,
            Unknown,
        ),
    ]
}

/// Runs every row against one way to connect.
async fn run(rows: Vec<Row>, identity: Option<&Identity>) {
    for (name, act, most, expected) in rows {
        let server = match identity {
            None => Server::start(vec![act]).await,
            Some(identity) => Server::start_tls(vec![act], identity).await,
        };
        let drivers = drivers(server.port, identity);
        let outcome = submit_with(&drivers, LITTLE).await;
        let name = format!("{name}, TLS {}", identity.is_some());
        assert_eq!(kind(&outcome), expected, "{name}: {outcome:?}");
        assert_eq!(server.connections(), 1, "{name}");
        assert!(server.posts() <= most, "{name}: {} POSTs", server.posts());
        if expected == Expected::Accepted {
            assert_eq!(server.posts(), 1, "{name}");
        }
    }
}

fn drivers(port: u16, identity: Option<&Identity>) -> Drivers {
    let text = file_text(port);
    match identity {
        None => build(&text),
        Some(identity) => build_with(
            &text.replace("http://", "https://"),
            tls_with(identity.roots()),
        ),
    }
}

#[tokio::test]
async fn connections_that_break() {
    run(breaks(), None).await;
    run(breaks(), Some(&Identity::new())).await;
}

#[tokio::test]
async fn bodies_that_lie() {
    run(bodies(), None).await;
    run(bodies(), Some(&Identity::new())).await;
}

#[tokio::test]
async fn a_body_without_a_length_ends_with_the_connection_only_where_nobody_could_cut_it() {
    let open_end = || raw(b"HTTP/1.1 200 OK\r\n\r\n{\"id\":\"ltr_1\"}");
    run(vec![("open end", open_end(), 1, Expected::Accepted)], None).await;
    // The server closes without saying so in TLS: anybody on the way could have cut it.
    let cut = vec![("open end", open_end(), 1, Expected::Unknown)];
    run(cut, Some(&Identity::new())).await;
}

#[tokio::test]
async fn statuses_of_all_kinds() {
    run(statuses(), None).await;
    run(statuses(), Some(&Identity::new())).await;
}

#[tokio::test]
async fn an_http_2_server_never_gets_a_post_twice() {
    let identity = Identity::new();
    for reply in REPLIES {
        // In the clear: it answers our request with frames.
        let server = H2Server::start(reply, None).await;
        let outcome = submit_with(&drivers(server.port, None), PLENTY).await;
        unknown(outcome, "reset");
        assert_eq!(server.posts(), 0);
        // It insists on HTTP/2 in the handshake: no connection is made, so nothing was sent.
        let server = H2Server::start(reply, Some(identity.acceptor(&["h2"]))).await;
        let outcome = submit_with(&drivers(server.port, Some(&identity)), PLENTY).await;
        not_sent(outcome, "connect");
        assert_eq!(server.posts(), 0);
        // It speaks HTTP/2 without having agreed on it.
        let server = H2Server::start(reply, Some(identity.acceptor(&[]))).await;
        let outcome = submit_with(&drivers(server.port, Some(&identity)), PLENTY).await;
        unknown(outcome, "reset");
        assert_eq!(server.posts(), 0);
    }
}

#[tokio::test]
async fn a_certificate_nobody_vouches_for_is_not_sent() {
    let identity = Identity::new();
    let server = Server::start_tls(vec![answer("200 OK", "", ID)], &identity).await;
    let text = file_text(server.port).replace("http://", "https://");
    let outcome = submit_with(&build_with(&text, tls()), PLENTY).await;
    not_sent(outcome, "connect");
    let other = tls_with(Identity::new().roots());
    not_sent(
        submit_with(&build_with(&text, other), PLENTY).await,
        "connect",
    );
    assert_eq!(server.posts(), 0);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_not_sent() {
    // Too long a label for any resolver, so that no name server is asked.
    let host = format!("{}.invalid", "a".repeat(70));
    let text = file_text(9)
        .replace("http://127.0.0.1:9", &format!("https://{host}"))
        .replace("\"127.0.0.1\"", &format!("\"{host}\""));
    not_sent(submit_with(&build(&text), PLENTY).await, "connect");
}

#[tokio::test]
async fn a_connection_left_idle_is_never_used_for_a_submit() {
    let keep = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: keep-alive\r\n\r\n{ID}",
        ID.len()
    );
    let closed = Act::Answer(keep.clone().into_bytes());
    let open = Act::Pieces(vec![keep.into_bytes()], Duration::from_secs(30));
    for act in [closed, open] {
        let server = Server::start(vec![act]).await;
        let drivers = build(&file_text(server.port));
        for _ in 0..5 {
            let outcome = submit_with(&drivers, PLENTY).await;
            assert!(
                matches!(outcome, SubmitOutcome::Accepted { .. }),
                "{outcome:?}"
            );
        }
        assert_eq!((server.connections(), server.posts()), (5, 5));
    }
}

#[tokio::test]
async fn a_look_up_on_a_connection_gone_dead_is_an_answer_or_asked_again_later() {
    let keep = b"HTTP/1.1 200 OK\r\ncontent-length: 22\r\nconnection: keep-alive\r\n\r\n{\"status\":\"processed\"}";
    let server = Server::start(vec![Act::Answer(keep.to_vec())]).await;
    let drivers = build(&file_text(server.port));
    for _ in 0..20 {
        let answer = letters(&drivers).look_up(&common::external_id("a")).await;
        assert!(
            matches!(
                answer,
                LookUpAnswer::Pending {
                    recognised: true,
                    ..
                } | LookUpAnswer::Failed(Failure::Transient(_))
            ),
            "{answer:?}"
        );
    }
    assert!(server.arrived().len() <= 20);
}

#[tokio::test]
async fn steps_before_the_commit_use_no_kept_connection_either() {
    let keep = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\n{}".to_vec();
    let open = Act::Pieces(vec![keep], Duration::from_secs(30));
    let server = Server::start(vec![open]).await;
    let two_steps = file_text(server.port).replacen(
        "[[step]]",
        "[[step]]\nname = \"look\"\nmethod = \"GET\"\npath = \"/look\"\naccept = [200]\n[[step]]",
        1,
    );
    let drivers = build(&two_steps);
    for _ in 0..5 {
        letters(&drivers).prepare(&order()).await.unwrap();
    }
    assert_eq!((server.connections(), server.posts()), (5, 0));
}
