//! What is said of a write: applied, conflict, not applied, or unknown.

use sendtrail_core::ids::{CrmName, FileId, HistoryId, RequestKey, Revision};
use sendtrail_core::ports::{
    CreateHistory as _, CreateReply, DocumentChange, GuardedWrite as _, NewRecord, StoreError,
    Write, WriteReply,
};
use sendtrail_core::state::State;
use sendtrail_zoho::{NoTokenCache, Zoho};
use serde_json::Value;

use crate::fake::{Fake, Reply, TOKEN, json, token};
use crate::{config, zoho, zoho_with};

const SUCCESS: &str = r#"{"data":[{"code":"SUCCESS","details":{"id":"7"},"message":"record updated","status":"success"}]}"#;
const REVISION: &str = "2026-01-01T05:30:07+05:30";

fn change(document: DocumentChange) -> Write {
    Write {
        state: Some(State::Accepted),
        progress: "{}".into(),
        next_check_at: None,
        deadline: None,
        external_id: None,
        document_sha256: None,
        input: None,
        document,
        notify: false,
    }
}

async fn write(url: &str, document: DocumentChange) -> WriteReply {
    let id = HistoryId::parse("7").unwrap();
    let revision = Revision::parse(REVISION).unwrap();
    zoho(url).write(&id, &revision, &change(document)).await
}

async fn written(reply: Reply) -> (WriteReply, Fake) {
    let fake = Fake::answering(reply).await;
    (write(&fake.url, DocumentChange::Keep).await, fake)
}

fn new() -> NewRecord {
    NewRecord {
        request_key: RequestKey::parse("msg_1").unwrap(),
        source_module: CrmName::parse("Deals").unwrap(),
        source_record: CrmName::parse("9").unwrap(),
        write: change(DocumentChange::Keep),
    }
}

/// Creates a record.
pub(crate) async fn create(zoho: &Zoho) -> CreateReply {
    zoho.create(&new()).await
}

#[tokio::test]
async fn a_write_carries_the_version_verbatim_and_no_trigger() {
    let (reply, fake) = written(json(200, SUCCESS)).await;
    assert_eq!(reply, WriteReply::Applied);
    let call = &fake.calls()[0];
    assert_eq!(
        (call.method.as_str(), call.target.as_str()),
        ("PUT", "/crm/v8/Send_Histories/7")
    );
    assert_eq!(call.header("if-unmodified-since"), REVISION);
    let body: Value = serde_json::from_str(&call.body).unwrap();
    assert_eq!(body["trigger"], serde_json::json!([]));
}

#[tokio::test]
async fn a_conflict_is_one_wherever_it_stands() {
    let wrapped =
        r#"{"data":[{"code":"ALREADY_MODIFIED","details":{},"message":"x","status":"error"}]}"#;
    let flat = r#"{"code":"ALREADY_MODIFIED","details":{},"message":"x","status":"error"}"#;
    for reply in [
        json(412, wrapped),
        json(412, flat),
        json(412, "<html>"),
        json(200, wrapped),
        json(207, wrapped),
        json(200, flat),
        json(400, wrapped),
    ] {
        let (result, fake) = written(reply.clone()).await;
        assert_eq!(result, WriteReply::Conflict, "{reply:?}");
        assert_eq!(fake.calls().len(), 1, "{reply:?}");
    }
}

#[tokio::test]
async fn what_proves_nothing_is_unknown_and_is_not_sent_again() {
    let cut = format!(
        "HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n{{\"data\"",
        SUCCESS.len()
    );
    for reply in [
        Reply::Hang,
        Reply::Close,
        Reply::Raw(cut.into_bytes()),
        json(200, ""),
        json(200, "{\"data\":[{\"code\":\"SUC"),
        json(200, r#"{"data":[{"code":"DONE_LATER","status":"error"}]}"#),
        json(207, r#"{"data":[{"code":"DONE_LATER","status":"error"}]}"#),
        json(202, r#"{"code":"DONE_LATER","status":"error"}"#),
        json(204, ""),
        json(302, ""),
        json(408, ""),
        json(500, r#"{"code":"INTERNAL_ERROR"}"#),
        json(502, "<html>"),
        json(503, ""),
        json(504, ""),
    ] {
        let (result, fake) = written(reply.clone()).await;
        assert!(
            matches!(result, WriteReply::Unknown(_)),
            "{reply:?}: {result:?}"
        );
        assert_eq!(fake.calls().len(), 1, "{reply:?}");
    }
}

#[tokio::test]
async fn a_clear_refusal_is_not_applied() {
    let item = r#"{"data":[{"code":"RECORD_LOCKED","details":{},"message":"x","status":"error"}]}"#;
    let no_id = r#"{"data":[{"code":"INVALID_DATA","details":{"resource_path_index":1},"message":"the id given seems to be invalid","status":"error"}]}"#;
    for (reply, not_found) in [
        (json(400, item), false),
        (json(200, item), false),
        (json(403, "<html>"), false),
        (json(404, ""), false),
        (json(400, no_id), true),
    ] {
        let (result, _) = written(reply.clone()).await;
        let WriteReply::NotApplied(error) = result else {
            panic!("{reply:?}: {result:?}");
        };
        assert_eq!(
            error == StoreError::NotFound,
            not_found,
            "{reply:?}: {error:?}"
        );
    }
    let limited = Reply::With(429, "retry-after: 7\r\n", String::new());
    let retry_after = Some(jiff::SignedDuration::from_secs(7));
    let (result, _) = written(limited).await;
    assert_eq!(
        result,
        WriteReply::NotApplied(StoreError::RateLimited { retry_after })
    );
}

#[tokio::test]
async fn a_write_refused_for_its_token_is_sent_once_more() {
    let fake = Fake::start(|seen, nth| match seen.path() {
        TOKEN => token(nth),
        _ if nth == 1 => json(401, r#"{"code":"INVALID_TOKEN","details":{}}"#),
        _ => json(200, SUCCESS),
    })
    .await;
    let zoho = zoho(&fake.url);
    let id = HistoryId::parse("7").unwrap();
    let revision = Revision::parse(REVISION).unwrap();
    for _ in 0..2 {
        let reply = zoho
            .write(&id, &revision, &change(DocumentChange::Keep))
            .await;
        assert_eq!(reply, WriteReply::Applied);
    }
    let calls = fake.calls();
    assert_eq!(calls.len(), 3);
    assert_eq!(
        calls[2].header("authorization"),
        "Zoho-oauthtoken 1000.token1"
    );
    assert_eq!(calls[2].header("if-unmodified-since"), REVISION);
}

#[tokio::test]
async fn a_connection_that_never_was_proves_that_nothing_was_written() {
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nowhere = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let fake = Fake::answering(json(500, "")).await;
    let mut config = config(&fake.url);
    config.api_url = nowhere.parse().unwrap();
    let zoho = zoho_with(&config, Box::new(NoTokenCache));
    let id = HistoryId::parse("7").unwrap();
    let revision = Revision::parse(REVISION).unwrap();
    let reply = zoho
        .write(&id, &revision, &change(DocumentChange::Keep))
        .await;
    assert!(
        matches!(reply, WriteReply::NotApplied(StoreError::Transient { .. })),
        "{reply:?}"
    );
    let create = zoho.create(&new()).await;
    assert!(matches!(
        create,
        CreateReply::NotCreated(StoreError::Transient { .. })
    ));
}

#[tokio::test]
async fn without_a_token_nothing_is_written() {
    let fake = Fake::start(|_, _| json(200, r#"{"error":"invalid_client"}"#)).await;
    let reply = write(&fake.url, DocumentChange::Keep).await;
    assert!(matches!(
        reply,
        WriteReply::NotApplied(StoreError::Unauthorized { .. })
    ));
    assert_eq!(fake.calls().len(), 0);
}

#[tokio::test]
async fn a_bind_takes_off_by_name_what_the_field_holds() {
    let fake = Fake::start(|seen, nth| match (seen.path(), seen.method.as_str()) {
        (TOKEN, _) => token(nth),
        (_, "GET") => json(
            200,
            r#"{"data":[{"id":"7","Document":[{"id":"77"},{"id":"78"}]}]}"#,
        ),
        (_, _) => json(200, SUCCESS),
    })
    .await;
    let bind = DocumentChange::Bind(FileId::parse("enc1").unwrap());
    assert_eq!(write(&fake.url, bind).await, WriteReply::Applied);
    let calls = fake.calls();
    assert_eq!(calls[0].target, "/crm/v8/Send_Histories/7?fields=Document");
    let body: Value = serde_json::from_str(&calls[1].body).unwrap();
    assert_eq!(
        body["data"][0]["Document"],
        serde_json::json!([{"id":"77","_delete":null},{"id":"78","_delete":null},{"File_Id__s":"enc1"}])
    );
}

#[tokio::test]
async fn a_bind_on_a_record_that_is_gone_is_not_applied() {
    let fake = Fake::answering(json(204, "")).await;
    let bind = DocumentChange::Bind(FileId::parse("enc1").unwrap());
    let gone = WriteReply::NotApplied(StoreError::NotFound);
    assert_eq!(write(&fake.url, bind).await, gone);
}

#[tokio::test]
async fn a_create_says_created_exists_or_unknown() {
    let fake = Fake::answering(json(201, SUCCESS)).await;
    let id = HistoryId::parse("7").unwrap();
    assert_eq!(
        zoho(&fake.url).create(&new()).await,
        CreateReply::Created(id)
    );
    let body: Value = serde_json::from_str(&fake.calls()[0].body).unwrap();
    assert_eq!(body["data"][0]["Request_Key"], "msg_1");
    assert_eq!(body["data"][0]["Source_Record"], "9");

    for details in [r#"{"api_name":"Request_Key","id":"3"}"#, "{}"] {
        let body = format!(
            r#"{{"data":[{{"code":"DUPLICATE_DATA","details":{details},"status":"error"}}]}}"#
        );
        let fake = Fake::answering(Reply::Json(400, body)).await;
        assert_eq!(zoho(&fake.url).create(&new()).await, CreateReply::Exists);
    }
    let other =
        r#"{"data":[{"code":"DUPLICATE_DATA","details":{"api_name":"Name"},"status":"error"}]}"#;
    let fake = Fake::answering(json(400, other)).await;
    let reply = zoho(&fake.url).create(&new()).await;
    assert!(matches!(
        reply,
        CreateReply::NotCreated(StoreError::Refused { .. })
    ));

    for reply in [
        Reply::Close,
        json(500, ""),
        json(201, "{}"),
        json(201, r#"{"data":[{"code":"DONE_LATER","status":"error"}]}"#),
        json(201, &SUCCESS.replace("\"id\":\"7\"", "")),
    ] {
        let fake = Fake::answering(reply).await;
        let reply = zoho(&fake.url).create(&new()).await;
        assert!(matches!(reply, CreateReply::Unknown(_)), "{reply:?}");
        assert_eq!(fake.calls().len(), 1);
    }
}
