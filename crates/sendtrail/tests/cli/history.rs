use serde_json::{Value, json};

use crate::support::{Bed, Files, accepted, run_with};

#[tokio::test]
async fn a_list_shows_every_record_the_last_changed_first() {
    let bed = Bed::new().await;
    let review = bed.record("needs_review", &accepted());
    let odd = bed.seed(json!({"Delivery_State": "sent!", "Progress_JSON": "my \u{1b}[31mnote"}));
    let text = bed.history(&["list"]).await.ok().out;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(
        lines[0].starts_with("ID") && lines[0].contains("NEXT CHECK"),
        "{text}"
    );
    assert!(
        lines[1].contains(&odd) && lines[1].contains("cannot be read"),
        "{text}"
    );
    assert!(
        lines[2].contains(&review) && lines[2].contains("Jo Seller"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[tokio::test]
async fn a_list_can_be_narrowed_to_states_and_cut() {
    let bed = Bed::new().await;
    let review = bed.record("needs_review", &accepted());
    bed.record("succeeded", &accepted());
    let saved = bed.record("saved", &json!({"v": 1, "rev": 1}));
    let states = [
        "list",
        "--state",
        "needs_review",
        "--state",
        "saved",
        "--json",
    ];
    let listed = bed.history(&states).await.ok().json();
    let ids: Vec<_> = listed["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [saved.as_str(), review.as_str()]);
    assert_eq!(listed["more"], false);
    assert_eq!(listed["records"][1]["attempts"], 3);
    assert_eq!(listed["records"][1]["deadline"], "2026-01-08T00:00:00Z");

    let cut = bed
        .history(&["list", "--limit", "1", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(cut["records"].as_array().unwrap().len(), 1);
    assert_eq!(cut["more"], true);
    let none = bed.history(&["list", "--state", "failed"]).await.ok();
    assert_eq!(none.out, "no record\n");
}

#[tokio::test]
async fn due_lists_what_the_poller_would_work_on_and_nothing_else() {
    let bed = Bed::new().await;
    let due = bed.record("accepted", &accepted());
    bed.record("needs_review", &accepted());
    let later = "2100-01-01T00:00:00+00:00";
    bed.seed(json!({"Delivery_State": "accepted", "Next_Check_At": later, "Deadline": later}));
    let listed = bed.history(&["list", "--due", "--json"]).await.ok().json();
    let rows = listed["records"].as_array().unwrap();
    assert_eq!(
        (rows.len(), rows[0]["id"].as_str()),
        (1, Some(due.as_str()))
    );
    bed.history(&["list", "--due", "--state", "accepted"])
        .await
        .failed(2);
}

#[tokio::test]
async fn a_record_is_shown_with_its_trail_and_what_to_do() {
    let bed = Bed::new().await;
    let id = bed.record("needs_review", &accepted());
    let text = bed.history(&["show", &id]).await.ok().out;
    for part in [
        id.as_str(),
        "needs_review",
        "48213 bytes",
        "ltr_7",
        "gave_up",
        "Jo Seller",
        "history settle",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let json = bed.history(&["--json", "show", &id]).await.ok().json();
    assert_eq!(json["progress"], accepted());
    assert_eq!(json["progress_problem"], Value::Null);
    assert_eq!(bed.stored(&id).writes, 1);
}

#[tokio::test]
async fn a_progress_a_person_broke_is_shown_as_text_with_the_reason() {
    let bed = Bed::new().await;
    let id =
        bed.seed(json!({"Delivery_State": "accepted", "Progress_JSON": "{\"v\":1, called them"}));
    let shown = bed.history(&["show", &id]).await.ok();
    assert!(
        shown.out.contains("cannot be read") && shown.out.contains("called them"),
        "{shown:?}"
    );
    let json = bed.history(&["show", &id, "--json"]).await.ok().json();
    assert_eq!(json["progress_text"], "{\"v\":1, called them");
    assert!(json["progress_problem"].is_string());
}

#[tokio::test]
async fn a_record_that_is_not_there_ends_with_4() {
    let bed = Bed::new().await;
    let missing = bed.history(&["show", "999"]).await.failed(4);
    assert!(
        missing.err.contains("999") && missing.err.contains("check the id"),
        "{missing:?}"
    );
    let json = bed.history(&["show", "999", "--json"]).await;
    assert_eq!((json.code, json.err.as_str()), (4, ""));
    assert_eq!(json.json()["error"]["code"], "not_found");
    let settle = ["settle", "999", "--as", "failed", "--reason", "x"];
    bed.history(&settle).await.failed(4);
}

#[tokio::test]
async fn no_other_functions_token_is_taken_for_the_operators() {
    let bed = Bed::new().await;
    let without = |text: &str| text.replace("operator = \"secret:crm-refresh-operator\"\n", "");
    let files = Files::changed(without);
    let config = files.config();
    let variables = bed.variables();
    let mut variables: Vec<_> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    variables.push(("CRM_REFRESH_POLLER", "1000.refresh.poller"));
    let arguments = ["history", "list", "--config", &config];
    let refused = run_with(&arguments, &variables, b"").await.failed(2);
    assert!(
        refused.err.contains("crm.refresh_token.operator"),
        "{refused:?}"
    );
    assert!(bed.crm.log(0).unwrap().is_empty());
}

#[tokio::test]
async fn a_refused_token_is_told_without_the_token() {
    let bed = Bed::new().await;
    let variables = bed.variables();
    let mut variables: Vec<_> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    variables.retain(|(name, _)| *name != "CRM_REFRESH_OPERATOR");
    variables.push(("CRM_REFRESH_OPERATOR", "1000.refresh.wrong-token"));
    let refused = run_with(&["history", "list"], &variables, b"")
        .await
        .failed(1);
    assert!(
        refused.err.contains("refresh_token.operator"),
        "{refused:?}"
    );
    assert!(!refused.everything().contains("wrong-token"), "{refused:?}");
}

#[tokio::test]
async fn many_commands_take_one_token_which_only_the_user_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = Bed::new().await;
    for _ in 0..12 {
        bed.history(&["list"]).await.ok();
    }
    let log = bed.crm.log(0).unwrap();
    let tokens = log.iter().filter(|line| line.path.starts_with("/oauth/"));
    assert_eq!(tokens.count(), 1);
    let folder = bed.files.path(".cache/sendtrail");
    let kept: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert_eq!(kept.len(), 1);
    let mode = kept[0].as_ref().unwrap().metadata().unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}
