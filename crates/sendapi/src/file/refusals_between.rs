//! Mistakes between two places of a file, and mistakes that must not bring others with them.

use super::tests::{IN_BODY, SAMPLE, STEPS, load_text, refused, refused_in, with};

/// Asserts that the text has these mistakes and no other.
#[track_caller]
fn only(text: &str, expected: &[&str]) {
    let mistakes = load_text(text).unwrap_err();
    let lines: Vec<_> = mistakes.lines().collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|line| format!("drivers/letters.toml{line}"))
        .collect();
    assert_eq!(lines, expected);
}

const SENT: &str = "\"metadata[send_id]\" = \"{{reference}}\"\n";
const ASKED: &str = "?metadata[send_id]={{reference}}&limit=2";
const COMPARED: &str = "reference = \"/metadata/send_id\"\n";

#[test]
fn the_idempotency_key_never_takes_the_place_of_the_credentials() {
    const KEY: &str = "kind = \"basic\"\nuser = \"secret:letters-key\"\npassword = \"\"";
    let mistake = "idempotency.header: carries the credentials: one would replace the other";
    let in_own = "kind = \"header\"\nname = \"idempotency-key\"\nvalue = \"secret:k\"";
    only(&with(KEY, in_own), &[&format!(":13: {mistake}")]);
    for text in [with("\"Idempotency-Key\"", "\"authorization\""), {
        let token = "[idempotency]\nheader = \"Authorization\"\n[[step]]\nname = \"place\"";
        STEPS.replacen("[[step]]\nname = \"place\"", token, 1)
    }] {
        let mistakes = load_text(&text).unwrap_err();
        assert!(mistakes.ends_with(mistake), "{mistakes}");
    }
    let other = in_own.replace("idempotency-key", "X-Key");
    assert!(load_text(&with(KEY, &other)).is_ok());
}

#[test]
fn a_reference_that_is_looked_for_is_sent() {
    let not_sent = ":57: find.path: find looks for {{reference}}, but no step sends it";
    let without = with(SENT, "");
    // The idempotency key of the sample carries it, but no API searches that.
    only(&without, &[not_sent]);
    only(&without.replace(ASKED, ""), &[not_sent]);
    only(&without.replace(COMPARED, ""), &[not_sent]);
    only(
        &without
            .replace(ASKED, "?ref={{reference_base64}}")
            .replace(COMPARED, ""),
        &[not_sent],
    );
    let in_draft = STEPS.replace("note = \"{{reference}}\"\n", "").replace(
        "/documents/{{draft_id}}",
        "/documents/{{draft_id}}?ref={{reference}}",
    );
    only(
        &in_draft,
        &[":58: find.path: find looks for {{reference}}, but no step sends it"],
    );
}

#[test]
fn a_reference_may_be_sent_in_any_path_or_body() {
    let without = with(SENT, "");
    for sent in [
        without.replace("\"/letters\"", "\"/letters/{{reference}}\""),
        with("\"{{reference}}\"", "\"{{reference_base64}}\""),
        with("\"{{reference}}\"", "\"our {{reference}}\""),
        without
            .replace("\"multipart\"", "\"json\"")
            .replace("color = false", "a = [{ b = [\"{{reference}}\"] }]"),
    ] {
        assert!(load_text(&sent).is_ok(), "{:?}", load_text(&sent));
    }
    // A draft is read back by its own id, and a file without [find] looks for nothing.
    let draft = STEPS.replace("note = \"{{reference}}\"\n", "");
    assert!(load_text(&draft).is_ok(), "{:?}", load_text(&draft));
    let nothing = IN_BODY.replace(", mark = \"{{reference}}\"", "");
    assert!(load_text(&nothing).is_ok(), "{:?}", load_text(&nothing));
}

#[test]
fn a_reference_in_a_body_of_find_is_looked_for_too() {
    let auth = "auth = { user = \"{{secret:user}}\", key = \"{{secret:key}}\" }";
    let find = format!(
        "[find]\npath = \"/search\"\nitems = \"/data\"\nid = \"/id\"\ngrace = \"5m\"\n[find.body]\n{auth}\nmark = \"{{{{reference}}}}\"\n"
    );
    let text = format!("{IN_BODY}{find}");
    assert!(load_text(&text).is_ok(), "{:?}", load_text(&text));
    only(
        &text.replace(", mark = \"{{reference}}\"", ""),
        &[":31: find.path: find looks for {{reference}}, but no step sends it"],
    );
}

#[test]
fn a_list_that_is_not_asked_for_our_reference_is_refused() {
    let text = with(
        "/letters?metadata[send_id]={{reference}}&limit=2",
        "/letters?limit=2",
    );
    let mistakes = load_text(&text.replace("reference = \"/metadata/send_id\"\n", "")).unwrap_err();
    assert!(
        mistakes.contains("find.path: must hold {{reference}}, or compare it with find.reference"),
        "{mistakes}"
    );
}

#[test]
fn a_step_that_cannot_be_read_is_not_said_to_send_nothing() {
    for (from, to) in [
        ("encoding = \"multipart\"\n", ""),
        ("path = \"/letters\"", "path = \"letters\""),
    ] {
        let mistakes = load_text(&with(SENT, "").replacen(from, to, 1)).unwrap_err();
        assert!(!mistakes.contains("no step sends it"), "{mistakes}");
    }
}

#[test]
fn missing_credentials_make_no_other_key_unknown() {
    let auth = "kind = \"basic\"\nuser = \"secret:letters-key\"\npassword = \"\"";
    only(
        &with(
            auth,
            "kind = \"header\"\nprefix = \"Key \"\nvalue = \"secret:a\"",
        ),
        &[":7: auth.name: is missing"],
    );
    only(
        &with(
            auth,
            "kind = \"header\"\nname = \"Host\"\nvalue = \"secret:a\"",
        ),
        &[":9: auth.name: must be the name of a header a driver may set"],
    );
    only(
        &with(auth, "kind = \"header\""),
        &[":7: auth.name: is missing", ":7: auth.value: is missing"],
    );
    only(
        &with("user = \"secret:letters-key\"\n", ""),
        &[":7: auth.user: is missing"],
    );
}

#[test]
fn a_forgotten_commit_is_one_mistake() {
    let missing = "step: needs exactly one step with commit = true";
    only(&with("commit = true\n", ""), &[&format!(":17: {missing}")]);
    only(
        &with("commit = true", "commit = false"),
        &[&format!(":17: {missing}")],
    );
    only(
        &STEPS.replace("commit = true\n", ""),
        &[&format!(":14: {missing}")],
    );
    // Other mistakes of that step are named all the same.
    let text = with("commit = true\n", "").replace("status = 409", "status = 503");
    only(
        &text,
        &[
            &format!(":17: {missing}"),
            ":33: step[0].outcome[0].is: a 5xx is always unknown",
        ],
    );
    let earlier = STEPS
        .replace("commit = true\n", "")
        .replace("name = \"place\"", "name = \"place\"\nid = \"/id\"");
    let mistakes = load_text(&earlier).unwrap_err();
    assert!(mistakes.contains(": step[0].id: no such key"), "{mistakes}");
}

#[test]
fn a_submit_gets_time_to_turn_up() {
    for zero in ["0s", "0m", "0ms"] {
        refused(
            "send_id\"\ngrace = \"10m\"",
            &format!("send_id\"\ngrace = \"{zero}\""),
            ":62: find.grace: a submit may turn up late: give it some minutes",
        );
    }
    refused_in(
        STEPS,
        "grace = \"5m\"",
        "grace = \"0s\"",
        ":60: find.grace: a submit may turn up late: give it some minutes",
    );
    assert!(load_text(&STEPS.replace("grace = \"5m\"", "grace = \"1s\"")).is_ok());
}

#[test]
fn a_word_is_pending_or_final() {
    only(
        &with("\"Mailed\"", "\"failed\""),
        &[":46: look_up.pending: failed is undelivered by a rule, so it is not pending"],
    );
    only(
        &with("\"Mailed\"", "\"Delivered\""),
        &[":46: look_up.pending: Delivered is delivered by a rule, so it is not pending"],
    );
    let rule = "equals = \"failed\"";
    only(
        &with(rule, "equals = 1"),
        &[":46: look_up.pending: 1 is undelivered by a rule, so it is not pending"],
    );
    // Another kind of word, a pending rule, and a rule that needs more than the word.
    assert!(load_text(&with(rule, "equals = \"1\"")).is_ok());
    let pending = SAMPLE
        .replace("\"Mailed\"", "\"failed\"")
        .replace("is = \"undelivered\"", "is = \"pending\"");
    assert!(load_text(&pending).is_ok(), "{:?}", load_text(&pending));
    let both = with(
        "at = \"/status\"\nequals = \"failed\"",
        "all = [{ at = \"/status\", equals = \"Mailed\" }, { at = \"/lost\", equals = true }]",
    );
    assert!(load_text(&both).is_ok(), "{:?}", load_text(&both));
}
