//! The POST that commits a send.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use tokio::time::sleep;

use super::Api;
use super::answer::{accepted, internal};
use super::kind::Kind;
use super::script::{Refusal, Reply, Script, at};
use super::store::Before;
use super::submission::{Read, Submission, read};
use crate::net::Connection;

/// `POST /v1/letters`.
pub(crate) async fn letter(
    api: State<Arc<Api>>,
    connection: ConnectInfo<Connection>,
    request: Request,
) -> Response {
    post(api, connection, Kind::Letter, request).await
}

/// `POST /resend/emails`.
pub(crate) async fn mail(
    api: State<Arc<Api>>,
    connection: ConnectInfo<Connection>,
    request: Request,
) -> Response {
    post(api, connection, Kind::Mail, request).await
}

/// `POST /telnyx/faxes`.
pub(crate) async fn fax(
    api: State<Arc<Api>>,
    connection: ConnectInfo<Connection>,
    request: Request,
) -> Response {
    post(api, connection, Kind::Fax, request).await
}

/// `POST /v1/messages`.
pub(crate) async fn message(
    api: State<Arc<Api>>,
    connection: ConnectInfo<Connection>,
    request: Request,
) -> Response {
    post(api, connection, Kind::Message, request).await
}

async fn post(
    State(api): State<Arc<Api>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    kind: Kind,
    request: Request,
) -> Response {
    let allowed = api.allows(kind, request.headers());
    match read(&api, kind, request).await {
        Read::Whole(submission) => commit(api, connection, allowed, submission).await,
        Read::Midway(submission) | Read::Torn(submission) => {
            connection.cut();
            match api.store.note_post(&submission, "incomplete") {
                Ok(()) => StatusCode::BAD_REQUEST.into_response(),
                Err(failure) => internal(&failure),
            }
        }
    }
}

/// Acts on a submission in a task of its own: a client that goes away does not stop what it began.
pub(crate) async fn commit(
    api: Arc<Api>,
    connection: Connection,
    allowed: bool,
    submission: Submission,
) -> Response {
    let task = tokio::spawn(async move { act(&api, &connection, allowed, submission).await });
    task.await.unwrap_or_else(|failure| internal(&failure))
}

async fn act(
    api: &Api,
    connection: &Connection,
    allowed: bool,
    submission: Submission,
) -> Response {
    let kind = submission.kind;
    let error = |status, code: &str, message: &str| kind.error(status, code, message);
    let begun = match api.store.begin(&submission) {
        Ok(begun) => begun,
        Err(failure) => return internal(&failure),
    };
    let end = |outcome: &str, response: Response| match api.store.end_post(begun.post, outcome) {
        Ok(()) => response,
        Err(failure) => internal(&failure),
    };
    if !allowed {
        return end(
            "refused",
            error(401, "unauthorized", "the API key is not known"),
        );
    }
    if let Some((code, message)) = &submission.flaw {
        let status = match *code {
            "file_too_large" => 413,
            "not_acceptable" => 403,
            _ => 422,
        };
        return end("refused", error(status, code, message));
    }
    let script = match api.script_of(&submission.recipient, submission.script.as_deref()) {
        Ok(script) => script,
        Err(wrong) => return end("refused", error(400, "invalid_script", &wrong.to_string())),
    };
    if !script.keyless {
        match &begun.before {
            Before::Nothing => {}
            Before::InFlight => {
                let code = busy_codes(kind).0;
                return end("refused", error(409, code, "the same request is under way"));
            }
            Before::Letter(letter) if letter.fingerprint == submission.fingerprint => {
                let mut replay = accepted(letter, &script);
                replay
                    .headers_mut()
                    .insert("idempotent-replayed", HeaderValue::from_static("true"));
                return end("replayed", replay);
            }
            Before::Letter(_) => {
                let code = busy_codes(kind).1;
                return end(
                    "refused",
                    error(409, code, "the key was used for another letter"),
                );
            }
        }
    }
    if let Some(refusal) = at(&script.refusals, begun.earlier) {
        let (outcome, response) = refuse(refusal, connection, kind);
        return end(outcome, response);
    }
    sleep(script.hold_before).await;
    let id = submission.id.clone();
    let id = id.unwrap_or_else(|| format!("{}{}", kind.prefix(), random_id()));
    match api
        .store
        .accept(begun.post, &id, &submission, script.unique)
    {
        Ok(Some(letter)) => {
            sleep(script.hold_after).await;
            let whole = accepted(&letter, &script);
            reply(kind, script.reply, connection, whole).await
        }
        Ok(None) => error(409, "duplicate", "the reference has a letter already"),
        Err(failure) => internal(&failure),
    }
}

/// How a vendor says that a key is in use, and that it was used for something else.
fn busy_codes(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Letter | Kind::Message | Kind::Contract | Kind::Fax => ("in_flight", "conflict"),
        Kind::Mail => (
            "concurrent_idempotent_requests",
            "invalid_idempotent_request",
        ),
    }
}

/// What the script says to the next POST of this submission; `None` to accept it.
pub(crate) fn refusal_of(
    api: &Api,
    submission: &Submission,
    earlier: Option<u32>,
) -> Option<Refusal> {
    let script: Script = api
        .script_of(&submission.recipient, submission.script.as_deref())
        .ok()?;
    let counted = || {
        api.store
            .earlier(submission.reference.as_deref(), &submission.recipient)
            .ok()
    };
    at(&script.refusals, earlier.or_else(counted)?)
}

fn refuse(refusal: Refusal, connection: &Connection, kind: Kind) -> (&'static str, Response) {
    match refusal {
        Refusal::Rejected(code) => (
            "refused",
            kind.error(code, "rejected", "this recipient is always refused"),
        ),
        Refusal::Throttled { wait, as_date } => ("refused", throttled(kind, wait, as_date)),
        Refusal::Down(code) => ("failed", kind.error(code, "unavailable", "try again later")),
        Refusal::Redirected(code) => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::TEMPORARY_REDIRECT);
            let location = [(header::LOCATION, kind.path())];
            ("failed", (status, location).into_response())
        }
        // A JSON body cannot be broken off before its recipient is known: it is read, then dropped.
        Refusal::Reset | Refusal::ResetMidway => {
            connection.cut();
            ("unanswered", StatusCode::OK.into_response())
        }
    }
}

pub(crate) fn throttled(kind: Kind, wait: Duration, as_date: bool) -> Response {
    let mut response = kind.error(429, "rate_limit_exceeded", "too many requests");
    let value = if as_date {
        httpdate::fmt_http_date(SystemTime::now() + wait)
    } else {
        wait.as_millis().div_ceil(1000).to_string()
    };
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

/// The answer to an accepted letter, or what is left of it.
async fn reply(kind: Kind, reply: Reply, connection: &Connection, whole: Response) -> Response {
    match reply {
        Reply::Normal => whole,
        Reply::Lost => {
            connection.cut();
            whole
        }
        Reply::Cut => cut(whole).await,
        Reply::Garbage => (json_type(), "<html>ok</html>").into_response(),
        Reply::WithoutId => (json_type(), r#"{"status":"processed"}"#).into_response(),
        Reply::Status(code) => kind.error(code, "internal_error", "something went wrong"),
    }
}

fn json_type() -> HeaderMap {
    HeaderMap::from_iter([(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    )])
}

/// The status, the headers and half of the body; then the connection ends.
async fn cut(whole: Response) -> Response {
    let bytes = axum::body::to_bytes(whole.into_body(), usize::MAX)
        .await
        .unwrap_or_default();
    let half = bytes.slice(..bytes.len() / 2);
    let torn = async {
        // The pause makes the server write out what it has; an error at once would drop the head as well.
        tokio::task::yield_now().await;
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))
    };
    let parts = stream::iter([Ok::<Bytes, std::io::Error>(half)]).chain(stream::once(torn));
    let body = Body::from_stream(parts);
    let mut headers = json_type();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    (headers, body).into_response()
}

pub(crate) fn random_id() -> String {
    let mut bytes = [0_u8; 8];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = jiff::Timestamp::now().as_microsecond().to_be_bytes();
    }
    super::submission::hex(&bytes)
}
