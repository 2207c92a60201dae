//! Which account is spoken to, and as whom.

use std::fmt;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;
use thiserror::Error;

use crate::http;

/// Time for a connection; the services are in the same region.
const CONNECT: Duration = Duration::from_secs(2);
/// Time for one attempt.
const ATTEMPT: Duration = Duration::from_secs(3);
/// Time for all attempts of a call.
const OPERATION: Duration = Duration::from_secs(8);
/// Attempts of a call; what is called can be repeated.
const ATTEMPTS: u32 = 3;

/// An account with a role, as Lambda hands them to a function.
#[derive(Clone)]
pub struct Account {
    config: SdkConfig,
}

/// Shows the region and nothing of the credentials.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("region", &self.config.region())
            .finish()
    }
}

/// A variable that is needed and not set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the variable {0} is not set; Lambda sets it, elsewhere it has to be given")]
pub struct AccountError(pub &'static str);

impl Account {
    /// The account of these variables: `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
    /// `AWS_SESSION_TOKEN` and, for rehearsals, `AWS_ENDPOINT_URL`.
    ///
    /// # Errors
    /// [`AccountError`] names the first variable that is needed and missing.
    pub fn of_variables<'v>(
        variable: impl Fn(&str) -> Option<&'v str>,
    ) -> Result<Self, AccountError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let needed = |name: &'static str| set(name).ok_or(AccountError(name));
        let region = set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION"));
        let region = region.ok_or(AccountError("AWS_REGION"))?;
        let credentials = Credentials::new(
            needed("AWS_ACCESS_KEY_ID")?,
            needed("AWS_SECRET_ACCESS_KEY")?,
            set("AWS_SESSION_TOKEN").map(str::to_owned),
            None,
            "variables",
        );
        let mut config = SdkConfig::builder()
            .behavior_version(aws_sdk_ssm::config::BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .credentials_provider(SharedCredentialsProvider::new(credentials));
        config.set_endpoint_url(set("AWS_ENDPOINT_URL").map(str::to_owned));
        Ok(Self::of_config(config.build()))
    }

    /// The account of a configuration that somebody else put together, with our bounds in time.
    pub fn of_config(config: SdkConfig) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT)
            .operation_attempt_timeout(ATTEMPT)
            .operation_timeout(OPERATION)
            .build();
        let config = config
            .into_builder()
            .http_client(http::client(CONNECT))
            .sleep_impl(TokioSleep::new())
            .timeout_config(timeouts)
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            .build();
        Self { config }
    }

    /// What a client of a service is built from.
    pub fn config(&self) -> &SdkConfig {
        &self.config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_and_nothing_secret_is_shown() {
        let variables = [
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "AKIDHIDDEN"),
            ("AWS_SECRET_ACCESS_KEY", "hidden"),
        ];
        for left_out in ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            let get = |name: &str| {
                let mut found = variables
                    .iter()
                    .filter(|(n, _)| *n == name && name != left_out);
                found.next().map(|(_, value)| *value)
            };
            assert_eq!(
                Account::of_variables(get).unwrap_err(),
                AccountError(left_out)
            );
        }
        let get = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        let shown = format!("{:?}", Account::of_variables(get).unwrap());
        assert!(shown.contains("eu-central-1"), "{shown}");
        assert!(!shown.to_lowercase().contains("hidden"), "{shown}");
    }
}
