//! A single-threaded executor on virtual time: no wall clock, no globals, and the same order in every run.
//!
//! Tasks that are ready run in the order they became so. When none is, time jumps to the earliest timer; of two
//! at one instant, the one that was set first.

use std::collections::{BinaryHeap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use super::lock;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
type Ready = Arc<Mutex<VecDeque<usize>>>;

/// The handle by which tasks sleep and start others.
#[derive(Clone)]
pub struct Executor(Arc<Inner>);

struct Inner {
    now: AtomicI64,
    timers: Mutex<Timers>,
    ready: Ready,
    tasks: Mutex<Tasks>,
}

#[derive(Default)]
struct Timers {
    heap: BinaryHeap<Timer>,
    set: u64,
}

struct Timer {
    at: i64,
    number: u64,
    waker: Waker,
}

#[derive(Default)]
struct Tasks {
    slots: Vec<Slot>,
    free: Vec<usize>,
    alive: usize,
}

struct Slot {
    /// Taken out while it is polled.
    task: Option<Task>,
    name: Arc<Name>,
    waker: Waker,
}

/// Puts its task into the queue, once until it is polled.
struct Name {
    slot: usize,
    queued: AtomicBool,
    ready: Ready,
}

impl Wake for Name {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            lock(&self.ready).push_back(self.slot);
        }
    }
}

impl Executor {
    /// Starts at the millisecond 0.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            now: AtomicI64::new(0),
            timers: Mutex::default(),
            ready: Ready::default(),
            tasks: Mutex::default(),
        }))
    }

    /// Milliseconds since the start.
    pub fn now(&self) -> i64 {
        self.0.now.load(Ordering::Relaxed)
    }

    /// Completes this many milliseconds from now; at once when that is not in the future.
    pub fn sleep(&self, millis: i64) -> Sleep {
        Sleep {
            executor: self.clone(),
            at: self.now().saturating_add(millis),
            waker: None,
        }
    }

    /// Starts a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.0.tasks);
        let slot = tasks.free.pop().unwrap_or(tasks.slots.len());
        let name = Arc::new(Name {
            slot,
            queued: AtomicBool::new(false),
            ready: Arc::clone(&self.0.ready),
        });
        let entry = Slot {
            task: Some(Box::pin(task)),
            waker: Arc::clone(&name).into(),
            name: Arc::clone(&name),
        };
        if slot == tasks.slots.len() {
            tasks.slots.push(entry);
        } else {
            tasks.slots[slot] = entry;
        }
        tasks.alive += 1;
        drop(tasks);
        name.wake();
    }

    /// Runs until no task is left, none can go on, or `stop` says so; it is asked whenever time moves.
    pub fn run(&self, mut stop: impl FnMut(i64) -> bool) {
        loop {
            while let Some(slot) = self.next_ready() {
                self.poll(slot);
            }
            let Some(timer) = lock(&self.0.timers).heap.pop() else {
                return;
            };
            let now = self.now();
            if timer.at > now {
                self.0.now.store(timer.at, Ordering::Relaxed);
                if stop(timer.at) {
                    return;
                }
            }
            timer.waker.wake();
        }
    }

    /// Drops every task. They hold this executor, so that nothing would ever be freed else.
    pub fn clear(&self) {
        let slots = std::mem::take(&mut lock(&self.0.tasks).slots);
        drop(slots);
        let heap = std::mem::take(&mut lock(&self.0.timers).heap);
        drop(heap);
    }

    fn next_ready(&self) -> Option<usize> {
        lock(&self.0.ready).pop_front()
    }

    fn poll(&self, slot: usize) {
        let mut tasks = lock(&self.0.tasks);
        let Some(entry) = tasks.slots.get_mut(slot) else {
            return;
        };
        entry.name.queued.store(false, Ordering::Relaxed);
        // A waker may outlive its task.
        let Some(mut task) = entry.task.take() else {
            return;
        };
        let waker = entry.waker.clone();
        drop(tasks);
        let is_done = task
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready();
        if is_done {
            // What it holds is dropped outside the lock.
            drop(task);
            let mut tasks = lock(&self.0.tasks);
            tasks.free.push(slot);
            tasks.alive -= 1;
        } else {
            lock(&self.0.tasks).slots[slot].task = Some(task);
        }
    }
}

impl Default for Executor {
    fn default() -> Self {
        Self::new()
    }
}

/// Sleeps on virtual time.
pub struct Sleep {
    executor: Executor,
    at: i64,
    waker: Option<Waker>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.executor.now() >= self.at {
            return Poll::Ready(());
        }
        let is_set = self
            .waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()));
        if !is_set {
            let waker = context.waker().clone();
            self.waker = Some(waker.clone());
            let mut timers = lock(&self.executor.0.timers);
            timers.set += 1;
            let number = timers.set;
            timers.heap.push(Timer {
                at: self.at,
                number,
                waker,
            });
        }
        Poll::Pending
    }
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The earliest is the greatest, as the heap gives the greatest first.
impl Ord for Timer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_run_in_the_order_of_time_and_then_of_their_timers() {
        let executor = Executor::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        for (name, at) in [("c", 7), ("a", 5), ("b", 5)] {
            let (seen, own) = (Arc::clone(&seen), executor.clone());
            executor.spawn(async move {
                own.sleep(at).await;
                lock(&seen).push((own.now(), name));
            });
        }
        executor.run(|_| false);
        assert_eq!(*lock(&seen), [(5, "a"), (5, "b"), (7, "c")]);
    }

    #[test]
    fn a_slot_is_used_again_and_a_late_waker_does_no_harm() {
        let executor = Executor::new();
        let own = executor.clone();
        executor.spawn(async move {
            let long = own.sleep(100);
            futures_util::future::select(long, own.sleep(1)).await;
        });
        let (own, other) = (executor.clone(), executor.clone());
        executor.spawn(async move {
            own.sleep(10).await;
            let inner = own.clone();
            other.spawn(async move { inner.sleep(500).await });
        });
        executor.run(|_| false);
        assert_eq!(executor.now(), 510);
        assert_eq!(lock(&executor.0.tasks).alive, 0);
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let executor = Executor::new();
        let own = executor.clone();
        executor.spawn(async move {
            loop {
                own.sleep(10).await;
            }
        });
        executor.run(|now| now >= 100);
        assert_eq!(executor.now(), 100);
    }
}
