//! Runs the chores.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::build::{Profile, binaries, root, target_folder};
use crate::{checks, proof, rehearse, tools};

/// Runs a command with its output shown.
///
/// # Errors
/// What was run, when it fails.
pub(crate) fn check(mut command: Command) -> Result<(), String> {
    command.current_dir(root());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?} could not be started: {error}")),
    }
}

/// Runs a command with its output hidden; whether it succeeded.
pub(crate) fn quietly(command: &mut Command) -> bool {
    command
        .current_dir(root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments);
    cargo
}

/// Builds everything, then hands over to the `sendtrail` command.
pub(crate) fn sendtrail(verb: &str, arguments: &[String]) -> Result<(), String> {
    let folder = binaries(Profile::Dev)?;
    let mut command = Command::new(folder.join("sendtrail"));
    command
        .arg(verb)
        .arg("--functions")
        .arg(&folder)
        .args(arguments);
    check(command)
}

/// Runs every test.
pub(crate) fn tests(arguments: &[String]) -> Result<(), String> {
    let fast = match arguments {
        [] => false,
        [only] if only == "--fast" => true,
        _ => return Err("test takes --fast or nothing".to_owned()),
    };
    if fast {
        let what = ["--workspace", "--lib", "--bins"];
        return timed("unit tests", || workspace_tests(&what, &[]));
    }
    let python = tools::python_with_standard_webhooks()?;
    let folder = timed("binaries", || binaries(Profile::Dev))?;
    let environment = [
        ("SENDTRAIL_TEST_FUNCTIONS", folder.as_os_str()),
        ("SENDTRAIL_TEST_PYTHON", python.as_os_str()),
    ];
    // No target is named: so cargo builds the examples too, which the host's tests run.
    timed("tests", || workspace_tests(&["--workspace"], &environment))?;
    timed("documentation tests", || {
        check(cargo(["test", "--workspace", "--doc", "--quiet"]))
    })?;
    // The workspace is tested with every feature; what a deployed side-effect lacks is only seen without.
    timed("side-effect without wake-ups", || {
        let package = ["test", "--package", "sendtrail-side-effect", "--quiet"];
        check(cargo(package))
    })?;
    timed("the control", control)?;
    for (what, run) in proof::SHORT {
        timed(what, run)?;
    }
    timed("the template and its alarms", checks::infra)?;
    timed("the rehearsal", || rehearse::rehearse(&[]))
}

/// Shows, with a client as it comes, that the hostile servers would make one post twice. It is a workspace of
/// its own, since it needs what the functions must not link.
fn control() -> Result<(), String> {
    let manifest = "crates/sendapi/control/Cargo.toml";
    let mut test = cargo(["test", "--locked", "--quiet", "--manifest-path", manifest]);
    test.env("CARGO_TARGET_DIR", root().join("target/control"));
    check(test)
}

fn timed<T>(what: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let start = Instant::now();
    let done = work()?;
    eprintln!("xtask: {what} took {} s", start.elapsed().as_secs());
    Ok(done)
}

/// With nextest where it is installed, which runs the tests of all crates side by side.
fn workspace_tests(what: &[&str], environment: &[(&str, &std::ffi::OsStr)]) -> Result<(), String> {
    let nextest = quietly(&mut cargo(["nextest", "--version"]));
    let mut command = if nextest {
        cargo(["nextest", "run", "--no-fail-fast"])
    } else {
        let mut test = cargo(["test", "--no-fail-fast"]);
        // As in .config/nextest.toml: the slow tests wait for seconds to pass.
        test.env("RUST_TEST_THREADS", "4");
        test
    };
    command.args(what).args(["--all-features"]);
    for (name, value) in environment {
        command.env(name, value);
    }
    check(command)
}

/// Format, clippy and documentation, warnings as errors.
pub(crate) fn lint() -> Result<(), String> {
    check(cargo(["fmt", "--all", "--check"]))?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ];
    check(cargo(clippy))?;
    let mut doc = cargo([
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
        "--quiet",
    ]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    check(doc)
}

/// Rewrites what is made from code; the tests compare it.
pub(crate) fn generate() -> Result<(), String> {
    let mut schema = cargo([
        "test",
        "--package",
        "sendtrail-core",
        "--lib",
        "--quiet",
        "committed_schema",
    ]);
    schema.env("SENDTRAIL_GENERATE", "1");
    check(schema)?;
    let mut diagram = cargo(["test", "--package", "sendtrail-tests", "--quiet", "diagram"]);
    diagram.env("SENDTRAIL_GENERATE", "1");
    check(diagram)?;
    // What the alarms are tried over: infra/checks/lines.
    for function in ["intake", "side-effect", "poller"] {
        let package = format!("sendtrail-{function}");
        let test = "committed_metrics_lines";
        let mut lines = cargo(["test", "--package", &package, "--lib", "--quiet", test]);
        lines.env("SENDTRAIL_GENERATE", "1");
        check(lines)?;
    }
    Ok(())
}

/// Start-up, memory and size of the release binaries.
pub(crate) fn bench(arguments: &[String]) -> Result<(), String> {
    let folder = binaries(Profile::Release)?;
    for function in ["intake", "side-effect", "poller"] {
        let binary = folder.join(function);
        let size = fs::metadata(&binary)
            .map_err(|e| format!("{}: {e}", binary.display()))?
            .len();
        println!(
            "{function}: binary {} KB, zip {} KB",
            size / 1024,
            zip_size(&binary)? / 1024
        );
    }
    let mut command = Command::new(folder.join("sendtrail"));
    command.arg("measure").arg("--functions").arg(&folder);
    match arguments {
        [only] if only == "start" => {
            let handler = root().join("crates/xtask/bench");
            let made_of = handler.join("requirements.txt");
            let python = tools::environment(&target_folder().join("bench-python"), &[made_of])?;
            command
                .arg("--starts")
                .arg("--python")
                .arg(python.join("bin/python"))
                .arg("--handler")
                .arg(handler);
        }
        _ => {
            command.args(arguments);
        }
    }
    check(command)
}

fn zip_size(binary: &Path) -> Result<u64, String> {
    let zip = binary.with_extension("zip");
    let mut python = Command::new("python3");
    python.args(["-m", "zipfile", "-c"]).arg(&zip).arg(binary);
    check(python)?;
    fs::metadata(&zip)
        .map(|m| m.len())
        .map_err(|e| format!("{}: {e}", zip.display()))
}

/// Counts the tests by kind, from the sources.
pub(crate) fn count() -> Result<(), String> {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    walk(&root().join("crates"), &mut kinds)?;
    walk(&root().join("tests"), &mut kinds)?;
    let total: usize = kinds.values().sum();
    for (kind, count) in &kinds {
        println!("{kind:<12} {count:>5}");
    }
    println!("{:<12} {total:>5}", "total");
    Ok(())
}

fn walk(folder: &Path, kinds: &mut BTreeMap<&str, usize>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, kinds)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            count_file(&path, &text, kinds);
        }
    }
    Ok(())
}

fn count_file(path: &Path, text: &str, kinds: &mut BTreeMap<&str, usize>) {
    let name = path.to_string_lossy();
    let kind = if name.contains("/tests/suite/") && !name.contains("/crates/") {
        "acceptance"
    } else if name.contains("contract") {
        "contract"
    } else if name.contains("/tests/") {
        "integration"
    } else {
        "unit"
    };
    let mut in_proptest = false;
    for line in text.lines() {
        let line = line.trim_end();
        if line.trim_start().starts_with("proptest! {") {
            in_proptest = true;
        } else if line == "}" || line == "    }" && !text.contains("\nproptest! {") {
            in_proptest = false;
        }
        let line = line.trim_start();
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            *kinds
                .entry(if in_proptest { "property" } else { kind })
                .or_default() += 1;
        }
    }
}
