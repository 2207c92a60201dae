//! What a Function URL takes as the answer.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;

use crate::{Code, Refusal};

/// Most bytes of a response as JSON that Lambda carries.
pub const MAX_RESPONSE_BYTES: usize = 6 * 1024 * 1024;

/// Room for status and headers in a response.
const ENVELOPE_BYTES: usize = 8 * 1024;

/// Most bytes of a PDF that fit a response after base64.
pub const MAX_PDF_BYTES: usize = (MAX_RESPONSE_BYTES - ENVELOPE_BYTES) / 4 * 3;

/// The answer in the form of a Function URL. Always carries `content-type`,
/// `cache-control: no-store` and `x-content-type-options: nosniff`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    status_code: u16,
    headers: BTreeMap<&'static str, String>,
    body: String,
    is_base64_encoded: bool,
}

impl Response {
    /// A JSON answer with this HTTP status.
    ///
    /// # Errors
    /// `internal` when the value cannot be written as JSON or is too large to carry.
    pub fn json(status: u16, value: &impl Serialize) -> Result<Self, Refusal> {
        let body = serde_json::to_string(value)
            .map_err(|_| Refusal::internal("the answer cannot be written as JSON"))?;
        if escaped_bytes(&body) > MAX_RESPONSE_BYTES - ENVELOPE_BYTES {
            return Err(Refusal::internal("the answer is too large to carry"));
        }
        Ok(Self::text(status, "application/json", body))
    }

    /// A PDF with status 200.
    ///
    /// # Errors
    /// `too_large` above [`MAX_PDF_BYTES`].
    pub fn pdf(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.len() > MAX_PDF_BYTES {
            return Err(
                Refusal::new(Code::TooLarge, "pdf_too_large").with_detail(format!(
                    "the document may have at most {MAX_PDF_BYTES} bytes"
                )),
            );
        }
        let mut response = Self::text(200, "application/pdf", STANDARD.encode(bytes));
        response.is_base64_encoded = true;
        Ok(response)
    }

    /// Adds a header. The name is lower case; characters of the value that no header may have
    /// are replaced by `?`.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        let clean = value
            .chars()
            .map(|c| if matches!(c, ' '..='~') { c } else { '?' });
        self.headers.insert(name, clean.collect());
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status_code
    }

    /// A header's value by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The body text: JSON, or base64 of a PDF.
    pub fn body(&self) -> &str {
        &self.body
    }

    pub(crate) fn problem(status: u16, body: String) -> Self {
        Self::text(status, "application/problem+json", body)
    }

    fn text(status_code: u16, content_type: &str, body: String) -> Self {
        let headers = [
            ("cache-control", "no-store"),
            ("content-type", content_type),
            ("x-content-type-options", "nosniff"),
        ];
        Self {
            status_code,
            headers: headers.map(|(name, value)| (name, value.to_owned())).into(),
            body,
            is_base64_encoded: false,
        }
    }
}

/// Bytes of a text once it is a JSON string.
fn escaped_bytes(text: &str) -> usize {
    let cost = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(cost).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_response_has_the_form_of_a_function_url() {
        let response = Response::json(201, &json!({"state": "saved"})).unwrap();
        let wire = serde_json::to_value(response.with_header("etag", "a\nb\u{e9}")).unwrap();
        let expected = json!({
            "statusCode": 201,
            "headers": {
                "cache-control": "no-store",
                "content-type": "application/json",
                "etag": "a?b?",
                "x-content-type-options": "nosniff",
            },
            "body": "{\"state\":\"saved\"}",
            "isBase64Encoded": false,
        });
        assert_eq!(wire, expected);
    }

    #[test]
    fn a_pdf_survives_byte_for_byte() {
        let mut bytes = b"%PDF-1.7\n".to_vec();
        bytes.extend(0..=255);
        let wire = serde_json::to_value(Response::pdf(&bytes).unwrap()).unwrap();
        assert_eq!(wire["isBase64Encoded"], Value::Bool(true));
        assert_eq!(wire["headers"]["content-type"], "application/pdf");
        assert_eq!(
            STANDARD.decode(wire["body"].as_str().unwrap()).unwrap(),
            bytes
        );
    }

    #[test]
    fn nothing_larger_than_the_limit_is_handed_to_lambda() {
        let largest = Response::pdf(&vec![0xff; MAX_PDF_BYTES]).unwrap();
        assert!(serde_json::to_vec(&largest).unwrap().len() <= MAX_RESPONSE_BYTES);
        let refusal = Response::pdf(&vec![0xff; MAX_PDF_BYTES + 1]).unwrap_err();
        assert_eq!(refusal.code(), Code::TooLarge);
        // Quotes double when the body becomes a JSON string.
        let quotes = "\"".repeat(1_000_000);
        let carried = Response::json(200, &quotes).unwrap();
        assert!(serde_json::to_vec(&carried).unwrap().len() <= MAX_RESPONSE_BYTES);
        let refusal = Response::json(200, &quotes.repeat(2)).unwrap_err();
        assert_eq!(refusal.code(), Code::Internal);
    }

    #[test]
    fn the_escaped_size_is_exact() {
        let text = "a\"\\\u{1}é\u{1f4ec}\u{7f}";
        let written = serde_json::to_string(text).unwrap();
        assert_eq!(escaped_bytes(text), written.len() - 2);
    }
}
