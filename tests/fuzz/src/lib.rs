#![doc = include_str!("../README.md")]
#![expect(
    clippy::missing_panics_doc,
    reason = "a target panics where a property does not hold"
)]

mod answer;
mod body;
mod config;
mod coql;
mod crm;
mod drivers;
mod event;
mod input;
mod pdf;
mod press;
mod progress;
mod progress_edit;
mod query;
mod retry_after;
mod save;
mod send_api;
mod signature;
mod token;

pub use config::config_file;
pub use coql::coql;
pub use crm::{crm_list, crm_record, crm_token, crm_write};
pub use drivers::driver_file;
pub use event::{event, signed_body};
pub use input::input;
pub use pdf::pdf;
pub use press::press;
pub use progress::progress;
pub use progress_edit::progress_edit;
pub use retry_after::retry_after;
pub use save::save;
pub use send_api::{look_up_answer, send_token, submit_answer};
pub use signature::signature;
pub use token::token;

/// A target: any bytes, and a panic where a property does not hold.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of its function, its corpus and its fuzzer.
pub const TARGETS: &[(&str, Target)] = &[
    ("config_file", config_file),
    ("coql", coql),
    ("crm_list", crm_list),
    ("crm_record", crm_record),
    ("crm_token", crm_token),
    ("crm_write", crm_write),
    ("driver_file", driver_file),
    ("event", event),
    ("input", input),
    ("look_up_answer", look_up_answer),
    ("pdf", pdf),
    ("press", press),
    ("progress", progress),
    ("progress_edit", progress_edit),
    ("retry_after", retry_after),
    ("save", save),
    ("send_token", send_token),
    ("signature", signature),
    ("signed_body", signed_body),
    ("submit_answer", submit_answer),
    ("token", token),
];

/// Every signing secret here.
const SECRET: &str = "a secret that only the tests know, 1";
/// A secret nobody signs with.
const OTHER_SECRET: &str = "a secret that nobody signs with, 2";
/// The time of every target: 2026-01-01.
const NOW: i64 = 1_767_225_600;

fn secret(text: &str) -> sendtrail_signature::Secret {
    sendtrail_signature::Secret::parse(text).expect("the constants above are secrets")
}

fn ring(text: &str) -> sendtrail_signature::KeyRing {
    let keys = vec![("k1".to_owned(), secret(text))];
    sendtrail_signature::KeyRing::new(keys).expect("one key is a ring")
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::from_second(NOW).expect("2026 is a time")
}

/// Asserts that a remark that is kept in the CRM is bounded and plain.
#[track_caller]
fn assert_kept_text(text: &str, max_bytes: usize) {
    let escaped = sendtrail_core::text::ascii_json(text);
    assert!(
        escaped.len() <= max_bytes + 2,
        "{} bytes: {text:?}",
        escaped.len()
    );
    assert!(!text.chars().any(char::is_control), "{text:?}");
    let first = text.chars().find(|c| !c.is_whitespace());
    assert!(
        !matches!(first, Some('=' | '+' | '-' | '@')),
        "a formula: {text:?}"
    );
}

/// Asserts that a wait is one that somebody may be told to wait.
#[track_caller]
fn assert_wait(wait: Option<jiff::SignedDuration>) {
    let longest = jiff::SignedDuration::from_hours(24);
    assert!(
        wait.is_none_or(|wait| !wait.is_negative() && wait <= longest),
        "{wait:?}"
    );
}

/// Lower-case hex of these bytes.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
