//! Rehearses a deployment without an AWS account: prepares what `tests/rehearsal` needs, and starts it.

use std::process::Command;

use crate::build::{root, target_folder};
use crate::run::check;
use crate::tools::environment;

/// Builds the command, installs the tools with their hashes, and runs the steps.
pub(crate) fn rehearse(arguments: &[String]) -> Result<(), String> {
    let folder = root().join("target/rehearsal");
    let here = root().join("tests/rehearsal");
    // Two, for each pins its own versions of what both need.
    let tools = environment(
        &folder.join("tools"),
        &[root().join("infra/aws/requirements.txt")],
    )?;
    let emulator = environment(&folder.join("emulator"), &[here.join("requirements.txt")])?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--package", "sendtrail"]);
    check(cargo)?;
    let mut python = Command::new(emulator.join("bin/python"));
    python
        .arg(here.join("rehearse.py"))
        .arg("--tools")
        .arg(&tools)
        .arg("--sendtrail")
        .arg(target_folder().join("debug/sendtrail"))
        .args(arguments);
    check(python)
}
