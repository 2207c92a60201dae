//! What looks for a broken promise: the model, the simulation, the fuzzer.

use std::path::Path;
use std::process::Command;

use crate::build::{proof, root};
use crate::run::{check, quietly};

/// Explores the flows; `--mutations` stands for the subcommand of that name.
pub(crate) fn model(arguments: &[String]) -> Result<(), String> {
    let mut command = Command::new(proof("sendtrail-model")?);
    let (mutations, rest): (Vec<_>, Vec<_>) = arguments
        .iter()
        .partition(|argument| *argument == "--mutations");
    if !mutations.is_empty() {
        command.arg("mutations");
    }
    command.args(rest);
    check(command)
}

/// Plays the flows in virtual time.
pub(crate) fn simulate(arguments: &[String]) -> Result<(), String> {
    let mut command = Command::new(proof("sendtrail-simulation")?);
    command.args(arguments);
    check(command)
}

/// A part of the tests: what it is called, and how it is run.
pub(crate) type Part = (&'static str, fn() -> Result<(), String>);

/// What runs with the tests.
pub(crate) const SHORT: [Part; 3] = [
    ("the model, short", || model(&owned(&["--short"]))),
    ("broken rules, short", || {
        model(&owned(&["--mutations", "--short"]))
    }),
    ("the simulation, short", || simulate(&[])),
];

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&text| text.to_owned()).collect()
}

/// Looks for inputs that break a parser, guided by coverage, each target for so many seconds.
///
/// Stable Rust is enough: `RUSTC_BOOTSTRAP` lets cargo-fuzz use the compiler's flags for coverage.
pub(crate) fn fuzz(arguments: &[String]) -> Result<(), String> {
    let (seconds, targets) = match arguments {
        [flag, seconds, targets @ ..] if flag == "--seconds" => (seconds.as_str(), targets),
        targets => ("60", targets),
    };
    if seconds.parse::<u32>().is_err() {
        return Err(format!("--seconds takes a whole number, not {seconds:?}"));
    }
    let known = fuzz_targets()?;
    for target in targets {
        if !known.contains(target) {
            return Err(format!(
                "no such target: {target}; there are {}",
                known.join(", ")
            ));
        }
    }
    if !quietly(Command::new(env!("CARGO")).args(["fuzz", "--version"])) {
        return Err(
            "needs cargo-fuzz: cargo install cargo-fuzz --version 0.13.2 --locked".to_owned(),
        );
    }
    let chosen = if targets.is_empty() {
        &known[..]
    } else {
        targets
    };
    chosen
        .iter()
        .try_for_each(|target| fuzz_one(target, seconds))
}

fn fuzz_targets() -> Result<Vec<String>, String> {
    let folder = root().join("tests/fuzz/libfuzzer/fuzz_targets");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let stems = entries
        .filter_map(Result::ok)
        .filter_map(|entry| Some(entry.path().file_stem()?.to_string_lossy().into_owned()));
    let mut names: Vec<_> = stems.collect();
    names.sort();
    Ok(names)
}

fn fuzz_one(target: &str, seconds: &str) -> Result<(), String> {
    let fuzz = root().join("tests/fuzz");
    let folder = fuzz.join("libfuzzer");
    let found = folder.join("corpus").join(target);
    std::fs::create_dir_all(&found).map_err(|e| format!("{}: {e}", found.display()))?;
    let dictionary = folder.join("dictionaries").join(format!("{target}.dict"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", root().join("target/fuzz"))
        .args(["fuzz", "run", "--fuzz-dir"])
        .arg(&folder)
        .args(["--sanitizer", "none", target])
        .arg(&found)
        .arg(fuzz.join("corpus").join(target))
        .arg("--")
        .args(dictionary_argument(&dictionary))
        .arg("-max_len=4096")
        .arg(format!("-max_total_time={seconds}"));
    check(cargo)
}

fn dictionary_argument(dictionary: &Path) -> Option<String> {
    dictionary
        .exists()
        .then(|| format!("-dict={}", dictionary.display()))
}
