//! The control package is outside the workspace; this keeps its versions the workspace's.

#![expect(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue};

/// The versions of each package in a lock file.
fn packages(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let file = DeTable::parse(text).unwrap();
    let packages = file.get_ref().get("package").unwrap();
    let packages = packages.get_ref().as_array().unwrap();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages {
        let table = package.get_ref().as_table().unwrap();
        let text = |key: &str| {
            let value = table.get(key).map(toml::Spanned::get_ref);
            value
                .and_then(DeValue::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let versions = found.entry(text("name")).or_default();
        versions.insert(text("version"));
    }
    found
}

#[test]
fn what_the_control_shows_it_shows_of_the_versions_the_product_has() {
    let ours = packages(include_str!("../../../Cargo.lock"));
    let control = packages(include_str!("../control/Cargo.lock"));
    for name in ["reqwest", "hyper", "hyper-util", "rustls", "tokio"] {
        assert!(control.contains_key(name), "{name} is not in the control");
    }
    for (name, versions) in control {
        if let Some(known) = ours.get(&name) {
            assert!(
                versions.is_subset(known),
                "{name}: {versions:?}, ours {known:?}"
            );
        }
    }
}
