//! Secrets Manager.

use std::collections::BTreeSet;

use aws_sdk_secretsmanager::Client;
use futures_util::future::join_all;
use secrecy::SecretString;

use crate::account::Account;
use crate::error::AwsError;
use crate::parameters::Found;

const READ: &str = "secretsmanager:GetSecretValue";

/// Secrets Manager, for reading.
#[derive(Debug, Clone)]
pub struct SecretsManager {
    client: Client,
}

impl SecretsManager {
    /// A client; nothing is connected yet.
    pub fn new(account: &Account) -> Self {
        Self {
            client: Client::new(account.config()),
        }
    }

    /// Reads each of these secrets, the calls side by side.
    pub async fn get_each(&self, names: &BTreeSet<String>) -> Found {
        let calls = names
            .iter()
            .map(async |name| (name.clone(), self.get(name).await));
        join_all(calls).await.into_iter().collect()
    }

    /// The current text of a secret; `None` when there is none, or it is no text.
    ///
    /// # Errors
    /// [`AwsError`].
    pub async fn get(&self, name: &str) -> Result<Option<SecretString>, AwsError> {
        match self.client.get_secret_value().secret_id(name).send().await {
            Ok(answer) => Ok(answer.secret_string.map(SecretString::from)),
            Err(error) => match error.as_service_error() {
                Some(service) if service.is_resource_not_found_exception() => Ok(None),
                Some(_) | None => Err(AwsError::of(&error, READ, &format!("secret {name}"))),
            },
        }
    }
}
