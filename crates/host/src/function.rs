//! A function: its instances, its reserved concurrency and its calls.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::environment;
use crate::instance::{Ended, Instance};
use crate::invoke::{InvokeError, PAYLOAD_LIMIT};
use crate::log::{LogSink, LogStream};
use crate::runtime_api::{Reply, RuntimeApi};
use crate::spec::FunctionSpec;
use crate::stats::{Counters, InstanceStats, count};

/// A deployed function.
pub(crate) struct Function {
    pub(crate) spec: FunctionSpec,
    pub(crate) counters: Counters,
    logs: LogSink,
    slots: Option<Arc<Semaphore>>,
    numbers: AtomicU64,
    state: Mutex<Instances>,
}

#[derive(Default)]
struct Instances {
    closed: bool,
    idle: Vec<Arc<Instance>>,
    all: Vec<Weak<Instance>>,
    stats: Vec<Arc<Mutex<InstanceStats>>>,
}

impl Function {
    pub(crate) fn new(spec: FunctionSpec, logs: LogSink) -> Arc<Self> {
        let slots = spec.max_concurrency.map(|n| {
            let permits = usize::try_from(n)
                .unwrap_or(Semaphore::MAX_PERMITS)
                .min(Semaphore::MAX_PERMITS);
            Arc::new(Semaphore::new(permits))
        });
        Arc::new(Self {
            spec,
            counters: Counters::default(),
            logs,
            slots,
            numbers: AtomicU64::new(0),
            state: Mutex::default(),
        })
    }

    /// Calls the function in a task of its own: as on AWS, a caller that goes away does not stop it.
    pub(crate) async fn invoke(self: &Arc<Self>, request_id: String, payload: Bytes) -> Reply {
        let function = Arc::clone(self);
        let task = tokio::spawn(async move { function.run(request_id, payload).await });
        task.await
            .unwrap_or_else(|error| Err(InvokeError::Crashed(error.to_string())))
    }

    async fn run(self: Arc<Self>, request_id: String, payload: Bytes) -> Reply {
        count(&self.counters.calls);
        if payload.len() > PAYLOAD_LIMIT {
            return Err(InvokeError::PayloadTooLarge {
                bytes: payload.len(),
            });
        }
        let _slot = self.slot()?;
        let reply = self.run_in_slot(&request_id, payload).await;
        if let Err(error) = &reply {
            count(&self.counters.failed);
            if matches!(error, InvokeError::TimedOut(_)) {
                count(&self.counters.timed_out);
            }
            tracing::warn!(function = self.spec.name, request_id, %error, "a call failed");
        }
        reply
    }

    /// A place within the reserved concurrency.
    fn slot(&self) -> Result<Option<OwnedSemaphorePermit>, InvokeError> {
        let Some(slots) = &self.slots else {
            return Ok(None);
        };
        let slot = Arc::clone(slots).try_acquire_owned();
        if slot.is_err() {
            count(&self.counters.throttled);
        }
        slot.map(Some).map_err(|_| InvokeError::Throttled)
    }

    async fn run_in_slot(&self, request_id: &str, payload: Bytes) -> Reply {
        let (instance, cold) = if let Some(instance) = self.take_idle()? {
            (instance, None)
        } else {
            let instance = self.start().await?;
            let init = lock(&instance.stats()).init;
            (instance, init)
        };
        self.platform(
            &instance,
            &format!("START RequestId: {request_id} Version: $LATEST"),
        );
        let begun = std::time::Instant::now();
        let arn = environment::arn(&self.spec.name);
        let Ended { reply, reusable } = instance
            .call(request_id, arn, payload, self.spec.timeout)
            .await;
        if let Err(error @ InvokeError::TimedOut(_)) = &reply {
            self.platform(
                &instance,
                &format!("{} {request_id} {error}", jiff::Timestamp::now()),
            );
        }
        self.platform(&instance, &format!("END RequestId: {request_id}"));
        self.report(&instance, request_id, begun.elapsed(), cold);
        if reusable {
            self.give_back(instance);
        }
        reply
    }

    /// The idle instance used last; `None` when there is none that lives.
    fn take_idle(&self) -> Result<Option<Arc<Instance>>, InvokeError> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(InvokeError::Closed);
        }
        while let Some(instance) = state.idle.pop() {
            if instance.is_usable() {
                return Ok(Some(instance));
            }
        }
        Ok(None)
    }

    fn give_back(&self, instance: Arc<Instance>) {
        let mut state = lock(&self.state);
        if !state.closed {
            state.idle.push(instance);
        }
    }

    /// Starts one more process and waits until it asks for work.
    async fn start(&self) -> Result<Arc<Instance>, InvokeError> {
        let api = RuntimeApi::start()
            .await
            .map_err(|error| InvokeError::NotStarted(error.to_string()))?;
        let instance = self.spawn(api)?;
        instance.ready(self.spec.init_timeout).await?;
        instance.sample_memory();
        Ok(instance)
    }

    /// Under the lock, so that no process can start once the function is closed.
    fn spawn(&self, api: RuntimeApi) -> Result<Arc<Instance>, InvokeError> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(InvokeError::Closed);
        }
        let number = self.numbers.fetch_add(1, Ordering::SeqCst) + 1;
        let instance = Instance::spawn(&self.spec, number, api, &self.logs)
            .map_err(|error| InvokeError::NotStarted(error.to_string()))?;
        count(&self.counters.started);
        let instance = Arc::new(instance);
        state.all.retain(|known| known.strong_count() > 0);
        state.all.push(Arc::downgrade(&instance));
        state.stats.push(instance.stats());
        Ok(instance)
    }

    /// Starts one more idle instance, whatever the reserved concurrency.
    pub(crate) async fn warm(&self) -> Result<InstanceStats, InvokeError> {
        let instance = self.start().await?;
        let stats = lock(&instance.stats()).clone();
        self.give_back(instance);
        Ok(stats)
    }

    /// Kills every process of the function and waits for their ends. Calls under way end with `Crashed`.
    pub(crate) async fn kill_all(&self) -> usize {
        let alive = self.take_all(false);
        for instance in &alive {
            instance.kill();
        }
        for instance in &alive {
            instance.kill_and_wait().await;
        }
        alive.len()
    }

    /// Refuses every further call and orders all processes to be killed; returns those to wait for.
    pub(crate) fn close(&self) -> Vec<Arc<Instance>> {
        let alive = self.take_all(true);
        for instance in &alive {
            instance.kill();
        }
        alive
    }

    fn take_all(&self, close: bool) -> Vec<Arc<Instance>> {
        let mut state = lock(&self.state);
        state.closed |= close;
        // Taken before the idle ones are let go: the last reference to an instance ends it unwaited.
        let alive = state
            .all
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|instance| instance.is_alive())
            .collect();
        state.idle.clear();
        alive
    }

    /// The figures of every instance there was, oldest first.
    pub(crate) fn instances(&self) -> Vec<InstanceStats> {
        lock(&self.state)
            .stats
            .iter()
            .map(|stats| lock(stats).clone())
            .collect()
    }

    fn platform(&self, instance: &Instance, text: &str) {
        self.logs.write(
            &self.spec.name,
            instance.number,
            LogStream::Platform,
            text.as_bytes(),
        );
    }

    fn report(
        &self,
        instance: &Instance,
        request_id: &str,
        took: Duration,
        cold: Option<Duration>,
    ) {
        let peak_mb = lock(&instance.stats())
            .peak_rss_kb
            .unwrap_or_default()
            .div_ceil(1024);
        let mut text = format!(
            "REPORT RequestId: {request_id}\tDuration: {:.2} ms\tMemory Size: {} MB\tMax Memory Used: {peak_mb} MB",
            took.as_secs_f64() * 1000.0,
            self.spec.memory_mb,
        );
        if let Some(init) = cold {
            let _ = write!(
                text,
                "\tInit Duration: {:.2} ms",
                init.as_secs_f64() * 1000.0
            );
        }
        self.platform(instance, &text);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
