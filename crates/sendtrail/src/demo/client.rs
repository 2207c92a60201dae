//! What a widget and the CRM's server-side function do, over HTTP.

use std::time::Duration;

use jiff::Timestamp;
use sendtrail_core::ids::Sha256Hash;
use sendtrail_core::ports::Random as _;
use sendtrail_signature::{Secret, sign};
use sendtrail_startup::OsRandom;
use serde_json::{Value, json};

use super::stage::Failed;
use crate::local::{Endpoints, SigningKey};

/// Calls the two doors as the CRM would.
pub(crate) struct Client {
    http: reqwest::Client,
    endpoints: Endpoints,
}

/// An answer of a door.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body, when it is JSON.
    pub(crate) json: Value,
}

/// A previewed document.
#[derive(Debug, Clone)]
pub(crate) struct Preview {
    /// The bytes the user looks at.
    pub(crate) bytes: Vec<u8>,
    /// The receipt that binds them.
    pub(crate) receipt: String,
}

/// A saved record with its tokens.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    /// The history record.
    pub(crate) id: String,
    preview_token: String,
    confirm_ticket: String,
}

impl Answer {
    /// A text of the answer; empty where it has none.
    pub(crate) fn text(&self, key: &str) -> String {
        self.json[key].as_str().unwrap_or_default().to_owned()
    }

    /// Status and code in words.
    pub(crate) fn words(&self) -> String {
        let text = ["code", "outcome", "state"].map(|key| self.text(key));
        let text = text
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_default();
        format!("{} {text}", self.status)
    }
}

/// A fresh `webhook-id`.
pub(crate) fn fresh_id() -> String {
    format!("msg_{:032x}", OsRandom.bits())
}

impl Client {
    /// A client for the doors at these addresses.
    pub(crate) fn new(endpoints: Endpoints) -> Result<Self, Failed> {
        let tls = sendtrail_startup::tls().map_err(|error| Failed::Setup(error.to_string()))?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .timeout(Duration::from_mins(1))
            .no_proxy()
            .build()
            .map_err(|error| Failed::Setup(error.to_string()))?;
        Ok(Self { http, endpoints })
    }

    /// Saves input for this recipient.
    pub(crate) async fn save(&self, driver: &str, recipient: &str) -> Result<Saved, Failed> {
        let url = format!("{}/v1/histories", self.endpoints.intake_url);
        let body = self.input(driver, recipient);
        self.saved(reqwest::Method::POST, &url, &body, 201).await
    }

    /// Saves it again on a record that is not sent yet, for fresh tokens.
    pub(crate) async fn save_again(
        &self,
        driver: &str,
        recipient: &str,
        id: &str,
    ) -> Result<Saved, Failed> {
        let url = format!("{}/v1/histories/{id}", self.endpoints.intake_url);
        let mut body = self.input(driver, recipient);
        body["history_id"] = id.into();
        self.saved(reqwest::Method::PUT, &url, &body, 200).await
    }

    async fn saved(
        &self,
        method: reqwest::Method,
        url: &str,
        body: &Value,
        status: u16,
    ) -> Result<Saved, Failed> {
        let key = &self.endpoints.signing.intake;
        let answer = self.signed(method, url, key, &fresh_id(), body).await?;
        if answer.status != status {
            return Err(Failed::Unexpected(format!("save: {}", answer.words())));
        }
        Ok(Saved {
            id: answer.text("history_id"),
            preview_token: answer.text("preview_token"),
            confirm_ticket: answer.text("confirm_ticket"),
        })
    }

    fn input(&self, driver: &str, recipient: &str) -> Value {
        let source = &self.endpoints.source;
        json!({
            "aud": format!("{}/intake", self.endpoints.stage),
            "op": "save",
            "driver": driver,
            "source": {
                "module": source.module,
                "record_id": source.record_id,
                "attachment_id": source.attachment_id,
            },
            "to": {
                "name": recipient,
                "email": "ada@example.com",
                "address_line1": "1 Main Street",
                "address_city": "Springfield",
                "address_state": "IL",
                "address_zip": "62701",
            },
            "fields": {"from_address": "adr_local", "title": "Contract"},
            "actor": {"id": "4150868000000225013", "name": "Sam Seller"},
        })
    }

    /// Fetches the preview.
    pub(crate) async fn preview(&self, saved: &Saved) -> Result<Preview, Failed> {
        let url = format!(
            "{}/v1/histories/{}/preview",
            self.endpoints.intake_url, saved.id
        );
        let answer = self
            .http
            .get(url)
            .bearer_auth(&saved.preview_token)
            .send()
            .await?;
        let status = answer.status().as_u16();
        let header = |name: &str| {
            let value = answer
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let (sha256, receipt) = (
            header("sendtrail-document-sha256"),
            header("sendtrail-receipt"),
        );
        let bytes = answer.bytes().await?.to_vec();
        if status != 200 || Sha256Hash::of(&bytes).to_string() != sha256 {
            return Err(Failed::Unexpected(format!("preview: {status}")));
        }
        Ok(Preview { bytes, receipt })
    }

    /// Confirms these bytes.
    pub(crate) async fn confirm(
        &self,
        saved: &Saved,
        bytes: Vec<u8>,
        receipt: &str,
    ) -> Result<Answer, Failed> {
        let url = format!(
            "{}/v1/histories/{}/document",
            self.endpoints.intake_url, saved.id
        );
        let request = self
            .http
            .put(url)
            .bearer_auth(&saved.confirm_ticket)
            .header("sendtrail-receipt", receipt)
            .header("content-type", "application/pdf")
            .body(bytes);
        answer(request).await
    }

    /// Presses *send* under this `webhook-id`.
    pub(crate) async fn press(
        &self,
        history_id: &str,
        document: &[u8],
        webhook_id: &str,
    ) -> Result<Answer, Failed> {
        let hash = Sha256Hash::of(document).to_string();
        self.press_hash(history_id, &hash, webhook_id).await
    }

    /// Presses *send* for the document with this hash.
    pub(crate) async fn press_hash(
        &self,
        history_id: &str,
        document_sha256: &str,
        webhook_id: &str,
    ) -> Result<Answer, Failed> {
        let body = json!({
            "aud": format!("{}/side-effect", self.endpoints.stage),
            "op": "send",
            "history_id": history_id,
            "document_sha256": document_sha256,
            "actor": {"id": "4150868000000225013", "name": "Sam Seller"},
        });
        let url = format!("{}/v1/sends", self.endpoints.side_effect_url);
        let key = &self.endpoints.signing.side_effect;
        self.signed(reqwest::Method::POST, &url, key, webhook_id, &body)
            .await
    }

    /// Reads a JSON document of the simulators.
    pub(crate) async fn get_json(&self, url: &str) -> Result<Value, Failed> {
        Ok(answer(self.http.get(url)).await?.json)
    }

    async fn signed(
        &self,
        method: reqwest::Method,
        url: &str,
        key: &SigningKey,
        id: &str,
        body: &Value,
    ) -> Result<Answer, Failed> {
        let secret =
            Secret::parse(&key.secret).map_err(|error| Failed::Setup(error.to_string()))?;
        let body = body.to_string();
        let timestamp = Timestamp::now().as_second().to_string();
        let request = self
            .http
            .request(method, url)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", &timestamp)
            .header(
                "webhook-signature",
                sign(&secret, id, &timestamp, body.as_bytes()),
            )
            .body(body);
        answer(request).await
    }
}

async fn answer(request: reqwest::RequestBuilder) -> Result<Answer, Failed> {
    let answer = request.send().await?;
    let status = answer.status().as_u16();
    let bytes = answer.bytes().await?;
    Ok(Answer {
        status,
        json: serde_json::from_slice(&bytes).unwrap_or_default(),
    })
}
