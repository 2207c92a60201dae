//! From status and body to what went wrong: the one place that knows the CRM's error envelopes and codes.

use jiff::SignedDuration;
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::StoreError;
use sendtrail_core::text::harmless;
use serde_json::{Map, Value};

/// What went wrong with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The record has another version.
    Conflict,
    /// A unique field holds this value already; the field and the other record, where the CRM names them.
    Duplicate {
        field: Option<String>,
        other: Option<HistoryId>,
    },
    /// The access token is refused; another may do.
    StaleToken { code: String },
    /// Everything else. `not_done`: proved that the CRM did nothing.
    Failed { error: StoreError, not_done: bool },
}

impl Fault {
    /// It cannot be told whether the CRM did something.
    pub(crate) fn unsure(error: StoreError) -> Self {
        Self::Failed {
            error,
            not_done: false,
        }
    }

    /// The CRM did nothing.
    pub(crate) fn not_done(error: StoreError) -> Self {
        Self::Failed {
            error,
            not_done: true,
        }
    }

    /// An answer that does not have the form it should.
    pub(crate) fn malformed(expected: &str) -> Self {
        Self::unsure(StoreError::Malformed {
            detail: expected.to_owned(),
        })
    }

    /// The error, for requests that change nothing.
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Self::Conflict => refused("ALREADY_MODIFIED", ""),
            Self::Duplicate { field, .. } => refused("DUPLICATE_DATA", &field.unwrap_or_default()),
            Self::StaleToken { code } => StoreError::Unauthorized { detail: code },
            Self::Failed { error, .. } => error,
        }
    }
}

fn refused(code: &str, detail: &str) -> StoreError {
    StoreError::Refused {
        code: code.to_owned(),
        detail: detail.to_owned(),
    }
}

/// What an error body says, whichever envelope it came in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Problem {
    /// The error code as it came; empty when the body had none. Made harmless only where it is shown: a text
    /// that merely resembles a code must not count as one.
    pub(crate) code: String,
    message: String,
    details: Map<String, Value>,
}

impl Problem {
    /// Reads any body: flat, wrapped in `data[]`, with a number as code, or no JSON at all.
    pub(crate) fn of_body(body: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let first = value.get("data").and_then(|data| data.get(0));
        let wrapped = first.map(Self::of_item).filter(|p| !p.code.is_empty());
        wrapped.unwrap_or_else(|| Self::of_item(&value))
    }

    /// Reads one item of an answer.
    pub(crate) fn of_item(item: &Value) -> Self {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        // The old form has the status as code and the code as error.
        let code = text("code").or_else(|| text("error"));
        let number = || item.get("code").and_then(Value::as_u64);
        let code = code.map_or_else(
            || number().map(|n| n.to_string()).unwrap_or_default(),
            str::to_owned,
        );
        let message = text("message").or_else(|| text("error_info"));
        let details = item.get("details").and_then(Value::as_object);
        Self {
            code,
            message: harmless(message.unwrap_or_default(), 120),
            details: details.cloned().unwrap_or_default(),
        }
    }

    /// The field it is about.
    fn field(&self) -> Option<String> {
        let name = self.details.get("api_name").and_then(Value::as_str);
        name.map(|name| harmless(name, 64))
    }

    /// The record that has the value already.
    fn other_record(&self) -> Option<HistoryId> {
        let details = &self.details;
        let of_record = details.get("duplicate_record").and_then(|r| r.get("id"));
        let id = of_record.or_else(|| details.get("id"))?;
        HistoryId::parse(id.as_str()?).ok()
    }

    /// Whether it says that the id in the address means nothing.
    fn is_about_the_id(&self) -> bool {
        let index = self
            .details
            .get("resource_path_index")
            .and_then(Value::as_u64);
        self.code == "INVALID_DATA"
            && (index.is_some_and(|index| index > 0)
                || self.field().as_deref() == Some("id")
                || self.message.contains("id given"))
    }

    /// Message and those details that say what was wrong without repeating what was sent.
    fn detail(&self) -> String {
        const TELLING: [&str; 10] = [
            "api_name",
            "json_path",
            "maximum_length",
            "expected_data_type",
            "permissions",
            "param_name",
            "column_name",
            "operator",
            "clause",
            "reason",
        ];
        let mut parts = vec![self.message.clone()];
        for key in TELLING {
            if let Some(value) = self.details.get(key) {
                let value = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                parts.push(format!("{key} {value}"));
            }
        }
        parts.retain(|part| !part.is_empty());
        harmless(&parts.join(", "), 250)
    }
}

/// What an answer with this status and body means as a failure; `None` for a status of success.
pub(crate) fn of_answer(
    status: u16,
    retry_after: Option<SignedDuration>,
    body: &[u8],
) -> Option<Fault> {
    if (200..300).contains(&status) {
        return None;
    }
    Some(classify(status, retry_after, &Problem::of_body(body)))
}

/// What one item inside an answer of success means.
pub(crate) fn of_problem(problem: &Problem) -> Fault {
    classify(200, None, problem)
}

/// Codes that say of one item that it was refused as it stood, and so that nothing was written. A status of
/// success says the opposite of a code that is none of these, nor named in [`classify`].
const REFUSALS: [&str; 13] = [
    "DEPENDENT_FIELD_MISSING",
    "INVALID_DATA",
    "INVALID_MODULE",
    "INVALID_REQUEST_METHOD",
    "INVALID_URL_PATTERN",
    "LIMIT_EXCEEDED",
    "MANDATORY_NOT_FOUND",
    "NOT_APPROVED",
    "NOT_REVIEWED",
    "PATTERN_NOT_MATCHED",
    "RECORD_IN_BLUEPRINT",
    "RECORD_LOCKED",
    "REQUIRED_PARAM_MISSING",
];

fn classify(status: u16, retry_after: Option<SignedDuration>, problem: &Problem) -> Fault {
    let code = problem.code.as_str();
    if status >= 500 || status == 408 {
        return Fault::unsure(transient(status, code));
    }
    if (300..400).contains(&status) {
        return Fault::malformed(&format!("status {status} instead of an answer"));
    }
    match (status, code) {
        (412, _) | (_, "ALREADY_MODIFIED") => Fault::Conflict,
        (429, _) | (_, "429" | "TOO_MANY_REQUESTS" | "RATE_LIMIT_EXCEEDED") => {
            Fault::not_done(StoreError::RateLimited { retry_after })
        }
        (_, "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE" | "REQUEST_TIMEOUT") => {
            Fault::unsure(transient(status, code))
        }
        (_, "INVALID_TOKEN" | "AUTHENTICATION_FAILURE") | (401, "") => Fault::StaleToken {
            code: or_status(status, code),
        },
        (401 | 403, _) | (_, "OAUTH_SCOPE_MISMATCH" | "NO_PERMISSION" | "AUTHORIZATION_FAILED") => {
            Fault::not_done(StoreError::Unauthorized {
                detail: joined(&or_status(status, code), &problem.detail()),
            })
        }
        (_, "DUPLICATE_DATA") => Fault::Duplicate {
            field: problem.field(),
            other: problem.other_record(),
        },
        (_, "RECORD_NOT_FOUND" | "NOT_FOUND" | "NO_CONTENT" | "NO_RECORDS_FOUND") => {
            Fault::not_done(StoreError::NotFound)
        }
        (_, _) if problem.is_about_the_id() => Fault::not_done(StoreError::NotFound),
        (_, _) => {
            let error = refused(&or_status(status, code), &problem.detail());
            if (200..300).contains(&status) && !REFUSALS.contains(&code) {
                Fault::unsure(error)
            } else {
                Fault::not_done(error)
            }
        }
    }
}

fn transient(status: u16, code: &str) -> StoreError {
    StoreError::Transient {
        detail: joined(&format!("status {status}"), &harmless(code, 64)),
    }
}

fn or_status(status: u16, code: &str) -> String {
    let shown = harmless(code, 64);
    if shown.is_empty() {
        status.to_string()
    } else {
        shown
    }
}

fn joined(first: &str, second: &str) -> String {
    if second.is_empty() {
        first.to_owned()
    } else {
        format!("{first}: {second}")
    }
}

#[cfg(test)]
mod tests;
