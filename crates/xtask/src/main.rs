//! The repository's own chores: `cargo xtask help`.
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command talks to its terminal"
)]

mod build;
mod checks;
mod proof;
mod rehearse;
mod run;
mod tools;

use std::process::ExitCode;

const HELP: &str = "\
The repository's chores.

  cargo xtask demo [--json] [--only NAME]...   build, then run every scenario on a fresh local stack
  cargo xtask local [--data DIR] [--endpoints FILE]
                                               build, then keep a local stack running until Ctrl-C
  cargo xtask test [--fast]                    every test there is, and a short form of each proof;
                                               --fast: the unit and property tests in the modules
  cargo xtask model [--list] [--short] [--config NAME]...
                                               explore every interleaving of the flows within stated bounds
  cargo xtask model --mutations [--list] [--short] [--only NAME]...
                                               break each rule in a copy; the model must notice
  cargo xtask simulate [--seeds N] [--from S] [--sends M --hours H] [--log]
                                               the flows in virtual time under seeded faults;
                                               also `simulate cost` and `simulate fairness`
  cargo xtask fuzz [--seconds N] [TARGET]...   look for inputs that break a parser, a minute each where not said;
                                               needs cargo-fuzz
  cargo xtask rehearse [--only STEP]... [--keep]
                                               a deployment without an AWS account, step by step
  cargo xtask check-infra                      the template, its alarms, the workflows, the dependencies
  cargo xtask lint                             format, clippy and documentation, warnings as errors
  cargo xtask generate                         rewrite what is made from code: schema, diagram, metrics lines
  cargo xtask bench [start]                    start-up, memory and size of the release binaries; start: with
                                               secrets in files and in Parameter Store, beside a Python function
  cargo xtask count                            tests counted by kind

What follows `demo`, `local`, `model` and `simulate` is passed on; try `cargo xtask demo --help`.";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let chore = arguments.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = arguments.collect();
    let done = match chore.as_str() {
        "demo" => run::sendtrail("demo", &rest),
        "local" => run::sendtrail("local", &rest),
        "test" => run::tests(&rest),
        "model" => proof::model(&rest),
        "simulate" => proof::simulate(&rest),
        "fuzz" => proof::fuzz(&rest),
        "rehearse" => rehearse::rehearse(&rest),
        "check-infra" => checks::infra(),
        "lint" => run::lint(),
        "generate" => run::generate(),
        "bench" => run::bench(&rest),
        "count" => run::count(),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(())
        }
        other => Err(format!("no such chore: {other}\n\n{HELP}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
