//! Each mistake that keeps a file from loading.

use super::tests::{SAMPLE, load_text, refused, with};

#[test]
fn the_id_is_the_name_of_the_file() {
    refused(
        "id = \"letters\"",
        "id = \"other\"",
        ":1: id: must be letters, the name of the file",
    );
}

#[test]
fn exactly_one_step_commits() {
    refused(
        "commit = true",
        "commit = false",
        ":17: step: needs exactly one step with commit = true",
    );
    refused(
        "commit = true\n",
        "",
        ":17: step: needs exactly one step with commit = true",
    );
    let begin = SAMPLE.find("[[step]]").unwrap();
    let end = SAMPLE.find("[retry_after]").unwrap();
    let twice = SAMPLE.replacen(
        "[retry_after]",
        &format!("{}\n[retry_after]", &SAMPLE[begin..end]),
        1,
    );
    let mistakes = load_text(&twice).unwrap_err();
    assert!(
        mistakes.contains("drivers/letters.toml:38: step[1].commit: exactly one step may commit"),
        "{mistakes}"
    );
    let after = twice.replacen("commit = true", "commit = x", 1);
    let after = after.replacen("commit = true", "commit = false", 1);
    let after = after.replacen("commit = x", "commit = true", 1);
    let mistakes = load_text(&after).unwrap_err();
    assert!(
        mistakes.contains(
            "drivers/letters.toml:38: step[1].commit: no step may follow the one that commits"
        ),
        "{mistakes}"
    );
    let none = format!("{}{}", &SAMPLE[..begin], &SAMPLE[end..]);
    let mistakes = load_text(&none).unwrap_err();
    assert!(
        mistakes.contains("step: needs exactly one step"),
        "{mistakes}"
    );
}

#[test]
fn accept_needs_an_id_and_success_codes() {
    refused(
        "id = \"/id\"\n[step.body]",
        "[step.body]",
        ":17: step[0].id: is missing",
    );
    refused(
        "[200, 201]",
        "[]",
        ":23: step[0].accept: must list the success codes, such as [200]",
    );
    refused(
        "accept = [200, 201]\n",
        "",
        ":17: step[0].accept: must list the success codes, such as [200]",
    );
    refused(
        "[200, 201]",
        "[200, 302]",
        ":23: step[0].accept: must be a list of whole numbers from 200 to 299",
    );
    refused(
        "id = \"/id\"\n[step.body]",
        "id = \"id\"\n[step.body]",
        ":24: step[0].id: must be a JSON Pointer, such as /error/code",
    );
}

#[test]
fn a_status_has_one_meaning() {
    refused(
        "at = \"/tracking_events\"\nlast = \"name\"\nequals = \"Delivered\"",
        "at = \"/status\"\nequals = \"failed\"",
        ":54: look_up.rule[1].is: failed has another meaning already",
    );
    // The same word at another place, or the same meaning twice, is no contradiction.
    assert!(load_text(&with("equals = \"Delivered\"", "equals = \"failed\"")).is_ok());
}

#[test]
fn hosts_outside_the_list_are_refused() {
    refused(
        "[\"api.example.com\"]",
        "[\"example.com\"]",
        ":2: base: its host api.example.com is not in allow_hosts",
    );
    refused(
        "[\"api.example.com\"]",
        "[]",
        ":3: allow_hosts: must list the host of base at least",
    );
    refused(
        "[\"api.example.com\"]",
        "[\"api.example.com\", \"https://x.org\"]",
        ":3: allow_hosts: https://x.org is no plain host name in lower case",
    );
}

#[test]
fn plain_http_is_for_the_loopback() {
    refused(
        "https://api.example.com/v1",
        "http://api.example.com/v1",
        ":2: base: must be https; http is for the loopback",
    );
    let local = SAMPLE
        .replace("https://api.example.com/v1", "http://127.0.0.1:9/v1")
        .replace("\"api.example.com\"", "\"127.0.0.1\"");
    assert!(load_text(&local).is_ok());
}

#[test]
fn no_rule_says_more_than_its_status_proves() {
    let rule = "status = 409\nat = \"/error/code\"\nequals = \"conflict\"\nis = \"rejected\"";
    let bodied = |status: u16, is: &str| {
        with(
            rule,
            &format!("status = {status}\nat = \"/c\"\nequals = \"x\"\nis = \"{is}\""),
        )
    };
    let bare = |status: u16, is: &str| with(rule, &format!("status = {status}\nis = \"{is}\""));
    for status in [202, 204, 300, 303, 307, 308, 408, 500, 502, 503, 504, 599] {
        for is in ["accepted", "rejected"] {
            assert!(load_text(&bodied(status, is)).is_err(), "{status} {is}");
            assert!(load_text(&bare(status, is)).is_err(), "{status} {is}");
        }
        assert!(load_text(&bodied(status, "unknown")).is_ok(), "{status}");
    }
    for status in [409, 421, 423, 425, 499] {
        assert!(load_text(&bare(status, "rejected")).is_err(), "{status}");
        assert!(load_text(&bodied(status, "rejected")).is_ok(), "{status}");
        assert!(load_text(&bodied(status, "accepted")).is_ok(), "{status}");
    }
    assert!(load_text(&bare(429, "rejected")).is_ok());
    assert!(load_text(&bodied(429, "accepted")).is_err());
    assert!(load_text(&bodied(200, "rejected")).is_ok());
    assert!(load_text(&bare(200, "rejected")).is_err());
    assert!(load_text(&bodied(200, "accepted")).is_err());
    assert!(load_text(&bare(422, "rejected")).is_ok());
    assert!(load_text(&bare(422, "accepted")).is_err());
    for is in ["not_sent", "delivered", ""] {
        assert!(load_text(&bodied(429, is)).is_err(), "{is}");
    }
    refused(
        "is = \"rejected\"",
        "is = \"not_sent\"",
        ":34: step[0].outcome[0].is: must be accepted, rejected or unknown",
    );
    refused(
        "status = 409",
        "status = 503",
        ":34: step[0].outcome[0].is: a 5xx is always unknown",
    );
    refused(
        "equals = \"conflict\"\n",
        "",
        ":32: step[0].outcome[0].at: at and equals go together",
    );
}

#[test]
fn unknown_keys_are_refused_wherever_they_are() {
    refused(
        "name = \"create\"",
        "name = \"create\"\nretries = 3",
        ":19: step[0].retries: no such key",
    );
    refused("[find]", "[find]\nx = 1", ":58: find.x: no such key");
    refused(
        "kind = \"basic\"",
        "kind = \"basic\"\ntoken = \"secret:a\"",
        ":9: auth.token: no such key",
    );
    refused(
        "error = \"/error/code\"",
        "[oauth]",
        ":5: oauth: no such key",
    );
}

#[test]
fn placeholders_must_exist_where_they_stand() {
    refused(
        "{{to.name}}",
        "{{name}}",
        ":26: step[0].body.to[name]: no such placeholder here: {{name}}; known: to.NAME, fields.NAME, reference, reference_base64, history_id",
    );
    refused(
        "/letters/{{id}}",
        "/letters/{{reference}}",
        ":40: look_up.path: no such placeholder here: {{reference}}; known: id",
    );
    refused(
        "={{reference}}&",
        "={{id}}&",
        ":58: find.path: no such placeholder here: {{id}}; known: reference, reference_base64",
    );
    refused(
        "\"/letters\"",
        "\"/letters/{{to.name?}}\"",
        ":21: step[0].path: a placeholder with ? must be the whole value",
    );
}

#[test]
fn times_are_in_order() {
    refused(
        "first = \"30m\"",
        "first = \"7h\"",
        ":41: look_up.first: must not be longer than every",
    );
    refused(
        "first = \"30m\"",
        "first = \"0s\"",
        ":41: look_up.first: must be longer than nothing",
    );
    refused(
        "every = \"6h\"",
        "every = \"46d\"",
        ":42: look_up.every: must not be longer than give_up",
    );
    refused(
        "give_up = \"45d\"",
        "give_up = \"500d\"",
        ":43: look_up.give_up: must be at most 400d",
    );
    refused(
        "not_found_grace = \"10m\"",
        "not_found_grace = \"46d\"",
        ":44: look_up.not_found_grace: must not be longer than give_up",
    );
    refused(
        "otherwise = \"pending\"",
        "otherwise = \"delivered\"",
        ":45: look_up.otherwise: must be pending: a word no rule names ends nothing",
    );
}

#[test]
fn the_document_is_in_the_body_once() {
    refused(
        "file = \"@document\"\n",
        "",
        ":17: step: \"@document\" must stand in the steps exactly once",
    );
    refused(
        "color = false",
        "color = \"@document\"",
        ":25: step[0].body: \"@document\" must stand in the steps exactly once",
    );
    refused(
        "color = false",
        "color = \"@file\"",
        ":29: step[0].body.color: the only value with @ is \"@document\"",
    );
    refused(
        "color = false",
        "color = [1]",
        ":29: step[0].body.color: a part must be a text, a number, true or false",
    );
    refused(
        "color = false",
        "'a\"b' = 1",
        ":29: step[0].body.a\"b: the name of a part must be printable ASCII without quotes",
    );
}

#[test]
fn credentials_do_not_stand_in_the_file() {
    refused(
        "password = \"\"",
        "password = \"hunter2\"",
        ":10: auth.password: must be empty or secret:NAME",
    );
    let bearer = with(
        "kind = \"basic\"\nuser = \"secret:letters-key\"\npassword = \"\"",
        "kind = \"bearer\"\ntoken = \"abc\"",
    );
    let mistakes = load_text(&bearer).unwrap_err();
    assert!(mistakes.contains("auth.token: must be secret:NAME") && !mistakes.contains("abc"));
    refused(
        "kind = \"basic\"",
        "kind = \"oauth\"",
        ":8: auth.kind: must be basic, bearer, header, oauth2_client_credentials, token_form or body",
    );
}

#[test]
fn headers_that_frame_the_request_are_not_the_drivers() {
    refused(
        "header = \"Idempotency-Key\"",
        "header = \"Content-Length\"",
        ":13: idempotency.header: must be the name of a header a driver may set",
    );
    refused(
        "max_len = 256",
        "max_len = 34",
        ":15: idempotency.max_len: must be a whole number from 35 to 4096",
    );
}
