//! Why a command did not do what it was asked, and the exit code that says so.

use sendtrail_core::ports::StoreError;
use sendtrail_core::settings::{Mistake, Mistakes};
use sendtrail_startup::StartError;
use serde_json::{Value, json};

/// The kind of a failure: its exit code and its word for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something outside did not work.
    Failed,
    /// It is not possible, and a repeat does not help.
    Refused,
    /// Options that do not go together, or a value that cannot be used.
    Usage,
    /// A mistake in the configuration, a driver file or a secret.
    Configuration,
    /// Somebody changed the record; nothing was written.
    Conflict,
    /// There is no such record.
    NotFound,
}

impl Kind {
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Failed | Self::Refused => 1,
            Self::Usage | Self::Configuration => 2,
            Self::Conflict => 3,
            Self::NotFound => 4,
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Usage => "usage",
            Self::Configuration => "configuration",
            Self::Conflict => "conflict",
            Self::NotFound => "not_found",
        }
    }
}

/// Why a command did not do what it was asked. The message says what to do and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    /// The mistakes one by one, where the message is made of them.
    pub(crate) mistakes: Vec<Mistake>,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            mistakes: Vec::new(),
        }
    }

    /// The JSON document printed instead of a result.
    pub(crate) fn json(&self) -> Value {
        let mut error = json!({"code": self.kind.word(), "message": self.message});
        if !self.mistakes.is_empty() {
            let one =
                |m: &Mistake| json!({"file": m.file, "line": m.line, "key": m.key, "what": m.what});
            error["mistakes"] = self.mistakes.iter().map(one).collect();
        }
        json!({ "error": error })
    }

    /// What the CRM said, with what to do about it.
    pub(crate) fn of_store(error: &StoreError, what: &str) -> Self {
        let (kind, advice) = match error {
            StoreError::NotFound => (
                Kind::NotFound,
                "check the id, and that the operator's user may see the record".to_owned(),
            ),
            StoreError::RateLimited { retry_after } => (
                Kind::Failed,
                match retry_after {
                    Some(wait) => format!("try again in {} s", wait.as_secs().max(1)),
                    None => "try again in a minute".to_owned(),
                },
            ),
            StoreError::TokenThrottled => (Kind::Failed, "wait ten minutes".to_owned()),
            StoreError::Unauthorized { .. } => (
                Kind::Failed,
                "check crm.client_id, crm.client_secret and crm.refresh_token.operator, and the token's scopes"
                    .to_owned(),
            ),
            StoreError::Refused { .. } => (
                Kind::Failed,
                "check crm.module and crm.fields against the CRM".to_owned(),
            ),
            StoreError::TooLarge { .. } | StoreError::Malformed { .. } => (
                Kind::Failed,
                "check crm.api_url, and that this version fits the CRM".to_owned(),
            ),
            StoreError::Transient { .. } => (
                Kind::Failed,
                "try again; if it stays, check crm.api_url and the network".to_owned(),
            ),
        };
        Self::new(kind, format!("{what}: {error}; {advice}"))
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let mut failure = Self::new(Kind::Configuration, error.to_string());
        match error {
            StartError::Unreadable { .. } => failure
                .message
                .push_str("; name the file with --config or SENDTRAIL_CONFIG"),
            StartError::Config(mistakes) | StartError::Drivers(mistakes) => {
                failure.mistakes = mistakes.0;
            }
            StartError::Secrets(_)
            | StartError::SecretsLate { .. }
            | StartError::DriverFolder { .. }
            | StartError::Part { .. } => {}
        }
        failure
    }
}

impl From<Mistakes> for Failure {
    fn from(mistakes: Mistakes) -> Self {
        let message = format!("{} mistake(s):\n{mistakes}", mistakes.0.len());
        Self {
            mistakes: mistakes.0,
            ..Self::new(Kind::Configuration, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_help() {
        let codes = [
            (Kind::Failed, 1),
            (Kind::Refused, 1),
            (Kind::Usage, 2),
            (Kind::Configuration, 2),
            (Kind::Conflict, 3),
            (Kind::NotFound, 4),
        ];
        for (kind, code) in codes {
            assert_eq!(kind.exit_code(), code, "{kind:?}");
        }
    }

    #[test]
    fn a_failure_is_told_to_machines_with_its_mistakes() {
        let mistake = Mistake {
            file: "s.toml".into(),
            line: 3,
            key: "stage".into(),
            what: "is wrong".into(),
        };
        let failure = Failure::from(StartError::Config(Mistakes(vec![mistake])));
        let json = failure.json();
        assert_eq!(json["error"]["code"], "configuration");
        assert_eq!(json["error"]["mistakes"][0]["line"], 3);
        let plain = Failure::new(Kind::Conflict, "x").json();
        assert_eq!(
            plain,
            json!({"error": {"code": "conflict", "message": "x"}})
        );
    }

    #[test]
    fn a_missing_record_has_its_own_code_and_every_error_says_what_to_do() {
        let missing = Failure::of_store(&StoreError::NotFound, "record 1");
        assert_eq!(missing.kind, Kind::NotFound);
        let detail = String::from("x");
        for error in [
            StoreError::RateLimited { retry_after: None },
            StoreError::TokenThrottled,
            StoreError::Unauthorized {
                detail: detail.clone(),
            },
            StoreError::Transient { detail },
        ] {
            let failure = Failure::of_store(&error, "record 1");
            assert_eq!(failure.kind, Kind::Failed);
            assert!(failure.message.contains(';'), "{}", failure.message);
        }
    }
}
