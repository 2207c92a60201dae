//! What is sent, and what is made of the answers to reads.

use bytes::Bytes;
use jiff::Timestamp;
use sendtrail_core::ids::{CrmName, HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::ports::{
    CreateHistory as _, FindTwins as _, Metered as _, ReadDocument as _, ReadHistory as _,
    SourceFile, SourceFiles as _, StoreDocument as _, StoreError,
};

use crate::fake::{Fake, Reply, TOKEN, json, token};
use crate::zoho;

fn id() -> HistoryId {
    HistoryId::parse("7").unwrap()
}

const RECORD: &str = r#"{"data":[{"id":"7","Modified_Time":"2026-01-01T05:30:07+05:30","Delivery_State":"accepted","Document":[{"id":"77"}]}]}"#;

#[tokio::test]
async fn a_stamp_says_what_was_known_before_the_request_was_sent() {
    let fake = Fake::start(|seen, nth| match (seen.path(), nth) {
        (TOKEN, nth) => token(nth),
        (_, 0) => Reply::With(
            200,
            "date: Thu, 01 Jan 2026 00:00:10 GMT\r\n",
            RECORD.into(),
        ),
        (_, 1) => Reply::With(
            200,
            "date: Thu, 01 Jan 2026 00:00:05 GMT\r\n",
            RECORD.into(),
        ),
        (_, _) => json(200, RECORD),
    })
    .await;
    let zoho = zoho(&fake.url);
    let at = |text: &str| text.parse::<Timestamp>().ok();
    let first = zoho.read(&id()).await.unwrap().stamp;
    assert_eq!(at("2026-01-01T00:00:07Z"), Some(first.version_at));
    assert_eq!(
        (first.clock_before, first.date),
        (None, at("2026-01-01T00:00:10Z"))
    );
    let second = zoho.read(&id()).await.unwrap().stamp;
    assert_eq!(second.clock_before, at("2026-01-01T00:00:10Z"));
    assert_eq!(second.date, at("2026-01-01T00:00:05Z"));
    // The clock never goes back, and an answer without a date tells none.
    let third = zoho.read(&id()).await.unwrap().stamp;
    assert_eq!(
        (third.clock_before, third.date),
        (second.clock_before, None)
    );
}

#[tokio::test]
async fn no_record_is_not_found_in_each_of_its_forms() {
    let invalid = r#"{"code":"INVALID_DATA","details":{"resource_path_index":1},"message":"the id given seems to be invalid","status":"error"}"#;
    for reply in [
        json(204, ""),
        json(400, invalid),
        json(200, r#"{"data":[]}"#),
    ] {
        let fake = Fake::answering(reply).await;
        let read = zoho(&fake.url).read(&id()).await;
        assert_eq!(read, Err(StoreError::NotFound));
    }
}

#[tokio::test]
async fn another_record_than_the_one_asked_for_is_not_taken() {
    let fake = Fake::answering(json(200, &RECORD.replace("\"7\"", "\"8\""))).await;
    let read = zoho(&fake.url).read(&id()).await;
    assert!(matches!(read, Err(StoreError::Malformed { .. })));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Fake::answering(json(200, RECORD)).await;
    let target: &'static str = format!("location: {}/\r\n", other.url).leak();
    let fake = Fake::start(move |seen, nth| match seen.path() {
        TOKEN => token(nth),
        _ => Reply::With(302, target, String::new()),
    })
    .await;
    let read = zoho(&fake.url).read(&id()).await;
    assert!(matches!(read, Err(StoreError::Malformed { .. })));
    assert_eq!(other.seen().len(), 0);
}

#[tokio::test]
async fn errors_name_neither_address_nor_secret() {
    for reply in [
        Reply::Close,
        Reply::Hang,
        Reply::Raw(b"nonsense\r\n\r\n".into()),
    ] {
        let fake = Fake::answering(reply).await;
        let zoho = zoho(&fake.url);
        let error = zoho.read(&id()).await.unwrap_err();
        assert!(matches!(error, StoreError::Transient { .. }), "{error:?}");
        let text = format!("{error:?} {error} {zoho:?}");
        for secret in ["127.0.0.1", "1000.", "local-client-secret", "crm/v8"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[tokio::test]
async fn calls_and_credits_are_counted_and_what_is_left_is_read() {
    let fake = Fake::start(|seen, nth| match seen.path() {
        TOKEN => token(nth),
        "/crm/v8/coql" => Reply::With(204, "x-api-credits-remaining: 4321\r\n", String::new()),
        _ => json(429, "{}"),
    })
    .await;
    let zoho = zoho(&fake.url);
    let key = RequestKey::parse("msg_1").unwrap();
    assert_eq!(zoho.find_by_request_key(&key).await, Ok(None));
    let limited = StoreError::RateLimited { retry_after: None };
    assert_eq!(zoho.read(&id()).await, Err(limited));
    let usage = zoho.usage();
    assert_eq!((usage.calls, usage.credits), (2, 1));
    assert_eq!(usage.credits_remaining, Some(4321));
}

#[tokio::test]
async fn a_file_above_the_limit_is_refused_whether_or_not_its_length_is_told() {
    let chunked = b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n6\r\n%PDF-1\r\n6\r\n%PDF-1\r\n0\r\n\r\n";
    for reply in [json(200, "%PDF-1%PDF-1"), Reply::Raw(chunked.to_vec())] {
        let fake = Fake::start(move |seen, nth| match seen.path() {
            TOKEN => token(nth),
            "/crm/v8/Send_Histories/7" => json(200, RECORD),
            _ => reply.clone(),
        })
        .await;
        let zoho = zoho(&fake.url);
        let record = zoho.read(&id()).await.unwrap().record;
        let bytes = zoho.download(&record, 12).await;
        assert_eq!(bytes, Ok(Bytes::from_static(b"%PDF-1%PDF-1")));
        let limit = StoreError::TooLarge { limit: 11 };
        assert_eq!(zoho.download(&record, 11).await, Err(limit));
        let call = fake.calls().pop().unwrap();
        assert_eq!(
            call.target,
            "/crm/v8/Send_Histories/7/actions/download_fields_attachment?fields_attachment_id=77"
        );
    }
}

#[tokio::test]
async fn source_files_come_from_attachments_and_from_fields() {
    let fake = Fake::start(|seen, nth| match seen.path() {
        TOKEN => token(nth),
        "/crm/v8/Deals/9" => json(
            200,
            r#"{"data":[{"id":"9","Contract_PDF":[{"id":"5"},{"id":"6"}]}]}"#,
        ),
        "/crm/v8/Deals/9/Attachments/4" => json(200, "attached"),
        "/crm/v8/Deals/9/actions/download_fields_attachment" => json(200, "in the field"),
        _ => json(204, ""),
    })
    .await;
    let zoho = zoho(&fake.url);
    let name = |text: &str| CrmName::parse(text).unwrap();
    let file = async |file: SourceFile| {
        zoho.source_file(&name("Deals"), &name("9"), &file, 99)
            .await
    };
    let attached = file(SourceFile::Attachment(name("4"))).await;
    assert_eq!(attached, Ok(Bytes::from_static(b"attached")));
    let field = file(SourceFile::Field(name("Contract_PDF"))).await;
    assert_eq!(field, Ok(Bytes::from_static(b"in the field")));
    assert!(fake.seen().last().unwrap().target.ends_with("=5"));
    for missing in [
        SourceFile::Attachment(name("8")),
        SourceFile::Field(name("Other")),
    ] {
        assert_eq!(file(missing).await, Err(StoreError::NotFound));
    }
}

#[tokio::test]
async fn an_upload_is_one_part_named_file() {
    let done = r#"{"data":[{"code":"SUCCESS","details":{"name":"a.pdf","id":"enc1"},"message":"a.pdf uploaded Succeessfully","status":"success"}]}"#;
    let fake = Fake::answering(json(200, done)).await;
    let id = zoho(&fake.url)
        .upload("a.pdf", Bytes::from_static(b"%PDF-1"))
        .await;
    assert_eq!(id.unwrap().as_str(), "enc1");
    let call = &fake.calls()[0];
    assert_eq!(
        (call.method.as_str(), call.path()),
        ("POST", "/crm/v8/files")
    );
    assert!(
        call.header("content-type")
            .starts_with("multipart/form-data; boundary=")
    );
    assert!(
        call.body.contains("name=\"file\"; filename=\"a.pdf\""),
        "{}",
        call.body
    );
    assert!(call.body.contains("%PDF-1"));
}

#[tokio::test]
async fn twins_are_compared_again_letter_by_letter() {
    let document = Sha256Hash::of(b"x");
    let row = |id: &str, source: &str, state: &str| {
        serde_json::json!({"id": id, "Modified_Time": "2026-01-01T00:00:00+00:00", "Delivery_State": state, "Source_Module": "Deals",
            "Source_Record": source, "Document_SHA256": document.to_string()})
    };
    let rows = serde_json::json!({"data": [
        row("1", "r1", "accepted"), row("2", "R1", "accepted"), row("3", "r1", "saved"), row("4", "r1", "succeeded"),
    ]});
    let fake = Fake::answering(json(200, &rows.to_string())).await;
    let name = |text: &str| CrmName::parse(text).unwrap();
    let twins = zoho(&fake.url)
        .twins(&name("Deals"), &name("r1"), &document)
        .await;
    let ids: Vec<_> = twins
        .unwrap()
        .into_iter()
        .map(|twin| twin.record.id.to_string())
        .collect();
    assert_eq!(ids, ["1", "3", "4"]);
}
