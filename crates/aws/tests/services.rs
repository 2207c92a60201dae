//! Parameter Store and Secrets Manager as they behave on bad days.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::StatusCode;
use secrecy::{ExposeSecret as _, SecretString};
use sendtrail_aws::{Account, AwsError, Created, Found, Parameters, SecretsManager};
use sendtrail_simulator::parameters::{
    ParameterFault as Fault, ParameterFaultKind as Kind, ParameterKind, ParametersConfig,
    ParametersHandle,
};

const VALUE: &str = "a-value-that-nobody-may-see";
const READ: &str = "ssm:GetParameters";

fn account(url: &str) -> Account {
    let variables = [
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "the-secret-access-key"),
        ("AWS_ENDPOINT_URL", url),
    ];
    let get = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    Account::of_variables(get).unwrap()
}

struct Stack {
    services: ParametersHandle,
    parameters: Parameters,
    secrets: SecretsManager,
}

impl Stack {
    async fn start() -> Self {
        let services =
            sendtrail_simulator::parameters::Parameters::start(ParametersConfig::default());
        let services = services.await.unwrap();
        let account = account(services.url());
        Self {
            services,
            parameters: Parameters::new(&account),
            secrets: SecretsManager::new(&account),
        }
    }

    /// Parameters with a value each, and their names.
    fn filled(&self, count: u32) -> BTreeSet<String> {
        let names: BTreeSet<String> = (0..count).map(|n| format!("/test/p{n:02}")).collect();
        for name in &names {
            let value = format!("{VALUE} of {name}");
            self.services.put(name, &value, ParameterKind::SecureString);
        }
        names
    }

    fn calls(&self, action: &str) -> u64 {
        self.services.counts().get(action).copied().unwrap_or(0)
    }
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// That every name has this one failure, in which no value is.
fn all_failed(found: &Found) -> AwsError {
    let mut failures: Vec<_> = found
        .values()
        .map(|one| one.as_ref().unwrap_err())
        .collect();
    failures.dedup();
    assert_eq!(failures.len(), 1, "{failures:?}");
    let error = failures[0].clone();
    let text = format!("{error} {error:?}");
    assert!(
        !text.contains(VALUE) && !text.contains("secret-access-key"),
        "{text}"
    );
    error
}

#[tokio::test]
async fn thirty_parameters_are_read_in_three_calls_side_by_side() {
    let stack = Stack::start().await;
    let names = stack.filled(30);
    stack.services.add_fault(Fault {
        ms: 2_000,
        ..Fault::lasting(Kind::Slow, "GetParameters")
    });
    let start = Instant::now();
    let found = stack.parameters.get_each(&names).await;
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "one after the other"
    );
    assert_eq!(found.len(), 30);
    for (name, value) in &found {
        let value = value.as_ref().unwrap().as_ref().unwrap();
        assert_eq!(value.expose_secret(), format!("{VALUE} of {name}"));
    }
    assert!(!format!("{found:?}").contains(VALUE));
    let calls = stack.services.calls();
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| call.names.len() == 10), "{calls:?}");
}

#[tokio::test]
async fn what_does_not_exist_is_told_apart_from_what_fails() {
    let stack = Stack::start().await;
    stack.filled(1);
    let found = stack
        .parameters
        .get_each(&names(&["/test/none", "/test/p00"]))
        .await;
    assert!(found["/test/none"].as_ref().unwrap().is_none());
    assert!(found["/test/p00"].as_ref().unwrap().is_some());
    stack.services.put_secret("known", VALUE);
    let found = stack.secrets.get_each(&names(&["known", "none"])).await;
    assert!(found["none"].as_ref().unwrap().is_none());
    let known = found["known"].as_ref().unwrap().as_ref().unwrap();
    assert_eq!(known.expose_secret(), VALUE);
    assert!(stack.parameters.get_each(&BTreeSet::new()).await.is_empty());
    assert_eq!(
        stack.calls("GetParameters"),
        1,
        "nothing to read is nothing to ask"
    );
}

#[tokio::test]
async fn a_denied_call_names_the_permission_and_each_name_and_is_not_repeated() {
    let stack = Stack::start().await;
    let asked = stack.filled(12);
    // Only the second call, of two names, is denied.
    stack.services.add_fault(Fault {
        name_prefix: Some("/test/p11".to_owned()),
        ..Fault::lasting(Kind::Deny, "GetParameters")
    });
    let found = stack.parameters.get_each(&asked).await;
    for (name, value) in &found {
        if name == "/test/p10" || name == "/test/p11" {
            let error = value.as_ref().unwrap_err();
            let resource = format!("parameter {name}");
            assert_eq!(
                *error,
                AwsError::Denied {
                    action: READ,
                    resource
                }
            );
        } else {
            assert!(value.is_ok(), "{name}");
        }
    }
    assert_eq!(stack.calls("GetParameters"), 2);
    stack
        .services
        .add_fault(Fault::lasting(Kind::Deny, "GetSecretValue"));
    let denied = all_failed(&stack.secrets.get_each(&names(&["known"])).await);
    assert_eq!(
        denied.to_string(),
        "the role may not secretsmanager:GetSecretValue on secret known"
    );
    assert_eq!(stack.calls("GetSecretValue"), 1);
}

#[tokio::test]
async fn a_call_that_is_throttled_once_or_cut_once_is_repeated() {
    let stack = Stack::start().await;
    let asked = stack.filled(1);
    for kind in [
        Kind::Throttle,
        Kind::CutAnswer,
        Kind::LostReply,
        Kind::Refuse,
        Kind::Status,
    ] {
        stack.services.add_fault(Fault::once(kind, "GetParameters"));
        let found = stack.parameters.get_each(&asked).await;
        assert!(
            found
                .values()
                .all(|value| value.as_ref().unwrap().is_some()),
            "{kind:?}"
        );
    }
    assert_eq!(stack.calls("GetParameters"), 10);
}

#[tokio::test]
async fn what_stays_bad_ends_after_three_attempts_and_says_what_it_was() {
    for (kind, told) in [
        (Kind::Throttle, "ssm:GetParameters is throttled"),
        (Kind::CutAnswer, "ssm:GetParameters failed: "),
        (Kind::Refuse, "ssm:GetParameters failed: "),
        (Kind::Status, "ssm:GetParameters failed: "),
    ] {
        let stack = Stack::start().await;
        let asked = stack.filled(2);
        stack
            .services
            .add_fault(Fault::lasting(kind, "GetParameters"));
        let error = all_failed(&stack.parameters.get_each(&asked).await).to_string();
        assert!(error.starts_with(told), "{kind:?}: {error}");
        assert_eq!(stack.calls("GetParameters"), 3, "{kind:?}");
    }
}

#[tokio::test]
async fn a_service_that_does_not_answer_costs_eight_seconds_and_no_more() {
    let stack = Stack::start().await;
    let asked = stack.filled(1);
    for action in ["GetParameters", "GetSecretValue"] {
        stack.services.add_fault(Fault {
            ms: 60_000,
            ..Fault::lasting(Kind::Slow, action)
        });
    }
    let start = Instant::now();
    let known = names(&["known"]);
    let (parameters, secrets) = tokio::join!(
        stack.parameters.get_each(&asked),
        stack.secrets.get_each(&known)
    );
    let took = start.elapsed();
    assert!(
        took >= Duration::from_secs(3) && took < Duration::from_secs(10),
        "{took:?}"
    );
    for (found, action) in [
        (parameters, READ),
        (secrets, "secretsmanager:GetSecretValue"),
    ] {
        let error = all_failed(&found).to_string();
        assert!(
            error.starts_with(action) && error.contains("in time"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_an_error_that_repeats_nothing_of_it() {
    let bodies = [
        (
            StatusCode::OK,
            "no JSON a-value-that-nobody-may-see".to_owned(),
        ),
        (
            StatusCode::OK,
            r#"{"Parameters":"a-value-that-nobody-may-see"}"#.to_owned(),
        ),
        (StatusCode::OK, format!("\"{}\"", VALUE.repeat(50_000))),
        (StatusCode::OK, String::new()),
        (
            StatusCode::BAD_REQUEST,
            r#"{"__type":"a-value-that-nobody-may-see and more"}"#.to_owned(),
        ),
        (
            StatusCode::BAD_REQUEST,
            format!(r#"{{"message":"{VALUE}"}}"#),
        ),
        (
            StatusCode::FORBIDDEN,
            "<html>a-value-that-nobody-may-see</html>".to_owned(),
        ),
    ];
    for (status, body) in bodies {
        let answer = (status, body.clone());
        let app = Router::new().fallback(async move || answer.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = tokio::spawn(async move { axum::serve(listener, app).await });
        let parameters = Parameters::new(&account(&url));
        let found = parameters.get_each(&names(&["/test/a"])).await;
        let error = all_failed(&found).to_string();
        assert!(
            error.starts_with("ssm:GetParameters failed: "),
            "{body}: {error}"
        );
        served.abort();
    }
}

#[tokio::test]
async fn a_value_above_the_limit_is_refused_and_nothing_is_written() {
    let stack = Stack::start().await;
    let long = SecretString::from(VALUE.repeat(200));
    let error = stack.parameters.put("/test/long", &long).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "ssm:PutParameter failed: ValidationException"
    );
    assert_eq!(stack.services.value("/test/long"), None);
}

#[tokio::test]
async fn a_parameter_is_made_once_and_deleted_whether_it_is_there_or_not() {
    let stack = Stack::start().await;
    let make = async |value| stack.parameters.create("/test/lock", value).await;
    assert_eq!(make("one").await, Ok(Created::Now));
    assert_eq!(make("two").await, Ok(Created::Before));
    assert_eq!(stack.services.value("/test/lock").as_deref(), Some("one"));
    let both = vec!["/test/lock".to_owned(), "/test/none".to_owned()];
    stack.parameters.delete(both).await.unwrap();
    assert_eq!(stack.services.value("/test/lock"), None);
    let value = SecretString::from(VALUE);
    stack.parameters.put("/test/token", &value).await.unwrap();
    let read = stack
        .parameters
        .get(["/test/token".to_owned()])
        .await
        .unwrap();
    assert_eq!(read["/test/token"].expose_secret(), VALUE);
}

#[tokio::test]
async fn an_account_without_a_service_is_told_in_the_time_of_a_connection() {
    let parameters = Parameters::new(&account("http://127.0.0.1:1"));
    let found = parameters.get_each(&names(&["/test/a"])).await;
    let error = all_failed(&found).to_string();
    assert_eq!(error, "ssm:GetParameters failed: the connection failed");
}
