//! What is logged: one line for each request, and nothing that must not be.

use std::io;
use std::sync::{Arc, Mutex};

use sendtrail_core::ports::StoreError;
use sendtrail_startup::{Environment, logs_to};
use serde_json::{Value, json};

use super::support::{PDF, SIGNING, Stack, TOKENS, input};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_has_one_log_line_and_none_holds_a_body_a_token_or_a_recipient() {
    let captured = Captured::default();
    let sink = captured.clone();
    let level = ("AWS_LAMBDA_LOG_LEVEL".to_owned(), "TRACE".to_owned());
    let env = Environment::new([level], "");
    let (subscriber, _logs) = logs_to("intake", &env, move || sink.clone());
    let guard = tracing::subscriber::set_default(subscriber);

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
    stack.fail(|faults| faults.create = Some(StoreError::Malformed { detail }));
    answers.push(stack.post("msg_4", &input()).await);
    drop(guard);

    let text = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
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
