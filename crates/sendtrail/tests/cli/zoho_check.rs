use sendtrail_simulator::crm::{Guard, Switches};
use tokio::task::{JoinSet, LocalSet};

use crate::support::{Bed, MODULE, Ran, run_with};

const README: &str = include_str!("../../../../tests/README.md");
/// At once; they mostly wait.
const AT_ONCE: usize = 16;

async fn checked(bed: &Bed, more: &[&str]) -> Ran {
    let variables = bed.variables();
    let variables: Vec<_> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let words = ["zoho", "check", "--race", "2"];
    run_with(&[&words[..], more].concat(), &variables, b"").await
}

async fn bed(switches: Switches) -> Bed {
    let bed = Bed::new().await;
    bed.crm.set_switches(switches);
    bed
}

/// The rows of the table: switch, other answer, what the check must say.
fn rows() -> Vec<(String, String, String)> {
    let (_, table) = README.split_once("<!-- doubts: read by tests -->").unwrap();
    let (table, _) = table.split_once("<!-- end of doubts -->").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let plain = |at: usize| cells[at].trim_matches('`').to_owned();
        (plain(0), plain(1), cells[8].to_owned())
    })
    .collect()
}

/// What is not as the table says.
async fn disagreement((switch, value, expected): (String, String, String)) -> Option<String> {
    let bed = bed(Switches::default().with(&switch, &value).unwrap()).await;
    let ran = checked(&bed, &["--json"]).await;
    let report = ran.json();
    let failed: Vec<String> = report["points"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|point| point["verdict"] == "fail")
        .map(|point| format!("`{}`", point["name"].as_str().unwrap()))
        .collect();
    let (told, code) = if failed.is_empty() {
        ("passes".to_owned(), 0)
    } else {
        (format!("fails: {}", failed.join(", ")), 1)
    };
    let left = report["left"].as_array().unwrap().len();
    let fits = told == expected && ran.code == code && ran.err.is_empty() && left == 0;
    (!fits).then(|| format!("{switch} {value}: {told} ({}, {left} left)", ran.code))
}

#[tokio::test]
async fn under_each_switch_the_check_says_what_the_table_says() {
    let found = LocalSet::new()
        .run_until(async {
            let mut rows = rows().into_iter();
            let mut running = JoinSet::new();
            let mut found = Vec::new();
            loop {
                while running.len() < AT_ONCE
                    && let Some(row) = rows.next()
                {
                    running.spawn_local(disagreement(row));
                }
                match running.join_next().await {
                    None => return found,
                    Some(result) => found.extend(result.unwrap()),
                }
            }
        })
        .await;
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn a_crm_without_fault_is_told_in_words_and_nothing_is_left() {
    let bed = bed(Switches::default()).await;
    let ran = checked(&bed, &[]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = ran.err.lines().filter(|line| line.starts_with("pass "));
    assert_eq!(told.count(), ran.err.lines().count(), "{ran:?}");
    assert!(ran.err.contains("guard_past\n"), "{ran:?}");
    for part in ["RESULT", "guard_past", "can keep every promise", "credits"] {
        assert!(ran.out.contains(part), "{part} in\n{}", ran.out);
    }
    assert!(!ran.out.contains("FAIL") && !ran.out.contains("not known"));
    assert!(bed.crm.records(MODULE).unwrap().iter().all(|r| r.deleted));
}

#[tokio::test]
async fn an_ignored_guard_ends_with_1_and_says_which_promise_breaks() {
    let bed = bed(Switches {
        guard: Guard::Ignored,
        ..Switches::default()
    })
    .await;
    let ran = checked(&bed, &["--keep"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("FAIL       guard_past\n"), "{ran:?}");
    for part in [
        "FAIL",
        "a document can go out twice",
        "Do not run Sendtrail on this CRM as it is: guard_past, guard_past_unchanged, guard_race.",
        "still there: ",
    ] {
        assert!(ran.out.contains(part), "{part} in\n{}", ran.out);
    }
    let kept = bed.crm.records(MODULE).unwrap();
    assert!(kept.iter().all(|record| !record.deleted));
    // An empty state: nothing takes it for a send.
    assert!(
        kept.iter()
            .all(|record| record.fields["Delivery_State"].is_null())
    );
}

#[tokio::test]
async fn the_operators_token_is_used_and_a_refused_one_is_told() {
    let bed = bed(Switches::default()).await;
    let variables = bed.variables();
    let mut variables: Vec<_> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    variables.retain(|(name, _)| *name != "CRM_REFRESH_OPERATOR");
    variables.push(("CRM_REFRESH_OPERATOR", "1000.refresh.wrong-token"));
    let ran = run_with(&["zoho", "check"], &variables, b"").await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.out.contains("FAIL") && ran.out.contains("create"),
        "{ran:?}"
    );
    assert!(ran.out.contains("invalid_code"), "{ran:?}");
    assert!(!ran.everything().contains("wrong-token"), "{ran:?}");
    assert!(bed.crm.records(MODULE).unwrap().is_empty());
}
