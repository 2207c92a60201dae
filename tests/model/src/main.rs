//! The command: explores the configurations, or shows that each mutation is caught.

mod mutations;
mod table;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Parser, Subcommand};
use sendtrail_model::config::{self, Config};
use sendtrail_model::explore::{Report, Verdict, explore};
use sendtrail_model::rules::Rule;

#[derive(Parser)]
#[command(about, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    explore: Explore,
}

#[derive(Subcommand)]
enum Command {
    /// Breaks the product on purpose, in a copy, one rule at a time: each must be caught.
    Mutations(mutations::Mutations),
}

#[derive(Args)]
struct Explore {
    /// Other, smaller bounds: under a minute instead of minutes.
    #[arg(long)]
    short: bool,
    /// Only these configurations; may be given several times.
    #[arg(long = "config", value_name = "NAME")]
    names: Vec<String>,
    /// Of the rules of a state judge this one alone, and go on past states in which another is broken.
    ///
    /// That an end can always be reached is judged as well.
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Tell the configurations, what each must come to, and the rules; explore nothing.
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Some(Command::Mutations(mutations)) => mutations.run(),
        None => cli.explore.run(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // Nobody reads any more, as after `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "sendtrail-model: {error}");
            ExitCode::from(2)
        }
    }
}

impl Explore {
    fn run(&self) -> io::Result<bool> {
        let mut configs = config::all(self.short);
        for name in &self.names {
            known(
                "configuration",
                name,
                configs.iter().map(|config| config.name),
            )?;
        }
        configs
            .retain(|config| self.names.is_empty() || self.names.iter().any(|n| n == config.name));
        if self.list {
            write!(io::stdout().lock(), "{}", table::listed(&configs))?;
            return Ok(true);
        }
        let only = self.rule.as_deref();
        let only = only.map(|name| rule(name, &configs)).transpose()?;
        let mut reports = Vec::new();
        match explore_all(&configs, only, &mut reports) {
            // Nobody reads any more; what was found so far is still said by how this ends.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            told => told?,
        }
        Ok(reports
            .iter()
            .all(|report| matches!(report.verdict, Verdict::Holds)))
    }
}

fn explore_all(
    configs: &[Config],
    only: Option<&'static str>,
    reports: &mut Vec<Report>,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let start = Instant::now();
    writeln!(out, "{}", table::head())?;
    for config in configs {
        reports.push(one(config, only));
        if let Some(report) = reports.last() {
            writeln!(out, "{}", table::row(config, report))?;
        }
        out.flush()?;
    }
    write!(
        out,
        "{}",
        table::foot(configs, reports, only, start.elapsed())
    )?;
    out.flush()
}

/// The rule of this name, where one of these configurations can break it.
fn rule(name: &str, configs: &[Config]) -> io::Result<&'static str> {
    let found = known("rule", name, table::rules())?;
    let one_record = !configs.iter().any(|config| config.one_twin);
    let needs_two = Rule::ALL
        .iter()
        .any(|rule| rule.name() == found && table::needs_two(*rule));
    if needs_two && one_record {
        return Err(io::Error::other(format!(
            "{found} needs a second record, which none of these configurations has; try --config twins"
        )));
    }
    Ok(found)
}

/// The name among these that was given; the error tells them all.
fn known<'a>(
    what: &str,
    name: &str,
    all: impl IntoIterator<Item = &'a str>,
) -> io::Result<&'a str> {
    let all: Vec<_> = all.into_iter().collect();
    all.iter()
        .find(|known| **known == name)
        .copied()
        .ok_or_else(|| {
            let there = table::list("  ", all);
            io::Error::other(format!("there is no {what} {name}; there are\n{there}"))
        })
}

/// Explores one, and tells how far it is meanwhile.
fn one(config: &Config, only: Option<&'static str>) -> Report {
    let mut told = Instant::now();
    explore(config, only, |states, depth| {
        if told.elapsed().as_secs() >= 5 {
            told = Instant::now();
            let _ = writeln!(
                io::stderr(),
                "{}: {states} states, depth {depth}",
                config.name
            );
        }
    })
}
