//! One process of a function: started, given calls, killed, and always waited for.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, timeout};

use crate::environment;
use crate::invoke::{InvokeError, random_hex, trace_id};
use crate::log::{LogSink, LogStream};
use crate::runtime_api::{Call, Reply, RuntimeApi};
use crate::spec::FunctionSpec;
use crate::stats::{InstanceStats, peak_rss_kb};

/// How long the output of a dead process may still be read: a grandchild could hold the pipe open for ever.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// A running process with its Runtime API. Dropping it kills the process.
pub(crate) struct Instance {
    pub(crate) number: u64,
    api: RuntimeApi,
    kill: watch::Sender<bool>,
    exited: watch::Receiver<Option<String>>,
    stats: Arc<Mutex<InstanceStats>>,
    started: Instant,
}

/// How a call ended, and whether the process can take another one.
pub(crate) struct Ended {
    pub(crate) reply: Reply,
    pub(crate) reusable: bool,
}

impl Instance {
    /// Starts the process. It has not asked for work yet: see [`Instance::ready`].
    pub(crate) fn spawn(
        spec: &FunctionSpec,
        number: u64,
        api: RuntimeApi,
        logs: &LogSink,
    ) -> std::io::Result<Self> {
        let stream = format!(
            "{}/[$LATEST]{}",
            Timestamp::now().strftime("%Y/%m/%d"),
            random_hex::<16>()
        );
        let started = Instant::now();
        let mut child = Command::new(&spec.binary)
            .env_clear()
            .envs(environment::build(spec, &stream, api.addr))
            .current_dir(environment::task_root(spec))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in the host's terminal reaches the host only, which then ends its children in order.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().unwrap_or_default();
        let stats = Arc::new(Mutex::new(InstanceStats {
            number,
            pid,
            ..InstanceStats::default()
        }));
        let pipes = drain(&mut child, spec, number, logs);
        let (kill, killed) = watch::channel(false);
        let (exit, exited) = watch::channel(None);
        tokio::spawn(supervise(child, killed, exit, pipes, Arc::clone(&stats)));
        Ok(Self {
            number,
            api,
            kill,
            exited,
            stats,
            started,
        })
    }

    pub(crate) fn stats(&self) -> Arc<Mutex<InstanceStats>> {
        Arc::clone(&self.stats)
    }

    /// Whether a call can be given to it.
    pub(crate) fn is_usable(&self) -> bool {
        self.exited.borrow().is_none() && !*self.kill.borrow()
    }

    /// Whether the process has not ended yet.
    pub(crate) fn is_alive(&self) -> bool {
        self.exited.borrow().is_none()
    }

    /// Waits until the process asks for work the first time. On an error it is dead.
    pub(crate) async fn ready(&self, limit: Duration) -> Result<(), InvokeError> {
        let failure = tokio::select! {
            biased;
            begun = self.begun() => match begun {
                Ok(init) => {
                    self.update(|stats| stats.init = Some(init));
                    return Ok(());
                }
                Err(report) => InvokeError::InitFailed(report),
            },
            exit = self.exit() => InvokeError::InitFailed(exit),
            () = tokio::time::sleep(limit) => InvokeError::InitTimedOut(limit),
        };
        self.kill_and_wait().await;
        Err(failure)
    }

    /// Gives the process one call and waits for the answer, its end or the timeout, which kills it.
    ///
    /// The answer is handed on when the process has asked for work again, so that a following call finds it idle.
    pub(crate) async fn call(
        &self,
        request_id: &str,
        arn: String,
        payload: Bytes,
        limit: Duration,
    ) -> Ended {
        let asked = self.api.progress.borrow().asked;
        let deadline = tokio::time::Instant::now() + limit;
        let now = Timestamp::now();
        let (reply, mut answered) = oneshot::channel();
        let call = Call {
            request_id: request_id.to_owned(),
            deadline_ms: now
                .as_millisecond()
                .saturating_add(i64::try_from(limit.as_millis()).unwrap_or(i64::MAX)),
            arn,
            trace_id: trace_id(now.as_second()),
            payload,
            reply,
        };
        self.update(|stats| stats.calls += 1);
        if self.api.calls.send(call).await.is_err() {
            return Ended {
                reply: Err(InvokeError::Crashed("the Runtime API is gone".to_owned())),
                reusable: false,
            };
        }
        let reply = tokio::select! {
            biased;
            reply = &mut answered => reply.unwrap_or_else(|_| Err(InvokeError::Crashed("no answer".to_owned()))),
            exit = self.exit() => Err(InvokeError::Crashed(exit)),
            () = sleep_until(deadline) => Err(InvokeError::TimedOut(limit)),
        };
        let gave_up = matches!(
            reply,
            Err(InvokeError::TimedOut(_) | InvokeError::Crashed(_))
        );
        let reusable = !gave_up
            && tokio::select! {
                biased;
                again = self.asked_after(asked) => again,
                _ = self.exit() => false,
                () = sleep_until(deadline) => false,
            };
        self.sample_memory();
        if !reusable {
            self.kill_and_wait().await;
        }
        Ended { reply, reusable }
    }

    /// Kills the process now, as `kill -9` does, and waits until it is gone and its output is read.
    pub(crate) async fn kill_and_wait(&self) {
        self.kill.send_replace(true);
        self.exit().await;
    }

    /// Waits until the process has ended, and says how.
    async fn exit(&self) -> String {
        let mut exited = self.exited.clone();
        let exit = exited.wait_for(Option::is_some).await;
        // An error means that the supervisor is gone, and the process with it.
        exit.ok()
            .and_then(|exit| exit.clone())
            .unwrap_or_else(|| "the process is gone".to_owned())
    }

    /// Waits until the process asks for work the first time: how long that took, or the error it reported.
    async fn begun(&self) -> Result<Duration, String> {
        let mut progress = self.api.progress.clone();
        let seen = progress
            .wait_for(|p| p.asked > 0 || p.init_error.is_some())
            .await;
        let seen = seen.map_err(|_| "the Runtime API is gone".to_owned())?;
        match (&seen.init_error, seen.first_asked) {
            (None, Some(at)) => Ok(at.duration_since(self.started)),
            (report, _) => Err(report.clone().unwrap_or_default()),
        }
    }

    /// Waits until the process has asked for work more often than this.
    async fn asked_after(&self, times: u64) -> bool {
        let mut progress = self.api.progress.clone();
        progress.wait_for(|p| p.asked > times).await.is_ok()
    }

    /// Kills the process without waiting.
    pub(crate) fn kill(&self) {
        self.kill.send_replace(true);
    }

    /// Reads the process's peak memory into its figures.
    pub(crate) fn sample_memory(&self) {
        self.update(|stats| {
            if let Some(kb) = peak_rss_kb(stats.pid) {
                stats.peak_rss_kb = Some(kb);
            }
        });
    }

    fn update(&self, change: impl FnOnce(&mut InstanceStats)) {
        change(&mut self.stats.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn drain(
    child: &mut Child,
    spec: &FunctionSpec,
    number: u64,
    logs: &LogSink,
) -> Vec<JoinHandle<()>> {
    let mut pipes = Vec::new();
    if let Some(pipe) = child.stdout.take() {
        pipes.push(tokio::spawn(logs.clone().drain(
            pipe,
            spec.name.clone(),
            number,
            LogStream::Stdout,
        )));
    }
    if let Some(pipe) = child.stderr.take() {
        pipes.push(tokio::spawn(logs.clone().drain(
            pipe,
            spec.name.clone(),
            number,
            LogStream::Stderr,
        )));
    }
    pipes
}

/// Waits for the order to kill. A dropped instance gives it too: the process must go as well.
async fn ordered(mut killed: watch::Receiver<bool>) {
    let _ = killed.wait_for(|kill| *kill).await;
}

/// Waits for the process or for the order to kill it; then reads its output to the end and says how it ended.
async fn supervise(
    mut child: Child,
    killed: watch::Receiver<bool>,
    exit: watch::Sender<Option<String>>,
    pipes: Vec<JoinHandle<()>>,
    stats: Arc<Mutex<InstanceStats>>,
) {
    let ended = tokio::select! {
        ended = child.wait() => ended,
        () = ordered(killed) => {
            if let Err(error) = child.start_kill() {
                tracing::debug!(%error, "the process was already gone");
            }
            child.wait().await
        }
    };
    let text = match ended {
        Ok(code) => code.to_string(),
        Err(error) => format!("its end could not be read: {error}"),
    };
    let all_read = async {
        for pipe in pipes {
            let _ = pipe.await;
        }
    };
    let _ = timeout(DRAIN_LIMIT, all_read).await;
    stats.lock().unwrap_or_else(PoisonError::into_inner).exit = Some(text.clone());
    exit.send_replace(Some(text));
}
