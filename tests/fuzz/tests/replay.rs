//! Replays the corpus on stable, and looks a little further around each of its files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sendtrail_fuzz::{TARGETS, Target};

mod mutate;

/// Mutations of each target on any machine.
const LEAST: usize = 100;
/// And at most, within this time: a fast machine looks further.
const MOST: usize = 20_000;
const BUDGET: Duration = Duration::from_millis(700);
/// No corpus file is larger: each must stay one that a person can read.
const LARGEST: usize = 16 * 1024;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The names in a folder, without `end`.
fn names(folder: &Path, end: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder of this package");
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .map(|name| name.strip_suffix(end).unwrap_or(&name).to_owned())
        .collect()
}

/// The corpus of a target, sorted by name.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = folder("corpus").join(target);
    let files = names(&folder, "").into_iter();
    let files = files.map(|name| folder.join(name));
    files
        .map(|path| (path.clone(), fs::read(path).expect("a file of the corpus")))
        .collect()
}

/// Whether every property of the target holds for these bytes.
fn holds(target: Target, data: &[u8]) -> bool {
    std::panic::catch_unwind(|| target(data)).is_ok()
}

#[test]
fn every_target_has_a_corpus_and_a_fuzzer_and_nothing_else_has() {
    let targets: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len());
    assert_eq!(names(&folder("corpus"), ""), targets);
    assert_eq!(names(&folder("libfuzzer/fuzz_targets"), ".rs"), targets);
    let manifest = fs::read_to_string(folder("libfuzzer/Cargo.toml")).unwrap();
    for name in &targets {
        assert!(
            manifest.contains(&format!("\nname = \"{name}\"\n")),
            "{name}"
        );
        let fuzzer = folder("libfuzzer/fuzz_targets").join(format!("{name}.rs"));
        let calls = format!("sendtrail_fuzz::{name}(data)");
        assert!(
            fs::read_to_string(fuzzer).unwrap().contains(&calls),
            "{name}"
        );
        assert!(corpus(name).len() > 3, "{name} has next to no corpus");
    }
}

#[test]
fn every_file_of_the_corpus_keeps_every_property() {
    let mut broken = Vec::new();
    for (name, target) in TARGETS {
        for (path, data) in corpus(name) {
            assert!(data.len() <= LARGEST, "{} is too large", path.display());
            if !holds(*target, &data) {
                broken.push(path);
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn what_lies_around_the_corpus_keeps_every_property() {
    for (name, target) in TARGETS {
        let corpus: Vec<_> = corpus(name).into_iter().map(|(_, data)| data).collect();
        let mut mutations = mutate::Mutations::new(&corpus);
        let start = Instant::now();
        let mut tried = 0;
        while tried < LEAST || (tried < MOST && start.elapsed() < BUDGET) {
            let (number, data) = mutations.next();
            let shown = || String::from_utf8_lossy(&data).into_owned();
            assert!(
                holds(*target, &data),
                "{name}, mutation {number}: {:?}",
                shown()
            );
            tried += 1;
        }
    }
}
