//! A CRM on a network that lies: it gives tokens and takes the probe of the guard, and does to every other
//! request what a test says. It counts the requests that arrived whole.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What is done to a request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// The connection is reset before a byte of the request is read.
    ResetUnread,
    /// It is reset once the headers are read.
    ResetHalfRead,
    /// It is reset once the request is read.
    ResetRead,
    /// It is closed once the request is read.
    Close,
    /// These bytes are the answer; then the connection is closed.
    Bytes(Vec<u8>),
    /// The answer comes in pieces of this length, and is whole in time.
    Pieces(Vec<u8>, usize),
    /// The answer begins and never ends.
    Drip,
    /// Nothing comes.
    Silence,
}

/// Which requests are treated badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prey {
    /// What follows the probe of the guard.
    AfterTheProbe,
    /// Every request to the API.
    Api,
    /// Every request, those for tokens too.
    All,
}

#[derive(Default)]
struct Shared {
    whole: Mutex<Vec<String>>,
    tokens: AtomicUsize,
    connections: AtomicUsize,
    is_probed: AtomicBool,
}

pub(crate) struct Hostile {
    pub(crate) url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An answer with this status, headers and body.
pub(crate) fn http(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes()
}

impl Hostile {
    pub(crate) async fn start(prey: Prey, act: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        shared
            .is_probed
            .store(prey != Prey::AfterTheProbe, Ordering::SeqCst);
        let state = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                state.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&state), prey, act.clone()));
            }
        });
        Self { url, shared, task }
    }

    /// Method and target of the API requests that arrived whole, the probe left out.
    pub(crate) fn whole(&self) -> Vec<String> {
        self.shared.whole.lock().unwrap().clone()
    }

    /// Requests for a token.
    pub(crate) fn tokens(&self) -> usize {
        self.shared.tokens.load(Ordering::SeqCst)
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>, prey: Prey, act: Act) {
    let has_token = prey == Prey::All || shared.tokens.load(Ordering::SeqCst) > 0;
    if matches!(act, Act::ResetUnread) && has_token && shared.is_probed.load(Ordering::SeqCst) {
        return reset(&stream);
    }
    let mut stream = BufReader::new(stream);
    while let Some((line, headers)) = head(&mut stream).await {
        let is_token = prey != Prey::All && line.starts_with("POST /oauth/");
        let is_probe = is_probe(&line, &headers);
        if matches!(act, Act::ResetHalfRead) && !is_token && !is_probe {
            return reset(stream.get_ref());
        }
        if read_body(&mut stream, &headers).await.is_none() {
            return;
        }
        if is_token {
            let nth = shared.tokens.fetch_add(1, Ordering::SeqCst);
            let body = format!(r#"{{"access_token":"1000.token{nth}","expires_in":3600}}"#);
            // Every request to the API is to come on a connection of its own.
            answer(&mut stream, &http(200, "connection: close\r\n", &body)).await;
            return;
        }
        if is_probe {
            let is_update = line.starts_with("PUT");
            let (status, body) = if is_update {
                (412, "{}")
            } else {
                (200, r#"{"data":[{"id":"7","Source_Record":"9"}]}"#)
            };
            if is_update {
                shared.is_probed.store(true, Ordering::SeqCst);
            }
            answer(&mut stream, &http(status, "connection: close\r\n", body)).await;
            return;
        }
        shared.whole.lock().unwrap().push(line);
        if !treat(&mut stream, &act).await {
            return;
        }
    }
}

/// Does it; whether the connection lives on.
async fn treat(stream: &mut BufReader<TcpStream>, act: &Act) -> bool {
    match act {
        Act::ResetUnread | Act::ResetHalfRead | Act::Close => {}
        Act::ResetRead => {
            reset(stream.get_ref());
        }
        Act::Bytes(bytes) => answer(stream, bytes).await,
        Act::Pieces(bytes, length) => {
            for piece in bytes.chunks(*length) {
                answer(stream, piece).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        Act::Drip => {
            answer(stream, b"HTTP/1.1 200 X\r\ncontent-length: 999\r\n\r\n").await;
            loop {
                answer(stream, b" ").await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Act::Silence => std::future::pending().await,
    }
    false
}

/// The connection is reset when it is dropped.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

fn is_probe(line: &str, headers: &BTreeMap<String, String>) -> bool {
    let guard = headers.get("if-unmodified-since");
    guard.is_some_and(|guard| guard.starts_with("2000-")) || line.contains("?fields=Source_Record ")
}

async fn answer(stream: &mut BufReader<TcpStream>, bytes: &[u8]) {
    // The other side may have had enough.
    let _ = stream.get_mut().write_all(bytes).await;
    let _ = stream.get_mut().flush().await;
}

async fn head(stream: &mut BufReader<TcpStream>) -> Option<(String, BTreeMap<String, String>)> {
    let mut first = String::new();
    stream.read_line(&mut first).await.ok().filter(|n| *n > 0)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
        match line.split_once(':') {
            None => return Some((first.trim().to_owned(), headers)),
            Some((name, value)) => {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
        }
    }
}

async fn read_body(
    stream: &mut BufReader<TcpStream>,
    headers: &BTreeMap<String, String>,
) -> Option<()> {
    let length = headers.get("content-length").map_or(Ok(0), |n| n.parse());
    let mut body = vec![0; length.ok()?];
    stream.read_exact(&mut body).await.ok()?;
    Some(())
}
