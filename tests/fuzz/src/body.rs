//! What holds for every signed body: what a refusal tells, and what a small change to a good body does.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sendtrail_core::text::harmless;
use sendtrail_door::{Refusal, Request};
use serde_json::{Map, Value, json};

use crate::event::{NOW_MS, event_of};

pub(crate) type Body = Map<String, Value>;

/// Everything a refusal may say of a body; numbers are left out.
const WORDS: [&str; 26] = [
    "",
    "CRM name: expected  to  letters, digits or _",
    "a key is repeated or reserved, at line  column ",
    "driver id: expected  to  lower-case letters, digits or -",
    "has the wrong type or value",
    "is missing",
    "is no configured driver",
    "is no key of this body",
    "is not known here",
    "must be  lower-case hex digits",
    "must be  to  letters, digits, _ or -",
    "must be a text",
    "must be a text that is not empty",
    "must be an object",
    "must be printable text",
    "must not be empty",
    "needs either attachment_id or field",
    "not valid JSON, at line  column ",
    "the input is longer than  bytes",
    // And of the request as a whole.
    "invalid_request",
    "unauthorized",
    "urn:sendtrail:problem:invalid_request",
    "urn:sendtrail:problem:unauthorized",
    "r",
    "The body is invalid",
    "The request is not authorised",
];

/// Calls `with` with a request that is signed over this body as it should be.
pub(crate) fn with_signed<T>(body: &[u8], with: impl FnOnce(&Request<'_>) -> T) -> T {
    let event = event_of(&STANDARD.encode(body), true, body);
    with(&Request::parse(&event, NOW_MS, "r").expect("an event"))
}

/// The body as it was accepted.
pub(crate) fn accepted(data: &[u8]) -> Body {
    serde_json::from_slice(data).expect("it was read as an object")
}

/// The text under a key of an accepted body.
pub(crate) fn text<'a>(body: &'a Body, key: &str) -> Option<&'a str> {
    body.get(key).and_then(Value::as_str)
}

/// Asserts that the actor is the one of the body, fit for the CRM.
pub(crate) fn assert_actor(actor: &sendtrail_core::progress::Actor, body: &Body) {
    let stands = |key: &str| {
        let object = body.get("actor").and_then(Value::as_object);
        let text = object.and_then(|object| object.get(key)?.as_str());
        harmless(text.expect("an actor has both"), 200)
    };
    assert_eq!((&actor.id, &actor.name), (&stands("id"), &stands("name")));
    assert!(!actor.id.is_empty() && !actor.name.is_empty());
}

/// Asserts that a refusal is about the body, points at places in it, and repeats nothing else of it.
pub(crate) fn assert_refusal(refusal: &Refusal, data: &[u8], known: &[&str]) {
    let body: Value = serde_json::from_slice(data).unwrap_or_default();
    for error in refusal.errors() {
        let is_place = match error.pointer.strip_prefix('/') {
            Some(path) => names_a_place(path, &body, known),
            None => error.pointer.is_empty(),
        };
        assert!(is_place, "{error:?}");
    }
    let answer = with_signed(data, |request| refusal.answer(request));
    let expected = if refusal.errors().is_empty() {
        401
    } else {
        422
    };
    assert_eq!(answer.status(), expected, "{}", refusal.reason());
    let told: Value = serde_json::from_str(answer.body()).expect("an answer is JSON");
    assert_words(&told);
}

/// Each step of a pointer is a key of the body, or one that it should have.
fn names_a_place(path: &str, body: &Value, known: &[&str]) -> bool {
    let mut at = Some(body);
    path.split('/').all(|step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        let object = at.and_then(Value::as_object);
        let found = object.and_then(|object| object.iter().find(|(key, _)| is_cut_of(&step, key)));
        at = found.map(|(_, value)| value);
        step.chars().count() <= 64 && (found.is_some() || known.contains(&step.as_str()))
    })
}

fn is_cut_of(step: &str, key: &str) -> bool {
    key.chars().take(64).eq(step.chars())
}

fn assert_words(told: &Value) {
    match told {
        Value::String(text) => {
            let words: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
            assert!(WORDS.contains(&words.as_str()), "{text:?}");
        }
        Value::Array(items) => items.iter().for_each(assert_words),
        Value::Object(object) => {
            let others = object.iter().filter(|(key, _)| *key != "pointer");
            others.for_each(|(_, value)| assert_words(value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Asserts that a body that was accepted is refused with one key more: one it has already, and one that
/// nobody knows.
pub(crate) fn assert_strict(data: &[u8], read: impl Fn(&[u8]) -> Option<Refusal>) {
    let refused = |data: &[u8]| read(data).expect("one key too many was accepted");
    let body = accepted(data);
    let open = data.iter().position(|b| *b == b'{').expect("an object") + 1;
    let with = |key: &str| {
        let member = format!("{}:null,", json!(key));
        [&data[..open], member.as_bytes(), &data[open..]].concat()
    };
    for (key, value) in &body {
        assert_eq!(refused(&with(key)).reason(), "body_repeated_key");
        // The same further in.
        if let Some((inner, _)) = value.as_object().and_then(|object| object.iter().next()) {
            let mut rest = body.clone();
            rest.remove(key);
            let rest = Value::Object(rest).to_string();
            let (inner, value) = (json!(inner), value.to_string());
            let twice = format!(
                "{{{}:{{{inner}:0,{},{}",
                json!(key),
                &value[1..],
                &rest[1..]
            );
            assert_eq!(
                refused(twice.as_bytes()).reason(),
                "body_repeated_key",
                "{twice}"
            );
        }
    }
    let long = "k".repeat(70);
    for key in ["again_off", "a/b~c", "", long.as_str()] {
        if body.contains_key(key) {
            continue;
        }
        let refusal = refused(&with(key));
        let cut = &key[..key.len().min(64)];
        let pointer = format!("/{}", cut.replace('~', "~0").replace('/', "~1"));
        let pointers: Vec<_> = refusal.errors().iter().map(|e| &e.pointer).collect();
        assert_eq!(pointers, [&pointer]);
    }
}
