//! `sendtrail smoke`: is a deployed stack what it should be?

mod check;
mod crm;
mod doors;
mod functions;
mod polling;
mod stack;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use crate::aws::{Aws, AwsArgs, stage};
use crate::failure::Failure;
use crate::help;
use crate::output::Screen;
use crate::setup::Process;
use doors::{Caller, DOORS};
use stack::Stack;

#[derive(Debug, Args)]
pub(crate) struct SmokeArgs {
    /// The stack [default: sendtrail-STAGE].
    #[arg(long, value_name = "NAME")]
    stack: Option<String>,
    /// The stage, where the stack is called after it [default: the configuration's].
    #[arg(long, value_name = "NAME", conflicts_with = "stack")]
    stage: Option<String>,
    #[arg(long, value_name = "FILE", help = help::CONFIG_FILE)]
    config: Option<PathBuf>,
    #[command(flatten)]
    aws: AwsArgs,
    /// An address that stands in for both doors, for rehearsals: each door's own host is named to it.
    #[arg(long, value_name = "URL", hide = true)]
    through: Option<String>,
}

/// Runs `smoke`; gives what is to be printed and the exit code.
pub(crate) async fn run(
    args: &SmokeArgs,
    screen: Screen,
    process: &Process,
) -> Result<(String, ExitCode), Failure> {
    let config = args.config.as_deref();
    let name = match &args.stack {
        Some(name) => name.clone(),
        None => format!(
            "sendtrail-{}",
            stage(args.stage.as_deref(), config, process)?.stage
        ),
    };
    let aws = Aws::find(&args.aws).await?;
    let stack = Stack::read(&aws, &name).await?;
    let names = stack.names()?;
    let caller = Caller::new(args.through.as_deref())?;
    let mut checks = vec![stack.check()];
    for door in DOORS {
        checks.push(caller.unsigned(door, &stack).await);
        checks.push(caller.preflight(door, &stack).await);
    }
    checks.push(functions::poller_url(&aws, &names).await);
    checks.push(functions::poller_policy(&aws, &names).await);
    checks.push(functions::retries(&aws, &names).await);
    checks.push(polling::schedule(&aws, &names, &stack).await);
    checks.push(polling::last_run(&aws, &names, &stack, Timestamp::now()).await);
    checks.push(stack::alarms(&aws, &stack).await);
    checks.extend(crm::checks(&names, config, process).await);
    let code = if check::any_failed(&checks) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    };
    Ok((check::tell(&name, &checks, screen), code))
}
