//! Each mistake in steps, tokens, drafts and credentials in bodies that keeps a file from loading.

use super::tests::{IN_BODY, STEPS, load_text, refused, refused_in};

#[test]
fn a_captured_value_is_known_after_its_step_only() {
    refused_in(
        STEPS,
        "path = \"/upload\"",
        "path = \"/upload/{{doc}}\"",
        ":17: step[0].path: no such placeholder here: {{doc}}; known: to.NAME, fields.NAME, reference, reference_base64, history_id",
    );
    refused_in(
        STEPS,
        "tag = \"{{tag}}\"",
        "tag = \"{{doc}}\"",
        ":38: step[2].body.tag: no such placeholder here: {{doc}}; known: to.NAME, fields.NAME, reference, reference_base64, history_id, tag, upload_url",
    );
    refused_in(
        STEPS,
        "/documents/{{id}}",
        "/documents/{{doc}}",
        ":50: look_up.path: no such placeholder here: {{doc}}; known: id",
    );
    refused_in(
        STEPS,
        "id = \"{{doc}}\"",
        "id = \"{{other}}\"",
        ":48: step[3].id: no earlier step captures this",
    );
}

#[test]
fn a_capture_has_a_name_of_its_own_and_a_place() {
    refused_in(
        STEPS,
        "tag = \"header:X-Tag\"",
        "id = \"/x\"",
        ":21: step[0].capture.id: is the name of another placeholder",
    );
    refused_in(
        STEPS,
        "tag = \"header:X-Tag\"",
        "Tag = \"/x\"",
        ":21: step[0].capture.Tag: must be a name of lower-case letters, digits and _",
    );
    refused_in(
        STEPS,
        "doc = \"/id\"",
        "tag = \"/id\"",
        ":41: step[2].capture.tag: was captured by an earlier step",
    );
    refused_in(
        STEPS,
        "doc = \"/id\"",
        "doc = \"id\"",
        ":41: step[2].capture.doc: must be a JSON Pointer, such as /error/code",
    );
    refused_in(
        STEPS,
        "doc = \"/id\"",
        "doc = 7",
        ":41: step[2].capture.doc: must be a JSON Pointer or header:NAME",
    );
    refused_in(
        STEPS,
        "header:X-Tag",
        "header:a b",
        ":21: step[0].capture.tag: must be the name of a header a driver may set",
    );
}

#[test]
fn the_draft_is_a_capture_and_is_read_back_by_its_id() {
    refused_in(
        STEPS,
        "draft = \"doc\"",
        "draft = \"other\"",
        ":5: draft: must be the name of a capture",
    );
    refused_in(
        STEPS,
        "draft = \"doc\"\n",
        "",
        ":58: find.path: no such placeholder here: {{draft_id}}; known: reference, reference_base64",
    );
    refused_in(
        STEPS,
        "/documents/{{draft_id}}",
        "/documents/{{reference}}",
        ":59: find.path: must hold {{draft_id}}, where a draft is read back",
    );
    refused_in(
        STEPS,
        "grace = \"5m\"",
        "grace = \"5m\"\nitems = \"/data\"",
        ":61: find.items: is for a list; with rules the draft itself is read",
    );
    refused_in(
        STEPS,
        "is = \"committed\"",
        "is = \"draft\"",
        ":61: find.rule: needs a rule that is committed",
    );
    refused_in(
        STEPS,
        "is = \"committed\"",
        "is = \"accepted\"",
        ":68: find.rule[1].is: must be committed or draft",
    );
    refused_in(
        STEPS,
        "equals = 1\nis = \"committed\"",
        "equals = 0\nis = \"committed\"",
        ":68: find.rule[1].is: 0 has another meaning already",
    );
    refused(
        "send_id\"\ngrace = \"10m\"",
        "send_id\"\ngrace = \"500d\"",
        ":62: find.grace: must be at most 400d",
    );
    refused(
        "send_id\"\ngrace = \"10m\"",
        "send_id\"\ngrace = \"10m\"\nreference_in = \"hex\"",
        ":63: find.reference_in: must be plain or base64",
    );
}

#[test]
fn an_address_from_the_api_is_one_capture_and_never_the_commit() {
    refused_in(
        STEPS,
        "url = \"{{upload_url}}\"",
        "url = \"https://up.example.com/{{tag}}\"",
        ":25: step[1].url: must be one {{placeholder}} that an earlier step captures",
    );
    refused_in(
        STEPS,
        "url = \"{{upload_url}}\"",
        "url = \"{{upload_url}}\"\npath = \"/x\"",
        ":25: step[1].url: stands instead of path, not beside it",
    );
    refused_in(
        STEPS,
        "path = \"/documents/{{doc}}/send\"",
        "url = \"{{upload_url}}\"",
        ":46: step[3].url: the commit goes to the base, with a path",
    );
}

#[test]
fn a_step_has_the_methods_and_bodies_of_its_kind() {
    refused_in(
        STEPS,
        "method = \"GET\"",
        "method = \"DELETE\"",
        ":16: step[0].method: must be GET, POST, PUT or PATCH",
    );
    refused_in(
        STEPS,
        "method = \"POST\"\npath = \"/documents/{{doc}}/send\"",
        "method = \"GET\"\npath = \"/documents/{{doc}}/send\"",
        ":45: step[3].method: must be POST, PUT or PATCH",
    );
    refused_in(
        STEPS,
        "method = \"PUT\"",
        "method = \"GET\"",
        ":27: step[1].body: a GET has none",
    );
    refused_in(
        STEPS,
        "body = \"@document\"",
        "body = { file = \"@document\" }",
        ":27: step[1].body: must be \"@document\" where the encoding is raw",
    );
    refused_in(
        STEPS,
        "encoding = \"form\"",
        "encoding = \"xml\"",
        ":35: step[2].encoding: must be json, form, multipart or raw",
    );
    refused_in(
        STEPS,
        "encoding = \"form\"",
        "encoding = \"form\"\ncontent_type = \"text/plain\"",
        ":36: step[2].content_type: is for json and raw; the others have their own",
    );
    refused_in(
        STEPS,
        "encoding = \"raw\"",
        "encoding = \"raw\"\ncontent_type = \"pdf\"",
        ":27: step[1].content_type: must be a media type",
    );
    refused_in(
        STEPS,
        "encoding = \"form\"\n",
        "",
        ":31: step[2].encoding: is missing",
    );
    refused_in(
        STEPS,
        "tag = \"{{tag}}\"",
        "tag = [1]",
        ":38: step[2].body.tag: a part must be a text, a number, true or false",
    );
    refused_in(
        STEPS,
        "accept = [201]\n",
        "",
        ":31: step[2].accept: must list the success codes, such as [200]",
    );
    refused_in(
        STEPS,
        "name = \"place\"",
        "name = \"place\"\nid = \"/id\"",
        ":16: step[0].id: no such key",
    );
    refused_in(
        STEPS,
        "note = \"{{reference}}\"",
        "note = \"@document\"",
        ":37: step[2].body: \"@document\" must stand in the steps exactly once",
    );
}

#[test]
fn constant_headers_carry_no_credentials_and_frame_nothing() {
    refused_in(
        STEPS,
        "X-Version = \"2026-01\"",
        "Authorization = \"Bearer abc\"",
        ":7: headers.Authorization: carries credentials: they belong into [auth]",
    );
    refused_in(
        STEPS,
        "X-Version = \"2026-01\"",
        "Host = \"evil.org\"",
        ":7: headers.Host: must be the name of a header a driver may set",
    );
    refused_in(
        STEPS,
        "X-Kind = \"letter\"",
        "X-Kind = \"a\\nb\"",
        ":30: step[1].headers.X-Kind: must be a text of printable ASCII",
    );
    refused(
        "[auth]",
        "[headers]\nidempotency-key = \"x\"\n[auth]",
        ":8: headers.idempotency-key: is the idempotency header",
    );
}

#[test]
fn tokens_come_from_a_listed_host_and_their_credentials_are_secrets() {
    refused_in(
        STEPS,
        "https://api.example.com/token",
        "https://login.example.com/token",
        ":10: auth.token_url: its host login.example.com is not in allow_hosts",
    );
    refused_in(
        STEPS,
        "https://api.example.com/token",
        "http://api.example.com/token",
        ":10: auth.token_url: must be https; http is for the loopback",
    );
    let plain = STEPS.replace("\"secret:client\"", "\"hunter2\"");
    let mistakes = load_text(&plain).unwrap_err();
    assert!(
        mistakes.starts_with("drivers/letters.toml:12: auth.client_secret: must be secret:NAME"),
        "{mistakes}"
    );
    assert!(!mistakes.contains("hunter2"));
    refused_in(
        STEPS,
        "scope = \"send\"",
        "send = \"query\"",
        ":13: auth.send: must be basic or body",
    );
    let form = "kind = \"token_form\"";
    let sent = STEPS.replace("kind = \"oauth2_client_credentials\"", form);
    let mistakes = load_text(&sent).unwrap_err();
    for expected in [
        ":11: auth.client_id: must be secret:NAME",
        ":12: auth.client_secret: no such key",
        ":13: auth.scope: no such key",
    ] {
        assert!(mistakes.contains(expected), "{mistakes}");
    }
}

#[test]
fn a_secret_in_a_body_is_a_whole_value_at_a_listed_key() {
    let place = "letter = { file = \"@document\", mark = \"{{reference}}\" }";
    refused_in(
        IN_BODY,
        place,
        "letter = { file = \"@document\", mark = \"{{secret:key}}\" }",
        ":18: step[0].body.letter.mark: a secret may stand only at a body key listed in auth.keys",
    );
    refused_in(
        IN_BODY,
        "key = \"{{secret:key}}\" }",
        "key = \"x {{secret:key}}\" }",
        ":17: step[0].body.auth.key: a secret must be the whole value",
    );
    refused_in(
        IN_BODY,
        "key = \"{{secret:key}}\" }",
        "key = \"{{secret:a b}}\" }",
        ":17: step[0].body.auth.key: must be {{secret:NAME}} with a NAME of letters, digits, - or _",
    );
    refused_in(
        IN_BODY,
        "keys = [\"auth.user\", \"auth.key\"]\n",
        "",
        ":5: auth.keys: must list the body keys that hold the credentials",
    );
    refused_in(
        IN_BODY,
        "[look_up.body]\nauth = { user = \"{{secret:user}}\", key = \"{{secret:key}}\" }\n",
        "",
        ":19: look_up.body: is missing: it holds the credentials",
    );
    refused_in(
        IN_BODY,
        "[look_up.body]\n",
        "[look_up.body]\nfile = \"@document\"\n",
        ":24: look_up.body: the document is for a step's body",
    );
    // Elsewhere than with auth.kind = body there are no such keys, and reads have no bodies.
    refused(
        "color = false",
        "color = \"{{secret:key}}\"",
        ":29: step[0].body.color: a secret may stand only at a body key listed in auth.keys",
    );
    refused(
        "[[look_up.rule]]",
        "[look_up.body]\nx = 1\n[[look_up.rule]]",
        ":47: look_up.body: a read has a body only where auth.kind is body",
    );
}

#[test]
fn rules_over_several_fields_are_whole_and_can_hold() {
    let one = "at = \"/status\"\nequals = \"failed\"";
    refused(
        one,
        "at = \"/status\"\nall = [{ at = \"/a\", equals = 1 }]",
        ":49: look_up.rule[0].all: stands alone: at, last and equals go into it",
    );
    refused(
        one,
        "all = []",
        ":48: look_up.rule[0].all: must list at least one { at = …, equals = … }",
    );
    refused(
        one,
        "all = [{ at = \"/a\", equals = 1 }, { at = \"/a\", equals = 2 }]",
        ":48: look_up.rule[0].all: asks for two words at one place, so it never holds",
    );
    refused(
        one,
        "all = [{ at = \"/a\" }]",
        ":48: look_up.rule[0].all[0].equals: is missing",
    );
    refused(
        one,
        "all = [{ at = \"/a\", equals = 1, or = 2 }]",
        ":48: look_up.rule[0].all[0].or: no such key",
    );
    // A rule behind a wider one with another meaning is never reached; before it, it refines.
    let wide = "[[look_up.rule]]\nat = \"/status\"\nequals = \"failed\"\nis = \"undelivered\"\n";
    let narrow = "[[look_up.rule]]\nall = [{ at = \"/status\", equals = \"failed\" }, { at = \"/late\", equals = true }]\nis = \"pending\"\n";
    refused(
        wide,
        &format!("{wide}{narrow}"),
        ":53: look_up.rule[1].is: failed and true has another meaning already",
    );
    let refined = super::tests::with(wide, &format!("{narrow}{wide}"));
    assert!(load_text(&refined).is_ok(), "{:?}", load_text(&refined));
}

#[test]
fn an_outcome_has_one_meaning() {
    let rule = "status = 409\nat = \"/error/code\"\nequals = \"conflict\"\nis = \"rejected\"\n";
    let other = rule.replace("rejected", "unknown");
    refused(
        rule,
        &format!("{rule}[[step.outcome]]\n{other}"),
        ":39: step[0].outcome[1].is: conflict has another meaning already",
    );
    // Another status is another matter.
    let elsewhere = other.replace("409", "422");
    let text = super::tests::with(rule, &format!("{rule}[[step.outcome]]\n{elsewhere}"));
    assert!(load_text(&text).is_ok());
}
