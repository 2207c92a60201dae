//! What no compiler looks at: the template with its alarms, the workflows, the dependencies.

use std::path::Path;
use std::process::Command;

use crate::build::root;
use crate::run::check;
use crate::tools::environment;

/// Runs every check. Nothing is built: it may run beside cargo, and needs the network the first time alone.
pub(crate) fn infra() -> Result<(), String> {
    let here = root().join("infra/checks");
    let files = ["requirements.txt", "binaries.txt"].map(|file| here.join(file));
    let bin = environment(&root().join("target/checks"), &files)?.join("bin");
    let template = |arguments: &[&str]| {
        let mut python = Command::new(bin.join("python"));
        python
            .arg(here.join("check.py"))
            .args(arguments)
            .arg("infra/aws/template.yaml");
        check(python)
    };
    template(&[])?;
    template(&["--self-test"])?;
    workflows(&bin)?;
    dependencies(&bin)
}

/// Without the checks that ask GitHub: they are its own business, and it cannot be reached everywhere.
fn workflows(bin: &Path) -> Result<(), String> {
    let mut zizmor = Command::new(bin.join("zizmor"));
    zizmor.args(["--offline", "--quiet", "--no-progress", ".github"]);
    check(zizmor)
}

/// Which crates, licences and sources may come in. Known faults are looked for on GitHub, every day.
fn dependencies(bin: &Path) -> Result<(), String> {
    let mut deny = Command::new(bin.join("cargo-deny"));
    deny.args(["--log-level", "error", "--locked", "check"])
        .args(["--hide-inclusion-graph", "bans", "licenses", "sources"]);
    check(deny)
}
