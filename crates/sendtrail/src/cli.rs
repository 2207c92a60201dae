//! What can be typed: commands, options, help.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;
use sendtrail_core::ids::{ExternalId, HistoryId};
use sendtrail_core::settings::parse_duration;
use sendtrail_core::state::State;

use crate::help;

/// Operate Sendtrail: sign requests, make keys, look at history records and decide what only a person can.
#[derive(Debug, Parser)]
#[command(
    name = "sendtrail",
    version,
    after_help = help::EXIT_CODES,
    max_term_width = 110,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Print one JSON document for machines instead of text for people.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sign a request body: prints the three Standard Webhooks headers.
    #[command(after_help = help::SIGN)]
    Sign(SignArgs),
    /// Say why a signature does not verify and what to change at the signer.
    #[command(after_help = help::VERIFY)]
    Verify(crate::verify::VerifyArguments),
    /// Make keys.
    #[command(subcommand, arg_required_else_help = true)]
    Key(KeyCommand),
    /// Look at history records and decide what only a person can.
    #[command(after_help = help::HISTORY, arg_required_else_help = true)]
    History(HistoryArgs),
    /// Check a CRM.
    #[command(after_help = help::ZOHO, arg_required_else_help = true)]
    Zoho(crate::zoho_check::ZohoArgs),
    /// Check a configuration.
    #[command(after_help = help::CONFIG, arg_required_else_help = true)]
    Config(ConfigArgs),
    /// See, pause and change the poller's schedule in an AWS account.
    #[command(after_help = help::SCHEDULE, arg_required_else_help = true)]
    Schedule(crate::schedule::ScheduleArgs),
    /// Check a stack in an AWS account after a deploy.
    #[command(after_help = help::SMOKE)]
    Smoke(crate::smoke::SmokeArgs),
    /// Run the CRM, the send API and the functions on this machine until Ctrl-C.
    Local(crate::local::LocalArguments),
    /// Play every scenario on a fresh local stack and tell what became of each send.
    Demo(crate::demo::DemoArguments),
    /// Measure start-up and memory of the functions, and what a look-up costs.
    #[command(hide = true)]
    Measure(crate::local::MeasureArguments),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("key source").required(true).args(["secret_env", "secret_file", "function"]))]
pub(crate) struct SignArgs {
    /// The file with the body, signed byte for byte; - for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) body: PathBuf,
    /// The variable that holds the secret, as text or in whsec_ form.
    #[arg(long, value_name = "VAR")]
    pub(crate) secret_env: Option<String>,
    /// The file that holds the secret; one line end at its end is dropped.
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
    /// Sign for this function with its signing key in the configuration.
    #[arg(long, value_enum)]
    pub(crate) function: Option<Function>,
    #[arg(long, value_name = "FILE", help = help::CONFIG_FILE, conflicts_with_all = ["secret_env", "secret_file"])]
    pub(crate) config: Option<PathBuf>,
    /// The name of the signing key [default: the first one of the function].
    #[arg(long, value_name = "NAME", conflicts_with_all = ["secret_env", "secret_file"])]
    pub(crate) key: Option<String>,
    /// The webhook-id, 1 to 200 of A-Z a-z 0-9 _ : - [default: a new one].
    #[arg(long, value_name = "ID", value_parser = webhook_id)]
    pub(crate) id: Option<String>,
    /// When it is signed: now, or Unix seconds.
    #[arg(long, value_name = "SECONDS", default_value = "now", value_parser = timestamp)]
    pub(crate) timestamp: SignedAt,
    /// Print -H arguments, quoted for a shell.
    #[arg(long)]
    pub(crate) curl: bool,
}

/// The function a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Function {
    /// The function that saves, previews and confirms.
    Intake,
    /// The function that submits.
    SideEffect,
}

/// When a request is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignedAt {
    Now,
    /// Unix seconds.
    At(u64),
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key: prints it as text and in whsec_ form.
    #[command(after_help = help::KEY_NEW)]
    New(KeyNewArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KeyNewArgs {
    /// A name for it, 1 to 40 of A-Z a-z 0-9 _ . - ; printed with it.
    #[arg(long, value_parser = key_name)]
    pub(crate) name: Option<String>,
    /// Print the whsec_ form and nothing else.
    #[arg(long, conflicts_with_all = ["text", "json"])]
    pub(crate) whsec: bool,
    /// Print the text form and nothing else.
    #[arg(long, conflicts_with = "json")]
    pub(crate) text: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[arg(long, value_name = "FILE", help = help::CONFIG_FILE, global = true)]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: HistoryCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// List the records that changed last, or those that are due.
    List(ListArgs),
    /// Show one record with its trail.
    Show {
        /// The record's id in the CRM.
        #[arg(value_parser = history_id)]
        id: HistoryId,
    },
    /// End a record in review: you know how the send ended.
    #[command(after_help = help::SETTLE)]
    Settle(SettleArgs),
    /// Start look-ups again for a record in review: the API took it.
    #[command(after_help = help::RESUME)]
    Resume(ResumeArgs),
    /// Record that the API took it, where the function could not write that down.
    #[command(after_help = help::RECORD)]
    Record(RecordArgs),
    /// Look up an accepted send now instead of later.
    #[command(after_help = help::WAKE)]
    Wake(crate::history::WakeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only records in this state; may be given several times.
    #[arg(long = "state", value_name = "STATE", value_parser = states())]
    pub(crate) states: Vec<State>,
    /// Only records the poller would work on now, in its order.
    #[arg(long, conflicts_with = "states")]
    pub(crate) due: bool,
    /// The most records to list, 1 to 200.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct SettleArgs {
    /// The record's id in the CRM.
    #[arg(value_parser = history_id)]
    pub(crate) id: HistoryId,
    /// How the send ended.
    #[arg(long = "as", value_enum)]
    pub(crate) outcome: Settled,
    #[command(flatten)]
    pub(crate) decision: Decision,
}

/// How a person ends a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Settled {
    /// Delivered.
    Succeeded,
    /// Not delivered.
    Failed,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The record's id in the CRM.
    #[arg(value_parser = history_id)]
    pub(crate) id: HistoryId,
    /// The id the external API gave it, where the record does not know it or knows a wrong one.
    #[arg(long, value_parser = external_id)]
    pub(crate) external_id: Option<ExternalId>,
    /// How long to look it up before it is given up again, up to 366d.
    #[arg(long = "for", value_name = "TIME", default_value = "7d", value_parser = look_up_time)]
    pub(crate) give_up: SignedDuration,
    #[command(flatten)]
    pub(crate) decision: Decision,
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// The record's id in the CRM.
    #[arg(value_parser = history_id)]
    pub(crate) id: HistoryId,
    /// The id the external API gave it.
    #[arg(long, value_parser = external_id)]
    pub(crate) external_id: ExternalId,
    /// How long to look it up before it is given up, up to 366d; a later deadline of its claim stays.
    #[arg(long = "for", value_name = "TIME", default_value = "7d", value_parser = look_up_time)]
    pub(crate) give_up: SignedDuration,
    #[command(flatten)]
    pub(crate) decision: Decision,
}

/// What is kept in the trail of a person's decision.
#[derive(Debug, Args)]
pub(crate) struct Decision {
    /// Why; kept in the trail, up to 300 characters.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Who; kept in the trail [default: $USER].
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[arg(long, value_name = "FILE", help = help::CONFIG_FILE, global = true)]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Read the configuration and the driver files and name every mistake.
    Check {
        /// Also read every secret and check that each can be used.
        #[arg(long)]
        secrets: bool,
    },
}

pub(crate) fn history_id(text: &str) -> Result<HistoryId, String> {
    HistoryId::parse(text).map_err(|bad| bad.to_string())
}

fn external_id(text: &str) -> Result<ExternalId, String> {
    ExternalId::parse(text).map_err(|bad| bad.to_string())
}

fn webhook_id(text: &str) -> Result<String, &'static str> {
    if sendtrail_signature::is_webhook_id(text) {
        Ok(text.to_owned())
    } else {
        Err("expected 1 to 200 of A-Z a-z 0-9 _ : - (no dot: the signature joins with dots)")
    }
}

fn timestamp(text: &str) -> Result<SignedAt, &'static str> {
    const EXPECTED: &str = "expected now, or Unix seconds of at most 12 digits";
    if text == "now" {
        return Ok(SignedAt::Now);
    }
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    if !plain || !(1..=12).contains(&text.len()) {
        return Err(EXPECTED);
    }
    text.parse().map(SignedAt::At).map_err(|_| EXPECTED)
}

fn key_name(text: &str) -> Result<String, &'static str> {
    let of_form = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    if (1..=40).contains(&text.len()) && text.bytes().all(of_form) {
        Ok(text.to_owned())
    } else {
        Err("expected 1 to 40 of A-Z a-z 0-9 _ . -")
    }
}

fn look_up_time(text: &str) -> Result<SignedDuration, &'static str> {
    let time = parse_duration(text)?;
    if time.is_positive() && time <= SignedDuration::from_hours(366 * 24) {
        Ok(time)
    } else {
        Err("expected a time longer than nothing and at most 366d")
    }
}

fn states() -> impl TypedValueParser<Value = State> {
    PossibleValuesParser::new(State::ALL.map(State::label))
        .try_map(|text| State::from_label(&text).ok_or("expected a state"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_key_comes_from_exactly_one_place() {
        let parse = |more: &[&str]| {
            let words = ["sendtrail", "sign", "--body", "-"];
            Cli::try_parse_from(words.iter().chain(more)).is_ok()
        };
        assert!(parse(&["--secret-env", "X"]));
        assert!(parse(&["--secret-file", "x"]));
        assert!(parse(&[
            "--function",
            "side-effect",
            "--config",
            "c",
            "--key",
            "k1"
        ]));
        assert!(!parse(&[]));
        assert!(!parse(&["--secret-env", "X", "--function", "intake"]));
        assert!(!parse(&["--secret-env", "X", "--key", "k1"]));
        assert!(!parse(&["--config", "c"]));
    }

    #[test]
    fn there_is_no_option_that_takes_a_secret() {
        fn walk(command: &clap::Command) {
            for argument in command.get_arguments() {
                let name = argument.get_long().unwrap_or_default();
                assert!(!["secret", "token", "password"].contains(&name), "{name}");
            }
            command.get_subcommands().for_each(walk);
        }
        walk(&Cli::command());
    }

    #[test]
    fn a_timestamp_is_now_or_plain_seconds() {
        assert_eq!(timestamp("now"), Ok(SignedAt::Now));
        assert_eq!(timestamp("1700000000"), Ok(SignedAt::At(1_700_000_000)));
        for bad in ["", "+5", "-5", "0", "017", "1.5", "1700000000000", "later"] {
            assert!(timestamp(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn look_ups_are_resumed_for_a_time_that_ends() {
        assert!(look_up_time("7d").is_ok());
        for bad in ["0s", "367d", "-1d", "7", "1w"] {
            assert!(look_up_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn states_are_named_as_in_the_crm_and_nothing_else() {
        let parse = |state: &str| {
            Cli::try_parse_from(["sendtrail", "history", "list", "--state", state]).is_ok()
        };
        assert!(State::ALL.into_iter().all(|state| parse(state.label())));
        assert!(!parse("sent"));
    }
}
