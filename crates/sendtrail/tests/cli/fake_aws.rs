//! An AWS account on a port: as much of the services as the command asks,
//! and two doors.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use serde_json::{Value, json};

use crate::support::{Ran, run_with};

/// A refusal: the status and the service's code.
pub(crate) type Refusal = (u16, &'static str);

/// What the account holds and what was asked of it.
#[derive(Debug)]
pub(crate) struct Account {
    /// The poller's schedule, as `GetSchedule` gives it.
    pub(crate) schedule: Value,
    /// Every body of `UpdateSchedule`.
    pub(crate) updates: Vec<Value>,
    /// Something that `UpdateSchedule` loses, as an account that is not what it should be would.
    pub(crate) loses: Option<&'static str>,
    /// What refuses, by service: `scheduler`, `lambda`, `logs`, `cloudformation`.
    pub(crate) refusals: BTreeMap<&'static str, Refusal>,
    /// The poller's log: milliseconds and text.
    pub(crate) log: Vec<(i64, String)>,
    /// What an invocation of the poller gives, and whether that is an error.
    pub(crate) run: (Value, bool),
    /// Bodies of the invocations.
    pub(crate) invoked: Vec<String>,
    /// The poller's Function URL.
    pub(crate) poller_url: Option<String>,
    /// The poller's policy.
    pub(crate) poller_policy: Option<Value>,
    /// Retries of each function.
    pub(crate) retries: BTreeMap<String, i32>,
    /// The stack's status and parameters.
    pub(crate) stack: (String, BTreeMap<&'static str, String>),
    /// The deployed template.
    pub(crate) template: Value,
    /// What a door answers to what is not signed.
    pub(crate) door: (u16, &'static str),
    /// Whom a door allows; `None` is everybody who asks.
    pub(crate) origin: Option<&'static str>,
}

impl Default for Account {
    fn default() -> Self {
        let alarm =
            json!({"Type": "AWS::CloudWatch::Alarm", "Properties": {"AlarmActions": ["t"]}});
        let parameters = [
            ("Stage", "prod"),
            ("PollIntervalMinutes", "2"),
            ("Polling", "ENABLED"),
            ("Drain", "off"),
            ("WidgetOrigin", "https://widget.example.com"),
            ("AlarmTopicArn", "arn:aws:sns:eu-central-1:123456789012:ops"),
        ];
        let functions = ["intake", "side-effect", "poller"];
        Self {
            schedule: schedule(),
            updates: Vec::new(),
            loses: None,
            refusals: BTreeMap::new(),
            log: Vec::new(),
            run: (
                json!({"listed": 3, "looked_up": 3, "unknown_event": 0}),
                false,
            ),
            invoked: Vec::new(),
            poller_url: None,
            poller_policy: None,
            retries: functions.map(|f| (format!("sendtrail-prod-{f}"), 0)).into(),
            stack: (
                "UPDATE_COMPLETE".to_owned(),
                parameters
                    .map(|(name, value)| (name, value.to_owned()))
                    .into(),
            ),
            template: json!({"Resources": {"One": alarm}}),
            door: (401, "unauthorized"),
            origin: Some("https://widget.example.com"),
        }
    }
}

/// A schedule with everything a schedule can have.
fn schedule() -> Value {
    json!({
        "Arn": "arn:aws:scheduler:eu-central-1:123456789012:schedule/sendtrail-prod/sendtrail-prod-poller",
        "GroupName": "sendtrail-prod",
        "Name": "sendtrail-prod-poller",
        "Description": "Sendtrail's tick",
        "ScheduleExpression": "rate(2 minutes)",
        "ScheduleExpressionTimezone": "UTC",
        "StartDate": 1_767_225_600,
        "State": "ENABLED",
        "CreationDate": 1_767_225_600.0,
        "LastModificationDate": 1_767_225_600.0,
        "KmsKeyArn": "arn:aws:kms:eu-central-1:123456789012:key/1",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "ActionAfterCompletion": "NONE",
        "Target": {
            "Arn": "arn:aws:lambda:eu-central-1:123456789012:function:sendtrail-prod-poller",
            "RoleArn": "arn:aws:iam::123456789012:role/schedule",
            "Input": "{\"v\":1,\"kind\":\"tick\"}",
            "RetryPolicy": {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60},
            "DeadLetterConfig": {"Arn": "arn:aws:sqs:eu-central-1:123456789012:dead"},
        },
    })
}

/// A fake account, and the variables that lead to it.
pub(crate) struct FakeAws {
    pub(crate) url: String,
    account: Arc<Mutex<Account>>,
}

type Shared = State<Arc<Mutex<Account>>>;

impl FakeAws {
    pub(crate) async fn start(account: Account) -> Self {
        let account = Arc::new(Mutex::new(account));
        let app = Router::new()
            .route("/schedules/{name}", get(get_schedule).put(update_schedule))
            .route("/2015-03-31/functions/{name}/invocations", post(invoke))
            .route("/2021-10-31/functions/{name}/url", get(function_url))
            .route("/2015-03-31/functions/{name}/policy", get(policy))
            .route(
                "/2019-09-25/functions/{name}/event-invoke-config",
                get(event_invoke),
            )
            .route("/v1/{door}", any(door))
            .route("/", post(by_target))
            .with_state(Arc::clone(&account));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, account }
    }

    /// What the account holds now.
    pub(crate) fn see<T>(&self, look: impl FnOnce(&Account) -> T) -> T {
        look(&self.account.lock().unwrap())
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[]).await
    }

    pub(crate) async fn run_with(&self, arguments: &[&str], more: &[(&str, &str)]) -> Ran {
        let variables = [
            ("AWS_ENDPOINT_URL", self.url.as_str()),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "AKIDHIDDEN"),
            ("AWS_SECRET_ACCESS_KEY", "hidden"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ];
        let ran = run_with(arguments, &[&variables[..], more].concat(), b"").await;
        let shown = ran.everything().to_lowercase();
        assert!(!shown.contains("hidden"), "{ran:?}");
        ran
    }
}

fn refused(account: &Account, service: &str) -> Option<Response> {
    let (status, code) = *account.refusals.get(service)?;
    Some(error(status, code))
}

fn error(status: u16, code: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    let body = json!({"__type": code, "Message": "a message", "message": "a message"});
    (
        status,
        [("x-amzn-errortype", code.to_owned())],
        axum::Json(body),
    )
        .into_response()
}

async fn get_schedule(account: Shared, Path(name): Path<String>, request: Request) -> Response {
    let account = account.lock().unwrap();
    if let Some(refusal) = refused(&account, "scheduler") {
        return refusal;
    }
    let group = format!(
        "groupName={}",
        account.schedule["GroupName"].as_str().unwrap()
    );
    let is_there = account.schedule["Name"] == name.as_str();
    if !is_there || request.uri().query() != Some(&group) {
        return error(404, "ResourceNotFoundException");
    }
    axum::Json(account.schedule.clone()).into_response()
}

/// Replaces all of the schedule with what is sent, as Scheduler does.
async fn update_schedule(account: Shared, Path(name): Path<String>, body: String) -> Response {
    let mut account = account.lock().unwrap();
    let sent: Value = serde_json::from_str(&body).unwrap();
    account.updates.push(sent.clone());
    let mut next = sent.as_object().unwrap().clone();
    next.remove("ClientToken");
    next.insert("Name".to_owned(), json!(name));
    next.insert("LastModificationDate".to_owned(), json!(1_767_300_000.0));
    for kept in ["Arn", "CreationDate"] {
        next.insert(kept.to_owned(), account.schedule[kept].clone());
    }
    if let Some(lost) = account.loses {
        next.remove(lost);
    }
    account.schedule = Value::Object(next);
    axum::Json(json!({"ScheduleArn": "arn"})).into_response()
}

async fn invoke(account: Shared, Path(name): Path<String>, body: String) -> Response {
    let mut account = account.lock().unwrap();
    if let Some(refusal) = refused(&account, "lambda") {
        return refusal;
    }
    assert_eq!(name, "sendtrail-prod-poller");
    account.invoked.push(body);
    let (payload, is_error) = account.run.clone();
    let mut headers = HeaderMap::new();
    if is_error {
        headers.insert("x-amz-function-error", "Unhandled".parse().unwrap());
    }
    (headers, payload.to_string()).into_response()
}

async fn function_url(account: Shared, Path(_): Path<String>) -> Response {
    let account = account.lock().unwrap();
    match (&account.poller_url, refused(&account, "lambda")) {
        (_, Some(refusal)) => refusal,
        (None, None) => error(404, "ResourceNotFoundException"),
        (Some(url), None) => axum::Json(json!({
            "FunctionUrl": url, "FunctionArn": "a", "AuthType": "NONE",
            "CreationTime": "2026-01-01T00:00:00Z", "LastModifiedTime": "2026-01-01T00:00:00Z",
        }))
        .into_response(),
    }
}

async fn policy(account: Shared, Path(_): Path<String>) -> Response {
    let account = account.lock().unwrap();
    match &account.poller_policy {
        None => error(404, "ResourceNotFoundException"),
        Some(policy) => axum::Json(json!({"Policy": policy.to_string()})).into_response(),
    }
}

async fn event_invoke(account: Shared, Path(name): Path<String>) -> Response {
    let account = account.lock().unwrap();
    match account.retries.get(&name) {
        None => error(404, "ResourceNotFoundException"),
        Some(retries) => axum::Json(json!({"MaximumRetryAttempts": retries})).into_response(),
    }
}

/// A door, and in front of it AWS, which answers the preflight.
async fn door(account: Shared, request: Request) -> Response {
    let account = account.lock().unwrap();
    if request.method() == "OPTIONS" {
        let asked = request.headers()["origin"].to_str().unwrap().to_owned();
        let allowed = account.origin.is_none_or(|origin| origin == asked);
        let mut headers = HeaderMap::new();
        if allowed {
            headers.insert("access-control-allow-origin", asked.parse().unwrap());
        }
        return headers.into_response();
    }
    let (status, code) = account.door;
    let status = StatusCode::from_u16(status).unwrap();
    (status, axum::Json(json!({"code": code}))).into_response()
}

/// The services that are asked by a header or a form.
async fn by_target(account: Shared, headers: HeaderMap, body: String) -> Response {
    let account = account.lock().unwrap();
    if let Some(target) = headers.get("x-amz-target") {
        assert_eq!(target, "Logs_20140328.FilterLogEvents");
        return refused(&account, "logs").unwrap_or_else(|| log_events(&account, &body));
    }
    if let Some((status, code)) = account.refusals.get("cloudformation") {
        let body = format!("<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>");
        return (StatusCode::from_u16(*status).unwrap(), body).into_response();
    }
    if body.contains("Action=GetTemplate") {
        let text = account.template.to_string().replace('"', "&quot;");
        return format!(
            "<GetTemplateResponse><GetTemplateResult><TemplateBody>{text}</TemplateBody>\
             </GetTemplateResult></GetTemplateResponse>"
        )
        .into_response();
    }
    assert!(body.contains("Action=DescribeStacks"), "{body}");
    stacks(&account, &headers).into_response()
}

fn stacks(account: &Account, headers: &HeaderMap) -> String {
    let host = headers["host"].to_str().unwrap();
    let (status, parameters) = &account.stack;
    let member = |kind: &str, name: &str, value: &str| {
        format!("<member><{kind}Key>{name}</{kind}Key><{kind}Value>{value}</{kind}Value></member>")
    };
    let parameters: String = parameters
        .iter()
        .map(|(n, v)| member("Parameter", n, v))
        .collect();
    let outputs: String = ["IntakeUrl", "SideEffectUrl"]
        .map(|name| member("Output", name, &format!("http://{host}/")))
        .concat();
    format!(
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName>\
         <CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>{status}</StackStatus>\
         <Parameters>{parameters}</Parameters><Outputs>{outputs}</Outputs></member></Stacks>\
         </DescribeStacksResult></DescribeStacksResponse>"
    )
}

/// The events of the span that is asked for, one a page, each page but the last with a token.
fn log_events(account: &Account, body: &str) -> Response {
    let asked: Value = serde_json::from_str(body).unwrap();
    assert_eq!(asked["logGroupName"], "/aws/lambda/sendtrail-prod-poller");
    let (from, until) = (
        asked["startTime"].as_i64().unwrap(),
        asked["endTime"].as_i64().unwrap(),
    );
    let in_span = |(at, _): &&(i64, String)| (from..=until).contains(at);
    let events: Vec<_> = account.log.iter().filter(in_span).collect();
    let page: usize = asked["nextToken"]
        .as_str()
        .map_or(0, |token| token.parse().unwrap());
    let event = |(at, text): &&(i64, String)| json!({"timestamp": at, "message": text});
    let shown: Vec<Value> = events.get(page).map(event).into_iter().collect();
    let next = (page + 1 < events.len()).then(|| (page + 1).to_string());
    axum::Json(json!({"events": shown, "nextToken": next})).into_response()
}

/// A metrics line of the poller.
pub(crate) fn line(more: &Value) -> String {
    let mut line = json!({
        "_aws": {"CloudWatchMetrics": []}, "function": "poller", "stage": "prod", "runs": 1, "duration_ms": 1200.0,
        "run_failed": 0,
    });
    let all = line.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    line.to_string()
}
