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
fn in_an_answer_of_success_only_a_known_code_proves_that_nothing_was_written() {
    let item = |code: &str| {
        let item = serde_json::json!({"code": code, "details": {}, "status": "error"});
        of_problem(&Problem::of_item(&item))
    };
    for code in REFUSALS {
        let fault = item(code);
        assert!(
            matches!(fault, Fault::Failed { not_done: true, .. }),
            "{code}"
        );
    }
    for code in [
        "DONE_LATER",
        "SUCCES",
        " RECORD_LOCKED",
        "record_locked",
        "7",
    ] {
        let fault = item(code);
        assert!(
            matches!(
                fault,
                Fault::Failed {
                    error: StoreError::Refused { .. },
                    not_done: false
                }
            ),
            "{code}"
        );
        // A status of failure does prove it, whatever the code.
        let body = serde_json::json!({"data": [{"code": code, "status": "error"}]});
        assert!(error(400, &body.to_string()).1, "{code}");
    }
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
    let body = r#"{"code":"X","details":{"value":"private","actual":"private"},"message":"no"}"#;
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
