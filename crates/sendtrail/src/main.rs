#![doc = include_str!("../README.md")]

mod aws;
mod cli;
mod config;
mod demo;
mod failure;
mod help;
mod history;
mod key;
mod local;
mod output;
mod schedule;
mod setup;
mod sign;
mod smoke;
mod verify;
mod zoho_check;

use std::process::ExitCode;

use clap::Parser as _;
use jiff::Timestamp;
use sendtrail_startup::OsRandom;

use cli::{Cli, Command};
use failure::{Failure, Kind};
use output::Screen;
use setup::Process;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let process = Process::read();
    let screen = Screen::new(
        cli.json,
        process.variable("NO_COLOR"),
        process.variable("TERM"),
    );
    if let Some(code) = stack(&cli).await {
        return code;
    }
    let unprinted = |error| Failure::new(Kind::Failed, format!("cannot write the result: {error}"));
    let result = run(&cli.command, screen, &process).await;
    match result.and_then(|(text, code)| output::print(&text).map(|()| code).map_err(unprinted)) {
        Ok(code) => code,
        Err(failure) => {
            output::print_failure(screen, &failure);
            ExitCode::from(failure.kind.exit_code())
        }
    }
}

/// Runs the commands that start a local stack; they print as they go.
async fn stack(cli: &Cli) -> Option<ExitCode> {
    let ended = match &cli.command {
        Command::Local(arguments) => local::run(arguments).await.map_err(outside),
        Command::Demo(arguments) => demo::run(arguments, cli.json)
            .await
            .map_err(|failed| demo::failure(&failed)),
        Command::Measure(arguments) => local::measure(arguments).await.map_err(outside),
        Command::Sign(_)
        | Command::Verify(_)
        | Command::Key(_)
        | Command::History(_)
        | Command::Zoho(_)
        | Command::Schedule(_)
        | Command::Smoke(_)
        | Command::Config(_) => {
            return None;
        }
    };
    Some(ended.unwrap_or_else(|failure| {
        output::print_failure(Screen::new(cli.json, None, None), &failure);
        ExitCode::from(failure.kind.exit_code())
    }))
}

fn outside(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Failed, error.to_string())
}

/// Runs a command; gives what is to be printed and the exit code.
async fn run(
    command: &Command,
    screen: Screen,
    process: &Process,
) -> Result<(String, ExitCode), Failure> {
    let text = match command {
        Command::Sign(args) => sign::run(args, screen, process, Timestamp::now(), &OsRandom).await,
        Command::Verify(args) => {
            let verdict = verify::run(args, screen, process, Timestamp::now()).await?;
            return Ok((verdict.text.clone(), verdict.exit_code()));
        }
        Command::Smoke(args) => return smoke::run(args, screen, process).await,
        Command::Zoho(args) => return zoho_check::run(args, screen, process).await,
        Command::Key(command) => key::run(command, screen, &OsRandom),
        Command::History(args) => history::run(args, screen, process).await,
        Command::Schedule(args) => schedule::run(args, screen, process).await,
        Command::Config(args) => config::run(args, screen, process).await,
        // Ran before, in `stack`.
        Command::Local(_) | Command::Demo(_) | Command::Measure(_) => Ok(String::new()),
    };
    Ok((text?, ExitCode::SUCCESS))
}
