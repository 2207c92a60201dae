//! The demo's scenarios under every answer the CRM may give, alone and combined. What is expected stands in
//! one table, in tests/README.md.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Map, Value};

use crate::binaries::{folder, root};

/// Switches that change what is decided, or when: every scenario is played. All others change how an answer is
/// worded or what a field holds; the same calls are made and the same decisions taken, and a few scenarios
/// make every call. The combinations are played with every scenario.
const DECIDING: [&str; 8] = [
    "guard",
    "guard_equal",
    "workflow_bump",
    "recalculation_bump",
    "time_form",
    "date_ahead_seconds",
    "list_lag_seconds",
    "list_cuts_long_text",
];
/// A whole send, a repeated press, a conflict, a sweep, and a refusal.
const FEW: [&str; 5] = [
    "delivered",
    "not_sent_then_pressed_again",
    "edited_by_a_person",
    "acceptance_found",
    "recipient_changed_after_confirm",
];
/// Scenarios that take longest and ask the CRM nothing that others do not: they run in the combinations and
/// where lists or the guard are in doubt.
const LONG: [&str; 3] = [
    "replayed_hundred_times",
    "crm_down_after_submit",
    "poison_rows_do_not_starve",
];
const WITH_LONG: [&str; 3] = ["guard", "list_lag_seconds", "list_cuts_long_text"];
/// Scenarios that say nothing under an answer, and why.
const SAYS_NOTHING: [(&str, &str, &str, &str); 2] = [
    (
        "conflict_body",
        "\"item_in200\"",
        "edited_by_a_person",
        "it counts the answers with status 412",
    ),
    (
        "list_lag_seconds",
        "3",
        "twins_pressed_at_once",
        "twins are found by a query: refusing them is a courtesy, and none where it lags",
    ),
];
/// At once; they mostly wait.
const JOBS: &str = "14";
/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    switch: String,
    value: String,
    functions: String,
    check: String,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("tests/README.md")).unwrap();
    let (_, table) = text.split_once("<!-- doubts: read by tests -->").unwrap();
    let (table, _) = table.split_once("<!-- end of doubts -->").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        Row {
            switch: cells[0].trim_matches('`').to_owned(),
            value: cells[1].trim_matches('`').to_owned(),
            functions: cells[7].to_owned(),
            check: cells[8].to_owned(),
        }
    };
    rows.map(row).collect()
}

fn switches<'r>(rows: impl IntoIterator<Item = &'r Row>) -> String {
    let one = |row: &Row| {
        (
            row.switch.clone(),
            serde_json::from_str(&row.value).unwrap(),
        )
    };
    let all: Map<String, Value> = rows.into_iter().map(one).collect();
    Value::from(all).to_string()
}

fn scenarios() -> Vec<String> {
    let folder = folder();
    let output = Command::new(folder.join("sendtrail"))
        .args(["demo", "--list"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// Plays these scenarios on a CRM that answers like this.
fn play(switches: &str, only: &[String]) -> Vec<Value> {
    let folder = folder();
    let mut command = Command::new(folder.join("sendtrail"));
    command.args(["demo", "--json", "--jobs", JOBS, "--crm-switches", switches]);
    command.arg("--functions").arg(&folder);
    for name in only {
        command.args(["--only", name]);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {errors}"))
}

fn chosen(row: &Row, all: &[String]) -> Vec<String> {
    let says_nothing = |name: &str| {
        let fits = |(switch, value, scenario, _): &(&str, &str, &str, &str)| {
            (*switch, *value, *scenario) == (row.switch.as_str(), row.value.as_str(), name)
        };
        SAYS_NOTHING.iter().any(fits)
    };
    let switch = row.switch.as_str();
    let wanted = |name: &&String| {
        let name = name.as_str();
        let is_wanted = DECIDING.contains(&switch) || FEW.contains(&name);
        let is_short = WITH_LONG.contains(&switch) || !LONG.contains(&name);
        is_wanted && is_short && !says_nothing(name)
    };
    all.iter().filter(wanted).cloned().collect()
}

/// Words in which codes and sentences are alike.
fn words(text: &str) -> String {
    text.to_lowercase().replace('_', " ")
}

/// What is wrong with the report of one scenario.
fn objection(report: &Value, refusal: Option<&str>) -> Option<String> {
    let posts = |key: &str| report[key].as_u64().unwrap();
    let ok = report["ok"] == true;
    let fine = match refusal {
        None => ok && posts("posts_received") <= 1,
        Some(expected) => {
            let told = report["trouble"].as_array().unwrap();
            let told = told.iter().filter_map(Value::as_str).map(words);
            let is_told = told.into_iter().any(|text| text.contains(&words(expected)));
            // A scenario that writes nothing ends as ever.
            let nothing_sent = posts("posts_received") + posts("posts_refused") == 0;
            nothing_sent && (ok || is_told)
        }
    };
    (!fine).then(|| format!("{report:#}"))
}

fn each_alone(names: &[&str]) {
    let all = scenarios();
    let mut objections = Vec::new();
    for row in rows() {
        if !names.contains(&row.switch.as_str()) {
            continue;
        }
        let refusal = row.functions.strip_prefix("refuse:").map(str::trim);
        let refusal = refusal.map(|text| text.trim_matches('`'));
        for report in play(&switches([&row]), &chosen(&row, &all)) {
            if let Some(objection) = objection(&report, refusal) {
                objections.push(format!("{} {}: {objection}", row.switch, row.value));
            }
        }
    }
    assert!(objections.is_empty(), "{}", objections.join("\n"));
}

macro_rules! groups {
    ($($test:ident: $($switch:ident)*;)*) => {
        $(#[test]
        fn $test() {
            each_alone(&[$(stringify!($switch)),*]);
        })*

        #[test]
        fn every_switch_of_the_table_is_played() {
            let played: BTreeSet<String> = [$($(stringify!($switch).to_owned()),*),*].into();
            let listed: BTreeSet<String> = rows().into_iter().map(|row| row.switch).collect();
            assert_eq!(played, listed);
        }
    };
}

groups! {
    whatever_the_guard_does: guard guard_equal;
    whatever_moves_a_version: workflow_bump recalculation_bump download_bumps attachment_bumps;
    whatever_becomes_of_files_and_keys: file_field unbound_file_seconds unique length_unit;
    whatever_becomes_of_text_and_ids: text_storage empty_value id_form picklist;
    whatever_the_clock_says: time_form date_header date_ahead_seconds latency_ms;
    whatever_queries_give: coql_nulls coql_count coql_id_range list_lag_seconds list_cuts_long_text;
    however_conflicts_are_worded: malformed_guard conflict_body missing_record limit_body
        duplicate_details unknown_field;
    however_tokens_and_queries_are_worded: invalid_token scope_mismatch_status access_denied_status
        expiry_unit live_tokens coql_text coql_quote coql_filters_large_text;
}

/// A combination of answers under which everything is expected to work.
fn combination(seed: u64) -> Vec<Row> {
    let mut bits = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = |below: u64| {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        bits % below
    };
    let mut chosen: Vec<Row> = Vec::new();
    for row in rows() {
        if row.functions != "work" || row.check != "passes" || draw(2) == 0 {
            continue;
        }
        // The last value of a switch stands.
        chosen.retain(|other| other.switch != row.switch);
        chosen.push(row);
    }
    chosen
}

/// Plays every scenario under the combination of this seed.
fn play_combination(seed: u64) {
    let rows = combination(seed);
    let left_out = |name: &str| {
        let fits = |(switch, value, scenario, _): &(&str, &str, &str, &str)| {
            *scenario == name
                && rows
                    .iter()
                    .any(|r| r.switch == *switch && r.value == *value)
        };
        SAYS_NOTHING.iter().any(fits)
    };
    let all = scenarios();
    let only: Vec<String> = all.into_iter().filter(|name| !left_out(name)).collect();
    let text = switches(&rows);
    let objections: Vec<String> = play(&text, &only)
        .iter()
        .filter_map(|report| objection(report, None))
        .collect();
    let told = objections.join("\n");
    assert!(
        objections.is_empty(),
        "SENDTRAIL_SEED={seed} under {text}: {told}"
    );
}

#[test]
fn harmless_answers_combined_harm_nothing_1() {
    play_combination(1);
}

#[test]
fn harmless_answers_combined_harm_nothing_2() {
    play_combination(2);
}

#[test]
fn harmless_answers_combined_harm_nothing_3() {
    play_combination(3);
}

#[test]
fn harmless_answers_combined_as_a_seed_says_harm_nothing() {
    if let Ok(seed) = std::env::var("SENDTRAIL_SEED") {
        play_combination(seed.parse().unwrap());
    }
}
