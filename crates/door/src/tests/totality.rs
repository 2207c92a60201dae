use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::support::{event, expect, ring};
use crate::{
    Expected, HistoryIdIn, Purpose, Refusal, Request, Response, Secret, TokenKey, verify_bearer,
    verify_receipt, verify_signed,
};

/// Everything a function does at its door, on any event text.
fn serve(text: &str) -> Response {
    let request = match Request::parse(text, 0, "inv") {
        Ok(request) => request,
        Err(refusal) => return refusal.answer_without_request("inv"),
    };
    let handle = || -> Result<Response, Refusal> {
        let token_key = TokenKey::new(Secret::parse(&"t".repeat(32)).unwrap(), "local");
        let due = |purpose| Expected {
            purpose,
            history_id: "7",
            rev: None,
            input_sha256: None,
            document_sha256: None,
        };
        let _ = request.query("token");
        let tokens = [
            verify_bearer(&request, &token_key, &due(Purpose::Confirm)),
            verify_receipt(&request, &token_key, &due(Purpose::Receipt)),
        ];
        assert!(tokens.iter().all(Result::is_err));
        let signed = verify_signed::<Value>(&request, &ring(), &expect(HistoryIdIn::Body));
        request.segments()?;
        request.require_content_type("application/pdf")?;
        request.body(100)?;
        Response::json(200, &signed?.body)
    };
    request.finish(handle())
}

fn assert_refused_well(response: &Response) {
    assert!((400..500).contains(&response.status()));
    let wire = serde_json::to_string(response).unwrap();
    let wire: Value = serde_json::from_str(&wire).unwrap();
    let body: Value = serde_json::from_str(wire["body"].as_str().unwrap()).unwrap();
    assert_eq!(wire["headers"]["cache-control"], "no-store");
    assert_eq!(body["status"], wire["statusCode"]);
    assert!(body["code"].is_string() && body["request_id"].is_string());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((member(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Names that the event has, so that arbitrary values meet the code that reads them.
fn member() -> impl Strategy<Value = String> {
    let known = [
        "rawPath",
        "rawQueryString",
        "headers",
        "requestContext",
        "http",
        "method",
        "requestId",
        "timeEpoch",
        "body",
        "isBase64Encoded",
        "webhook-id",
        "$serde_json::private::RawValue",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(String::from),
        ".{0,8}"
    ]
}

proptest! {
    #[test]
    fn any_json_as_the_event_gets_a_4xx(value in any_json()) {
        assert_refused_well(&serve(&value.to_string()));
    }

    #[test]
    fn any_text_as_the_event_gets_a_4xx(text in ".{0,200}") {
        assert_refused_well(&serve(&text));
    }

    #[test]
    fn any_value_in_any_place_of_a_true_event_gets_a_4xx(name in member(), value in any_json(), nested: bool) {
        let mut event = event("POST", "/v1/histories", json!({"webhook-id": "m"}), "{}");
        if nested { event["requestContext"][name] = value } else { event[name] = value }
        assert_refused_well(&serve(&event.to_string()));
    }

    #[test]
    fn any_headers_path_and_body_get_a_4xx(
        names in prop::collection::hash_map(
            prop_oneof![
                Just("webhook-id".to_owned()), Just("Webhook-Timestamp".to_owned()),
                Just("webhook-signature".to_owned()), Just("authorization".to_owned()),
                Just("sendtrail-receipt".to_owned()), Just("content-type".to_owned()), ".{0,20}",
            ],
            prop_oneof![".{0,60}", "(Bearer )?[A-Za-z0-9_.-]{0,60}", "v1,[A-Za-z0-9+/=]{0,44}"],
            0..8,
        ),
        path in prop_oneof![".{0,40}", "(/[%a-z0-9]{0,6}){0,5}"],
        body in prop_oneof![".{0,80}", "[A-Za-z0-9+/]{0,80}={0,3}"],
        base64: bool,
        method in ".{0,6}",
    ) {
        let mut event = event(&method, &path, json!(names), &body);
        event["isBase64Encoded"] = json!(base64);
        assert_refused_well(&serve(&event.to_string()));
    }
}
