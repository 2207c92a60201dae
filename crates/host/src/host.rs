//! The host: all functions, their fronts and their schedules.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::task::AbortHandle;

use crate::function::Function;
use crate::function_url::UrlFront;
use crate::invoke::{InvokeError, request_id};
use crate::log::LogSink;
use crate::schedule::{Schedule, ScheduleHandle};
use crate::spec::{FunctionSpec, SpecError};
use crate::stats::{FunctionCounts, InstanceStats};

/// A host that could not start, or a schedule that could not be added.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A function that AWS would refuse.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The log file of a function cannot be opened.
    #[error("function `{function}`: the log file cannot be opened")]
    Log {
        /// The function's name.
        function: String,
        /// Why.
        source: std::io::Error,
    },
    /// The port of a Function URL cannot be had.
    #[error("function `{function}`: port {port} cannot be had")]
    Port {
        /// The function's name.
        function: String,
        /// The port asked for.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// A schedule for a function that is not there.
    #[error("there is no function `{0}`")]
    UnknownFunction(String),
    /// A schedule without time between its calls.
    #[error("a schedule needs a time above zero between its calls")]
    NoInterval,
}

/// Runs functions until it is shut down or dropped; both kill every process it started.
pub struct Host {
    functions: BTreeMap<String, Arc<Function>>,
    fronts: BTreeMap<String, UrlFront>,
    clocks: Mutex<Vec<AbortHandle>>,
}

impl Host {
    /// Opens the fronts of the functions that have a URL. No process is started before it is needed.
    pub async fn start(specs: Vec<FunctionSpec>, logs: LogSink) -> Result<Self, HostError> {
        let mut functions = BTreeMap::new();
        let mut fronts = BTreeMap::new();
        for mut spec in specs {
            spec.validate()?;
            // The process starts in the task root, where a relative path would mean another file.
            spec.binary = absolute(&spec)?;
            let name = spec.name.clone();
            if functions.contains_key(&name) {
                return Err(SpecError::Twice(name).into());
            }
            logs.open(&name).map_err(|source| HostError::Log {
                function: name.clone(),
                source,
            })?;
            let url = spec.url.clone();
            let function = Function::new(spec, logs.clone());
            if let Some(url) = url {
                let front =
                    UrlFront::start(Arc::clone(&function), &url)
                        .await
                        .map_err(|source| HostError::Port {
                            function: name.clone(),
                            port: url.port,
                            source,
                        })?;
                fronts.insert(name.clone(), front);
            }
            functions.insert(name, function);
        }
        Ok(Self {
            functions,
            fronts,
            clocks: Mutex::default(),
        })
    }

    /// The address of a function's URL, without a slash at the end; `None` for a function that has none.
    pub fn url(&self, function: &str) -> Option<String> {
        self.fronts
            .get(function)
            .map(|front| format!("http://{}", front.addr))
    }

    /// Calls a function and waits for its answer. The call goes on when the caller goes away.
    pub async fn invoke(
        &self,
        function: &str,
        payload: impl Into<Bytes>,
    ) -> Result<Bytes, InvokeError> {
        self.function(function)?
            .invoke(request_id(), payload.into())
            .await
    }

    /// Starts one more idle process of a function and tells how long it took: a cold start without a call.
    pub async fn warm(&self, function: &str) -> Result<InstanceStats, InvokeError> {
        self.function(function)?.warm().await
    }

    /// Starts a schedule.
    pub fn add_schedule(&self, schedule: Schedule) -> Result<ScheduleHandle, HostError> {
        if schedule.every.is_zero() {
            return Err(HostError::NoInterval);
        }
        let function = self.functions.get(&schedule.function);
        let function =
            function.ok_or_else(|| HostError::UnknownFunction(schedule.function.clone()))?;
        let (handle, clock) = ScheduleHandle::start(Arc::clone(function), schedule);
        self.clocks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(clock);
        Ok(handle)
    }

    /// Kills every process of a function now, as `kill -9` does, and waits until they are gone.
    /// Calls under way end with [`InvokeError::Crashed`]. Returns how many were killed.
    pub async fn kill_instances(&self, function: &str) -> usize {
        match self.functions.get(function) {
            Some(function) => function.kill_all().await,
            None => 0,
        }
    }

    /// The figures of every instance that a function ever had, oldest first.
    pub fn instances(&self, function: &str) -> Vec<InstanceStats> {
        self.functions
            .get(function)
            .map(|function| function.instances())
            .unwrap_or_default()
    }

    /// What happened to a function's calls so far.
    pub fn counts(&self, function: &str) -> FunctionCounts {
        self.functions
            .get(function)
            .map(|function| function.counters.read())
            .unwrap_or_default()
    }

    /// Stops the schedules, kills every process and waits until all are gone and their output is in the log.
    pub async fn shutdown(mut self) {
        self.stop_clocks();
        let closing: Vec<_> = self
            .functions
            .values()
            .flat_map(|function| function.close())
            .collect();
        for instance in closing {
            instance.kill_and_wait().await;
        }
        for (_, front) in std::mem::take(&mut self.fronts) {
            front.stop().await;
        }
    }

    fn function(&self, name: &str) -> Result<&Arc<Function>, InvokeError> {
        self.functions
            .get(name)
            .ok_or_else(|| InvokeError::UnknownFunction(name.to_owned()))
    }

    fn stop_clocks(&self) {
        for clock in self
            .clocks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            clock.abort();
        }
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("functions", &self.functions.keys())
            .finish_non_exhaustive()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop_clocks();
        for function in self.functions.values() {
            function.close();
        }
    }
}

fn absolute(spec: &FunctionSpec) -> Result<PathBuf, SpecError> {
    spec.binary.canonicalize().map_err(|_| SpecError::NoBinary {
        function: spec.name.clone(),
        path: spec.binary.clone(),
    })
}
