//! What every API request passes on its way in and out: faults, the log, credits, the date.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::time::sleep;

use super::App;
use super::clock::http_date;
use super::faults::{Fault, FaultKind};
use super::reply::{Credits, Problem, Reply};
use super::store::LogLine;
use super::switches::DateHeader;
use crate::net::Connection;

const REMAINING: HeaderName = HeaderName::from_static("x-api-credits-remaining");
const LARGEST: usize = 128 * 1024 * 1024;

/// Puts the CRM's clock into every answer.
pub(crate) async fn date(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let switches = app.switches();
    let ahead_ms = switches.date_ahead_seconds.saturating_mul(1000);
    let date = http_date(app.clock.now_ms().saturating_add(ahead_ms));
    if switches.date_header == DateHeader::Absent {
        // The server would put one there by itself; an empty one tells as little as none.
        response
            .headers_mut()
            .insert(header::DATE, HeaderValue::from_static(""));
    } else if let Ok(value) = HeaderValue::from_str(&date) {
        response.headers_mut().insert(header::DATE, value);
    }
    response
}

pub(crate) async fn no_such_url() -> Reply {
    Problem::new(
        StatusCode::NOT_FOUND,
        "INVALID_URL_PATTERN",
        "Please check if the URL trying to access is a correct one",
        json!({}),
    )
    .flat()
    .costing(0)
}

pub(crate) async fn no_such_method() -> Reply {
    Problem::bad(
        "INVALID_REQUEST_METHOD",
        "The http request method type is not a valid one",
        json!({}),
    )
    .flat()
    .costing(0)
}

/// Lets a request meet its fault, if it has one, and writes it into the log. A client that goes away does
/// not stop its request: it takes effect all the same.
pub(crate) async fn gate(
    State(app): State<Arc<App>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
    next: Next,
) -> Response {
    let handled = tokio::spawn(async move { handle(app, connection, request, next).await });
    handled.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a handler of the simulated CRM failed");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    })
}

async fn handle(app: Arc<App>, connection: Connection, request: Request, next: Next) -> Response {
    let (request, fault) = match meet(&app, request).await {
        Ok(met) => met,
        Err(refusal) => return refusal,
    };
    let seen = Seen::of(&request);
    let Some(fault) = fault else {
        return seen.run(&app, request, next, None).await;
    };
    suffer(&app, &connection, &fault, (seen, request, next)).await
}

async fn meet(app: &App, request: Request) -> Result<(Request, Option<Fault>), Response> {
    if !app.faults.any() {
        return Ok((request, None));
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, LARGEST).await else {
        return Err(StatusCode::PAYLOAD_TOO_LARGE.into_response());
    };
    let fault = app
        .faults
        .take(parts.method.as_str(), parts.uri.path(), &bytes);
    Ok((Request::from_parts(parts, Body::from(bytes)), fault))
}

async fn suffer(
    app: &Arc<App>,
    connection: &Connection,
    fault: &Fault,
    (seen, request, next): (Seen, Request, Next),
) -> Response {
    let name = Some(fault.kind.name());
    let pause = Duration::from_millis(fault.ms);
    match fault.kind {
        FaultKind::Delay => {
            sleep(pause).await;
            seen.run(app, request, next, name).await
        }
        FaultKind::LateReply => {
            let response = seen.run(app, request, next, name).await;
            sleep(pause).await;
            response
        }
        FaultKind::LostReply => {
            let response = seen.run(app, request, next, name).await;
            connection.cut();
            response
        }
        FaultKind::AppliedLate => {
            connection.cut();
            let app = Arc::clone(app);
            tokio::spawn(async move {
                sleep(pause).await;
                seen.run(&app, request, next, name).await
            });
            StatusCode::OK.into_response()
        }
        FaultKind::Refuse => {
            seen.log(app, None, 0, name);
            connection.cut();
            StatusCode::OK.into_response()
        }
        FaultKind::Status => {
            let answer = status_answer(fault);
            if fault.apply.unwrap_or(false) {
                seen.run(app, request, next, name).await;
            } else {
                seen.log(app, Some(answer.status()), 0, name);
            }
            answer
        }
        FaultKind::Empty200 => {
            if fault.apply.unwrap_or(false) {
                seen.run(app, request, next, name).await;
            } else {
                seen.log(app, Some(StatusCode::OK), 0, name);
            }
            StatusCode::OK.into_response()
        }
        FaultKind::TruncatedJson => {
            if fault.apply.unwrap_or(true) {
                let (parts, body) = seen.run(app, request, next, name).await.into_parts();
                let whole = to_bytes(body, LARGEST).await.unwrap_or_default();
                truncated(parts.status, &whole)
            } else {
                seen.log(app, Some(StatusCode::OK), 0, name);
                truncated(StatusCode::OK, br#"{"data":[{"code":"SUCCESS","#)
            }
        }
    }
}

fn truncated(status: StatusCode, whole: &[u8]) -> Response {
    let half = Bytes::copy_from_slice(&whole[..whole.len() / 2]);
    (
        status,
        [(header::CONTENT_TYPE, "application/json;charset=UTF-8")],
        half,
    )
        .into_response()
}

fn status_answer(fault: &Fault) -> Response {
    let status = fault
        .status
        .and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let page = fault.body.clone().unwrap_or_else(|| {
        format!("<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>\n")
    });
    let mut response = (status, [(header::CONTENT_TYPE, "text/html")], page).into_response();
    if let Some(value) = fault
        .retry_after
        .as_deref()
        .and_then(|text| HeaderValue::from_str(text).ok())
    {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

/// What the log keeps of a request.
struct Seen {
    method: String,
    path: String,
}

impl Seen {
    fn of(request: &Request) -> Self {
        let uri = request.uri();
        // A query of the token endpoint may carry secrets.
        let query = uri.query().filter(|_| uri.path().starts_with("/crm/"));
        let path = query.map_or_else(
            || uri.path().to_owned(),
            |query| format!("{}?{query}", uri.path()),
        );
        Self {
            method: request.method().to_string(),
            path,
        }
    }

    async fn run(
        &self,
        app: &App,
        request: Request,
        next: Next,
        fault: Option<&'static str>,
    ) -> Response {
        let mut response = next.run(request).await;
        let credits = response
            .extensions()
            .get::<Credits>()
            .copied()
            .unwrap_or_default()
            .0;
        self.log(app, Some(response.status()), credits, fault);
        let (used, total) = (
            app.ledger.used(app.clock.now_ms()),
            app.config.limits.credits,
        );
        if self.path.starts_with("/crm/") && used.saturating_mul(2) >= total {
            response
                .headers_mut()
                .insert(REMAINING, HeaderValue::from(total.saturating_sub(used)));
        }
        response
    }

    fn log(
        &self,
        app: &App,
        status: Option<StatusCode>,
        credits: u32,
        fault: Option<&'static str>,
    ) {
        let at_ms = app.clock.now_ms();
        app.ledger.add(at_ms, u64::from(credits));
        let line = LogLine {
            n: 0,
            at_ms,
            method: self.method.clone(),
            path: self.path.clone(),
            status: status.map(|status| status.as_u16()),
            credits,
            fault: fault.map(str::to_owned),
        };
        if let Err(error) = app.store().log(&line) {
            tracing::error!(%error, "the request log failed");
        }
    }
}
