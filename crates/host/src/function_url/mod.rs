//! The Function URL front of one function: HTTP in, the event out, and back.

mod cors;
mod event;
mod response;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::function::Function;
use crate::invoke::{InvokeError, PAYLOAD_LIMIT, random_hex, request_id, trace_id};
use crate::spec::{CorsConfig, UrlConfig};

/// How much of a body is read, in bytes, so that a client that sends too much still gets its 413.
const READ_LIMIT: usize = 64 * 1024 * 1024;

/// How long requests under way may take to end once the front is told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// A listening front. Dropping it stops it.
pub(crate) struct UrlFront {
    pub(crate) addr: SocketAddr,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
}

struct Front {
    function: Arc<Function>,
    cors: Option<CorsConfig>,
    domain: String,
}

impl UrlFront {
    pub(crate) async fn start(
        function: Arc<Function>,
        config: &UrlConfig,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", config.port)).await?;
        let addr = listener.local_addr()?;
        let front = Arc::new(Front {
            function,
            cors: config.cors.clone(),
            domain: format!(
                "{}.lambda-url.{}.on.aws",
                random_hex::<16>(),
                crate::environment::REGION
            ),
        });
        let router = Router::new().fallback(answer).with_state(front);
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let (stop, mut stopped) = watch::channel(false);
        let server = tokio::spawn(async move {
            let stopping = async move {
                let _ = stopped.wait_for(|stop| *stop).await;
            };
            if let Err(error) = axum::serve(listener, service)
                .with_graceful_shutdown(stopping)
                .await
            {
                tracing::error!(%error, "a Function URL front ended");
            }
        });
        Ok(Self { addr, stop, server })
    }

    /// Stops listening; requests under way are given a moment to end.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        let _ = timeout(STOP_LIMIT, &mut self.server).await;
    }
}

impl Drop for UrlFront {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(
    State(front): State<Arc<Front>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let arrived = Timestamp::now();
    let (parts, body) = request.into_parts();
    if let Some(cors) = &front.cors
        && let Some(preflight) = cors::preflight(cors, &parts)
    {
        return preflight;
    }
    let id = request_id();
    let origin = parts.headers.get(header::ORIGIN).cloned();
    let arrival = event::Arrival {
        at: arrived,
        source_ip: peer.ip(),
        request_id: id.clone(),
        trace_id: trace_id(arrived.as_second()),
        domain: front.domain.clone(),
    };
    let mut response = match read(body).await {
        Some(body) => call(&front, &parts, &body, &arrival).await,
        None => too_large(),
    };
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert("x-amzn-requestid", id);
    }
    if let Some(cors) = &front.cors {
        cors::decorate(cors, origin.as_ref(), response.headers_mut());
    }
    response
}

/// The whole body; `None` when it is above the limit or breaks off.
async fn read(body: Body) -> Option<Bytes> {
    to_bytes(body, READ_LIMIT).await.ok()
}

async fn call(
    front: &Front,
    parts: &http::request::Parts,
    body: &[u8],
    arrival: &event::Arrival,
) -> Response {
    let payload = event::build(parts, body, arrival).to_string();
    if payload.len() > PAYLOAD_LIMIT {
        return too_large();
    }
    match front
        .function
        .invoke(arrival.request_id.clone(), Bytes::from(payload))
        .await
    {
        Ok(answer) => response::from_answer(&answer).unwrap_or_else(|detail| {
            tracing::warn!(
                function = front.function.spec.name,
                detail,
                "an answer that is no HTTP response"
            );
            message(StatusCode::BAD_GATEWAY, "Internal Server Error")
        }),
        Err(error) => from_error(&error),
    }
}

fn from_error(error: &InvokeError) -> Response {
    match error {
        InvokeError::Throttled => message(StatusCode::TOO_MANY_REQUESTS, "Rate Exceeded."),
        InvokeError::PayloadTooLarge { .. } => too_large(),
        InvokeError::Closed => message(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
        InvokeError::UnknownFunction(_)
        | InvokeError::NotStarted(_)
        | InvokeError::InitFailed(_)
        | InvokeError::InitTimedOut(_)
        | InvokeError::FunctionError { .. }
        | InvokeError::TimedOut(_)
        | InvokeError::Crashed(_)
        | InvokeError::AnswerTooLarge { .. } => {
            message(StatusCode::BAD_GATEWAY, "Internal Server Error")
        }
    }
}

fn too_large() -> Response {
    let text = format!(
        "Request must be smaller than {PAYLOAD_LIMIT} bytes for the InvokeFunction operation"
    );
    message(StatusCode::PAYLOAD_TOO_LARGE, &text)
}

fn message(status: StatusCode, text: &str) -> Response {
    (status, axum::Json(serde_json::json!({ "Message": text }))).into_response()
}
