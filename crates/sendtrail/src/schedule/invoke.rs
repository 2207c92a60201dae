//! `schedule run-now`: one run of the poller, waited for.

use std::time::Duration;

use aws_sdk_lambda::Client;
use aws_sdk_lambda::config::Builder;
use aws_sdk_lambda::config::retry::RetryConfig;
use aws_sdk_lambda::config::timeout::TimeoutConfig;
use aws_sdk_lambda::primitives::Blob;
use serde_json::Value;

use crate::aws::{Aws, Call, Names, code, failure};
use crate::failure::{Failure, Kind};
use crate::output::plain;

/// The poller's own tick.
const TICK: &str = r#"{"v":1,"kind":"tick"}"#;
/// Lambda's own limit for a function, and a moment.
const TIME: Duration = Duration::from_secs(15 * 60 + 10);

/// Runs the poller; gives its report.
pub(super) async fn run(aws: &Aws, names: &Names) -> Result<Value, Failure> {
    let function = names.poller();
    let answer = client(aws)
        .invoke()
        .function_name(&function)
        .payload(Blob::new(TICK))
        .send()
        .await;
    let answer = answer.map_err(|error| {
        if code(&error) == Some("TooManyRequestsException") {
            let what = "another run is going on, and none is let in beside it (PollerConcurrency): its report \
                        comes with `sendtrail schedule show`. Where none is, the account is out of concurrency";
            return Failure::new(Kind::Refused, what);
        }
        let resource = format!("function {function}");
        let call = Call {
            action: "lambda:InvokeFunction",
            resource: &resource,
        };
        failure(&error, call, aws)
    })?;
    let payload = answer.payload.map(Blob::into_inner).unwrap_or_default();
    let report: Value = serde_json::from_slice(&payload).unwrap_or(Value::Null);
    if answer.function_error.is_none() {
        return Ok(report);
    }
    let part = |name| report.get(name).and_then(Value::as_str);
    let kind = part("errorType").unwrap_or("no error type");
    let message = part("errorMessage").unwrap_or_default();
    let what = format!(
        "the run failed: {}. Nothing is lost, the next tick is the retry; the log {} tells more",
        plain(format!("{kind} {message}").trim_end()),
        names.poller_log()
    );
    Err(Failure::new(Kind::Failed, what))
}

/// A run takes as long as it takes, and is not started twice by a client that became impatient.
fn client(aws: &Aws) -> Client {
    let timeouts = TimeoutConfig::builder()
        .read_timeout(TIME)
        .operation_attempt_timeout(TIME)
        .operation_timeout(TIME)
        .build();
    let config = Builder::from(aws.account.config())
        .timeout_config(timeouts)
        .retry_config(RetryConfig::disabled())
        .build();
    Client::from_conf(config)
}
