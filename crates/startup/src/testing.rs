//! For tests: the log of one thread, captured.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tracing::subscriber::DefaultGuard;

use crate::environment::Environment;
use crate::logs::{LEVEL_VARIABLE, logs_to};

/// Everything that is logged on this thread, at any level, as long as this lives: a secret that is logged at
/// all is found.
#[derive(Debug)]
pub struct CapturedLogs {
    sink: Sink,
    _guard: DefaultGuard,
}

/// What a log is written to, in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sink(Arc<Mutex<Vec<u8>>>);

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    pub(crate) fn text(&self) -> String {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&held).into_owned()
    }
}

impl CapturedLogs {
    /// Starts capturing what `function` logs.
    pub fn start(function: &'static str) -> Self {
        let level = (LEVEL_VARIABLE.to_owned(), "TRACE".to_owned());
        let sink = Sink::default();
        let writer = sink.clone();
        let env = Environment::new([level], "");
        let (subscriber, _logs) = logs_to(function, &env, move || writer.clone());
        Self {
            sink,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    /// The text so far.
    pub fn text(&self) -> String {
        self.sink.text()
    }

    /// Every line so far, as JSON; `null` for one that is none.
    pub fn lines(&self) -> Vec<Value> {
        let text = self.text();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_default())
            .collect()
    }
}
