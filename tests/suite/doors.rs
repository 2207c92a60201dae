//! Hostile requests at the real doors.

use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderValue};
use sendtrail_signature::{Secret, sign};
use serde_json::{Value, json};

use crate::stack::Stack;

struct Doors {
    http: reqwest::Client,
    stack: Stack,
}

struct Reply {
    status: u16,
    body: Vec<u8>,
    content_type: String,
}

impl Doors {
    fn start(data: &std::path::Path) -> Self {
        let tls = sendtrail_startup::tls().unwrap();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .build()
            .unwrap();
        Self {
            http,
            stack: Stack::start(data),
        }
    }

    fn save_body(&self) -> Value {
        json!({
            "aud": "local/intake", "op": "save", "driver": "lob-letter",
            "source": self.stack.endpoints["source"],
            "to": {"name": "Zelda Confidential"}, "fields": {},
            "actor": {"id": "1", "name": "Sam"},
        })
    }

    fn headers(&self, key: &str, id: &str, timestamp: &str, body: &[u8]) -> HeaderMap {
        let secret = Secret::parse(&self.stack.text(&format!("/signing/{key}/secret"))).unwrap();
        let signature = sign(&secret, id, timestamp, body);
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("webhook-id", id),
            ("webhook-timestamp", timestamp),
            ("webhook-signature", &signature),
        ] {
            headers.insert(name, HeaderValue::from_str(value).unwrap());
        }
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers
    }

    async fn post(&self, path: &str, headers: HeaderMap, body: Vec<u8>) -> Reply {
        let base = self.stack.text(if path.ends_with("sends") {
            "/side_effect_url"
        } else {
            "/intake_url"
        });
        let answer = self
            .http
            .post(format!("{base}{path}"))
            .headers(headers)
            .body(body)
            .send()
            .await
            .unwrap();
        let content_type = answer
            .headers()
            .get("content-type")
            .and_then(|v| v.to_str().ok());
        Reply {
            status: answer.status().as_u16(),
            content_type: content_type.unwrap_or_default().to_owned(),
            body: answer.bytes().await.unwrap().to_vec(),
        }
    }

    /// A list that the simulated CRM keeps.
    async fn crm_list(&self, path: &str, key: &str) -> Vec<Value> {
        let url = format!("{}{path}", self.stack.text("/crm_url"));
        let answer = self.http.get(url).send().await.unwrap();
        let value: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        let list = value[key].as_array().cloned();
        list.unwrap_or_else(|| panic!("no {key}: {value}"))
    }

    async fn histories(&self) -> usize {
        let records = self.crm_list("/_sim/records/Send_Histories", "records");
        records.await.len()
    }

    /// Requests the CRM got since it was started.
    async fn crm_calls(&self) -> usize {
        let lines = self.crm_list("/_sim/log", "log").await;
        // The poller lists; what a door would do is anything else.
        let path = |line: &Value| line["path"].as_str().unwrap_or_default().to_owned();
        lines
            .iter()
            .map(path)
            .filter(|p| p.starts_with("/crm/") && !p.ends_with("/coql"))
            .count()
    }
}

fn now(shift: i64) -> String {
    (Timestamp::now().as_second() + shift).to_string()
}

/// The body of an answer without the request id, which differs by nature.
fn without_request_id(body: &[u8]) -> Value {
    let mut value: Value = serde_json::from_slice(body).unwrap();
    value
        .as_object_mut()
        .unwrap()
        .remove("request_id")
        .expect("a request id");
    value
}

#[tokio::test]
async fn every_reason_is_the_same_401_outside_and_nothing_is_written() {
    let data = tempfile::tempdir().unwrap();
    let doors = Doors::start(data.path());
    let body = doors.save_body().to_string().into_bytes();
    let good = |doors: &Doors| doors.headers("intake", "msg_1", &now(0), &body);
    let mut cases: Vec<(&str, HeaderMap, Vec<u8>)> =
        vec![("nothing_signed", HeaderMap::new(), body.clone())];
    let mut changed = body.clone();
    changed[10] ^= 1;
    cases.push(("body_changed", good(&doors), changed));
    for (name, shift) in [("too_old", -301), ("too_new", 302)] {
        cases.push((
            name,
            doors.headers("intake", "msg_1", &now(shift), &body),
            body.clone(),
        ));
    }
    for (name, timestamp) in [
        ("plus", format!("+{}", now(0))),
        ("zeros", format!("00{}", now(0))),
        ("least", i64::MIN.to_string()),
        ("milliseconds", format!("{}000", now(0))),
        ("no_number", "today".to_owned()),
    ] {
        cases.push((
            name,
            doors.headers("intake", "msg_1", &timestamp, &body),
            body.clone(),
        ));
    }
    for header in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let mut headers = good(&doors);
        headers.remove(header);
        cases.push((header, headers, body.clone()));
    }
    for header in ["webhook-id", "webhook-timestamp"] {
        let mut headers = good(&doors);
        let again = headers[header].clone();
        headers.append(header, again);
        cases.push((header, headers, body.clone()));
    }
    let full = good(&doors)["webhook-signature"]
        .to_str()
        .unwrap()
        .to_owned();
    for cut in [2, 3, 4, 20, full.len() - 4, full.len() - 1] {
        let mut headers = good(&doors);
        headers.insert(
            "webhook-signature",
            HeaderValue::from_str(&full[..cut]).unwrap(),
        );
        cases.push(("prefix", headers, body.clone()));
    }
    let mut other_key = good(&doors);
    other_key.extend(doors.headers("side_effect", "msg_1", &now(0), &body));
    cases.push(("another function's key", other_key, body.clone()));
    for (name, pointer, value) in [
        ("aud", "aud", "prod/intake"),
        ("aud", "aud", "local/side-effect"),
        ("op", "op", "send"),
    ] {
        let mut wrong = doors.save_body();
        wrong[pointer] = value.into();
        let wrong = wrong.to_string().into_bytes();
        cases.push((
            name,
            doors.headers("intake", "msg_1", &now(0), &wrong),
            wrong,
        ));
    }
    let before = doors.crm_calls().await;
    let mut first: Option<Value> = None;
    for (name, headers, body) in cases {
        let reply = doors.post("/v1/histories", headers, body).await;
        assert_eq!(
            reply.status,
            401,
            "{name}: {}",
            String::from_utf8_lossy(&reply.body)
        );
        assert_eq!(reply.content_type, "application/problem+json", "{name}");
        let answer = without_request_id(&reply.body);
        assert_eq!(
            *first.get_or_insert(answer.clone()),
            answer,
            "{name} can be told from outside"
        );
    }
    assert_eq!(doors.histories().await, 0, "something was written");
    assert_eq!(
        doors.crm_calls().await,
        before,
        "the CRM was asked for an unverified request"
    );
    let log = doors.stack.log("intake");
    for secret in doors.stack.secrets() {
        assert!(!log.contains(&secret), "a secret is in the log");
    }
    assert!(!log.contains("Zelda"), "a body is in the log");
    assert!(!log.contains(&full[3..]), "a signature is in the log");
}

#[tokio::test]
async fn malformed_requests_are_answered_4xx_and_the_sandbox_lives() {
    let data = tempfile::tempdir().unwrap();
    let doors = Doors::start(data.path());
    let signed = |body: &[u8], id: &str| doors.headers("intake", id, &now(0), body);
    for (index, body) in [
        &b""[..],
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"{\"aud\":\"local/intake\",\"op\":\"save\"}",
    ]
    .iter()
    .enumerate()
    {
        let reply = doors
            .post(
                "/v1/histories",
                signed(body, &format!("msg_{index}")),
                body.to_vec(),
            )
            .await;
        assert!(
            (400..500).contains(&reply.status),
            "{body:?}: {}",
            reply.status
        );
    }
    let base = doors.stack.text("/intake_url");
    for path in [
        "/",
        "/v1",
        "/v1/histories/%2e%2e/preview",
        "/v1/histories/a%2Fb/preview",
        "/v1/histories/1/preview?%zz",
        "/v1/sends",
    ] {
        let answer = doors
            .http
            .get(format!("{base}{path}"))
            .send()
            .await
            .unwrap();
        assert!(
            (400..500).contains(&answer.status().as_u16()),
            "{path}: {}",
            answer.status()
        );
    }
    let large = vec![b'x'; 200_000];
    let reply = doors
        .post("/v1/histories", signed(&large, "msg_large"), large)
        .await;
    assert_eq!(reply.status, 413);
    let huge = vec![b'x'; 7_000_000];
    let reply = doors.post("/v1/histories", HeaderMap::new(), huge).await;
    assert_eq!(reply.status, 413);
    // After all this, the same sandbox serves a good request.
    let body = doors.save_body().to_string().into_bytes();
    let reply = doors
        .post("/v1/histories", signed(&body, "msg_good"), body.clone())
        .await;
    assert_eq!(
        reply.status,
        201,
        "{}",
        String::from_utf8_lossy(&reply.body)
    );
    let log = doors.stack.log("intake");
    assert!(!log.contains("panicked"), "{log}");
}

#[tokio::test]
async fn the_poller_has_no_door_and_side_effect_takes_no_save() {
    let data = tempfile::tempdir().unwrap();
    let doors = Doors::start(data.path());
    let urls = doors.stack.endpoints.to_string();
    assert!(!urls.contains("poller"), "{urls}");
    let body = doors.save_body().to_string().into_bytes();
    let base = doors.stack.text("/side_effect_url");
    let headers = doors.headers("side_effect", "msg_1", &now(0), &body);
    let answer = doors
        .http
        .post(format!("{base}/v1/histories"))
        .headers(headers)
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 404);
    assert_eq!(doors.histories().await, 0);
}
