use serde_json::{Value, json};

use super::support::{NOW, event, with_request};
use crate::{Code, Refusal, Request};

fn plain(path: &str) -> Value {
    event("GET", path, json!({}), "")
}

fn segments(path: &str) -> Result<Vec<String>, Code> {
    with_request(&plain(path), |request| {
        let segments = request.segments().map_err(|refusal| refusal.code())?;
        Ok(segments.into_iter().map(String::from).collect())
    })
}

#[test]
fn the_gateways_time_and_id_win_over_ours() {
    with_request(&plain("/"), |request| {
        assert_eq!(request.arrived_ms(), NOW * 1000 + 250);
        assert_eq!(request.request_id(), "req-1");
    });
    let mut bare = plain("/");
    bare["requestContext"] = json!({"http": {"method": "GET"}, "timeEpoch": null});
    with_request(&bare, |request| {
        assert_eq!(request.arrived_ms(), 5);
        assert_eq!(request.request_id(), "inv-1");
    });
}

#[test]
fn what_is_no_http_event_is_malformed() {
    let mut wrong_type = plain("/");
    wrong_type["headers"] = json!({"a": 1});
    let mut no_path = plain("/");
    no_path["rawPath"] = Value::Null;
    let as_array = json!([
        plain("/")["rawPath"],
        "",
        {},
        plain("/")["requestContext"],
        "",
        false
    ]);
    for event in [
        Value::Null,
        json!(7),
        json!("x"),
        json!([]),
        json!({}),
        as_array,
        wrong_type,
        no_path,
        json!({"source": "aws.scheduler", "detail": "{}"}),
    ] {
        let text = event.to_string();
        let refusal = Request::parse(&text, 0, "").unwrap_err();
        assert_eq!(refusal.code(), Code::MalformedRequest, "{text}");
    }
    for text in ["", "{", "{}{}", "\u{feff}{}"] {
        assert!(Request::parse(text, 0, "").is_err());
    }
}

#[test]
fn the_path_is_decoded_and_only_plain_segments_pass() {
    let parts = |path| segments(path).unwrap();
    assert_eq!(
        parts("/v1/histories/48_a-Z/preview"),
        ["v1", "histories", "48_a-Z", "preview"]
    );
    assert_eq!(parts("/%76%31/histories"), ["v1", "histories"]);
    assert!(parts("/").is_empty());
    for path in [
        "",
        "v1",
        "//v1",
        "/v1/",
        "/v1//x",
        "/v1/..",
        "/v1/a%2Fb",
        "/v1/a%2fb",
        "/v1/%00",
        "/v1/a.b",
        "/v1/%2576",
        "/v1/caf%C3%A9",
        "/v1/a b",
        "/v1/a+b",
        "/v1/<x>",
        "/v1/a;b",
        "/v1/a\\b",
    ] {
        assert_eq!(segments(path), Err(Code::NotFound), "{path}");
    }
    assert_eq!(
        segments(&format!("/{}", "a".repeat(65))),
        Err(Code::NotFound)
    );
    assert!(segments(&format!("/{}", "a".repeat(64))).is_ok());
    for path in ["/v1/%", "/v1/%2", "/v1/%zz", "/v1/%+1", "/v1/%ff"] {
        assert_eq!(segments(path), Err(Code::MalformedRequest), "{path}");
    }
}

#[test]
fn odd_queries_and_hosts_do_no_harm() {
    for query in ["a b", "\"<>", "#", "%zz", "token", "=", "&&", "é"] {
        let mut event = event("GET", "/v1", json!({"host": "<url-id>.lambda-url"}), "");
        event["rawQueryString"] = json!(query);
        with_request(&event, |request| assert_eq!(request.query("token"), None));
    }
    let mut event = plain("/v1");
    event["rawQueryString"] = json!("a=1&token=ab.cd&token=x");
    with_request(&event, |request| {
        assert_eq!(request.query("token"), Some("ab.cd"));
    });
}

fn body(text: &str, base64: bool, limit: usize) -> Result<Vec<u8>, &'static str> {
    let mut event = event("PUT", "/v1", json!({}), text);
    event["isBase64Encoded"] = json!(base64);
    let owned = |request: &Request<'_>| request.body(limit).map(std::borrow::Cow::into_owned);
    with_request(&event, owned).map_err(|refusal: Refusal| refusal.reason())
}

#[test]
fn a_body_is_the_senders_bytes_in_both_forms() {
    assert_eq!(
        body("{\"a\":\"\u{2028}\u{1f4ec}\"}", false, 100).unwrap(),
        "{\"a\":\"\u{2028}\u{1f4ec}\"}".as_bytes()
    );
    assert_eq!(body("/wD+", true, 100).unwrap(), [0xff, 0, 0xfe]);
    assert_eq!(body("", true, 0).unwrap(), b"");
    assert_eq!(body("", false, 0).unwrap(), b"");
    for wrong in [
        "a", "YQ", "YQ=", "YR==", "YQ==\n", "Y Q=", "-_-_", "====", "=", "é",
    ] {
        assert_eq!(body(wrong, true, 100), Err("body_not_base64"), "{wrong}");
    }
}

#[test]
fn the_limit_is_exact_and_comes_before_decoding() {
    for (text, base64) in [("abcd", false), ("YWJjZA==", true)] {
        assert_eq!(body(text, base64, 4).unwrap(), b"abcd");
        assert_eq!(body(text, base64, 3), Err("body_too_large"));
    }
    // Not base64 at all, and never looked at.
    assert_eq!(
        body(&"!".repeat(4_000_000), true, 64),
        Err("body_too_large")
    );
}

#[test]
fn a_missing_body_is_empty() {
    let mut event = plain("/v1");
    event["body"] = Value::Null;
    with_request(&event, |request| {
        assert_eq!(&*request.body(0).unwrap(), b"");
    });
}

#[test]
fn a_token_is_taken_only_from_one_well_formed_header() {
    let bearer = |value: &str| {
        let event = event(
            "GET",
            "/v1",
            json!({"Authorization": value, "sendtrail-receipt": value}),
            "",
        );
        with_request(&event, |request| {
            (
                request.bearer().map(str::to_owned),
                request.receipt().map(str::to_owned),
            )
        })
    };
    assert_eq!(bearer("Bearer ab-_.9").0.as_deref(), Some("ab-_.9"));
    assert_eq!(bearer("bEARER a.b").0.as_deref(), Some("a.b"));
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Basic ab",
        "Bearer a,Bearer b",
        "Bearer  a",
        "Bearer a b",
        "Bearer é",
    ] {
        assert_eq!(bearer(value).0, None, "{value}");
    }
    assert_eq!(bearer("a.b").1.as_deref(), Some("a.b"));
    assert_eq!(bearer("a.b,a.b").1, None);
    assert_eq!(bearer("").1, None);
}

#[test]
fn only_the_due_content_type_passes() {
    let required = |value: Value| {
        let event = event("PUT", "/v1", json!({"content-type": value}), "");
        with_request(&event, |request| {
            request.require_content_type("application/pdf").is_ok()
        })
    };
    assert!(required(json!("application/pdf")));
    assert!(required(json!("Application/PDF; charset=x")));
    assert!(!required(json!("application/pdfx")));
    assert!(!required(json!("application/json,application/pdf")));
    assert!(!required(Value::Null));
}
