//! Parameter Store.

use std::collections::BTreeMap;

use aws_sdk_ssm::Client;
use aws_sdk_ssm::types::ParameterType;
use secrecy::{ExposeSecret as _, SecretString};

use crate::account::Account;
use crate::error::AwsError;

/// `GetParameters` takes no more names at once.
const BATCH: usize = 10;
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
            let call = self.client.get_parameters().with_decryption(true);
            let call = call.set_names(Some(batch.to_vec())).send().await;
            let answer =
                call.map_err(|error| AwsError::of(&error, READ, &resource(&batch.join(", "))))?;
            for parameter in answer.parameters.unwrap_or_default() {
                if let (Some(name), Some(value)) = (parameter.name, parameter.value) {
                    values.insert(name, SecretString::from(value));
                }
            }
        }
        Ok(values)
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

/// As a policy names it: the slash in front of a name is the one behind `parameter`.
fn resource(name: &str) -> String {
    format!("parameter {name}")
}
