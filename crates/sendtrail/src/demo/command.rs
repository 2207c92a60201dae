//! `sendtrail demo`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use sendtrail_simulator::crm::Switches;
use tokio::task::JoinSet;

use super::chaos;
use super::list::{ALL, Scenario};
use super::scenarios::play;
use super::stage::{Failed, Stage};
use super::summary::{Report, table};
use crate::failure::{Failure, Kind};
use crate::local::functions_folder;

/// Plays every scenario on a fresh local stack and tells what became of each send.
///
/// The real function binaries are driven through their public doors. In every scenario the send API may get
/// at most one document. Ends with exit code 1 if any scenario does not end as it should.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Folder with the binaries intake, side-effect and poller [default: this command's own folder].
    #[arg(long, value_name = "DIR")]
    functions: Option<PathBuf>,
    /// Play only these scenarios; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// List the scenarios and what each shows.
    #[arg(long)]
    list: bool,
    /// Instead of the scenarios: kill any process at random moments, N times, and report.
    #[arg(long, value_name = "N", conflicts_with_all = ["only", "list"])]
    chaos: Option<u16>,
    /// The first seed of --chaos; the same seed gives the same kills.
    #[arg(long, value_name = "S", requires = "chaos", default_value_t = 1)]
    seed: u64,
    /// How the CRM answers where nobody knows, as JSON; each report then also tells what went wrong.
    #[arg(long, value_name = "JSON", hide = true, conflicts_with = "chaos", value_parser = switches)]
    crm_switches: Option<Switches>,
    /// How many to play at once.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=16))]
    jobs: u8,
}

fn switches(text: &str) -> Result<Switches, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Plays the scenarios; with `json`, standard output holds only the array of their results.
#[expect(clippy::print_stdout, reason = "the report is what the command is for")]
pub(crate) async fn run(arguments: &DemoArguments, json: bool) -> Result<ExitCode, Failed> {
    if arguments.list {
        for scenario in ALL {
            println!(
                "{:34}{:14}{}",
                scenario.name, scenario.expected, scenario.shows
            );
        }
        return Ok(ExitCode::SUCCESS);
    }
    let functions = functions_folder(arguments.functions.as_deref());
    if let Some(trials) = arguments.chaos {
        return Ok(chaos_run(arguments, &functions, trials).await);
    }
    let chosen = choose(&arguments.only)?;
    let jobs = usize::from(arguments.jobs);
    let reports = play_all(&chosen, &functions, arguments.crm_switches.as_ref(), jobs).await;
    if json {
        println!(
            "{}",
            serde_json::to_string_pretty(&reports).unwrap_or_default()
        );
    } else {
        for report in &reports {
            println!("{}", report.story());
        }
        print!("{}", table(&reports));
    }
    let all_ok = reports.iter().all(|report| report.ok);
    Ok(if all_ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Kills, and tells what became of each send.
#[expect(clippy::print_stdout, reason = "the report is what the command is for")]
async fn chaos_run(arguments: &DemoArguments, functions: &Path, trials: u16) -> ExitCode {
    let progress = Progress::new(usize::from(trials));
    let jobs = usize::from(arguments.jobs);
    let played = chaos::play(functions, trials, arguments.seed, jobs, |trial| {
        progress.done(&format!("seed {}", trial.seed), trial.is_ok());
    })
    .await;
    progress.finish();
    print!("{}", chaos::table(&played));
    if played.iter().all(chaos::Trial::is_ok) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The failure of the command, with its exit code.
pub(crate) fn failure(failed: &Failed) -> Failure {
    let kind = if matches!(failed, Failed::Usage(_)) {
        Kind::Usage
    } else {
        Kind::Failed
    };
    Failure::new(kind, failed.to_string())
}

fn choose(only: &[String]) -> Result<Vec<Scenario>, Failed> {
    for name in only {
        if !ALL.iter().any(|scenario| scenario.name == name) {
            let known: Vec<_> = ALL.iter().map(|scenario| scenario.name).collect();
            return Err(Failed::Usage(format!(
                "no such scenario: {name}; there are {}",
                known.join(", ")
            )));
        }
    }
    let wanted = |s: &Scenario| only.is_empty() || only.iter().any(|name| name == s.name);
    Ok(ALL.into_iter().filter(wanted).collect())
}

async fn play_all(
    chosen: &[Scenario],
    functions: &Path,
    switches: Option<&Switches>,
    jobs: usize,
) -> Vec<Report> {
    let progress = Progress::new(chosen.len());
    let mut waiting = chosen.iter().copied().enumerate();
    let mut running = JoinSet::new();
    let mut reports: Vec<Option<Report>> = vec![None; chosen.len()];
    loop {
        while running.len() < jobs
            && let Some((index, scenario)) = waiting.next()
        {
            let functions = functions.to_owned();
            let switches = switches.cloned();
            running.spawn(async move { (index, one(scenario, &functions, switches).await) });
        }
        match running.join_next().await {
            None => break,
            Some(Ok((index, report))) => {
                let why = report.failure.as_deref().unwrap_or_default();
                let what = format!("{}  {why}", report.scenario);
                progress.done(what.trim_end(), report.ok);
                reports[index] = Some(report);
            }
            Some(Err(_)) => progress.died(),
        }
    }
    progress.finish();
    let played = chosen.iter().zip(reports);
    played
        .map(|(scenario, report)| {
            report.unwrap_or_else(|| lost(*scenario, "it ended without a report"))
        })
        .collect()
}

async fn one(scenario: Scenario, functions: &Path, switches: Option<Switches>) -> Report {
    let stage = match Stage::start(functions, &switches.clone().unwrap_or_default()).await {
        Ok(stage) => stage,
        Err(failed) => return lost(scenario, &failed.to_string()),
    };
    let played = play(scenario.name, &stage).await;
    let final_state = stage
        .record()
        .map(|record| record.state)
        .unwrap_or_default();
    let counts = stage.stack.send_api.post_counts(None);
    let mut failure = played.err().map(|failed| failed.to_string());
    if let Err(error) = &counts {
        failure.get_or_insert(error.to_string());
    }
    let counts = counts.unwrap_or_default();
    let ok = failure.is_none() && final_state == scenario.expected && counts.received <= 1;
    let trouble = switches.map(|_| stage.trouble(failure.as_deref()));
    let report = Report {
        scenario: scenario.name,
        history_id: stage.history_id(),
        final_state,
        expected_state: scenario.expected,
        posts_received: counts.received,
        posts_refused: counts.refused + counts.incomplete,
        credits: stage.stack.crm.credits().used,
        ok,
        timeline: stage.timeline(),
        failure,
        trouble,
        shows: scenario.shows,
    };
    stage.stack.shutdown().await;
    report
}

fn lost(scenario: Scenario, why: &str) -> Report {
    Report {
        scenario: scenario.name,
        history_id: None,
        final_state: String::new(),
        expected_state: scenario.expected,
        posts_received: 0,
        posts_refused: 0,
        credits: 0,
        ok: false,
        timeline: Vec::new(),
        failure: Some(why.to_owned()),
        trouble: None,
        shows: scenario.shows,
    }
}

/// Tells on standard error how far it is: a bar on a terminal, a line each elsewhere.
struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    fn new(scenarios: usize) -> Self {
        let bar = ProgressBar::new(scenarios as u64);
        let style = "{spinner} {pos}/{len}, {elapsed}  {msg}";
        bar.set_style(
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            bar,
            started: Instant::now(),
        }
    }

    #[expect(
        clippy::print_stderr,
        reason = "where there is no terminal, lines take the bar's place"
    )]
    fn done(&self, what: &str, ok: bool) {
        let mark = if ok { "ok" } else { "FAILED" };
        if self.bar.is_hidden() {
            let elapsed = self.started.elapsed().as_secs();
            eprintln!("{elapsed:>4} s  {mark}  {what}");
        }
        self.bar.set_message(format!("{what} {mark}"));
        self.bar.inc(1);
    }

    fn died(&self) {
        self.bar.inc(1);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
