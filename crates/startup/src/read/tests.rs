use super::*;
use crate::keys::SAMPLE;
use sendtrail_core::settings::parse_duration;

mod deployment;

/// Reads any `[crm]` and marks what is in it as known.
#[expect(clippy::unnecessary_wraps, reason = "it stands in for a CRM adapter")]
pub(crate) fn any_crm(crm: &Section<'_, '_>) -> Option<()> {
    for (key, _) in crm.keys() {
        if crm
            .raw(&key)
            .is_some_and(|value| value.as_table().is_some())
        {
            any_crm(&crm.section(&key));
        }
    }
    Some(())
}

fn env(pairs: &[(&str, &str)]) -> Environment {
    let pairs = pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Environment::new(pairs, "")
}

fn read_text(text: &str, env: &Environment) -> Result<Config<()>, String> {
    match read(Path::new("/etc/s.toml"), text, env, any_crm) {
        Ok((config, _)) => Ok(config),
        Err(mistakes) => Err(mistakes.to_string()),
    }
}

async fn resolve<'a>(
    store: &SecretStore,
    refs: impl IntoIterator<Item = &'a SecretRef>,
) -> Result<crate::Secrets, StartError> {
    store.resolve(crate::Function::Intake, refs).await
}

/// The sample with one text replaced.
fn changed(from: &str, to: &str) -> Result<Config<()>, String> {
    assert!(SAMPLE.contains(from), "{from}");
    read_text(&SAMPLE.replacen(from, to, 1), &env(&[]))
}

fn line_of(text: &str) -> usize {
    let at = SAMPLE.find(text).unwrap();
    1 + SAMPLE[..at].matches('\n').count()
}

#[test]
fn the_sample_is_complete_and_says_the_defaults() {
    let config = read_text(SAMPLE, &env(&[])).unwrap();
    assert_eq!(config.stage, "prod");
    assert_eq!(config.intake.signing_keys[0].name, "k1");
    assert_eq!(config.documents.max_bytes, 4_400_000);
    let (_, asked) = read(Path::new("s.toml"), SAMPLE, &env(&[]), any_crm).unwrap();
    for key in asked.iter().filter(|key| key.default.is_some()) {
        let default = key.default.as_deref().unwrap();
        let last = key.key.rsplit('.').next().unwrap();
        let (plain, quoted) = (
            format!("{last} = {default}"),
            format!("{last} = \"{default}\""),
        );
        let written = SAMPLE.contains(&plain) || SAMPLE.contains(&quoted);
        assert!(written || key.key == "secrets.NAME", "{}", key.key);
    }
}

#[test]
fn what_has_a_default_may_be_left_out() {
    let short = SAMPLE
        .lines()
        .filter(|line| {
            let value = line.split(" = ").nth(1).unwrap_or_default();
            let text = value.trim_matches('"');
            parse_duration(text).is_err() && value.parse::<i64>().is_err()
        })
        .collect::<Vec<_>>()
        .join("\n");
    assert!(short.len() < SAMPLE.len());
    let short = read_text(&short, &env(&[])).unwrap();
    let full = read_text(SAMPLE, &env(&[])).unwrap();
    assert_eq!(short.poller, full.poller);
    assert_eq!(short.side_effect, full.side_effect);
    assert_eq!(short.intake, full.intake);
}

#[test]
fn a_claim_is_stale_once_no_clock_can_have_its_function_alive() {
    let config = read_text(SAMPLE, &env(&[])).unwrap();
    let policy = config.submit_policy();
    assert_eq!(policy.claim_stale, SignedDuration::from_secs(90));
    assert_eq!(policy.stage, "prod");
    let polling = config.poll_policy();
    assert_eq!((polling.page_rows, polling.concurrency), (200, 8));
    assert_eq!(
        (polling.stage, polling.claim_stale),
        (policy.stage, policy.claim_stale)
    );
}

#[test]
fn every_mistake_is_told_at_once_with_its_place() {
    let text = SAMPLE
        .replacen("stage = \"prod\"", "stage = \"Prod\"", 1)
        .replacen("page_rows = 200", "page_rows = 201", 1)
        .replacen("[seal]", "[seals]", 1);
    let told = read_text(&text, &env(&[("SENDTRAIL_POLLER__NOPE", "1")])).unwrap_err();
    for expected in [
        format!(
            "/etc/s.toml:{}: stage: must be 1 to 20",
            line_of("stage = ")
        ),
        format!(
            "/etc/s.toml:{}: poller.page_rows: must be a whole",
            line_of("page_rows = ")
        ),
        format!("/etc/s.toml:{}: seals: no such key", line_of("[seal]")),
        "seal.key: is missing".to_owned(),
        "SENDTRAIL_POLLER__NOPE: poller.nope: no such key".to_owned(),
    ] {
        assert!(told.contains(&expected), "{expected}\n{told}");
    }
}

#[test]
fn settings_that_cannot_work_together_are_refused() {
    for (from, to, told) in [
        (
            "preview_ttl = \"10m\"",
            "preview_ttl = \"61m\"",
            "intake.preview_ttl: must not be longer",
        ),
        (
            "preview_ttl = \"10m\"",
            "preview_ttl = \"0s\"",
            "intake.preview_ttl: must be longer",
        ),
        (
            "timeout = \"60s\"",
            "timeout = \"26s\"",
            "side_effect.timeout: leaves too little for the submit",
        ),
        (
            "timeout = \"60s\"",
            "timeout = \"901s\"",
            "side_effect.timeout: must not be longer than 15m",
        ),
        (
            "reserve = \"15s\"\n# A listed",
            "reserve = \"110s\"\n# A listed",
            "poller.reserve: must be shorter",
        ),
        (
            "interval = \"2m\"",
            "interval = \"0s\"",
            "poller.interval: must be longer",
        ),
        (
            "max_bytes = 4400000",
            "max_bytes = 4500001",
            "documents.max_bytes: must be",
        ),
        (
            "[[intake.signing_key]]\nname = \"k1\"",
            "[[intake.signing_key]]\nname = \"a b\"",
            "name: must be 1 to 40",
        ),
    ] {
        let mistakes = changed(from, to).unwrap_err();
        assert!(mistakes.contains(told), "{told}\n{mistakes}");
        assert_eq!(mistakes.lines().count(), 1, "{mistakes}");
    }
    assert!(changed("preview_ttl = \"10m\"", "preview_ttl = \"60m\"").is_ok());
    assert!(changed("timeout = \"60s\"", "timeout = \"27s\"").is_ok());
}

#[test]
fn each_function_needs_a_signing_key_and_names_differ() {
    let twice =
        "name = \"k1\"\nsecret = \"secret:lob-key\"\n[[side_effect.signing_key]]\nname = \"k1\"";
    let told = changed(
        "name = \"k1\"\nsecret = \"secret:side",
        &format!("{twice}\nsecret = \"secret:side"),
    )
    .unwrap_err();
    assert!(
        told.contains("side_effect.signing_key[1].name: is the name of an earlier"),
        "{told}"
    );
    let none = SAMPLE.replace("[[intake.signing_key]]", "[[crm.signing_key]]");
    let told = read_text(&none, &env(&[])).unwrap_err();
    assert!(
        told.contains("intake.signing_key: needs at least one"),
        "{told}"
    );
}

#[test]
fn a_reference_to_an_unlisted_secret_is_a_mistake_also_in_the_crms_part() {
    fn crm(section: &Section<'_, '_>) -> Option<()> {
        section.secret("client_secret");
        any_crm(section)
    }
    let text = SAMPLE
        .replacen("secret:crm-client-secret", "secret:crm-clientsecret", 1)
        .replacen("secret:intake-k1", "secret:intake-k9", 1);
    let mistakes = read(Path::new("s.toml"), &text, &env(&[]), crm).unwrap_err();
    let told = mistakes.to_string();
    let line = line_of("secret:crm-client-secret");
    assert!(
        told.contains(&format!(
            "s.toml:{line}: crm.client_secret: secret:crm-clientsecret is not listed"
        )),
        "{told}"
    );
    assert!(
        told.contains("intake.signing_key[0].secret: secret:intake-k9 is not listed"),
        "{told}"
    );
    assert_eq!(mistakes.0.len(), 2, "{told}");
}

#[test]
fn one_secret_is_never_the_key_to_two_things() {
    let told = changed(
        "secret = \"secret:side-effect-k1\"",
        "secret = \"secret:seal-key\"",
    )
    .unwrap_err();
    assert!(
        told.contains("side_effect.signing_key[0].secret: secret:seal-key is used for another key"),
        "{told}"
    );
}

#[test]
fn a_secret_written_into_the_file_is_refused_and_not_repeated() {
    let told = changed("\"env:SEAL_KEY\"", "\"plain-text-secret\"").unwrap_err();
    assert!(
        told.contains("secrets.seal-key: must be env:VARIABLE, file:"),
        "{told}"
    );
    assert!(!told.contains("plain-text-secret"));
    let told = changed("\"secret:seal-key\"", "\"plain-text-secret\"").unwrap_err();
    assert!(
        told.contains("seal.key: must be secret:NAME") && !told.contains("plain-text"),
        "{told}"
    );
}

#[test]
fn a_variable_that_holds_a_secret_overrides_nothing() {
    let text = SAMPLE.replace("env:SEAL_KEY", "env:SENDTRAIL_SEAL_KEY");
    let config = read_text(
        &text,
        &env(&[("SENDTRAIL_SEAL_KEY", "x"), ("SENDTRAIL_STAGE", "dev")]),
    );
    assert_eq!(config.unwrap().stage, "dev");
    let told = read_text(SAMPLE, &env(&[("SENDTRAIL_SEAL_KEY", "x")])).unwrap_err();
    assert_eq!(told, "SENDTRAIL_SEAL_KEY: seal_key: no such key");
}

#[tokio::test]
async fn only_secrets_asked_for_are_read_and_all_bad_ones_are_told_without_values() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("seal"), "from a file\r\n").unwrap();
    let text = SAMPLE
        .replace("env:SEAL_KEY", "file:seal")
        .replace("env:LOB_KEY", "file:none");
    let env = env(&[
        ("TOKEN_KEY", "hidden"),
        ("INTAKE_K1", "hidden"),
        ("SIDE_EFFECT_K1", " "),
    ]);
    let path = folder.path().join("s.toml");
    let (config, _) = read(&path, &text, &env, any_crm).unwrap();
    let secrets = &config.secrets;

    let seal = resolve(secrets, [&config.seal_key]).await.unwrap();
    let value = seal.get(&config.seal_key).unwrap();
    assert_eq!(secrecy::ExposeSecret::expose_secret(value), "from a file");
    assert!(seal.get(&config.intake.token_key).is_err());
    assert!(!format!("{seal:?} {secrets:?} {config:?}").contains("hidden"));

    let mut wanted = config.intake_secrets();
    wanted.extend(config.side_effect_secrets());
    let told = resolve(secrets, &wanted).await.unwrap_err().to_string();
    assert!(
        told.contains("secret:side-effect-k1: the variable SIDE_EFFECT_K1 is empty"),
        "{told}"
    );
    assert!(
        told.contains("secret:token-key: has the same value as secret:intake-k1"),
        "{told}"
    );
    assert!(
        !told.contains("hidden") && !told.contains("lob-key"),
        "{told}"
    );
}

#[tokio::test]
async fn signing_keys_keep_their_names_and_order() {
    let config = read_text(SAMPLE, &env(&[("INTAKE_K1", "x")])).unwrap();
    let keys = &config.intake.signing_keys;
    let secrets = resolve(&config.secrets, keys.iter().map(|key| &key.secret))
        .await
        .unwrap();
    let named = secrets.signing_keys(keys).unwrap();
    assert_eq!(named.len(), 1);
    assert_eq!(named[0].0, "k1");
}

#[test]
fn a_crm_that_reads_as_nothing_never_passes() {
    let nothing = |crm: &Section<'_, '_>| any_crm(crm).and(None::<()>);
    let mistakes = read(Path::new("s.toml"), SAMPLE, &env(&[]), nothing).unwrap_err();
    assert_eq!(mistakes.to_string(), "s.toml: crm: cannot be used");
}

#[test]
fn load_reads_the_file_that_the_variable_names_and_its_drivers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, SAMPLE).unwrap();
    std::fs::create_dir(folder.path().join("drivers")).unwrap();
    std::fs::write(folder.path().join("drivers/letter.toml"), "").unwrap();
    let config = load(
        &env(&[("SENDTRAIL_CONFIG", file.to_str().unwrap())]),
        any_crm,
    )
    .unwrap();
    assert_eq!(config.driver_ids().unwrap()[0].as_str(), "letter");
    assert_eq!(config.driver_files().unwrap().len(), 1);
}
