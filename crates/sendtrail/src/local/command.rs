//! `sendtrail local`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use sendtrail_simulator::crm::Switches;

use super::{LocalError, LocalStack, StackOptions, Timing};

/// Runs the CRM, the send API and the three functions on this machine until Ctrl-C.
///
/// The poller runs every five seconds. Open the page with the history records, follow the README's "Try it",
/// and watch a record change.
#[derive(Debug, Args)]
pub(crate) struct LocalArguments {
    /// Folder with the binaries intake, side-effect and poller [default: this command's own folder].
    #[arg(long, value_name = "DIR")]
    functions: Option<PathBuf>,
    /// Start the CRM and the send API alone, for functions that run elsewhere.
    #[arg(long, conflicts_with = "functions")]
    no_functions: bool,
    /// Keep everything in this folder, also over restarts [default: a folder that is removed at the end].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Write the addresses and signing keys as JSON into this file.
    #[arg(long, value_name = "FILE")]
    endpoints: Option<PathBuf>,
    /// Seconds instead of minutes, as in the demo.
    #[arg(long, hide = true)]
    quick: bool,
}

/// Runs until Ctrl-C or SIGTERM.
#[expect(
    clippy::print_stdout,
    reason = "the table of addresses is what the command is for"
)]
pub(crate) async fn run(arguments: &LocalArguments) -> Result<ExitCode, LocalError> {
    let interrupted = interruption();
    let (data, _kept) = data_folder(arguments.data.as_deref())?;
    let options = StackOptions {
        functions: (!arguments.no_functions)
            .then(|| functions_folder(arguments.functions.as_deref())),
        data,
        timing: if arguments.quick {
            Timing::QUICK
        } else {
            Timing::CALM
        },
        scheduled: !arguments.no_functions,
        switches: Switches::default(),
    };
    let stack = LocalStack::start(&options).await?;
    if let Some(path) = &arguments.endpoints {
        write_endpoints(path, &stack)?;
    }
    println!("Sendtrail runs locally:\n\n{}", stack.endpoints.table());
    println!(
        "The functions' logs are in {}.",
        options.data.join("logs").display()
    );
    println!("Ctrl-C ends it.");
    interrupted.await;
    stack.shutdown().await;
    println!("Ended.");
    Ok(ExitCode::SUCCESS)
}

/// The folder of the function binaries: the given one, else this command's own.
pub(crate) fn functions_folder(given: Option<&Path>) -> PathBuf {
    let own = || {
        let own = std::env::current_exe().ok();
        own.and_then(|path| path.parent().map(PathBuf::from))
            .unwrap_or_default()
    };
    given.map_or_else(own, Path::to_owned)
}

/// Whoever holds the second value keeps a temporary folder.
fn data_folder(given: Option<&Path>) -> Result<(PathBuf, Option<tempfile::TempDir>), LocalError> {
    if let Some(path) = given {
        std::fs::create_dir_all(path).map_err(|source| LocalError::file(path, source))?;
        return Ok((path.to_owned(), None));
    }
    let folder = tempfile::Builder::new().prefix("sendtrail-").tempdir();
    let folder = folder.map_err(|source| LocalError::file(&std::env::temp_dir(), source))?;
    Ok((folder.path().to_owned(), Some(folder)))
}

/// The file holds secrets: it is made for its owner alone, and appears whole.
fn write_endpoints(path: &Path, stack: &LocalStack) -> Result<(), LocalError> {
    use std::io::Write as _;
    let failed = |source| LocalError::file(path, source);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let text = serde_json::to_string_pretty(&stack.endpoints).unwrap_or_default();
    writeln!(file, "{text}").map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Resolves at Ctrl-C or SIGTERM. Set up before anything is started, so that no signal is missed.
fn interruption() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = signal(SignalKind::terminate());
    async move {
        let terminated = async {
            match terminated {
                Ok(mut signal) => {
                    signal.recv().await;
                }
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = terminated => {}
        }
    }
}
