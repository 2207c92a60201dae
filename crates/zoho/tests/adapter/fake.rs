//! A server that answers as each test says, byte for byte, and keeps what it was sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What the server does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Answers with this status and body.
    Json(u16, String),
    /// The same, with further headers.
    With(u16, &'static str, String),
    /// Writes these bytes and closes.
    Raw(Vec<u8>),
    /// Closes without an answer.
    Close,
    /// Never answers.
    Hang,
}

/// The second argument counts the earlier requests to the same path.
type Script = dyn Fn(&Seen, usize) -> Reply + Send + Sync;

/// By default the probe of the guard, and the read before it, are answered as they should be.
pub(crate) struct Fake {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) const TOKEN: &str = "/oauth/v2/token";

/// The answer of the token endpoint; each call names another token.
pub(crate) fn token(nth: usize) -> Reply {
    let body = format!(r#"{{"access_token":"1000.token{nth}","expires_in":3600}}"#);
    Reply::Json(200, body)
}

pub(crate) fn json(status: u16, body: &str) -> Reply {
    Reply::Json(status, body.to_owned())
}

impl Fake {
    pub(crate) async fn start(
        script: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::unprobed(move |seen: &Seen, nth: usize| {
            probe_reply(seen).unwrap_or_else(|| script(seen, nth))
        })
        .await
    }

    /// A fake whose script is also asked about the probe of the guard.
    pub(crate) async fn unprobed(
        script: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Script> = Arc::new(script);
        let log = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&log), Arc::clone(&script)));
            }
        });
        Self { url, seen, task }
    }

    /// A fake that gives tokens and answers every API request with `reply`.
    pub(crate) async fn answering(reply: Reply) -> Self {
        Self::start(move |seen, nth| match seen.path() {
            TOKEN => token(nth),
            _ => reply.clone(),
        })
        .await
    }

    /// Everything that arrived.
    pub(crate) fn all(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Everything but what belongs to the probe.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let mut seen = self.all();
        seen.retain(|s| probe_reply(s).is_none());
        seen
    }

    /// The requests to the token endpoint.
    pub(crate) fn tokens(&self) -> usize {
        self.seen().iter().filter(|s| s.path() == TOKEN).count()
    }

    /// The requests to the API.
    pub(crate) fn calls(&self) -> Vec<Seen> {
        let mut seen = self.seen();
        seen.retain(|s| s.path() != TOKEN);
        seen
    }
}

/// The answer to what belongs to the probe of the guard.
fn probe_reply(seen: &Seen) -> Option<Reply> {
    if seen.is_probe() {
        return Some(json(412, r#"{"code":"ALREADY_MODIFIED","details":{}}"#));
    }
    let id = seen.path().rsplit('/').next().unwrap_or_default();
    let row = format!(r#"{{"data":[{{"id":"{id}","Source_Record":"9"}}]}}"#);
    seen.target
        .ends_with("?fields=Source_Record")
        .then_some(Reply::Json(200, row))
}

impl Seen {
    /// An update on a version far in the past.
    pub(crate) fn is_probe(&self) -> bool {
        self.header("if-unmodified-since").starts_with("2000-")
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

async fn serve(stream: TcpStream, log: Arc<Mutex<Vec<Seen>>>, script: Arc<Script>) {
    let mut stream = BufReader::new(stream);
    while let Some(seen) = request(&mut stream).await {
        let nth = {
            let mut log = log.lock().unwrap();
            let same = |s: &&Seen| s.path() == seen.path() && probe_reply(s).is_none();
            let nth = log.iter().filter(same).count();
            log.push(seen.clone());
            nth
        };
        let (bytes, close) = match script(&seen, nth) {
            Reply::Json(status, body) => (answer(status, "", &body), false),
            Reply::With(status, headers, body) => (answer(status, headers, &body), false),
            Reply::Raw(bytes) => (bytes, true),
            Reply::Close => return,
            Reply::Hang => return std::future::pending().await,
        };
        if stream.get_mut().write_all(&bytes).await.is_err() || close {
            return;
        }
    }
}

fn answer(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let length = match status {
        204 => String::new(),
        _ => format!("content-length: {}\r\n", body.len()),
    };
    format!("HTTP/1.1 {status} X\r\n{length}{headers}\r\n{body}").into_bytes()
}

async fn request(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(Ok(0), |n| n.parse());
    let mut body = vec![0; length.ok()?];
    stream.read_exact(&mut body).await.ok()?;
    Some(Seen {
        method,
        target,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}
