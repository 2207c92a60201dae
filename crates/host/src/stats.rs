//! What was measured: per instance and per function.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What is known of one instance, alive or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceStats {
    /// The instance's number, counted from 1 for each function.
    pub number: u64,
    /// The process id.
    pub pid: u32,
    /// From just before the process was started to its first request for work; `None` until then.
    pub init: Option<Duration>,
    /// How many calls it was given.
    pub calls: u64,
    /// The most memory it held, in KB (`VmHWM`), as last read; read after the start and after every call.
    pub peak_rss_kb: Option<u64>,
    /// How it ended, for example `signal: 9 (SIGKILL)`; `None` while it lives.
    pub exit: Option<String>,
}

impl InstanceStats {
    /// Whether the process is still running.
    pub fn is_alive(&self) -> bool {
        self.exit.is_none()
    }
}

/// What happened to the calls of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionCounts {
    /// Calls asked for, throttled ones included.
    pub calls: u64,
    /// Calls refused because the reserved concurrency was used up.
    pub throttled: u64,
    /// Calls that ended with an error of the function or its process, timeouts included.
    pub failed: u64,
    /// Calls that were ended by the timeout.
    pub timed_out: u64,
    /// Processes started.
    pub started: u64,
}

/// The live counters behind [`FunctionCounts`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) calls: AtomicU64,
    pub(crate) throttled: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) timed_out: AtomicU64,
    pub(crate) started: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self) -> FunctionCounts {
        let get = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        FunctionCounts {
            calls: get(&self.calls),
            throttled: get(&self.throttled),
            failed: get(&self.failed),
            timed_out: get(&self.timed_out),
            started: get(&self.started),
        }
    }
}

pub(crate) fn count(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, Ordering::SeqCst) + 1
}

/// The peak resident memory of a process in KB; `None` once it is gone.
pub(crate) fn peak_rss_kb(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_memory_of_a_living_process_is_read() {
        assert!(peak_rss_kb(std::process::id()).is_some_and(|kb| kb > 100));
    }

    #[test]
    fn a_process_that_is_gone_has_no_memory() {
        assert_eq!(peak_rss_kb(u32::MAX), None);
    }
}
