//! Logging: JSON lines on standard output, from where Lambda takes them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;

use crate::environment::Environment;

pub(crate) const LEVEL_VARIABLE: &str = "AWS_LAMBDA_LOG_LEVEL";

/// What our own code logs under: the libraries, and the three thin binaries.
const OURS: [&str; 4] = ["sendtrail", "intake", "side_effect", "poller"];

/// The log of this process. The stage is known only once the configuration is read, and what goes wrong
/// before is logged too: lines carry the stage from [`Logs::set_stage`] on.
#[derive(Debug, Clone)]
pub struct Logs {
    stage: Arc<OnceLock<String>>,
}

impl Logs {
    /// Starts logging to standard output, at the level of `AWS_LAMBDA_LOG_LEVEL` (`INFO` without it).
    /// Where something logs already, as in tests, that stays in place.
    pub fn start(function: &'static str, env: &Environment) -> Self {
        let (subscriber, logs) = logs_to(function, env, std::io::stdout);
        let _ = tracing::subscriber::set_global_default(subscriber);
        logs
    }

    /// Adds the stage to every line from now on. The first call counts.
    pub fn set_stage(&self, stage: &str) {
        let _ = self.stage.set(stage.to_owned());
    }
}

/// What [`Logs::start`] installs, writing to `writer` instead.
pub fn logs_to<W>(
    function: &'static str,
    env: &Environment,
    writer: W,
) -> (impl Subscriber + Send + Sync + use<W>, Logs)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let stage = Arc::new(OnceLock::new());
    let json = tracing_subscriber::fmt::format()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false);
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .fmt_fields(JsonFields::new())
        .event_format(Tagged {
            function,
            stage: Arc::clone(&stage),
            json,
        })
        .with_writer(writer);
    let subscriber = tracing_subscriber::registry()
        .with(targets(level(env)))
        .with(layer);
    (subscriber, Logs { stage })
}

fn level(env: &Environment) -> LevelFilter {
    let text = env.get(LEVEL_VARIABLE).unwrap_or_default();
    match text.to_ascii_uppercase().as_str() {
        "TRACE" => LevelFilter::TRACE,
        "DEBUG" => LevelFilter::DEBUG,
        "WARN" => LevelFilter::WARN,
        "ERROR" | "FATAL" => LevelFilter::ERROR,
        _ => LevelFilter::INFO,
    }
}

/// Other people's code logs bodies and headers at its lower levels, so it never gets below `WARN`; the
/// runtime gets `INFO`, where its span holds the request id.
fn targets(level: LevelFilter) -> Targets {
    let ours = OURS.map(|name| (name, level));
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("lambda_runtime", level.min(LevelFilter::INFO))
        .with_targets(ours)
}

/// The JSON format with the function and the stage in front.
struct Tagged {
    function: &'static str,
    stage: Arc<OnceLock<String>>,
    json: Format<Json>,
}

impl<S, N> FormatEvent<S, N> for Tagged
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.json
            .format_event(context, Writer::new(&mut line), event)?;
        let rest = line.strip_prefix('{').ok_or(fmt::Error)?;
        write!(writer, "{{\"function\":\"{}\",", self.function)?;
        if let Some(stage) = self.stage.get() {
            write!(writer, "\"stage\":{},", Value::from(stage.as_str()))?;
        }
        writer.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sink;

    fn lines(level: &str, work: impl FnOnce(&Logs)) -> Vec<Value> {
        let captured = Sink::default();
        let sink = captured.clone();
        let env = Environment::new([(LEVEL_VARIABLE.to_owned(), level.to_owned())], "");
        let (subscriber, logs) = logs_to("poller", &env, move || sink.clone());
        tracing::subscriber::with_default(subscriber, || work(&logs));
        captured
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn a_line_is_flat_json_with_function_and_stage() {
        let lines = lines("", |logs| {
            tracing::info!(target: "sendtrail_core", "early");
            logs.set_stage("lo\"cal");
            tracing::info!(target: "sendtrail_core", attempts = 2, history.id = "7", "looked up\nonce");
        });
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["function"], "poller");
        assert!(lines[0].get("stage").is_none());
        assert_eq!(lines[1]["stage"], "lo\"cal");
        assert_eq!(lines[1]["history.id"], "7");
        assert_eq!(lines[1]["attempts"], 2);
        assert_eq!(lines[1]["message"], "looked up\nonce");
        assert_eq!(lines[1]["level"], "INFO");
    }

    #[test]
    fn the_request_id_of_the_runtime_is_in_the_line() {
        let lines = lines("INFO", |_| {
            let span = tracing::info_span!(target: "lambda_runtime", "invoke", requestId = "r-1");
            span.in_scope(|| tracing::info!(target: "poller", "done"));
        });
        assert_eq!(lines[0]["span"]["requestId"], "r-1");
    }

    #[test]
    fn the_level_is_ours_and_never_lets_other_code_log_bodies() {
        let all = |_: &Logs| {
            tracing::trace!(target: "sendtrail_zoho", "ours");
            tracing::debug!(target: "hyper::proto", "headers");
            tracing::trace!(target: "lambda_runtime", "body");
            tracing::warn!(target: "rustls", "warning");
            tracing::error!(target: "intake", "error");
        };
        let messages = |level| -> Vec<String> {
            let lines = lines(level, all);
            let text = |line: &Value| line["message"].as_str().unwrap().to_owned();
            lines.iter().map(text).collect()
        };
        assert_eq!(messages("TRACE"), ["ours", "warning", "error"]);
        assert_eq!(messages("nonsense"), ["warning", "error"]);
        assert_eq!(messages("fatal"), ["error"]);
    }
}
