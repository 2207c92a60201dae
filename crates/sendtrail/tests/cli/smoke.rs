//! `sendtrail smoke` on a stack of our own: all is well, and each thing that can be wrong is found alone.

use jiff::Timestamp;
use sendtrail_simulator::crm::{Guard, Switches};
use serde_json::{Value, json};

use crate::fake_aws::{Account, FakeAws, line};
use crate::support::{Bed, MODULE, Ran};

/// An account in which all is well.
fn fine() -> Account {
    let at = Timestamp::now().as_millisecond() - 60_000;
    Account {
        log: vec![(at, line(&json!({"listed": 3})))],
        ..Account::default()
    }
}

/// The verdict of every check that is not ok, by its name.
async fn not_ok(account: Account) -> Vec<(String, String)> {
    let aws = FakeAws::start(account).await;
    let ran = aws
        .run(&["smoke", "--stack", "sendtrail-prod", "--json"])
        .await;
    let told = ran.json();
    let checks = told["checks"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let wrong = checks.iter().filter(|check| check["verdict"] != "ok");
    for check in wrong.clone() {
        assert!(!text(&check["advice"]).is_empty(), "{check}");
    }
    let failed = checks.iter().any(|check| check["verdict"] == "failed");
    assert_eq!(
        (ran.code, &told["ok"]),
        (i32::from(failed), &json!(!failed))
    );
    wrong
        .map(|check| (text(&check["name"]), text(&check["verdict"])))
        .filter(|(name, _)| !name.starts_with("CRM"))
        .collect()
}

#[tokio::test]
async fn a_stack_that_is_as_it_should_be_passes_and_what_was_not_tried_is_named() {
    let aws = FakeAws::start(fine()).await;
    let told = aws
        .run(&["smoke", "--stack", "sendtrail-prod"])
        .await
        .ok()
        .out;
    assert_eq!(
        told.lines().filter(|line| line.starts_with("ok ")).count(),
        11,
        "{told}"
    );
    assert_eq!(
        told.lines()
            .filter(|line| line.starts_with("skipped "))
            .count(),
        2
    );
    assert!(told.contains("no configuration is at hand: name a configuration with --config"));
    assert!(told.contains("nothing failed; 2 skipped"), "{told}");
}

#[tokio::test]
async fn each_thing_that_is_wrong_is_found_and_nothing_else_is() {
    type Break = fn(&mut Account);
    let breaks: [(&[&str], Break); 13] = [
        (&["stack"], |a| {
            a.stack.0 = "UPDATE_ROLLBACK_COMPLETE".to_owned();
        }),
        (
            &[
                "intake refuses what is not signed",
                "side-effect refuses what is not signed",
            ],
            |a| a.door = (200, "ok"),
        ),
        (
            &[
                "intake refuses what is not signed",
                "side-effect refuses what is not signed",
            ],
            |a| a.door = (403, "Forbidden"),
        ),
        (
            &[
                "intake serves the widget's origin",
                "side-effect serves the widget's origin",
            ],
            |a| a.origin = Some("https://old.example.com"),
        ),
        (
            &[
                "intake serves the widget's origin",
                "side-effect serves the widget's origin",
            ],
            |a| a.origin = None,
        ),
        (&["poller has no URL"], |a| {
            a.poller_url = Some("https://x.lambda-url.eu-central-1.on.aws/".to_owned());
        }),
        (&["poller is not public"], |a| {
            a.poller_policy =
                Some(json!({"Statement": [{"Sid": "x", "Effect": "Allow", "Principal": "*"}]}));
        }),
        (&["functions are not retried"], |a| {
            a.retries.insert("sendtrail-prod-poller".to_owned(), 2);
        }),
        (&["functions are not retried"], |a| {
            a.retries.remove("sendtrail-prod-side-effect");
        }),
        (&["schedule ticks"], |a| {
            a.schedule["State"] = json!("DISABLED");
        }),
        (&["schedule ticks"], |a| {
            a.schedule["ScheduleExpression"] = json!("rate(5 minutes)");
        }),
        (&["last run of the poller"], |a| {
            a.log[0].1 = line(&json!({"run_failed": 1, "error_type": "Poll.X"}));
        }),
        (&["alarms"], |a| {
            a.template["Resources"]["One"]["Properties"]["AlarmActions"] = json!([]);
        }),
    ];
    for (names, break_it) in breaks {
        let mut account = fine();
        break_it(&mut account);
        let expected: Vec<_> = names
            .iter()
            .map(|name| ((*name).to_owned(), "failed".to_owned()))
            .collect();
        let mut found = not_ok(account).await;
        found.sort();
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn a_retry_policy_of_the_ticks_that_is_not_zero_is_found() {
    for policy in [json!({"MaximumRetryAttempts": 185}), Value::Null] {
        let mut account = fine();
        account.schedule["Target"]["RetryPolicy"] = policy;
        let found = not_ok(account).await;
        assert_eq!(found, [("schedule ticks".to_owned(), "failed".to_owned())]);
    }
}

#[tokio::test]
async fn a_run_that_is_missing_or_old_fails_unless_the_stack_says_that_nothing_runs() {
    let expected = [("last run of the poller".to_owned(), "failed".to_owned())];
    let mut none = fine();
    none.log.clear();
    assert_eq!(not_ok(none).await, expected);
    let mut old = fine();
    old.log[0].0 -= 8 * 60_000;
    assert_eq!(not_ok(old).await, expected);

    let mut off = fine();
    off.log[0].0 -= 8 * 60_000;
    off.schedule["State"] = json!("DISABLED");
    off.stack.1.insert("Polling", "DISABLED".to_owned());
    let found = not_ok(off).await;
    assert_eq!(found, [("schedule ticks".to_owned(), "skipped".to_owned())]);
}

#[tokio::test]
async fn a_drained_stack_is_told_as_such_and_only_where_it_says_so() {
    let mut drained = fine();
    drained.door = (503, "draining");
    let found = not_ok(drained).await;
    assert!(
        found.iter().all(|(_, verdict)| verdict == "failed"),
        "{found:?}"
    );
    let mut drained = fine();
    drained.door = (503, "draining");
    drained.stack.1.insert("Drain", "on".to_owned());
    let found = not_ok(drained).await;
    assert_eq!(found.len(), 2);
    assert!(
        found.iter().all(|(_, verdict)| verdict == "skipped"),
        "{found:?}"
    );
}

/// What is told with the configuration of this CRM at hand, in this stage.
async fn with_crm(bed: &Bed, stage: &str) -> Ran {
    let variables = bed.variables();
    let mut variables: Vec<_> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    variables.push(("SENDTRAIL_STAGE", stage));
    let aws = FakeAws::start(fine()).await;
    aws.run_with(&["smoke", "--stage", "prod"], &variables)
        .await
}

#[tokio::test]
async fn with_the_stacks_own_configuration_the_crm_is_tried_and_one_without_a_guard_fails() {
    let (sound, unguarded) = (Bed::new().await, Bed::new().await);
    unguarded.crm.set_switches(Switches {
        guard: Guard::Ignored,
        ..Switches::default()
    });
    let (sound, unguarded) = tokio::join!(with_crm(&sound, "prod"), with_crm(&unguarded, "prod"));
    let told = sound.ok().out;
    assert!(told.contains("everything is as it should be"), "{told}");
    assert_eq!(unguarded.code, 1);
    assert!(unguarded.out.contains("CRM answers"), "{unguarded:?}");
    assert!(unguarded.out.contains("guard_past"), "{unguarded:?}");
    assert!(
        unguarded.out.contains("1 failed, 0 skipped"),
        "{unguarded:?}"
    );
}

#[tokio::test]
async fn the_configuration_of_another_stage_is_not_asked() {
    let bed = Bed::new().await;
    let told = with_crm(&bed, "dev").await.ok().out;
    assert!(
        told.contains("the configuration is that of stage dev"),
        "{told}"
    );
    assert!(bed.crm.records(MODULE).unwrap().is_empty());
}

#[tokio::test]
async fn a_stack_that_is_not_there_or_not_ours_is_said_at_once() {
    let aws = FakeAws::start(Account {
        refusals: [("cloudformation", (400, "ValidationError"))].into(),
        ..fine()
    });
    let smoke = ["smoke", "--stack", "other"];
    let failed = aws.await.run(&smoke).await.failed(4);
    assert!(failed.err.contains("there is no stack other"), "{failed:?}");
    let mut account = fine();
    account.stack.1.remove("Stage");
    let failed = FakeAws::start(account).await.run(&smoke).await.failed(1);
    assert!(failed.err.contains("not Sendtrail's"), "{failed:?}");
}
