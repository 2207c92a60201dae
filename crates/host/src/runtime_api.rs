//! The Lambda Runtime API of one instance: it hands out one call at a time and takes the answer.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use crate::invoke::{ANSWER_LIMIT, InvokeError};

/// What the function made of a call.
pub(crate) type Reply = Result<Bytes, InvokeError>;

/// One call on its way to the process.
pub(crate) struct Call {
    pub(crate) request_id: String,
    /// Milliseconds since 1970.
    pub(crate) deadline_ms: i64,
    pub(crate) arn: String,
    pub(crate) trace_id: String,
    pub(crate) payload: Bytes,
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// How far the process has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// How often it asked for work.
    pub(crate) asked: u64,
    /// When it asked the first time.
    pub(crate) first_asked: Option<Instant>,
    /// What it reported to `init/error`.
    pub(crate) init_error: Option<String>,
}

/// The endpoint of one instance. Dropping it stops the server.
pub(crate) struct RuntimeApi {
    pub(crate) addr: SocketAddr,
    pub(crate) calls: mpsc::Sender<Call>,
    pub(crate) progress: watch::Receiver<Progress>,
    server: AbortHandle,
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

struct Shared {
    queue: tokio::sync::Mutex<mpsc::Receiver<Call>>,
    current: Mutex<Option<(String, oneshot::Sender<Reply>)>>,
    progress: watch::Sender<Progress>,
}

impl RuntimeApi {
    pub(crate) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let addr = listener.local_addr()?;
        let (calls, queue) = mpsc::channel(1);
        let (sender, progress) = watch::channel(Progress::default());
        let shared = Arc::new(Shared {
            queue: tokio::sync::Mutex::new(queue),
            current: Mutex::new(None),
            progress: sender,
        });
        let router = router(shared);
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the Runtime API server ended");
            }
        });
        Ok(Self {
            addr,
            calls,
            progress,
            server: server.abort_handle(),
        })
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route(
            "/2018-06-01/runtime/invocation/{id}/response",
            post(response),
        )
        .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
        .route("/2018-06-01/runtime/init/error", post(init_error))
        .with_state(shared)
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    let now = Instant::now();
    shared.progress.send_modify(|progress| {
        progress.asked += 1;
        progress.first_asked.get_or_insert(now);
    });
    let Some(call) = shared.queue.lock().await.recv().await else {
        return refusal(StatusCode::GONE, "Host.Gone", "the host has no more work");
    };
    let answer = Response::builder()
        .header("content-type", "application/json")
        .header("lambda-runtime-aws-request-id", &call.request_id)
        .header("lambda-runtime-deadline-ms", call.deadline_ms)
        .header("lambda-runtime-invoked-function-arn", &call.arn)
        .header("lambda-runtime-trace-id", &call.trace_id)
        .body(Body::from(call.payload));
    shared.set_current(Some((call.request_id, call.reply)));
    answer.unwrap_or_else(|error| {
        refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Host.Error",
            &error.to_string(),
        )
    })
}

async fn response(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    body: Body,
) -> Response {
    let read = to_bytes(body, ANSWER_LIMIT).await;
    let Some(reply) = shared.take_current(&id) else {
        return unknown_id();
    };
    let Ok(bytes) = read else {
        let bytes = ANSWER_LIMIT + 1;
        let _ = reply.send(Err(InvokeError::AnswerTooLarge { bytes }));
        return refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            "the answer is above 6 MB",
        );
    };
    let _ = reply.send(Ok(bytes));
    accepted()
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Report {
    error_type: String,
    error_message: String,
}

async fn read_report(body: Body) -> Report {
    let bytes = to_bytes(body, ANSWER_LIMIT).await.unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

async fn error(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Body) -> Response {
    let report = read_report(body).await;
    let Some(reply) = shared.take_current(&id) else {
        return unknown_id();
    };
    let failed = InvokeError::FunctionError {
        kind: report.error_type,
        message: report.error_message,
    };
    let _ = reply.send(Err(failed));
    accepted()
}

async fn init_error(State(shared): State<Arc<Shared>>, body: Body) -> Response {
    let report = read_report(body).await;
    let text = format!("{}: {}", report.error_type, report.error_message);
    shared
        .progress
        .send_modify(|progress| progress.init_error = Some(text));
    accepted()
}

fn accepted() -> Response {
    (StatusCode::ACCEPTED, Json(json!({"status": "OK"}))).into_response()
}

fn unknown_id() -> Response {
    refusal(
        StatusCode::BAD_REQUEST,
        "InvalidRequestID",
        "no such call is open",
    )
}

fn refusal(status: StatusCode, kind: &str, message: &str) -> Response {
    (
        status,
        Json(json!({"errorType": kind, "errorMessage": message})),
    )
        .into_response()
}

impl Shared {
    fn set_current(&self, value: Option<(String, oneshot::Sender<Reply>)>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }

    /// The open call of this id; it can be answered once only.
    fn take_current(&self, id: &str) -> Option<oneshot::Sender<Reply>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match current.take() {
            Some((open, reply)) if open == id => Some(reply),
            other => {
                *current = other;
                None
            }
        }
    }
}
