//! How many rows wait, where that can be told: it is the CRM that knows.

use std::fmt;
use std::path::Path;

use jiff::Timestamp;
use sendtrail_core::ports::ListHistory as _;
use serde_json::{Value, json};

use crate::aws::Names;
use crate::failure::Failure;
use crate::setup::{Process, environment, open_crm, settings};

/// Rows that are due, or why that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Overdue {
    Rows {
        rows: u64,
        /// The most that one run lists.
        in_a_run: u64,
    },
    NotKnown(String),
}

impl Overdue {
    /// Counts them with the configuration and the operator's credentials, where both are at hand.
    pub(super) async fn count(names: &Names, config: Option<&Path>, process: &Process) -> Self {
        match counted(names, config, process).await {
            Ok(overdue) => overdue,
            // The first line says what is missing; the rest is for `config check`.
            Err(failure) => {
                let line = failure.message.lines().next().unwrap_or_default();
                Self::NotKnown(line.to_owned())
            }
        }
    }

    pub(super) fn add_to(&self, value: &mut Value) {
        match self {
            Self::Rows { rows, .. } => value["overdue"] = json!(rows),
            Self::NotKnown(why) => {
                value["overdue"] = Value::Null;
                value["overdue_unknown"] = json!(why);
            }
        }
    }
}

async fn counted(
    names: &Names,
    config: Option<&Path>,
    process: &Process,
) -> Result<Overdue, Failure> {
    let settings = settings(&environment(process, config)?)?;
    if settings.stage != names.stage {
        let why = format!("the configuration is that of stage {}", settings.stage);
        return Ok(Overdue::NotKnown(why));
    }
    let crm = open_crm(&settings, process).await?;
    let rows = crm.count_due(Timestamp::now()).await;
    let rows = rows.map_err(|error| Failure::of_store(&error, "the list of due rows"))?;
    let poller = &settings.poller;
    let in_a_run = u64::from(poller.page_rows) * u64::from(poller.max_pages);
    Ok(Overdue::Rows { rows, in_a_run })
}

impl fmt::Display for Overdue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { rows: 0, .. } => f.write_str("No row is overdue."),
            Self::Rows { rows, in_a_run } => {
                let runs = rows.div_ceil((*in_a_run).max(1));
                write!(
                    f,
                    "{rows} row(s) are overdue: at least {runs} run(s) until all are looked at. Sends past their \
                     deadline are looked up once more before they are given up."
                )
            }
            Self::NotKnown(why) => write!(f, "How many rows are overdue is not known: {why}."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_is_told_in_rows_and_runs_and_what_is_not_known_as_such() {
        let told = |rows, in_a_run| Overdue::Rows { rows, in_a_run }.to_string();
        assert_eq!(told(0, 1_000), "No row is overdue.");
        assert!(told(1_000, 1_000).contains("at least 1 run(s)"));
        assert!(told(1_001, 1_000).contains("1001 row(s) are overdue: at least 2 run(s)"));
        let unknown = Overdue::NotKnown("no configuration".to_owned());
        assert!(
            unknown
                .to_string()
                .contains("is not known: no configuration")
        );
        let mut value = json!({});
        unknown.add_to(&mut value);
        assert_eq!(value["overdue"], Value::Null);
    }

    #[tokio::test]
    async fn without_a_configuration_nothing_is_counted() {
        let names = Names {
            stage: "prod".to_owned(),
        };
        let config = Some(Path::new("/nowhere.toml"));
        let overdue = Overdue::count(&names, config, &Process::default()).await;
        assert!(matches!(overdue, Overdue::NotKnown(why) if why.contains("/nowhere.toml")));
    }
}
