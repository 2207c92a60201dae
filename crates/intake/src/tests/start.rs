//! From a configuration to a function, or to every mistake in it.

use sendtrail_startup::{Environment, Instance, Logs, SAMPLE, StartError};
use tempfile::TempDir;

const VARIABLES: [&str; 5] = [
    "CRM_CLIENT_SECRET",
    "CRM_REFRESH_INTAKE",
    "TOKEN_KEY",
    "SEAL_KEY",
    "INTAKE_K1",
];

/// Only what intake needs is set: the secrets of the other functions are not.
fn variables() -> Vec<(String, String)> {
    let value = |name: &str| {
        (
            name.to_owned(),
            format!("{name}-with-a-value-of-its-own-0123456789"),
        )
    };
    VARIABLES.iter().map(|name| value(name)).collect()
}

fn folder(config: &str, driver: bool) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sendtrail.toml"), config).unwrap();
    std::fs::create_dir(folder.path().join("drivers")).unwrap();
    if driver {
        std::fs::write(folder.path().join("drivers/letter.toml"), "").unwrap();
    }
    folder
}

async fn start(
    folder: &TempDir,
    variables: Vec<(String, String)>,
) -> Result<Instance<crate::Recipe>, Vec<StartError>> {
    let env = Environment::new(variables, folder.path());
    crate::start(&env, &Logs::start("intake", &env)).await
}

fn texts(result: Result<Instance<crate::Recipe>, Vec<StartError>>) -> String {
    let errors = result.err().unwrap();
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

#[tokio::test]
async fn the_sample_starts_with_the_secrets_of_intake_alone() {
    let instance = start(&folder(SAMPLE, true), variables()).await.unwrap();
    let app = instance.app();
    assert_eq!(app.settings.stage, "prod");
    assert_eq!(app.settings.drivers.len(), 1);
    assert!(!app.settings.preview_link);
    let shown = format!("{instance:?}");
    assert!(!shown.contains("with-a-value-of-its-own"), "{shown}");
}

#[tokio::test]
async fn missing_drivers_and_bad_keys_are_told_at_once_and_no_value_is_shown() {
    let mut variables = variables();
    variables[2].1 = "too short".to_owned();
    variables[4].1 = " blank around 0123456789012345678901234567890".to_owned();
    let text = texts(start(&folder(SAMPLE, false), variables).await);
    for part in ["drivers", "secret:token-key", "secret:intake-k1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        !text.contains("too short") && !text.contains("blank around"),
        "{text}"
    );
}

#[tokio::test]
async fn every_missing_secret_is_named() {
    let text = texts(start(&folder(SAMPLE, true), Vec::new()).await);
    for name in VARIABLES {
        assert!(text.contains(name), "{name}: {text}");
    }
    assert!(
        !text.contains("SIDE_EFFECT_K1") && !text.contains("CRM_REFRESH_POLLER"),
        "{text}"
    );
}

#[tokio::test]
async fn two_keys_of_one_value_do_not_start() {
    let mut variables = variables();
    variables[3].1 = variables[2].1.clone();
    assert!(texts(start(&folder(SAMPLE, true), variables).await).contains("same value"));
}

#[tokio::test]
async fn two_keys_of_one_value_in_two_forms_do_not_start() {
    let mut variables = variables();
    let secret = super::support::secret(&variables[2].1);
    variables[3].1 = secret.to_whsec();
    assert!(texts(start(&folder(SAMPLE, true), variables).await).contains("same value"));
}

#[tokio::test]
async fn a_configuration_with_mistakes_names_them_with_their_lines() {
    let config = SAMPLE.replace("stage = \"prod\"", "stage = \"PROD\"");
    let config = config.replace("preview_link = false", "preview_lnk = false");
    let text = texts(start(&folder(&config, true), variables()).await);
    assert!(
        text.contains("stage") && text.contains("preview_lnk"),
        "{text}"
    );
}
