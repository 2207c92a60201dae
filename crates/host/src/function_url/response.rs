//! What a function answered, read as an HTTP response.

use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

/// Headers that the gateway sets itself; the function's own are passed on under another name.
const REMAPPED: [HeaderName; 6] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::DATE,
    header::HOST,
    header::SERVER,
    header::TRANSFER_ENCODING,
];

/// An object with `statusCode` is the response; any other JSON is the body of a 200. The error says what is malformed.
pub(crate) fn from_answer(answer: &[u8]) -> Result<Response, &'static str> {
    let value: Value = serde_json::from_slice(answer).map_err(|_| "the answer is no JSON")?;
    match value {
        Value::Object(object) if object.contains_key("statusCode") => from_object(&object),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            let mut response = Response::new(Body::from(answer.to_vec()));
            response.headers_mut().insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
            Ok(response)
        }
    }
}

fn from_object(object: &Map<String, Value>) -> Result<Response, &'static str> {
    let status = object["statusCode"]
        .as_u64()
        .and_then(|code| u16::try_from(code).ok());
    let status = status
        .filter(|code| (200..=599).contains(code))
        .and_then(|code| StatusCode::from_u16(code).ok());
    let mut response = Response::new(body(object)?);
    *response.status_mut() = status.ok_or("statusCode is not 200 to 599")?;
    let headers = response.headers_mut();
    match object.get("headers") {
        None | Some(Value::Null) => {}
        Some(Value::Object(given)) => {
            for (name, value) in given {
                set(headers, name, value)?;
            }
        }
        Some(_) => return Err("headers is no object"),
    }
    match object.get("cookies") {
        None | Some(Value::Null) => {}
        Some(Value::Array(cookies)) => {
            for cookie in cookies {
                headers.append(header::SET_COOKIE, header_value(cookie)?);
            }
        }
        Some(_) => return Err("cookies is no list"),
    }
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("application/json"));
    Ok(response)
}

fn body(object: &Map<String, Value>) -> Result<Body, &'static str> {
    let is_base64 = match object.get("isBase64Encoded") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_base64)) => *is_base64,
        Some(_) => return Err("isBase64Encoded is no boolean"),
    };
    match object.get("body") {
        None | Some(Value::Null) => Ok(Body::empty()),
        Some(Value::String(text)) if is_base64 => STANDARD
            .decode(text)
            .map(Body::from)
            .map_err(|_| "body is no base64"),
        Some(Value::String(text)) => Ok(Body::from(text.clone())),
        Some(_) => Err("body is no string"),
    }
}

fn set(headers: &mut HeaderMap, name: &str, value: &Value) -> Result<(), &'static str> {
    let mut name = HeaderName::try_from(name).map_err(|_| "a header name is malformed")?;
    if REMAPPED.contains(&name) {
        name = HeaderName::try_from(format!("x-amzn-remapped-{name}"))
            .map_err(|_| "a header name is malformed")?;
    }
    headers.append(name, header_value(value)?);
    Ok(())
}

fn header_value(value: &Value) -> Result<HeaderValue, &'static str> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(yes) => yes.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err("a header value is no text");
        }
    };
    HeaderValue::try_from(text).map_err(|_| "a header value is malformed")
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use serde_json::json;

    use super::*;

    async fn bytes(response: Response) -> Vec<u8> {
        to_bytes(response.into_body(), usize::MAX)
            .await
            .unwrap()
            .to_vec()
    }

    #[tokio::test]
    async fn a_bare_value_is_a_json_body() {
        for bare in [r#""Hello""#, r#"{"a": 1}"#, "null", "[1,2]"] {
            let response = from_answer(bare.as_bytes()).unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["content-type"], "application/json");
            assert_eq!(bytes(response).await, bare.as_bytes());
        }
    }

    #[tokio::test]
    async fn status_headers_cookies_and_body_are_used() {
        let answer = json!({"statusCode": 201, "headers": {"X-A": "1", "n": 5}, "cookies": ["a=1", "b=2"], "body": "hi"});
        let response = from_answer(answer.to_string().as_bytes()).unwrap();
        assert_eq!(response.status(), 201);
        assert_eq!(response.headers()["x-a"], "1");
        assert_eq!(response.headers()["n"], "5");
        assert_eq!(response.headers().get_all("set-cookie").iter().count(), 2);
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(bytes(response).await, b"hi");
    }

    #[tokio::test]
    async fn base64_is_decoded_to_the_very_bytes() {
        let all: Vec<u8> = (0..=255).collect();
        let answer =
            json!({"statusCode": 200, "body": STANDARD.encode(&all), "isBase64Encoded": true});
        assert_eq!(
            bytes(from_answer(answer.to_string().as_bytes()).unwrap()).await,
            all
        );
    }

    #[test]
    fn a_length_that_the_function_claims_is_not_believed() {
        let answer = json!({"statusCode": 200, "headers": {"Content-Length": "9999", "Connection": "x"}, "body": "hi"});
        let response = from_answer(answer.to_string().as_bytes()).unwrap();
        assert!(!response.headers().contains_key("content-length"));
        assert!(!response.headers().contains_key("connection"));
        assert_eq!(response.headers()["x-amzn-remapped-content-length"], "9999");
    }

    #[test]
    fn malformed_answers_are_refused() {
        for answer in [
            json!({"statusCode": "200"}),
            json!({"statusCode": 100}),
            json!({"statusCode": 700}),
            json!({"statusCode": 200.5}),
            json!({"statusCode": 200, "body": 5}),
            json!({"statusCode": 200, "body": "%", "isBase64Encoded": true}),
            json!({"statusCode": 200, "headers": []}),
            json!({"statusCode": 200, "headers": {"a": null}}),
            json!({"statusCode": 200, "headers": {"a": "x\r\ny: z"}}),
            json!({"statusCode": 200, "headers": {"a b": "x"}}),
            json!({"statusCode": 200, "cookies": "a=1"}),
        ] {
            assert!(
                from_answer(answer.to_string().as_bytes()).is_err(),
                "{answer}"
            );
        }
        assert!(from_answer(b"not json").is_err());
        assert!(from_answer(b"").is_err());
    }
}
