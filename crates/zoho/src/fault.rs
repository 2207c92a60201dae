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
    /// The error code; empty when the body had none.
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
            |code| harmless(code, 64),
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
        (_, _) => Fault::not_done(refused(&or_status(status, code), &problem.detail())),
    }
}

fn transient(status: u16, code: &str) -> StoreError {
    StoreError::Transient {
        detail: joined(&format!("status {status}"), code),
    }
}

fn or_status(status: u16, code: &str) -> String {
    if code.is_empty() {
        status.to_string()
    } else {
        code.to_owned()
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(status: u16, body: &str) -> Fault {
        of_answer(status, None, body.as_bytes()).unwrap()
    }

    fn error(status: u16, body: &str) -> (StoreError, bool) {
        match fault(status, body) {
            Fault::Failed { error, not_done } => (error, not_done),
            other @ (Fault::Conflict | Fault::Duplicate { .. } | Fault::StaleToken { .. }) => {
                panic!("{other:?}")
            }
        }
    }

    #[test]
    fn a_412_is_a_conflict_in_every_envelope_and_with_any_body() {
        for body in [
            r#"{"data":[{"code":"ALREADY_MODIFIED","status":"error","details":{"id":"1"}}]}"#,
            r#"{"code":"ALREADY_MODIFIED","details":{},"message":"x","status":"error"}"#,
            "<html>precondition</html>",
            "",
        ] {
            assert_eq!(fault(412, body), Fault::Conflict, "{body}");
        }
        let item = r#"{"data":[{"code":"ALREADY_MODIFIED","details":{},"status":"error"}]}"#;
        assert_eq!(fault(400, item), Fault::Conflict);
        assert_eq!(
            of_problem(&Problem::of_body(item.as_bytes())),
            Fault::Conflict
        );
    }

    #[test]
    fn a_429_is_a_limit_whatever_its_body() {
        for (status, body) in [
            (
                429,
                r#"{"code":"TOO_MANY_REQUESTS","details":{},"message":"x","status":"error"}"#,
            ),
            (
                429,
                r#"{"code":429,"error":"TOO_MANY_REQUESTS","error_info":"x","details":[]}"#,
            ),
            (429, "<html></html>"),
            (400, r#"{"code":"RATE_LIMIT_EXCEEDED"}"#),
            (400, r#"{"code":429}"#),
        ] {
            let limited = StoreError::RateLimited { retry_after: None };
            assert_eq!(error(status, body), (limited, true), "{status} {body}");
        }
    }

    #[test]
    fn server_errors_and_timeouts_prove_nothing() {
        for (status, body) in [
            (
                500,
                r#"{"code":"INTERNAL_ERROR","details":{},"message":"x","status":"error"}"#,
            ),
            (503, "<html>maintenance</html>"),
            (502, r#"{"code":"ALREADY_MODIFIED"}"#),
            (408, ""),
            (
                400,
                r#"{"data":[{"code":"INTERNAL_ERROR","status":"error"}]}"#,
            ),
        ] {
            let (error, not_done) = error(status, body);
            assert!(
                matches!(error, StoreError::Transient { .. }),
                "{status} {body}"
            );
            assert!(!not_done, "{status} {body}");
        }
        assert!(!error(302, "").1);
    }

    #[test]
    fn only_a_refused_token_is_worth_another_one() {
        for (status, body) in [
            (
                401,
                r#"{"code":"INVALID_TOKEN","details":{},"message":"invalid oauth token","status":"error"}"#,
            ),
            (401, r#"{"code":"AUTHENTICATION_FAILURE"}"#),
            (401, "<html></html>"),
        ] {
            assert!(
                matches!(fault(status, body), Fault::StaleToken { .. }),
                "{body}"
            );
        }
        for (status, body) in [
            (401, r#"{"code":"OAUTH_SCOPE_MISMATCH","details":{}}"#),
            (403, r#"{"code":"OAUTH_SCOPE_MISMATCH","details":{}}"#),
            (
                403,
                r#"{"code":"NO_PERMISSION","details":{"permissions":["Crm_Implied"]}}"#,
            ),
            (400, r#"{"code":"AUTHORIZATION_FAILED"}"#),
            (403, ""),
        ] {
            let (error, not_done) = error(status, body);
            assert!(
                matches!(error, StoreError::Unauthorized { .. }),
                "{status} {body}"
            );
            assert!(not_done);
        }
    }

    #[test]
    fn an_id_that_means_nothing_is_not_found_and_a_bad_field_is_refused() {
        for body in [
            r#"{"code":"INVALID_DATA","details":{"resource_path_index":1},"message":"the id given seems to be invalid"}"#,
            r#"{"data":[{"code":"INVALID_DATA","details":{"api_name":"id"},"message":"invalid data"}]}"#,
        ] {
            assert_eq!(error(400, body), (StoreError::NotFound, true), "{body}");
        }
        let long = r#"{"data":[{"code":"INVALID_DATA","details":{"maximum_length":32000,"api_name":"Progress_JSON","json_path":"$.data[0].Progress_JSON"},"message":"invalid data","status":"error"}]}"#;
        let (error, _) = error(400, long);
        assert_eq!(
            error.to_string(),
            "the CRM refuses: INVALID_DATA invalid data, api_name Progress_JSON, \
             json_path $.data[0].Progress_JSON, maximum_length 32000"
        );
    }

    #[test]
    fn a_duplicate_names_the_other_record_in_either_place() {
        for (details, other) in [
            (
                r#"{"api_name":"K","duplicate_record":{"id":"7"},"id":"8"}"#,
                Some("7"),
            ),
            (r#"{"api_name":"K","id":"8"}"#, Some("8")),
            (r#"{"api_name":"K","id":8}"#, None),
            (r#"{"api_name":"K"}"#, None),
        ] {
            let body = format!(r#"{{"data":[{{"code":"DUPLICATE_DATA","details":{details}}}]}}"#);
            let expected = Fault::Duplicate {
                field: Some("K".to_owned()),
                other: other.map(|id| HistoryId::parse(id).unwrap()),
            };
            assert_eq!(fault(400, &body), expected, "{details}");
        }
    }

    #[test]
    fn a_wrong_address_is_a_refusal_and_not_a_missing_record() {
        let (url, _) = error(404, r#"{"code":"INVALID_URL_PATTERN","details":{}}"#);
        assert!(matches!(url, StoreError::Refused { code, .. } if code == "INVALID_URL_PATTERN"));
        let (page, _) = error(404, "<html>no such page</html>");
        assert!(matches!(page, StoreError::Refused { code, .. } if code == "404"));
        let module = r#"{"code":"INVALID_MODULE","details":{"resource_path_index":0}}"#;
        assert!(matches!(error(400, module).0, StoreError::Refused { .. }));
    }

    #[test]
    fn what_was_sent_is_not_repeated_in_an_error() {
        let body =
            r#"{"code":"X","details":{"value":"private","actual":"private"},"message":"no"}"#;
        assert!(!format!("{:?}", error(400, body)).contains("private"));
    }

    proptest! {
        #[test]
        fn any_status_and_body_give_a_verdict(status in 0u16..1000, body in any::<Vec<u8>>()) {
            let fault = of_answer(status, None, &body);
            prop_assert_eq!(fault.is_none(), (200..300).contains(&status));
        }

        #[test]
        fn any_json_gives_a_verdict_of_bounded_length(code in any::<String>(), message in any::<String>()) {
            let body = serde_json::json!({"data": [{"code": code, "message": message}]}).to_string();
            let text = of_answer(400, None, body.as_bytes()).unwrap().into_error().to_string();
            prop_assert!(text.len() < 4_000);
        }
    }
}
