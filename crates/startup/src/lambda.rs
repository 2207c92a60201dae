//! The loop between Lambda and a function: raw JSON in, an answer and one metrics line out.

use std::convert::Infallible;
use std::fmt;
use std::process::ExitCode;

use jiff::Timestamp;
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use sendtrail_core::ports::Clock as _;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::Mutex;

use crate::error::StartError;
use crate::instance::{Instance, Recipe};
use crate::metrics::MetricsLine;
use crate::rotation::Rotation;
use crate::system::SystemClock;

/// One invocation.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    /// The event: any JSON.
    pub payload: &'a str,
    /// Lambda's id of the invocation.
    pub request_id: &'a str,
    /// When Lambda ends it.
    pub deadline: Timestamp,
}

/// What became of one invocation, with its metrics for the loop to write.
#[derive(Debug)]
pub struct Handled<T> {
    /// What the function gives back.
    pub response: T,
    /// The metrics line.
    pub metrics: MetricsLine,
    /// What it saw that a changed secret would explain.
    pub rotation: Rotation,
}

impl<T> Handled<T> {
    /// An invocation that saw nothing of a changed secret.
    pub fn new(response: T, metrics: MetricsLine) -> Self {
        Self {
            response,
            metrics,
            rotation: Rotation::None,
        }
    }

    /// The same, with what it saw of a changed secret.
    #[must_use]
    pub fn with_rotation(self, rotation: Rotation) -> Self {
        Self { rotation, ..self }
    }

    /// The same with what `change` makes of the response.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Handled<U> {
        Handled {
            response: change(self.response),
            metrics: self.metrics,
            rotation: self.rotation,
        }
    }
}

/// Why an invocation failed as a whole. Its text is logged by the runtime and goes to the caller of the
/// function: it must hold no secret.
pub trait InvocationError: fmt::Display {
    /// A stable word for alarms.
    fn error_type(&self) -> &'static str;
}

impl InvocationError for Infallible {
    fn error_type(&self) -> &'static str {
        match *self {}
    }
}

/// Serves until Lambda ends the process. A failed start is reported and ends the process, which Lambda
/// takes for a failed start of the function.
pub async fn run<R: Recipe, T, E>(
    started: Result<Instance<R>, Vec<StartError>>,
    handler: impl AsyncFn(&R::App, Invocation<'_>) -> Handled<Result<T, E>>,
) -> ExitCode
where
    T: Serialize,
    E: InvocationError,
{
    let instance = match started {
        // Lambda gives one event at a time, so nobody ever waits for this.
        Ok(instance) => Mutex::new(instance),
        Err(errors) => {
            let report = |_, error: &StartError| error.report();
            return errors.iter().fold(ExitCode::FAILURE, report);
        }
    };
    // Boxed, for the runtime's layers copy the future they are given.
    let service = service_fn(|event| Box::pin(serve(&instance, &handler, event)));
    match lambda_runtime::run(service).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => StartError::part("the Lambda runtime", &error).report(),
    }
}

/// Serves one event. It is taken as raw JSON, so that every event reaches the function.
async fn serve<R: Recipe, T, E: InvocationError>(
    instance: &Mutex<Instance<R>>,
    handler: &impl AsyncFn(&R::App, Invocation<'_>) -> Handled<Result<T, E>>,
    event: LambdaEvent<Box<RawValue>>,
) -> Result<T, Failed> {
    let (payload, context) = event.into_parts();
    let invocation = Invocation {
        payload: payload.get(),
        request_id: &context.request_id,
        deadline: end_of(context.deadline),
    };
    let served = instance.lock().await.serve(invocation, handler).await;
    served.metrics.emit(SystemClock.now());
    served.response.map_err(|error| Failed {
        error_type: error.error_type(),
        message: error.to_string(),
    })
}

/// The end of the invocation, from Unix milliseconds.
fn end_of(deadline_ms: u64) -> Timestamp {
    i64::try_from(deadline_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .unwrap_or(Timestamp::MAX)
}

/// A failed invocation as the runtime takes it.
struct Failed {
    error_type: &'static str,
    message: String,
}

/// The runtime logs the debug form of what a handler returns, so that is the one line there is.
impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.error_type, self.message)
    }
}

impl From<Failed> for Diagnostic {
    fn from(failed: Failed) -> Self {
        Self {
            error_type: failed.error_type.to_owned(),
            error_message: failed.message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secrets;
    use jiff::SignedDuration;
    use lambda_runtime::Context;
    use serde::Deserialize as _;

    struct Refused;

    impl fmt::Display for Refused {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the run could not happen")
        }
    }

    impl InvocationError for Refused {
        fn error_type(&self) -> &'static str {
            "Test.Refused"
        }
    }

    fn event(payload: &str, deadline: u64) -> LambdaEvent<Box<RawValue>> {
        let mut context = Context::default();
        context.deadline = deadline;
        context.request_id = "inv-1".to_owned();
        // The runtime reads the payload as this type.
        let mut reader = serde_json::Deserializer::from_slice(payload.as_bytes());
        LambdaEvent::new(Box::<RawValue>::deserialize(&mut reader).unwrap(), context)
    }

    fn handled<T>(response: T) -> Handled<T> {
        Handled::new(response, MetricsLine::new("poller", "test"))
    }

    /// A function that is a text, and needs no secret.
    struct Text(&'static str);

    impl Recipe for Text {
        type App = String;

        async fn secrets(&self) -> Result<Secrets, StartError> {
            Ok(Secrets::default())
        }

        fn app(&self, _: &Secrets) -> Result<String, StartError> {
            Ok(self.0.to_owned())
        }

        fn lifetime(&self) -> SignedDuration {
            SignedDuration::from_mins(15)
        }
    }

    fn instance() -> Mutex<Instance<Text>> {
        Mutex::new(Instance::new(Text("seen"), Secrets::default()).unwrap())
    }

    #[tokio::test]
    async fn any_json_and_any_deadline_reach_the_function() {
        let handler = async |prefix: &String, invocation: Invocation<'_>| {
            let Invocation {
                payload,
                request_id,
                deadline,
            } = invocation;
            handled(format!("{prefix} {payload} {request_id} {deadline}")).map(Ok::<_, Infallible>)
        };
        let instance = instance();
        for payload in ["null", "[]", " {\"a\":1}", "7", "\"x\""] {
            let served = serve(&instance, &handler, event(payload, 0)).await.unwrap();
            let payload = payload.trim();
            assert_eq!(served, format!("seen {payload} inv-1 1970-01-01T00:00:00Z"));
        }
    }

    #[test]
    fn any_deadline_gives_an_instant() {
        assert_eq!(end_of(0), Timestamp::UNIX_EPOCH);
        let usual = end_of(1_767_225_600_123);
        assert_eq!(usual.as_millisecond(), 1_767_225_600_123);
        assert_eq!(end_of(u64::MAX), Timestamp::MAX);
        assert_eq!(end_of(i64::MAX.unsigned_abs()), Timestamp::MAX);
    }

    #[tokio::test]
    async fn a_failed_invocation_keeps_its_stable_type_and_not_a_type_name() {
        let handler = async |_: &String, _: Invocation<'_>| handled(Err::<(), _>(Refused));
        let failed = serve(&instance(), &handler, event("{}", 0))
            .await
            .unwrap_err();
        let text = "Test.Refused: the run could not happen";
        assert_eq!(format!("{failed:?}"), text);
        let diagnostic = Diagnostic::from(failed);
        assert_eq!(diagnostic.error_type, "Test.Refused");
        assert_eq!(diagnostic.error_message, "the run could not happen");
    }

    #[tokio::test]
    async fn a_failed_start_asks_for_no_event() {
        let handler = async |_: &String, _: Invocation<'_>| handled(Ok::<_, Infallible>(()));
        // The runtime would panic here, where it finds no Lambda.
        let errors = vec![StartError::part("a", &"b"), StartError::part("c", &"d")];
        assert_eq!(
            run::<Text, _, _>(Err(errors), handler).await,
            ExitCode::FAILURE
        );
    }
}
