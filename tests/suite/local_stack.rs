//! `sendtrail local`: nothing is left running, and data survive a restart.

use std::process::Command;

use crate::stack::Stack;

/// The processes whose parent is this one.
fn children_of(pid: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // pid (name) state ppid …
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        after_name.split_whitespace().nth(1) == Some(pid.to_string().as_str())
    })
    .collect()
}

fn wait_for_a_child(stack: &Stack) -> Vec<u32> {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        // The schedule starts the poller within seconds.
        let children = children_of(stack.pid());
        if !children.is_empty() {
            return children;
        }
        assert!(std::time::Instant::now() < end, "no function was started");
        std::thread::park_timeout(std::time::Duration::from_millis(100));
    }
}

#[test]
fn ctrl_c_ends_everything_and_data_survive_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let stack = Stack::start(data.path());
    let (source, secret) = (
        stack.text("/source/record_id"),
        stack.text("/signing/intake/secret"),
    );
    let page = stack.text("/history_page");
    assert!(secret.starts_with("whsec_"));
    let children = wait_for_a_child(&stack);
    assert!(stack.interrupt(), "an interrupted stack ends well");
    for child in children {
        assert!(
            !std::path::Path::new(&format!("/proc/{child}")).exists(),
            "{child} is left"
        );
    }
    let again = Stack::start(data.path());
    assert_eq!(again.text("/source/record_id"), source);
    assert_eq!(again.text("/signing/intake/secret"), secret);
    assert_eq!(
        again.text("/history_page"),
        page,
        "an open page goes on working"
    );
    assert!(again.interrupt());
}

#[test]
fn without_the_functions_it_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(crate::binaries::folder().join("sendtrail"))
        .args(["local", "--functions"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("build the functions first"), "{errors}");
}

#[test]
fn a_second_stack_on_the_same_data_is_refused_and_the_first_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let stack = Stack::start(data.path());
    let before = std::fs::read_to_string(data.path().join("sendtrail.toml")).unwrap();
    let folder = crate::binaries::folder();
    let second = Command::new(folder.join("sendtrail"))
        .args(["local", "--functions"])
        .arg(&folder)
        .arg("--data")
        .arg(data.path())
        .output()
        .unwrap();
    assert!(!second.status.success());
    let errors = String::from_utf8_lossy(&second.stderr);
    assert!(
        errors.contains("is in use by another local stack"),
        "{errors}"
    );
    let after = std::fs::read_to_string(data.path().join("sendtrail.toml")).unwrap();
    assert_eq!(
        before, after,
        "the first stack's configuration was overwritten"
    );
    assert!(stack.interrupt());
}
