//! The text of the progress field.

use sendtrail_core::progress::{FORMAT, MAX_ENCODED, Progress, ProgressError};
use serde_json::Value;

/// A text this short is written again without anything being cut: no character grows more than sixfold.
const SURELY_WHOLE: usize = MAX_ENCODED / 8;

/// Any text as the progress.
pub fn progress(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    check(&text);
}

pub(crate) fn check(text: &str) {
    let read = match Progress::decode(Some(text)) {
        Ok(read) => read,
        Err(ProgressError::Newer(version)) => {
            // A later version writes an object. Anything else was left by a person, and must be found out.
            assert!(version > FORMAT);
            assert!(
                text.trim_start().starts_with('{'),
                "no progress of any version: {text}"
            );
            return;
        }
        Err(ProgressError::Empty) => return assert!(text.trim().is_empty()),
        Err(ProgressError::TooLong | ProgressError::Malformed(_)) => return,
    };
    assert!(read.next_check_at() <= read.deadline() || read.deadline().is_none());
    for at in [read.next_check_at(), read.deadline()]
        .into_iter()
        .flatten()
    {
        // Copied into date fields: four digits of a year, and none that a calendar does not show.
        let copy = at.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string();
        assert!(copy.len() == 25 && copy.as_str() >= "1970", "{copy}");
    }
    let written = read.encode();
    assert!(written.len() <= MAX_ENCODED, "{} bytes", written.len());
    assert!(written.is_ascii());
    let again = Progress::decode(Some(&written)).expect("what is written is read");
    assert_eq!(again.encode(), written, "a rewrite changes nothing");
    if text.len() <= SURELY_WHOLE {
        assert_eq!(again, read, "nothing is lost");
    }
    check_kept(&again, &read);
    check_members(&written);
}

/// What decides is never cut.
fn check_kept(again: &Progress, read: &Progress) {
    assert_eq!(again.rev(), read.rev());
    assert_eq!(again.attempts(), read.attempts());
    assert_eq!(again.deadline(), read.deadline());
    assert_eq!(again.next_check_at(), read.next_check_at());
    assert_eq!(again.write, read.write);
    assert_eq!(again.was_replaced(), read.was_replaced());
    let claim = |p: &Progress| {
        let claim = p.claim.clone()?;
        let (token, key, driver) = (claim.token, claim.request_key, claim.driver);
        Some((
            token,
            claim.at,
            key,
            driver,
            claim.draft_id,
            claim.resolved,
            claim.earlier,
        ))
    };
    assert_eq!(claim(again), claim(read));
    let submission = |p: &Progress| {
        let submission = p.submission.clone()?;
        let (driver, reference) = (submission.driver, submission.reference);
        Some((
            driver,
            reference,
            submission.outcome,
            submission.external_id,
            submission.at,
        ))
    };
    assert_eq!(submission(again), submission(read));
    let document = |p: &Progress| {
        let document = p.document.clone()?;
        let (hash, file) = (document.sha256, document.file_id);
        Some((
            hash,
            document.bytes,
            file,
            document.input_sha256,
            document.seal,
        ))
    };
    assert_eq!(document(again), document(read));
    let request = |p: &Progress| p.request.clone().map(|r| (r.key, r.body_sha256));
    assert_eq!(request(again), request(read));
    let newest = |p: &Progress| {
        p.trail
            .last()
            .map(|t| (t.at, t.event.clone(), t.to.clone()))
    };
    assert_eq!(newest(again), newest(read));
}

/// The four keys an operator reads are at the top.
fn check_members(written: &str) {
    let value: Value = serde_json::from_str(written).expect("JSON");
    for key in ["v", "rev", "next_check_at", "attempts", "deadline"] {
        assert!(value.get(key).is_some(), "{key}");
    }
    assert_eq!(value["v"], FORMAT);
}
