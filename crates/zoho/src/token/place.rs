//! Where the configuration says that the token outlives a process.

use std::path::PathBuf;

use sendtrail_aws::{Account, AccountError, Parameters};
use sendtrail_core::settings::Section;

use super::{FileTokenCache, NoTokenCache, ParameterTokenCache, TokenCache};
use crate::config::Config;

/// Where the access token outlives a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenPlace {
    /// Nowhere.
    Process,
    /// In a folder, for local runs.
    Folder(PathBuf),
    /// In a parameter of Parameter Store, shared by every instance of a function. `{stage}` and `{function}` in its
    /// name are filled in when it is opened.
    Parameter(String),
}

/// Who opens a token cache.
#[derive(Clone, Copy)]
pub struct Opener<'a> {
    /// The stage.
    pub stage: &'a str,
    /// The function, as it stands in names: `intake`, `side-effect`, `poller`.
    pub function: &'a str,
    /// Gives the account of AWS; called only where the token is kept there.
    pub account: &'a dyn Fn() -> Result<Account, AccountError>,
}

impl Config {
    /// The token cache this configuration asks for. Nothing is connected yet.
    ///
    /// # Errors
    /// [`AccountError`] when it is in an account and the variables name none.
    pub fn open_token_cache(&self, by: &Opener<'_>) -> Result<Box<dyn TokenCache>, AccountError> {
        Ok(match &self.token_cache {
            TokenPlace::Process => Box::new(NoTokenCache),
            TokenPlace::Folder(folder) => Box::new(FileTokenCache::new(folder.clone())),
            TokenPlace::Parameter(name) => {
                let name = name.replace("{stage}", by.stage);
                let name = name.replace("{function}", by.function);
                let store = Parameters::hasty(&(by.account)()?);
                let request = self.request_timeout.unsigned_abs();
                Box::new(ParameterTokenCache::new(store, name, request))
            }
        })
    }
}

impl TokenPlace {
    /// Reads `token_cache` of the `[crm]` section.
    pub(crate) fn read(crm: &Section<'_, '_>) -> Self {
        let text = crm.text_or("token_cache", "");
        let Some(name) = text.strip_prefix("ssm:") else {
            return if text.is_empty() {
                Self::Process
            } else {
                Self::Folder(PathBuf::from(text))
            };
        };
        if !is_parameter(name) {
            crm.wrong(
            "token_cache",
            "must be ssm:/NAME of letters, digits and ./_-, where {stage} and {function} may stand; and not begin as              AWS's own names do",
        );
        }
        Self::Parameter(name.to_owned())
    }
}

/// What AWS takes as the full name of a parameter, with room for what is put in and behind it.
fn is_parameter(name: &str) -> bool {
    let name = name.replace("{stage}", "s").replace("{function}", "f");
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(letter);
    let Some(parts) = name
        .strip_prefix('/')
        .map(|rest| rest.split('/').collect::<Vec<_>>())
    else {
        return false;
    };
    let first = parts[0].to_ascii_lowercase();
    name.len() <= 900
        && parts.len() <= 15
        && parts.iter().all(|part| is_part(part))
        && !first.starts_with("aws")
        && !first.starts_with("ssm")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sendtrail_core::settings::Reader;

    fn read(text: &str) -> Option<TokenPlace> {
        let line = format!("[crm]\ntoken_cache = \"{text}\"\n");
        let reader = Reader::new("s.toml", &line);
        let place = TokenPlace::read(&reader.root().section("crm"));
        let mistakes = reader.finish().err().map(|mistakes| mistakes.to_string());
        if let Some(mistakes) = &mistakes {
            assert!(mistakes.contains("crm.token_cache"), "{mistakes}");
        }
        mistakes.is_none().then_some(place)
    }

    #[test]
    fn the_token_is_kept_nowhere_in_a_folder_or_in_a_parameter() {
        assert_eq!(read(""), Some(TokenPlace::Process));
        assert_eq!(read("/var/x"), Some(TokenPlace::Folder("/var/x".into())));
        let name = "/sendtrail/{stage}/{function}/crm-token";
        let parameter = Some(TokenPlace::Parameter(name.to_owned()));
        assert_eq!(read(&format!("ssm:{name}")), parameter);
        for bad in [
            "",
            "name",
            "/a//b",
            "/a/",
            "/{stages}/x",
            "/aws/x",
            "/SSM-x/y",
            "/a b",
            "/a:1",
        ] {
            assert_eq!(read(&format!("ssm:{bad}")), None, "{bad}");
        }
    }
}
