//! Logs of a whole send: no secret, no token, no body, no address; one metrics line for each invocation.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::binaries::root;
use crate::stack::Stack;

#[test]
fn a_whole_send_leaves_no_secret_in_the_logs_and_one_metrics_line_for_each_invocation() {
    let python = std::env::var_os("SENDTRAIL_TEST_PYTHON")
        .map_or_else(|| root().join("target/python/bin/python"), PathBuf::from);
    let data = tempfile::tempdir().unwrap();
    let stack = Stack::start(data.path());
    let output = Command::new(python)
        .arg(root().join("tests/suite/standard_webhooks.py"))
        .arg(data.path().join("endpoints.json"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let secrets = stack.secrets();
    let logs = ["intake", "side-effect", "poller"].map(|function| (function, stack.log(function)));
    for (function, log) in &logs {
        for secret in &secrets {
            assert!(
                !log.contains(secret.as_str()),
                "a secret is in the log of {function}"
            );
        }
        for private in [
            "Springfield",
            "Main Street",
            "ofie",
            "v1,",
            "Bearer ",
            "whsec_",
            "Zoho-oauthtoken",
            "%PDF",
            "1000.",
        ] {
            assert!(
                !log.contains(private),
                "{private} is in the log of {function}"
            );
        }
        let invocations = log
            .lines()
            .filter(|line| line.starts_with("START "))
            .count();
        let metrics = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line.get("_aws").is_some())
            .count();
        assert!(invocations > 0, "{function} was not called");
        // The poller may have been caught in the middle of one.
        assert!(
            metrics == invocations || metrics + 1 == invocations,
            "{function}: {metrics} metrics lines for {invocations} invocations"
        );
    }
    assert!(stack.interrupt());
}
