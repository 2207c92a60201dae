//! For tests: the log of one thread, captured; metrics lines, compared with the committed ones.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use jiff::SignedDuration;
use serde_json::Value;
use tracing::subscriber::DefaultGuard;

use crate::environment::Environment;
use crate::error::StartError;
use crate::instance::Recipe;
use crate::logs::{LEVEL_VARIABLE, logs_to};
use crate::secrets::Secrets;

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

/// Compares metrics lines, each under the name of what happened, with those in `infra/checks/lines`: over them
/// every alarm is tried. With `SENDTRAIL_GENERATE` set, that file is written instead.
///
/// # Panics
/// When they differ.
pub fn assert_committed_lines(function: &str, lines: &[(&str, Value)]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../infra/checks/lines")
        .join(format!("{function}.json"));
    let rows: Vec<String> = lines
        .iter()
        .map(|(what, line)| format!("{}: {line}", Value::from(*what)))
        .collect();
    let text = format!("{{\n{}\n}}\n", rows.join(",\n"));
    if std::env::var_os("SENDTRAIL_GENERATE").is_some() {
        fs::write(&path, &text).expect("the lines could not be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == committed,
        "{} is not what the code emits: run `cargo xtask generate`, and look at the difference",
        path.display()
    );
}

/// A recipe, and how often it read the secrets.
#[derive(Debug)]
pub struct Counted<R> {
    recipe: R,
    reads: Arc<AtomicU32>,
}

impl<R> Counted<R> {
    /// The recipe with its count, which starts at nothing.
    pub fn new(recipe: R) -> (Self, Arc<AtomicU32>) {
        let reads = Arc::default();
        let counted = Self {
            recipe,
            reads: Arc::clone(&reads),
        };
        (counted, reads)
    }
}

impl<R: Recipe> Recipe for Counted<R> {
    type App = R::App;

    async fn secrets(&self) -> Result<Secrets, StartError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.recipe.secrets().await
    }

    fn app(&self, secrets: &Secrets) -> Result<R::App, StartError> {
        self.recipe.app(secrets)
    }

    fn lifetime(&self) -> SignedDuration {
        self.recipe.lifetime()
    }
}
