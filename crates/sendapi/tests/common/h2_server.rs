//! A server that speaks just enough HTTP/2 to take a whole POST and to say, truly or not, that it did not. The
//! control package uses this very file, so that what it shows of a default client holds for these servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// What it answers to a whole POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// `RST_STREAM(REFUSED_STREAM)`.
    RefusedStream,
    /// `RST_STREAM(INTERNAL_ERROR)`.
    InternalError,
    /// `GOAWAY(NO_ERROR)` that denies having seen any stream, then the end.
    GoAwayZero,
    /// `GOAWAY(NO_ERROR)` that admits ours, then the end.
    GoAwayOurs,
    /// 200 without a body.
    Ok,
    /// The end of the connection.
    Close,
}

pub(crate) const REPLIES: [Reply; 6] = [
    Reply::RefusedStream,
    Reply::InternalError,
    Reply::GoAwayZero,
    Reply::GoAwayOurs,
    Reply::Ok,
    Reply::Close,
];

/// The running server; it ends with the test's runtime.
pub(crate) struct H2Server {
    pub(crate) port: u16,
    posts: Arc<AtomicUsize>,
}

impl H2Server {
    pub(crate) async fn start(reply: Reply, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let posts = Arc::new(AtomicUsize::new(0));
        let counted = posts.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, counted) = (tls.clone(), counted.clone());
                tokio::spawn(async move {
                    match tls {
                        None => drop(serve(stream, reply, &counted).await),
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                drop(serve(stream, reply, &counted).await);
                            }
                        }
                    }
                });
            }
        });
        Self { port, posts }
    }

    /// How many POSTs arrived whole.
    pub(crate) fn posts(&self) -> usize {
        self.posts.load(Ordering::SeqCst)
    }
}

/// A frame as it goes over the wire.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// `GOAWAY` with this last stream and error code.
pub(crate) fn goaway(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// `RST_STREAM` with this error code.
pub(crate) fn reset_stream(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    reply: Reply,
    posts: &AtomicUsize,
) -> std::io::Result<()> {
    send(&mut stream, &frame(SETTINGS, 0, 0, &[])).await?;
    let mut preface = [0; PREFACE.len()];
    stream.read_exact(&mut preface).await?;
    if preface != PREFACE {
        // Not HTTP/2: PROTOCOL_ERROR, as real servers say it.
        return send(&mut stream, &goaway(0, 1)).await;
    }
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).await?;
        let (kind, flags) = (head[3], head[4]);
        if kind == SETTINGS && flags & ACK == 0 {
            send(&mut stream, &frame(SETTINGS, ACK, 0, &[])).await?;
        }
        if (kind == DATA || kind == HEADERS) && flags & END_STREAM != 0 {
            posts.fetch_add(1, Ordering::SeqCst);
            if !answer(&mut stream, reply, id).await? {
                return Ok(());
            }
        }
    }
}

/// Whether the connection stays open.
async fn answer(
    stream: &mut (impl AsyncWrite + Unpin),
    reply: Reply,
    id: u32,
) -> std::io::Result<bool> {
    match reply {
        Reply::RefusedStream => send(stream, &reset_stream(id, 7)).await?,
        Reply::InternalError => send(stream, &reset_stream(id, 2)).await?,
        Reply::GoAwayZero => {
            send(stream, &goaway(0, 0)).await?;
            return Ok(false);
        }
        Reply::GoAwayOurs => {
            send(stream, &goaway(id, 0)).await?;
            return Ok(false);
        }
        // 0x88 is `:status: 200` in the static table.
        Reply::Ok => {
            let whole = END_STREAM | END_HEADERS;
            send(stream, &frame(HEADERS, whole, id, &[0x88])).await?;
        }
        Reply::Close => return Ok(false),
    }
    Ok(true)
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}
