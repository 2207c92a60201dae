//! The simulated Parameter Store, as a client meets it.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::sync::Once;

use sendtrail_simulator::parameters::{
    ParameterFault, ParameterFaultKind, ParameterKind, ParameterSwitches, Parameters,
    ParametersConfig, ParametersHandle,
};
use serde_json::{Value, json};

struct Client {
    store: ParametersHandle,
    http: reqwest::Client,
}

async fn start(switches: ParameterSwitches) -> Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        let provider = rustls::crypto::ring::default_provider();
        provider.install_default().unwrap();
    });
    let config = ParametersConfig { port: 0, switches };
    Client {
        store: Parameters::start(config).await.unwrap(),
        http: reqwest::Client::builder().no_proxy().build().unwrap(),
    }
}

async fn unlimited() -> Client {
    start(ParameterSwitches {
        puts_per_second: 0,
        gets_per_second: 0,
        deletes_per_second: 0,
        ..ParameterSwitches::default()
    })
    .await
}

impl Client {
    /// A call as the SDK sends it; the signature is a text of the right shape.
    async fn send(
        &self,
        target: &str,
        service: &str,
        body: &Value,
    ) -> reqwest::Result<reqwest::Response> {
        let signature = "a".repeat(64);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-central-1/{service}/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={signature}"
        );
        let request = self.http.post(self.store.url()).body(body.to_string());
        let request = request.header("x-amz-target", target);
        let request = request.header("x-amz-date", "20260101T000000Z");
        request.header("authorization", authorization).send().await
    }

    /// The answer, or the code of the refusal.
    async fn call(&self, action: &str, body: Value) -> Result<Value, String> {
        let target = format!("AmazonSSM.{action}");
        let answer = self.send(&target, "ssm", &body).await.unwrap();
        read(answer).await
    }

    async fn put(&self, name: &str, value: &str, overwrite: bool) -> Result<Value, String> {
        let body =
            json!({"Name": name, "Value": value, "Type": "SecureString", "Overwrite": overwrite});
        self.call("PutParameter", body).await
    }

    async fn get(&self, names: &[&str]) -> Result<Vec<String>, String> {
        let body = json!({"Names": names, "WithDecryption": true});
        let answer = self.call("GetParameters", body).await?;
        let values = answer["Parameters"].as_array().unwrap().iter();
        Ok(values
            .map(|one| one["Value"].as_str().unwrap().to_owned())
            .collect())
    }

    async fn control(&self, path: &str, body: Option<Value>) -> Value {
        let url = format!("{}/_sim/{path}", self.store.url());
        let request = match body {
            Some(body) => self
                .http
                .post(url)
                .header("content-type", "application/json")
                .body(body.to_string()),
            None => self.http.get(url),
        };
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let text = answer.text().await.unwrap();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

async fn read(answer: reqwest::Response) -> Result<Value, String> {
    let ok = answer.status().is_success();
    let value: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    if ok {
        Ok(value)
    } else {
        Err(value["__type"].as_str().unwrap().to_owned())
    }
}

#[tokio::test]
async fn what_is_put_is_read_and_made_only_once() {
    let client = unlimited().await;
    assert_eq!(
        client.put("/a/x", "one", false).await.unwrap()["Version"],
        1
    );
    assert_eq!(
        client.put("/a/x", "two", false).await,
        Err("ParameterAlreadyExists".into())
    );
    assert_eq!(client.get(&["/a/x", "/a/none"]).await.unwrap(), ["one"]);
    assert_eq!(
        client.put("/a/x", "three", true).await.unwrap()["Version"],
        2
    );
    let hidden = client
        .call("GetParameter", json!({"Name": "/a/x"}))
        .await
        .unwrap();
    assert_ne!(hidden["Parameter"]["Value"], "three");
    let gone = client
        .call("DeleteParameters", json!({"Names": ["/a/x", "/a/none"]}))
        .await
        .unwrap();
    assert_eq!(
        gone,
        json!({"DeletedParameters": ["/a/x"], "InvalidParameters": ["/a/none"]})
    );
    assert_eq!(
        client.put("/a/x", "soon", false).await,
        Err("ParameterAlreadyExists".into())
    );
    let written: Vec<String> = client
        .store
        .written()
        .into_iter()
        .map(|one| one.value)
        .collect();
    assert_eq!(written, ["one", "three"]);
    let missing = client.call("GetParameter", json!({"Name": "/a/x"})).await;
    assert_eq!(missing, Err("ParameterNotFound".into()));
}

#[tokio::test]
async fn sizes_names_and_batches_are_those_of_aws() {
    let client = unlimited().await;
    let bad = Err("ValidationException".to_owned());
    assert!(client.put("/a", &"x".repeat(4_096), true).await.is_ok());
    assert_eq!(client.put("/a", &"x".repeat(4_097), true).await, bad);
    for name in ["", "a/b", "/a b", "/aws/x", "/SSM/x", "/a//b", "/a/"] {
        assert_eq!(client.put(name, "x", true).await, bad, "{name}");
    }
    let many: Vec<String> = (0..11).map(|n| format!("/a/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(client.get(&many).await, bad.clone().map(|_| vec![]));
    assert!(client.get(&many[..10]).await.is_ok());
    assert_eq!(client.get(&["/a", "/a"]).await, bad.clone().map(|_| vec![]));
    assert_eq!(
        client
            .call("PutParameter", json!({"Name": "/new", "Value": "x"}))
            .await,
        bad
    );
}

#[tokio::test]
async fn more_calls_than_aws_takes_in_a_second_are_throttled() {
    let client = start(ParameterSwitches::default()).await;
    // However slow this machine is: the fourth of four started in one second meets the limit.
    let mut refused = false;
    for round in 0..200 {
        refused |=
            client.put("/a", &round.to_string(), true).await == Err("ThrottlingException".into());
        if refused {
            break;
        }
    }
    assert!(refused);
    let gets = futures_util::future::join_all((0..200).map(|_| client.get(&["/a"]))).await;
    assert!(gets.contains(&Err("ThrottlingException".into())));
    assert_eq!(client.store.counts()["GetParameters"], 200);
}

#[tokio::test]
async fn an_unsigned_call_or_one_signed_for_another_service_is_refused() {
    let client = unlimited().await;
    client.store.put_secret("s", "hidden");
    let body = json!({"SecretId": "s"});
    let target = "secretsmanager.GetSecretValue";
    let unsigned = client
        .http
        .post(client.store.url())
        .header("x-amz-target", target);
    let unsigned = unsigned.body(body.to_string()).send().await.unwrap();
    assert_eq!(
        read(unsigned).await,
        Err("MissingAuthenticationTokenException".into())
    );
    let wrong = client.send(target, "ssm", &body).await.unwrap();
    assert_eq!(
        read(wrong).await,
        Err("MissingAuthenticationTokenException".into())
    );
    let right = client.send(target, "secretsmanager", &body).await.unwrap();
    assert_eq!(read(right).await.unwrap()["SecretString"], "hidden");
    let none = client
        .send(target, "secretsmanager", &json!({"SecretId": "t"}))
        .await
        .unwrap();
    assert_eq!(read(none).await, Err("ResourceNotFoundException".into()));
}

#[tokio::test]
async fn a_read_may_miss_a_write_and_a_create_never_does() {
    let client = start(ParameterSwitches {
        stale_ms: 3_600_000,
        ..ParameterSwitches::default()
    })
    .await;
    client.put("/a", "x", false).await.unwrap();
    assert_eq!(
        client.put("/a", "x", false).await,
        Err("ParameterAlreadyExists".into())
    );
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(client.get(&["/a"]).await.unwrap().len());
    }
    assert_eq!(seen, [0, 1, 0]);
}

#[tokio::test]
async fn faults_meet_calls_and_say_whether_they_took_effect() {
    let client = unlimited().await;
    let fault = |kind| {
        client
            .store
            .add_fault(ParameterFault::once(kind, "PutParameter"));
    };
    fault(ParameterFaultKind::Deny);
    assert_eq!(
        client.put("/a", "0", true).await,
        Err("AccessDeniedException".into())
    );
    fault(ParameterFaultKind::Throttle);
    assert_eq!(
        client.put("/a", "1", true).await,
        Err("ThrottlingException".into())
    );
    fault(ParameterFaultKind::Status);
    assert_eq!(
        client.put("/a", "2", true).await,
        Err("InternalServerError".into())
    );
    let body = json!({"Name": "/a", "Value": "3", "Type": "String", "Overwrite": true});
    fault(ParameterFaultKind::Refuse);
    assert!(
        client
            .send("AmazonSSM.PutParameter", "ssm", &body)
            .await
            .is_err()
    );
    assert_eq!(client.store.value("/a"), None);

    fault(ParameterFaultKind::LostReply);
    assert!(
        client
            .send("AmazonSSM.PutParameter", "ssm", &body)
            .await
            .is_err()
    );
    assert_eq!(client.store.value("/a").unwrap(), "3");
    fault(ParameterFaultKind::CutAnswer);
    let cut = client
        .send("AmazonSSM.PutParameter", "ssm", &body)
        .await
        .unwrap();
    assert!(cut.text().await.is_err());

    client.store.add_fault(ParameterFault {
        value: "{ cut".into(),
        name_prefix: Some("/a".into()),
        ..ParameterFault::lasting(ParameterFaultKind::Corrupt, "GetParameters")
    });
    client.store.put("/b", "whole", ParameterKind::String);
    assert_eq!(client.get(&["/a"]).await.unwrap(), ["{ cut"]);
    assert_eq!(client.get(&["/b"]).await.unwrap(), ["whole"]);
    client.store.clear_faults();
    assert_eq!(client.get(&["/a"]).await.unwrap(), ["3"]);
    let outcomes = client.store.calls();
    assert_eq!(outcomes[0].outcome, "AccessDeniedException");
    assert_eq!(
        (outcomes[0].action.as_str(), &outcomes[0].names[..]),
        ("PutParameter", &["/a".to_owned()][..])
    );
}

#[tokio::test]
async fn the_control_api_does_what_the_handle_does() {
    let client = unlimited().await;
    client
        .control("parameters", Some(json!({"name": "/a", "value": "x"})))
        .await;
    assert_eq!(client.control("parameters", None).await[0]["value"], "x");
    client
        .control("parameters", Some(json!({"name": "/a"})))
        .await;
    assert_eq!(client.control("parameters", None).await, json!([]));
    client
        .control("secrets", Some(json!({"name": "s", "value": "y"})))
        .await;
    let switched = client
        .control("switches", Some(json!({"stale_ms": 7})))
        .await;
    assert_eq!(
        (&switched["stale_ms"], &switched["puts_per_second"]),
        (&json!(7), &json!(0))
    );
    client
        .control(
            "faults",
            Some(json!({"action": "GetParameters", "kind": "deny"})),
        )
        .await;
    assert_eq!(
        client.get(&["/a"]).await,
        Err("AccessDeniedException".into())
    );
    let calls = client.control("calls", None).await;
    assert_eq!(calls["counts"], json!({"GetParameters": 1}));
    assert_eq!(calls["calls"][0]["outcome"], "AccessDeniedException");
}
