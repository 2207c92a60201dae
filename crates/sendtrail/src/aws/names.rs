//! What the template calls things, by stage.

use std::path::Path;

use crate::failure::{Failure, Kind};
use crate::setup::{Process, environment, settings};

/// The names of one stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) stage: String,
}

impl Names {
    pub(crate) fn group(&self) -> String {
        format!("sendtrail-{}", self.stage)
    }

    /// The schedule and the function that it ticks are called the same.
    pub(crate) fn poller(&self) -> String {
        format!("sendtrail-{}-poller", self.stage)
    }

    pub(crate) fn poller_log(&self) -> String {
        format!("/aws/lambda/{}", self.poller())
    }
}

/// The stage of an option, or else of the configuration.
///
/// # Errors
/// [`Kind::Usage`] for a word that is no stage, [`Kind::Configuration`] where neither tells it.
pub(crate) fn stage(
    given: Option<&str>,
    config: Option<&Path>,
    process: &Process,
) -> Result<Names, Failure> {
    if let Some(stage) = given {
        let of_form = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !(1..=20).contains(&stage.len()) || !stage.bytes().all(of_form) {
            let what = "--stage takes 1 to 20 lower-case letters, digits or -";
            return Err(Failure::new(Kind::Usage, what));
        }
        let stage = stage.to_owned();
        return Ok(Names { stage });
    }
    let settings = environment(process, config).and_then(|env| settings(&env));
    let settings = settings.map_err(|mut failure| {
        failure.message.push_str("; or name the stage with --stage");
        failure
    })?;
    Ok(Names {
        stage: settings.stage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_template() {
        let template = include_str!("../../../../infra/aws/template.yaml");
        let names = stage(Some("${Stage}x"), None, &Process::default());
        assert_eq!(names.unwrap_err().kind, Kind::Usage);
        let names = Names {
            stage: "${Stage}".to_owned(),
        };
        for name in [names.group(), names.poller(), names.poller_log()] {
            assert!(template.contains(&format!("!Sub '{name}'")), "{name}");
        }
    }

    #[test]
    fn without_an_option_and_a_configuration_the_stage_is_asked_for() {
        let failure = stage(None, Some(Path::new("/nowhere.toml")), &Process::default());
        let failure = failure.unwrap_err();
        assert_eq!(failure.kind, Kind::Configuration);
        assert!(failure.message.contains("--stage"), "{}", failure.message);
    }
}
