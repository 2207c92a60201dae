//! From options and variables to a configuration and a CRM client.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sendtrail_startup::{CONFIG_VARIABLE, Config, Environment, Function, tls};
use sendtrail_zoho::{FileTokenCache, NoTokenCache, TokenCache, TokenPlace, Zoho};

use crate::failure::{Failure, Kind};

/// What the process was started with, read once by `main`.
#[derive(Debug, Default)]
pub(crate) struct Process {
    /// The variables that are UTF-8.
    pub(crate) variables: BTreeMap<String, String>,
    /// Where the binary is.
    pub(crate) folder: PathBuf,
}

impl Process {
    /// The process itself.
    pub(crate) fn read() -> Self {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let binary = std::env::current_exe().unwrap_or_default();
        Self {
            variables: variables.collect(),
            folder: binary.parent().map(Path::to_path_buf).unwrap_or_default(),
        }
    }

    /// The value of a variable, if it is set.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

/// The whole configuration.
pub(crate) type Settings = Config<sendtrail_zoho::Config>;

/// The environment, with the configuration file that an option names in place of the variable's.
pub(crate) fn environment(
    process: &Process,
    config: Option<&Path>,
) -> Result<Environment, Failure> {
    let mut variables = process.variables.clone();
    if let Some(path) = config {
        let path = path.to_str().ok_or_else(|| {
            Failure::new(
                Kind::Usage,
                "the path of --config is no UTF-8; move the file",
            )
        })?;
        variables.insert(CONFIG_VARIABLE.to_owned(), path.to_owned());
    }
    Ok(Environment::new(variables, &process.folder))
}

/// Reads the configuration.
pub(crate) fn settings(env: &Environment) -> Result<Settings, Failure> {
    Ok(sendtrail_startup::load(env, sendtrail_zoho::Config::read)?)
}

/// A client of the CRM with the operator's own refresh token; no other function's is taken instead.
pub(crate) async fn open_crm(settings: &Settings, process: &Process) -> Result<Zoho, Failure> {
    let crm = &settings.crm;
    let operator = crm.refresh_token.operator.as_ref().ok_or_else(|| {
        Failure::new(
            Kind::Configuration,
            "crm.refresh_token.operator is missing: add `operator = \"secret:NAME\"` under \
             [crm.refresh_token] and list NAME in [secrets]",
        )
    })?;
    let refs = [&crm.client_secret, operator];
    let secrets = settings.secrets.resolve(Function::Operator, refs).await?;
    let secrets = sendtrail_zoho::Secrets {
        client_secret: secrets.get(&crm.client_secret)?.clone(),
        refresh_token: secrets.get(operator)?.clone(),
    };
    Zoho::new(crm, secrets, tls()?, token_cache(crm, process))
        .map_err(|error| Failure::new(Kind::Configuration, error.to_string()))
}

/// The configured folder for the token, or the user's own cache folder. The CRM gives a refresh token ten access
/// tokens in ten minutes, and each run of the command is a process of its own. A parameter is for functions: an
/// operator's token has one user, who may have no right to write parameters.
fn token_cache(crm: &sendtrail_zoho::Config, process: &Process) -> Box<dyn TokenCache> {
    match (&crm.token_cache, cache_folder(process)) {
        (TokenPlace::Folder(folder), _) => Box::new(FileTokenCache::new(folder.clone())),
        (TokenPlace::Process | TokenPlace::Parameter(_), Some(folder)) => {
            Box::new(FileTokenCache::new(folder))
        }
        (TokenPlace::Process | TokenPlace::Parameter(_), None) => Box::new(NoTokenCache),
    }
}

/// The user's cache folder for this command, where the user has one.
fn cache_folder(process: &Process) -> Option<PathBuf> {
    let absolute = |name| {
        let path = Path::new(process.variable(name)?);
        path.is_absolute().then(|| path.to_path_buf())
    };
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("sendtrail"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(variables: &[(&str, &str)]) -> Option<PathBuf> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        cache_folder(&Process {
            variables: variables.iter().map(owned).collect(),
            ..Process::default()
        })
    }

    #[test]
    fn the_cache_is_in_the_users_own_folder_or_nowhere() {
        let home = ("HOME", "/home/jo");
        assert_eq!(folder(&[home]), Some("/home/jo/.cache/sendtrail".into()));
        let named = folder(&[home, ("XDG_CACHE_HOME", "/var/c")]);
        assert_eq!(named, Some("/var/c/sendtrail".into()));
        assert_eq!(folder(&[]), None);
        assert_eq!(folder(&[("HOME", "")]), None);
        assert_eq!(folder(&[("HOME", "relative")]), None);
    }
}
