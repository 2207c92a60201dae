//! What a function may do is what it links. The arrows between crates are a test, not a hope.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::binaries::root;

/// Every arrow there is; a crate that is not on the left has none.
const ARROWS: [(&str, &[&str]); 12] = [
    (
        "intake",
        &["core", "door", "signature", "document", "zoho", "startup"],
    ),
    (
        "side-effect",
        &["core", "door", "zoho", "sendapi", "startup", "wake"],
    ),
    ("poller", &["core", "zoho", "sendapi", "startup"]),
    ("door", &["signature"]),
    ("zoho", &["core", "aws"]),
    ("sendapi", &["core"]),
    ("document", &["core"]),
    ("startup", &["core", "aws"]),
    ("wake", &["aws"]),
    (
        "sendtrail",
        &[
            "core",
            "signature",
            "zoho",
            "sendapi",
            "startup",
            "aws",
            "host",
            "simulator",
        ],
    ),
    ("core", &[]),
    ("signature", &[]),
];

/// Crates with no arrow at all.
const ALONE: [&str; 4] = ["aws", "host", "simulator", "xtask"];

/// What must not be linked, however far the path.
const MUST_NOT_LINK: [(&str, &[&str]); 3] = [
    (
        "intake",
        &[
            "sendtrail-sendapi",
            "sendtrail-simulator",
            "sendtrail-host",
            "sendtrail-wake",
            "aws-sdk-scheduler",
        ],
    ),
    (
        "side-effect",
        &[
            "sendtrail-document",
            "sendtrail-simulator",
            "sendtrail-host",
        ],
    ),
    (
        "poller",
        &[
            "sendtrail-door",
            "sendtrail-signature",
            "sendtrail-document",
            "sendtrail-simulator",
            "sendtrail-host",
            "sendtrail-wake",
            "aws-sdk-scheduler",
        ],
    ),
];

fn package(name: &str) -> String {
    match name {
        "sendtrail" | "xtask" => name.to_owned(),
        _ => format!("sendtrail-{name}"),
    }
}

fn tree(arguments: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix", "none"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The names of the packages a package links.
fn linked(name: &str, depth: &[&str]) -> BTreeSet<String> {
    let package = package(name);
    let mut arguments = vec![
        "--package",
        &package,
        "--edges",
        "normal",
        "--format",
        "{p}",
    ];
    arguments.extend(depth);
    let lines = tree(&arguments);
    let names = lines.iter().filter_map(|line| line.split(' ').next());
    names
        .filter(|found| *found != package)
        .map(str::to_owned)
        .collect()
}

fn siblings(names: BTreeSet<String>) -> BTreeSet<String> {
    names
        .into_iter()
        .filter(|name| name.starts_with("sendtrail") || name == "xtask")
        .collect()
}

#[test]
fn every_arrow_between_crates_is_one_of_the_design() {
    // An arrow that is allowed and not needed is no harm: intake reaches signature through door.
    let arrows: BTreeMap<&str, &[&str]> = ARROWS
        .into_iter()
        .chain(ALONE.map(|name| (name, &[][..])))
        .collect();
    let on_disk: BTreeSet<String> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let named: BTreeSet<String> = arrows.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(
        on_disk, named,
        "a crate is missing here, or is no longer there"
    );
    for (name, allowed) in arrows {
        let found = siblings(linked(name, &["--depth", "1"]));
        let allowed: BTreeSet<String> = allowed.iter().map(|name| package(name)).collect();
        let more: Vec<_> = found.difference(&allowed).collect();
        assert!(
            more.is_empty(),
            "{name} has arrows that the design does not: {more:?}"
        );
        assert!(
            allowed.is_empty() || !found.is_empty(),
            "{name} links nothing: the test sees nothing"
        );
    }
}

#[test]
fn what_must_not_be_linked_is_not_linked_however_far() {
    for (name, forbidden) in MUST_NOT_LINK {
        let linked = linked(name, &[]);
        for forbidden in forbidden {
            assert!(!linked.contains(*forbidden), "{name} links {forbidden}");
        }
        assert!(
            linked.contains("sendtrail-core"),
            "{name} links nothing: the test sees nothing"
        );
    }
}

#[test]
fn the_poller_links_no_code_that_submits() {
    let features = |package: &str| {
        let lines = tree(&[
            "--package",
            package,
            "--edges",
            "normal,features",
            "--format",
            "{p} {f}",
        ]);
        lines
            .into_iter()
            .filter(|line| line.starts_with("sendtrail-sendapi"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let (poller, side_effect) = (
        features("sendtrail-poller"),
        features("sendtrail-side-effect"),
    );
    assert!(
        poller.contains("look-up") && !poller.contains("submit"),
        "{poller}"
    );
    assert!(
        side_effect.contains("submit") && !side_effect.contains("look-up"),
        "{side_effect}"
    );
}

#[test]
fn no_function_carries_what_is_for_tests() {
    for name in ["intake", "side-effect", "poller", "sendtrail"] {
        let package = package(name);
        let arguments = [
            "--package",
            &package,
            "--edges",
            "normal",
            "--format",
            "{p} {f}",
        ];
        let lines = tree(&arguments);
        let ours: Vec<_> = lines
            .iter()
            .filter(|line| line.starts_with("sendtrail-"))
            .collect();
        assert!(
            !ours.is_empty(),
            "{name} links nothing: the test sees nothing"
        );
        for line in ours {
            let features = line.rsplit(' ').next().unwrap_or_default();
            for extra in ["testing", "fuzzing"] {
                assert!(!features.split(',').any(|f| f == extra), "{name}: {line}");
            }
        }
    }
}

#[test]
fn what_proves_core_links_core_and_nothing_else_of_ours() {
    for name in ["model", "simulation"] {
        let expected = BTreeSet::from(["sendtrail-core".to_owned()]);
        assert_eq!(siblings(linked(name, &[])), expected, "{name}");
    }
}

#[test]
fn one_tls_provider_and_no_http_2_or_3_is_in_the_graph_of_the_functions() {
    for name in ["intake", "side-effect", "poller"] {
        let linked = linked(name, &[]);
        assert!(
            linked.contains("rustls") && linked.contains("ring"),
            "{name} has no provider"
        );
        for other in [
            "aws-lc-rs",
            "aws-lc-sys",
            "openssl",
            "native-tls",
            "quinn",
            "h3",
        ] {
            assert!(!linked.contains(other), "{name} links {other}");
        }
    }
    let whole: BTreeSet<String> = tree(&[
        "--workspace",
        "--edges",
        "normal,build,dev",
        "--format",
        "{p}",
    ])
    .iter()
    .filter_map(|line| line.split(' ').next().map(str::to_owned))
    .collect();
    assert!(
        !whole.contains("aws-lc-rs"),
        "a second provider would make the first use of TLS panic"
    );
}

#[test]
fn the_chores_need_the_standard_library_only() {
    assert_eq!(linked("xtask", &[]), BTreeSet::new());
}
