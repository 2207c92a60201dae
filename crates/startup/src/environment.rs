//! The variables of the process, read once and handed on.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The variable that names the configuration file.
pub const CONFIG_VARIABLE: &str = "SENDTRAIL_CONFIG";

/// What variables that override a key begin with.
pub const OVERRIDE_PREFIX: &str = "SENDTRAIL_";

/// Environment variables and the folder of the binary. Tests pass their own.
#[derive(Clone, Default)]
pub struct Environment {
    variables: Arc<BTreeMap<String, String>>,
    binary_folder: PathBuf,
}

/// Shows names only: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("binary_folder", &self.binary_folder)
            .finish()
    }
}

impl Environment {
    /// The environment of this process. Only `main` calls it. Variables that are no UTF-8 are left out.
    pub fn of_process() -> Self {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let binary = std::env::current_exe().unwrap_or_default();
        let folder = binary.parent().map(Path::to_path_buf);
        Self::new(variables, folder.unwrap_or_default())
    }

    /// An environment of these variables, with the binary in this folder.
    pub fn new(
        variables: impl IntoIterator<Item = (String, String)>,
        binary_folder: impl Into<PathBuf>,
    ) -> Self {
        Self {
            variables: Arc::new(variables.into_iter().collect()),
            binary_folder: binary_folder.into(),
        }
    }

    /// The value of a variable, if it is set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The configuration file: what [`CONFIG_VARIABLE`] names, or `sendtrail.toml` beside the binary.
    pub fn config_file(&self) -> PathBuf {
        match self.get(CONFIG_VARIABLE) {
            Some(path) if !path.is_empty() => PathBuf::from(path),
            Some(_) | None => self.binary_folder.join("sendtrail.toml"),
        }
    }

    /// The overrides: dotted key, value and variable. `SENDTRAIL_POLLER__PAGE_ROWS` is `poller.page_rows`.
    /// Variables for which `taken` is true are somebody else's and left out.
    pub(crate) fn overrides(&self, taken: impl Fn(&str) -> bool) -> Vec<(String, String, String)> {
        let named = self.variables.iter().filter_map(|(name, value)| {
            let rest = name.strip_prefix(OVERRIDE_PREFIX)?;
            (name != CONFIG_VARIABLE && !taken(name)).then(|| {
                let key = rest.to_ascii_lowercase().replace("__", ".");
                (key, value.clone(), name.clone())
            })
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Environment {
        let pairs = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Environment::new(pairs, "/opt/bin")
    }

    #[test]
    fn the_file_is_named_or_beside_the_binary() {
        assert_eq!(of(&[]).config_file(), Path::new("/opt/bin/sendtrail.toml"));
        assert_eq!(
            of(&[("SENDTRAIL_CONFIG", "")]).config_file(),
            Path::new("/opt/bin/sendtrail.toml")
        );
        assert_eq!(
            of(&[("SENDTRAIL_CONFIG", "/etc/s.toml")]).config_file(),
            Path::new("/etc/s.toml")
        );
    }

    #[test]
    fn overrides_are_dotted_and_leave_out_what_is_not_ours() {
        let env = of(&[
            ("SENDTRAIL_CONFIG", "x"),
            ("SENDTRAIL_POLLER__PAGE_ROWS", "7"),
            ("SENDTRAIL_TOKEN", "text"),
            ("PATH", "/bin"),
        ]);
        assert_eq!(
            env.overrides(|name| name == "SENDTRAIL_TOKEN"),
            [(
                "poller.page_rows".to_owned(),
                "7".to_owned(),
                "SENDTRAIL_POLLER__PAGE_ROWS".to_owned()
            )]
        );
    }

    #[test]
    fn debug_never_shows_a_value() {
        let text = format!("{:?}", of(&[("A", "hidden-value")]));
        assert!(
            text.contains("\"A\"") && !text.contains("hidden-value"),
            "{text}"
        );
    }
}
