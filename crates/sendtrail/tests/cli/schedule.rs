//! `sendtrail schedule` in an account of our own.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::fake_aws::{Account, FakeAws, line};
use crate::support::{Bed, Files, accepted, run_with};

fn ago(seconds: i64) -> i64 {
    Timestamp::now().as_millisecond() - seconds * 1_000
}

/// The schedule without what a change is for and what AWS itself keeps.
fn rest(schedule: &Value) -> Value {
    let mut rest = schedule.clone();
    let map = rest.as_object_mut().unwrap();
    for changed in [
        "State",
        "Description",
        "ScheduleExpression",
        "LastModificationDate",
    ] {
        map.remove(changed);
    }
    rest
}

#[tokio::test]
async fn show_tells_state_rate_and_the_newest_run_of_the_poller() {
    let account = Account {
        log: vec![
            (ago(3_000), line(&json!({"listed": 1}))),
            (ago(200), line(&json!({"listed": 2}))),
            (ago(80), line(&json!({"listed": 3, "delivered": 1}))),
            (ago(70), "REPORT RequestId: 1".to_owned()),
            (ago(60), line(&json!({"function": "intake"}))),
        ],
        ..Account::default()
    };
    let aws = FakeAws::start(account).await;
    let shown = aws
        .run(&["schedule", "show", "--stage", "prod"])
        .await
        .ok()
        .out;
    for words in [
        "sendtrail-prod-poller in eu-central-1",
        "enabled",
        "about every 2 minutes",
        "s ago), took 1.2 s",
        "listed 3, delivered 1",
        "next run  about",
    ] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let json = aws
        .run(&["schedule", "show", "--stage", "prod", "--json"])
        .await;
    let json = json.ok().json();
    assert_eq!(json["enabled"], true);
    assert_eq!(json["last_run"]["report"]["listed"], 3);
    assert_eq!(json["late"], false);
}

#[tokio::test]
async fn a_run_long_ago_is_found_too_and_told_as_late() {
    let account = Account {
        log: vec![(ago(3 * 3_600), line(&json!({"listed": 7})))],
        ..Account::default()
    };
    let aws = FakeAws::start(account).await;
    let shown = aws
        .run(&["schedule", "show", "--stage", "prod"])
        .await
        .ok()
        .out;
    assert!(
        shown.contains("listed 7") && shown.contains("LATE"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_pause_keeps_the_rest_of_the_schedule_and_a_resume_puts_back_the_description() {
    let aws = FakeAws::start(Account::default()).await;
    let before = aws.see(|account| account.schedule.clone());
    let pause = [
        "schedule",
        "pause",
        "--stage",
        "prod",
        "--reason",
        "the CRM is moved",
    ];
    let paused = aws.run(&pause).await.ok().out;
    assert!(
        paused.contains("is paused") && paused.contains("Nothing is lost"),
        "{paused}"
    );
    let after = aws.see(|account| account.schedule.clone());
    assert_eq!(rest(&after), rest(&before));
    assert_eq!(after["State"], "DISABLED");
    let description = after["Description"].as_str().unwrap();
    assert!(
        description.starts_with("Sendtrail's tick [paused 20"),
        "{description}"
    );
    assert!(
        description.ends_with(" by tester: the CRM is moved]"),
        "{description}"
    );

    let shown = aws
        .run(&["schedule", "show", "--stage", "prod"])
        .await
        .ok()
        .out;
    assert!(shown.contains("PAUSED since") && shown.contains("by tester: the CRM is moved"));
    let again = aws.run(&pause).await.failed(1);
    assert!(again.err.contains("paused already"), "{again:?}");
    assert_eq!(aws.see(|account| account.updates.len()), 1);

    let resumed = aws
        .run(&["schedule", "resume", "--stage", "prod"])
        .await
        .ok()
        .out;
    assert!(resumed.contains("ticks again after"), "{resumed}");
    assert!(resumed.contains("overdue is not known"), "{resumed}");
    let mut last = aws.see(|account| account.schedule.clone());
    last["LastModificationDate"] = before["LastModificationDate"].clone();
    assert_eq!(last, before);

    let nothing = aws
        .run(&["schedule", "resume", "--stage", "prod"])
        .await
        .ok();
    assert!(nothing.out.contains("nothing was changed"), "{nothing:?}");
    assert_eq!(aws.see(|account| account.updates.len()), 2);
}

#[tokio::test]
async fn a_resume_with_a_configuration_says_how_many_rows_are_overdue() {
    let bed = Bed::new().await;
    for _ in 0..3 {
        let mut due = accepted();
        due["next_check_at"] = json!("2026-01-01T00:00:00Z");
        bed.record("accepted", &due);
    }
    let mut account = Account::default();
    account.schedule["State"] = json!("DISABLED");
    let aws = FakeAws::start(account).await;
    let variables = bed.variables();
    let variables: Vec<_> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    // The stage comes from the configuration, and is that of the schedule.
    let resumed = aws
        .run_with(&["schedule", "resume", "--json"], &variables)
        .await;
    let resumed = resumed.ok().json();
    assert_eq!(resumed["overdue"], 3);
    assert_eq!(resumed["enabled"], true);
    assert_eq!(resumed["paused_since"], Value::Null);
}

#[tokio::test]
async fn what_a_write_loses_is_an_error() {
    let account = Account {
        loses: Some("KmsKeyArn"),
        ..Account::default()
    };
    let aws = FakeAws::start(account).await;
    let failed = aws
        .run(&["schedule", "every", "5m", "--stage", "prod"])
        .await
        .failed(1);
    assert!(failed.err.contains("key differ"), "{failed:?}");

    let mut account = Account::default();
    account.schedule.as_object_mut().unwrap().remove("Target");
    let aws = FakeAws::start(account).await;
    let failed = aws
        .run(&["schedule", "every", "5m", "--stage", "prod"])
        .await
        .failed(1);
    assert!(failed.err.contains("nothing was changed"), "{failed:?}");
    assert_eq!(aws.see(|account| account.updates.len()), 0);
}

#[tokio::test]
async fn the_rate_is_changed_alone_and_the_template_is_named() {
    let aws = FakeAws::start(Account::default()).await;
    let before = aws.see(|account| account.schedule.clone());
    let changed = aws
        .run(&["schedule", "every", "5m", "--stage", "prod"])
        .await
        .ok()
        .out;
    assert!(changed.contains("about every 5 minutes"), "{changed}");
    assert!(changed.contains("PollIntervalMinutes=5") && changed.contains("poller.interval"));
    let after = aws.see(|account| account.schedule.clone());
    assert_eq!(after["ScheduleExpression"], "rate(5 minutes)");
    assert_eq!(after["State"], "ENABLED");
    assert_eq!(after["Description"], before["Description"]);
    assert_eq!(rest(&after), rest(&before));
    let same = aws
        .run(&["schedule", "every", "5m", "--stage", "prod"])
        .await
        .ok()
        .out;
    assert!(same.contains("nothing was changed"), "{same}");
    aws.run(&["schedule", "every", "4m", "--stage", "prod"])
        .await
        .failed(2);
    assert_eq!(aws.see(|account| account.updates.len()), 1);
}

#[tokio::test]
async fn a_run_is_asked_for_with_the_tick_and_its_report_is_told() {
    let aws = FakeAws::start(Account::default()).await;
    let ran = aws
        .run(&["schedule", "run-now", "--stage", "prod"])
        .await
        .ok()
        .out;
    assert_eq!(ran, "the poller ran: listed 3, looked_up 3\n");
    let invoked = aws.see(|account| account.invoked.clone());
    assert_eq!(invoked, [r#"{"v":1,"kind":"tick"}"#]);
    let json = aws
        .run(&["schedule", "run-now", "--stage", "prod", "--json"])
        .await;
    assert_eq!(json.ok().json()["report"]["unknown_event"], 0);
}

#[tokio::test]
async fn a_run_that_fails_or_meets_another_is_told_in_words() {
    let failed =
        json!({"errorType": "Poll.CrmUnavailable", "errorMessage": "the CRM\u{1b}[31m is away"});
    let aws = FakeAws::start(Account {
        run: (failed, true),
        ..Account::default()
    });
    let ran = aws
        .await
        .run(&["schedule", "run-now", "--stage", "prod"])
        .await
        .failed(1);
    assert!(
        ran.err.contains("Poll.CrmUnavailable") && !ran.err.contains('\u{1b}'),
        "{ran:?}"
    );

    let aws = FakeAws::start(Account {
        refusals: [("lambda", (429, "TooManyRequestsException"))].into(),
        ..Account::default()
    });
    let aws = aws.await;
    let ran = aws
        .run(&["schedule", "run-now", "--stage", "prod"])
        .await
        .failed(1);
    assert!(ran.err.contains("another run is going on"), "{ran:?}");
}

#[tokio::test]
async fn every_refusal_of_aws_says_what_to_do() {
    for (code, status, exit, words) in [
        (
            "ResourceNotFoundException",
            404,
            4,
            "check --stage, --region and --profile",
        ),
        (
            "AccessDeniedException",
            403,
            1,
            "you may not scheduler:GetSchedule on schedule",
        ),
        ("ExpiredTokenException", 403, 1, "sign in again"),
        (
            "UnrecognizedClientException",
            403,
            1,
            "refuses the credentials",
        ),
        ("ValidationException", 400, 1, "ValidationException"),
    ] {
        let account = Account {
            refusals: [("scheduler", (status, code))].into(),
            ..Account::default()
        };
        let aws = FakeAws::start(account).await;
        let show = ["schedule", "show", "--stage", "prod"];
        let failed = aws.run(&show).await.failed(exit);
        assert!(failed.err.contains(words), "{failed:?}");
        let json = aws.run(&[&show[..], &["--json"]].concat()).await;
        assert_eq!(json.code, exit);
        assert!(
            json.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains(words)
        );
    }
    let aws = FakeAws::start(Account::default()).await;
    let failed = aws
        .run(&["schedule", "show", "--stage", "dev"])
        .await
        .failed(4);
    assert!(failed.err.contains("sendtrail-dev-poller"), "{failed:?}");
    // A log that may not be read does not hide the schedule.
    let account = Account {
        refusals: [("logs", (400, "AccessDeniedException"))].into(),
        ..Account::default()
    };
    let aws = FakeAws::start(account).await;
    let shown = aws
        .run(&["schedule", "show", "--stage", "prod"])
        .await
        .ok()
        .out;
    assert!(
        shown.contains("not known: you may not logs:FilterLogEvents"),
        "{shown}"
    );
}

#[tokio::test]
async fn without_region_credentials_stage_or_reason_the_command_says_so_and_asks_nothing() {
    let show = ["schedule", "show", "--stage", "prod"];
    let quiet = ("AWS_EC2_METADATA_DISABLED", "true");
    let home = Files::new();
    let home = home.text_path("");
    let nowhere = run_with(&show, &[quiet, ("HOME", &home)], b"")
        .await
        .failed(2);
    assert!(nowhere.err.contains("--region"), "{nowhere:?}");
    let variables = [
        quiet,
        ("HOME", home.as_str()),
        ("AWS_REGION", "eu-central-1"),
    ];
    let nobody = run_with(&show, &variables, b"").await.failed(1);
    assert!(
        nobody.err.contains("--profile") && nobody.err.contains("aws sso login"),
        "{nobody:?}"
    );
    let stageless = run_with(&["schedule", "show"], &variables, b"")
        .await
        .failed(2);
    assert!(stageless.err.contains("--stage"), "{stageless:?}");
    let pause = ["schedule", "pause", "--stage", "prod"];
    run_with(&pause, &variables, b"").await.failed(2);
    let empty = [&pause[..], &["--reason", " "]].concat();
    run_with(&empty, &variables, b"").await.failed(2);
}

#[tokio::test]
async fn a_profile_of_the_aws_files_is_taken() {
    let aws = FakeAws::start(Account::default()).await;
    let files = Files::new();
    let config = format!(
        "[profile ops]\nregion = eu-central-1\nendpoint_url = {}\naws_access_key_id = A\naws_secret_access_key = B\n",
        aws.url
    );
    files.write("aws-config", &config);
    let path = files.text_path("aws-config");
    let show = ["schedule", "show", "--stage", "prod", "--profile", "ops"];
    let home = files.text_path("");
    let variables = [
        ("AWS_CONFIG_FILE", path.as_str()),
        ("HOME", home.as_str()),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ];
    let shown = run_with(&show, &variables, b"").await.ok().out;
    assert!(shown.contains("in eu-central-1"), "{shown}");
}
