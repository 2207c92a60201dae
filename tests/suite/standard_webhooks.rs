//! A stock Standard Webhooks library signs requests that the doors accept.

use std::path::PathBuf;
use std::process::Command;

use crate::binaries::root;
use crate::stack::Stack;

#[test]
fn a_stock_library_saves_confirms_and_sends() {
    let python = std::env::var_os("SENDTRAIL_TEST_PYTHON")
        .map_or_else(|| root().join("target/python/bin/python"), PathBuf::from);
    assert!(
        python.exists(),
        "no Python with standardwebhooks: run `cargo xtask test`"
    );
    let data = tempfile::tempdir().unwrap();
    let stack = Stack::start(data.path());
    let output = Command::new(python)
        .arg(root().join("tests/suite/standard_webhooks.py"))
        .arg(data.path().join("endpoints.json"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{text}\n{errors}\n{}",
        stack.log("intake")
    );
    assert!(
        text.contains("saved 201\nconfirmed 200\nsent 200 accepted\ntampered 401\n"),
        "{text}"
    );
    assert!(text.ends_with("final succeeded\n"), "{text}");
    assert!(stack.interrupt());
}
