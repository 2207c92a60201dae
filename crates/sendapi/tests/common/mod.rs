//! A raw TCP server that behaves as badly as a test wants, and counts what reaches it.

#![expect(dead_code, reason = "each test file uses a part of it")]
#![expect(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

pub(crate) mod h2_server;
pub(crate) mod outcome;
pub(crate) mod steps;
pub(crate) mod wire;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use jiff::SignedDuration;
use secrecy::SecretString;
use sendtrail_core::ids::{DriverId, ExternalId, HistoryId, Reference, Sha256Hash};
use sendtrail_core::input::Input;
use sendtrail_core::ports::Order;
use sendtrail_sendapi::{Driver, DriverFile, Drivers, Timeouts, load};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use wire::{Identity, Wire};

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Answers these bytes and closes.
    Answer(Vec<u8>),
    /// Answers these pieces with a pause between them, and closes.
    Pieces(Vec<Vec<u8>>, Duration),
    /// Closes without an answer.
    Close,
    /// Reads the request and resets the connection.
    Reset,
    /// Resets the connection before it reads anything.
    ResetUnread,
    /// Reads the head and resets the connection in the middle of the body.
    ResetHalfway,
    /// Answers these bytes once it has the head, without reading the body, and closes.
    AnswerEarly(Vec<u8>),
    /// Says these bytes before it reads anything, and closes.
    Speak(Vec<u8>),
    /// Answers nothing and keeps the connection open until the client closes it.
    Hang,
}

/// An answer with a body of JSON and an honest length.
pub(crate) fn json(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}

/// One request as it arrived, whole.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Arrived {
    /// The request line.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The running server; it ends with the test's runtime.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) port: u16,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    connections: Arc<Mutex<usize>>,
}

impl Server {
    /// Listens on a free port of the loopback. The n-th connection gets the n-th act, later ones the last.
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        Self::listen(acts, None).await
    }

    /// The same behind TLS.
    pub(crate) async fn start_tls(acts: Vec<Act>, identity: &Identity) -> Self {
        Self::listen(acts, Some(identity.acceptor(&[]))).await
    }

    async fn listen(acts: Vec<Act>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            arrived: Arc::default(),
            connections: Arc::default(),
        };
        let (arrived, connections) = (server.arrived.clone(), server.connections.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let index = {
                    let mut count = connections.lock().unwrap();
                    *count += 1;
                    *count - 1
                };
                let act = acts.get(index).or(acts.last()).cloned().unwrap();
                let (arrived, tls) = (arrived.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, act, arrived).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, act, arrived).await;
                            }
                        }
                    }
                });
            }
        });
        server
    }

    /// The complete requests that arrived.
    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    /// How many complete POSTs arrived.
    pub(crate) fn posts(&self) -> usize {
        let posts = |one: &&Arrived| one.head.starts_with("POST ");
        self.arrived().iter().filter(posts).count()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

async fn serve(mut stream: impl Wire, act: Act, arrived: Arc<Mutex<Vec<Arrived>>>) {
    match act {
        Act::ResetUnread => return stream.reset(),
        Act::Speak(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.read(&mut [0; 4096]).await;
            return;
        }
        Act::ResetHalfway => {
            read_head(&mut stream).await;
            return stream.reset();
        }
        Act::AnswerEarly(bytes) => {
            read_head(&mut stream).await;
            let _ = stream.write_all(&bytes).await;
            return;
        }
        Act::Answer(_) | Act::Pieces(..) | Act::Close | Act::Reset | Act::Hang => {}
    }
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    arrived.lock().unwrap().push(request);
    match act {
        Act::Answer(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.flush().await;
        }
        Act::Pieces(pieces, pause) => {
            for piece in pieces {
                if stream.write_all(&piece).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
                tokio::time::sleep(pause).await;
            }
        }
        Act::Reset => stream.reset(),
        Act::Hang => {
            let _ = stream.read(&mut [0; 64]).await;
        }
        Act::Close | Act::ResetUnread | Act::ResetHalfway | Act::AnswerEarly(_) | Act::Speak(_) => {
        }
    }
}

/// Reads up to the empty line; gives head and what came with it.
async fn read_head(stream: &mut impl Wire) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            return Some((head, bytes.split_off(end + 4)));
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

async fn read_request(stream: &mut impl Wire) -> Option<Arrived> {
    let (head, body) = read_head(stream).await?;
    let mut request = Arrived { head, body };
    let length: usize = match request.header("content-length") {
        Some(text) => text.parse().ok()?,
        None => 0,
    };
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(request)
}

/// A driver file for a server on this port.
pub(crate) fn file_text(port: u16) -> String {
    format!(
        r#"id = "letters"
base = "http://127.0.0.1:{port}/v1"
allow_hosts = ["127.0.0.1"]
max_document_bytes = 1_000_000
error = "/error/code"
[auth]
kind = "basic"
user = "secret:letters-key"
password = ""
[idempotency]
header = "Idempotency-Key"
[[step]]
name = "create"
commit = true
method = "POST"
path = "/letters"
encoding = "multipart"
accept = [200]
id = "/id"
[step.body]
"to[name]" = "{{{{to.name}}}}"
"metadata[send_id]" = "{{{{reference}}}}"
file = "@document"
[[step.outcome]]
status = 409
at = "/error/code"
equals = "refused"
is = "rejected"
[retry_after]
headers = ["Retry-After", "ratelimit-reset"]
[look_up]
path = "/letters/{{{{id}}}}"
first = "30m"
every = "6h"
give_up = "45d"
pending = ["processed"]
[[look_up.rule]]
at = "/status"
equals = "delivered"
is = "delivered"
[find]
path = "/letters?metadata[send_id]={{{{reference}}}}&limit=2"
items = "/data"
id = "/id"
reference = "/metadata/send_id"
grace = "10m"
"#
    )
}

/// Short enough for a test, and each clearly apart from the next.
pub(crate) fn timeouts() -> Timeouts {
    Timeouts {
        connect: SignedDuration::from_secs(1),
        submit: SignedDuration::from_secs(6),
        look_up: SignedDuration::from_secs(3),
    }
}

/// A TLS configuration that trusts nobody.
pub(crate) fn tls() -> rustls::ClientConfig {
    tls_with(rustls::RootCertStore::empty())
}

/// A TLS configuration that trusts these.
pub(crate) fn tls_with(roots: rustls::RootCertStore) -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

pub(crate) fn load_one(text: &str) -> Vec<DriverFile> {
    load(&[("letters.toml".to_owned(), text.to_owned())]).unwrap_or_else(|bad| panic!("{bad}"))
}

pub(crate) fn build(text: &str) -> Drivers {
    build_with(text, tls())
}

pub(crate) fn build_with(text: &str, tls: rustls::ClientConfig) -> Drivers {
    let secret = |_: &_| Some(SecretString::from("test_0123456789"));
    Drivers::build(load_one(text), secret, tls, timeouts()).unwrap()
}

/// The one driver of a set.
pub(crate) fn letters(drivers: &Drivers) -> &Driver {
    drivers.get(&DriverId::parse("letters").unwrap()).unwrap()
}

pub(crate) fn reference() -> Reference {
    Reference::parse("st_0123456789abcdef0123456789abcdef").unwrap()
}

pub(crate) fn external_id(text: &str) -> ExternalId {
    ExternalId::parse(text).unwrap()
}

/// An order with this document.
pub(crate) fn order_of(document: &[u8]) -> Order {
    let input = r#"{"driver":"letters","source":{"module":"Deals","record_id":"1","attachment_id":"2"},"to":{"name":"Å. Doe"},"fields":{}}"#;
    Order {
        history_id: HistoryId::parse("57").unwrap(),
        reference: reference(),
        input: Input::from_stored(input).unwrap(),
        document: Bytes::copy_from_slice(document),
        document_sha256: Sha256Hash::of(document),
    }
}

pub(crate) fn order() -> Order {
    order_of(b"%PDF-1.7\r\n\xff\x00%%EOF")
}
