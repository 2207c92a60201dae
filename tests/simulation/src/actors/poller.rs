//! One run of the poller.

use std::sync::Arc;

use sendtrail_core::flows::{self, PollReport};

use super::invocation::{End, invoke};
use crate::api::Drivers;
use crate::function::Kind;
use crate::sim::World;

/// What a run was.
#[derive(Debug, Clone, PartialEq)]
pub enum Ran {
    /// It listed and was not hindered.
    Well(Box<PollReport>),
    /// It was killed, could not list, or the CRM slowed it down.
    Badly,
}

/// Runs the poller once.
pub async fn poll(world: &Arc<World>) -> Ran {
    let started = world.now();
    let timeout = world.settings.poller_timeout;
    let end = invoke(world, Kind::Poller, timeout, |function| async move {
        let drivers = Drivers::of(&function)?;
        let policy = &function.world.settings.poll;
        let until = function.after(timeout);
        let run = flows::run(&*function, &drivers, &*function, policy, until).await;
        function.world.log(&function.name, || match &run {
            Ok(report) => format!("run -> {report}"),
            Err(error) => format!("run -> {error}"),
        });
        Some(run)
    });
    let report = match end.await {
        End::Done(Some(Ok(report))) => report,
        End::Done(_) | End::Killed | End::TimedOut => return Ran::Badly,
    };
    let mut state = world.state();
    state.totals.runs += 1;
    if report.crm_rate_limited > 0 {
        return Ran::Badly;
    }
    let place = state.good_runs.partition_point(|run| *run <= started);
    state.good_runs.insert(place, started);
    Ran::Well(Box::new(report))
}
