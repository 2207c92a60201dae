//! Where a function's output goes: one file per function, and a callback for whoever watches.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Which pipe a line came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStream {
    /// The function's standard output.
    Stdout,
    /// The function's standard error.
    Stderr,
    /// A line of the host itself: `START`, `END`, `REPORT`, `INIT_REPORT`.
    Platform,
}

/// One line that a function wrote, without its line end.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// When the host read it.
    pub at: Timestamp,
    /// The function's name.
    pub function: String,
    /// The number of the instance, counted from 1 for each function.
    pub instance: u64,
    /// Which pipe it came through.
    pub stream: LogStream,
    /// The text; bytes that are no UTF-8 are replaced here and kept in the file.
    pub text: String,
}

type Callback = dyn Fn(&LogLine) + Send + Sync;

/// Collects the output of all functions. Cloning shares it.
#[derive(Clone, Default)]
pub struct LogSink {
    dir: Option<PathBuf>,
    callback: Option<Arc<Callback>>,
    files: Arc<Mutex<HashMap<String, File>>>,
}

impl std::fmt::Debug for LogSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogSink")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

impl LogSink {
    /// A sink that keeps nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends each function's lines, as they were written, to `NAME.log` in this directory, which must exist.
    #[must_use]
    pub fn in_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Calls `callback` for every line, in the order of each pipe. It must return quickly.
    #[must_use]
    pub fn on_line(mut self, callback: impl Fn(&LogLine) + Send + Sync + 'static) -> Self {
        self.callback = Some(Arc::new(callback));
        self
    }

    /// Opens the file of a function, so that a directory that cannot be written is found at the start.
    pub(crate) fn open(&self, function: &str) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join(format!("{function}.log")))?;
        self.lock().insert(function.to_owned(), file);
        Ok(())
    }

    /// Takes one line, given without its line end.
    pub(crate) fn write(&self, function: &str, instance: u64, stream: LogStream, raw: &[u8]) {
        if let Some(file) = self.lock().get_mut(function) {
            let mut line = Vec::with_capacity(raw.len() + 1);
            line.extend_from_slice(raw);
            line.push(b'\n');
            if let Err(error) = file.write_all(&line) {
                tracing::error!(function, %error, "a log line could not be written");
            }
        }
        if let Some(callback) = &self.callback {
            let text = String::from_utf8_lossy(raw).into_owned();
            callback(&LogLine {
                at: Timestamp::now(),
                function: function.to_owned(),
                instance,
                stream,
                text,
            });
        }
    }

    /// Reads a pipe to its end. The last line counts also when the process died before it ended the line.
    pub(crate) async fn drain(
        self,
        pipe: impl AsyncRead + Unpin,
        function: String,
        instance: u64,
        stream: LogStream,
    ) {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.read_until(b'\n', &mut line).await {
                Ok(0) => return,
                Ok(_) => {
                    let end = line.strip_suffix(b"\n").unwrap_or(&line);
                    let text = end.strip_suffix(b"\r").unwrap_or(end);
                    self.write(&function, instance, stream, text);
                }
                Err(error) => {
                    tracing::error!(function, %error, "a pipe of a function could not be read");
                    return;
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_line_without_an_end_is_kept() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&seen);
        let dir = tempfile::tempdir().unwrap();
        let sink = LogSink::new()
            .in_dir(dir.path())
            .on_line(move |line| into.lock().unwrap().push(line.text.clone()));
        sink.open("f").unwrap();
        sink.drain(&b"one\r\n\ntwo\xff"[..], "f".into(), 1, LogStream::Stdout)
            .await;
        assert_eq!(*seen.lock().unwrap(), ["one", "", "two\u{fffd}"]);
        assert_eq!(
            std::fs::read(dir.path().join("f.log")).unwrap(),
            b"one\n\ntwo\xff\n"
        );
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error_at_the_start() {
        assert!(
            LogSink::new()
                .in_dir("/nonexistent/logs")
                .open("f")
                .is_err()
        );
    }
}
