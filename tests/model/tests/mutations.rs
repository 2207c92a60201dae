//! The mutations do not rot: each still applies, and names a rule and a configuration that are there.

use std::path::{Path, PathBuf};
use std::process::Command;

use sendtrail_model::config;
use sendtrail_model::explore::AN_END;
use sendtrail_model::mutation::Mutation;
use sendtrail_model::rules::Rule;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn each_patch_applies() {
    let all = Mutation::all(&root()).unwrap();
    assert!(all.len() >= 16);
    for mutation in all {
        let check = Command::new("git")
            .current_dir(root())
            .args(["apply", "--check"])
            .arg(mutation.path.canonicalize().unwrap())
            .output()
            .unwrap();
        let why = String::from_utf8_lossy(&check.stderr);
        assert!(check.status.success(), "{}: {why}", mutation.name);
    }
}

#[test]
fn each_names_a_rule_and_a_configuration_that_are_there() {
    let mut rules: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    rules.push(AN_END);
    let configs: Vec<_> = config::all(true)
        .into_iter()
        .map(|config| config.name)
        .collect();
    let all = Mutation::all(&root()).unwrap();
    for mutation in &all {
        assert!(rules.contains(&mutation.catcher.as_str()), "{mutation:?}");
        assert!(configs.contains(&mutation.config.as_str()), "{mutation:?}");
    }
    assert!(all.iter().any(|mutation| mutation.short));
}

#[test]
fn each_rule_is_shown_to_catch_something() {
    let all = Mutation::all(&root()).unwrap();
    let mut rules: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    rules.push(AN_END);
    rules.retain(|rule| all.iter().all(|mutation| mutation.catcher != *rule));
    assert!(rules.is_empty(), "no mutation for {rules:?}");
}
