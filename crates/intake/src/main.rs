//! The intake function's binary.

use std::process::ExitCode;

use sendtrail_intake::{run, start};
use sendtrail_startup::{Environment, Logs};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let env = Environment::of_process();
    let logs = Logs::start("intake", &env);
    run(start(&env, &logs).await).await
}
