//! Builds the binaries, each by itself: built together, cargo would give one the features of another, and
//! what a function may do is what it links.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::check;

/// The packages with a binary, the functions first.
const PACKAGES: [&str; 4] = [
    "sendtrail-intake",
    "sendtrail-side-effect",
    "sendtrail-poller",
    "sendtrail",
];

/// Builds all binaries; the folder they are in.
pub(crate) fn binaries(profile: Profile) -> Result<PathBuf, String> {
    for package in PACKAGES {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--package", package]);
        if matches!(profile, Profile::Release) {
            cargo.arg("--release");
        }
        check(cargo)?;
    }
    Ok(target_folder().join(match profile {
        Profile::Dev => "debug",
        Profile::Release => "release",
    }))
}

/// Builds what explores or simulates the flows, fast to run; the binary.
pub(crate) fn proof(package: &str) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--profile", "proof", "--package", package]);
    check(cargo)?;
    Ok(target_folder().join("proof").join(package))
}

/// How to build.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// Quickly.
    Dev,
    /// As deployed.
    Release,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
