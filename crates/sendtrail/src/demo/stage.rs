//! One scenario's stack and what happened on it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sendtrail_core::progress::Progress;
use sendtrail_simulator::crm::Switches;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::client::{Answer, Client, Preview, Saved, fresh_id};
use crate::local::{LocalError, LocalStack, StackOptions, Timing};

/// Why a scenario did not go as it should.
#[derive(Debug, Error)]
pub(crate) enum Failed {
    /// An option that cannot be.
    #[error("{0}")]
    Usage(String),
    /// The stack or the client could not be set up.
    #[error("{0}")]
    Setup(String),
    /// The stack did not start.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// A door did not answer.
    #[error("no answer of a door: {0}")]
    NoAnswer(#[from] reqwest::Error),
    /// The simulated CRM.
    #[error("the simulated CRM: {0}")]
    Crm(#[from] sendtrail_simulator::crm::CrmError),
    /// The simulated send API.
    #[error("the simulated send API: {0}")]
    SendApi(#[from] sendtrail_simulator::send_api::SendApiError),
    /// Something else came than was expected.
    #[error("unexpected: {0}")]
    Unexpected(String),
    /// Something did not come in time.
    #[error("not in time: {0}")]
    TooLate(String),
}

/// A line of the timeline: seconds from the start, and what happened.
pub(crate) type Line = (f64, String);

/// The module of the history records.
pub(crate) const HISTORIES: &str = "Send_Histories";

/// A running stack, and the story so far.
pub(crate) struct Stage {
    pub(crate) stack: LocalStack,
    pub(crate) client: Client,
    started: Instant,
    lines: Mutex<Vec<Line>>,
    history_id: Mutex<Option<String>>,
    data: tempfile::TempDir,
}

/// A history record as the CRM holds it.
#[derive(Debug, Clone)]
pub(crate) struct RecordView {
    /// The state field.
    pub(crate) state: String,
    /// The progress field.
    pub(crate) progress: Option<String>,
    /// How often it was written.
    pub(crate) writes: u32,
}

impl RecordView {
    fn decoded(&self) -> Progress {
        Progress::decode(self.progress.as_deref()).unwrap_or_default()
    }

    fn trail(&self) -> Vec<(String, String)> {
        let entries = self.decoded().trail.into_iter();
        entries.map(|entry| (entry.event, entry.to)).collect()
    }

    /// How often the trail counts this event.
    pub(crate) fn trail_count(&self, event: &str) -> u32 {
        let entries = self.decoded().trail.into_iter();
        entries
            .filter(|entry| entry.event == event)
            .map(|entry| entry.times)
            .sum()
    }

    /// The kind of the last error; empty where there is none.
    pub(crate) fn last_error(&self) -> String {
        self.decoded()
            .last_error
            .map(|error| error.kind)
            .unwrap_or_default()
    }

    /// The draft the claim names; empty where there is none.
    pub(crate) fn draft_id(&self) -> String {
        self.decoded()
            .claim
            .and_then(|claim| claim.draft_id)
            .unwrap_or_default()
    }

    /// The API's id in the progress; empty where there is none.
    pub(crate) fn external_id(&self) -> String {
        let id = self
            .decoded()
            .submission
            .and_then(|submission| submission.external_id);
        id.map(|id| id.to_string()).unwrap_or_default()
    }
}

impl Stage {
    /// Starts a fresh stack with quick timing, whose CRM answers like this.
    pub(crate) async fn start(functions: &Path, switches: &Switches) -> Result<Self, Failed> {
        let setup = |error: std::io::Error| Failed::Setup(error.to_string());
        let data = tempfile::Builder::new()
            .prefix("sendtrail-demo-")
            .tempdir()
            .map_err(setup)?;
        let started = Instant::now();
        // Where the CRM is slow or changes records by itself, what precedes a submit takes longer.
        let timing = if *switches == Switches::default() {
            Timing::QUICK
        } else {
            Timing {
                side_effect: "16s",
                ..Timing::QUICK
            }
        };
        let stack = LocalStack::start(&StackOptions {
            functions: Some(functions.to_owned()),
            data: data.path().to_owned(),
            timing,
            scheduled: true,
            switches: switches.clone(),
        })
        .await?;
        let client = Client::new(stack.endpoints.clone())?;
        Ok(Self {
            stack,
            client,
            started,
            lines: Mutex::default(),
            history_id: Mutex::default(),
            data,
        })
    }

    /// Adds to the timeline.
    pub(crate) fn say(&self, what: impl Into<String>) {
        let at = self.started.elapsed().as_secs_f64();
        self.lines().push((at, what.into()));
    }

    /// The timeline.
    pub(crate) fn timeline(&self) -> Vec<Line> {
        self.lines().clone()
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The history record of this scenario.
    pub(crate) fn history_id(&self) -> Option<String> {
        self.history_id
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The story goes on with this history record.
    pub(crate) fn tell_of(&self, id: &str) {
        *self
            .history_id
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(id.to_owned());
    }

    /// Saves input for this recipient.
    pub(crate) async fn save(&self, driver: &str, recipient: &str) -> Result<Saved, Failed> {
        let saved = self.client.save(driver, recipient).await?;
        self.tell_of(&saved.id);
        self.say(format!("saved as history record {}", saved.id));
        Ok(saved)
    }

    /// Fetches the preview.
    pub(crate) async fn preview(&self, saved: &Saved) -> Result<Preview, Failed> {
        let preview = self.client.preview(saved).await?;
        self.say(format!("previewed, {} bytes", preview.bytes.len()));
        Ok(preview)
    }

    /// Saves, previews and confirms; the confirmed bytes.
    pub(crate) async fn confirmed(
        &self,
        driver: &str,
        recipient: &str,
    ) -> Result<(Saved, Vec<u8>), Failed> {
        let saved = self.save(driver, recipient).await?;
        let preview = self.preview(&saved).await?;
        let answer = self
            .client
            .confirm(&saved, preview.bytes.clone(), &preview.receipt)
            .await?;
        self.say(format!("confirmed: {}", answer.words()));
        if answer.status == 200 {
            Ok((saved, preview.bytes))
        } else {
            Err(Failed::Unexpected(format!("confirm: {}", answer.words())))
        }
    }

    /// Presses *send*, and expects this answer.
    pub(crate) async fn press(
        &self,
        saved: &Saved,
        document: &[u8],
        expected: (u16, &str),
    ) -> Result<Answer, Failed> {
        let answer = self.client.press(&saved.id, document, &fresh_id()).await?;
        self.say(format!("pressed send: {}", answer.words()));
        self.expect(&answer, expected)?;
        Ok(answer)
    }

    /// Whether an answer has this status, and this outcome or code.
    #[expect(clippy::unused_self, reason = "reads as the other steps do")]
    pub(crate) fn expect(&self, answer: &Answer, expected: (u16, &str)) -> Result<(), Failed> {
        let (status, word) = expected;
        let words = [answer.text("outcome"), answer.text("code")];
        if answer.status == status && words.iter().any(|found| found == word) {
            return Ok(());
        }
        Err(Failed::Unexpected(format!(
            "{} where {status} {word} was due",
            answer.words()
        )))
    }

    /// The record as it is.
    pub(crate) fn record(&self) -> Result<RecordView, Failed> {
        let id = self.history_id().unwrap_or_default();
        let raw = self.stack.crm.record(HISTORIES, &id)?;
        let text = |name: &str| {
            raw.fields
                .get(name)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        Ok(RecordView {
            state: text("Delivery_State").unwrap_or_default(),
            progress: text("Progress_JSON"),
            writes: raw.writes,
        })
    }

    /// A person edits the record in the CRM.
    pub(crate) fn edit(&self, field: &str, value: impl Into<Value>) -> Result<(), Failed> {
        let id = self.history_id().unwrap_or_default();
        let value = value.into();
        let shown = value
            .as_str()
            .filter(|text| text.len() < 40)
            .unwrap_or("other text");
        self.say(format!("a person edits {field}: {shown}"));
        let fields = Map::from_iter([(field.to_owned(), json!(value))]);
        self.stack.crm.edit(HISTORIES, &id, &fields)?;
        Ok(())
    }

    /// Waits for a state, telling the trail on the way.
    pub(crate) async fn wait_for(&self, state: &str, most: Duration) -> Result<RecordView, Failed> {
        self.wait(&format!("state {state}"), most, |record| {
            record.state == state
        })
        .await
    }

    /// Waits until the record is as wanted.
    pub(crate) async fn wait(
        &self,
        what: &str,
        most: Duration,
        wanted: impl Fn(&RecordView) -> bool,
    ) -> Result<RecordView, Failed> {
        let end = Instant::now() + most;
        let mut told = self.record()?.trail().len();
        loop {
            let record = self.record()?;
            let trail = record.trail();
            for (event, to) in trail.iter().skip(told) {
                self.say(format!("{event} -> {to}"));
            }
            told = trail.len();
            if wanted(&record) {
                return Ok(record);
            }
            if Instant::now() >= end {
                return Err(Failed::TooLate(format!(
                    "{what}; the state is {}",
                    record.state
                )));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until something else than the record is as wanted.
    pub(crate) async fn wait_until(
        &self,
        what: &str,
        most: Duration,
        wanted: impl Fn() -> Result<bool, Failed>,
    ) -> Result<(), Failed> {
        let end = Instant::now() + most;
        while !wanted()? {
            if Instant::now() >= end {
                return Err(Failed::TooLate(what.to_owned()));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// A failure, and what the functions' logs give as its causes.
    pub(crate) fn trouble(&self, failure: Option<&str>) -> Vec<String> {
        let mut told: Vec<String> = failure.map(str::to_owned).into_iter().collect();
        for function in ["intake", "side-effect", "poller"] {
            for line in self.log(function).lines() {
                let Some(line) = line.find('{').and_then(|at| line.get(at..)) else {
                    continue;
                };
                let line: Value = serde_json::from_str(line).unwrap_or_default();
                if !matches!(line["level"].as_str(), Some("WARN" | "ERROR")) {
                    continue;
                }
                let text = line.to_string();
                let causes =
                    ["cause", "error", "message"].map(|key| line.pointer(&format!("/{key}")));
                let cause = causes.into_iter().flatten().find_map(Value::as_str);
                let cause = cause.map_or(text, str::to_owned);
                if told.len() < 20 && !told.contains(&cause) {
                    told.push(cause);
                }
            }
        }
        told
    }

    /// What a function logged so far.
    pub(crate) fn log(&self, function: &str) -> String {
        let path = self.data.path().join(format!("logs/{function}.log"));
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// Waits, by watching the record, and expects that it does not leave this state.
    pub(crate) async fn stays(&self, state: &str, duration: Duration) -> Result<(), Failed> {
        let end = Instant::now() + duration;
        while Instant::now() < end {
            let record = self.record()?;
            if record.state != state {
                return Err(Failed::Unexpected(format!(
                    "it left {state} for {}",
                    record.state
                )));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.say(format!("still {state} after {} s", duration.as_secs()));
        Ok(())
    }
}
