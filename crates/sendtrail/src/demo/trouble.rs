//! The scenarios of trouble: what vendors, networks and people do to a send.

use std::time::Duration;

use sendtrail_simulator::crm::{Fault, FaultKind, FaultMatch, Seed, SeedRecord};
use serde_json::{Map, Value, json};

use super::client::{Answer, fresh_id};
use super::stage::{Failed, HISTORIES, Stage};
use crate::local::{DRAFT, LETTER, LETTER_BLIND, LETTER_HASTY, POLLER_UNRESERVED, tick_input};

/// As long as anything may take with the quick timing.
const SOON: Duration = Duration::from_secs(40);

fn unexpected(what: impl Into<String>) -> Failed {
    Failed::Unexpected(what.into())
}

/// A fault on the writes of history records.
fn on_writes(kind: FaultKind, count: u32) -> Fault {
    let matching = FaultMatch {
        method: Some("PUT".to_owned()),
        module: Some(HISTORIES.to_owned()),
        ..FaultMatch::default()
    };
    let mut fault = Fault::new(kind, matching);
    fault.count = count;
    fault
}

/// A draft, its file and its recipient, then one commit; the result comes later.
pub(crate) async fn draft_then_commit(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(DRAFT, "Ada (delivered after 1)").await?;
    let answer = stage.press(&saved, &document, (200, "accepted")).await?;
    let record = stage.wait_for("succeeded", SOON).await?;
    if record.draft_id() != answer.text("external_id") {
        return Err(unexpected(format!(
            "the claim names the draft {:?}",
            record.draft_id()
        )));
    }
    Ok(())
}

/// The function dies between draft and commit: the draft is read back, nothing is sent, a person is asked.
pub(crate) async fn draft_died_before_commit(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(DRAFT, "Ada (delivered after 1)").await?;
    let webhook_id = fresh_id();
    let press = stage.client.press(&saved.id, &document, &webhook_id);
    let kill = async {
        let record = stage.wait_for("sending", SOON).await?;
        stage.stack.host.kill_instances("side-effect").await;
        stage.say(format!(
            "kill -9 with draft {} made and not committed",
            record.draft_id()
        ));
        Ok::<_, Failed>(())
    };
    let (answer, killed) = tokio::join!(press, kill);
    killed?;
    stage.say(format!("the press is answered {}", answer?.status));
    stage.wait_for("needs_review", SOON).await?;
    if stage.stack.send_api.post_counts(None)?.received != 0 {
        return Err(unexpected("something was committed"));
    }
    Ok(())
}

/// The result is there only at the last look-up, and it counts.
pub(crate) async fn finished_just_at_the_deadline(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER_HASTY, "Ada (silence)").await?;
    stage.press(&saved, &document, (200, "accepted")).await?;
    stage.wait_for("accepted", SOON).await?;
    // No look-up until the deadline; the letter is delivered in the meantime.
    stage.edit("Next_Check_At", "2037-01-01T00:00:00+00:00")?;
    stage
        .stack
        .send_api
        .set_script("Ada (silence)", "delivered after 0")?;
    stage.say("delivered, with no look-up due before the deadline");
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

/// The function dies after the API acted and before the outcome is recorded.
pub(crate) async fn killed_after_submit(stage: &Stage) -> Result<(), Failed> {
    let to = "Ada (hold 8s after, delivered after 1)";
    let (saved, document) = stage.confirmed(LETTER, to).await?;
    let webhook_id = fresh_id();
    let press = stage.client.press(&saved.id, &document, &webhook_id);
    let kill = async {
        stage
            .wait_until("the API has the letter", SOON, || {
                Ok(stage.stack.send_api.post_counts(None)?.accepted == 1)
            })
            .await?;
        let killed = stage.stack.host.kill_instances("side-effect").await;
        stage.say(format!(
            "kill -9 of {killed} side-effect process, after the API took the letter"
        ));
        Ok::<_, Failed>(())
    };
    let (answer, killed) = tokio::join!(press, kill);
    killed?;
    stage.say(format!("the press is answered {}", answer?.status));
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

/// Ticks fired twice, by hand and by the schedule: each row is written once for each look-up.
pub(crate) async fn two_pollers_at_once(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (delivered after 2)").await?;
    stage.press(&saved, &document, (200, "accepted")).await?;
    let tick = tick_input().to_string();
    for _ in 0..3 {
        let (one, two) = tokio::join!(
            stage.stack.host.invoke(POLLER_UNRESERVED, tick.clone()),
            stage.stack.host.invoke(POLLER_UNRESERVED, tick.clone()),
        );
        for run in [one, two] {
            run.map_err(|error| unexpected(format!("a run of the poller: {error}")))?;
        }
    }
    stage.say("the poller ran six times more, two at a time");
    let record = stage.wait_for("succeeded", SOON).await?;
    let delivered = record.trail_count("delivered");
    if delivered != 1 {
        return Err(unexpected(format!(
            "delivered was written {delivered} times"
        )));
    }
    Ok(())
}

/// The API asks to slow down while it is looked up: the state is kept, and it ends.
pub(crate) async fn rate_limited(stage: &Stage) -> Result<(), Failed> {
    let to = "Ada (look-up 429 times 2, delivered after 1)";
    let (saved, document) = stage.confirmed(LETTER, to).await?;
    stage.press(&saved, &document, (200, "accepted")).await?;
    stage
        .wait("the API asks to slow down", SOON, |record| {
            record.last_error() == "rate_limited"
        })
        .await?;
    stage.say("looked up: 429; the state is kept");
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

/// One press, replayed a hundred times: one submit.
pub(crate) async fn replayed_hundred_times(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    let id = fresh_id();
    let mut answers: Vec<u16> = Vec::new();
    // The CRM takes ten queries at once and answers 429 to more; the poller has one as well.
    for _ in 0..20 {
        let presses = (0..5).map(|_| stage.client.press(&saved.id, &document, &id));
        for answer in futures_util::future::join_all(presses).await {
            answers.push(answer?.status);
        }
    }
    let served = answers.iter().filter(|status| **status == 200).count();
    let refused = answers.iter().filter(|status| **status == 409).count();
    stage.say(format!(
        "pressed 100 times under one webhook-id: {served} times 200, {refused} times 409"
    ));
    if served == 0 || served + refused != 100 {
        return Err(unexpected(format!("answers {answers:?}")));
    }
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

/// A copy of a confirmed record cannot be sent: its seal is another record's.
pub(crate) async fn cloned_record(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    let copy = stage.stack.crm.clone_record(HISTORIES, &saved.id)?;
    stage.say(format!("a person clones the record as {copy}"));
    let answer = stage.client.press(&copy, &document, &fresh_id()).await?;
    stage.say(format!("pressed send on the clone: {}", answer.words()));
    stage.expect(&answer, (409, "record_changed"))?;
    stage.stays("confirmed", Duration::from_secs(2)).await
}

/// The same document from the same source record is refused, unless the user names the first send.
pub(crate) async fn twin_refused(stage: &Stage) -> Result<(), Failed> {
    let (first, document) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    stage.press(&first, &document, (200, "accepted")).await?;
    stage.wait_for("succeeded", SOON).await?;
    let (second, document) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    let answer = stage
        .press(&second, &document, (409, "already_sent"))
        .await?;
    if answer.text("twin") != first.id {
        return Err(unexpected(format!(
            "the twin is named as {:?}",
            answer.text("twin")
        )));
    }
    stage.stays("confirmed", Duration::from_secs(2)).await
}

/// Two records of one document are pressed at once, and the CRM is slow: one goes out.
pub(crate) async fn twins_pressed_at_once(stage: &Stage) -> Result<(), Failed> {
    let (first, document) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    let (second, _) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    let mut slow = on_writes(FaultKind::Delay, 2);
    slow.ms = 700;
    stage.stack.crm.add_fault(slow);
    let (one, two) = (fresh_id(), fresh_id());
    let (one, two) = tokio::join!(
        stage.client.press(&first.id, &document, &one),
        stage.client.press(&second.id, &document, &two),
    );
    let answers = [one?, two?];
    let words: Vec<_> = answers.iter().map(Answer::words).collect();
    stage.say(format!("both pressed at once: {}", words.join(" and ")));
    let accepted = answers
        .iter()
        .filter(|a| a.text("outcome") == "accepted")
        .count();
    let refused = answers
        .iter()
        .filter(|a| a.text("code") == "already_sent")
        .count();
    if (accepted, refused) != (1, 1) {
        return Err(unexpected(format!(
            "{accepted} accepted, {refused} refused"
        )));
    }
    // The story goes on with the one that went out.
    if answers[0].text("outcome") == "accepted" {
        stage.tell_of(&first.id);
    }
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

/// A person pastes the progress from before the send: the record's other fields tell, nothing is sent.
pub(crate) async fn old_progress_pasted_back(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (silence)").await?;
    let before = stage.record()?.progress.unwrap_or_default();
    stage.press(&saved, &document, (200, "accepted")).await?;
    stage.wait_for("accepted", SOON).await?;
    stage.edit("Delivery_State", "confirmed")?;
    stage.edit("Progress_JSON", before)?;
    stage
        .press(&saved, &document, (409, "not_sendable"))
        .await?;
    stage.stays("confirmed", Duration::from_secs(2)).await
}

/// A person moves the record while the API is being asked: the id is kept, the state is the person's.
pub(crate) async fn outcome_conflict_with_a_person(stage: &Stage) -> Result<(), Failed> {
    let to = "Ada (hold 2s after, delivered after 1)";
    let (saved, document) = stage.confirmed(LETTER, to).await?;
    let webhook_id = fresh_id();
    let press = stage.client.press(&saved.id, &document, &webhook_id);
    let edit = async {
        stage
            .wait_until("the API has the letter", SOON, || {
                Ok(stage.stack.send_api.post_counts(None)?.accepted == 1)
            })
            .await?;
        stage.edit("Delivery_State", "needs_review")
    };
    let (answer, edited) = tokio::join!(press, edit);
    edited?;
    let answer = answer?;
    stage.say(format!("the press is answered {}", answer.words()));
    stage.expect(&answer, (200, "accepted"))?;
    let record = stage
        .wait("the id in the progress", SOON, |record| {
            !record.external_id().is_empty()
        })
        .await?;
    stage.say(format!("the progress names {}", record.external_id()));
    stage.stays("needs_review", Duration::from_secs(3)).await
}

/// A person empties the progress of an accepted send: it is given to a person, never sent again.
pub(crate) async fn progress_emptied_by_a_person(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (silence)").await?;
    stage.press(&saved, &document, (200, "accepted")).await?;
    stage.wait_for("accepted", SOON).await?;
    stage.edit("Progress_JSON", "")?;
    stage.wait_for("needs_review", SOON).await?;
    stage.edit("Delivery_State", "confirmed")?;
    stage
        .press(&saved, &document, (409, "not_sendable"))
        .await?;
    stage.edit("Delivery_State", "needs_review")
}

/// The CRM takes no write after the submit: the log says what a person must record, and the sweep finds it.
pub(crate) async fn crm_down_after_submit(stage: &Stage) -> Result<(), Failed> {
    let to = "Ada (hold 1s after, delivered after 1)";
    let (saved, document) = stage.confirmed(LETTER, to).await?;
    let webhook_id = fresh_id();
    let press = stage.client.press(&saved.id, &document, &webhook_id);
    let outage = async {
        stage
            .wait_until("the API has the letter", SOON, || {
                Ok(stage.stack.send_api.post_counts(None)?.accepted == 1)
            })
            .await?;
        stage.stack.crm.add_fault(on_writes(FaultKind::Status, 0));
        stage.say("the CRM answers every write with 503");
        Ok::<_, Failed>(())
    };
    let (answer, down) = tokio::join!(press, outage);
    down?;
    stage.say(format!("the press is answered {}", answer?.words()));
    let log = stage.log("side-effect");
    let told = log
        .lines()
        .any(|line| line.contains("outcome_unrecorded") && line.contains(&saved.id));
    if !told {
        return Err(unexpected("no log line tells what to record"));
    }
    stage.say("one log line tells what a person must record");
    stage.stack.crm.clear_faults();
    stage.say("the CRM is back");
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

/// Many rows that the CRM refuses to write, all due before ours: ours is looked up all the same.
pub(crate) async fn poison_rows_do_not_starve(stage: &Stage) -> Result<(), Failed> {
    let poison = 300;
    let records = (0..poison).map(poisoned).collect();
    stage.stack.crm.seed(&Seed { records })?;
    let mut refuse = on_writes(FaultKind::Status, 0);
    refuse.status = Some(400);
    refuse.matching.body_contains = Some("ltr_poison".to_owned());
    stage.stack.crm.add_fault(refuse);
    stage.say(format!("{poison} due rows that the CRM refuses to write"));
    let (saved, document) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    stage.press(&saved, &document, (200, "accepted")).await?;
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

fn poisoned(number: u16) -> SeedRecord {
    let at = "2026-01-01T00:00:00Z";
    let progress: Value = json!({
        "v": 1, "rev": 4, "next_check_at": at, "attempts": 1, "deadline": "2037-01-01T00:00:00Z",
        "claim": {"token": "c", "at": at, "request_key": "msg_c", "driver": LETTER_BLIND, "draft_id": null},
        "submission": {
            "driver": LETTER_BLIND, "reference": format!("st_{number}"), "outcome": "accepted",
            "external_id": format!("ltr_poison{number}"), "at": "2036-12-31T00:00:00Z",
        },
    });
    let fields = Map::from_iter([
        ("Delivery_State".to_owned(), json!("accepted")),
        ("Progress_JSON".to_owned(), json!(progress.to_string())),
        (
            "Next_Check_At".to_owned(),
            json!("2026-01-01T00:00:00+00:00"),
        ),
        ("Deadline".to_owned(), json!("2037-01-01T00:00:00+00:00")),
        (
            "Request_Key".to_owned(),
            json!(format!("msg_poison{number}")),
        ),
    ]);
    SeedRecord {
        module: HISTORIES.to_owned(),
        fields,
        ..SeedRecord::default()
    }
}
