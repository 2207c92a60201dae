use sendtrail_signature::Secret;

use crate::support::run;

#[tokio::test]
async fn help_names_every_command_and_exit_code() {
    let help = run(&["--help"]).await.ok().out;
    for word in [
        "sign", "verify", "key", "history", "zoho", "config", "schedule", "smoke",
    ] {
        assert!(help.contains(word), "{word} in {help}");
    }
    for code in [
        "0  done",
        "1  refused",
        "2  wrong usage",
        "3  conflict",
        "4  there is no such record",
    ] {
        assert!(help.contains(code), "{code} in {help}");
    }
    assert!(!help.contains('\u{1b}'));
}

#[tokio::test]
async fn help_of_each_command_teaches_by_example() {
    let commands: [&[&str]; 15] = [
        &["sign"],
        &["key", "new"],
        &["history"],
        &["history", "settle"],
        &["history", "resume"],
        &["history", "record"],
        &["history", "wake"],
        &["config"],
        &["zoho"],
        &["zoho", "check"],
        &["schedule"],
        &["schedule", "pause"],
        &["schedule", "resume"],
        &["schedule", "run-now"],
        &["smoke"],
    ];
    for command in commands {
        let help = run(&[command, &["--help"]].concat()).await.ok().out;
        let example = format!("sendtrail {}", command.join(" "));
        assert!(
            help.contains("Examples:") && help.contains(&example),
            "{help}"
        );
    }
}

#[tokio::test]
async fn wrong_usage_ends_with_2_and_does_nothing() {
    let wrong: [&[&str]; 10] = [
        &[],
        &["send"],
        &["history"],
        &["history", "show", "a/b"],
        &["history", "list", "--state", "sent"],
        &["history", "list", "--limit", "0"],
        &[
            "history", "settle", "57", "--as", "accepted", "--reason", "x",
        ],
        &["history", "settle", "57", "--as", "failed"],
        &["history", "record", "57", "--reason", "x"],
        &["sign", "--body", "-"],
    ];
    for arguments in wrong {
        run(arguments).await.failed(2);
    }
}

#[tokio::test]
async fn a_new_key_is_one_secret_in_two_forms() {
    let made = run(&["key", "new", "--name", "2026-07", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(made["name"], "2026-07");
    let (text, whsec) = (
        made["text"].as_str().unwrap(),
        made["whsec"].as_str().unwrap(),
    );
    assert_eq!(text.len(), 43);
    assert_eq!(Secret::parse(text).unwrap().to_whsec(), whsec);
    assert_eq!(Secret::parse(whsec).unwrap().to_whsec(), whsec);

    let other = run(&["key", "new"]).await.ok().out;
    assert!(other.contains("text") && other.contains("whsec_") && !other.contains(text));
}

#[tokio::test]
async fn one_form_alone_is_one_line_for_a_pipe() {
    let whsec = run(&["key", "new", "--whsec"]).await.ok().out;
    assert!(
        whsec.starts_with("whsec_") && whsec.lines().count() == 1,
        "{whsec}"
    );
    let text = run(&["key", "new", "--text"]).await.ok().out;
    assert_eq!(text.len(), 44);
    run(&["key", "new", "--text", "--whsec"]).await.failed(2);
    run(&["key", "new", "--name", "a b"]).await.failed(2);
}
