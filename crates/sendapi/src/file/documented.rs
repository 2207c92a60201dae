//! The how-to lists every key the code reads, and its examples load.

use std::collections::{BTreeMap, BTreeSet};

use sendtrail_core::settings::Reader;

use super::load;
use super::read::driver;
use super::tests::{IN_BODY, SAMPLE, STEPS};

const HOW_TO: &str = include_str!("../../WRITING-A-DRIVER.md");

/// Keys that may hold one of several kinds, or have names of their own.
const OTHERS: [(&str, &str); 10] = [
    ("headers.NAME", "text"),
    ("step[].headers.NAME", "text"),
    ("step[].capture.NAME", "text"),
    ("step[].body", "table"),
    ("look_up.body", "table"),
    ("find.body", "table"),
    ("look_up.pending", "list"),
    ("rule[].equals", "word"),
    ("rule[].all[].equals", "word"),
    // Required, but read as one that has a default.
    ("step[].outcome[].status", "integer"),
];

/// Every key with the kinds and defaults it is asked for.
fn asked() -> BTreeMap<String, BTreeSet<(String, String)>> {
    let auth = "kind = \"basic\"\nuser = \"secret:letters-key\"\npassword = \"\"";
    let rule = "at = \"/status\"\nequals = \"failed\"";
    let texts = [
        SAMPLE.to_owned(),
        STEPS.to_owned(),
        IN_BODY.to_owned(),
        SAMPLE.replace(auth, "kind = \"bearer\""),
        SAMPLE.replace(auth, "kind = \"header\"\nname = \"X-Key\""),
        SAMPLE.replace(auth, "kind = \"token_form\""),
        SAMPLE.replace(rule, "all = [{ at = \"/a\", equals = 1 }]"),
    ];
    let mut keys: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for text in &texts {
        let reader = Reader::new("letters.toml", text);
        let _ = driver("letters", &reader.root());
        for asked in reader.asked() {
            let key = asked.key;
            // What a condition is made of is the same in all rules.
            let own = ["is", "status"].contains(&key.rsplit('.').next().unwrap_or_default());
            let rules = ["step[].outcome[]", "look_up.rule[]", "find.rule[]"];
            let mut parts = rules.iter().filter_map(|rule| key.strip_prefix(rule));
            let key = match parts.next() {
                Some(part) if !own => format!("rule[]{part}"),
                Some(_) | None => key,
            };
            let default = match asked.default.as_deref() {
                None => "required".to_owned(),
                Some("") => "optional".to_owned(),
                Some(default) => format!("`{default}`"),
            };
            let kind = asked.kind.to_owned();
            keys.entry(key).or_default().insert((kind, default));
        }
    }
    keys
}

/// The rows of the how-to's tables of keys: key, kind, default.
fn documented() -> Vec<(String, String, String)> {
    let (_, tables) = HOW_TO.split_once("## Every key").unwrap();
    let (tables, _) = tables.split_once("### Values of a body").unwrap();
    let rows = tables.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let mut cell = || cells.next().unwrap_or_default().to_owned();
        (cell().trim_matches('`').to_owned(), cell(), cell())
    })
    .collect()
}

#[test]
fn every_key_is_in_the_how_to_with_its_kind_and_default() {
    let mut asked = asked();
    for (key, kind, default) in documented() {
        if OTHERS.contains(&(key.as_str(), kind.as_str())) {
            asked.remove(&key);
            continue;
        }
        let found = asked
            .remove(&key)
            .unwrap_or_else(|| panic!("nobody asks for {key}"));
        // A few are required by check rather than by the way they are read.
        let by_check = default == "required"
            && [
                "allow_hosts",
                "auth.keys",
                "step[].accept",
                "max_document_bytes",
            ]
            .contains(&key.as_str());
        let fits = found.contains(&(kind.clone(), default.clone()));
        assert!(fits || by_check, "{key}: {kind}, {default}: {found:?}");
    }
    assert!(asked.is_empty(), "not documented: {asked:?}");
}

#[test]
fn the_example_of_the_how_to_loads() {
    let block = HOW_TO.split("```toml\n").nth(1).unwrap();
    let (text, _) = block.split_once("```").unwrap();
    let files = [("paperpost.toml".to_owned(), text.to_owned())];
    let drivers = load(&files).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert!(drivers[0].capabilities().can_find);
    let broken = text.replace("accept = [201]\n", "accept = []\n");
    let files = [("drivers/paperpost.toml".to_owned(), broken)];
    let mistakes = load(&files).unwrap_err().to_string();
    assert!(HOW_TO.contains(&mistakes), "{mistakes}");
}

#[test]
fn the_drafts_of_the_how_to_load() {
    let block = HOW_TO.split("```toml\n").nth(2).unwrap();
    let (text, _) = block.split_once("```").unwrap();
    let (draft, rest) = text.split_once("\n\n").unwrap();
    let head = STEPS.split("[[step]]").next().unwrap();
    let head = head.replace("draft = \"doc\"", draft);
    let look_up = "[look_up]\npath = \"/documents/{{id}}\"\nfirst = \"1m\"\nevery = \"1h\"\ngive_up = \"9d\"\n[[look_up.rule]]\nat = \"/status\"\nequals = \"signed\"\nis = \"delivered\"\n";
    // The page leaves out what is not its point: here the document goes with the draft.
    let rest = rest.replace("[step.body]", "[step.body]\nfile = \"@document\"");
    let files = [("letters.toml".to_owned(), format!("{head}{rest}{look_up}"))];
    load(&files).unwrap_or_else(|mistakes| panic!("{mistakes}"));
}
