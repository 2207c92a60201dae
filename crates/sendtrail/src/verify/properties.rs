//! A request signed under a change is diagnosed as that change, for any JSON body.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::body;
use super::change::{Change, Form};
use super::keys::NamedKey;
use super::keys::tests::key;
use super::mac::{Mode, hex, modes};
use super::message::{self, Parts, Shape};
use super::search::{Found, LIMITS, Limits, Received, search};

const ID: &[u8] = b"msg_2Lh9KRb0pzN4LePd3XiA4v12Axj";
const TIME: &[u8] = b"1700000000";
const TEXT: &str = "0123456789abcdefABCDEF0123456789";

fn own_key() -> NamedKey {
    key("k1", TEXT)
}

/// Signs with every part as it is given.
struct Signer {
    key: Vec<u8>,
    mode: Mode,
    shape: Shape,
    id: Vec<u8>,
    time: Vec<u8>,
    body: Vec<u8>,
}

impl Signer {
    fn due(body: &[u8]) -> Self {
        Self {
            key: TEXT.as_bytes().to_vec(),
            mode: Mode::Hmac,
            shape: message::shapes()[0].value,
            id: ID.to_vec(),
            time: TIME.to_vec(),
            body: body.to_vec(),
        }
    }

    fn tag(&self) -> Vec<u8> {
        let parts = Parts {
            id: &self.id,
            time: &self.time,
            body: &self.body,
        };
        self.mode.tag(&self.key, &self.shape.join(parts))
    }

    fn signature(&self) -> String {
        format!("v1,{}", STANDARD.encode(self.tag()))
    }
}

fn diagnosed(signature: &str, body: &[u8]) -> Found {
    let received = Received {
        id: ID,
        time: TIME,
        signature: signature.as_bytes(),
        body,
    };
    search(received, &[own_key()], LIMITS)
}

/// Every single change of anything, with the signer that makes it.
fn changed_signers(body: &[u8]) -> Vec<(Change, Signer)> {
    fn with<T>(
        forms: Vec<Form<T>>,
        body: &[u8],
        set: impl Fn(&mut Signer, T),
    ) -> Vec<(Change, Signer)> {
        let changed = forms.into_iter().filter_map(|form| {
            let mut signer = Signer::due(body);
            set(&mut signer, form.value);
            Some((form.change?, signer))
        });
        changed.collect()
    }
    let mut all = with(body::single(body), body, |signer, body| signer.body = body);
    all.extend(with(own_key().forms(), body, |signer, key| {
        signer.key = key;
    }));
    all.extend(with(modes(), body, |signer, mode| signer.mode = mode));
    all.extend(with(message::shapes(), body, |signer, shape| {
        signer.shape = shape;
    }));
    all.extend(with(message::ids(ID), body, |signer, id| signer.id = id));
    all.extend(with(message::times(TIME), body, |signer, time| {
        signer.time = time;
    }));
    all
}

/// The change is named, and whatever else is named is one change too and gives the very same signed text.
fn assert_named(change: &Change, signer: &Signer, body: &[u8], all: &[(Change, Signer)]) {
    let found = diagnosed(&signer.signature(), body);
    let lists: Vec<_> = found.explanations.iter().map(|one| &one.changes).collect();
    let named = lists.iter().any(|list| list.as_slice() == [change.clone()]);
    assert!(named, "{} became {lists:?}", change.name);
    assert!(lists.iter().all(|list| list.len() == 1), "{lists:?}");
    for other in lists.iter().filter_map(|list| list.first()) {
        let same = all.iter().filter(|(change, _)| change == other);
        let mut tags = same.map(|(_, signer)| signer.tag());
        assert!(
            tags.any(|tag| tag == signer.tag()),
            "{} is not {}",
            other.name,
            change.name
        );
    }
}

fn names(found: &Found) -> Vec<Vec<&'static str>> {
    let of = |changes: &[Change]| changes.iter().map(|change| change.name).collect();
    found
        .explanations
        .iter()
        .map(|one| of(&one.changes))
        .collect()
}

/// A body of the kind the doors take, with something for most changes to change.
const BODY: &str = "{\"aud\":\"local/intake\",\"op\":\"save\",\"to\":{\"name\":\"Zoë <ü&🐈>\",\"n\":[1,2.50,3.0,null]},\n \"a\":\"7\\u2028\\u003c\\r\\n\"}\n";

#[test]
fn each_change_of_one_rich_body_is_named_and_no_other() {
    let signers = changed_signers(BODY.as_bytes());
    assert!(signers.len() > 150, "{}", signers.len());
    for (change, signer) in &signers {
        assert_named(change, signer, BODY.as_bytes(), &signers);
    }
}

#[test]
fn each_change_of_a_form_is_named() {
    let body = b"op=send&to=%7B%22name%22%3A%22Jo+S%22%7D&payload=%7B%7D&n=7";
    let signers = changed_signers(body);
    for (change, signer) in &signers {
        assert_named(change, signer, body, &signers);
    }
}

#[test]
fn a_body_as_a_library_writes_it_is_named_after_the_library() {
    let written = body::written_by_libraries(BODY.as_bytes());
    assert_eq!(written.len(), 9);
    for form in written {
        let name = form.change.unwrap().name;
        let signer = Signer::due(&form.value);
        let found = names(&diagnosed(&signer.signature(), BODY.as_bytes()));
        assert!(found.contains(&vec![name]), "{name} in {found:?}");
    }
}

#[test]
fn an_unknown_key_is_explained_by_nothing() {
    let mut signer = Signer::due(BODY.as_bytes());
    signer.key = b"quite another key, as long as is due".to_vec();
    let found = diagnosed(&signer.signature(), BODY.as_bytes());
    assert_eq!(names(&found), [[""; 0]; 0]);
    assert!(found.is_complete, "{}", found.tried);
    assert!((10_000..200_000).contains(&found.tried), "{}", found.tried);
}

#[test]
fn the_key_of_the_other_function_is_named_even_with_another_change() {
    let mut other = key("side_effect.k1", "the key of the other function, and long");
    other.is_due = false;
    let mut signer = Signer::due(b"{\"a\": 1}");
    signer.key = b"the key of the other function, and long".to_vec();
    let received = |signature: &'static str| Received {
        id: ID,
        time: TIME,
        signature: signature.as_bytes(),
        body: b"{\"a\": 1}",
    };
    let keys = [own_key(), other];
    let found = search(received(signer.signature().leak()), &keys, LIMITS);
    assert_eq!(names(&found), [["key_of_other_function"]]);
    assert_eq!(found.explanations[0].key, Some(1));
    signer.body = b"{\"a\":1}".to_vec();
    let found = search(received(signer.signature().leak()), &keys, LIMITS);
    assert!(names(&found).contains(&vec!["key_of_other_function", "compact"]));
}

#[test]
fn several_keys_are_told_apart() {
    let second = key("k2", "the second key of this test, long enough");
    let mut signer = Signer::due(b"{}");
    signer.key = b"the second key of this test, long enough".to_vec();
    signer.body = b"{}\n".to_vec();
    let signature = signer.signature();
    let received = Received {
        id: ID,
        time: TIME,
        signature: signature.as_bytes(),
        body: b"{}",
    };
    let found = search(received, &[own_key(), second], LIMITS);
    assert_eq!(names(&found), [["final_lf_added"]]);
    assert_eq!(found.explanations[0].key, Some(1));
    assert_eq!(found.explanations[0].body_bytes, 3);
}

#[test]
fn unknown_milliseconds_and_another_order_of_keys_are_found_by_counting() {
    let mut signer = Signer::due(b"{}");
    signer.time = b"1700000000123".to_vec();
    let found = names(&diagnosed(&signer.signature(), b"{}"));
    assert_eq!(found, [["timestamp_in_milliseconds"]]);
    let body = br#"{"to":{"b":1,"a":2},"op":"x","aud":"y"}"#;
    let signer = Signer::due(br#"{"op":"x","to":{"b":1,"a":2},"aud":"y"}"#);
    let found = names(&diagnosed(&signer.signature(), body));
    assert_eq!(found, [["keys_reordered"]]);
}

#[test]
fn a_search_that_is_not_ended_says_so() {
    let received = Received {
        id: ID,
        time: TIME,
        signature: b"v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        body: b"{}",
    };
    let within = |tries, hashed| search(received, &[own_key()], Limits { tries, hashed });
    for limited in [within(100, 1 << 20), within(1 << 20, 4_000)] {
        assert!(!limited.is_complete && limited.explanations.is_empty());
        assert!(limited.tried <= 150, "{}", limited.tried);
    }
    assert!(within(1 << 20, 1 << 30).is_complete);
    let long = vec![b'a'; body::MAX_BODY + 1];
    let received = Received {
        body: &long,
        ..received
    };
    let found = search(
        received,
        &[own_key()],
        Limits {
            tries: 10,
            ..LIMITS
        },
    );
    assert!(!found.is_complete);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 _:]{0,12}",
        "[a-zé<>&/'\"\\\\\n\r\t\u{2028}🐈€]{0,8}",
        "[0-9]{1,5}",
    ]
}

/// Any JSON; its numbers are of the kinds that libraries write in different ways.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1000_i32..1000).prop_map(|n| json!(f64::from(n) / 4.0)),
        Just(json!(5_725_767_000_000_524_157_u64)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// An object like a request's, so that there is always something to change.
fn body() -> impl Strategy<Value = Value> {
    (text(), json_value(), json_value()).prop_map(|(aud, to, fields)| {
        json!({"op": "save", "aud": aud, "to": to, "fields": {"x": fields, "n": 1}})
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_change_of_any_body_is_named_and_no_other(
        value in body(),
        is_pretty in any::<bool>(),
        which in prop::collection::vec(any::<Index>(), 6),
    ) {
        let body = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let body = body.unwrap().into_bytes();
        let mut signers = changed_signers(&body);
        // A signer whose change changes nothing here signs as is due.
        let due = Signer::due(&body).tag();
        signers.retain(|(_, signer)| signer.tag() != due);
        for one in &which {
            let (change, signer) = one.get(&signers);
            assert_named(change, signer, &body, &signers);
        }
    }

    #[test]
    fn a_body_changed_by_other_code_is_named(value in body()) {
        let compact = serde_json::to_string(&value).unwrap();
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let form: String = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(value.as_object().unwrap().iter().map(|(name, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                (name.clone(), text)
            }))
            .finish();
        for (signed, sent, name) in [
            (&compact, &pretty, "compact"),
            (&pretty, &compact, "lines_2"),
            (&form, &compact, "form_of_json"),
            (&compact, &STANDARD.encode(&compact), "base64_decoded"),
            (&compact, &STANDARD.encode(STANDARD.encode(&compact)), "base64_decoded_twice"),
            (&STANDARD.encode(&compact), &compact, "base64"),
            (&compact, &format!("\u{feff}{compact}"), "bom_removed"),
            (&compact, &format!("{compact}\r\n"), "final_line_end_removed"),
            (&pretty.replace('\n', "\r\n"), &pretty, "crlf"),
            (&pretty, &pretty.replace('\n', "\r\n"), "lf"),
            (&compact, &Value::from(compact.clone()).to_string(), "json_text_inside"),
        ] {
            let found = names(&diagnosed(&Signer::due(signed.as_bytes()).signature(), sent.as_bytes()));
            prop_assert!(found.contains(&vec![name]), "{name} became {found:?}");
        }
    }

    #[test]
    fn a_signature_spelled_otherwise_is_named(value in body(), as_spaced in any::<bool>()) {
        let body = value.to_string().into_bytes();
        let mut signer = Signer::due(&body);
        if as_spaced {
            signer.body.push(b'\n');
        }
        let tag = signer.tag();
        for (signature, name) in [
            (format!("v1,{}", hex(&tag)), "signature_hex"),
            (format!("v1,{}", hex(&tag).to_uppercase()), "signature_hex_upper"),
            (format!("v1,{}", STANDARD.encode(hex(&tag))), "signature_base64_of_hex"),
            (format!("v1,{}", STANDARD.encode(STANDARD.encode(&tag))), "signature_base64_twice"),
            (format!("v1,{}", &STANDARD.encode(&tag)[..43]), "signature_unpadded"),
            (STANDARD.encode(&tag), "signature_without_version"),
        ] {
            let found = names(&diagnosed(&signature, &body));
            let mut due = if as_spaced { vec!["final_lf_added"] } else { Vec::new() };
            due.push(name);
            prop_assert!(found.contains(&due), "{due:?} became {found:?}");
        }
        let url = URL_SAFE_NO_PAD.encode(&tag);
        let found = names(&diagnosed(&format!("v1,{url}"), &body));
        prop_assert!(!found.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn two_changes_are_found_as_two_or_as_what_gives_the_same_text(
        value in body(),
        which in any::<Index>(),
        other in any::<Index>(),
    ) {
        let body = value.to_string().into_bytes();
        let bodies = body::single(&body);
        let first = which.get(&bodies);
        let shapes = message::shapes();
        let second = other.get(&shapes[1..]);
        let mut signer = Signer::due(&first.value);
        signer.shape = second.value;
        let found = names(&diagnosed(&signer.signature(), &body));
        prop_assert!(!found.is_empty(), "{:?} {:?}", first.change, second.change);
        prop_assert!(found.iter().all(|list| list.len() <= 2), "{found:?}");
        let second = second.change.as_ref().unwrap().name;
        prop_assert!(found.iter().any(|list| list.contains(&second)), "{second} became {found:?}");
    }
}
