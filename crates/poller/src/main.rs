//! The `poller` binary: log, configuration, clients, run.

use std::process::ExitCode;

use sendtrail_poller::{run, start};
use sendtrail_startup::{Environment, Logs};

// The work of a run is waiting, and one thread can wait for many rows.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let env = Environment::of_process();
    let logs = Logs::start("poller", &env);
    run(start(&env, &logs).await).await
}
