use super::*;
use jiff::SignedDuration;
use proptest::prelude::*;

/// A file with everything in it, from which the tests make their mistakes.
pub(crate) const SAMPLE: &str = r#"id = "letters"
base = "https://api.example.com/v1"
allow_hosts = ["api.example.com"]
max_document_bytes = 4_400_000
error = "/error/code"

[auth]
kind = "basic"
user = "secret:letters-key"
password = ""

[idempotency]
header = "Idempotency-Key"
quoted = false
max_len = 256

[[step]]
name = "create"
commit = true
method = "POST"
path = "/letters"
encoding = "multipart"
accept = [200, 201]
id = "/id"
[step.body]
"to[name]" = "{{to.name}}"
"metadata[send_id]" = "{{reference}}"
file = "@document"
color = false
[[step.outcome]]
status = 409
at = "/error/code"
equals = "conflict"
is = "rejected"

[retry_after]
headers = ["Retry-After", "ratelimit-reset"]

[look_up]
path = "/letters/{{id}}"
first = "30m"
every = "6h"
give_up = "45d"
not_found_grace = "10m"
otherwise = "pending"
pending = ["processed", "Mailed", 1]
[[look_up.rule]]
at = "/status"
equals = "failed"
is = "undelivered"
[[look_up.rule]]
at = "/tracking_events"
last = "name"
equals = "Delivered"
is = "delivered"

[find]
path = "/letters?metadata[send_id]={{reference}}&limit=2"
items = "/data"
id = "/id"
reference = "/metadata/send_id"
grace = "10m"
"#;

/// A file with steps before the commit, a token and a draft that is read back.
pub(crate) const STEPS: &str = r#"id = "letters"
base = "https://api.example.com/v1"
allow_hosts = ["api.example.com", "up.example.com"]
max_document_bytes = 4_400_000
draft = "doc"
[headers]
X-Version = "2026-01"
[auth]
kind = "oauth2_client_credentials"
token_url = "https://api.example.com/token"
client_id = "me"
client_secret = "secret:client"
scope = "send"
[[step]]
name = "place"
method = "GET"
path = "/upload"
accept = [200]
[step.capture]
upload_url = "/url"
tag = "header:X-Tag"
[[step]]
name = "upload"
method = "PUT"
url = "{{upload_url}}"
encoding = "raw"
body = "@document"
accept = [200, 201]
[step.headers]
X-Kind = "letter"
[[step]]
name = "create"
method = "POST"
path = "/documents"
encoding = "form"
accept = [201]
[step.body]
tag = "{{tag}}"
note = "{{reference}}"
[step.capture]
doc = "/id"
[[step]]
name = "send"
commit = true
method = "POST"
path = "/documents/{{doc}}/send"
accept = [200, 204]
id = "{{doc}}"
[look_up]
path = "/documents/{{id}}"
first = "30m"
every = "6h"
give_up = "45d"
[[look_up.rule]]
at = "/status"
equals = 2
is = "delivered"
[find]
path = "/documents/{{draft_id}}"
grace = "5m"
[[find.rule]]
at = "/status"
equals = 0
is = "draft"
[[find.rule]]
at = "/status"
equals = 1
is = "committed"
"#;

/// A file whose credentials stand in its bodies.
pub(crate) const IN_BODY: &str = r#"id = "letters"
base = "https://api.example.com/v1"
allow_hosts = ["api.example.com"]
max_document_bytes = 4_400_000
[auth]
kind = "body"
keys = ["auth.user", "auth.key"]
[[step]]
name = "create"
commit = true
method = "POST"
path = "/jobs"
encoding = "json"
accept = [200]
id = "/id"
[step.body]
auth = { user = "{{secret:user}}", key = "{{secret:key}}" }
letter = { file = "@document", mark = "{{reference}}" }
[look_up]
path = "/jobs/{{id}}"
first = "30m"
every = "6h"
give_up = "45d"
[look_up.body]
auth = { user = "{{secret:user}}", key = "{{secret:key}}" }
[[look_up.rule]]
at = "/status"
equals = "sent"
is = "delivered"
"#;

/// Loads one file under the name of the sample.
pub(crate) fn load_text(text: &str) -> Result<DriverFile, String> {
    load(&[("drivers/letters.toml".to_owned(), text.to_owned())])
        .map(|mut drivers| drivers.remove(0))
        .map_err(|mistakes| mistakes.to_string())
}

/// The sample with one text replaced.
pub(crate) fn with(from: &str, to: &str) -> String {
    assert!(SAMPLE.contains(from), "{from}");
    SAMPLE.replacen(from, to, 1)
}

/// Asserts that the changed sample has this one mistake, with its line and key.
#[track_caller]
pub(super) fn refused(from: &str, to: &str, expected: &str) {
    refused_in(SAMPLE, from, to, expected);
}

/// The same for another sample.
#[track_caller]
pub(super) fn refused_in(sample: &str, from: &str, to: &str, expected: &str) {
    assert!(sample.contains(from), "{from}");
    let mistakes = load_text(&sample.replacen(from, to, 1)).expect_err(to);
    assert!(
        mistakes
            .lines()
            .any(|line| line == format!("drivers/letters.toml{expected}")),
        "expected {expected}\nfound {mistakes}"
    );
}

#[test]
fn a_whole_file_loads() {
    let driver = load_text(SAMPLE).unwrap();
    assert_eq!(driver.id().as_str(), "letters");
    let secrets = driver.secret_refs();
    assert_eq!(
        secrets.iter().map(SecretRef::name).collect::<Vec<_>>(),
        ["letters-key"]
    );
    assert_eq!(
        driver.capabilities(),
        Capabilities {
            can_find: true,
            max_document_bytes: 4_400_000
        }
    );
    let minutes = SignedDuration::from_mins;
    assert_eq!(
        *driver.pacing(),
        Pacing {
            first: minutes(30),
            every: minutes(360),
            give_up: minutes(45 * 24 * 60),
            not_found_grace: minutes(10),
            find_grace: minutes(10),
        }
    );
}

#[test]
fn steps_with_captures_a_token_and_a_draft_load() {
    let driver = load_text(STEPS).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(driver.secret_refs()[0].name(), "client");
    assert!(driver.capabilities().can_find);
    let steps = &driver.steps;
    let names: Vec<_> = steps.before.iter().map(|step| &step.call.name).collect();
    assert_eq!(names, ["place", "upload", "create"]);
    assert_eq!(steps.commit.call.name, "send");
    assert_eq!(steps.draft.as_deref(), Some("doc"));
}

#[test]
fn credentials_may_stand_in_bodies_at_the_listed_keys() {
    let driver = load_text(IN_BODY).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let names = driver.secret_refs();
    let names: Vec<_> = names.iter().map(SecretRef::name).collect();
    assert_eq!(names, ["key", "user"]);
}

#[test]
fn a_json_body_may_nest() {
    let json = with("encoding = \"multipart\"", "encoding = \"json\"").replace(
        "color = false",
        "a = { b = [\"{{to.x?}}\", 1, 2.5], c = [{ d = true }] }",
    );
    assert!(load_text(&json).is_ok(), "{:?}", load_text(&json));
    let bad = json.replace("d = true", "d = \"{{x}}\"");
    assert!(
        load_text(&bad)
            .unwrap_err()
            .contains(":29: step[0].body.a.c[0].d: no such placeholder")
    );
}

#[test]
fn every_mistake_of_every_file_is_named() {
    let files = [
        ("a.toml".to_owned(), "id = \"a\"".to_owned()),
        ("b.toml".to_owned(), "id = = 1".to_owned()),
    ];
    let mistakes = load(&files).unwrap_err();
    assert!(
        mistakes.0.iter().filter(|m| m.file == "a.toml").count() > 8,
        "{mistakes}"
    );
    assert!(
        mistakes.0.iter().any(|m| m.file == "b.toml" && m.line == 1),
        "{mistakes}"
    );
    let same =
        ["x/letters.toml", "y/letters.toml"].map(|name| (name.to_owned(), SAMPLE.to_owned()));
    assert_eq!(
        load(&same).unwrap_err().to_string(),
        "y/letters.toml: a driver of this id was read already"
    );
    assert_eq!(load(&[]), Ok(Vec::new()));
}

proptest! {
    #[test]
    fn loading_never_panics(
        which in 0usize..3, at in 0usize..2_000, cut in 0usize..40, put in "[\\[\\]{}\"=a-z0-9@/?\n.-]{0,12}",
    ) {
        let text = [SAMPLE, STEPS, IN_BODY][which];
        // The samples are ASCII, so every index is a character boundary.
        let at = at % text.len();
        let end = text.len().min(at + cut);
        let _ = load_text(&format!("{}{put}{}", &text[..at], &text[end..]));
    }

    #[test]
    fn loading_any_text_never_panics(text in any::<String>()) {
        prop_assert!(load_text(&text).is_err());
    }
}
