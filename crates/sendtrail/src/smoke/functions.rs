//! The functions' settings: nobody but the schedule reaches the poller, and nothing is tried twice.

use aws_sdk_lambda::Client;
use serde_json::Value;

use super::check::Check;
use crate::aws::{Aws, Call, Names, code, failure};

const MISSING: &str = "ResourceNotFoundException";

/// That the poller has no address.
pub(super) async fn poller_url(aws: &Aws, names: &Names) -> Check {
    const NAME: &str = "poller has no URL";
    let client = Client::new(aws.account.config());
    let function = names.poller();
    let read = client.get_function_url_config().function_name(&function);
    match read.send().await {
        Ok(config) => Check::failed(
            NAME,
            format!("it has one: {}", config.function_url),
            "delete the Function URL, and find out who made it",
        ),
        Err(error) if code(&error) == Some(MISSING) => Check::ok(NAME, "none"),
        Err(error) => {
            let call = Call {
                action: "lambda:GetFunctionUrlConfig",
                resource: &function,
            };
            let why = failure(&error, call, aws).message;
            Check::failed(NAME, "it could not be found out", why)
        }
    }
}

/// That no policy lets everybody invoke the poller.
pub(super) async fn poller_policy(aws: &Aws, names: &Names) -> Check {
    const NAME: &str = "poller is not public";
    let client = Client::new(aws.account.config());
    let function = names.poller();
    match client.get_policy().function_name(&function).send().await {
        Ok(read) => {
            let policy = read.policy.unwrap_or_default();
            let policy: Value = serde_json::from_str(&policy).unwrap_or_default();
            let open = public_statements(&policy);
            if open.is_empty() {
                return Check::ok(NAME, "its policy names who may invoke it");
            }
            let found = format!("anybody may invoke it: {}", open.join(", "));
            Check::failed(
                NAME,
                found,
                "remove the permission, and find out who gave it",
            )
        }
        Err(error) if code(&error) == Some(MISSING) => Check::ok(NAME, "it has no policy"),
        Err(error) => {
            let call = Call {
                action: "lambda:GetPolicy",
                resource: &function,
            };
            let why = failure(&error, call, aws).message;
            Check::failed(NAME, "it could not be found out", why)
        }
    }
}

/// The statements that allow everybody, by their ids. One that cannot be read counts as one.
fn public_statements(policy: &Value) -> Vec<String> {
    let Some(statements) = policy["Statement"].as_array() else {
        return vec!["a policy that cannot be read".to_owned()];
    };
    let is_open = |statement: &&Value| {
        let principal = &statement["Principal"];
        let all = |value: &Value| {
            value == "*" || value.as_array().is_some_and(|v| v.contains(&"*".into()))
        };
        statement["Effect"] == "Allow" && (all(principal) || all(&principal["AWS"]))
    };
    let id = |statement: &Value| statement["Sid"].as_str().unwrap_or("no Sid").to_owned();
    statements.iter().filter(is_open).map(id).collect()
}

/// That Lambda tries no asynchronous invocation again: two are the default.
pub(super) async fn retries(aws: &Aws, names: &Names) -> Check {
    const NAME: &str = "functions are not retried";
    let client = Client::new(aws.account.config());
    let mut wrong = Vec::new();
    for part in ["intake", "side-effect", "poller"] {
        let function = format!("sendtrail-{}-{part}", names.stage);
        let read = client
            .get_function_event_invoke_config()
            .function_name(&function);
        match read.send().await {
            Ok(config) if config.maximum_retry_attempts == Some(0) => {}
            Ok(config) => {
                let attempts = config.maximum_retry_attempts.unwrap_or(2);
                wrong.push(format!("{part} {attempts}"));
            }
            Err(error) if code(&error) == Some(MISSING) => wrong.push(format!("{part} 2")),
            Err(error) => {
                let call = Call {
                    action: "lambda:GetFunctionEventInvokeConfig",
                    resource: &function,
                };
                let why = failure(&error, call, aws).message;
                return Check::failed(NAME, "it could not be found out", why);
            }
        }
    }
    if wrong.is_empty() {
        return Check::ok(NAME, "0 retries each");
    }
    let found = format!("retries: {}", wrong.join(", "));
    Check::failed(NAME, found, "they must be 0: deploy the template again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_statement_for_everybody_is_found_in_every_spelling() {
        let policy = |effect: &str, principal: Value| json!({"Statement": [{"Sid": "s", "Effect": effect, "Principal": principal}]});
        for principal in [json!("*"), json!({"AWS": "*"}), json!({"AWS": ["a", "*"]})] {
            assert_eq!(
                public_statements(&policy("Allow", principal.clone())),
                ["s"]
            );
            assert!(public_statements(&policy("Deny", principal)).is_empty());
        }
        for principal in [
            json!({"Service": "scheduler.amazonaws.com"}),
            json!({"AWS": "arn:x"}),
        ] {
            assert!(public_statements(&policy("Allow", principal)).is_empty());
        }
        assert_eq!(public_statements(&Value::Null).len(), 1);
    }
}
