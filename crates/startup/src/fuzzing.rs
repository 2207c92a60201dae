//! For fuzzing: the configuration from a text.

use std::path::Path;

use sendtrail_core::settings::{Mistakes, Section};

use crate::config::Config;
use crate::environment::Environment;

/// Reads the text of a configuration file, with nothing overridden.
///
/// # Errors
/// Every mistake in the text.
pub fn config<C>(
    text: &str,
    read_crm: impl FnOnce(&Section<'_, '_>) -> Option<C>,
) -> Result<Config<C>, Mistakes> {
    let file = Path::new("sendtrail.toml");
    crate::read::read(file, text, &Environment::default(), read_crm).map(|(config, _)| config)
}
