//! What a test does to the store from the side.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{
    ParameterCall, ParameterFault, ParameterKind, ParameterSwitches, Shared, StoredParameter,
};

/// Running services. Dropping it ends them.
#[derive(Debug)]
pub struct ParametersHandle {
    shared: Shared,
    address: SocketAddr,
    url: String,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl ParametersHandle {
    pub(crate) fn new(
        shared: Shared,
        address: SocketAddr,
        stop: oneshot::Sender<()>,
        task: JoinHandle<()>,
    ) -> Self {
        let (url, stop) = (format!("http://{address}"), Some(stop));
        Self {
            shared,
            address,
            url,
            stop,
            task,
        }
    }

    /// `http://127.0.0.1:port`, for `AWS_ENDPOINT_URL`; the control API is below it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Writes a parameter, without limits.
    pub fn put(&self, name: &str, value: &str, kind: ParameterKind) {
        self.shared.lock().store.put(name, value, kind);
    }

    /// Deletes a parameter; whether there was one.
    pub fn delete(&self, name: &str) -> bool {
        self.shared.lock().store.delete(name)
    }

    /// The value of a parameter as it is now.
    pub fn value(&self, name: &str) -> Option<String> {
        let state = self.shared.lock();
        let parameter = state.store.read(name, Duration::ZERO)?;
        Some(parameter.value.clone())
    }

    /// Every parameter, by name.
    pub fn all(&self) -> Vec<StoredParameter> {
        self.shared.lock().store.all()
    }

    /// Writes a secret of Secrets Manager.
    pub fn put_secret(&self, name: &str, value: &str) {
        let mut state = self.shared.lock();
        state.secrets.insert(name.to_owned(), value.to_owned());
    }

    /// Every value that calls wrote, oldest first.
    pub fn written(&self) -> Vec<StoredParameter> {
        self.shared.lock().written.clone()
    }

    /// Every call so far, oldest first.
    pub fn calls(&self) -> Vec<ParameterCall> {
        self.shared.lock().calls.clone()
    }

    /// How many calls of each action there were, refused ones too.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        count(&self.shared.lock().calls)
    }

    /// Sets a fault.
    pub fn add_fault(&self, fault: ParameterFault) {
        self.shared.lock().faults.add(fault);
    }

    /// Removes every fault.
    pub fn clear_faults(&self) {
        self.shared.lock().faults.clear();
    }

    /// Puts other limits and behaviour in place.
    pub fn set_switches(&self, switches: ParameterSwitches) {
        self.shared.lock().switches = switches;
    }

    /// Answers what is under way (for at most two seconds), then ends.
    pub async fn shutdown(mut self) {
        drop(self.stop.take());
        let _ = tokio::time::timeout(Duration::from_secs(2), &mut self.task).await;
    }
}

impl Drop for ParametersHandle {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.task.abort();
    }
}

pub(crate) fn count(calls: &[ParameterCall]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.action.clone()).or_default() += 1;
    }
    counts
}
