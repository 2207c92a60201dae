use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::support::{SAVE, event, expect, ring, signed_event, with_request};
use crate::{Code, FieldError, HistoryIdIn, Refusal, Request, Response, verify_signed};

/// What is logged while `work` runs, one JSON line each.
fn logged<T>(work: impl FnOnce() -> T) -> (T, String) {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_writer(move || writer.clone())
        .finish();
    let result = tracing::subscriber::with_default(subscriber, work);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    (result, text)
}

fn answer(refusal: &Refusal) -> (Response, Value) {
    let event = event("GET", "/", json!({}), "");
    let response = with_request(&event, |request| refusal.answer(request));
    let body = serde_json::from_str(response.body()).unwrap();
    (response, body)
}

#[test]
fn every_code_is_a_full_problem_answer() {
    for code in Code::ALL {
        let (response, body) = answer(&Refusal::new(code, "a_reason"));
        assert_eq!(response.status(), code.status());
        assert_eq!(
            response.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(
            response.header("retry-after").is_some(),
            code.is_retryable()
        );
        let expected = json!({
            "type": format!("urn:sendtrail:problem:{}", code.as_str()),
            "title": code.title(),
            "status": code.status(),
            "code": code.as_str(),
            "request_id": "req-1",
        });
        assert_eq!(body, expected);
    }
}

#[test]
fn details_and_headers_are_told_where_they_help() {
    let (response, _) = answer(&Refusal::method_not_allowed("GET, PUT"));
    assert_eq!(response.header("allow"), Some("GET, PUT"));
    let busy = Refusal::new(Code::RateLimited, "crm").with_retry_after(42);
    assert_eq!(answer(&busy).0.header("retry-after"), Some("42"));
    let invalid = Refusal::invalid(vec![FieldError::new("/actor/id", "must not be empty")]);
    let (_, body) = answer(&invalid.with_detail("see errors"));
    assert_eq!(
        body["errors"],
        json!([{"pointer": "/actor/id", "detail": "must not be empty"}])
    );
    assert_eq!(body["detail"], "see errors");
}

#[test]
fn a_member_is_told_beside_the_others_and_replaces_none() {
    let sent = Refusal::new(Code::AlreadySent, "already_sent");
    let (_, body) = answer(&sent.with_member("twin", "57").with_member("status", 200));
    assert_eq!(
        (&body["twin"], &body["status"]),
        (&json!("57"), &json!(409))
    );
    let (response, body) = answer(&Refusal::new(Code::NoTime, "no_time"));
    assert_eq!((response.status(), &body["code"]), (503, &json!("no_time")));
    assert_eq!(response.header("retry-after"), Some("10"));
    assert!(body.get("twin").is_none());
}

#[test]
fn unauthorized_and_internal_tell_nothing_but_the_request_id() {
    for code in [Code::Unauthorized, Code::Internal] {
        let plain = answer(&Refusal::new(code, "one")).1;
        let told = Refusal::new(code, "two")
            .with_detail("a detail")
            .with_member("twin", "57")
            .with_cause("a cause");
        assert_eq!(answer(&told).1, plain);
    }
    let (_, body) =
        answer(&Refusal::new(Code::CrmUnavailable, "crm").with_cause("host crm.example"));
    assert!(!body.to_string().contains("crm.example"));
}

#[test]
fn every_failed_check_has_the_same_answer_outside() {
    let other_op = json!({"aud": "local/intake", "op": "send"}).to_string();
    let mut forged = signed_event(SAVE);
    forged["headers"]["webhook-id"] = json!("msg_2");
    let mut late = signed_event(SAVE);
    late["requestContext"]["timeEpoch"] = json!(0);
    let mut bare = signed_event(SAVE);
    bare["headers"] = json!({});
    let answers = [forged, late, bare, signed_event(other_op.as_bytes())].map(|event| {
        with_request(&event, |request| {
            let checked = verify_signed::<Value>(request, &ring(), &expect(HistoryIdIn::Nowhere));
            let response = request.finish(checked.map(|_| unreachable!("refused")));
            serde_json::to_value(response).unwrap()
        })
    });
    assert_eq!(answers[0]["statusCode"], 401);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

#[test]
fn one_line_tells_an_operator_why_and_nobody_a_secret() {
    let body = br#"{"aud":"local/intake","op":"save","to":{"name":"Ann Example"}}"#;
    let mut event = signed_event(body);
    event["headers"]["webhook-timestamp"] = json!("1699999990");
    event["headers"]["content-type"] = json!("application/json\n{\"forged\":\"line\"}");
    event["headers"]["authorization"] = json!("Bearer tok.en");
    let signature = event["headers"]["webhook-signature"]
        .as_str()
        .unwrap()
        .to_owned();
    let (response, log) = logged(|| {
        with_request(&event, |request| {
            let checked = verify_signed::<Value>(request, &ring(), &expect(HistoryIdIn::Nowhere));
            request.finish(checked.map(|_| unreachable!("refused")))
        })
    });
    assert_eq!(response.status(), 401);
    assert_eq!(log.lines().count(), 1, "{log}");
    let line: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(line["level"], "INFO");
    let fields = &line["fields"];
    assert_eq!(fields["reason"], "mismatch");
    assert_eq!(fields["code"], "unauthorized");
    assert_eq!(fields["request.id"], "req-1");
    assert_eq!(fields["body.bytes"], body.len());
    assert_eq!(fields["body.sha256"].as_str().unwrap().len(), 64);
    assert_eq!(fields["body.base64"], true);
    assert_eq!(fields["clock_delta_s"], 10);
    for hidden in [
        "Ann",
        "sss",
        "tok.en",
        "msg_1",
        signature.trim_start_matches("v1,"),
    ] {
        assert!(!log.contains(hidden), "{hidden} in {log}");
    }
}

#[test]
fn our_own_failures_are_louder_and_keep_their_cause_inside() {
    let (_, log) = logged(|| answer(&Refusal::internal("decode of state failed")));
    assert!(
        log.contains("ERROR") && log.contains("decode of state failed"),
        "{log}"
    );
    let (_, log) = logged(|| answer(&Refusal::new(Code::CrmUnavailable, "crm_timeout")));
    assert!(log.contains("WARN"), "{log}");
    let (response, log) = logged(|| {
        Request::parse("null", 0, "inv-9")
            .unwrap_err()
            .answer_without_request("inv-9")
    });
    assert!(log.contains("INFO") && log.contains("inv-9"), "{log}");
    assert!(response.body().contains("\"request_id\":\"inv-9\""));
}

#[test]
fn a_drained_door_says_when_to_come_back_and_in_words() {
    let (response, body) = answer(&Refusal::draining());
    assert_eq!(
        (response.status(), &body["code"]),
        (503, &json!("draining"))
    );
    assert_eq!(response.header("retry-after"), Some("300"));
    assert!(body["detail"].as_str().unwrap().contains("Try again"));
}
