//! The headers of a captured request, in whatever form they were kept.

use serde_json::{Map, Value};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::failure::{Failure, Kind};

/// What a capture holds; nothing is checked yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Capture {
    pub(super) id: Option<String>,
    pub(super) timestamp: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) content_type: Option<String>,
    /// When the gateway got it, Unix seconds; in captured events only.
    pub(super) arrived: Option<i64>,
    /// The body as it arrived; in captured events only.
    pub(super) body: Option<Vec<u8>>,
}

impl Capture {
    /// Takes a header; one that came before is joined by a comma, as the gateway does it.
    fn take(&mut self, name: &str, value: &str) {
        let slot = match name.to_ascii_lowercase().as_str() {
            "webhook-id" => &mut self.id,
            "webhook-timestamp" => &mut self.timestamp,
            "webhook-signature" => &mut self.signature,
            "content-type" => &mut self.content_type,
            _ => return,
        };
        match slot {
            Some(before) => {
                before.push(',');
                before.push_str(value);
            }
            None => *slot = Some(value.to_owned()),
        }
    }
}

/// Reads headers: lines as HTTP and `curl -v` write them, a JSON object of them, or the event of a Function URL.
pub(super) fn read(bytes: &[u8]) -> Result<Capture, Failure> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.starts_with('{') {
        let json = serde_json::from_str(text).map_err(|error| {
            Failure::new(Kind::Usage, format!("--headers is no JSON object: {error}"))
        })?;
        return of_json(&json);
    }
    let mut capture = Capture::default();
    for line in text.lines() {
        // What was answered and what curl says about the connection is none of the request's.
        if line.starts_with("< ") || line.starts_with("* ") {
            continue;
        }
        let line = line.strip_prefix("> ").unwrap_or(line);
        if let Some((name, value)) = line.split_once(':') {
            capture.take(name.trim(), value.trim_matches([' ', '\t', '\r']));
        }
    }
    Ok(capture)
}

fn of_json(json: &Map<String, Value>) -> Result<Capture, Failure> {
    let mut capture = Capture::default();
    let nested = json.get("headers").and_then(Value::as_object);
    for (name, value) in nested.unwrap_or(json) {
        let values: Vec<&Value> = match value {
            Value::Array(several) => several.iter().collect(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => vec![value],
        };
        for value in values {
            match value {
                Value::String(text) => capture.take(name, text),
                Value::Number(number) => capture.take(name, &number.to_string()),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {}
            }
        }
    }
    if nested.is_some() {
        let at = json
            .get("requestContext")
            .and_then(|at| at.get("timeEpoch"));
        capture.arrived = at.and_then(Value::as_i64).map(|at| at.div_euclid(1000));
        capture.body = body(json)?;
    }
    Ok(capture)
}

fn body(event: &Map<String, Value>) -> Result<Option<Vec<u8>>, Failure> {
    let Some(text) = event.get("body").and_then(Value::as_str) else {
        return Ok(None);
    };
    if event.get("isBase64Encoded") != Some(&Value::Bool(true)) {
        return Ok(Some(text.as_bytes().to_vec()));
    }
    let decoded = STANDARD.decode(text).map_err(|error| {
        Failure::new(
            Kind::Usage,
            format!("the event's body is no base64: {error}"),
        )
    })?;
    Ok(Some(decoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(capture: &Capture) -> [Option<&str>; 3] {
        [&capture.id, &capture.timestamp, &capture.signature].map(Option::as_deref)
    }

    #[test]
    fn headers_are_read_from_every_usual_form() {
        let due = [Some("msg_1"), Some("17"), Some("v1,a")];
        for text in [
            "webhook-id: msg_1\nwebhook-timestamp: 17\nwebhook-signature: v1,a\n",
            "POST /v1/histories HTTP/1.1\r\nHost: x\r\nWebhook-Id:msg_1\r\nWEBHOOK-TIMESTAMP: 17 \r\nWebhook-Signature: v1,a\r\n\r\n",
            "* Connected\n> POST / HTTP/1.1\n> webhook-id: msg_1\n> webhook-timestamp: 17\n> webhook-signature: v1,a\n< webhook-id: no",
            r#"{"webhook-id":"msg_1","webhook-timestamp":"17","Webhook-Signature":["v1,a"]}"#,
            r#"{"headers":{"webhook-id":"msg_1","webhook-timestamp":17,"webhook-signature":"v1,a"}}"#,
        ] {
            assert_eq!(three(&read(text.as_bytes()).unwrap()), due, "{text}");
        }
    }

    #[test]
    fn a_repeated_header_is_joined_as_the_gateway_joins_it() {
        let capture = read(b"webhook-id: a\nwebhook-id: b\n").unwrap();
        assert_eq!(three(&capture), [Some("a,b"), None, None]);
    }

    #[test]
    fn a_captured_event_brings_its_body_and_its_arrival() {
        let event = r#"{"headers":{"webhook-id":"i"},"body":"e30K","isBase64Encoded":true,
            "requestContext":{"timeEpoch":1700000000999}}"#;
        let capture = read(event.as_bytes()).unwrap();
        assert_eq!(capture.body.as_deref(), Some(&b"{}\n"[..]));
        assert_eq!(capture.arrived, Some(1_700_000_000));
        let plain = read(br#"{"headers":{},"body":"e30K"}"#).unwrap();
        assert_eq!(plain.body.as_deref(), Some(&b"e30K"[..]));
        let bad = r#"{"headers":{},"body":"{}","isBase64Encoded":true}"#;
        assert_eq!(read(bad.as_bytes()).unwrap_err().kind, Kind::Usage);
    }

    #[test]
    fn what_holds_no_header_gives_none_and_broken_json_is_told() {
        assert_eq!(read(b"\xff\xfe").unwrap(), Capture::default());
        assert_eq!(read(b"{\"webhook-id\":").unwrap_err().kind, Kind::Usage);
    }
}
