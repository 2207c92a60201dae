use std::collections::BTreeMap;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use sendtrail_signature::{KeyRing, Secret, SignatureError, SignedHeaders, verify};

use crate::support::{Files, INTAKE_KEY, Ran, run, run_with};

const KEY: &str = "a key of this test that is long enough";

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

fn headers(ran: &Ran) -> BTreeMap<String, String> {
    let pair = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    };
    ran.out.lines().map(pair).collect()
}

fn check(
    headers: &BTreeMap<String, String>,
    body: &[u8],
    key: &str,
) -> Result<String, SignatureError> {
    let ring = KeyRing::new(vec![("k".into(), Secret::parse(key).unwrap())]).unwrap();
    let header = |name: &str| headers.get(name).map(String::as_bytes);
    let signed = SignedHeaders {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    verify(&signed, body, now_ms(), &ring).map(|verified| verified.id.to_owned())
}

async fn sign(more: &[&str], body: &[u8]) -> Ran {
    let arguments = [&["sign", "--body", "-", "--secret-env", "K"], more].concat();
    run_with(&arguments, &[("K", KEY)], body).await
}

#[tokio::test]
async fn what_is_signed_verifies_and_a_changed_byte_does_not() {
    let ran = sign(&[], b"{\"a\":1}\n").await.ok();
    let headers = headers(&ran);
    assert_eq!(headers.len(), 3);
    let id = check(&headers, b"{\"a\":1}\n", KEY).unwrap();
    assert!(id.starts_with("msg_") && id.len() == 36, "{id}");
    // Neither is a line end dropped from the body nor is one added.
    assert_eq!(
        check(&headers, b"{\"a\":1}", KEY),
        Err(SignatureError::Mismatch)
    );
    assert!(!ran.everything().contains(KEY));
}

#[tokio::test]
async fn a_body_of_any_bytes_is_signed_as_it_is() {
    for body in [&b""[..], b"{}", b"{}\r\n", b"\xff\xfe\x00"] {
        let ran = sign(&[], body).await.ok();
        assert!(check(&headers(&ran), body, KEY).is_ok(), "{body:?}");
    }
    let files = Files::new();
    std::fs::write(files.path("body"), b"{}\n").unwrap();
    let path = files.text_path("body");
    let arguments = ["sign", "--body", &path, "--secret-env", "K"];
    let ran = run_with(&arguments, &[("K", KEY)], b"").await.ok();
    assert!(check(&headers(&ran), b"{}\n", KEY).is_ok());
}

#[tokio::test]
async fn both_forms_of_a_secret_sign_alike_from_variable_and_file() {
    let files = Files::new();
    let whsec = Secret::parse(KEY).unwrap().to_whsec();
    files.write("key", &format!("{KEY}\n"));
    let path = files.text_path("key");
    let fixed = [
        "sign",
        "--body",
        "-",
        "--id",
        "msg_1",
        "--timestamp",
        "1700000000",
    ];
    let of = async |more: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&fixed, more].concat();
        run_with(&arguments, variables, b"{}").await.ok().out
    };
    let text = of(&["--secret-env", "K"], &[("K", KEY)]).await;
    assert_eq!(text, of(&["--secret-env", "K"], &[("K", &whsec)]).await);
    assert_eq!(text, of(&["--secret-file", &path], &[]).await);
    assert!(
        text.starts_with("webhook-id: msg_1\nwebhook-timestamp: 1700000000\n"),
        "{text}"
    );
}

#[tokio::test]
async fn json_and_shell_arguments_hold_the_same_headers() {
    let json = sign(&["--json"], b"{}").await.ok().json();
    let of_json: BTreeMap<String, String> = serde_json::from_value(json).unwrap();
    assert!(check(&of_json, b"{}", KEY).is_ok());

    let curl = sign(&["--curl"], b"{}").await.ok();
    let script = format!("set -- {}\nprintf '%s\\n' \"$@\"", curl.out.trim_end());
    let shell = Command::new("sh").args(["-c", &script]).output().unwrap();
    let words = String::from_utf8(shell.stdout).unwrap();
    let lines: Vec<_> = words.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[2], lines[4]),
        (6, "-H", "-H", "-H")
    );
    let pairs = [lines[1], lines[3], lines[5]].map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    });
    assert!(check(&BTreeMap::from(pairs), b"{}", KEY).is_ok());
    assert_eq!(sign(&["--curl", "--json"], b"{}").await.code, 2);
}

#[tokio::test]
async fn a_key_of_the_configuration_is_taken_by_function_and_name() {
    let files = Files::new();
    let config = files.config();
    let arguments = |more: &[&'static str]| {
        let fixed = ["sign", "--body", "-", "--config"].map(str::to_owned);
        let more = more.iter().map(|word| (*word).to_owned());
        fixed
            .into_iter()
            .chain([config.clone()])
            .chain(more)
            .collect::<Vec<_>>()
    };
    let of = async |more: &[&'static str]| {
        let arguments = arguments(more);
        let words: Vec<_> = arguments.iter().map(String::as_str).collect();
        // Only the key that signs is read: no other secret is set.
        run_with(&words, &[("INTAKE_K1", INTAKE_KEY)], b"{}").await
    };
    let ran = of(&["--function", "intake"]).await.ok();
    assert!(check(&headers(&ran), b"{}", INTAKE_KEY).is_ok());
    let ran = of(&["--function", "intake", "--key", "k1"]).await.ok();
    assert!(check(&headers(&ran), b"{}", INTAKE_KEY).is_ok());
    let unknown = of(&["--function", "intake", "--key", "k9"]).await.failed(2);
    assert!(unknown.err.contains("k1"), "{unknown:?}");
    let unset = of(&["--function", "side-effect"]).await.failed(2);
    assert!(unset.err.contains("SIDE_EFFECT_K1"), "{unset:?}");
}

#[tokio::test]
async fn a_secret_given_where_its_name_belongs_is_not_repeated() {
    let secret = "X7pasted0secret0in0the0wrong0place0000";
    let ran = run(&["sign", "--body", "-", "--secret-env", secret])
        .await
        .failed(2);
    assert!(!ran.everything().contains("X7pasted"), "{ran:?}");
    let short = run_with(
        &["sign", "--body", "-", "--secret-env", "K"],
        &[("K", "too-short")],
        b"",
    )
    .await;
    assert!(!short.failed(2).everything().contains("too-short"));
}

#[tokio::test]
async fn what_the_doors_would_refuse_is_not_signed() {
    for more in [
        ["--id", "a.b"],
        ["--id", ""],
        ["--timestamp", "1700000000000"],
        ["--timestamp", "+5"],
    ] {
        sign(&more, b"{}").await.failed(2);
    }
    let missing = ["sign", "--body", "/nowhere/body.json", "--secret-env", "K"];
    run_with(&missing, &[("K", KEY)], b"").await.failed(2);
}
