//! What one invocation leaves behind: a log line for a success, and the metrics line.

use jiff::SignedDuration;
use sendtrail_core::ids::HistoryId;
use sendtrail_core::state::State;
use sendtrail_door::{Code, Response};
use sendtrail_startup::{MetricsLine, Unit};

use crate::app::Settings;

/// The numbers of the line that are metrics: those that an alarm or the dashboard stands on, and no other. The
/// rest is in the log.
const METRICS: [&str; 5] = [
    "unauthorized",
    "errors",
    "old_key_used",
    "crm_token_throttled",
    "crm_token_refused",
];

/// Noted while a request is served. Never a body, a token or anything of a recipient.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The route's own name, not the path: that holds ids.
    pub(crate) route: &'static str,
    /// The name of the key that signed.
    pub(crate) key_name: Option<String>,
    /// Bytes of the document shown or stored.
    pub(crate) document_bytes: Option<usize>,
    done: Option<Done>,
}

#[derive(Debug)]
struct Done {
    outcome: &'static str,
    history_id: HistoryId,
    state: State,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            route: "none",
            key_name: None,
            document_bytes: None,
            done: None,
        }
    }
}

impl Trace {
    /// Notes that the request was served.
    pub(crate) fn done(&mut self, outcome: &'static str, history_id: &HistoryId, state: State) {
        self.done = Some(Done {
            outcome,
            history_id: history_id.clone(),
            state,
        });
    }

    /// One line for a request that was served; a refusal is logged by its answer.
    pub(crate) fn log_success(&self, took: SignedDuration) {
        let Some(done) = &self.done else { return };
        tracing::info!(
            route = self.route,
            outcome = done.outcome,
            history.id = %done.history_id,
            delivery.state = done.state.label(),
            duration_ms = millis(took),
            "request served"
        );
    }

    /// The metrics of the invocation, but for the CRM's.
    pub(crate) fn line(
        &self,
        settings: &Settings,
        answer: &Response,
        refused: Option<Code>,
        took: SignedDuration,
    ) -> MetricsLine {
        let is = |class: bool| usize::from(class);
        // An operator asked for it: nobody is to be woken.
        let drained = refused == Some(Code::Draining);
        let outcome = self.done.as_ref().map_or("refused", |done| done.outcome);
        let key_name = self.key_name.as_deref();
        let old_key = key_name.is_some_and(|name| !settings.signing_keys.is_current(name));
        let line = MetricsLine::new("intake", &settings.stage)
            .declaring(&METRICS)
            .count("requests", 1)
            .count("unauthorized", is(refused == Some(Code::Unauthorized)))
            .count("refused", is((400..500).contains(&answer.status())))
            .count("errors", is(answer.status() >= 500 && !drained))
            .count("old_key_used", is(old_key))
            .metric("duration_ms", millis(took), Unit::Milliseconds)
            .property("route", self.route)
            .property("outcome", outcome)
            .property("code", refused.map_or("ok", Code::as_str))
            .property("status", &answer.status().to_string());
        let line = match key_name {
            Some(name) => line.property("key_name", name),
            None => line,
        };
        match self.document_bytes {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a document is far smaller than 2^52 bytes"
            )]
            Some(bytes) => line.metric("document_bytes", bytes as f64, Unit::Bytes),
            None => line,
        }
    }
}

fn millis(took: SignedDuration) -> f64 {
    (took.as_secs_f64() * 1_000.0).round()
}
