//! One invocation: a process, a time-out that kills, and a death now and then at any await.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::{Either, select};

use crate::function::{Function, Kind, Process};
use crate::sim::{Fault, World};

/// How an invocation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End<T> {
    /// It answered.
    Done(T),
    /// It was killed at some await.
    Killed,
    /// It was killed at its time-out.
    TimedOut,
}

impl<T> End<T> {
    /// The answer, if one came.
    pub fn done(self) -> Option<T> {
        match self {
            Self::Done(answer) => Some(answer),
            Self::Killed | Self::TimedOut => None,
        }
    }
}

/// A future that is dropped before it is polled for the last time.
struct Mortal<F> {
    inner: Option<Pin<Box<F>>>,
    polls: u64,
}

impl<F: Future> Future for Mortal<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            self.inner = None;
        }
        self.polls = self.polls.saturating_sub(1);
        match &mut self.inner {
            Some(inner) => inner.as_mut().poll(context).map(Some),
            None => Poll::Ready(None),
        }
    }
}

/// Runs `serve` in an invocation of this kind.
pub async fn invoke<T, F>(
    world: &Arc<World>,
    kind: Kind,
    timeout: i64,
    serve: impl FnOnce(Arc<Function>) -> F,
) -> End<T>
where
    F: Future<Output = T> + Send,
{
    let warm = world.take_process(kind);
    let process = warm.unwrap_or_else(|| Process::new(world));
    let (number, polls, jumps) = {
        let mut state = world.state();
        state.totals.invocations += 1;
        let number = state.totals.invocations;
        let is_killed = kind != Kind::Operator && state.strikes(Fault::Killed);
        let polls = if is_killed {
            state.rng.below(60)
        } else {
            u64::MAX
        };
        let jumps = state.strikes(Fault::ClockJumps).then(|| {
            let most = timeout / 2;
            state.rng.between(0, most)
        });
        (number, polls, jumps)
    };
    let function = Function::new(world, kind, number, &process);
    if let Some(after) = jumps {
        let (world, jumping) = (Arc::clone(world), Arc::clone(&function));
        world.executor.clone().spawn(async move {
            world.sleep(after).await;
            jumping.jump();
        });
    }
    let mortal = Mortal {
        inner: Some(Box::pin(serve(Arc::clone(&function)))),
        polls,
    };
    let end = match select(pin!(mortal), pin!(world.sleep(timeout))).await {
        Either::Left((Some(answer), _)) => End::Done(answer),
        Either::Left((None, _)) => End::Killed,
        Either::Right(_) => End::TimedOut,
    };
    match end {
        End::Done(_) => world.give_process(kind, process),
        End::Killed => world.log(&function.name, || "killed".to_owned()),
        End::TimedOut => {
            let now = world.now();
            let mut state = world.state();
            state
                .log
                .line(now, &function.name, || "killed at its time-out".to_owned());
            let promises = matches!(kind, Kind::Poller | Kind::SideEffect);
            if promises && !function.has_jumped() {
                state.checker.outlived(now, &function.name);
            }
        }
    }
    end
}
