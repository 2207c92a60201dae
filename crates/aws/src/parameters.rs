//! Parameter Store.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_ssm::Client;
use aws_sdk_ssm::types::ParameterType;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use futures_util::future::join_all;
use secrecy::{ExposeSecret as _, SecretString};

use crate::account::Account;
use crate::error::AwsError;

/// What was read, by name: `None` for one that does not exist.
pub type Found = BTreeMap<String, Result<Option<SecretString>, AwsError>>;

/// `GetParameters` takes no more names at once.
const BATCH: usize = 10;
/// Time for a call of a hasty client.
const HASTY: Duration = Duration::from_secs(1);
const READ: &str = "ssm:GetParameters";
const WRITE: &str = "ssm:PutParameter";
const DELETE: &str = "ssm:DeleteParameters";

/// Whether a parameter was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// By this call.
    Now,
    /// By somebody before; or by an earlier attempt of this call whose answer was lost.
    Before,
}

/// Parameter Store. Every value is a `SecureString`.
#[derive(Debug, Clone)]
pub struct Parameters {
    client: Client,
}

impl Parameters {
    /// A client; nothing is connected yet.
    pub fn new(account: &Account) -> Self {
        Self {
            client: Client::new(account.config()),
        }
    }

    /// A client for what is not worth waiting for: one attempt of one second.
    pub fn hasty(account: &Account) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(HASTY)
            .operation_timeout(HASTY)
            .build();
        let config = aws_sdk_ssm::config::Builder::from(account.config())
            .timeout_config(timeouts)
            .retry_config(RetryConfig::disabled())
            .build();
        Self {
            client: Client::from_conf(config),
        }
    }

    /// Reads parameters by their names, ten in one call. One that does not exist is not in what is given.
    ///
    /// # Errors
    /// [`AwsError`] when any call fails: then nothing is given.
    pub async fn get(
        &self,
        names: impl IntoIterator<Item = String>,
    ) -> Result<BTreeMap<String, SecretString>, AwsError> {
        let names: Vec<String> = names.into_iter().collect();
        let mut values = BTreeMap::new();
        for batch in names.chunks(BATCH) {
            values.extend(self.batch(batch).await?.values);
        }
        Ok(values)
    }

    /// Reads each of these parameters, ten in one call and the calls side by side. A call that fails is the
    /// failure of every name in it, since the service does not say which one it was.
    pub async fn get_each(&self, names: &BTreeSet<String>) -> Found {
        let names: Vec<String> = names.iter().cloned().collect();
        let calls = names.chunks(BATCH).map(async |batch| {
            let mut read = self.batch(batch).await;
            let one = |name: &String| {
                let found = match &mut read {
                    Ok(answer) => answer.take(name),
                    Err(AwsError::Denied { action, .. }) => Err(AwsError::Denied {
                        action,
                        resource: resource(name),
                    }),
                    Err(other) => Err(other.clone()),
                };
                (name.clone(), found)
            };
            batch.iter().map(one).collect::<Vec<_>>()
        });
        join_all(calls).await.into_iter().flatten().collect()
    }

    /// One call.
    async fn batch(&self, names: &[String]) -> Result<Answer, AwsError> {
        let call = self.client.get_parameters().with_decryption(true);
        let call = call.set_names(Some(names.to_vec())).send().await;
        let answer =
            call.map_err(|error| AwsError::of(&error, READ, &resource(&names.join(", "))))?;
        let parameters = answer.parameters.unwrap_or_default().into_iter();
        let pairs = parameters.filter_map(|one| Some((one.name?, SecretString::from(one.value?))));
        Ok(Answer {
            values: pairs.collect(),
            unknown: answer.invalid_parameters.unwrap_or_default(),
        })
    }

    /// Writes a parameter over what is there.
    ///
    /// # Errors
    /// [`AwsError`]; unless it is `Denied` the value may have been written.
    pub async fn put(&self, name: &str, value: &SecretString) -> Result<(), AwsError> {
        let call = self.client.put_parameter().name(name).overwrite(true);
        let call = call.r#type(ParameterType::SecureString);
        let sent = call.value(value.expose_secret()).send().await;
        sent.map_err(|error| AwsError::of(&error, WRITE, &resource(name)))?;
        Ok(())
    }

    /// Makes a parameter that is not there yet.
    ///
    /// # Errors
    /// [`AwsError`]; unless it is `Denied` it may have been made.
    pub async fn create(&self, name: &str, value: &str) -> Result<Created, AwsError> {
        let call = self.client.put_parameter().name(name).value(value);
        let call = call.r#type(ParameterType::String).overwrite(false);
        match call.send().await {
            Ok(_) => Ok(Created::Now),
            Err(error) => match error.as_service_error() {
                Some(service) if service.is_parameter_already_exists() => Ok(Created::Before),
                Some(_) | None => Err(AwsError::of(&error, WRITE, &resource(name))),
            },
        }
    }

    /// Deletes up to ten parameters. Those that are not there count as deleted.
    ///
    /// # Errors
    /// [`AwsError`].
    pub async fn delete(&self, names: Vec<String>) -> Result<(), AwsError> {
        let resources = resource(&names.join(", "));
        let call = self.client.delete_parameters().set_names(Some(names));
        let sent = call.send().await;
        sent.map_err(|error| AwsError::of(&error, DELETE, &resources))?;
        Ok(())
    }
}

/// The answer to one call.
struct Answer {
    values: BTreeMap<String, SecretString>,
    unknown: Vec<String>,
}

impl Answer {
    /// What it says of this name. An answer that leaves one out does not say that there is none.
    fn take(&mut self, name: &str) -> Result<Option<SecretString>, AwsError> {
        let value = self.values.remove(name);
        if value.is_none() && !self.unknown.iter().any(|unknown| unknown == name) {
            return Err(AwsError::Unavailable {
                action: READ,
                detail: "an answer that leaves out a name".to_owned(),
            });
        }
        Ok(value)
    }
}

/// As a policy names it: the slash in front of a name is the one behind `parameter`.
fn resource(name: &str) -> String {
    format!("parameter {name}")
}
