use std::sync::Once;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use sendtrail_simulator::crm::{
    Crm, CrmConfig, CrmHandle, FieldKind, FieldSpec, ModuleSpec, Switches,
};
use serde_json::{Value, json};

static PROVIDER: Once = Once::new();

pub(crate) fn client() -> Client {
    PROVIDER.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    Client::builder()
        .tls_certs_only([])
        .no_proxy()
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(10))
        .build()
        .unwrap()
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) async fn of(request: RequestBuilder) -> Result<Self, reqwest::Error> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or_default();
        Ok(Self {
            status,
            headers,
            text,
            body,
        })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The code of the first item, or of the whole answer.
    pub(crate) fn code(&self) -> &str {
        let code = &self.body["data"][0]["code"];
        code.as_str()
            .or_else(|| self.body["code"].as_str())
            .unwrap_or("")
    }

    pub(crate) fn details(&self) -> &Value {
        &self.body["data"][0]["details"]
    }
}

/// A CRM, a client and a token.
pub(crate) struct Bed {
    pub(crate) crm: CrmHandle,
    pub(crate) http: Client,
    pub(crate) token: String,
}

pub(crate) const MODULE: &str = "Send_Histories";

impl Bed {
    pub(crate) async fn new() -> Self {
        Self::with(CrmConfig::default()).await
    }

    /// A bed with some switches changed.
    pub(crate) async fn switched(change: impl FnOnce(&mut Switches)) -> Self {
        let mut config = CrmConfig::default();
        change(&mut config.switches);
        Self::with(config).await
    }

    pub(crate) async fn with(config: CrmConfig) -> Self {
        let crm = Crm::start(config).await.unwrap();
        let mut bed = Self {
            crm,
            http: client(),
            token: String::new(),
        };
        let token = bed.fresh_token("poller").await.body["access_token"].take();
        bed.token = serde_json::from_value(token).unwrap();
        bed
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.crm.url())
    }

    pub(crate) async fn token_with(&self, form: &str) -> Answer {
        let request = self.http.post(self.url("/oauth/v2/token"));
        let kind = "application/x-www-form-urlencoded";
        Answer::of(request.header("content-type", kind).body(form.to_owned()))
            .await
            .unwrap()
    }

    pub(crate) async fn fresh_token(&self, who: &str) -> Answer {
        let form =
            "client_id=1000.LOCALCLIENT&client_secret=local-client-secret&grant_type=refresh_token";
        self.token_with(&format!("{form}&refresh_token=1000.refresh.{who}"))
            .await
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let token = format!("Zoho-oauthtoken {}", self.token);
        self.http
            .request(method, self.url(path))
            .header("authorization", token)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await.unwrap()
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Answer {
        Answer::of(self.request(method, path).body(body.to_string()))
            .await
            .unwrap()
    }

    pub(crate) async fn create(&self, fields: Value) -> Answer {
        let body = json!({"data": [fields], "trigger": []});
        self.send(Method::POST, &format!("/crm/v8/{MODULE}"), &body)
            .await
    }

    /// A history record; returns its id and its version.
    pub(crate) async fn created(&self, fields: Value) -> (String, String) {
        let answer = self.create(fields).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let text = |name: &str| answer.details()[name].as_str().unwrap().to_owned();
        (text("id"), text("Modified_Time"))
    }

    pub(crate) fn update_request(
        &self,
        id: &str,
        guard: Option<&str>,
        fields: &Value,
    ) -> RequestBuilder {
        let body = json!({"data": [fields], "trigger": []}).to_string();
        let request = self
            .request(Method::PUT, &format!("/crm/v8/{MODULE}/{id}"))
            .body(body);
        match guard {
            Some(guard) => request.header("If-Unmodified-Since", guard),
            None => request,
        }
    }

    pub(crate) async fn update(&self, id: &str, guard: Option<&str>, fields: Value) -> Answer {
        Answer::of(self.update_request(id, guard, &fields))
            .await
            .unwrap()
    }

    pub(crate) async fn read(&self, id: &str) -> Answer {
        self.get(&format!("/crm/v8/{MODULE}/{id}")).await
    }

    pub(crate) async fn coql(&self, query: &str) -> Answer {
        self.send(
            Method::POST,
            "/crm/v8/coql",
            &json!({"select_query": query}),
        )
        .await
    }

    pub(crate) async fn sim(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = self
            .http
            .request(method, self.url(&format!("/_sim/{path}")));
        Answer::of(
            request
                .header("content-type", "application/json")
                .body(body.to_string()),
        )
        .await
        .unwrap()
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.crm.clock().advance(Duration::from_secs(seconds));
    }
}

/// A module with a field of every kind and a mandatory name.
pub(crate) fn kinds() -> CrmConfig {
    let field = FieldSpec::new;
    let module = ModuleSpec {
        name: "Kinds".into(),
        auto_name: None,
        fields: vec![
            field(
                "Short",
                FieldKind::Text {
                    length: 10,
                    unique: false,
                },
            ),
            field(
                "Key",
                FieldKind::Text {
                    length: 50,
                    unique: true,
                },
            ),
            field("Small", FieldKind::SmallText),
            field("Large", FieldKind::LargeText),
            field("Rich", FieldKind::RichText),
            field(
                "Pick",
                FieldKind::Picklist(vec!["one".into(), "two".into()]),
            ),
            field("When", FieldKind::DateTime),
            field("Count", FieldKind::Integer),
            field("Price", FieldKind::Decimal),
            field("Flag", FieldKind::Boolean),
            field("Files", FieldKind::FileUpload { max: 2 }),
        ],
    };
    let mut config = CrmConfig::default();
    config.modules.push(module);
    config
}
