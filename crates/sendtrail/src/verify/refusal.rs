//! The log line of a refusal.

use serde_json::{Map, Value};

use super::arrival::ArrivedBody;
use crate::failure::{Failure, Kind};

/// The message that the doors log a refusal with.
const MESSAGE: &str = "request refused";

/// What a refusal's log line tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) request_id: Option<String>,
    pub(super) code: String,
    pub(super) reason: String,
    pub(super) body: Option<ArrivedBody>,
    pub(super) is_base64: Option<bool>,
    pub(super) content_type: Option<String>,
    /// Arrival minus timestamp, in seconds.
    pub(super) clock_delta_s: Option<i64>,
}

/// Reads the one refusal in a text of log lines. Other lines are passed over, and so is what stands before a
/// line's JSON, such as the times that a log viewer adds.
pub(super) fn read(text: &str) -> Result<Refusal, Failure> {
    let usage = |what: String| Failure::new(Kind::Usage, what);
    let whole = refusal(text);
    let mut found: Vec<Refusal> = match whole {
        Some(one) => vec![one],
        None => text.lines().filter_map(refusal).collect(),
    };
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one),
        (Some(_), more) => Err(usage(format!(
            "--refusal has {} refusals; give the line of one",
            more + 1
        ))),
        (None, _) => Err(usage(format!(
            "--refusal has no log line of a refusal: a JSON object with the message \"{MESSAGE}\" and a reason"
        ))),
    }
}

fn refusal(line: &str) -> Option<Refusal> {
    let json = line.get(line.find('{')?..)?;
    let json: Map<String, Value> = serde_json::from_str(json.trim_end()).ok()?;
    // Some set-ups keep an event's fields in an object of their own.
    let nested = json.get("fields").and_then(Value::as_object);
    let fields = nested.unwrap_or(&json);
    let field = |name: &str| fields.get(name).or_else(|| json.get(name));
    let text = |name: &str| field(name).and_then(Value::as_str).map(str::to_owned);
    if text("message").as_deref() != Some(MESSAGE) {
        return None;
    }
    let sha256 = text("body.sha256").map(|hash| hash.to_ascii_lowercase());
    let bytes = field("body.bytes").and_then(Value::as_u64);
    Some(Refusal {
        request_id: text("request.id"),
        code: text("code").unwrap_or_default(),
        reason: text("reason")?,
        body: sha256.map(|sha256| ArrivedBody { sha256, bytes }),
        is_base64: field("body.base64").and_then(Value::as_bool),
        content_type: text("content_type"),
        clock_delta_s: field("clock_delta_s").and_then(Value::as_i64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"timestamp":"2026-01-01T00:00:00Z","level":"INFO","code":"unauthorized","status":401,"reason":"mismatch","request.id":"r-1","body.bytes":7,"body.sha256":"AB01","body.base64":false,"content_type":"text/plain","clock_delta_s":-4,"message":"request refused"}"#;

    #[test]
    fn a_line_is_read_with_or_without_what_a_log_viewer_adds() {
        let due = Refusal {
            request_id: Some("r-1".into()),
            code: "unauthorized".into(),
            reason: "mismatch".into(),
            body: Some(ArrivedBody {
                sha256: "ab01".into(),
                bytes: Some(7),
            }),
            is_base64: Some(false),
            content_type: Some("text/plain".into()),
            clock_delta_s: Some(-4),
        };
        let nested = r#"{"level":"INFO","fields":{"message":"request refused","reason":"mismatch","code":"unauthorized","request.id":"r-1","body.bytes":7,"body.sha256":"ab01","body.base64":false,"content_type":"text/plain","clock_delta_s":-4}}"#;
        let pretty: Value = serde_json::from_str(LINE).unwrap();
        for text in [
            LINE.to_owned(),
            format!("START x\n2026-01-01 {LINE}\r\nEND {{}}\n"),
            nested.to_owned(),
            format!("{pretty:#}"),
        ] {
            assert_eq!(read(&text).unwrap(), due, "{text}");
        }
    }

    #[test]
    fn no_refusal_and_several_are_named_as_such() {
        for (text, due) in [
            ("", "no log line"),
            ("{}", "no log line"),
            (r#"{"message":"request refused"}"#, "no log line"),
            (r#"{"message":"poll finished","reason":"x"}"#, "no log line"),
            (&format!("{LINE}\n{LINE}"), "2 refusals"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.kind, Kind::Usage);
            assert!(error.message.contains(due), "{}", error.message);
        }
    }

    #[test]
    fn a_line_without_a_body_is_read_too() {
        let line = r#"{"message":"request refused","reason":"no_route","code":"not_found","body.bytes":null}"#;
        assert_eq!(read(line).unwrap().body, None);
    }
}
