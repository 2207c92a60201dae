//! Answers of send APIs, read by drivers of every kind.

use std::sync::OnceLock;

use sendtrail_core::ids::Reference;
use sendtrail_core::ports::{Evidence, Failure, FindAnswer, LookUpAnswer, SubmitOutcome};
use sendtrail_sendapi::fuzzing::{Offline, RawAnswer, SECRET, token};
use sendtrail_sendapi::load;
use serde_json::Value;

use crate::answer::{Answer, answer};
use crate::drivers::{check_requests, order};
use crate::{assert_kept_text, assert_wait};

/// The drivers that ship, and two that use what those do not.
const FILES: [(&str, &str); 6] = [
    (
        "lob-letter",
        include_str!("../../../infra/config/drivers/lob-letter.toml"),
    ),
    (
        "resend-mail",
        include_str!("../../../infra/config/drivers/resend-mail.toml"),
    ),
    (
        "telnyx-fax",
        include_str!("../../../infra/config/drivers/telnyx-fax.toml"),
    ),
    (
        "cloudsign",
        include_str!("../../../infra/config/drivers/cloudsign.toml"),
    ),
    (
        "letters",
        include_str!("../corpus/driver_file/everything.toml"),
    ),
    ("steps", include_str!("../corpus/driver_file/steps.toml")),
];

fn drivers() -> &'static [(Offline, &'static str)] {
    static DRIVERS: OnceLock<Vec<(Offline, &str)>> = OnceLock::new();
    DRIVERS.get_or_init(|| {
        let driver = |(name, text): &(&str, &'static str)| {
            let named = [(format!("{name}.toml"), (*text).to_owned())];
            let mut files = load(&named).expect("a driver that is known to be good");
            let file = files.remove(0);
            (Offline::of(file).expect("it has credentials"), *text)
        };
        FILES.iter().map(driver).collect()
    })
}

fn raw<'a>(answer: &'a Answer<'a>) -> RawAnswer<'a> {
    RawAnswer {
        status: answer.status,
        headers: &answer.headers,
        body: answer.body,
    }
}

/// An answer to each request of a submit.
pub fn submit_answer(data: &[u8]) {
    let answer = answer(data);
    if String::from_utf8_lossy(data).contains(SECRET) {
        return; // Then it may stand anywhere.
    }
    for (driver, text) in drivers() {
        let order = order(text, "Ann", data);
        check_requests(driver, &order, &raw(&answer));
        match driver.submitted(&order, &raw(&answer)) {
            SubmitOutcome::Accepted { evidence, .. } => {
                assert!(
                    driver.accepts().contains(&answer.status),
                    "{}",
                    answer.status
                );
                check_evidence(&evidence);
            }
            SubmitOutcome::Rejected(evidence) => {
                let by_rule = driver.accepts().contains(&answer.status);
                let refused = (400..500).contains(&answer.status) && answer.status != 408;
                assert!(by_rule || refused, "{} is no proof", answer.status);
                check_evidence(&evidence);
            }
            SubmitOutcome::NotSent(not_sent) => {
                let before = ["step", "input", "build"].contains(&not_sent.evidence.class.as_str());
                assert!(
                    before || answer.status == 429,
                    "{} is no proof",
                    answer.status
                );
                assert_wait(not_sent.retry_after);
                check_evidence(&not_sent.evidence);
            }
            SubmitOutcome::Unknown(evidence) => check_evidence(&evidence),
        }
    }
}

fn check_evidence(evidence: &Evidence) {
    assert_kept_text(&evidence.detail, 300);
    assert_kept_text(&evidence.class, 64);
}

fn check_failure(failure: &Failure, status: u16) {
    match failure {
        Failure::RateLimited {
            retry_after,
            evidence,
        } => {
            assert_eq!(status, 429);
            assert_wait(*retry_after);
            check_evidence(evidence);
        }
        Failure::Unauthorized(evidence) => {
            assert!([401, 403].contains(&status));
            check_evidence(evidence);
        }
        Failure::Transient(evidence) => check_evidence(evidence),
    }
}

/// An answer to a look-up and to a search.
pub fn look_up_answer(data: &[u8]) {
    let answer = answer(data);
    let body: Option<Value> = serde_json::from_slice(answer.body).ok();
    let is_good = (200..300).contains(&answer.status) && body.is_some();
    let reference = Reference::parse("st_0123456789abcdef0123456789abcdef").expect("a reference");
    for (driver, _) in drivers() {
        match driver.looked_up(&raw(&answer)) {
            LookUpAnswer::Delivered { status } | LookUpAnswer::Undelivered { status } => {
                assert!(is_good, "an end without a word");
                assert_kept_text(&status, 100);
            }
            LookUpAnswer::Pending { status, .. } => {
                assert!(is_good);
                assert_kept_text(&status, 100);
            }
            LookUpAnswer::NotFound => assert_eq!(answer.status, 404),
            LookUpAnswer::Failed(failure) => check_failure(&failure, answer.status),
        }
        for draft in [None, Some("draft_7")] {
            match driver.found(&raw(&answer), &reference, draft) {
                Some(FindAnswer::One(id)) => {
                    let texts = texts(body.as_ref().expect("it was found in the body"));
                    let known = texts.iter().any(|text| text == id.as_str());
                    assert!(
                        is_good && (known || Some(id.as_str()) == draft),
                        "{id} is nowhere"
                    );
                }
                Some(FindAnswer::Several(ids)) => {
                    assert!(is_good && (2..=20).contains(&ids.len()));
                    for id in &ids {
                        assert_kept_text(id, 100);
                    }
                }
                Some(FindAnswer::None) => assert!(is_good || answer.status == 404),
                Some(FindAnswer::Failed(failure)) => check_failure(&failure, answer.status),
                None => {}
            }
        }
    }
}

/// Every text and number in the value.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Number(number) => vec![number.to_string()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// An answer of a send API's token endpoint.
pub fn send_token(data: &[u8]) {
    let answer = answer(data);
    let Some((header, left)) = token(&raw(&answer)) else {
        return;
    };
    assert!((200..300).contains(&answer.status));
    assert!(header.is_sensitive());
    let text = header.to_str().expect("graphic ASCII");
    let secret = text.strip_prefix("Bearer ").expect("a bearer token");
    assert!(!secret.is_empty() && secret.bytes().all(|b| b.is_ascii_graphic()));
    assert!(left <= jiff::SignedDuration::from_hours(24), "{left:?}");
}
