//! Function URLs and schedules.

use std::time::Duration;

use super::common::{call, client, host, spec, until};
use sendtrail_host::{
    CorsConfig, FunctionSpec, Host, InvokeError, LogSink, Schedule, ScheduleCounts, UrlConfig,
};
use serde_json::{Value, json};

fn open(name: &str) -> FunctionSpec {
    FunctionSpec {
        url: Some(UrlConfig::default()),
        ..spec(name)
    }
}

fn tick(every: Duration) -> Schedule {
    let input = json!({"do": "sleep", "n": 200, "at": "<aws.scheduler.scheduled-time>"});
    Schedule {
        name: "tick".into(),
        function: "poller".into(),
        every,
        input,
    }
}

#[tokio::test]
async fn every_byte_survives_the_way_in_and_out() {
    let host = host(open("f")).await;
    let all: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for content_type in ["application/pdf", "application/json", "text/plain"] {
        let request = client()
            .post(host.url("f").unwrap() + "/echo")
            .header("content-type", content_type);
        let answer = request.body(all.clone()).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "application/octet-stream");
        assert_eq!(answer.bytes().await.unwrap(), all);
    }
}

#[tokio::test]
async fn the_function_sees_awss_event() {
    let host = host(open("f")).await;
    let before = jiff::Timestamp::now().as_millisecond();
    let answer = client()
        .put(host.url("f").unwrap() + "/event/a%2Fb?x=%20y")
        .header("content-type", "application/json")
        .header("webhook-signature", "v1,first")
        .header("webhook-signature", "v1,second")
        .header("cookie", "a=1; b=2")
        .body(r#"{"k": 1.0}"#)
        .send()
        .await
        .unwrap();
    let id = answer.headers()["x-amzn-requestid"]
        .to_str()
        .unwrap()
        .to_owned();
    let event: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    assert_eq!(event["version"], "2.0");
    assert_eq!(event["rawPath"], "/event/a%2Fb");
    assert_eq!(event["rawQueryString"], "x=%20y");
    assert_eq!(event["headers"]["webhook-signature"], "v1,first,v1,second");
    assert_eq!(event["body"], r#"{"k": 1.0}"#);
    assert_eq!(event["isBase64Encoded"], false);
    assert_eq!(event["requestContext"]["requestId"], id);
    assert_eq!(event["requestContext"]["http"]["method"], "PUT");
    assert_eq!(event["requestContext"]["http"]["sourceIp"], "127.0.0.1");
    assert!(event["requestContext"]["timeEpoch"].as_i64().unwrap() >= before);
    assert_eq!(event["cookies"], json!(["a=1", "b=2"]));
}

#[tokio::test]
async fn timeouts_crashes_errors_and_garbage_are_502_and_the_next_call_works() {
    let mut spec = FunctionSpec {
        timeout: Duration::from_millis(1200),
        ..open("f")
    };
    spec.env.insert("TEST_START".into(), "raw".into());
    let host = host(spec).await;
    let url = host.url("f").unwrap();
    // The first call is answered by hand with what is no JSON.
    for path in [
        "/",
        "/sleep/60000",
        "/exit",
        "/panic",
        "/fail",
        "/garbage",
        "/big/6291557",
    ] {
        let answer = client().get(format!("{url}{path}")).send().await.unwrap();
        // A new process speaks by hand again: take that answer away first.
        assert_eq!(answer.status(), 502, "{path}");
        assert_eq!(
            answer.text().await.unwrap(),
            r#"{"Message":"Internal Server Error"}"#
        );
        if matches!(path, "/sleep/60000" | "/exit") {
            assert_eq!(client().get(&url).send().await.unwrap().status(), 502);
        }
    }
    assert_eq!(
        client()
            .get(format!("{url}/context"))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
}

#[tokio::test]
async fn a_bare_answer_is_json() {
    let host = host(open("f")).await;
    let answer = client()
        .get(host.url("f").unwrap() + "/sleep/1")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!(answer.text().await.unwrap(), r#"{"slept":1}"#);
}

#[tokio::test]
async fn six_megabytes_after_base64_is_the_limit() {
    let host = host(open("f")).await;
    let send = |bytes: usize| {
        let request = client()
            .post(host.url("f").unwrap() + "/sleep/1")
            .header("content-type", "application/pdf");
        request.body(vec![0_u8; bytes]).send()
    };
    assert_eq!(send(4_700_000).await.unwrap().status(), 200);
    assert_eq!(host.counts("f").calls, 1);
    assert_eq!(send(4_720_000).await.unwrap().status(), 413);
    assert_eq!(send(20_000_000).await.unwrap().status(), 413);
    assert_eq!(host.counts("f").calls, 1);
}

#[tokio::test]
async fn reserved_concurrency_answers_429() {
    let host = host(FunctionSpec {
        max_concurrency: Some(1),
        ..open("f")
    })
    .await;
    let url = host.url("f").unwrap() + "/sleep/800";
    let (client, url) = (&client(), &url);
    let slow = || async move { client.get(url).send().await.unwrap().status().as_u16() };
    let (first, second) = tokio::join!(slow(), slow());
    let mut both = [first, second];
    both.sort_unstable();
    assert_eq!(both, [200, 429]);
}

#[tokio::test]
async fn a_preflight_never_reaches_the_function() {
    let cors = CorsConfig {
        allow_origins: vec!["https://crm.example".into()],
        allow_methods: vec!["GET".into(), "POST".into()],
        allow_headers: vec!["authorization".into()],
        expose_headers: vec!["sendtrail-receipt".into()],
        ..CorsConfig::default()
    };
    let host = host(FunctionSpec {
        url: Some(UrlConfig {
            port: 0,
            cors: Some(cors),
        }),
        ..spec("f")
    })
    .await;
    let url = host.url("f").unwrap() + "/sleep/1";
    let preflight = client()
        .request(reqwest::Method::OPTIONS, &url)
        .header("origin", "https://crm.example")
        .header("access-control-request-method", "POST")
        .send()
        .await
        .unwrap();
    assert_eq!(preflight.status(), 200);
    assert_eq!(
        preflight.headers()["access-control-allow-methods"],
        "GET,POST"
    );
    assert_eq!(host.counts("f").calls, 0);
    let get = client()
        .get(&url)
        .header("origin", "https://crm.example")
        .send()
        .await
        .unwrap();
    assert_eq!(
        get.headers()["access-control-allow-origin"],
        "https://crm.example"
    );
    assert_eq!(
        get.headers()["access-control-expose-headers"],
        "sendtrail-receipt"
    );
    let other = client()
        .get(&url)
        .header("origin", "https://evil.example")
        .send()
        .await
        .unwrap();
    assert_eq!(other.status(), 200);
    assert!(!other.headers().contains_key("access-control-allow-origin"));
    // A failure is readable by the page too.
    let failed = client()
        .get(host.url("f").unwrap() + "/fail")
        .header("origin", "https://crm.example");
    let failed = failed.send().await.unwrap();
    assert_eq!(failed.status(), 502);
    assert_eq!(
        failed.headers()["access-control-allow-origin"],
        "https://crm.example"
    );
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_stop_the_function() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("done");
    let host = host(open("f")).await;
    host.warm("f").await.unwrap();
    let url = format!(
        "{}/touch_later/800?file={}",
        host.url("f").unwrap(),
        file.display()
    );
    let request = tokio::spawn(client().get(url).send());
    until("the function runs", || host.instances("f")[0].calls == 1).await;
    request.abort();
    assert!(
        request.await.unwrap_err().is_cancelled(),
        "the answer came too early for this test"
    );
    until("the function has finished", || file.exists()).await;
    assert_eq!(host.counts("f").failed, 0);
}

#[tokio::test]
async fn a_function_without_a_url_has_no_address() {
    let host = Host::start(vec![open("intake"), spec("poller")], LogSink::new())
        .await
        .unwrap();
    assert!(host.url("intake").is_some());
    assert_eq!(host.url("poller"), None);
    assert_eq!(
        call(&host, "poller", json!({"do": "sleep", "n": 1})).await,
        json!({"slept": 1})
    );
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let taken = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let port = taken.local_addr().unwrap().port();
    let spec = FunctionSpec {
        url: Some(UrlConfig { port, cors: None }),
        ..spec("f")
    };
    let error = Host::start(vec![spec], LogSink::new()).await.unwrap_err();
    assert!(error.to_string().contains(&port.to_string()));
}

#[tokio::test]
async fn after_shutdown_the_address_is_closed() {
    let host = host(open("f")).await;
    let url = host.url("f").unwrap();
    let client = client();
    assert_eq!(
        client
            .get(format!("{url}/sleep/1"))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
    host.shutdown().await;
    assert!(client.get(format!("{url}/sleep/1")).send().await.is_err());
}

#[tokio::test]
async fn a_tick_fired_twice_runs_twice_at_once() {
    let host = Host::start(vec![spec("poller")], LogSink::new())
        .await
        .unwrap();
    host.warm("poller").await.unwrap();
    host.warm("poller").await.unwrap();
    let schedule = host.add_schedule(tick(Duration::from_hours(1))).unwrap();
    let [first, second] = schedule.fire_twice_at_once();
    let (first, second) = tokio::join!(first.done(), second.done());
    assert!(first.is_ok() && second.is_ok());
    // One after the other, both would have gone to the process used last.
    let calls: Vec<u64> = host
        .instances("poller")
        .iter()
        .map(|instance| instance.calls)
        .collect();
    assert_eq!(calls, [1, 1]);
    assert_eq!(
        schedule.counts(),
        ScheduleCounts {
            fired: 2,
            succeeded: 2,
            ..ScheduleCounts::default()
        }
    );
}

#[tokio::test]
async fn a_throttled_tick_is_dropped_and_counted() {
    let spec = FunctionSpec {
        max_concurrency: Some(1),
        ..spec("poller")
    };
    let host = Host::start(vec![spec], LogSink::new()).await.unwrap();
    let schedule = host.add_schedule(tick(Duration::from_hours(1))).unwrap();
    let [first, second] = schedule.fire_twice_at_once();
    let (first, second) = tokio::join!(first.done(), second.done());
    assert!(
        [&first, &second]
            .iter()
            .any(|reply| **reply == Err(InvokeError::Throttled))
    );
    assert_eq!(
        schedule.counts(),
        ScheduleCounts {
            fired: 2,
            succeeded: 1,
            throttled: 1,
            failed: 0
        }
    );
    assert_eq!(
        host.counts("poller").calls,
        2,
        "a dropped tick was tried again"
    );
}

#[tokio::test]
async fn the_clock_fires_until_paused_and_a_failed_tick_is_not_repeated() {
    let host = Host::start(vec![spec("poller")], LogSink::new())
        .await
        .unwrap();
    let input = json!({"do": "fail"});
    let schedule = host
        .add_schedule(Schedule {
            input,
            ..tick(Duration::from_millis(30))
        })
        .unwrap();
    assert_eq!(schedule.counts().fired, 0);
    until("three ticks are done", || schedule.counts().failed >= 3).await;
    schedule.pause();
    let paused = schedule.counts().fired;
    until("all are done", || schedule.counts().failed == paused).await;
    assert_eq!(host.counts("poller").calls, paused);
    schedule.fire_now().done().await.unwrap_err();
    assert_eq!(schedule.counts().fired, paused + 1);
    schedule.resume();
    until("the clock goes on", || schedule.counts().fired > paused + 1).await;
}

#[tokio::test]
async fn a_schedule_needs_a_function_and_time() {
    let host = Host::start(vec![spec("poller")], LogSink::new())
        .await
        .unwrap();
    let unknown = Schedule {
        function: "other".into(),
        ..tick(Duration::from_secs(1))
    };
    assert!(host.add_schedule(unknown).is_err());
    assert!(host.add_schedule(tick(Duration::ZERO)).is_err());
}
