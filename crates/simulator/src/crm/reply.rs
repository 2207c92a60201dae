//! Answers as the CRM words them.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

/// API credits of one call, told to the log through the answer's extensions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Credits(pub(crate) u32);

#[derive(Debug)]
enum Payload {
    Empty,
    Json(Value),
    File { name: String, bytes: Vec<u8> },
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    payload: Payload,
    credits: u32,
}

impl Reply {
    pub(crate) fn json(status: StatusCode, body: Value) -> Self {
        Self {
            status,
            payload: Payload::Json(body),
            credits: 1,
        }
    }

    pub(crate) fn empty(status: StatusCode) -> Self {
        Self {
            status,
            payload: Payload::Empty,
            credits: 1,
        }
    }

    pub(crate) fn file(name: &str, bytes: Vec<u8>) -> Self {
        let payload = Payload::File {
            name: name.to_owned(),
            bytes,
        };
        Self {
            status: StatusCode::OK,
            payload,
            credits: 1,
        }
    }

    pub(crate) fn costing(mut self, credits: u32) -> Self {
        self.credits = credits;
        self
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = match self.payload {
            Payload::Empty => self.status.into_response(),
            Payload::Json(body) => {
                let kind = [(header::CONTENT_TYPE, "application/json;charset=UTF-8")];
                (self.status, kind, body.to_string()).into_response()
            }
            Payload::File { name, bytes } => {
                let safe: String = name
                    .chars()
                    .map(|c| {
                        if c.is_ascii_graphic() && c != '"' {
                            c
                        } else {
                            '_'
                        }
                    })
                    .collect();
                let place = HeaderValue::from_str(&format!("attachment; filename=\"{safe}\""))
                    .unwrap_or(HeaderValue::from_static("attachment"));
                let kind = HeaderValue::from_static("application/octet-stream");
                let headers = [
                    (header::CONTENT_TYPE, kind),
                    (header::CONTENT_DISPOSITION, place),
                ];
                (self.status, headers, Body::from(bytes)).into_response()
            }
        };
        response.extensions_mut().insert(Credits(self.credits));
        response
    }
}

/// One failed (or conflicting) item, before it is put in an envelope.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) details: Value,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: &str,
        details: Value,
    ) -> Self {
        Self {
            status,
            code,
            message: message.to_owned(),
            details,
        }
    }

    pub(crate) fn bad(code: &'static str, message: &str, details: Value) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message, details)
    }

    /// `INVALID_DATA` on a field of record `index`.
    pub(crate) fn field(name: &str, index: usize, extra: &Value) -> Self {
        let mut details = Map::new();
        if let Some(extra) = extra.as_object() {
            details.extend(extra.clone());
        }
        details.insert("api_name".into(), name.into());
        details.insert("json_path".into(), format!("$.data[{index}].{name}").into());
        Self::bad("INVALID_DATA", "invalid data", details.into())
    }

    pub(crate) fn no_such_id() -> Self {
        Self::bad(
            "INVALID_DATA",
            "the id given seems to be invalid",
            json!({"resource_path_index": 1}),
        )
    }

    pub(crate) fn no_such_module() -> Self {
        Self::bad(
            "INVALID_MODULE",
            "the module name given seems to be invalid",
            json!({"resource_path_index": 0}),
        )
    }

    pub(crate) fn missing_parameter(name: &str) -> Self {
        Self::bad(
            "REQUIRED_PARAM_MISSING",
            "One of the expected parameter is missing",
            json!({"param_name": name}),
        )
    }

    pub(crate) fn item(&self) -> Value {
        json!({"code": self.code, "details": self.details, "message": self.message, "status": "error"})
    }

    /// The form for URL, module, read and authorisation errors.
    pub(crate) fn flat(&self) -> Reply {
        Reply::json(self.status, self.item())
    }

    /// The form for errors of a record that was to be written.
    pub(crate) fn wrapped(&self) -> Reply {
        Reply::json(self.status, json!({"data": [self.item()]}))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.flat().into_response()
    }
}

fn internal(cause: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%cause, "the simulated CRM failed");
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "INTERNAL_ERROR",
        "Internal Server Error",
        json!({}),
    )
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        internal(&error)
    }
}

impl From<super::CrmError> for Problem {
    fn from(error: super::CrmError) -> Self {
        internal(&error)
    }
}
