use sendtrail_simulator::parameters::{ParameterKind, Parameters, ParametersConfig};

use crate::support::{Files, INTAKE_KEY, run, run_with};

const SECRETS: [(&str, &str); 10] = [
    ("CRM_CLIENT_SECRET", "client"),
    ("CRM_REFRESH_INTAKE", "1000.a"),
    ("CRM_REFRESH_SIDE_EFFECT", "1000.b"),
    ("CRM_REFRESH_POLLER", "1000.c"),
    ("CRM_REFRESH_OPERATOR", "1000.d"),
    ("TOKEN_KEY", "the token key of this test, long enough"),
    ("SEAL_KEY", "the seal key of this test, long enough!"),
    ("INTAKE_K1", INTAKE_KEY),
    ("SIDE_EFFECT_K1", "a side-effect key of this test, and long"),
    ("LOB_KEY", "lob"),
];

#[tokio::test]
async fn the_sample_is_right_without_its_secrets() {
    let files = Files::new();
    let config = files.config();
    let ran = run(&["config", "check", "--config", &config]).await.ok();
    assert!(
        ran.out.contains("is right") && ran.out.contains("lob-letter"),
        "{ran:?}"
    );
    let json = run(&["config", "check", "--config", &config, "--json"])
        .await
        .ok()
        .json();
    assert_eq!(json["drivers"][0], "lob-letter");
    assert_eq!(json["secrets_read"], false);
}

#[tokio::test]
async fn every_mistake_is_named_with_its_line() {
    let broken = |text: &str| {
        text.replace("stage = \"prod\"", "stage = \"Prod\"")
            .replace("page_rows = 200", "page_rows = 500")
    };
    let files = Files::changed(broken);
    let config = files.config();
    let ran = run(&["config", "check", "--config", &config])
        .await
        .failed(2);
    assert!(
        ran.err.contains("stage: ") && ran.err.contains("poller.page_rows"),
        "{ran:?}"
    );
    let json = run(&["config", "check", "--config", &config, "--json"]).await;
    assert_eq!(json.code, 2);
    let mistakes = json.json()["error"]["mistakes"].clone();
    assert_eq!(mistakes.as_array().unwrap().len(), 2, "{mistakes}");
    assert!(mistakes[0]["line"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn mistakes_of_driver_files_are_named_too() {
    let files = Files::new();
    let config = files.config();
    let driver = std::fs::read_to_string(files.path("drivers/lob-letter.toml")).unwrap();
    files.write(
        "drivers/lob-letter.toml",
        &driver.replace("kind = \"basic\"", "kind = \"magic\""),
    );
    let ran = run(&["config", "check", "--config", &config])
        .await
        .failed(2);
    assert!(
        ran.err.contains("lob-letter.toml:") && ran.err.contains("auth"),
        "{ran:?}"
    );

    files.write(
        "drivers/lob-letter.toml",
        &driver.replace("secret:lob-key", "secret:lob-other"),
    );
    let ran = run(&["config", "check", "--config", &config])
        .await
        .failed(2);
    assert!(
        ran.err.contains("secret:lob-other") && ran.err.contains("not listed"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_file_that_is_not_there_is_told_with_the_option_to_name_it() {
    let ran = run(&["config", "check", "--config", "/nowhere/s.toml"])
        .await
        .failed(2);
    assert!(
        ran.err.contains("/nowhere/s.toml") && ran.err.contains("--config"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn secrets_are_checked_when_asked_and_never_shown() {
    let files = Files::new();
    let config = files.config();
    let arguments = ["config", "check", "--secrets", "--config", &config];
    run_with(&arguments, &SECRETS, b"").await.ok();

    let missing = run_with(&arguments, &SECRETS[..8], b"").await.failed(2);
    assert!(
        missing.err.contains("SIDE_EFFECT_K1") && missing.err.contains("LOB_KEY"),
        "{missing:?}"
    );

    let mut short = SECRETS;
    short[6].1 = "short-seal";
    let ran = run_with(&arguments, &short, b"").await.failed(2);
    assert!(
        ran.err.contains("seal-key") && !ran.everything().contains("short-seal"),
        "{ran:?}"
    );

    let mut same = SECRETS;
    same[6].1 = INTAKE_KEY;
    let ran = run_with(&arguments, &same, b"").await.failed(2);
    assert!(
        ran.err.contains("same value") && !ran.everything().contains(INTAKE_KEY),
        "{ran:?}"
    );
}

#[tokio::test]
async fn secrets_in_aws_are_read_as_the_function_that_uses_them() {
    let services = Parameters::start(ParametersConfig::default())
        .await
        .unwrap();
    let files = Files::changed(|text| {
        text.replace("env:SEAL_KEY", "ssm:/sendtrail/{stage}/{function}/seal-key")
            .replace("env:INTAKE_K1", "secretsmanager:{stage}/{function}/k1")
    });
    let config = files.config();
    let mut variables = SECRETS.to_vec();
    variables.retain(|(name, _)| !["SEAL_KEY", "INTAKE_K1"].contains(name));
    variables.extend([
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "the-secret-access-key"),
        ("AWS_ENDPOINT_URL", services.url()),
    ]);
    let check = ["config", "check", "--secrets", "--config", &config];
    let missing = run_with(&check, &variables, b"").await.failed(2);
    for due in [
        "aws ssm put-parameter --type SecureString --name /sendtrail/prod/intake/seal-key",
        "aws ssm put-parameter --type SecureString --name /sendtrail/prod/side-effect/seal-key",
        "aws secretsmanager create-secret --name prod/intake/k1",
    ] {
        assert!(missing.err.contains(due), "{missing:?}");
    }
    assert!(!missing.err.contains("/poller/") && !missing.err.contains("/operator/"));

    let seal = "the seal key of this test, long enough!";
    let kind = ParameterKind::SecureString;
    services.put("/sendtrail/prod/intake/seal-key", seal, kind);
    services.put(
        "/sendtrail/prod/side-effect/seal-key",
        "another seal key, of the same length!",
        kind,
    );
    services.put_secret("prod/intake/k1", INTAKE_KEY);
    let differ = run_with(&check, &variables, b"").await.failed(2);
    assert!(
        differ
            .err
            .contains("seal-key: is not the same for side-effect as for intake"),
        "{differ:?}"
    );
    services.put("/sendtrail/prod/side-effect/seal-key", seal, kind);
    run_with(&check, &variables, b"").await.ok();

    // The key of a function is read as that function here too.
    files.write("body.json", "{}");
    let body = files.path("body.json").display().to_string();
    let sign = [
        "sign",
        "--function",
        "intake",
        "--config",
        &config,
        "--body",
        &body,
    ];
    let signed = run_with(&sign, &variables, b"").await.ok();
    assert!(signed.out.contains("webhook-signature: v1,"), "{signed:?}");
}
