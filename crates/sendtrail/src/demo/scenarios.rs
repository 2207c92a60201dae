//! The scenarios, each named after what it shows.

use std::time::Duration;

use sendtrail_simulator::crm::{Fault, FaultKind, FaultMatch};

use super::client::fresh_id;
use super::stage::{Failed, HISTORIES, Stage};
use super::trouble;
use crate::local::{LETTER, LETTER_BLIND, LETTER_HASTY, sample_pdf};

/// As long as anything may take with the quick timing.
const SOON: Duration = Duration::from_secs(40);

/// Plays a scenario.
pub(crate) async fn play(name: &str, stage: &Stage) -> Result<(), Failed> {
    match name {
        "delivered" => sent_then(stage, LETTER, "Ada (delivered after 2)", "succeeded").await,
        "undelivered" => sent_then(stage, LETTER, "Ada (undelivered after 1)", "failed").await,
        "rejected" => rejected(stage).await,
        "acceptance_unknown" => acceptance_unknown(stage).await,
        "acceptance_found" => acceptance_found(stage).await,
        "not_sent_then_pressed_again" => not_sent_then_pressed_again(stage).await,
        "deadline_passes" => sent_then(stage, LETTER_HASTY, "Ada (silence)", "needs_review").await,
        "edited_by_a_person" => edited_by_a_person(stage).await,
        "state_typed_back" => state_typed_back(stage).await,
        "killed_after_claim" => killed_after_claim(stage).await,
        "pressed_twice_at_once" => pressed_twice_at_once(stage).await,
        "document_changed_after_preview" => document_changed_after_preview(stage).await,
        "recipient_changed_after_confirm" => recipient_changed_after_confirm(stage).await,
        "draft_then_commit" => trouble::draft_then_commit(stage).await,
        "draft_died_before_commit" => trouble::draft_died_before_commit(stage).await,
        "finished_just_at_the_deadline" => trouble::finished_just_at_the_deadline(stage).await,
        "killed_after_submit" => trouble::killed_after_submit(stage).await,
        "two_pollers_at_once" => trouble::two_pollers_at_once(stage).await,
        "rate_limited" => trouble::rate_limited(stage).await,
        "replayed_hundred_times" => trouble::replayed_hundred_times(stage).await,
        "cloned_record" => trouble::cloned_record(stage).await,
        "twin_refused" => trouble::twin_refused(stage).await,
        "twins_pressed_at_once" => trouble::twins_pressed_at_once(stage).await,
        "old_progress_pasted_back" => trouble::old_progress_pasted_back(stage).await,
        "outcome_conflict_with_a_person" => trouble::outcome_conflict_with_a_person(stage).await,
        "progress_emptied_by_a_person" => trouble::progress_emptied_by_a_person(stage).await,
        "crm_down_after_submit" => trouble::crm_down_after_submit(stage).await,
        "poison_rows_do_not_starve" => trouble::poison_rows_do_not_starve(stage).await,
        other => Err(Failed::Setup(format!("no such scenario: {other}"))),
    }
}

async fn sent_then(stage: &Stage, driver: &str, to: &str, end: &str) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(driver, to).await?;
    stage.press(&saved, &document, (200, "accepted")).await?;
    stage.wait_for(end, SOON).await?;
    Ok(())
}

async fn rejected(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (rejected)").await?;
    stage.press(&saved, &document, (200, "rejected")).await?;
    stage.wait_for("failed", SOON).await?;
    Ok(())
}

async fn acceptance_unknown(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER_BLIND, "Ada (reply lost)").await?;
    stage.press(&saved, &document, (200, "unknown")).await?;
    stage.wait_for("needs_review", SOON).await?;
    stage.stays("needs_review", Duration::from_secs(3)).await
}

async fn acceptance_found(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage
        .confirmed(LETTER, "Ada (reply lost, delivered after 1)")
        .await?;
    stage.press(&saved, &document, (200, "unknown")).await?;
    stage.wait_for("accepted", SOON).await?;
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

async fn not_sent_then_pressed_again(stage: &Stage) -> Result<(), Failed> {
    let to = "Ada (throttled 2s times 1, delivered after 1)";
    let (saved, document) = stage.confirmed(LETTER, to).await?;
    let first = fresh_id();
    let answer = stage.client.press(&saved.id, &document, &first).await?;
    stage.say(format!("pressed send: {}", answer.words()));
    stage.expect(&answer, (200, "not_sent"))?;
    stage.wait_for("confirmed", SOON).await?;
    // The same press again, as a nervous network would: nothing is sent.
    let again = stage.client.press(&saved.id, &document, &first).await?;
    stage.say(format!("the same press again: {}", again.words()));
    if stage.stack.send_api.post_counts(None)?.refused != 1 {
        return Err(Failed::Unexpected(
            "the same press was sent again".to_owned(),
        ));
    }
    stage.press(&saved, &document, (200, "accepted")).await?;
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

async fn edited_by_a_person(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (silence)").await?;
    stage.press(&saved, &document, (200, "accepted")).await?;
    stage.wait_for("accepted", SOON).await?;
    // The poller's next write is held up on its way; the person is quicker.
    let mut slow = Fault::new(
        FaultKind::Delay,
        FaultMatch {
            method: Some("PUT".to_owned()),
            module: Some(HISTORIES.to_owned()),
            ..FaultMatch::default()
        },
    );
    slow.ms = 2_500;
    let fault = stage.stack.crm.add_fault(slow);
    let end = tokio::time::Instant::now() + SOON;
    while stage.stack.crm.fault_met(fault) == 0 {
        if tokio::time::Instant::now() >= end {
            return Err(Failed::TooLate("the poller's write".to_owned()));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The edit must fall into a later second than the version the poller read.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    stage.say("the poller looked up and writes; the write is on its way");
    stage.edit("Delivery_State", "needs_review")?;
    let edited = stage.record()?;
    stage.stays("needs_review", Duration::from_secs(6)).await?;
    let log = stage.stack.crm.log(0)?;
    let conflicts = log
        .iter()
        .filter(|line| line.method == "PUT" && line.status == Some(412))
        .count();
    if conflicts == 0 {
        return Err(Failed::Unexpected("no write met the edit".to_owned()));
    }
    let after = stage.record()?;
    if after.progress != edited.progress || after.writes != edited.writes {
        return Err(Failed::Unexpected(
            "something was written after the person's edit".to_owned(),
        ));
    }
    stage.say(format!("{conflicts} write met 412 and was skipped"));
    Ok(())
}

async fn state_typed_back(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER_BLIND, "Ada (reply lost)").await?;
    stage.press(&saved, &document, (200, "unknown")).await?;
    stage.wait_for("needs_review", SOON).await?;
    stage.edit("Delivery_State", "confirmed")?;
    stage
        .press(&saved, &document, (409, "not_sendable"))
        .await?;
    stage.stays("confirmed", Duration::from_secs(3)).await
}

async fn killed_after_claim(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    let webhook_id = fresh_id();
    let press = stage.client.press(&saved.id, &document, &webhook_id);
    let kill = async {
        stage.wait_for("sending", SOON).await?;
        let killed = stage.stack.host.kill_instances("side-effect").await;
        stage.say(format!(
            "kill -9 of {killed} side-effect process, between claim and submit"
        ));
        Ok::<_, Failed>(())
    };
    let (answer, killed) = tokio::join!(press, kill);
    killed?;
    stage.say(format!("the press is answered {}", answer?.status));
    stage.wait_for("needs_review", SOON).await?;
    if stage.stack.send_api.post_counts(None)?.received != 0 {
        return Err(Failed::Unexpected("something was submitted".to_owned()));
    }
    Ok(())
}

async fn pressed_twice_at_once(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    let (one, two) = (fresh_id(), fresh_id());
    let (one, two) = tokio::join!(
        stage.client.press(&saved.id, &document, &one),
        stage.client.press(&saved.id, &document, &two),
    );
    let (one, two) = (one?, two?);
    stage.say(format!(
        "pressed twice at once: {} and {}",
        one.words(),
        two.words()
    ));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    if statuses != [200, 409] {
        return Err(Failed::Unexpected(format!("answers {statuses:?}")));
    }
    stage.wait_for("succeeded", SOON).await?;
    Ok(())
}

async fn document_changed_after_preview(stage: &Stage) -> Result<(), Failed> {
    let saved = stage.save(LETTER, "Ada (delivered after 1)").await?;
    let preview = stage.preview(&saved).await?;
    let other = sample_pdf("Another contract");
    let answer = stage
        .client
        .confirm(&saved, other.clone(), &preview.receipt)
        .await?;
    stage.say(format!("confirmed with other bytes: {}", answer.words()));
    stage.expect(&answer, (409, "document_changed"))?;
    stage.press(&saved, &other, (409, "not_sendable")).await?;
    stage
        .press(&saved, &preview.bytes, (409, "not_sendable"))
        .await?;
    stage.stays("saved", Duration::from_secs(2)).await
}

async fn recipient_changed_after_confirm(stage: &Stage) -> Result<(), Failed> {
    let (saved, document) = stage.confirmed(LETTER, "Ada (delivered after 1)").await?;
    let raw = stage.stack.crm.record(HISTORIES, &saved.id)?;
    let input = raw
        .fields
        .get("Input_JSON")
        .and_then(|input| input.as_str())
        .unwrap_or_default();
    stage.edit("Input_JSON", input.replace("Ada", "Eve"))?;
    stage
        .press(&saved, &document, (409, "record_changed"))
        .await?;
    stage.stays("confirmed", Duration::from_secs(3)).await
}
