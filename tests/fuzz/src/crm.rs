//! Answers of the CRM and of its token endpoint.

use std::cell::RefCell;

use jiff::SignedDuration;
use secrecy::ExposeSecret as _;
use sendtrail_core::ids::{HistoryId, RequestKey};
use sendtrail_core::ports::{
    CreateReply, ListQuery, ListStart, PublicFailure, StoreError, WriteReply,
};
use sendtrail_core::record::{Base, Read};
use sendtrail_core::settings::Reader;
use sendtrail_zoho::fuzzing::{self, Offline, RawAnswer};
use sendtrail_zoho::{Config, NoTokenCache, Secrets, Zoho};
use serde_json::Value;

use crate::answer::{Answer, answer};
use crate::query::assert_one_query;
use crate::{assert_kept_text, assert_wait, now};

const CONFIG: &str = r#"[crm]
accounts_url = "https://accounts.example.com"
api_url = "https://api.example.com"
client_id = "1000.X"
client_secret = "secret:client"
[crm.refresh_token]
intake = "secret:a"
side_effect = "secret:b"
poller = "secret:c"
"#;

/// Calls `with` with a client that has seen nothing yet.
pub(crate) fn with_crm<T>(with: impl FnOnce(&Offline) -> T) -> T {
    thread_local!(static CRM: RefCell<Offline> = RefCell::new(client()));
    CRM.with_borrow_mut(|crm| {
        crm.forget();
        with(crm)
    })
}

fn client() -> Offline {
    let reader = Reader::new("s.toml", CONFIG);
    let config = Config::read(&reader.root().section("crm")).expect("the sample is whole");
    let secrets = Secrets {
        client_secret: "x".into(),
        refresh_token: "x".into(),
    };
    let provider = rustls::crypto::ring::default_provider();
    let tls = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Offline::of(Zoho::new(&config, secrets, tls, Box::new(NoTokenCache)).expect("a client"))
}

fn raw<'a>(answer: &'a Answer<'a>) -> RawAnswer<'a> {
    RawAnswer {
        status: answer.status,
        headers: &answer.headers,
        body: answer.body,
    }
}

/// An answer to a read of one record.
pub fn crm_record(data: &[u8]) {
    let answer = answer(data);
    let id = HistoryId::parse("57").expect("an id");
    match with_crm(|crm| crm.read(&id, &raw(&answer))) {
        Ok(read) => {
            assert!((200..300).contains(&answer.status));
            assert_eq!(read.record.id, id);
            check_read(&read, &answer);
        }
        Err(error) => check_error(&error),
    }
    if let Ok(file) = with_crm(|crm| crm.file(&raw(&answer))) {
        assert_eq!(&file[..], answer.body, "the bytes as they came");
    }
    let _ = with_crm(|crm| crm.count(&raw(&answer)));
}

fn check_read(read: &Read, answer: &Answer<'_>) {
    let body: Value = serde_json::from_slice(answer.body).expect("it was read");
    let rows = body["data"].as_array().expect("it was read");
    let is_row = |row: &Value| {
        let same = |key: &str, text: &str| row.get(key).and_then(Value::as_str) == Some(text);
        // The version is handed back byte for byte.
        same("id", read.record.id.as_str()) && same("Modified_Time", read.record.revision.as_str())
    };
    assert!(rows.iter().any(is_row), "a record the answer does not hold");
    let at: jiff::Timestamp = read.record.revision.as_str().parse().expect("a time");
    assert_eq!(read.stamp.version_at, at);
    assert!(read.stamp.clock_before.is_none());
    // An edit in the second of the version is never overwritten.
    if let Ok(base) = Base::of_read(read.clone()) {
        let date = read.stamp.date.expect("without a date nothing is a base");
        assert!(date.duration_since(base.version_at()) > read.stamp.request_timeout);
    }
    if let Err(not_yet) = Base::of_listed(read.clone(), SignedDuration::from_secs(60)) {
        assert!(!not_yet.wait.is_negative());
    }
}

fn check_error(error: &StoreError) {
    if let StoreError::RateLimited { retry_after } = error {
        assert_wait(*retry_after);
    }
    if let PublicFailure::RateLimited { retry_after } = error.public() {
        assert!(retry_after.is_none_or(|seconds| (1..=86_400).contains(&seconds)));
    }
    let text = error.to_string();
    assert!(
        text.len() < 2_000 && !text.chars().any(char::is_control),
        "{text:?}"
    );
}

/// An answer to a list of due rows, and the query for the page after it.
pub fn crm_list(data: &[u8]) {
    let answer = answer(data);
    for (start, limit) in [
        (ListStart::First, 1),
        (ListStart::Offset(7), 2),
        (ListStart::First, 200),
    ] {
        let first = ListQuery {
            now: now(),
            limit,
            start,
        };
        with_crm(|crm| check_page(crm, first, &answer));
    }
}

fn check_page(crm: &Offline, first: ListQuery<sendtrail_zoho::Cursor>, answer: &Answer<'_>) {
    let mut query = first;
    for _ in 0..3 {
        assert_one_query(&crm.list_query(&query));
        let page = match crm.list(&query, &raw(answer)) {
            Ok(page) => page,
            Err(error) => return check_error(&error),
        };
        assert!((200..300).contains(&answer.status));
        for read in &page.rows {
            check_listed(read, answer);
        }
        let Some(next) = page.next else { return };
        query.start = ListStart::After(next);
    }
}

fn check_listed(read: &Read, answer: &Answer<'_>) {
    let listed = |part: &str| {
        let text = serde_json::to_string(part).expect("text");
        let body = String::from_utf8_lossy(answer.body);
        body.contains(&text) || body.contains('\\')
    };
    assert!(
        listed(read.record.id.as_str()),
        "a row the answer does not hold"
    );
    if let Ok(base) = Base::of_listed(read.clone(), SignedDuration::from_secs(60)) {
        let date = read.stamp.date.expect("without a date nothing is a base");
        assert!(date.duration_since(base.version_at()) > SignedDuration::from_secs(60));
    }
}

/// An answer to a write and to a create.
pub fn crm_write(data: &[u8]) {
    let answer = answer(data);
    match with_crm(|crm| crm.write(&raw(&answer))) {
        WriteReply::Applied => assert!(says_success(&answer), "applied without success"),
        WriteReply::Conflict => {}
        WriteReply::NotApplied(error) => {
            // These prove nothing: the write may have been applied.
            assert!(!proves_nothing(answer.status), "{} as proof", answer.status);
            assert!(!says_success(&answer), "success as proof of nothing");
            assert!(says_refused(&answer), "no known refusal as proof");
            check_error(&error);
        }
        WriteReply::Unknown(error) => check_error(&error),
    }
    let key = RequestKey::parse("msg_1").expect("a key");
    match with_crm(|crm| crm.create(&key, &raw(&answer))) {
        CreateReply::Created(id) => {
            assert!(says_success(&answer), "created without success");
            assert!(HistoryId::parse(id.as_str()).is_ok());
        }
        CreateReply::Exists => {}
        CreateReply::NotCreated(error) => {
            assert!(!proves_nothing(answer.status) && !says_success(&answer));
            assert!(says_refused(&answer), "no known refusal as proof");
            check_error(&error);
        }
        CreateReply::Unknown(error) => check_error(&error),
    }
}

fn proves_nothing(status: u16) -> bool {
    status >= 500 || status == 408 || (300..400).contains(&status)
}

fn says_success(answer: &Answer<'_>) -> bool {
    let body: Value = serde_json::from_slice(answer.body).unwrap_or_default();
    let code = body.pointer("/data/0/code").and_then(Value::as_str);
    (200..300).contains(&answer.status) && code == Some("SUCCESS")
}

/// Codes that mean that nothing was written, whatever the status.
const REFUSALS: [&str; 27] = [
    "429",
    "AUTHENTICATION_FAILURE",
    "AUTHORIZATION_FAILED",
    "DEPENDENT_FIELD_MISSING",
    "DUPLICATE_DATA",
    "INVALID_DATA",
    "INVALID_MODULE",
    "INVALID_REQUEST_METHOD",
    "INVALID_TOKEN",
    "INVALID_URL_PATTERN",
    "LIMIT_EXCEEDED",
    "MANDATORY_NOT_FOUND",
    "NOT_APPROVED",
    "NOT_FOUND",
    "NOT_REVIEWED",
    "NO_CONTENT",
    "NO_PERMISSION",
    "NO_RECORDS_FOUND",
    "OAUTH_SCOPE_MISMATCH",
    "PATTERN_NOT_MATCHED",
    "RATE_LIMIT_EXCEEDED",
    "RECORD_IN_BLUEPRINT",
    "RECORD_LOCKED",
    "RECORD_NOT_FOUND",
    "REQUIRED_PARAM_MISSING",
    "TOO_MANY_REQUESTS",
    "ALREADY_MODIFIED",
];

/// By its status, or by a code that is known to mean it.
fn says_refused(answer: &Answer<'_>) -> bool {
    let body: Value = serde_json::from_slice(answer.body).unwrap_or_default();
    let is_known = |item: &Value| {
        let texts = [item.get("code"), item.get("error")];
        let known = |value: &Value| match value.as_str() {
            Some(text) => REFUSALS.contains(&text),
            None => *value == 429,
        };
        texts.into_iter().flatten().any(known)
    };
    !(200..300).contains(&answer.status)
        || is_known(&body)
        || body.pointer("/data/0").is_some_and(is_known)
}

/// An answer of the token endpoint.
pub fn crm_token(data: &[u8]) {
    let answer = answer(data);
    match fuzzing::token(answer.status, answer.body, now()) {
        Ok(token) => {
            let text = token.token.expose_secret();
            assert!(text.bytes().all(|b| b.is_ascii_graphic()) && !text.is_empty());
            assert!(now() < token.refresh_at && token.refresh_at < token.expires_at);
            let day_and_a_bit = SignedDuration::from_secs(100_000);
            assert!(token.expires_at.duration_since(now()) <= day_and_a_bit);
            if let Some(url) = &token.api_domain {
                // The token goes there: never in clear text but to this machine, and never past a user name.
                let local = ["127.", "localhost", "[::1]"];
                let host = url.host_str().unwrap_or_default();
                let is_local = local.iter().any(|start| host.starts_with(start));
                assert!(
                    url.scheme() == "https" || (url.scheme() == "http" && is_local),
                    "{url}"
                );
                assert!(url.username().is_empty() && url.password().is_none() && url.path() == "/");
            }
            let shown = format!("{token:?}");
            assert!(text.len() < 16 || !shown.contains(text));
        }
        Err(error) => {
            check_error(&error);
            if let StoreError::Unauthorized { detail } = &error {
                assert_kept_text(detail, 64);
            }
        }
    }
}
