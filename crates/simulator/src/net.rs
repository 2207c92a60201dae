//! A TCP listener whose connections can be cut from inside a handler, so that a client meets a closed
//! connection instead of an answer.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// A handle on one client connection. Handlers get it as `ConnectInfo<Connection>`.
#[derive(Clone, Debug)]
pub struct Connection {
    peer: SocketAddr,
    cut: Arc<AtomicBool>,
}

impl Connection {
    /// Closes the connection before another byte is written: whatever the handler answers is lost.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Release);
    }

    /// The client's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }
}

impl Connected<IncomingStream<'_, CuttingListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, CuttingListener>) -> Self {
        stream.remote_addr().clone()
    }
}

/// A listener for [`axum::serve()`] that hands out [`Connection`]s.
#[derive(Debug)]
pub struct CuttingListener {
    inner: TcpListener,
}

impl CuttingListener {
    /// Binds `port` of 127.0.0.1; 0 picks a free one.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let inner = TcpListener::bind(("127.0.0.1", port)).await?;
        Ok(Self { inner })
    }

    /// The bound address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

impl Listener for CuttingListener {
    type Io = CuttableStream;
    type Addr = Connection;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (inner, peer) = Listener::accept(&mut self.inner).await;
        let cut = Arc::new(AtomicBool::new(false));
        let stream = CuttableStream {
            inner,
            cut: Arc::clone(&cut),
        };
        (stream, Connection { peer, cut })
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(Connection {
            peer: self.inner.local_addr()?,
            cut: Arc::new(AtomicBool::new(false)),
        })
    }
}

/// The byte stream of one connection; fails every read and write once it is cut.
#[derive(Debug)]
pub struct CuttableStream {
    inner: TcpStream,
    cut: Arc<AtomicBool>,
}

impl CuttableStream {
    fn check(&self) -> io::Result<()> {
        if self.cut.load(Ordering::Acquire) {
            return Err(io::Error::from(io::ErrorKind::ConnectionReset));
        }
        Ok(())
    }
}

impl AsyncRead for CuttableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for CuttableStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
