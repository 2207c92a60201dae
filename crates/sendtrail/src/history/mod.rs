//! `sendtrail history`: look at records and decide what only a person can.

mod advice;
mod change;
mod list;
mod show;
mod view;
mod wake;

use jiff::Timestamp;
use sendtrail_core::ports::ReadHistory as _;

use crate::cli::{HistoryArgs, HistoryCommand};
use crate::failure::Failure;
use crate::output::{Screen, json_line};
use crate::setup::{Process, environment, open_crm, settings};
use view::View;
pub(crate) use wake::WakeArgs;

/// Runs `history`.
pub(crate) async fn run(
    args: &HistoryArgs,
    screen: Screen,
    process: &Process,
) -> Result<String, Failure> {
    // What a person is to be asked again for is said before anything is read or asked.
    let change = change::Request::of(&args.command, process)?;
    let wake = match &args.command {
        HistoryCommand::Wake(wake) => Some(wake::Request::of(wake, process)?),
        HistoryCommand::List(_)
        | HistoryCommand::Show { .. }
        | HistoryCommand::Settle(_)
        | HistoryCommand::Resume(_)
        | HistoryCommand::Record(_) => None,
    };
    let env = environment(process, args.config.as_deref())?;
    let settings = settings(&env)?;
    let crm = open_crm(&settings, process).await?;
    match &args.command {
        HistoryCommand::List(list) => list::run(list, screen, &crm).await,
        HistoryCommand::Show { id } => {
            let read = crm.read(id).await;
            let read = read.map_err(|error| Failure::of_store(&error, &format!("record {id}")))?;
            let view = View::of(read);
            let now = Timestamp::now();
            Ok(if screen.json {
                json_line(&view.json_in_full(now))
            } else {
                show::text(&view, screen, now)
            })
        }
        HistoryCommand::Wake(_) => match wake {
            Some(wake) => wake.run(screen, &crm).await,
            None => Ok(String::new()),
        },
        HistoryCommand::Settle(_) | HistoryCommand::Resume(_) | HistoryCommand::Record(_) => {
            match change {
                Some(change) => change.run(screen, &settings.stage, &crm).await,
                None => Ok(String::new()),
            }
        }
    }
}
