//! The `side-effect` binary: log, configuration, clients, run.

use std::process::ExitCode;

use sendtrail_side_effect::{run, start};
use sendtrail_startup::{Environment, Logs};

// Lambda gives one invocation at a time, and the work of one is waiting.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let env = Environment::of_process();
    let logs = Logs::start("side-effect", &env);
    run(start(&env, &logs).await).await
}
