//! Why a function cannot start.

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use sendtrail_core::settings::Mistakes;
use thiserror::Error;

use crate::secrets::SecretMistake;

/// Why a function cannot start. Its text names every mistake and shows no secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StartError {
    /// The configuration file cannot be read at all.
    #[error("cannot read the configuration file {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The configuration has mistakes.
    #[error("the configuration has {} mistake(s):\n{_0}", _0.0.len())]
    Config(Mistakes),
    /// Secrets that cannot be used.
    #[error("{} secret(s) cannot be used:\n{}", _0.len(), lines(_0))]
    Secrets(Vec<SecretMistake>),
    /// Secrets that did not come in the time an invocation has for them.
    #[error("the secrets did not come in {time:?}")]
    SecretsLate {
        /// The time.
        time: Duration,
    },
    /// The folder of driver files, or a file in it, cannot be read.
    #[error("cannot use the driver files in {path}: {reason}")]
    DriverFolder {
        /// The folder or file.
        path: String,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// Driver files have mistakes.
    #[error("the driver files have {} mistake(s):\n{_0}", _0.0.len())]
    Drivers(Mistakes),
    /// Something that is built from the configuration refused it: a key ring, a client.
    #[error("cannot set up {part}: {reason}")]
    Part {
        /// What could not be set up.
        part: &'static str,
        /// Why, without secrets.
        reason: String,
    },
}

fn lines(mistakes: &[SecretMistake]) -> String {
    let lines: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

impl StartError {
    /// A part that refused what it was given. `reason` must not hold a secret.
    pub fn part(part: &'static str, reason: &dyn Display) -> Self {
        Self::Part {
            part,
            reason: reason.to_string(),
        }
    }

    /// Whether nothing is wrong but that secrets could not be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        match self {
            Self::Secrets(mistakes) => mistakes.iter().all(|mistake| mistake.is_unreadable),
            Self::SecretsLate { .. } => true,
            Self::Unreadable { .. }
            | Self::Config(_)
            | Self::DriverFolder { .. }
            | Self::Drivers(_)
            | Self::Part { .. } => false,
        }
    }

    /// A stable word for alarms and for `init/error`.
    pub const fn error_type(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "Start.ConfigUnreadable",
            Self::Config(_) => "Start.ConfigInvalid",
            Self::Secrets(_) => "Start.SecretsUnusable",
            Self::SecretsLate { .. } => "Start.SecretsLate",
            Self::DriverFolder { .. } => "Start.DriversUnreadable",
            Self::Drivers(_) => "Start.DriversInvalid",
            Self::Part { .. } => "Start.PartRefused",
        }
    }

    /// Logs the error, one line for each mistake's text in one event, and gives the exit code for `main`.
    /// The process must end with it: Lambda then reports a failed start instead of a function that waits.
    #[must_use = "main returns it"]
    pub fn report(&self) -> ExitCode {
        tracing::error!(
            target: "sendtrail_startup",
            error_type = self.error_type(),
            error = %self,
            "cannot start"
        );
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sendtrail_core::settings::Mistake;

    #[test]
    fn the_text_names_every_mistake() {
        let mistake = |line| Mistake {
            file: "s.toml".into(),
            line,
            key: "stage".into(),
            what: "is wrong".into(),
        };
        let error = StartError::Config(Mistakes(vec![mistake(1), mistake(2)]));
        assert_eq!(
            error.to_string(),
            "the configuration has 2 mistake(s):\ns.toml:1: stage: is wrong\ns.toml:2: stage: is wrong"
        );
        assert_eq!(error.error_type(), "Start.ConfigInvalid");
    }
}
