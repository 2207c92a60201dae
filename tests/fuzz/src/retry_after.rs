//! How long somebody asks us to wait.

use http::header::{DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use jiff::SignedDuration;
use sendtrail_sendapi::fuzzing::wait;
use sendtrail_zoho::fuzzing::retry_after as crm_wait;

use crate::assert_wait;

/// Two lines: the wait and the answer's own date.
pub fn retry_after(data: &[u8]) {
    let mut lines = data.split(|b| *b == b'\n');
    let (wait_line, date_line) = (lines.next(), lines.next());
    let value = |line: Option<&[u8]>| HeaderValue::from_bytes(line?).ok();
    let reset = HeaderName::from_static("ratelimit-reset");
    let mut headers = HeaderMap::new();
    headers.extend(value(date_line).map(|date| (DATE, date)));
    let Some(asked) = value(wait_line) else {
        return;
    };
    headers.insert(RETRY_AFTER, asked.clone());
    headers.insert(reset.clone(), HeaderValue::from_static("7"));

    let of_crm = crm_wait(&headers);
    let of_api = wait(&headers, &[RETRY_AFTER]);
    assert_wait(of_crm);
    assert_wait(of_api);
    // What cannot be read leaves the word to the next header.
    let either = wait(&headers, &[RETRY_AFTER, reset]);
    assert_eq!(either, of_api.or(Some(SignedDuration::from_secs(7))));

    let Ok(text) = asked.to_str() else { return };
    let digits = text.trim();
    if !digits.is_empty() && digits.len() < 10 && digits.bytes().all(|b| b.is_ascii_digit()) {
        let seconds = digits.parse::<i64>().expect("nine digits").min(86_400);
        let due = Some(SignedDuration::from_secs(seconds));
        assert_eq!(
            (of_crm, of_api),
            (due, due),
            "both sides read seconds alike"
        );
    }
    let signed = digits.strip_prefix(['-', '+']);
    if signed.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())) {
        assert_eq!(
            (of_crm, of_api),
            (None, None),
            "a sign is no number of seconds"
        );
    }
}
