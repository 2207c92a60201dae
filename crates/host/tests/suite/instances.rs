//! Processes: started on demand, used again, killed at the timeout, replaced after a crash.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::common::{call, example, host, kept_log, runs, spec, until};
use sendtrail_host::{FunctionSpec, Host, InvokeError, LogSink, LogStream};
use serde_json::json;

#[tokio::test]
async fn the_deadline_is_the_true_one() {
    let host = host(FunctionSpec {
        timeout: Duration::from_secs(7),
        ..spec("f")
    })
    .await;
    let before = jiff::Timestamp::now().as_millisecond();
    let context = call(&host, "f", json!({"do": "context"})).await;
    let after = jiff::Timestamp::now().as_millisecond();
    let deadline = context["deadline"].as_i64().unwrap();
    assert!(
        (before + 7000..=after + 7000).contains(&deadline),
        "{before} {deadline} {after}"
    );
    assert_eq!(
        context["arn"],
        "arn:aws:lambda:us-east-1:000000000000:function:f"
    );
}

#[tokio::test]
async fn an_idle_process_is_used_again() {
    let host = host(spec("f")).await;
    let first = call(&host, "f", json!({"do": "context"})).await;
    let second = call(&host, "f", json!({"do": "context"})).await;
    assert_eq!(first["pid"], second["pid"]);
    assert_ne!(first["request_id"], second["request_id"]);
    assert_eq!(host.counts("f").started, 1);
}

#[tokio::test]
async fn calls_at_the_same_time_have_a_process_each() {
    let host = host(spec("f")).await;
    let slow = || call(&host, "f", json!({"do": "sleep", "n": 400}));
    tokio::join!(slow(), slow(), slow());
    assert_eq!(host.counts("f").started, 3);
    call(&host, "f", json!({"do": "context"})).await;
    assert_eq!(host.counts("f").started, 3);
}

#[tokio::test]
async fn a_call_past_the_timeout_is_killed_and_the_next_one_works() {
    let host = host(FunctionSpec {
        timeout: Duration::from_millis(700),
        ..spec("f")
    })
    .await;
    let pid = u32::try_from(
        call(&host, "f", json!({"do": "context"})).await["pid"]
            .as_u64()
            .unwrap(),
    )
    .unwrap();
    let late = host.invoke("f", r#"{"do":"sleep","n":60000}"#).await;
    assert_eq!(late, Err(InvokeError::TimedOut(Duration::from_millis(700))));
    assert!(!runs(pid), "the process outlived its timeout");
    let next = call(&host, "f", json!({"do": "context"})).await;
    assert_ne!(next["pid"], pid);
    assert_eq!(host.counts("f").timed_out, 1);
    let exits: Vec<_> = host
        .instances("f")
        .into_iter()
        .map(|instance| instance.exit)
        .collect();
    assert_eq!(exits.len(), 2);
    assert!(exits[0].as_ref().unwrap().contains("SIGKILL"), "{exits:?}");
    assert_eq!(exits[1], None);
}

#[tokio::test]
async fn a_crash_is_told_and_the_next_call_has_a_new_process() {
    let host = host(spec("f")).await;
    let crash = host.invoke("f", r#"{"do":"exit"}"#).await;
    assert_eq!(crash, Err(InvokeError::Crashed("exit status: 7".into())));
    call(&host, "f", json!({"do": "context"})).await;
    assert_eq!(host.counts("f").started, 2);
    assert_eq!(host.counts("f").failed, 1);
}

#[tokio::test]
async fn a_panic_is_an_error_and_the_process_lives() {
    let host = host(spec("f")).await;
    let panic = host.invoke("f", r#"{"do":"panic"}"#).await;
    assert!(
        matches!(panic, Err(InvokeError::FunctionError { .. })),
        "{panic:?}"
    );
    let failed = host.invoke("f", r#"{"do":"fail"}"#).await;
    assert!(
        matches!(failed, Err(InvokeError::FunctionError { message, .. }) if message == "as asked")
    );
    call(&host, "f", json!({"do": "context"})).await;
    assert_eq!(host.counts("f").started, 1);
}

#[tokio::test]
async fn a_process_that_fails_to_start_up_is_told_and_gone() {
    for (start, expected) in [("exit", "exit status: 3"), ("report", "Config: bad key")] {
        let mut spec = spec("f");
        spec.env.insert("TEST_START".into(), start.into());
        let host = host(spec).await;
        assert_eq!(
            host.invoke("f", "{}").await,
            Err(InvokeError::InitFailed(expected.into()))
        );
        assert!(
            host.instances("f")
                .iter()
                .all(|instance| !instance.is_alive())
        );
    }
}

#[tokio::test]
async fn a_process_that_never_asks_for_work_is_killed() {
    let mut spec = FunctionSpec {
        init_timeout: Duration::from_millis(300),
        ..spec("f")
    };
    spec.env.insert("TEST_START".into(), "hang".into());
    let host = host(spec).await;
    assert_eq!(
        host.invoke("f", "{}").await,
        Err(InvokeError::InitTimedOut(Duration::from_millis(300)))
    );
    assert!(!runs(host.instances("f")[0].pid));
}

#[tokio::test]
async fn only_the_open_call_can_be_answered_and_only_once() {
    let mut spec = spec("f");
    spec.env.insert("TEST_START".into(), "raw".into());
    let host = host(spec).await;
    // The function answers this text only after an answer to another id was refused, and lives on only after
    // its second answer was.
    assert_eq!(host.invoke("f", "{}").await.unwrap(), "no json");
    call(&host, "f", json!({"do": "context"})).await;
    assert_eq!(host.counts("f").started, 1);
}

#[tokio::test]
async fn kill_ends_calls_under_way_and_idle_processes() {
    let host = host(spec("f")).await;
    let pid = host.warm("f").await.unwrap().pid;
    call(&host, "f", json!({"do": "context"})).await;
    let (under_way, killed) =
        tokio::join!(host.invoke("f", r#"{"do":"sleep","n":60000}"#), async {
            until("the call is under way", || {
                host.instances("f")[0].calls == 2
            })
            .await;
            host.warm("f").await.unwrap();
            host.kill_instances("f").await
        });
    assert_eq!(killed, 2);
    assert_eq!(
        under_way,
        Err(InvokeError::Crashed("signal: 9 (SIGKILL)".into()))
    );
    assert!(!runs(pid));
    assert_eq!(host.kill_instances("f").await, 0);
    call(&host, "f", json!({"do": "context"})).await;
}

#[tokio::test]
async fn reserved_concurrency_refuses_what_is_above_it() {
    let host = host(FunctionSpec {
        max_concurrency: Some(1),
        ..spec("f")
    })
    .await;
    call(&host, "f", json!({"do": "context"})).await;
    let slow = || host.invoke("f", r#"{"do":"sleep","n":300}"#);
    let (first, second) = tokio::join!(slow(), slow());
    assert_eq!(
        [&first, &second]
            .iter()
            .filter(|reply| ***reply == Err(InvokeError::Throttled))
            .count(),
        1
    );
    assert_eq!(host.counts("f").throttled, 1);
    for _ in 0..20 {
        call(&host, "f", json!({"do": "context"})).await;
    }
    assert_eq!(host.counts("f").started, 1);
}

#[tokio::test]
async fn no_concurrency_refuses_every_call() {
    let host = host(FunctionSpec {
        max_concurrency: Some(0),
        ..spec("f")
    })
    .await;
    assert_eq!(host.invoke("f", "{}").await, Err(InvokeError::Throttled));
    assert_eq!(host.counts("f").started, 0);
}

#[tokio::test]
async fn payloads_and_answers_above_six_megabytes_are_refused() {
    let host = host(spec("f")).await;
    let payload = vec![b' '; 6_291_457];
    assert_eq!(
        host.invoke("f", payload).await,
        Err(InvokeError::PayloadTooLarge { bytes: 6_291_457 })
    );
    assert_eq!(host.counts("f").started, 0);
    let mut exact = br#"{"do":"context"}"#.to_vec();
    exact.resize(6_291_456, b' ');
    assert!(host.invoke("f", exact).await.is_ok());
    let answer = host.invoke("f", r#"{"do":"big","n":6291556}"#).await;
    assert!(matches!(answer, Err(InvokeError::AnswerTooLarge { .. })));
    call(&host, "f", json!({"do": "context"})).await;
}

#[tokio::test]
async fn the_process_gets_lambdas_environment_and_its_own_and_nothing_else() {
    let mut spec = FunctionSpec {
        memory_mb: 512,
        ..spec("f")
    };
    spec.env.insert("MY_KEY".into(), "my value".into());
    let host = host(spec).await;
    let env = call(&host, "f", json!({"do": "env"})).await;
    assert_eq!(env["MY_KEY"], "my value");
    assert_eq!(env["AWS_LAMBDA_FUNCTION_NAME"], "f");
    assert_eq!(env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"], "512");
    assert!(env.get("HOME").is_none());
    assert!(env.get("CARGO_PKG_NAME").is_none());
    assert!(env.get("AWS_SECRET_ACCESS_KEY").is_none());
}

#[tokio::test]
async fn every_line_is_kept_also_of_a_process_that_dies_in_the_middle() {
    let dir = tempfile::tempdir().unwrap();
    let (sink, lines) = kept_log();
    let host = Host::start(vec![spec("f")], sink.in_dir(dir.path()))
        .await
        .unwrap();
    let _ = host.invoke("f", r#"{"do":"say_and_exit"}"#).await;
    host.shutdown().await;
    let of = |stream: LogStream| -> Vec<String> {
        let lines = lines.lock().unwrap();
        lines
            .iter()
            .filter(|line| line.stream == stream)
            .map(|line| line.text.clone())
            .collect()
    };
    assert_eq!(of(LogStream::Stdout), ["out whole", "out part"]);
    assert!(of(LogStream::Stderr).contains(&"err part".to_owned()));
    let platform = of(LogStream::Platform);
    assert!(platform[0].starts_with("START RequestId: "), "{platform:?}");
    assert!(
        platform
            .iter()
            .any(|line| line.starts_with("REPORT ") && line.contains("Init Duration"))
    );
    let file = std::fs::read_to_string(dir.path().join("f.log")).unwrap();
    for part in ["out whole\n", "out part\n", "err part\n", "END RequestId: "] {
        assert!(file.contains(part), "{part:?} is not in {file:?}");
    }
}

#[tokio::test]
async fn start_time_and_peak_memory_are_measured() {
    let host = host(spec("f")).await;
    call(&host, "f", json!({"do": "context"})).await;
    let warm = host.warm("f").await.unwrap();
    assert_eq!(warm.number, 2);
    for instance in host.instances("f") {
        assert!(
            instance
                .init
                .is_some_and(|init| init > Duration::ZERO && init < Duration::from_secs(10))
        );
        assert!(
            instance.peak_rss_kb.is_some_and(|kb| kb > 500),
            "{instance:?}"
        );
        assert!(runs(instance.pid));
    }
}

#[tokio::test]
async fn nothing_runs_after_shutdown_or_drop() {
    for drop_it in [false, true] {
        let host = host(spec("f")).await;
        let pids = [
            host.warm("f").await.unwrap().pid,
            host.warm("f").await.unwrap().pid,
        ];
        if drop_it {
            drop(host);
            until("the processes are gone", || {
                !pids.iter().any(|pid| runs(*pid))
            })
            .await;
        } else {
            host.shutdown().await;
            assert!(!pids.iter().any(|pid| runs(*pid)));
        }
    }
}

#[tokio::test]
async fn a_process_ends_by_itself_when_the_host_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let mut host = Command::new(example("host-once"))
        .arg(example("host-test-function"))
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the process runs", || file.is_file()).await;
    let pid: u32 = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    assert!(runs(pid));
    host.kill().unwrap();
    host.wait().unwrap();
    until("the process is gone", || !runs(pid)).await;
}

#[tokio::test]
async fn an_unknown_function_and_two_of_one_name_are_errors() {
    let host = host(spec("f")).await;
    assert_eq!(
        host.invoke("g", "{}").await,
        Err(InvokeError::UnknownFunction("g".into()))
    );
    assert_eq!(host.kill_instances("g").await, 0);
    assert!(
        Host::start(vec![spec("f"), spec("f")], LogSink::new())
            .await
            .is_err()
    );
}
