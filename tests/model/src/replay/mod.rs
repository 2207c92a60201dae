//! A flow, run again over the answers it has got so far.
//!
//! A future cannot be copied, and a state of the model must be. So a running flow is kept as the log of its
//! answers: to go on, the flow is started anew and given the same answers in the same order, each followed by
//! a poll, as they came the first time. What it asks then is what it waits for.

mod ports;
mod request;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use jiff::Timestamp;

pub use ports::{Driver, Drivers, Ports};
pub use request::{Answer, Entry, Request};

/// What a flow has come to.
#[derive(Debug, Clone)]
pub struct Reached<T> {
    /// What it waits for, by the number of the request; empty at its end.
    pub pending: BTreeMap<u32, Request>,
    /// What it gave, at its end.
    pub ended: Option<T>,
    /// When it last asked for the result of a send, answered or not.
    pub looked_up: Option<Timestamp>,
}

/// How a flow starts.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// When.
    pub at: Timestamp,
    /// Names its random bits; no two flows that write have the same.
    pub seed: u64,
    /// The CRM's clock, where the process knew it from an earlier answer.
    pub crm_clock: Option<Timestamp>,
}

/// Runs a flow as far as these answers take it.
///
/// # Panics
/// When the log holds an answer to a request that the flow does not make: it is not the log of this flow, or
/// the flow is not a function of its answers.
pub fn replay<T, F: Future<Output = T>>(
    start: Start,
    log: &[Arc<Entry>],
    flow: impl FnOnce(Ports) -> F,
) -> Reached<T> {
    let ports = Ports(Arc::new(Shared(Mutex::new(Inner::new(start)))));
    let mut flow = pin!(flow(ports.clone()));
    let mut context = Context::from_waker(Waker::noop());
    let mut polled = flow.as_mut().poll(&mut context);
    for entry in log {
        assert!(polled.is_pending(), "an answer after the end: {entry:?}");
        ports.0.release(entry);
        polled = flow.as_mut().poll(&mut context);
    }
    let inner = ports.0.lock();
    match polled {
        Poll::Ready(ended) => Reached {
            pending: BTreeMap::new(),
            ended: Some(ended),
            looked_up: inner.looked_up,
        },
        Poll::Pending => Reached {
            pending: inner
                .pending
                .iter()
                .map(|(number, (request, _))| (*number, request.clone()))
                .collect(),
            ended: None,
            looked_up: inner.looked_up,
        },
    }
}

#[derive(Debug)]
struct Shared(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    now: Timestamp,
    /// The latest `Date` of the CRM that was seen.
    crm_clock: Option<Timestamp>,
    next: u32,
    pending: BTreeMap<u32, (Request, Waker)>,
    answers: BTreeMap<u32, Answer>,
    seed: u64,
    drawn: u64,
    looked_up: Option<Timestamp>,
}

impl Inner {
    fn new(start: Start) -> Self {
        Self {
            now: start.at,
            crm_clock: start.crm_clock,
            next: 0,
            pending: BTreeMap::new(),
            answers: BTreeMap::new(),
            seed: start.seed,
            drawn: 0,
            looked_up: None,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, entry: &Entry) {
        let waker = {
            let mut inner = self.lock();
            inner.now = entry.at;
            if entry.answer.tells_the_crm_clock() {
                inner.crm_clock = inner.crm_clock.max(Some(whole_seconds(entry.at)));
            }
            let asked = inner.pending.remove(&entry.number);
            assert!(asked.is_some(), "an answer to nothing: {entry:?}");
            inner.answers.insert(entry.number, entry.answer.clone());
            asked.map(|(_, waker)| waker)
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A `Date` is in whole seconds.
pub(crate) fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// One call of a port. It is numbered when it is first polled, and gone when it is dropped.
struct Call {
    shared: Arc<Shared>,
    number: Option<u32>,
    request: Request,
}

impl Future for Call {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let shared = Arc::clone(&self.shared);
        let mut inner = shared.lock();
        let number = if let Some(number) = self.number {
            number
        } else {
            if let Request::Sleep { until } = self.request
                && until <= inner.now
            {
                return Poll::Ready(Answer::Slept);
            }
            if let Request::LookUp { .. } = self.request {
                inner.looked_up = Some(inner.now);
            }
            inner.next += 1;
            self.number = Some(inner.next);
            inner.next
        };
        if let Some(answer) = inner.answers.remove(&number) {
            return Poll::Ready(answer);
        }
        let waiting = (self.request.clone(), context.waker().clone());
        inner.pending.insert(number, waiting);
        Poll::Pending
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.shared.lock().pending.remove(&number);
        }
    }
}
