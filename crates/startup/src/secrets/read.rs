//! Reads secrets from where they are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};
use sendtrail_aws::{AwsError, Found, Parameters, SecretsManager};

use super::SecretStore;
use super::place::Place;
use crate::environment::Environment;
use crate::function::Function;

/// No secret is longer; what is longer is some other file.
const MAX_SECRET: usize = 64 * 1024;

/// Why a secret was not read. It never holds the value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It could not be read, or is not there.
    Unreadable(String),
    /// What was read is no secret.
    Unusable(String),
}

pub(super) type Read = Result<SecretString, Trouble>;

/// Reads secrets by their names in `[secrets]`. All parameters are read in as few calls as there can be.
pub(super) async fn read<'n>(
    store: &SecretStore,
    function: Function,
    names: BTreeSet<&'n str>,
) -> BTreeMap<&'n str, Read> {
    let mut all = BTreeMap::new();
    let mut remote = Remote::default();
    for name in names {
        let expand = |pattern: &super::Pattern| pattern.expand(&store.stage, function);
        match store.places.get(name) {
            None => {
                let what = "is not listed in [secrets]".to_owned();
                all.insert(name, Err(Trouble::Unreadable(what)));
            }
            Some(Place::Variable(variable)) => {
                all.insert(name, of_variable(&store.env, variable));
            }
            Some(Place::File(path)) => {
                all.insert(name, of_file(path));
            }
            Some(Place::Parameter(pattern)) => {
                remote.parameters.push((name, expand(pattern)));
            }
            Some(Place::Secret(pattern)) => {
                remote.secrets.push((name, expand(pattern)));
            }
        }
    }
    all.extend(remote.read(store).await);
    all
}

fn of_variable(env: &Environment, variable: &str) -> Read {
    let at = format!("the variable {variable}");
    let value = env.get(variable).map(str::to_owned);
    let value = value.ok_or_else(|| Trouble::Unreadable(format!("{at} is not set")))?;
    usable(value, &at)
}

fn of_file(path: &Path) -> Read {
    let at = format!("the file {}", path.display());
    let unreadable = |what: String| Trouble::Unreadable(format!("{at} {what}"));
    let file = std::fs::File::open(path);
    let file = file.map_err(|error| unreadable(format!("cannot be read: {error}")))?;
    let mut text = String::new();
    // One byte more than fits, and the line end that is dropped.
    let most = MAX_SECRET as u64 + 3;
    // The system's word for text that is no UTF-8 would do, but this says it plainly.
    if let Err(error) = file.take(most).read_to_string(&mut text) {
        return Err(unreadable(format!("cannot be read as UTF-8 text: {error}")));
    }
    usable(without_line_end(text), &at)
}

/// What of a value is refused wherever it is kept.
fn usable(value: String, at: &str) -> Read {
    if value.trim().is_empty() {
        return Err(Trouble::Unusable(format!("{at} is empty")));
    }
    if value.len() > MAX_SECRET {
        return Err(Trouble::Unusable(format!("{at} is too long for a secret")));
    }
    Ok(SecretString::from(value))
}

/// The text without the line end that editors and `--value file://…` leave.
fn without_line_end(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

/// What is kept in AWS: the name in `[secrets]`, and the name there.
#[derive(Default)]
struct Remote<'n> {
    parameters: Vec<(&'n str, String)>,
    secrets: Vec<(&'n str, String)>,
}

impl<'n> Remote<'n> {
    /// Reads them side by side. Nothing is built and nothing asked where there are none.
    async fn read(self, store: &SecretStore) -> Vec<(&'n str, Read)> {
        let Self {
            parameters,
            secrets,
        } = self;
        let all = || parameters.iter().chain(&secrets);
        if all().next().is_none() {
            return Vec::new();
        }
        let account = match store.account() {
            Ok(account) => account,
            Err(error) => {
                let read = |(name, _): &(&'n str, String)| {
                    (*name, Err(Trouble::Unreadable(error.to_string())))
                };
                return all().map(read).collect();
            }
        };
        let (of_parameters, of_secrets) = tokio::join!(
            async {
                match names(&parameters) {
                    names if names.is_empty() => Found::new(),
                    names => Parameters::new(&account).get_each(&names).await,
                }
            },
            async {
                match names(&secrets) {
                    names if names.is_empty() => Found::new(),
                    names => SecretsManager::new(&account).get_each(&names).await,
                }
            },
        );
        let service = Service::Parameters {
            batched: of_parameters.len() > 1,
        };
        let parameters = parameters
            .iter()
            .map(|(name, at)| (*name, told(of_parameters.get(at), at, service)));
        let secrets = secrets
            .iter()
            .map(|(name, at)| (*name, told(of_secrets.get(at), at, Service::Secrets)));
        parameters.chain(secrets).collect()
    }
}

fn names(of: &[(&str, String)]) -> BTreeSet<String> {
    of.iter().map(|(_, at)| at.clone()).collect()
}

/// A service of AWS.
#[derive(Clone, Copy)]
enum Service {
    Parameters {
        /// Whether one call asked for several, so that it is not known which of them was denied.
        batched: bool,
    },
    Secrets,
}

impl Service {
    /// What a name is the name of.
    fn word(self) -> &'static str {
        match self {
            Self::Parameters { .. } => "the parameter",
            Self::Secrets => "the secret",
        }
    }

    /// The command that makes what is missing, without the value.
    fn command(self, name: &str) -> String {
        let value = "file://FILE-WITH-THE-VALUE";
        match self {
            Self::Parameters { .. } => {
                format!("aws ssm put-parameter --type SecureString --name {name} --value {value}")
            }
            Self::Secrets => {
                format!("aws secretsmanager create-secret --name {name} --secret-string {value}")
            }
        }
    }

    /// What may be missing besides the permission that is named.
    fn also(self) -> &'static str {
        match self {
            Self::Parameters { batched: true } => {
                "or on another that was asked for in the same call, or kms:Decrypt on the key of one"
            }
            Self::Parameters { batched: false } | Self::Secrets => "or kms:Decrypt on its key",
        }
    }
}

/// What was found under this name, or what an operator is told.
fn told(
    found: Option<&Result<Option<SecretString>, AwsError>>,
    name: &str,
    service: Service,
) -> Read {
    let at = format!("{} {name}", service.word());
    let unreadable = |what: String| Err(Trouble::Unreadable(what));
    match found {
        Some(Ok(Some(value))) => usable(without_line_end(value.expose_secret().to_owned()), &at),
        Some(Ok(None)) | None => unreadable(format!(
            "{at} does not exist, or holds no text; this makes it: {}",
            service.command(name)
        )),
        Some(Err(error @ AwsError::Denied { .. })) => {
            unreadable(format!("{error}, {}", service.also()))
        }
        Some(Err(error @ (AwsError::Throttled { .. } | AwsError::Unavailable { .. }))) => {
            unreadable(format!("{at} cannot be read: {error}"))
        }
    }
}
