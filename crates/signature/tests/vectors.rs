//! The committed vectors, made by another implementation and shared with every signer.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sendtrail_signature::{KeyRing, Secret, SignedHeaders, sign, verify};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    keys: Vec<Key>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Key {
    name: String,
    text: String,
    whsec: String,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    id: String,
    timestamp: String,
    signature: String,
    body_base64: String,
    now: i64,
    expect: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../vectors/signatures.json")).unwrap()
}

fn ring(vectors: &Vectors, form: impl Fn(&Key) -> &str) -> KeyRing {
    let keys = vectors.keys.iter();
    KeyRing::new(
        keys.map(|k| (k.name.clone(), Secret::parse(form(k)).unwrap()))
            .collect(),
    )
    .unwrap()
}

fn result(case: &Case, ring: &KeyRing) -> &'static str {
    let body = STANDARD.decode(&case.body_base64).unwrap();
    let headers = SignedHeaders {
        id: Some(case.id.as_bytes()),
        timestamp: Some(case.timestamp.as_bytes()),
        signature: Some(case.signature.as_bytes()),
    };
    match verify(&headers, &body, case.now * 1000, ring) {
        Ok(_) => "ok",
        Err(error) => error.reason(),
    }
}

#[test]
fn every_vector_gives_its_result_with_keys_in_either_form() {
    let vectors = vectors();
    for ring in [ring(&vectors, |k| &k.text), ring(&vectors, |k| &k.whsec)] {
        for case in &vectors.cases {
            assert_eq!(result(case, &ring), case.expect, "{}", case.name);
        }
    }
    let accepted = vectors
        .cases
        .iter()
        .filter(|case| case.expect == "ok")
        .count();
    assert!(accepted >= 10 && vectors.cases.len() >= 40);
}

#[test]
fn signing_makes_the_signature_of_the_stock_message() {
    let vectors = vectors();
    let stock = vectors
        .cases
        .iter()
        .find(|case| case.name.starts_with("stock "))
        .unwrap();
    let secret = Secret::parse(&vectors.keys[0].whsec).unwrap();
    let body = STANDARD.decode(&stock.body_base64).unwrap();
    assert_eq!(
        sign(&secret, &stock.id, &stock.timestamp, &body),
        stock.signature
    );
}
