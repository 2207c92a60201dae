use std::time::Duration;

use sendtrail_simulator::crm::{Fault, FaultKind, FaultMatch};
use serde_json::{Value, json};

use crate::support::{Bed, MODULE, Ran, accepted, command, unknown};

#[tokio::test]
async fn a_person_settles_a_record_in_review_and_the_trail_keeps_who_and_why() {
    let bed = Bed::new().await;
    let id = bed.record("needs_review", &unknown());
    let settle = [
        "settle",
        &id,
        "--as",
        "failed",
        "--reason",
        "returned, case 4711",
    ];
    let done = bed.history(&settle).await.ok();
    assert!(done.out.contains("is now failed"), "{done:?}");
    assert_eq!(bed.stored(&id).fields["Delivery_State"], "failed");
    let progress = bed.stored_progress(&id);
    assert_eq!(progress["rev"], 8);
    assert_eq!(progress["later"]["kept"], true);
    let last = progress["trail"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(last["event"], "settled_failed");
    assert_eq!(
        (&last["by"], &last["reason"]),
        (&json!("tester"), &json!("returned, case 4711"))
    );
}

#[tokio::test]
async fn a_settled_record_takes_no_further_decision() {
    let bed = Bed::new().await;
    let id = bed.record("needs_review", &unknown());
    let settle = |outcome| {
        [
            "settle", &id, "--as", outcome, "--reason", "x", "--by", "Ana", "--json",
        ]
        .map(str::to_owned)
    };
    let run = async |arguments: [String; 9]| {
        let words: Vec<_> = arguments.iter().map(String::as_str).collect();
        bed.crm.clock().advance(Duration::from_secs(20));
        bed.history(&words).await
    };
    let done = run(settle("succeeded")).await.ok().json();
    assert_eq!(done, json!({"id": id, "state": "succeeded"}));
    let writes = bed.stored(&id).writes;
    let again = run(settle("failed")).await;
    assert_eq!(again.code, 1);
    assert_eq!(again.json()["error"]["code"], "refused");
    assert_eq!(bed.stored(&id).writes, writes);
    assert_eq!(bed.stored(&id).fields["Delivery_State"], "succeeded");
}

#[tokio::test]
async fn only_a_record_in_review_can_be_decided() {
    let bed = Bed::new().await;
    for state in [
        "saved",
        "confirmed",
        "sending",
        "accepted",
        "succeeded",
        "failed",
        "sent!",
    ] {
        let id = bed.record(state, &accepted());
        let commands: [&[&str]; 2] = [
            &["settle", &id, "--as", "failed", "--reason", "x"],
            &["resume", &id, "--reason", "x"],
        ];
        for arguments in commands {
            let refused = bed.history(arguments).await.failed(1);
            assert!(refused.err.contains("nothing was written"), "{refused:?}");
        }
        let stored = bed.stored(&id);
        assert_eq!(
            (stored.writes, &stored.fields["Delivery_State"]),
            (1, &json!(state))
        );
    }
}

#[tokio::test]
async fn a_record_whose_progress_is_broken_can_be_settled_and_its_text_is_kept() {
    let bed = Bed::new().await;
    let id = bed.seed(json!({"Delivery_State": "needs_review", "Progress_JSON": "my note"}));
    let resume = ["resume", &id, "--external-id", "ltr_1", "--reason", "x"];
    bed.history(&resume).await.failed(1);
    let settle = ["settle", &id, "--as", "succeeded", "--reason", "x"];
    bed.history(&settle).await.ok();
    assert!(bed.stored_progress(&id).to_string().contains("my note"));
}

#[tokio::test]
async fn look_ups_start_again_with_an_id_and_a_new_deadline() {
    let bed = Bed::new().await;
    let id = bed.record("needs_review", &unknown());
    let blind = bed
        .history(&["resume", &id, "--reason", "x"])
        .await
        .failed(1);
    assert!(blind.err.contains("--external-id"), "{blind:?}");
    assert_eq!(bed.stored(&id).writes, 1);

    let before = jiff::Timestamp::now();
    let resume = [
        "resume",
        &id,
        "--external-id",
        "ltr_9",
        "--reason",
        "found it",
        "--for",
        "2d",
    ];
    let done = bed.history(&resume).await.ok();
    assert!(done.out.contains("is now accepted"), "{done:?}");
    let stored = bed.stored(&id);
    assert_eq!(stored.fields["External_Id"], "ltr_9");
    let progress = bed.stored_progress(&id);
    assert_eq!(progress["submission"]["external_id"], "ltr_9");
    let deadline: jiff::Timestamp = progress["deadline"].as_str().unwrap().parse().unwrap();
    let hours = deadline.duration_since(before).as_secs().div_euclid(3_600);
    assert!((47..=48).contains(&hours), "{progress}");
    assert_ne!(progress["next_check_at"], Value::Null);
}

/// A progress whose claim stands, and whose outcome nobody wrote.
fn claimed() -> Value {
    let mut progress = accepted();
    progress.as_object_mut().unwrap().remove("submission");
    progress
}

#[tokio::test]
async fn an_outcome_that_was_not_recorded_is_recorded_on_the_claimed_record() {
    let bed = Bed::new().await;
    let id = bed.record("sending", &claimed());
    let record = [
        "record",
        &id,
        "--external-id",
        "ltr_9",
        "--reason",
        "accepted, not recorded",
    ];
    let done = bed.history(&record).await.ok();
    assert!(done.out.contains("is now accepted"), "{done:?}");
    let stored = bed.stored(&id);
    assert_eq!(stored.fields["Delivery_State"], "accepted");
    assert_eq!(stored.fields["External_Id"], "ltr_9");
    let progress = bed.stored_progress(&id);
    let submission = &progress["submission"];
    assert_eq!(submission["driver"], "lob-letter");
    assert_eq!(submission["evidence"]["class"], "named by a person");
    assert_ne!(progress["next_check_at"], Value::Null);
    let last = progress["trail"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["event"], &last["by"], &last["reason"]),
        (
            &json!("accepted"),
            &json!("tester"),
            &json!("accepted, not recorded")
        )
    );
}

#[tokio::test]
async fn an_outcome_is_recorded_in_review_too_and_nowhere_else() {
    let bed = Bed::new().await;
    let run = async |id: &str| {
        let words = ["record", id, "--external-id", "ltr_9", "--reason", "x"];
        bed.history(&words).await
    };
    let review = bed.record("needs_review", &unknown());
    run(&review).await.ok();
    assert_eq!(bed.stored(&review).fields["Delivery_State"], "accepted");
    for state in ["saved", "confirmed", "accepted", "succeeded", "failed"] {
        let id = bed.record(state, &claimed());
        let refused = run(&id).await.failed(1);
        assert!(refused.err.contains("nothing was written"), "{refused:?}");
        assert_eq!(bed.stored(&id).writes, 1);
    }
}

#[tokio::test]
async fn an_edit_that_comes_in_between_stands_and_the_exit_code_is_3() {
    let bed = Bed::new().await;
    let id = bed.record("needs_review", &unknown());
    let path = format!("/crm/v8/{MODULE}/{id}");
    let matching = FaultMatch {
        method: Some("GET".into()),
        path: Some(path.clone()),
        ..FaultMatch::default()
    };
    let mut late = Fault::new(FaultKind::LateReply, matching);
    late.ms = 1_500;
    bed.crm.add_fault(late);

    let variables = bed.variables();
    let variables: Vec<_> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let arguments = ["history", "settle", &id, "--as", "failed", "--reason", "x"];
    let mut child = command(&arguments, &variables).spawn().unwrap();
    drop(child.stdin.take());
    let output = tokio::spawn(child.wait_with_output());
    let was_read = || {
        bed.crm
            .log(0)
            .unwrap()
            .iter()
            .any(|line| line.path.starts_with(&path))
    };
    for _ in 0..500 {
        if was_read() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(was_read());
    bed.edit(&id, json!({"Delivery_State": "succeeded"}));

    let output = output.await.unwrap().unwrap();
    let ran = Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    let ran = ran.failed(3);
    assert!(ran.err.contains("nothing was written"), "{ran:?}");
    let stored = bed.stored(&id);
    assert_eq!(
        (stored.writes, &stored.fields["Delivery_State"]),
        (2, &json!("succeeded"))
    );
    assert_eq!(bed.stored_progress(&id), unknown());
}

#[tokio::test]
async fn a_lost_reply_is_not_called_a_failure_and_nothing_is_written_twice() {
    let bed = Bed::new().await;
    let id = bed.record("needs_review", &unknown());
    // The write of the decision, and not what the adapter asks before it.
    let matching = FaultMatch {
        method: Some("PUT".into()),
        body_contains: Some("Delivery_State".into()),
        ..FaultMatch::default()
    };
    bed.crm
        .add_fault(Fault::new(FaultKind::LostReply, matching));
    let settle = ["settle", &id, "--as", "succeeded", "--reason", "x"];
    bed.history(&settle).await.ok();
    assert_eq!(bed.stored(&id).writes, 2);
}

#[tokio::test]
async fn a_decision_without_a_person_or_a_reason_asks_nothing_of_the_crm() {
    let bed = Bed::new().await;
    let id = bed.record("needs_review", &unknown());
    let settle = |by: &'static str, reason: &'static str| {
        [
            "settle",
            id.as_str(),
            "--as",
            "failed",
            "--by",
            by,
            "--reason",
            reason,
        ]
    };
    bed.history(&settle("", "x")).await.failed(2);
    bed.history(&settle("Ana", " ")).await.failed(2);
    assert!(bed.crm.log(0).unwrap().is_empty());
}

#[tokio::test]
async fn a_look_up_is_brought_forward_and_only_forward() {
    let bed = Bed::new().await;
    let mut far = accepted();
    far["next_check_at"] = json!("2099-01-01T00:00:00Z");
    far["deadline"] = json!("2099-01-08T00:00:00Z");
    let id = bed.record("accepted", &far);
    bed.edit(&id, json!({"Next_Check_At": "2099-01-01T00:00:00+00:00"}));
    bed.crm.clock().advance(Duration::from_secs(20));
    let wake = ["wake", &id, "--reason", "on the phone", "--json"];
    let begun = jiff::Timestamp::now();
    let done = bed.history(&wake).await.ok().json();
    assert_eq!(
        (&done["state"], &done["woken"]),
        (&json!("accepted"), &json!(true))
    );
    let progress = bed.stored_progress(&id);
    let next: jiff::Timestamp = progress["next_check_at"].as_str().unwrap().parse().unwrap();
    assert!(next.duration_since(begun).as_secs().abs() < 60, "{next}");
    assert_eq!(progress["attempts"], 3);
    let last = progress["trail"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["event"], &last["by"], &last["reason"]),
        (&json!("woken"), &json!("tester"), &json!("on the phone"))
    );

    bed.crm.clock().advance(Duration::from_secs(20));
    let writes = bed.stored(&id).writes;
    let again = bed.history(&wake).await.ok().json();
    assert_eq!(again["woken"], false);
    let text = bed.history(&wake[..4]).await.ok().out;
    assert!(text.contains("nothing was written"), "{text}");
    assert_eq!(bed.stored(&id).writes, writes);
}

#[tokio::test]
async fn only_an_accepted_send_is_woken() {
    let bed = Bed::new().await;
    for state in ["confirmed", "sending", "needs_review", "failed", "sent!"] {
        let id = bed.record(state, &accepted());
        let refused = bed.history(&["wake", &id, "--reason", "x"]).await.failed(1);
        assert!(refused.err.contains("nothing was written"), "{refused:?}");
        assert_eq!(bed.stored(&id).writes, 1);
    }
    bed.history(&["wake", "57"]).await.failed(2);
    bed.history(&["wake", "999", "--reason", "x"])
        .await
        .failed(4);
}
