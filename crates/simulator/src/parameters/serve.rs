//! One call from its headers to its answer, through its fault if it has one.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt as _};
use serde_json::Value;
use tokio::time::sleep;

use super::actions::{Refusal, corrupt, names};
use super::faults::{ParameterFault, ParameterFaultKind};
use super::{ParameterCall, Shared};
use crate::net::Connection;

const JSON: &str = "application/x-amz-json-1.1";

/// A client that goes away does not stop its call: it takes effect all the same.
pub(crate) async fn serve(
    State(shared): State<Shared>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let handled = tokio::spawn(async move { handle(shared, connection, headers, body).await });
    handled.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a handler of the simulated Parameter Store failed");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    })
}

async fn handle(
    shared: Shared,
    connection: Connection,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (service, action) = match addressed(&headers) {
        Ok(addressed) => addressed,
        Err(refusal) => return refused(&refusal),
    };
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return refused(&Refusal::new("SerializationException", ""));
    };
    let call = Call {
        shared,
        service,
        action,
        body,
    };
    let fault = call
        .shared
        .lock()
        .faults
        .take(&call.action, &names(&call.body));
    match fault {
        Some(fault) => call.suffer(&connection, fault).await,
        None => answered(&call.run()),
    }
}

struct Call {
    shared: Shared,
    service: &'static str,
    action: String,
    body: Value,
}

impl Call {
    fn run(&self) -> Result<Value, Refusal> {
        let mut state = self.shared.lock();
        let answer = state.run(&self.action, &self.body);
        let outcome = answer
            .as_ref()
            .map_or_else(|refusal| refusal.code, |_| "ok");
        state.calls.push(self.record(outcome));
        answer
    }

    fn record(&self, outcome: &str) -> ParameterCall {
        ParameterCall {
            action: self.action.clone(),
            names: names(&self.body),
            outcome: outcome.to_owned(),
        }
    }

    fn refuse(&self, refusal: &Refusal) -> Response {
        self.shared.lock().calls.push(self.record(refusal.code));
        refused(refusal)
    }

    async fn suffer(&self, connection: &Connection, fault: ParameterFault) -> Response {
        match fault.kind {
            ParameterFaultKind::Deny => self.refuse(&Refusal::denied(&self.action, self.service)),
            ParameterFaultKind::Throttle => self.refuse(&Refusal::throttled()),
            ParameterFaultKind::Status => {
                let status = StatusCode::from_u16(fault.status.unwrap_or(500));
                let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                let message = String::new();
                self.refuse(&Refusal {
                    status,
                    code: "InternalServerError",
                    message,
                })
            }
            ParameterFaultKind::Slow => {
                sleep(Duration::from_millis(fault.ms)).await;
                answered(&self.run())
            }
            ParameterFaultKind::CutAnswer => cut(&self.run()),
            ParameterFaultKind::LostReply => {
                // The answer is thrown away, with the connection.
                let _ = self.run();
                connection.cut();
                StatusCode::OK.into_response()
            }
            ParameterFaultKind::Refuse => {
                self.shared.lock().calls.push(self.record("refuse"));
                connection.cut();
                StatusCode::OK.into_response()
            }
            ParameterFaultKind::Corrupt => {
                let mut answer = self.run();
                if let Ok(answer) = &mut answer {
                    corrupt(answer, &fault.value);
                }
                answered(&answer)
            }
        }
    }
}

/// The service and action of a call whose signature is for that service.
fn addressed(headers: &HeaderMap) -> Result<(&'static str, String), Refusal> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let target = text("x-amz-target").unwrap_or_default();
    let (service, action) = match target.split_once('.') {
        Some(("AmazonSSM", action)) => ("ssm", action),
        Some(("secretsmanager", action)) => ("secretsmanager", action),
        Some(_) | None => return Err(Refusal::new("UnknownOperationException", target)),
    };
    let known = match service {
        "ssm" => matches!(
            action,
            "GetParameters"
                | "GetParameter"
                | "PutParameter"
                | "DeleteParameters"
                | "DeleteParameter"
        ),
        _ => action == "GetSecretValue",
    };
    if !known {
        return Err(Refusal::new("UnknownOperationException", action));
    }
    let signature = text("authorization").unwrap_or_default();
    if text("x-amz-date").is_none() || !is_signed_for(signature, service) {
        let message = "Missing Authentication Token";
        return Err(Refusal::new("MissingAuthenticationTokenException", message));
    }
    Ok((service, action.to_owned()))
}

/// `AWS4-HMAC-SHA256 Credential=KEY/DATE/REGION/SERVICE/aws4_request, SignedHeaders=…, Signature=…`
fn is_signed_for(authorization: &str, service: &str) -> bool {
    let Some(parts) = authorization.strip_prefix("AWS4-HMAC-SHA256 ") else {
        return false;
    };
    let part = |name: &str| {
        let mut parts = parts.split(',').map(str::trim);
        parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
    };
    let scope: Vec<&str> = part("Credential").unwrap_or_default().split('/').collect();
    let signed: Vec<&str> = part("SignedHeaders")
        .unwrap_or_default()
        .split(';')
        .collect();
    let signature = part("Signature").unwrap_or_default();
    matches!(scope[..], [key, date, region, of, "aws4_request"]
        if !key.is_empty() && date.len() == 8 && !region.is_empty() && of == service)
        && ["host", "x-amz-date", "x-amz-target"]
            .iter()
            .all(|name| signed.contains(name))
        && signature.len() == 64
        && signature.bytes().all(|b| b.is_ascii_hexdigit())
}

fn answered(answer: &Result<Value, Refusal>) -> Response {
    match answer {
        Ok(value) => (content(), value.to_string()).into_response(),
        Err(refusal) => refused(refusal),
    }
}

fn refused(refusal: &Refusal) -> Response {
    (refusal.status, content(), refusal.body()).into_response()
}

fn content() -> [(header::HeaderName, HeaderValue); 2] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(JSON)),
        (
            header::HeaderName::from_static("x-amzn-requestid"),
            HeaderValue::from_static("00000000-0000-4000-8000-000000000000"),
        ),
    ]
}

/// Half of the answer arrives, then the connection ends.
fn cut(answer: &Result<Value, Refusal>) -> Response {
    let whole = match answer {
        Ok(value) => value.to_string(),
        Err(refusal) => refusal.body(),
    };
    let half = Bytes::copy_from_slice(&whole.as_bytes()[..whole.len() / 2]);
    let torn = async {
        // The pause makes the server write out what it has; an error at once would drop the head as well.
        tokio::task::yield_now().await;
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))
    };
    let parts = stream::iter([Ok::<Bytes, std::io::Error>(half)]).chain(stream::once(torn));
    let length = [(header::CONTENT_LENGTH, HeaderValue::from(whole.len()))];
    (content(), length, Body::from_stream(parts)).into_response()
}

#[cfg(test)]
mod tests {
    use super::is_signed_for;

    #[test]
    fn only_a_signature_for_the_service_will_do() {
        let signed = |scope: &str, headers: &str, signature: &str| {
            let text = format!(
                "AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={headers}, Signature={signature}"
            );
            is_signed_for(&text, "ssm")
        };
        let (scope, hex) = (
            "AKID/20260101/eu-central-1/ssm/aws4_request",
            "a".repeat(64),
        );
        let headers = "content-type;host;x-amz-date;x-amz-target";
        assert!(signed(scope, headers, &hex));
        assert!(!signed(&scope.replace("ssm", "sqs"), headers, &hex));
        assert!(!signed(scope, "host", &hex));
        assert!(!signed(scope, headers, "abc"));
        assert!(!is_signed_for("Bearer x", "ssm"));
        assert!(!is_signed_for("", "ssm"));
    }
}
