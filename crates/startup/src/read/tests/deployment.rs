//! What a deployment sets: where secrets are, how long they live, drain, wake.

use super::*;

#[test]
fn a_mistake_in_the_name_of_a_parameter_has_its_line_and_is_not_repeated() {
    for (place, told) in [
        ("ssm:hidden", "begins with /"),
        ("ssm:/{hidden}/x", "neither {stage} nor {function}"),
        ("secretsmanager:hid den", "letters, digits"),
        ("vault:hidden", "must be env:VARIABLE, file:"),
    ] {
        let mistake = changed("env:SEAL_KEY", place).unwrap_err();
        let line = format!("s.toml:{}: secrets.seal-key: ", line_of("env:SEAL_KEY"));
        assert!(
            mistake.contains(&line) && mistake.contains(told),
            "{mistake}"
        );
        assert!(!mistake.contains("hidden"), "{mistake}");
        assert_eq!(mistake.lines().count(), 1, "{mistake}");
    }
    assert!(changed("env:SEAL_KEY", "ssm:/sendtrail/{stage}/{function}/seal-key").is_ok());
    assert!(changed("env:SEAL_KEY", "secretsmanager:sendtrail/{stage}/seal-key").is_ok());
}

#[test]
fn secrets_live_at_least_a_minute() {
    assert!(changed("secrets_lifetime = \"15m\"", "secrets_lifetime = \"60s\"").is_ok());
    for short in ["0s", "59s"] {
        let short = format!("secrets_lifetime = \"{short}\"");
        let told = changed("secrets_lifetime = \"15m\"", &short).unwrap_err();
        assert!(
            told.contains("secrets_lifetime: must be at least 1m"),
            "{told}"
        );
    }
    let config = read_text(SAMPLE, &env(&[])).unwrap();
    assert_eq!(config.secrets_lifetime, SignedDuration::from_mins(15));
}

#[test]
fn draining_is_off_and_a_variable_turns_it_on() {
    assert!(!read_text(SAMPLE, &env(&[])).unwrap().drain);
    let on = read_text(SAMPLE, &env(&[("SENDTRAIL_DRAIN", "true")])).unwrap();
    assert!(on.drain);
    let told = read_text(SAMPLE, &env(&[("SENDTRAIL_DRAIN", "on")])).unwrap_err();
    assert_eq!(told, "SENDTRAIL_DRAIN: drain: must be true or false");
}

#[test]
fn a_wake_up_needs_all_four_keys_or_none() {
    const ALL: [(&str, &str); 4] = [
        ("SENDTRAIL_WAKE__GROUP", "g"),
        ("SENDTRAIL_WAKE__ROLE_ARN", "r"),
        ("SENDTRAIL_WAKE__TARGET_ARN", "t"),
        ("SENDTRAIL_WAKE__DEAD_LETTER_ARN", "d"),
    ];
    assert_eq!(read_text(SAMPLE, &env(&[])).unwrap().wake, None);
    let empty = ALL.map(|(name, _)| (name, ""));
    assert_eq!(read_text(SAMPLE, &env(&empty)).unwrap().wake, None);
    let wake = read_text(SAMPLE, &env(&ALL)).unwrap().wake.unwrap();
    assert_eq!(
        [
            wake.group,
            wake.role_arn,
            wake.target_arn,
            wake.dead_letter_arn
        ],
        ["g", "r", "t", "d"]
    );
    for missing in ALL {
        let others: Vec<_> = ALL.into_iter().filter(|one| *one != missing).collect();
        let told = read_text(SAMPLE, &env(&others)).unwrap_err();
        let key = missing
            .0
            .trim_start_matches("SENDTRAIL_WAKE__")
            .to_ascii_lowercase();
        assert!(told.contains(&format!("wake.{key}: is missing")), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    let in_file = SAMPLE
        .replace("# [wake]", "[wake]")
        .replace("# group = ", "group = ");
    let told = read_text(&in_file, &env(&[])).unwrap_err();
    assert_eq!(told.lines().count(), 3, "{told}");
    assert!(
        told.contains(&format!("s.toml:{}: wake.role_arn", line_of("# [wake]"))),
        "{told}"
    );
}

#[tokio::test]
async fn a_secret_in_aws_without_an_account_names_the_variable_that_is_missing() {
    let text = SAMPLE
        .replace("env:SEAL_KEY", "ssm:/sendtrail/{stage}/{function}/seal-key")
        .replace("env:TOKEN_KEY", "secretsmanager:token-key");
    let config = read_text(&text, &env(&[("INTAKE_K1", "a value")])).unwrap();
    let wanted = config.intake_secrets();
    let told = resolve(&config.secrets, &wanted)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        told.matches("the variable AWS_REGION is not set").count(),
        2,
        "{told}"
    );
    // Where no secret of AWS is asked for, none is needed.
    let keys = &config.intake.signing_keys;
    assert!(
        resolve(&config.secrets, keys.iter().map(|key| &key.secret))
            .await
            .is_ok()
    );
}
