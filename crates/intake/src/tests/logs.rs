//! What is logged: one line for each request, and nothing that must not be.

use sendtrail_core::ports::StoreError;
use sendtrail_startup::testing::CapturedLogs;
use serde_json::json;

use super::support::{PDF, SIGNING, Stack, TOKENS, input};

#[tokio::test(start_paused = true)]
async fn each_request_has_one_log_line_and_none_holds_a_body_a_token_or_a_recipient() {
    let logs = CapturedLogs::start("intake");

    let stack = Stack::new();
    let event = stack.signed("POST", "/v1/histories", "msg_1", &input());
    let signature = event["headers"]["webhook-signature"]
        .as_str()
        .unwrap()
        .to_owned();
    let saved = stack.saved().await;
    let receipt = stack.seen(&saved).await;
    let mut answers = vec![stack.confirm(&saved, &receipt, PDF).await];
    answers.push(stack.confirm(&saved, "", PDF).await);
    answers.push(stack.confirm(&saved, &receipt, b"other").await);
    let mut tampered = event;
    tampered["headers"]["webhook-id"] = json!("msg_9");
    answers.push(stack.handle(&tampered).await);
    let mut bad = input();
    bad["driver"] = json!("no-such-driver");
    answers.push(stack.post("msg_3", &bad).await);
    let detail = "cause for the log".to_owned();
    stack.fail(|faults| faults.create = Some(StoreError::Unauthorized { detail }));
    answers.push(stack.post("msg_4", &input()).await);

    let (text, lines) = (logs.text(), logs.lines());
    assert_eq!(lines.len(), answers.len() + 2, "{text}");
    let messages = |message| {
        lines
            .iter()
            .filter(|line| line["message"] == message)
            .count()
    };
    assert_eq!(
        (messages("request served"), messages("request refused")),
        (3, 5)
    );
    assert_eq!(lines[0]["history.id"], saved.id.as_str());
    assert_eq!(
        (&lines[0]["delivery.state"], &lines[2]["outcome"]),
        (&json!("saved"), &json!("confirmed"))
    );
    let errors: Vec<_> = lines
        .iter()
        .filter(|line| line["level"] == "ERROR")
        .collect();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0]["cause"]
            .as_str()
            .unwrap()
            .contains("cause for the log")
    );

    let mut forbidden = vec![
        SIGNING.to_owned(),
        TOKENS.to_owned(),
        signature,
        saved.preview_token,
        saved.ticket,
        receipt,
    ];
    forbidden.extend(["Ann Recipient", "Brno", "Sam Seller", "%PDF", "Bearer"].map(str::to_owned));
    for word in forbidden {
        assert!(!text.contains(&word), "{word} is in the log:\n{text}");
    }
}
