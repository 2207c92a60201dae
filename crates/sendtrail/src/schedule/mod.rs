//! `sendtrail schedule`: the poller's schedule in an AWS account, seen, paused and changed.

mod invoke;
mod overdue;
mod pause;
mod rate;
mod runs;
mod show;
mod tick;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;

use crate::aws::{Aws, AwsArgs, Names, stage};
use crate::failure::{Failure, Kind};
use crate::help;
use crate::output::{Screen, instant, json_line, plain, span};
use crate::setup::Process;
use overdue::Overdue;
use pause::Pause;
use tick::Change;

pub(crate) use rate::Rate;
pub(crate) use runs::Run;
pub(crate) use tick::Tick;

#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    /// The stage [default: the configuration's].
    #[arg(long, value_name = "NAME", global = true)]
    stage: Option<String>,
    #[arg(long, value_name = "FILE", help = help::CONFIG_FILE, global = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    aws: AwsArgs,
    #[command(subcommand)]
    command: ScheduleCommand,
}

#[derive(Debug, Subcommand)]
enum ScheduleCommand {
    /// Show whether it ticks, how often, and what the last run did.
    Show,
    /// Stop look-ups and sweeps; nothing is lost, everything waits.
    #[command(after_help = help::SCHEDULE_PAUSE)]
    Pause {
        /// Why; kept in the schedule's description.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Who; kept in the schedule's description [default: $USER].
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Go on after a pause; says how many rows are overdue.
    #[command(after_help = help::SCHEDULE_RESUME)]
    Resume,
    /// Change the time between two ticks.
    #[command(after_help = help::SCHEDULE_EVERY)]
    Every {
        /// 2m, 3m, 5m or 10m.
        #[arg(value_name = "TIME", value_parser = rate::parse)]
        rate: Rate,
    },
    /// Run the poller once, now, and wait for its report.
    #[command(after_help = help::SCHEDULE_RUN_NOW)]
    RunNow,
}

/// Runs `schedule`.
pub(crate) async fn run(
    args: &ScheduleArgs,
    screen: Screen,
    process: &Process,
) -> Result<String, Failure> {
    let names = stage(args.stage.as_deref(), args.config.as_deref(), process)?;
    // What a person is to be asked again for is said before anything is asked.
    let pause = match &args.command {
        ScheduleCommand::Pause { reason, by } => {
            Some(new_pause(by.as_deref(), reason, process, Timestamp::now())?)
        }
        ScheduleCommand::Show
        | ScheduleCommand::Resume
        | ScheduleCommand::Every { .. }
        | ScheduleCommand::RunNow => None,
    };
    let aws = Aws::find(&args.aws).await?;
    match (&args.command, pause) {
        (ScheduleCommand::RunNow, _) => Ok(show::ran(&invoke::run(&aws, &names).await?, screen)),
        (ScheduleCommand::Pause { .. }, Some(pause)) => {
            pause_it(&aws, &names, &pause, screen).await
        }
        (ScheduleCommand::Show | ScheduleCommand::Pause { .. }, _) => {
            show_it(&aws, &names, screen).await
        }
        (ScheduleCommand::Every { rate }, _) => change_rate(&aws, &names, *rate, screen).await,
        (ScheduleCommand::Resume, _) => {
            let tick = Tick::read(&aws, &names).await?;
            if tick.is_enabled() && tick.pause().1.is_none() {
                return Ok(unchanged(&tick, "it is not paused", screen));
            }
            let overdue = Overdue::count(&names, args.config.as_deref(), process).await;
            resume_it(tick, &overdue, screen).await
        }
    }
}

fn new_pause(
    by: Option<&str>,
    reason: &str,
    process: &Process,
    now: Timestamp,
) -> Result<Pause, Failure> {
    let by = by.or_else(|| process.variable("USER")).ok_or_else(|| {
        let what = "say who pauses with --by NAME: $USER is not set";
        Failure::new(Kind::Usage, what)
    })?;
    Pause::new(now, by, reason)
}

async fn show_it(aws: &Aws, names: &Names, screen: Screen) -> Result<String, Failure> {
    let now = Timestamp::now();
    let tick = Tick::read(aws, names).await?;
    // A schedule is worth seeing also where its log is not.
    let last = Run::newest(aws, names, now).await;
    let shown = show::Shown {
        name: tick.name(),
        region: &aws.region,
        enabled: tick.is_enabled(),
        expression: tick.expression(),
        rate: tick.rate(),
        pause: tick.pause().1,
        last: last.map_err(|failure| failure.message),
    };
    Ok(if screen.json {
        shown.json(now)
    } else {
        shown.text(screen, now)
    })
}

async fn pause_it(
    aws: &Aws,
    names: &Names,
    pause: &Pause,
    screen: Screen,
) -> Result<String, Failure> {
    let tick = Tick::read(aws, names).await?;
    let name = tick.name().to_owned();
    let (description, earlier) = tick.pause();
    if let Some(earlier) = earlier.filter(|_| !tick.is_enabled()) {
        let since = instant(pause.since, earlier.since);
        let (by, why) = (plain(&earlier.by), plain(&earlier.reason));
        let what = format!(
            "it is paused already, since {since} by {by}: {why}; nothing was changed. Resume it first, to pause \
             it for another reason"
        );
        return Err(Failure::new(Kind::Refused, what));
    }
    let change = Change {
        enabled: Some(false),
        description: Some(pause.noted(&description)?),
        rate: None,
    };
    tick.write(change).await?;
    if screen.json {
        let since = pause.since.to_string();
        let paused = json!({"since": since, "by": pause.by, "reason": pause.reason});
        return Ok(json_line(
            &json!({"schedule": name, "enabled": false, "paused": paused}),
        ));
    }
    Ok(format!(
        "{name} is paused: nothing is looked up and no claim is swept. Nothing is lost; deadlines go on. The \
         alarms poller-silent and schedule-silent will fire. A deploy that writes the schedule ends the pause.\n"
    ))
}

async fn resume_it(tick: Tick<'_>, overdue: &Overdue, screen: Screen) -> Result<String, Failure> {
    let name = tick.name().to_owned();
    let (description, pause) = tick.pause();
    let change = Change {
        enabled: Some(true),
        description: Some(description),
        rate: None,
    };
    tick.write(change).await?;
    if screen.json {
        let since = pause.map(|pause| pause.since.to_string());
        let mut value = json!({"schedule": name, "enabled": true, "paused_since": since});
        overdue.add_to(&mut value);
        return Ok(json_line(&value));
    }
    let length = pause.map_or(String::new(), |pause| {
        let length = span(Timestamp::now().duration_since(pause.since));
        format!(" after {length}")
    });
    Ok(format!("{name} ticks again{length}.\n{overdue}\n"))
}

async fn change_rate(
    aws: &Aws,
    names: &Names,
    rate: Rate,
    screen: Screen,
) -> Result<String, Failure> {
    let tick = Tick::read(aws, names).await?;
    if tick.rate() == Some(rate) {
        return Ok(unchanged(
            &tick,
            &format!("it ticks {rate} already"),
            screen,
        ));
    }
    let name = tick.name().to_owned();
    let before = plain(tick.expression());
    let enabled = tick.is_enabled();
    let change = Change {
        rate: Some(rate),
        ..Change::default()
    };
    tick.write(change).await?;
    let minutes = rate.minutes();
    let follow = format!(
        "A deploy that writes the schedule puts it back unless PollIntervalMinutes={minutes} is set, and only a \
         deploy tells the poller (poller.interval): set the parameter and deploy"
    );
    if screen.json {
        return Ok(json_line(&json!({
            "schedule": name, "enabled": enabled, "minutes": minutes, "before": before, "warning": follow,
        })));
    }
    let paused = if enabled { "" } else { ", once it is resumed" };
    Ok(format!(
        "{name} ticks {rate} now{paused}; it was {before}.\n{follow}.\n"
    ))
}

/// Nothing was to be done.
fn unchanged(tick: &Tick<'_>, why: &str, screen: Screen) -> String {
    let name = tick.name();
    if screen.json {
        let enabled = tick.is_enabled();
        return json_line(&json!({"schedule": name, "enabled": enabled, "unchanged": why}));
    }
    format!("{name}: {why}; nothing was changed\n")
}
