//! Against a scheduler of our own, over HTTP: the exact request, and every way in which it may not work.
#![cfg(test)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use jiff::Timestamp;
use sendtrail_wake::{AwsError, Place, WakeUp, WakeUps};
use serde_json::{Value, json};

/// What the fake answers.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Created,
    Error(u16, &'static str),
    /// Takes the request and never answers.
    Silence,
}

/// A scheduler: what it answers in turn, the last answer again and again, and what it was asked.
#[derive(Debug)]
struct Fake {
    answers: Vec<Answer>,
    asked: Mutex<Vec<(String, Value)>>,
}

async fn create(
    State(fake): State<Arc<Fake>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    assert!(headers.contains_key("authorization"), "it is signed");
    let turn = {
        let mut asked = fake.asked.lock().unwrap();
        asked.push((name, serde_json::from_str(&body).unwrap()));
        asked.len() - 1
    };
    match fake.answers[turn.min(fake.answers.len() - 1)] {
        Answer::Created => {
            let arn = "arn:aws:scheduler:eu-central-1:123456789012:schedule/g/n";
            axum::Json(json!({"ScheduleArn": arn})).into_response()
        }
        Answer::Error(status, code) => {
            let status = StatusCode::from_u16(status).unwrap();
            let body = axum::Json(json!({"Message": "a text with details"}));
            (status, [("x-amzn-errortype", code)], body).into_response()
        }
        Answer::Silence => std::future::pending().await,
    }
}

/// A fake that answers so, and a client of it.
async fn scheduler(answers: &[Answer]) -> (Arc<Fake>, WakeUps) {
    let fake = Arc::new(Fake {
        answers: answers.to_vec(),
        asked: Mutex::default(),
    });
    let app = Router::new()
        .route("/schedules/{name}", post(create))
        .with_state(Arc::clone(&fake));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (fake, client(&url))
}

fn client(url: &str) -> WakeUps {
    let variable = |name: &str| match name {
        "AWS_REGION" => Some("eu-central-1"),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test"),
        "AWS_ENDPOINT_URL" => Some(url),
        _ => None,
    };
    let place = Place {
        group: "sendtrail-prod-wake".to_owned(),
        role_arn: "arn:aws:iam::123456789012:role/schedule".to_owned(),
        target_arn: "arn:aws:lambda:eu-central-1:123456789012:function:poller".to_owned(),
        dead_letter_arn: "arn:aws:sqs:eu-central-1:123456789012:dead".to_owned(),
    };
    WakeUps::of_variables(variable, place).unwrap()
}

async fn woken(wake_ups: &WakeUps) -> WakeUp {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    wake_ups
        .at(at("2026-01-01T00:14:05Z"), at("2026-01-01T00:13:20Z"))
        .await
}

#[tokio::test]
async fn the_request_is_a_one_time_schedule_that_is_never_tried_again_and_deletes_itself() {
    let (fake, wake_ups) = scheduler(&[Answer::Created]).await;
    let result = woken(&wake_ups).await;
    let WakeUp::Created(slot) = result else {
        panic!("{result:?}");
    };
    assert_eq!(slot.begins().to_string(), "2026-01-01T00:15:00Z");
    let asked = fake.asked.lock().unwrap().clone();
    let expected = json!({
        "ClientToken": "wake-29453775",
        "GroupName": "sendtrail-prod-wake",
        "ScheduleExpression": "at(2026-01-01T00:15:00)",
        "ScheduleExpressionTimezone": "UTC",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "ActionAfterCompletion": "DELETE",
        "Target": {
            "Arn": "arn:aws:lambda:eu-central-1:123456789012:function:poller",
            "RoleArn": "arn:aws:iam::123456789012:role/schedule",
            "Input": r#"{"v":1,"kind":"tick","wake":true}"#,
            "RetryPolicy": {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60},
            "DeadLetterConfig": {"Arn": "arn:aws:sqs:eu-central-1:123456789012:dead"},
        },
    });
    assert_eq!(asked, [("wake-29453775".to_owned(), expected)]);
}

#[tokio::test]
async fn one_that_is_there_already_is_as_good() {
    let (fake, wake_ups) = scheduler(&[Answer::Error(409, "ConflictException")]).await;
    let result = woken(&wake_ups).await;
    assert!(matches!(result, WakeUp::Existed(_)), "{result:?}");
    assert_eq!(fake.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_missing_permission_is_named_and_not_tried_again() {
    let (fake, wake_ups) = scheduler(&[Answer::Error(403, "AccessDeniedException")]).await;
    let result = woken(&wake_ups).await;
    let WakeUp::Failed(error @ AwsError::Denied { .. }) = &result else {
        panic!("{result:?}");
    };
    assert_eq!(
        error.to_string(),
        "the role may not scheduler:CreateSchedule on schedule/sendtrail-prod-wake/*"
    );
    assert_eq!(result.word(), "denied");
    assert_eq!(fake.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_time_that_is_refused_or_a_group_that_is_not_there_is_told_by_its_code() {
    for code in ["ValidationException", "ResourceNotFoundException"] {
        let (fake, wake_ups) = scheduler(&[Answer::Error(400, code)]).await;
        let result = woken(&wake_ups).await;
        let WakeUp::Failed(error) = &result else {
            panic!("{result:?}");
        };
        let text = error.to_string();
        assert!(text.contains(code) && !text.contains("details"), "{text}");
        assert_eq!(result.word(), "failed");
        assert_eq!(fake.asked.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn what_is_throttled_once_is_tried_once_more_and_no_more_than_that() {
    let throttled = Answer::Error(429, "ThrottlingException");
    let (fake, wake_ups) = scheduler(&[throttled, Answer::Created]).await;
    let result = woken(&wake_ups).await;
    assert!(matches!(result, WakeUp::Created(_)), "{result:?}");
    assert_eq!(fake.asked.lock().unwrap().len(), 2);

    let (fake, wake_ups) = scheduler(&[throttled]).await;
    assert_eq!(woken(&wake_ups).await.word(), "throttled");
    assert_eq!(fake.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_scheduler_that_never_answers_costs_two_seconds_and_no_more() {
    let (fake, wake_ups) = scheduler(&[Answer::Silence]).await;
    let begun = Instant::now();
    let result = woken(&wake_ups).await;
    let took = begun.elapsed();
    assert_eq!(result.word(), "failed", "{result:?}");
    assert!(took < Duration::from_millis(2_500), "{took:?}");
    assert_eq!(fake.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn nobody_listening_is_told_at_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let begun = Instant::now();
    let result = woken(&client(&url)).await;
    assert_eq!(result.word(), "failed", "{result:?}");
    assert!(begun.elapsed() < Duration::from_millis(2_500));
}
