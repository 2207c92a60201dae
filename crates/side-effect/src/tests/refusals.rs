//! Presses that are verified and refused: nothing is sent and nothing written.

use jiff::SignedDuration;
use sendtrail_core::ids::{HistoryId, Sha256Hash};
use sendtrail_core::ports::StoreError;
use serde_json::{Value, json};

use super::support::{Rig, accepted, send_body};

fn detail(body: &Value) -> &str {
    body["detail"].as_str().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_not_confirmed_is_not_sendable_and_its_state_is_not_echoed() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    rig.memory
        .edit_by_hand(&id, |row| row.state = Some("typed by a person".to_owned()));
    let seen = rig.press("press-1", &id).await;
    seen.assert_problem(409, "not_sendable");
    assert!(!seen.body.to_string().contains("typed by a person"));
    let lines = rig.lines();
    assert_eq!(lines.len(), 1);
    let cause = lines[0]["cause"].as_str().unwrap();
    assert!(
        cause.contains(id.as_str()) && cause.contains("typed by a person"),
        "{cause}"
    );
    rig.assert_untouched(writes);
}

#[tokio::test(start_paused = true)]
async fn a_state_typed_back_by_hand_opens_nothing() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    rig.press("press-1", &id).await;
    rig.memory
        .edit_by_hand(&id, |row| row.state = Some("confirmed".to_owned()));
    rig.press("press-2", &id)
        .await
        .assert_problem(409, "not_sendable");
    assert_eq!(rig.driver().submits().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn another_document_than_the_signed_one_is_refused() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    let mut body = send_body(&id);
    body["document_sha256"] = json!(Sha256Hash::of(b"another").to_string());
    let seen = rig.post("press-1", &body).await;
    seen.assert_problem(409, "record_changed");
    rig.assert_untouched(writes);
}

#[tokio::test(start_paused = true)]
async fn a_recipient_changed_after_the_confirm_is_refused() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    rig.memory.edit_by_hand(&id, |row| {
        row.input = row.input.take().map(|text| text.replace("Ann", "Eve"));
    });
    let seen = rig.press("press-1", &id).await;
    seen.assert_problem(409, "record_changed");
    assert!(!seen.text.contains("Eve"));
    rig.assert_untouched(writes);
}

#[tokio::test(start_paused = true)]
async fn a_document_that_is_gone_is_refused() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    rig.memory.edit_by_hand(&id, |row| row.document = None);
    rig.press("press-1", &id)
        .await
        .assert_problem(409, "record_changed");
    rig.assert_untouched(writes);
}

#[tokio::test(start_paused = true)]
async fn a_twin_is_named_and_passes_once_the_signer_names_it() {
    let rig = Rig::new();
    let first = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    rig.press("press-1", &first).await;
    let second = rig.confirmed("save-2").await;
    let seen = rig.press("press-2", &second).await;
    seen.assert_problem(409, "already_sent");
    assert!(detail(&seen.body).contains(first.as_str()), "{}", seen.body);
    assert_eq!(seen.body["twin"], first.as_str(), "for machines");
    assert_eq!(rig.driver().submits().len(), 1);
    assert_eq!(rig.state(&second), "confirmed");

    let mut body = send_body(&second);
    body["again_of"] = json!(first.as_str());
    rig.driver().will_submit(accepted("ltr_2"));
    let seen = rig.post("press-3", &body).await;
    assert_eq!(seen.body["outcome"], "accepted", "{}", seen.body);
}

#[tokio::test(start_paused = true)]
async fn a_misspelt_key_does_not_pass_for_none() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    let mut body = send_body(&id);
    body["agian_of"] = json!("1");
    let seen = rig.post("press-1", &body).await;
    seen.assert_problem(422, "invalid_request");
    rig.assert_untouched(writes);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_driver_is_refused() {
    let rig = Rig::new();
    let id = rig
        .confirmed_with("save-1", "fax", super::support::PDF)
        .await;
    let writes = rig.memory.writes();
    let seen = rig.press("press-1", &id).await;
    seen.assert_problem(422, "invalid_request");
    assert_eq!(seen.body["errors"][0]["pointer"], "/history_id");
    rig.assert_untouched(writes);
}

#[tokio::test(start_paused = true)]
async fn a_document_above_the_drivers_limit_is_refused_with_the_limit() {
    let rig = Rig::new();
    let pdf = vec![b'x'; 1_000_001];
    let id = rig.confirmed_with("save-1", "letter", &pdf).await;
    let writes = rig.memory.writes();
    let mut body = send_body(&id);
    body["document_sha256"] = json!(Sha256Hash::of(&pdf).to_string());
    let seen = rig.post("press-1", &body).await;
    seen.assert_problem(422, "document_unusable");
    assert!(detail(&seen.body).contains("1000000"), "{}", seen.body);
    rig.assert_untouched(writes);
}

#[tokio::test(start_paused = true)]
async fn too_little_time_claims_nothing_and_asks_to_come_again() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    // Let the confirm's second pass, so that no time is needed for it.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let event = rig.signed("press-1", &send_body(&id).to_string());
    for seconds in [16, 5] {
        let deadline = rig.world.after(seconds);
        let seen = rig.serve_until(&event.to_string(), deadline).await;
        seen.assert_problem(503, "no_time");
        assert!(seen.retry_after.is_some());
        assert!(
            detail(&seen.body).contains("nothing was sent"),
            "{}",
            seen.body
        );
    }
    rig.assert_untouched(writes);
    assert_eq!(rig.state(&id), "confirmed");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_long_past_sends_nothing() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    let event = rig.signed("press-1", &send_body(&id).to_string());
    for deadline in [jiff::Timestamp::UNIX_EPOCH, jiff::Timestamp::MIN] {
        let seen = rig.serve_until(&event.to_string(), deadline).await;
        seen.assert_problem(503, "no_time");
        let cause = rig.lines()[0]["cause"].as_str().map(str::to_owned);
        assert!(cause.unwrap().contains("too little time"));
    }
    rig.assert_untouched(writes);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_record_is_not_found() {
    let rig = Rig::new();
    let id = HistoryId::parse("5725767000000000999").unwrap();
    let seen = rig.press("press-1", &id).await;
    seen.assert_problem(404, "not_found");
    rig.assert_untouched(0);
}

#[tokio::test(start_paused = true)]
async fn trouble_with_the_crm_has_its_code_and_its_wait_and_no_cause_outside() {
    let transient = |detail: &str| StoreError::Transient {
        detail: detail.to_owned(),
    };
    let wait = Some(SignedDuration::from_millis(6_500));
    let cases = [
        (
            StoreError::RateLimited { retry_after: wait },
            503,
            "rate_limited",
            Some("7"),
        ),
        (
            StoreError::RateLimited { retry_after: None },
            503,
            "rate_limited",
            Some("10"),
        ),
        (StoreError::TokenThrottled, 503, "rate_limited", Some("600")),
        (transient("inner words"), 503, "crm_unavailable", Some("10")),
        (
            StoreError::Unauthorized {
                detail: "inner words".to_owned(),
            },
            500,
            "internal",
            None,
        ),
        (
            StoreError::Malformed {
                detail: "inner words".to_owned(),
            },
            503,
            "crm_unavailable",
            Some("10"),
        ),
    ];
    for (error, status, code, retry_after) in cases {
        let rig = Rig::new();
        let id = rig.confirmed("save-1").await;
        let writes = rig.memory.writes();
        rig.memory.fail_next_read(error.clone());
        let seen = rig.press("press-1", &id).await;
        seen.assert_problem(status, code);
        assert_eq!(seen.retry_after.as_deref(), retry_after, "{error}");
        assert!(!seen.body.to_string().contains("inner words"));
        let lines = rig.lines();
        assert_eq!(lines.len(), 1, "logged once");
        let level = if status == 500 { "ERROR" } else { "WARN" };
        assert_eq!(lines[0]["level"], level, "{error}");
        let cause = lines[0]["cause"].as_str().unwrap();
        assert!(cause.contains(id.as_str()), "{cause}");
        rig.assert_untouched(writes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_the_crm_refuses_sends_nothing() {
    let rig = Rig::new();
    let id = rig.confirmed("save-1").await;
    let writes = rig.memory.writes();
    rig.driver().will_submit(accepted("ltr_1"));
    rig.memory.fail_next_write(StoreError::Refused {
        code: "MANDATORY_NOT_FOUND".to_owned(),
        detail: "a field".to_owned(),
    });
    let seen = rig.press("press-1", &id).await;
    seen.assert_problem(500, "internal");
    assert!(!seen.body.to_string().contains("MANDATORY"));
    rig.assert_untouched(writes);
}
