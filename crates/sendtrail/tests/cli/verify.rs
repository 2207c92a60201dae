use std::time::{SystemTime, UNIX_EPOCH};

use sendtrail_signature::{Secret, sign};
use serde_json::{Value, json};

use crate::support::{Files, INTAKE_KEY, Ran, run, run_with};

const KEY: &str = "a key of this test that is long enough";
const OTHER_KEY: &str = "a side-effect key of this test, and long";
const AT: &str = "1700000000";

/// Signs `signed` and verifies `sent` with it.
async fn verify_as(signed: &[u8], sent: &[u8], more: &[&str]) -> Ran {
    let signature = sign(&Secret::parse(KEY).unwrap(), "msg_1", AT, signed);
    verify_with(&signature, sent, more).await
}

async fn verify_with(signature: &str, sent: &[u8], more: &[&str]) -> Ran {
    let request = ["--id", "msg_1", "--timestamp", AT, "--signature", signature];
    let keys = ["verify", "--body", "-", "--secret-env", "K", "--at", AT];
    let arguments = [&keys[..], &request, more].concat();
    let ran = run_with(&arguments, &[("K", KEY)], sent).await;
    assert!(!ran.everything().contains(KEY));
    ran
}

fn names(json: &Value) -> Vec<Vec<String>> {
    let name = |change: &Value| change["name"].as_str().unwrap().to_owned();
    let names = |one: &Value| {
        one["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(name)
            .collect()
    };
    json["request"]["explanations"]
        .as_array()
        .unwrap()
        .iter()
        .map(names)
        .collect()
}

/// It said on standard output, and with exit code 1, that the request does not verify.
#[track_caller]
fn refused(ran: Ran) -> Ran {
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{ran:?}");
    ran
}

#[tokio::test]
async fn what_verifies_ends_with_0_and_names_the_key() {
    let ran = verify_as(b"{}", b"{}", &[]).await.ok();
    assert!(ran.out.contains("verified with key $K"), "{ran:?}");
    let json = verify_as(b"{}", b"{}", &["--json"]).await.ok().json();
    assert_eq!(json["verified"], true);
    assert_eq!(json["request"]["key"], "$K");
    assert_eq!(json["request"]["clock"]["delta_s"], 0);
}

#[tokio::test]
async fn a_changed_body_is_explained_without_showing_it() {
    let (signed, sent) = (r#"{"name":"Zoë"}"#, r#"{"name": "Zoë"}"#);
    let ran = refused(verify_as(signed.as_bytes(), sent.as_bytes(), &[]).await);
    for due in [
        "mismatch",
        "written as compact JSON",
        "$K",
        "16 bytes",
        "15 bytes",
        "fix ",
    ] {
        assert!(ran.out.contains(due), "{due} in {}", ran.out);
    }
    assert!(!ran.everything().contains("Zo"), "{ran:?}");
    let json = refused(verify_as(signed.as_bytes(), sent.as_bytes(), &["--json"]).await).json();
    assert_eq!(json["verified"], false);
    assert_eq!(json["request"]["reason"], "mismatch");
    assert_eq!(names(&json), [["compact"]]);
}

#[tokio::test]
async fn another_body_is_explained_by_nothing_and_the_count_is_told() {
    let json = refused(verify_as(b"{\"a\":1}", b"{\"a\":2}", &["--json"]).await).json();
    assert_eq!(names(&json), [[""; 0]; 0]);
    assert!(json["request"]["tried"].as_u64().unwrap() > 1_000);
    assert_eq!(json["request"]["tried_all"], true);
    let ran = refused(verify_as(b"{\"a\":1}", b"{\"a\":2}", &[]).await);
    assert!(ran.out.contains("none of the usual changes"), "{ran:?}");
}

#[tokio::test]
async fn a_hex_signature_is_named_though_the_library_looks_no_further() {
    let signature = "v1,000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f";
    let json = refused(verify_with(signature, b"{}", &["--json"]).await).json();
    assert_eq!(json["request"]["reason"], "signature_is_hex");
    assert_eq!(names(&json), [[""; 0]; 0]);
}

#[tokio::test]
async fn what_is_no_signature_at_all_is_told_and_nothing_is_tried() {
    for (signature, due) in [
        ("v1,@@@", "is not padded standard base64"),
        ("v1,AA==", "has not 32 bytes"),
        ("", "is missing or empty"),
    ] {
        let ran = refused(verify_with(signature, b"{}", &[]).await);
        assert!(
            ran.out.contains(due) && ran.out.contains("fix "),
            "{due} in {}",
            ran.out
        );
        let json = refused(verify_with(signature, b"{}", &["--json"]).await).json();
        assert_eq!(json["request"]["tried"], 0);
        assert_eq!(json["request"]["mac_holds"], false);
    }
}

#[tokio::test]
async fn a_stale_request_is_called_stale_with_its_mac_verified() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let at = (now.as_secs() - 5_000).to_string();
    let signature = sign(&Secret::parse(KEY).unwrap(), "msg_1", &at, b"{}");
    let request = [
        "--id",
        "msg_1",
        "--timestamp",
        &at,
        "--signature",
        &signature,
    ];
    let arguments = [
        &["verify", "--body", "-", "--secret-env", "K"][..],
        &request,
    ]
    .concat();
    let ran = refused(run_with(&arguments, &[("K", KEY)], b"{}").await);
    for due in ["too_old", "it holds", "outside", "--at"] {
        assert!(ran.out.contains(due), "{due} in {}", ran.out);
    }
    let then = [&arguments[..], &["--at", &at]].concat();
    run_with(&then, &[("K", KEY)], b"{}").await.ok();
}

#[tokio::test]
async fn a_mismatch_outside_the_window_doubts_the_timestamp_and_one_inside_does_not() {
    let of = async |at: &str| {
        let signature = sign(&Secret::parse(KEY).unwrap(), "msg_1", AT, b"other");
        let words = [
            "verify",
            "--body",
            "-",
            "--secret-env",
            "K",
            "--id",
            "msg_1",
        ];
        let more = ["--timestamp", AT, "--signature", &signature, "--at", at];
        let arguments = [&words[..], &more].concat();
        refused(run_with(&arguments, &[("K", KEY)], b"{}").await).out
    };
    let doubt = "may not be the one that was signed";
    assert!(!of(AT).await.contains(doubt));
    let stale = of("2026-01-01T00:00:00Z").await;
    assert!(
        stale.contains(doubt) && stale.contains("2 years before"),
        "{stale}"
    );
}

#[tokio::test]
async fn a_missing_header_ends_the_diagnosis_with_one_fix() {
    let signature = sign(&Secret::parse(KEY).unwrap(), "msg_1", AT, b"other");
    let words = [
        "verify",
        "--body",
        "-",
        "--secret-env",
        "K",
        "--timestamp",
        AT,
    ];
    let arguments = [&words[..], &["--signature", &signature]].concat();
    let out = refused(run_with(&arguments, &[("K", KEY)], b"{}").await).out;
    let fixes = out.lines().filter(|line| line.starts_with("fix "));
    assert_eq!(fixes.count(), 1, "{out}");
    assert!(out.contains("missing_id") && !out.contains("tried") && !out.contains("clock"));
}

#[tokio::test]
async fn headers_come_from_what_sign_prints_and_from_a_captured_event() {
    let files = Files::new();
    let fixed = ["sign", "--body", "-", "--secret-env", "K", "--id", "msg_1"];
    let variables = [("K", KEY)];
    let lines = run_with(&fixed, &variables, b"{}\n").await.ok().out;
    files.write("headers", &lines);
    files.write("body", "{}\n");
    let (headers, body) = (files.text_path("headers"), files.text_path("body"));
    let arguments = [
        "verify",
        "--headers",
        &headers,
        "--body",
        &body,
        "--secret-env",
        "K",
    ];
    run_with(&arguments, &variables, b"").await.ok();

    let signature = sign(&Secret::parse(KEY).unwrap(), "msg_1", AT, b"{}");
    let event = json!({
        "headers": {"webhook-id": "msg_1", "webhook-timestamp": AT, "webhook-signature": signature},
        "body": "e30=", "isBase64Encoded": true, "requestContext": {"timeEpoch": 1_700_000_001_000_i64},
    });
    let arguments = ["verify", "--headers", "-", "--secret-env", "K"];
    let event = event.to_string();
    run_with(&arguments, &variables, event.as_bytes())
        .await
        .ok();
}

#[tokio::test]
async fn the_key_of_the_other_function_is_named_from_the_configuration() {
    let files = Files::new();
    let config = files.config();
    let signature = sign(&Secret::parse(OTHER_KEY).unwrap(), "msg_1", AT, b"{}");
    let request = [
        "--id",
        "msg_1",
        "--timestamp",
        AT,
        "--signature",
        &signature,
        "--at",
        AT,
    ];
    let keys = [
        "verify",
        "--body",
        "-",
        "--function",
        "intake",
        "--config",
        &config,
        "--json",
    ];
    let arguments = [&keys[..], &request].concat();
    let variables = [("INTAKE_K1", INTAKE_KEY), ("SIDE_EFFECT_K1", OTHER_KEY)];
    let json = refused(run_with(&arguments, &variables, b"{}").await).json();
    assert_eq!(names(&json), [["key_of_other_function"]]);
    assert_eq!(json["request"]["explanations"][0]["key"], "side_effect.k1");
    // Where the other function's key cannot be read, only the own one is tried.
    let json = refused(run_with(&arguments, &variables[..1], b"{}").await).json();
    assert_eq!(names(&json), [[""; 0]; 0]);
    assert_eq!(json["request"]["keys"], json!(["intake.k1"]));
}

/// A log with the line of a refusal, as a function writes it.
fn log(body_bytes: usize, body_sha256: &str) -> String {
    let line = json!({
        "timestamp": "2026-01-01T00:00:00Z", "level": "INFO", "code": "unauthorized", "status": 401,
        "reason": "mismatch", "request.id": "r-1", "body.bytes": body_bytes, "body.sha256": body_sha256,
        "body.base64": true, "content_type": "application/x-www-form-urlencoded", "clock_delta_s": -400,
        "message": "request refused",
    });
    format!("START\n2026 {line}\nEND\n")
}

#[tokio::test]
async fn a_refusal_is_told_in_words_and_its_body_compared_with_the_file() {
    let files = Files::new();
    let arrived = br#"{"a":"x y"}"#;
    // The hash comes from the command itself, as from the log.
    let json = refused(verify_as(b"-", arrived, &["--json"]).await).json();
    let hash = json["request"]["body"]["sha256"].as_str().unwrap();
    files.write("line", &log(arrived.len(), hash));
    let refusal = files.text_path("line");
    let arguments = ["verify", "--refusal", &refusal, "--body", "-"];
    let of = async |body: &'static str, more: &[&str]| {
        let arguments = [&arguments, more].concat();
        refused(run_with(&arguments, &[], body.as_bytes()).await)
    };
    let same = of(r#"{"a":"x y"}"#, &[]).await.out;
    for due in [
        "mismatch",
        "r-1",
        "byte for byte",
        "400 s after",
        "outside",
        "as a form",
        "base64",
        "may not be the one that was signed",
    ] {
        assert!(same.contains(due), "{due} in {same}");
    }
    let changed = of("{\"a\": \"x y\"}", &["--json"]).await.json();
    assert_eq!(changed["comparison"]["same"], false);
    assert_eq!(changed["comparison"]["changes"][0][0]["name"], "compact");
    let changed = of("a=x+y", &[]).await.out;
    assert!(
        changed.contains("what arrived is the file read as a form"),
        "{changed}"
    );
    // Three changes drop this line end, and give the same bytes.
    let ended = of("{\"a\":\"x y\"}\n", &[]).await.out;
    assert!(
        ended.contains(", or ") && ended.contains("(the same bytes)"),
        "{ended}"
    );
    assert!(
        !ended.lines().any(|line| line.starts_with("or ")),
        "{ended}"
    );
    let other = of(r#"{"a":"y x"}"#, &[]).await.out;
    assert!(other.contains("body of another request"), "{other}");
    // Without a file the words are all there is.
    let words = ["verify", "--refusal", &refusal, "--json"];
    let words = refused(run(&words).await).json();
    assert_eq!(words["refusal"]["reason"], "mismatch");
    assert_eq!(words.get("comparison"), None);
}

#[tokio::test]
async fn wrong_usage_ends_with_2_and_repeats_no_secret() {
    let files = Files::new();
    files.write("line", "no log line");
    let line = files.text_path("line");
    let wrong: [&[&str]; 8] = [
        &["verify"],
        &["verify", "--body", "-"],
        &["verify", "--signature", "v1,a", "--body", "-"],
        &["verify", "--signature", "v1,a", "--secret-env", "K"],
        &["verify", "--refusal", &line],
        &[
            "verify",
            "--headers",
            "-",
            "--body",
            "-",
            "--secret-env",
            "K",
        ],
        &[
            "verify",
            "--signature",
            "v1,a",
            "--body",
            "-",
            "--secret-env",
            "pasted0secret",
        ],
        &[
            "verify",
            "--config",
            "x",
            "--secret-env",
            "K",
            "--headers",
            "-",
        ],
    ];
    for arguments in wrong {
        let ran = run_with(arguments, &[("K", KEY)], b"{}").await.failed(2);
        assert!(!ran.everything().contains("pasted0secret"), "{ran:?}");
    }
    let short = [
        "verify",
        "--signature",
        "v1,a",
        "--body",
        "-",
        "--secret-env",
        "K",
    ];
    let ran = run_with(&short, &[("K", "too-short")], b"{}").await;
    assert!(!ran.failed(2).everything().contains("too-short"));
}
