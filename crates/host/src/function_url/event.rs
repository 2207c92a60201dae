//! The event that a Function URL gives its function: payload format 2.0.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Headers between the client and the gateway only.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// What the gateway knows of a request beside its bytes.
pub(crate) struct Arrival {
    pub(crate) at: Timestamp,
    pub(crate) source_ip: IpAddr,
    pub(crate) request_id: String,
    pub(crate) trace_id: String,
    pub(crate) domain: String,
}

/// The event. Path and query keep their percent-encoding.
pub(crate) fn build(parts: &Parts, body: &[u8], arrival: &Arrival) -> Value {
    let raw_path = parts.uri.path();
    let raw_query = parts.uri.query().unwrap_or_default();
    let mut event = json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": raw_path,
        "rawQueryString": raw_query,
    });
    let cookies = cookies(&parts.headers);
    if !cookies.is_empty() {
        event["cookies"] = json!(cookies);
    }
    event["headers"] = Value::Object(headers(parts, body, arrival));
    if !raw_query.is_empty() {
        event["queryStringParameters"] = Value::Object(query(raw_query));
    }
    event["requestContext"] = context(parts, raw_path, arrival);
    let (text, is_base64) = encode(&parts.headers, body);
    if let Some(text) = text {
        event["body"] = Value::String(text);
    }
    event["isBase64Encoded"] = Value::Bool(is_base64);
    event
}

fn context(parts: &Parts, raw_path: &str, arrival: &Arrival) -> Value {
    let prefix = arrival.domain.split('.').next().unwrap_or_default();
    let protocol = if parts.version == Version::HTTP_10 {
        "HTTP/1.0"
    } else {
        "HTTP/1.1"
    };
    json!({
        "accountId": "anonymous",
        "apiId": prefix,
        "domainName": arrival.domain,
        "domainPrefix": prefix,
        "http": {
            "method": parts.method.as_str(),
            "path": raw_path,
            "protocol": protocol,
            "sourceIp": arrival.source_ip.to_string(),
            "userAgent": parts.headers.get(header::USER_AGENT).map(text).unwrap_or_default(),
        },
        "requestId": arrival.request_id,
        "routeKey": "$default",
        "stage": "$default",
        "time": arrival.at.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
        "timeEpoch": arrival.at.as_millisecond(),
    })
}

/// Names in lower case, values of a repeated header joined by a comma, in the order they came.
fn headers(parts: &Parts, body: &[u8], arrival: &Arrival) -> Map<String, Value> {
    let mut joined = Map::new();
    for name in parts
        .headers
        .keys()
        .filter(|name| !HOP_BY_HOP.contains(name))
    {
        let values: Vec<String> = parts.headers.get_all(name).iter().map(text).collect();
        joined.insert(name.as_str().to_owned(), values.join(",").into());
    }
    let mut set = |name: &str, value: String| joined.insert(name.to_owned(), Value::String(value));
    if !body.is_empty() {
        set("content-length", body.len().to_string());
    }
    // On AWS a request reaches the function only through its own domain and over TLS.
    set("host", arrival.domain.clone());
    set(
        "x-amzn-trace-id",
        arrival
            .trace_id
            .split(';')
            .next()
            .unwrap_or_default()
            .to_owned(),
    );
    set("x-forwarded-for", arrival.source_ip.to_string());
    set("x-forwarded-port", "443".to_owned());
    set("x-forwarded-proto", "https".to_owned());
    joined
}

/// A header's bytes as text: UTF-8 where they are, else one character per byte.
fn text(value: &HeaderValue) -> String {
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => value
            .as_bytes()
            .iter()
            .map(|&byte| char::from(byte))
            .collect(),
    }
}

fn cookies(headers: &HeaderMap) -> Vec<String> {
    let lines = headers.get_all(header::COOKIE).iter().map(text);
    let pairs = lines.flat_map(|line| {
        line.split(';')
            .map(|pair| pair.trim().to_owned())
            .collect::<Vec<_>>()
    });
    pairs.filter(|pair| !pair.is_empty()).collect()
}

fn query(raw: &str) -> Map<String, Value> {
    let mut joined: Map<String, Value> = Map::new();
    for (key, value) in url::form_urlencoded::parse(raw.as_bytes()) {
        let value = match joined.get(key.as_ref()) {
            Some(Value::String(earlier)) => format!("{earlier},{value}"),
            Some(_) | None => value.into_owned(),
        };
        joined.insert(key.into_owned(), value.into());
    }
    joined
}

/// The body as the event carries it, and whether that is base64. An empty body is left out.
fn encode(headers: &HeaderMap, body: &[u8]) -> (Option<String>, bool) {
    if body.is_empty() {
        return (None, false);
    }
    match std::str::from_utf8(body) {
        Ok(text) if is_text(headers) => (Some(text.to_owned()), false),
        // A JSON string cannot hold bytes that are no UTF-8, whatever the content type says.
        Ok(_) | Err(_) => (Some(STANDARD.encode(body)), true),
    }
}

fn is_text(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(header::CONTENT_TYPE) else {
        return false;
    };
    let content_type = text(content_type);
    let kind = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    kind.starts_with("text/")
        || matches!(
            kind.as_str(),
            "application/json" | "application/xml" | "application/javascript"
        )
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use http::Request;

    use super::*;

    fn event(request: http::request::Builder, body: &[u8]) -> Value {
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let arrival = Arrival {
            at: "2026-03-02T01:02:03.456Z".parse().unwrap(),
            source_ip: Ipv4Addr::LOCALHOST.into(),
            request_id: "r-1".into(),
            trace_id: "Root=1-0-0;Parent=0".into(),
            domain: "abc.lambda-url.us-east-1.on.aws".into(),
        };
        build(&parts, body, &arrival)
    }

    fn post(content_type: Option<&str>, body: &[u8]) -> (Value, Value) {
        let mut request = Request::post("/x");
        if let Some(content_type) = content_type {
            request = request.header("Content-Type", content_type);
        }
        let event = event(request, body);
        (event["body"].clone(), event["isBase64Encoded"].clone())
    }

    #[test]
    fn text_types_arrive_as_text_and_all_others_as_base64() {
        for kind in [
            "text/plain",
            "TEXT/csv; charset=utf-8",
            "application/json",
            "application/json;charset=UTF-8",
            "application/xml",
            "application/javascript",
        ] {
            assert_eq!(
                post(Some(kind), b"{}"),
                (json!("{}"), json!(false)),
                "{kind}"
            );
        }
        for kind in [
            Some("application/x-www-form-urlencoded"),
            Some("application/problem+json"),
            Some("application/pdf"),
            Some("multipart/form-data; boundary=x"),
            Some(""),
            None,
        ] {
            assert_eq!(post(kind, b"{}"), (json!("e30="), json!(true)), "{kind:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_arrive_as_base64_whatever_the_type_says() {
        assert_eq!(
            post(Some("application/json"), b"\xff"),
            (json!("/w=="), json!(true))
        );
    }

    #[test]
    fn an_empty_body_is_left_out() {
        let event = event(Request::get("/x"), b"");
        assert!(event.get("body").is_none());
        assert_eq!(event["isBase64Encoded"], false);
        assert!(event["headers"].get("content-length").is_none());
    }

    #[test]
    fn path_and_query_keep_their_percent_encoding() {
        let event = event(Request::get("/a%2Fb/%E2%9C%93?q=%20x+y&q=2&z"), b"");
        assert_eq!(event["rawPath"], "/a%2Fb/%E2%9C%93");
        assert_eq!(event["requestContext"]["http"]["path"], "/a%2Fb/%E2%9C%93");
        assert_eq!(event["rawQueryString"], "q=%20x+y&q=2&z");
        assert_eq!(
            event["queryStringParameters"],
            json!({"q": " x y,2", "z": ""})
        );
    }

    #[test]
    fn repeated_headers_are_joined_by_commas_under_lower_case_names() {
        let request = Request::get("/")
            .header("X-Sig", "first")
            .header("x-sig", "second")
            .header("Connection", "close");
        let event = event(request, b"");
        assert_eq!(event["headers"]["x-sig"], "first,second");
        assert!(event["headers"].get("connection").is_none());
        assert!(event["headers"].get("X-Sig").is_none());
    }

    #[test]
    fn cookies_appear_in_the_header_and_in_the_list() {
        let event = event(Request::get("/").header("cookie", "a=1; b=2"), b"");
        assert_eq!(event["cookies"], json!(["a=1", "b=2"]));
        assert_eq!(event["headers"]["cookie"], "a=1; b=2");
    }

    #[test]
    fn the_context_is_that_of_an_open_function_url() {
        let event = event(
            Request::put("/y")
                .header("user-agent", "curl/8")
                .header("host", "127.0.0.1:1"),
            b"",
        );
        let context = &event["requestContext"];
        assert_eq!(context["accountId"], "anonymous");
        assert!(context.get("authorizer").is_none());
        assert_eq!(context["apiId"], "abc");
        assert_eq!(context["domainName"], "abc.lambda-url.us-east-1.on.aws");
        assert_eq!(event["headers"]["host"], "abc.lambda-url.us-east-1.on.aws");
        assert_eq!(context["time"], "02/Mar/2026:01:02:03 +0000");
        assert_eq!(context["timeEpoch"], 1_772_413_323_456_i64);
        assert_eq!(context["http"]["method"], "PUT");
        assert_eq!(context["http"]["userAgent"], "curl/8");
        assert_eq!(event["version"], "2.0");
    }
}
