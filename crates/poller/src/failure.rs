//! A run that could not happen.

use std::fmt;

use lambda_runtime::Diagnostic;
use sendtrail_core::ports::StoreError;
use thiserror::Error;

/// There was no token, or not even the first page could be listed. The next tick is the retry.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("the run could not happen: {0}")]
pub struct RunFailed(#[from] pub StoreError);

/// The runtime logs the debug form of what a handler returns, so that is the one line there is.
impl fmt::Debug for RunFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.error_type())
    }
}

impl RunFailed {
    /// A stable word for alarms.
    pub const fn error_type(&self) -> &'static str {
        match &self.0 {
            StoreError::NotFound => "Poll.CrmNotFound",
            StoreError::RateLimited { .. } => "Poll.CrmRateLimited",
            StoreError::TokenThrottled => "Poll.CrmTokenThrottled",
            StoreError::Unauthorized { .. } => "Poll.CrmUnauthorized",
            StoreError::Refused { .. } => "Poll.CrmRefused",
            StoreError::TooLarge { .. } | StoreError::Malformed { .. } => "Poll.CrmUnreadable",
            StoreError::Transient { .. } => "Poll.CrmUnavailable",
        }
    }
}

impl From<RunFailed> for Diagnostic {
    fn from(failed: RunFailed) -> Self {
        Self {
            error_type: failed.error_type().to_owned(),
            error_message: failed.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_type_is_a_stable_word_and_not_a_type_name() {
        let failed = RunFailed(StoreError::Unauthorized {
            detail: "invalid_code".to_owned(),
        });
        let diagnostic = Diagnostic::from(failed.clone());
        assert_eq!(diagnostic.error_type, "Poll.CrmUnauthorized");
        assert_eq!(
            diagnostic.error_message,
            "the run could not happen: the CRM refuses the credentials: invalid_code"
        );
        assert_eq!(
            format!("{failed:?}"),
            format!("Poll.CrmUnauthorized: {failed}")
        );
    }
}
