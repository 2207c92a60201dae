use super::*;
use crate::condition::Conditions;
use crate::file::tests::{SAMPLE, load_text, with};
use jiff::SignedDuration;
use proptest::prelude::*;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::json;

fn step(text: &str) -> Step {
    load_text(text).unwrap().steps.commit
}

fn outcome_of(step: &Step, status: u16, body: Body) -> SubmitOutcome {
    outcome_of_answer(
        step,
        None,
        Answer {
            status,
            headers: HeaderMap::new(),
            body,
            retry_after: Some(SignedDuration::from_secs(30)),
        },
    )
}

fn outcome_of_answer(step: &Step, known_id: Option<&ExternalId>, answer: Answer) -> SubmitOutcome {
    let error = Pointer::parse("/error/code").unwrap();
    let commit = Commit {
        step,
        error: Some(&error),
        known_id,
        bytes: 9,
    };
    classify(&commit, &Seen::Answered(answer))
}

fn plain(step: &Step, seen: &Seen) -> SubmitOutcome {
    let commit = Commit {
        step,
        error: None,
        known_id: None,
        bytes: 9,
    };
    classify(&commit, seen)
}

fn kind(outcome: &SubmitOutcome) -> &'static str {
    match outcome {
        SubmitOutcome::Accepted { .. } => "accepted",
        SubmitOutcome::Rejected(_) => "rejected",
        SubmitOutcome::NotSent(_) => "not_sent",
        SubmitOutcome::Unknown(_) => "unknown",
    }
}

fn bodies() -> Vec<Body> {
    vec![
        Body::Json(json!({"id": "ltr_1", "error": {"code": "other"}})),
        Body::Json(json!({})),
        Body::NotJson,
        Body::TooLarge,
        Body::Cut,
    ]
}

fn broken(how: Broken) -> SubmitOutcome {
    let seen = Seen::Broken {
        how,
        cause: "why".into(),
    };
    plain(&step(SAMPLE), &seen)
}

/// The kinds of outcome of a status, over every sort of body.
fn kinds(status: u16) -> Vec<&'static str> {
    let step = step(SAMPLE);
    bodies()
        .into_iter()
        .map(|body| kind(&outcome_of(&step, status, body)))
        .collect()
}

#[test]
fn row_1_our_own_refusal_is_not_sent() {
    let seen = Seen::Refused {
        class: "input",
        detail: "to.name is missing from the input".into(),
    };
    let SubmitOutcome::NotSent(proof) = plain(&step(SAMPLE), &seen) else {
        panic!("not proved");
    };
    assert_eq!(proof.evidence.class, "input");
    assert_eq!(proof.evidence.detail, "to.name is missing from the input");
    assert_eq!(kind(&broken(Broken::Build)), "not_sent");
}

#[test]
fn row_2_no_connection_is_not_sent() {
    assert_eq!(kind(&broken(Broken::Connect)), "not_sent");
}

#[test]
fn row_3_a_declared_code_with_an_id_is_accepted() {
    for (status, id) in [(200, json!("ltr_1")), (201, json!(17))] {
        let outcome = outcome_of(&step(SAMPLE), status, Body::Json(json!({"id": id})));
        let SubmitOutcome::Accepted {
            external_id,
            evidence,
        } = outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!(external_id.as_str(), id.to_string().trim_matches('"'));
        assert_eq!((evidence.status, evidence.bytes_sent), (Some(status), 9));
    }
}

#[test]
fn row_4_a_success_without_a_readable_id_is_unknown() {
    let step = step(SAMPLE);
    for body in [
        Body::Json(json!({})),
        Body::Json(json!({"id": ""})),
        Body::Json(json!({"id": "a b"})),
        Body::Json(json!({"id": {"x": 1}})),
        Body::Json(json!([])),
        Body::NotJson,
        Body::TooLarge,
        Body::Cut,
    ] {
        assert_eq!(
            kind(&outcome_of(&step, 200, body.clone())),
            "unknown",
            "{body:?}"
        );
    }
    for status in [202, 203, 204, 206, 226, 299] {
        assert_eq!(kinds(status), ["unknown"; 5], "{status}");
    }
}

#[test]
fn row_5_a_redirect_is_unknown() {
    for status in [300, 301, 302, 303, 304, 307, 308, 399] {
        assert_eq!(kinds(status), ["unknown"; 5], "{status}");
    }
    for status in [100, 101, 199] {
        assert_eq!(kinds(status), ["unknown"; 5], "{status}");
    }
}

#[test]
fn row_6_the_listed_codes_are_rejected() {
    for status in [
        400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 431, 451,
    ] {
        assert_eq!(kinds(status), ["rejected"; 5], "{status}");
    }
}

#[test]
fn row_7_a_rate_limit_is_not_sent_and_carries_the_wait() {
    assert_eq!(kinds(429), ["not_sent"; 5]);
    let SubmitOutcome::NotSent(proof) = outcome_of(&step(SAMPLE), 429, Body::NotJson) else {
        panic!("not proved");
    };
    assert_eq!(proof.retry_after, Some(SignedDuration::from_secs(30)));
    let quota = step(&with("status = 409", "status = 429"));
    let body = |code: &str| Body::Json(json!({"error": {"code": code}}));
    assert_eq!(kind(&outcome_of(&quota, 429, body("conflict"))), "rejected");
    assert_eq!(
        kind(&outcome_of(&quota, 429, body("slow_down"))),
        "not_sent"
    );
    assert_eq!(kind(&outcome_of(&quota, 429, Body::Cut)), "not_sent");
}

#[test]
fn row_8_other_4xx_are_unknown_unless_the_file_maps_code_and_body() {
    for status in [
        407, 408, 409, 412, 416, 417, 418, 421, 423, 424, 425, 426, 428, 444, 499,
    ] {
        assert_eq!(kinds(status), ["unknown"; 5], "{status}");
    }
    let conflict = || Body::Json(json!({"error": {"code": "conflict"}, "id": "ltr_1"}));
    assert_eq!(
        kind(&outcome_of(&step(SAMPLE), 409, conflict())),
        "rejected"
    );
    assert_eq!(kind(&outcome_of(&step(SAMPLE), 423, conflict())), "unknown");
    let replay = step(&with("is = \"rejected\"", "is = \"accepted\""));
    assert_eq!(kind(&outcome_of(&replay, 409, conflict())), "accepted");
    let no_id = Body::Json(json!({"error": {"code": "conflict"}}));
    assert_eq!(kind(&outcome_of(&replay, 409, no_id)), "unknown");
}

#[test]
fn row_9_every_5xx_is_unknown_whatever_the_file_says() {
    for status in [500, 501, 502, 503, 504, 505, 507, 511, 520, 599] {
        assert_eq!(kinds(status), ["unknown"; 5], "{status}");
    }
    // No file can hold such rules; the function does not rely on that.
    for status in [202, 302, 408, 503] {
        for is in [RuleOutcome::Accepted, RuleOutcome::Rejected] {
            let mut step = step(SAMPLE);
            step.outcomes[0].status = status;
            step.outcomes[0].when = Conditions::default();
            step.outcomes[0].is = is;
            let body = Body::Json(json!({"id": "ltr_1"}));
            assert_eq!(
                kind(&outcome_of(&step, status, body)),
                "unknown",
                "{status}"
            );
        }
    }
}

#[test]
fn rows_10_and_11_what_breaks_after_connecting_is_unknown() {
    assert_eq!(kind(&broken(Broken::Timeout)), "unknown");
    assert_eq!(kind(&broken(Broken::Lost)), "unknown");
}

#[test]
fn a_rejection_that_an_unread_body_could_overrule_is_unknown() {
    let overruled = step(&with("status = 409", "status = 422").replacen(
        "is = \"rejected\"",
        "is = \"unknown\"",
        1,
    ));
    assert_eq!(
        kind(&outcome_of(&overruled, 422, Body::Json(json!({})))),
        "rejected"
    );
    for body in [Body::Cut, Body::NotJson, Body::TooLarge] {
        assert_eq!(kind(&outcome_of(&overruled, 422, body)), "unknown");
    }
}

#[test]
fn an_accept_code_whose_body_says_no_is_rejected() {
    let no = step(&with("status = 409", "status = 200"));
    let body = Body::Json(json!({"id": "ltr_1", "error": {"code": "conflict"}}));
    assert_eq!(kind(&outcome_of(&no, 200, body)), "rejected");
    assert_eq!(kind(&outcome_of(&no, 200, Body::Cut)), "unknown");
    // Also where the id does not come from the body.
    let mut captured = no;
    captured.id = IdFrom::Captured("draft".into());
    let draft = ExternalId::parse("d1").unwrap();
    for body in [Body::NotJson, Body::TooLarge, Body::Cut] {
        let answer = Answer {
            status: 200,
            headers: HeaderMap::new(),
            body,
            retry_after: None,
        };
        let outcome = outcome_of_answer(&captured, Some(&draft), answer);
        assert_eq!(kind(&outcome), "unknown");
    }
}

#[test]
fn an_id_in_a_header_or_from_a_step_needs_no_body_but_an_uncut_answer() {
    let header = step(&with("id = \"/id\"", "id = \"header:X-Message-Id\""));
    let id = HeaderValue::from_static("m1");
    let headers = HeaderMap::from_iter([("x-message-id".parse().unwrap(), id)]);
    let answer = |status, headers: &HeaderMap, body| Answer {
        status,
        headers: headers.clone(),
        body,
        retry_after: None,
    };
    let of = |answer| kind(&outcome_of_answer(&header, None, answer));
    assert_eq!(of(answer(200, &headers, Body::NotJson)), "accepted");
    assert_eq!(of(answer(200, &headers, Body::Cut)), "unknown");
    assert_eq!(of(answer(200, &HeaderMap::new(), Body::NotJson)), "unknown");
    assert_eq!(of(answer(202, &headers, Body::NotJson)), "unknown");

    let mut captured = step(SAMPLE);
    captured.id = IdFrom::Captured("draft".into());
    let draft = ExternalId::parse("d1").unwrap();
    let of = |status, body, known| {
        let answer = answer(status, &HeaderMap::new(), body);
        outcome_of_answer(&captured, known, answer)
    };
    let SubmitOutcome::Accepted { external_id, .. } = of(201, Body::NotJson, Some(&draft)) else {
        panic!("not accepted");
    };
    assert_eq!(external_id, draft);
    assert_eq!(kind(&of(201, Body::Cut, Some(&draft))), "unknown");
    assert_eq!(kind(&of(201, Body::NotJson, None)), "unknown");
    assert_eq!(kind(&of(500, Body::NotJson, Some(&draft))), "unknown");
}

#[test]
fn a_rule_over_several_fields_holds_only_when_all_do() {
    let both = step(&with(
        "at = \"/error/code\"\nequals = \"conflict\"",
        "all = [{ at = \"/error/code\", equals = \"conflict\" }, { at = \"/error/final\", equals = true }]",
    ));
    let of = |body| kind(&outcome_of(&both, 409, Body::Json(body)));
    assert_eq!(
        of(json!({"error": {"code": "conflict", "final": true}})),
        "rejected"
    );
    assert_eq!(of(json!({"error": {"code": "conflict"}})), "unknown");
    assert_eq!(of(json!({"error": {"final": true}})), "unknown");
}

#[test]
fn evidence_holds_the_apis_code_made_harmless_and_never_the_body() {
    let body =
        json!({"error": {"code": format!("=bad\r\n{}", "é".repeat(500)), "message": "Jane Doe"}});
    let SubmitOutcome::Rejected(seen) = outcome_of(&step(SAMPLE), 422, Body::Json(body)) else {
        panic!("not rejected");
    };
    assert!(seen.detail.starts_with("'=bad  é"), "{}", seen.detail);
    assert!(seen.detail.chars().count() <= 300);
    assert!(!seen.detail.contains("Jane"));
    assert_eq!((seen.class.as_str(), seen.status), ("status", Some(422)));
}

proptest! {
    #[test]
    fn only_429_is_ever_not_sent_among_answers(status in 100u16..1000, which in 0usize..5) {
        let outcome = outcome_of(&step(SAMPLE), status, bodies().remove(which));
        prop_assert_eq!(kind(&outcome) == "not_sent", status == 429);
        prop_assert!(kind(&outcome) != "accepted" || matches!(status, 200 | 201));
        prop_assert!(kind(&outcome) != "rejected" || (400..500).contains(&status));
    }
}
