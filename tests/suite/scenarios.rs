//! Every scenario of the demo, through the real binaries, each named after the rule it protects.

use std::process::Command;

use crate::binaries::folder;

fn play(name: &str) {
    let folder = folder();
    let output = Command::new(folder.join("sendtrail"))
        .args(["demo", "--json", "--only", name, "--functions"])
        .arg(&folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let reports: Vec<serde_json::Value> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {errors}"));
    let [report] = &reports[..] else {
        panic!("one report was due: {text}");
    };
    assert_eq!(report["scenario"], name);
    assert_eq!(
        report["final_state"], report["expected_state"],
        "{report:#}"
    );
    assert!(
        report["posts_received"]
            .as_u64()
            .is_some_and(|posts| posts <= 1),
        "{report:#}"
    );
    assert_eq!(report["ok"], true, "{report:#} {errors}");
    assert!(output.status.success());
}

macro_rules! scenarios {
    ($($name:ident,)*) => {
        $(#[test]
        fn $name() {
            play(stringify!($name));
        })*

        #[test]
        fn every_scenario_of_the_demo_is_a_test() {
            let folder = folder();
            let output = Command::new(folder.join("sendtrail")).args(["demo", "--list"]).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let listed: Vec<_> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
            assert_eq!(listed, [$(stringify!($name),)*]);
        }
    };
}

scenarios! {
    delivered,
    undelivered,
    rejected,
    acceptance_unknown,
    acceptance_found,
    not_sent_then_pressed_again,
    deadline_passes,
    edited_by_a_person,
    state_typed_back,
    killed_after_claim,
    pressed_twice_at_once,
    document_changed_after_preview,
    recipient_changed_after_confirm,
    draft_then_commit,
    draft_died_before_commit,
    finished_just_at_the_deadline,
    killed_after_submit,
    two_pollers_at_once,
    rate_limited,
    replayed_hundred_times,
    cloned_record,
    twin_refused,
    twins_pressed_at_once,
    old_progress_pasted_back,
    outcome_conflict_with_a_person,
    progress_emptied_by_a_person,
    crm_down_after_submit,
    poison_rows_do_not_starve,
}

#[test]
fn killed_at_any_moment_a_send_is_never_submitted_twice_and_ends() {
    let folder = folder();
    let output = Command::new(folder.join("sendtrail"))
        .args(["demo", "--chaos", "8", "--seed", "7", "--functions"])
        .arg(&folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("0  submitted twice"), "{text}");
    assert!(!text.contains("no end"), "{text}");
}
