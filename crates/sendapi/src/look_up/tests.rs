use super::*;
use crate::answer::{Answer, Body};
use crate::file::DriverFile;
use crate::file::tests::{SAMPLE, load_text, with};
use jiff::SignedDuration;
use proptest::prelude::*;
use reqwest::header::HeaderMap;
use sendtrail_core::ports::Failure;
use serde_json::json;

use super::ask::body_of as read;

fn driver() -> DriverFile {
    load_text(SAMPLE).unwrap()
}

fn judge(body: &Value) -> LookUpAnswer {
    driver().look_up.judge(body)
}

fn pending(status: &str, recognised: bool) -> LookUpAnswer {
    LookUpAnswer::Pending {
        status: status.to_owned(),
        recognised,
    }
}

#[test]
fn the_first_rule_that_holds_decides() {
    let delivered = json!({"status": "rendered", "tracking_events": [{"name": "Mailed"}, {"name": "Delivered"}]});
    assert_eq!(
        judge(&delivered),
        LookUpAnswer::Delivered {
            status: "Delivered".into()
        }
    );
    let both = json!({"status": "failed", "tracking_events": [{"name": "Delivered"}]});
    assert_eq!(
        judge(&both),
        LookUpAnswer::Undelivered {
            status: "failed".into()
        }
    );
    let earlier = json!({"status": "processed", "tracking_events": [{"name": "Delivered"}, {"name": "Mailed"}]});
    assert_eq!(judge(&earlier), pending("Mailed", true));
}

#[test]
fn an_unknown_word_is_pending_and_reported() {
    assert_eq!(
        judge(&json!({"status": "processed"})),
        pending("processed", true)
    );
    assert_eq!(
        judge(&json!({"status": "Delivered"})),
        pending("Delivered", false)
    );
    assert_eq!(
        judge(&json!({"status": "weird", "tracking_events": [{"name": "Mailed"}]})),
        pending("weird", false)
    );
    assert_eq!(judge(&json!({"status": 1})), pending("1", true));
    assert_eq!(judge(&json!({"status": 2})), pending("2", false));
    assert_eq!(judge(&json!({"status": null})), pending("no status", false));
    assert_eq!(judge(&json!([])), pending("no status", false));
}

#[test]
fn without_a_list_every_word_is_known() {
    let open = load_text(&with("pending = [\"processed\", \"Mailed\", 1]\n", "")).unwrap();
    assert_eq!(
        open.look_up.judge(&json!({"status": "x"})),
        pending("x", true)
    );
    assert_eq!(open.look_up.judge(&json!({})), pending("no status", false));
}

#[test]
fn a_flag_that_no_rule_names_is_no_unknown_word() {
    let text = with("equals = \"failed\"", "equals = true");
    let flagged = load_text(&text).unwrap();
    assert_eq!(
        flagged.look_up.judge(&json!({"status": false})),
        pending("false", true)
    );
    assert_eq!(
        flagged.look_up.judge(&json!({"status": true})),
        LookUpAnswer::Undelivered {
            status: "true".into()
        }
    );
}

#[test]
fn a_rule_over_several_fields_ends_nothing_unless_all_hold() {
    let text = with(
        "at = \"/status\"\nequals = \"failed\"",
        "all = [{ at = \"/status\", equals = 4 }, { at = \"/done\", equals = true }, { at = \"/rate\", equals = 0.5 }]",
    );
    let joint = load_text(&text).unwrap();
    let judge = |body| joint.look_up.judge(&body);
    assert_eq!(
        judge(json!({"status": 4.0, "done": true, "rate": 0.5})),
        LookUpAnswer::Undelivered { status: "4".into() }
    );
    // The word is known by itself, but says nothing.
    assert_eq!(
        judge(json!({"status": 4, "done": false})),
        pending("4", true)
    );
    assert_eq!(
        judge(json!({"status": 4, "done": true, "rate": 1})),
        pending("1", true)
    );
    assert_eq!(
        judge(json!({"status": 5, "done": true})),
        pending("5", false)
    );
}

#[test]
fn a_status_word_is_made_harmless() {
    let LookUpAnswer::Pending { status, .. } =
        judge(&json!({"status": format!("=x\n{}", "y".repeat(999))}))
    else {
        panic!("not pending");
    };
    assert!(status.starts_with("'=x y") && status.len() <= MAX_STATUS_BYTES);
}

fn answer(status: u16, body: Body) -> Answer {
    Answer {
        status,
        headers: HeaderMap::new(),
        body,
        retry_after: Some(SignedDuration::from_secs(7)),
    }
}

#[test]
fn each_status_of_a_look_up_has_its_meaning() {
    let good = answer(200, Body::Json(json!({})));
    assert_eq!(read(&good, None), Ok(Some(&json!({}))));
    assert_eq!(read(&answer(404, Body::Cut), None), Ok(None));
    for status in [401, 403] {
        assert!(matches!(
            read(&answer(status, Body::NotJson), None),
            Err(Failure::Unauthorized(_))
        ));
    }
    let Err(Failure::RateLimited { retry_after, .. }) = read(&answer(429, Body::NotJson), None)
    else {
        panic!("not limited");
    };
    assert_eq!(retry_after, Some(SignedDuration::from_secs(7)));
    for status in [301, 307, 400, 409, 410, 422, 500, 503] {
        let json = answer(status, Body::Json(json!({"status": "failed"})));
        assert!(
            matches!(read(&json, None), Err(Failure::Transient(_))),
            "{status}"
        );
    }
    for body in [Body::NotJson, Body::TooLarge, Body::Cut] {
        let Err(Failure::Transient(seen)) = read(&answer(200, body), None) else {
            panic!("not transient");
        };
        assert_eq!(seen.class, "unreadable");
    }
}

proptest! {
    #[test]
    fn a_word_no_rule_names_never_ends_anything(word in any::<String>()) {
        prop_assume!(word != "failed");
        let ended = !matches!(judge(&json!({"status": word})), LookUpAnswer::Pending { .. });
        prop_assert!(!ended);
    }
}
