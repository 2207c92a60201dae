//! A run that could not happen.

use sendtrail_core::ports::StoreError;
use sendtrail_startup::lambda::InvocationError;
use thiserror::Error;

/// There was no token, or not even the first page could be listed. The next tick is the retry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the run could not happen: {0}")]
pub struct RunFailed(#[from] pub StoreError);

impl InvocationError for RunFailed {
    fn error_type(&self) -> &'static str {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_type_is_a_stable_word_and_not_a_type_name() {
        let failed = RunFailed(StoreError::Unauthorized {
            detail: "invalid_code".to_owned(),
        });
        assert_eq!(failed.error_type(), "Poll.CrmUnauthorized");
        assert_eq!(
            failed.to_string(),
            "the run could not happen: the CRM refuses the credentials: invalid_code"
        );
    }
}
