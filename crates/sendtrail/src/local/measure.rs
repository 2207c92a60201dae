//! `sendtrail measure`: figures for the functions' budgets, from the real binaries.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use sendtrail_simulator::crm::{Seed, SeedRecord, Switches};
use serde_json::{Map, json};
use thiserror::Error;

use super::stack::tick_input;
use super::starts::{self, Python, median};
use super::{LETTER, LocalError, LocalStack, StackOptions, Timing, functions_folder};

/// Measure start-up and memory of the functions, and what a look-up costs.
#[derive(Debug, Args)]
pub(crate) struct MeasureArguments {
    /// Folder with the binaries [default: this command's own folder].
    #[arg(long, value_name = "DIR")]
    functions: Option<PathBuf>,
    /// How many starts of each function.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
    runs: u8,
    /// How many due rows to look up.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=200))]
    rows: u8,
    /// Measure starts alone: with secrets in files and in Parameter Store, and of a Python function.
    #[arg(long)]
    starts: bool,
    /// A Python 3.11 with awslambdaric, to compare with.
    #[arg(long, value_name = "FILE", requires = "handler", requires = "starts")]
    python: Option<PathBuf>,
    /// The folder of the Python function's handler.py.
    #[arg(long, value_name = "DIR", requires = "python")]
    handler: Option<PathBuf>,
}

/// What could not be measured.
#[derive(Debug, Error)]
pub(crate) enum MeasureError {
    /// The stack.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The simulated CRM.
    #[error("the simulated CRM: {0}")]
    Crm(#[from] sendtrail_simulator::crm::CrmError),
    /// The simulated send API.
    #[error("the simulated send API: {0}")]
    SendApi(#[from] sendtrail_simulator::send_api::SendApiError),
    /// A function did not start, or did not answer.
    #[error("{0}: {1}")]
    Function(&'static str, String),
    /// A temporary folder.
    #[error("a temporary folder: {0}")]
    Folder(#[from] std::io::Error),
    /// A start that takes too long.
    #[error("a function takes more than a third of the time that the Python one takes to start")]
    Budget,
}

/// Prints a table.
#[expect(
    clippy::print_stdout,
    reason = "the figures are what the command is for"
)]
pub(crate) async fn measure(arguments: &MeasureArguments) -> Result<ExitCode, MeasureError> {
    let data = tempfile::tempdir()?;
    let stack = LocalStack::start(&StackOptions {
        functions: Some(functions_folder(arguments.functions.as_deref())),
        data: data.path().to_owned(),
        timing: Timing::QUICK,
        scheduled: false,
        switches: Switches::default(),
    })
    .await?;
    if arguments.starts {
        let functions = functions_folder(arguments.functions.as_deref());
        let python = arguments
            .python
            .as_deref()
            .zip(arguments.handler.as_deref());
        let python = python.map(|(interpreter, handler)| Python {
            interpreter,
            handler,
        });
        let configuration = Path::new(&stack.endpoints.config);
        let measured = starts::measure(&functions, configuration, python.as_ref(), arguments.runs);
        let (table, is_kept) = measured.await?;
        println!("{table}");
        stack.shutdown().await;
        return if is_kept {
            Ok(ExitCode::SUCCESS)
        } else {
            Err(MeasureError::Budget)
        };
    }
    println!(
        "{:12}  {:>22}  {:>12}",
        "function", "spawn to first /next", "peak memory"
    );
    for function in ["intake", "side-effect", "poller"] {
        let (start, memory) = start_up(&stack, function, arguments.runs).await?;
        println!(
            "{function:12}  {start:>19.2} ms  {:>9.1} MB",
            memory / 1024.0
        );
    }
    let cost = look_ups(&stack, arguments.rows).await?;
    println!("\n{cost}");
    stack.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

/// Medians: milliseconds to the first `/next`, and peak resident memory in KB by then.
async fn start_up(
    stack: &LocalStack,
    function: &'static str,
    runs: u8,
) -> Result<(f64, f64), MeasureError> {
    let (mut starts, mut memories) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let instance = stack.host.warm(function).await;
        let instance = instance.map_err(|e| MeasureError::Function(function, e.to_string()))?;
        starts.push(instance.init.unwrap_or_default().as_secs_f64() * 1_000.0);
        memories.push(f64::from(
            u32::try_from(instance.peak_rss_kb.unwrap_or(0)).unwrap_or(u32::MAX),
        ));
        stack.host.kill_instances(function).await;
    }
    Ok((median(starts), median(memories)))
}

/// One run of the poller over rows whose version is older than the list's lag.
async fn look_ups(stack: &LocalStack, rows: u8) -> Result<String, MeasureError> {
    let records = (0..rows).map(accepted).collect();
    stack.crm.seed(&Seed { records })?;
    // Past the list's lag, so that a listed row is a base.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let tick = tick_input().to_string();
    let (credits, log) = (stack.crm.credits().used, stack.crm.log(0)?.len());
    let answer = stack.host.invoke("poller", tick).await;
    let answer = answer.map_err(|e| MeasureError::Function("poller", e.to_string()))?;
    let lines = stack.crm.log(0)?;
    let count = |method: &str, end: &str| {
        let new = lines.iter().skip(log);
        new.filter(|line| line.method == method && line.path.contains(end))
            .count()
    };
    let calls = stack.send_api.calls()?;
    let used = stack.crm.credits().used - credits;
    Ok(format!(
        "one run over {rows} due rows:\n  CRM: {} lists, {} reads, {} writes, {} tokens; {used} credits, {:.2} for a row\n  \
         send API: {} look-ups, {:.2} for a row\n  report: {}",
        count("POST", "/coql"),
        count("GET", "/Send_Histories"),
        count("PUT", "/Send_Histories"),
        count("POST", "/oauth"),
        f64::from(u32::try_from(used).unwrap_or(u32::MAX)) / f64::from(rows),
        calls.look_ups,
        f64::from(calls.look_ups) / f64::from(rows),
        String::from_utf8_lossy(&answer),
    ))
}

/// A send that was accepted and is due.
fn accepted(number: u8) -> SeedRecord {
    let at = "2026-01-01T00:00:00Z";
    let deadline = "2036-01-01T00:00:00Z";
    let progress = json!({
        "v": 1, "rev": 4, "next_check_at": at, "attempts": 1, "deadline": deadline,
        "claim": {
            "token": "c", "at": at, "request_key": "msg_c", "driver": LETTER, "draft_id": null,
        },
        "submission": {
            "driver": LETTER, "reference": format!("st_{number}"), "outcome": "accepted",
            "external_id": format!("ltr_{number}"), "at": deadline,
        },
    });
    let fields = Map::from_iter([
        ("Delivery_State".to_owned(), json!("accepted")),
        ("Progress_JSON".to_owned(), json!(progress.to_string())),
        (
            "Next_Check_At".to_owned(),
            json!("2026-01-01T00:00:00+00:00"),
        ),
        ("Deadline".to_owned(), json!("2036-01-01T00:00:00+00:00")),
        ("Request_Key".to_owned(), json!(format!("msg_{number}"))),
    ]);
    SeedRecord {
        module: "Send_Histories".to_owned(),
        fields,
        ..SeedRecord::default()
    }
}
