//! What came back, and how its body is read.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use sendtrail_core::ports::StoreError;
use serde_json::{Map, Value};

use crate::fault::{self, Fault, Problem};

/// An answer of success and what is known about when it was given.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body, whole.
    pub(crate) body: Bytes,
    /// The CRM's clock as known before this request was sent.
    pub(crate) clock_before: Option<Timestamp>,
    /// This answer's own `Date`.
    pub(crate) date: Option<Timestamp>,
}

/// What comes with a body: status, and what the headers told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The answer's own `Date`.
    pub(crate) date: Option<Timestamp>,
    /// How long it asks to wait.
    pub(crate) retry_after: Option<SignedDuration>,
}

impl Head {
    /// Reads status and headers.
    pub(crate) fn of(status: u16, headers: &HeaderMap) -> Self {
        let date = date(headers);
        Self {
            status,
            date,
            retry_after: retry_after(headers, date),
        }
    }

    /// The answer with this body, or what its status says went wrong.
    pub(crate) fn with_body(
        self,
        body: Bytes,
        clock_before: Option<Timestamp>,
    ) -> Result<Answer, Fault> {
        match fault::of_answer(self.status, self.retry_after, &body) {
            Some(fault) => Err(fault),
            None => Ok(Answer {
                status: self.status,
                body,
                clock_before,
                date: self.date,
            }),
        }
    }
}

impl Answer {
    /// The rows of a read, and whether the CRM says that more follow. 204 is no row; anything else without
    /// `data` is unreadable.
    pub(crate) fn page(&self) -> Result<(Vec<Map<String, Value>>, bool), StoreError> {
        if self.status == 204 {
            return Ok((Vec::new(), false));
        }
        let mut value = self.json()?;
        let more = value.pointer("/info/more_records") == Some(&Value::Bool(true));
        let Some(Value::Array(items)) = value.get_mut("data").map(Value::take) else {
            return Err(self.problem().into_error());
        };
        let mut rows = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::Object(row) => rows.push(row),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_) => return Err(malformed("objects in data")),
            }
        }
        Ok((rows, more))
    }

    /// The rows of a read.
    pub(crate) fn rows(&self) -> Result<Vec<Map<String, Value>>, StoreError> {
        self.page().map(|(rows, _)| rows)
    }

    /// The details of the one item written: it counts as written only with `SUCCESS`.
    pub(crate) fn written(&self) -> Result<Map<String, Value>, Fault> {
        let value = self.json().map_err(Fault::unsure)?;
        let Some(item) = value.get("data").and_then(|data| data.get(0)) else {
            return Err(self.problem());
        };
        let problem = Problem::of_item(item);
        match problem.code.as_str() {
            "SUCCESS" => Ok(item
                .get("details")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default()),
            "" => Err(Fault::malformed("a code in data[0]")),
            _ => Err(fault::of_problem(&problem)),
        }
    }

    /// The bytes of a file; an error in JSON that came with a status of success is no file.
    pub(crate) fn file(self) -> Result<Bytes, StoreError> {
        if self.status == 204 {
            return Err(StoreError::NotFound);
        }
        if self.body.starts_with(b"{") {
            let problem = Problem::of_body(&self.body);
            if !problem.code.is_empty() {
                return Err(fault::of_problem(&problem).into_error());
            }
        }
        Ok(self.body)
    }

    fn json(&self) -> Result<Value, StoreError> {
        serde_json::from_slice(&self.body).map_err(|_| malformed("JSON"))
    }

    fn problem(&self) -> Fault {
        let problem = Problem::of_body(&self.body);
        if problem.code.is_empty() || problem.code == "SUCCESS" {
            return Fault::malformed("data");
        }
        fault::of_problem(&problem)
    }
}

fn malformed(expected: &str) -> StoreError {
    StoreError::Malformed {
        detail: format!("expected {expected}"),
    }
}

/// The `Date` of an answer.
pub(crate) fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(DATE)?.to_str().ok()?;
    Timestamp::try_from(httpdate::parse_http_date(text).ok()?).ok()
}

/// The CRM is not believed to ask for more: its credits come back within a day.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(24);

/// How long the answer asks to wait: seconds, or a date compared with the answer's own; from zero to
/// [`LONGEST_WAIT`].
pub(crate) fn retry_after(headers: &HeaderMap, date: Option<Timestamp>) -> Option<SignedDuration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // A number too long for 64 bits is a long wait, not garbage.
        text.parse().map_or(LONGEST_WAIT, SignedDuration::from_secs)
    } else {
        let until = httpdate::parse_http_date(text).ok()?;
        // The last days of the year 9999 are past every timestamp, and a long wait all the same.
        let until = Timestamp::try_from(until).unwrap_or(Timestamp::MAX);
        until.duration_since(date.unwrap_or_else(Timestamp::now))
    };
    Some(wait.clamp(SignedDuration::ZERO, LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reqwest::header::HeaderValue;

    fn answer(status: u16, body: &[u8]) -> Answer {
        Answer {
            status,
            body: Bytes::copy_from_slice(body),
            clock_before: None,
            date: None,
        }
    }

    #[test]
    fn no_content_is_no_row_and_an_empty_200_is_unreadable() {
        assert_eq!(answer(204, b"").rows(), Ok(Vec::new()));
        for body in ["", "{}", "[]", "{\"data\":7}", "{\"data\":[7]}", "<html>"] {
            let rows = answer(200, body.as_bytes()).rows();
            assert!(matches!(rows, Err(StoreError::Malformed { .. })), "{body}");
        }
    }

    #[test]
    fn a_write_counts_only_with_success_in_its_item() {
        let done = r#"{"data":[{"code":"SUCCESS","details":{"id":"7"},"status":"success"}]}"#;
        let details = answer(200, done.as_bytes()).written().unwrap();
        assert_eq!(details.get("id"), Some(&Value::from("7")));
        for status in [200, 201, 207] {
            let body = r#"{"data":[{"code":"ALREADY_MODIFIED","details":{},"status":"error"}]}"#;
            let written = answer(status, body.as_bytes()).written();
            assert_eq!(written, Err(Fault::Conflict));
        }
        let locked = r#"{"data":[{"code":"RECORD_LOCKED","details":{},"status":"error"}]}"#;
        let fault = answer(200, locked.as_bytes()).written().unwrap_err();
        assert!(matches!(fault, Fault::Failed { not_done: true, .. }));
    }

    #[test]
    fn what_only_resembles_success_is_none() {
        for code in [" SUCCESS", "SUCCESS\u{200b}", "success", "'SUCCESS"] {
            let body = serde_json::json!({"data": [{"code": code, "details": {"id": "7"}}]});
            let written = answer(200, body.to_string().as_bytes()).written();
            assert!(written.is_err(), "{code:?}");
        }
    }

    #[test]
    fn an_unreadable_answer_to_a_write_proves_nothing() {
        for body in [
            "",
            "{\"data\":[{\"code\":\"SUCC",
            "{}",
            "{\"data\":[]}",
            "{\"data\":[{}]}",
        ] {
            let fault = answer(200, body.as_bytes()).written().unwrap_err();
            assert!(
                matches!(
                    fault,
                    Fault::Failed {
                        not_done: false,
                        ..
                    }
                ),
                "{body}"
            );
        }
    }

    #[test]
    fn an_error_in_place_of_a_file_is_no_file() {
        let body = br#"{"code":"NO_PERMISSION","details":{},"status":"error"}"#;
        let file = answer(200, body).file();
        assert!(matches!(file, Err(StoreError::Unauthorized { .. })));
        assert_eq!(answer(204, b"").file(), Err(StoreError::NotFound));
        assert_eq!(
            answer(200, b"{ no json").file(),
            Ok(Bytes::from_static(b"{ no json"))
        );
    }

    #[test]
    fn retry_after_is_read_in_seconds_and_as_a_date() {
        let now = Timestamp::from_second(1_767_225_600).unwrap();
        let read = |text: &'static str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            retry_after(&headers, Some(now))
        };
        assert_eq!(read("30"), Some(SignedDuration::from_secs(30)));
        assert_eq!(
            read("Thu, 01 Jan 2026 00:01:00 GMT"),
            Some(SignedDuration::from_secs(60))
        );
        assert_eq!(
            read("Wed, 31 Dec 2025 00:00:00 GMT"),
            Some(SignedDuration::ZERO)
        );
        for garbage in ["soon", "-5", "+5", ""] {
            assert_eq!(read(garbage), None, "{garbage}");
        }
    }

    #[test]
    fn no_wait_is_longer_than_a_day_however_it_is_written() {
        let now = Timestamp::from_second(1_767_225_600).unwrap();
        for text in [
            "86401",
            "4294967295",
            "99999999999999999999",
            "Fri, 31 Dec 9999 23:59:59 GMT",
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            let wait = retry_after(&headers, Some(now));
            assert_eq!(wait, Some(LONGEST_WAIT), "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_any_body_never_panics(status in 200u16..300, body in any::<Vec<u8>>()) {
            let answer = answer(status, &body);
            let _ = (answer.page(), answer.written(), answer.file());
        }
    }
}
