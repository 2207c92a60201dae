//! What is made of a network that lies, for every kind of call: the verdict, and what must not happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::{CrmName, HistoryId, Revision};
use sendtrail_core::ports::{
    CreateReply, DocumentChange, GuardedWrite as _, ListHistory as _, ListQuery, ListStart,
    ReadHistory as _, SourceFile, SourceFiles as _, StoreDocument as _, StoreError, Write,
    WriteReply,
};
use sendtrail_zoho::{NoTokenCache, Zoho};
use tokio::net::TcpListener;

use crate::fake::{Fake, TOKEN, json, token};
use crate::hostile_server::{Act, Hostile, Prey, http};
use crate::{config, zoho, zoho_with};

const DONE: &str = r#"{"data":[{"code":"SUCCESS","details":{"id":"7"},"status":"success"}]}"#;
const ROW: &str = r#"{"data":[{"id":"7","Modified_Time":"2026-01-01T00:00:00+00:00"}]}"#;

/// What is to be made of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It worked.
    Fine,
    /// It may work later; a write may have been applied.
    Transient,
    /// Unreadable; a write may have been applied.
    Malformed,
    /// Nothing was done: limited.
    Limited,
    /// Nothing was done: refused.
    Refused,
    /// Nothing was done: the credentials are refused.
    Unauthorized,
}

/// Every act with what it gives; `body` is the right answer.
fn acts(body: &'static str) -> Vec<(&'static str, Act, Verdict)> {
    use Verdict::{Fine, Limited, Malformed, Refused, Transient, Unauthorized};
    let whole = http(200, "", body);
    let cut = whole[..whole.len() - 10].to_vec();
    let shorter = format!(
        "HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n{body}",
        body.len() - 5
    );
    let bytes = |text: &str| Act::Bytes(text.as_bytes().to_vec());
    let answer = |status, headers: &str, body: &str| Act::Bytes(http(status, headers, body));
    let huge = "x".repeat(41 * 1024 * 1024);
    let mut acts = vec![
        ("reset unread", Act::ResetUnread, Transient),
        ("reset half read", Act::ResetHalfRead, Transient),
        ("reset after reading", Act::ResetRead, Transient),
        ("closed after reading", Act::Close, Transient),
        ("nothing", Act::Silence, Transient),
        ("an answer without end", Act::Drip, Transient),
        ("an answer in pieces", Act::Pieces(whole, 7), Fine),
        ("a cut answer", Act::Bytes(cut), Transient),
        ("a length that is too short", bytes(&shorter), Malformed),
        ("garbage", bytes("\u{0}\u{1}garbage\r\n\r\n"), Transient),
        ("another protocol", bytes("SSH-2.0-x\r\n"), Transient),
        (
            "half a head",
            bytes("HTTP/1.1 200 X\r\ncontent-le"),
            Transient,
        ),
        ("an empty 200", answer(200, "", ""), Malformed),
        (
            "a page",
            answer(200, "content-type: text/html\r\n", "<html>"),
            Malformed,
        ),
        (
            "half of the JSON",
            answer(200, "", &body[..body.len() / 2]),
            Malformed,
        ),
        (
            "the right body of another type",
            answer(200, "content-type: text/html\r\n", body),
            Fine,
        ),
        ("a hint before the answer", bytes(&early(body)), Fine),
        ("an endless body", answer(200, "", &huge), Malformed),
        ("an endless error", answer(500, "", &huge), Transient),
        ("408", answer(408, "", ""), Transient),
        ("413", answer(413, "", ""), Refused),
        ("425", answer(425, "", ""), Refused),
        ("429", answer(429, "retry-after: 7\r\n", "<html>"), Limited),
        ("403 of a proxy", answer(403, "", "<html>"), Unauthorized),
    ];
    for status in [500, 501, 502, 503, 504, 599] {
        acts.push(("a server error", answer(status, "", "<html>"), Transient));
    }
    for status in [301, 302, 303, 307, 308] {
        let location = "location: /crm/v8/Send_Histories/8\r\n";
        acts.push(("a redirect", answer(status, location, ""), Malformed));
    }
    acts
}

fn early(body: &str) -> String {
    let answer = String::from_utf8(http(200, "", body)).unwrap();
    format!("HTTP/1.1 103 Early\r\nlink: </x>\r\n\r\n{answer}")
}

/// How many whole requests arrive: one, unless the connection ends before.
fn arrives(what: &str) -> usize {
    usize::from(!["reset unread", "reset half read"].contains(&what))
}

fn id() -> HistoryId {
    HistoryId::parse("7").unwrap()
}

async fn write(zoho: &Zoho) -> WriteReply {
    let write = Write {
        state: None,
        progress: "{}".into(),
        next_check_at: None,
        deadline: None,
        external_id: None,
        document_sha256: None,
        input: None,
        document: DocumentChange::Keep,
        notify: false,
    };
    let revision = Revision::parse("2026-01-01T00:00:00+00:00").unwrap();
    zoho.write(&id(), &revision, &write).await
}

fn kind(error: &StoreError) -> Verdict {
    match error {
        StoreError::Transient { .. } => Verdict::Transient,
        StoreError::Malformed { .. } | StoreError::TooLarge { .. } => Verdict::Malformed,
        StoreError::RateLimited { .. } | StoreError::TokenThrottled => Verdict::Limited,
        StoreError::Refused { .. } | StoreError::NotFound => Verdict::Refused,
        StoreError::Unauthorized { .. } => Verdict::Unauthorized,
    }
}

fn of_result<T>(result: &Result<T, StoreError>) -> Verdict {
    result.as_ref().map_or_else(kind, |_| Verdict::Fine)
}

/// Nothing that is secret, and no address, is in what is told.
fn assert_harmless(told: &str, what: &str) {
    for secret in ["127.0.0.1", "1000.", "local-client-secret", "crm/v8"] {
        assert!(!told.contains(secret), "{what}: {secret} in {told}");
    }
}

#[tokio::test]
async fn a_write_is_unknown_unless_it_is_proved_and_is_never_sent_twice() {
    for (what, act, expected) in acts(DONE) {
        let server = Hostile::start(Prey::AfterTheProbe, act).await;
        let zoho = zoho(&server.url);
        let reply = write(&zoho).await;
        let found = match &reply {
            WriteReply::Applied => Verdict::Fine,
            WriteReply::Conflict => panic!("{what}: a conflict"),
            WriteReply::NotApplied(error) => {
                let proved = [Verdict::Limited, Verdict::Refused, Verdict::Unauthorized];
                assert!(proved.contains(&kind(error)), "{what}: {error:?}");
                kind(error)
            }
            WriteReply::Unknown(error) => {
                let open = [Verdict::Transient, Verdict::Malformed];
                assert!(open.contains(&kind(error)), "{what}: {error:?}");
                kind(error)
            }
        };
        assert_eq!(found, expected, "{what}: {reply:?}");
        assert_eq!(server.whole().len(), arrives(what), "{what}");
        assert_eq!(server.tokens(), 1, "{what}");
        assert_harmless(&format!("{reply:?}"), what);
    }
}

#[tokio::test]
async fn a_create_is_unknown_unless_it_is_proved_and_is_never_sent_twice() {
    for (what, act, expected) in acts(DONE) {
        let server = Hostile::start(Prey::Api, act).await;
        let reply = crate::writes::create(&zoho(&server.url)).await;
        let found = match &reply {
            CreateReply::Created(_) => Verdict::Fine,
            CreateReply::Exists => panic!("{what}: exists"),
            CreateReply::NotCreated(error) | CreateReply::Unknown(error) => kind(error),
        };
        assert_eq!(found, expected, "{what}: {reply:?}");
        let is_open = matches!(expected, Verdict::Transient | Verdict::Malformed);
        assert_eq!(is_open, matches!(reply, CreateReply::Unknown(_)), "{what}");
        assert_eq!(server.whole().len(), arrives(what), "{what}");
        assert_eq!(server.tokens(), 1, "{what}");
        assert_harmless(&format!("{reply:?}"), what);
    }
}

#[tokio::test]
async fn a_read_fails_by_its_kind_and_asks_once() {
    for (what, act, expected) in acts(ROW) {
        let server = Hostile::start(Prey::Api, act).await;
        let zoho = zoho(&server.url);
        let read = zoho.read(&id()).await;
        assert_eq!(of_result(&read), expected, "{what}: {read:?}");
        assert_eq!(server.whole().len(), arrives(what), "{what}");
        assert_eq!(server.tokens(), 1, "{what}");
        assert_harmless(&format!("{:?}", read.err()), what);
    }
}

#[tokio::test]
async fn a_list_fails_by_its_kind_and_a_cut_one_is_no_shorter_list() {
    for (what, act, expected) in acts(ROW) {
        let server = Hostile::start(Prey::Api, act).await;
        let query = ListQuery {
            now: Timestamp::UNIX_EPOCH,
            limit: 10,
            start: ListStart::First,
        };
        let page = zoho(&server.url).list_due(&query).await;
        assert_eq!(of_result(&page), expected, "{what}: {page:?}");
        assert_eq!(server.whole().len(), arrives(what), "{what}");
        assert_eq!(server.tokens(), 1, "{what}");
    }
}

#[tokio::test]
async fn an_upload_fails_by_its_kind_and_is_sent_once() {
    for (what, act, expected) in acts(DONE) {
        if matches!(act, Act::Silence | Act::Drip) {
            // A file has three times the time.
            continue;
        }
        let server = Hostile::start(Prey::Api, act).await;
        let file = zoho(&server.url)
            .upload("a.pdf", Bytes::from_static(b"%PDF-1"))
            .await;
        assert_eq!(of_result(&file), expected, "{what}: {file:?}");
        assert_eq!(server.whole().len(), arrives(what), "{what}");
    }
}

#[tokio::test]
async fn a_file_that_is_cut_or_replaced_by_an_error_is_no_file() {
    let name = |text: &str| CrmName::parse(text).unwrap();
    let file = async |act: Act| {
        let server = Hostile::start(Prey::Api, act).await;
        let attachment = SourceFile::Attachment(name("4"));
        let zoho = zoho(&server.url);
        zoho.source_file(&name("Deals"), &name("9"), &attachment, 99)
            .await
    };
    let pdf = http(200, "", "%PDF-1.7 whole");
    let whole = file(Act::Pieces(pdf.clone(), 3)).await;
    assert_eq!(whole, Ok(Bytes::from_static(b"%PDF-1.7 whole")));
    let unsized_cut = b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n5\r\n%PDF-\r\n";
    for act in [
        Act::Bytes(pdf[..pdf.len() - 3].to_vec()),
        Act::Bytes(unsized_cut.to_vec()),
        Act::ResetRead,
        Act::Close,
        Act::Bytes(http(503, "", "%PDF-1.7 whole")),
    ] {
        let cut = file(act.clone()).await;
        assert_eq!(of_result(&cut), Verdict::Transient, "{act:?}: {cut:?}");
    }
    let error = r#"{"code":"NO_PERMISSION","details":{},"status":"error"}"#;
    let refused = file(Act::Bytes(http(200, "", error))).await;
    assert_eq!(of_result(&refused), Verdict::Unauthorized);
}

#[tokio::test]
async fn a_token_endpoint_that_lies_writes_nothing_and_is_not_stormed() {
    for (what, act, expected) in acts(r#"{"access_token":"1000.x","expires_in":3600}"#) {
        if expected == Verdict::Fine {
            continue;
        }
        let api = Fake::answering(json(500, "")).await;
        let accounts = Hostile::start(Prey::All, act).await;
        let mut config = config(&api.url);
        config.accounts_url = accounts.url.parse().unwrap();
        let zoho = zoho_with(&config, Box::new(NoTokenCache));
        for _ in 0..2 {
            let reply = write(&zoho).await;
            let WriteReply::NotApplied(error) = &reply else {
                panic!("{what}: {reply:?}");
            };
            assert_harmless(&error.to_string(), what);
        }
        assert!(api.all().is_empty(), "{what}");
        // One for each write: nothing is asked for again by itself.
        assert!(accounts.connections() <= 2, "{what}");
    }
}

/// Reads and writes with this API address.
async fn elsewhere(api_url: &str) -> (Result<(), StoreError>, WriteReply, usize) {
    let accounts = Fake::answering(json(500, "")).await;
    let mut config = config(&accounts.url);
    config.api_url = api_url.parse().unwrap();
    let zoho = zoho_with(&config, Box::new(NoTokenCache));
    let read = zoho.read(&id()).await.map(drop);
    let reply = write(&zoho).await;
    assert!(accounts.calls().is_empty());
    (read, reply, accounts.tokens())
}

#[tokio::test]
async fn a_connection_that_never_was_is_proof_for_refusal_name_and_tls_alike() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    // A label of more than 63 letters has no address, whoever is asked.
    let nameless = format!("https://{}.invalid", "a".repeat(64));
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_tls = format!("https://{}", silent.local_addr().unwrap());
    let plain = Fake::answering(json(200, "")).await;
    let no_tls = plain.url.replace("http://", "https://");
    for (what, url) in [
        ("refused", refused),
        ("no such name", nameless),
        ("a TLS handshake without end", silent_tls),
        ("no TLS there", no_tls),
    ] {
        let (read, reply, tokens) = elsewhere(&url).await;
        assert_eq!(of_result(&read), Verdict::Transient, "{what}: {read:?}");
        let WriteReply::NotApplied(error) = &reply else {
            panic!("{what}: {reply:?}");
        };
        assert_eq!(kind(error), Verdict::Transient, "{what}: {error:?}");
        assert_harmless(&format!("{read:?} {reply:?}"), what);
        assert_eq!(tokens, 1, "{what}");
    }
}

/// A CRM that answers the first request on each connection and then does this to the connection.
async fn pooled(after: fn(&tokio::net::TcpStream)) -> (String, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (Arc::clone(&connections), Arc::clone(&requests));
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counts.0.fetch_add(1, Ordering::SeqCst);
            let requests = Arc::clone(&counts.1);
            tokio::spawn(async move {
                let mut buffer = vec![0; 64 * 1024];
                let mut read = 0;
                while !buffer[..read].windows(4).any(|four| four == b"\r\n\r\n") {
                    match stream.read(&mut buffer[read..]).await {
                        Ok(0) | Err(_) => return,
                        Ok(n) => read += n,
                    }
                }
                requests.fetch_add(1, Ordering::SeqCst);
                let _ = stream.write_all(&http(200, "", ROW)).await;
                after(&stream);
                // Whatever comes next on this connection is read and not answered.
                if stream.read(&mut buffer).await.is_ok_and(|n| n > 0) {
                    requests.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    (url, connections, requests)
}

async fn client_of(api_url: &str) -> (Zoho, Fake) {
    let accounts = Fake::start(|seen, nth| match seen.path() {
        TOKEN => token(nth),
        _ => json(500, ""),
    })
    .await;
    let mut config = config(&accounts.url);
    config.api_url = api_url.parse().unwrap();
    (zoho_with(&config, Box::new(NoTokenCache)), accounts)
}

#[tokio::test]
async fn a_pooled_connection_that_dies_under_a_request_costs_that_request_and_no_second_one() {
    let (url, connections, requests) = pooled(|_| {}).await;
    let (zoho, _accounts) = client_of(&url).await;
    zoho.read(&id()).await.unwrap();
    // The second request arrives on the same connection, which is then closed.
    let second = zoho.read(&id()).await;
    assert_eq!(of_result(&second), Verdict::Transient, "{second:?}");
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    assert_eq!(requests.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn after_an_idle_gap_a_connection_is_not_used_again() {
    let (url, connections, requests) = pooled(|_| {}).await;
    let (zoho, _accounts) = client_of(&url).await;
    zoho.read(&id()).await.unwrap();
    // As long as a sandbox may be frozen between two requests, in the small.
    tokio::time::sleep(Duration::from_millis(5_500)).await;
    zoho.read(&id()).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    assert_eq!(requests.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_limit_tells_how_long_to_wait() {
    let server = Hostile::start(Prey::Api, Act::Bytes(http(429, "retry-after: 7\r\n", ""))).await;
    let read = zoho(&server.url).read(&id()).await;
    let retry_after = Some(SignedDuration::from_secs(7));
    assert_eq!(read.map(drop), Err(StoreError::RateLimited { retry_after }));
    assert_eq!(server.connections(), 2);
}
