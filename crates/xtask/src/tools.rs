//! What the tests need beside Rust: installed here where that is allowed, otherwise named with the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::root;
use crate::run::{check, quietly};

/// A Python with the stock Standard Webhooks library in it, in a folder of the repository's own.
pub(crate) fn python_with_standard_webhooks() -> Result<PathBuf, String> {
    let requirements = root().join("tests/requirements.txt");
    let folder = environment(&root().join("target/python"), &[requirements])?;
    Ok(folder.join("bin/python"))
}

/// A folder with a Python of its own.
fn virtual_environment(folder: &Path) -> Result<(), String> {
    if quietly(Command::new("python3").args(["-m", "venv"]).arg(folder)) {
        return Ok(());
    }
    ensure_debian("python3-venv")?;
    let mut create = Command::new("python3");
    create.args(["-m", "venv"]).arg(folder);
    check(create)
}

/// A folder with Python and exactly what the files name, made anew when they changed.
pub(crate) fn environment(folder: &Path, requirements: &[PathBuf]) -> Result<PathBuf, String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let mut wanted = String::new();
    for file in requirements {
        wanted += &fs::read_to_string(file).map_err(|error| failed(file, error))?;
    }
    // Written last: without it the folder was not finished.
    let made_from = folder.join("made-from.txt");
    if fs::read_to_string(&made_from).is_ok_and(|text| text == wanted) {
        return Ok(folder.to_owned());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| failed(folder, error))?;
    }
    virtual_environment(folder)?;
    for file in requirements {
        eprintln!("xtask: installing {}", file.display());
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(["--no-deps", "--require-hashes", "--requirement"])
        .arg(file);
        check(pip)?;
    }
    fs::write(&made_from, wanted).map_err(|error| failed(&made_from, error))?;
    Ok(folder.to_owned())
}

/// Installs a Debian package, as root; otherwise says how.
fn ensure_debian(package: &str) -> Result<(), String> {
    let by_hand =
        format!("needs the Debian package {package}: sudo apt-get install --yes {package}");
    eprintln!("xtask: installing {package}");
    let update = quietly(Command::new("apt-get").args(["update", "--quiet"]));
    let mut install = Command::new("apt-get");
    install
        .args([
            "install",
            "--yes",
            "--quiet",
            "--no-install-recommends",
            package,
        ])
        .env("DEBIAN_FRONTEND", "noninteractive");
    if update && quietly(&mut install) {
        Ok(())
    } else {
        Err(by_hand)
    }
}
