//! Over HTTP, as a caller meets it.

mod commit;
mod keys;
mod look_up;
mod restart;
mod vendors;

use std::sync::Once;
use std::time::Duration;

use reqwest::multipart::{Form, Part};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;

use super::{SendApi, SendApiConfig};

pub(crate) const PDF: &[u8] = b"%PDF-1.7\nhello\n%%EOF\n";

pub(crate) async fn start() -> SendApi {
    SendApi::start(SendApiConfig::default()).await.unwrap()
}

/// Without a pool, so that a cut connection is seen by the call that it is meant for.
pub(crate) fn client() -> Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let builder = Client::builder()
        .no_proxy()
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0);
    builder
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(20))
        .build()
        .unwrap()
}

pub(crate) fn form(recipient: &str, reference: &str, document: &[u8]) -> Form {
    Form::new()
        .text("to[name]", recipient.to_owned())
        .text("to[city]", "Zürich")
        .text("metadata[send_id]", reference.to_owned())
        .part("file", Part::bytes(document.to_vec()).file_name("a.pdf"))
}

/// A letter to this recipient, with the reference as idempotency key too.
pub(crate) fn letter(api: &SendApi, recipient: &str, reference: &str) -> RequestBuilder {
    let request = client()
        .post(format!("{}/v1/letters", api.url))
        .basic_auth("test_key", Some(""));
    request
        .header("Idempotency-Key", reference)
        .multipart(form(recipient, reference, PDF))
}

/// A letter that must be accepted: its id.
pub(crate) async fn accepted(api: &SendApi, recipient: &str, reference: &str) -> String {
    let answer = letter(api, recipient, reference).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    json(answer).await["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn json(answer: Response) -> Value {
    serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
}

pub(crate) async fn get(api: &SendApi, path: &str) -> Response {
    client()
        .get(format!("{}{path}", api.url))
        .bearer_auth("test_key")
        .send()
        .await
        .unwrap()
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(
            tokio::time::Instant::now() < deadline,
            "waited in vain until {what}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
