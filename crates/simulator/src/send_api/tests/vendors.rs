//! The APIs of CloudSign, Resend and Telnyx, as their callers meet them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::multipart::{Form, Part};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use super::super::SendApi;
use super::{PDF, client, json as body, start};

async fn form(request: RequestBuilder, fields: &str) -> Response {
    let kind = "application/x-www-form-urlencoded";
    let request = request.header("content-type", kind).body(fields.to_owned());
    request.send().await.unwrap()
}

fn post(api: &SendApi, path: &str, token: &str) -> RequestBuilder {
    client()
        .post(format!("{}{path}", api.url))
        .bearer_auth(token)
}

async fn read(api: &SendApi, path: &str, token: &str) -> (u16, Value) {
    let url = format!("{}{path}", api.url);
    let answer = client().get(url).bearer_auth(token).send().await.unwrap();
    (answer.status().as_u16(), body(answer).await)
}

async fn token(api: &SendApi) -> String {
    let answer = form(post(api, "/cloudsign/token", ""), "client_id=test_key").await;
    let answer = body(answer).await;
    assert_eq!(answer["expires_in"], 3600);
    answer["access_token"].as_str().unwrap().to_owned()
}

/// A draft with a file and a participant of this name: its path.
async fn draft(api: &SendApi, token: &str, name: &str) -> String {
    let made = form(
        post(api, "/cloudsign/documents", token),
        "title=NDA&note=st_1",
    )
    .await;
    let path = format!(
        "/cloudsign/documents/{}",
        body(made).await["id"].as_str().unwrap()
    );
    let file = Part::bytes(PDF.to_vec()).file_name("a.pdf");
    let file =
        post(api, &format!("{path}/files"), token).multipart(Form::new().part("uploadfile", file));
    assert_eq!(file.send().await.unwrap().status(), 200);
    let fields = format!("email=a%40example.com&name={name}");
    let person = form(post(api, &format!("{path}/participants"), token), &fields);
    assert_eq!(person.await.status(), 200);
    path
}

#[tokio::test]
async fn a_contract_is_a_draft_until_the_post_that_sends_it() {
    let api = start().await;
    let token = token(&api).await;
    let path = draft(&api, &token, "Ada").await;
    let (status, before) = read(&api, &path, &token).await;
    assert_eq!(
        (status, &before["status"], &before["sent_at"]),
        (200, &json!(0), &Value::Null)
    );
    assert_eq!(api.post_counts(None).unwrap().received, 0);
    let sent = post(&api, &path, &token).send().await.unwrap();
    assert_eq!(
        (sent.status().as_u16(), &body(sent).await["status"]),
        (200, &json!(1))
    );
    let (_, first) = read(&api, &path, &token).await;
    let (_, second) = read(&api, &path, &token).await;
    assert_eq!(
        (&first["status"], &second["status"]),
        (&json!(1), &json!(2))
    );
    // What is out is not changed any more.
    let late = form(
        post(&api, &format!("{path}/participants"), &token),
        "email=b%40c&name=B",
    );
    assert_eq!(late.await.status(), 403);
    assert_eq!(api.post_counts(Some("st_1")).unwrap().accepted, 1);
}

#[tokio::test]
async fn a_second_post_sends_a_reminder_and_is_counted() {
    let api = start().await;
    let token = token(&api).await;
    let path = draft(&api, &token, "Ada").await;
    for _ in 0..3 {
        let sent = post(&api, &path, &token).send().await.unwrap();
        assert_eq!(sent.status(), 200);
        assert_eq!(body(sent).await["status"], 1);
    }
    assert_eq!(api.drafts().unwrap()[0].reminders, 2);
    let counts = api.post_counts(None).unwrap();
    assert_eq!((counts.accepted, counts.received), (1, 3));
}

#[tokio::test]
async fn a_contract_without_a_file_or_a_token_is_not_sent() {
    let api = start().await;
    let token = token(&api).await;
    let made = form(post(&api, "/cloudsign/documents", &token), "title=NDA").await;
    let path = format!(
        "/cloudsign/documents/{}",
        body(made).await["id"].as_str().unwrap()
    );
    let sent = post(&api, &path, &token).send().await.unwrap();
    assert_eq!(sent.status(), 403);
    assert_eq!(body(sent).await["error"], "not_acceptable");
    let whole = draft(&api, &token, "Ada").await;
    for bad in ["", "test_key", "other"] {
        let sent = post(&api, &whole, bad).send().await.unwrap();
        assert_eq!(sent.status(), 401, "{bad}");
        assert_eq!(read(&api, &whole, bad).await.0, 401);
    }
    let other = form(post(&api, "/cloudsign/token", ""), "client_id=other").await;
    assert_eq!(other.status(), 400);
    assert_eq!(api.letters(None).unwrap(), []);
    assert_eq!(api.post_counts(None).unwrap().received, 0);
}

#[tokio::test]
async fn a_revoked_token_is_refused_and_the_next_one_is_another() {
    let api = start().await;
    let first = token(&api).await;
    assert_eq!(token(&api).await, first);
    api.revoke_token().unwrap();
    let path = "/cloudsign/documents/x";
    assert_eq!(read(&api, path, &first).await.0, 401);
    let second = token(&api).await;
    assert_ne!(first, second);
    assert_eq!(read(&api, path, &second).await.0, 404);
}

fn mail(subject: &str) -> Value {
    json!({
        "from": "us@example.com", "to": ["Ada <ada@example.com>"], "subject": subject, "text": "x",
        "attachments": [{"filename": "a.pdf", "content": STANDARD.encode(PDF)}],
        "tags": [{"name": "send_id", "value": "st_1"}],
    })
}

async fn send_mail(api: &SendApi, key: &str, mail: &Value) -> Response {
    let request = post(api, "/resend/emails", "test_key").header("Idempotency-Key", key);
    let request = request.header("content-type", "application/json");
    request.body(mail.to_string()).send().await.unwrap()
}

#[tokio::test]
async fn a_mail_answers_its_id_alone_and_a_key_replays_it() {
    let api = start().await;
    let first = body(send_mail(&api, "k", &mail("a")).await).await;
    assert_eq!(first.as_object().unwrap().len(), 1);
    assert_eq!(body(send_mail(&api, "k", &mail("a")).await).await, first);
    let other = send_mail(&api, "k", &mail("b")).await;
    assert_eq!(other.status(), 409);
    assert_eq!(body(other).await["name"], "invalid_idempotent_request");
    let path = format!("/resend/emails/{}", first["id"].as_str().unwrap());
    assert_eq!(read(&api, &path, "test_key").await.1["last_event"], "sent");
    assert_eq!(
        read(&api, &path, "test_key").await.1["last_event"],
        "delivered"
    );
    let mut bare = mail("c");
    bare.as_object_mut().unwrap().remove("from");
    assert_eq!(send_mail(&api, "k2", &bare).await.status(), 422);
    assert_eq!(api.letters(Some("st_1")).unwrap().len(), 1);
}

async fn fax(api: &SendApi, to: &str, reference: &str) -> Response {
    let form = Form::new()
        .text("connection_id", "c-1")
        .text("from", "+1555")
        .text("to", to.to_owned())
        .text("client_state", STANDARD.encode(reference))
        .part("contents", Part::bytes(PDF.to_vec()).file_name("a.pdf"));
    let request = post(api, "/telnyx/faxes", "test_key").header("Idempotency-Key", "ignored");
    request.multipart(form).send().await.unwrap()
}

#[tokio::test]
async fn a_fax_is_queued_with_202_and_the_list_has_the_newest_first() {
    let api = start().await;
    for reference in ["st_1", "st_2", "st_2"] {
        let sent = fax(&api, "+15551", reference).await;
        assert_eq!(sent.status(), 202);
        assert_eq!(body(sent).await["data"]["status"], "queued");
    }
    let (_, list) = read(&api, "/telnyx/faxes?page[size]=2", "test_key").await;
    let newest: Vec<_> = list["data"].as_array().unwrap().iter().collect();
    assert_eq!(newest.len(), 2);
    assert!(
        newest
            .iter()
            .all(|fax| fax["client_state"] == STANDARD.encode("st_2"))
    );
    assert_eq!(read(&api, "/telnyx/faxes", "other").await.0, 401);
    let (status, missing) = read(&api, "/telnyx/faxes/none", "test_key").await;
    assert_eq!(
        (status, &missing["errors"][0]["code"]),
        (404, &json!("not_found"))
    );
}
