use super::*;
use crate::answer::Body;
use reqwest::header::HeaderMap;
use serde_json::json;

fn answer(status: u16, body: Body) -> Answer {
    Answer {
        status,
        headers: HeaderMap::new(),
        body,
        retry_after: Some(SignedDuration::from_secs(7)),
    }
}

fn fault(status: u16, body: Value) -> TokenFault {
    read(&answer(status, Body::Json(body)), 1)
        .expect_err("a token")
        .fault
}

#[test]
fn a_token_lives_as_long_as_it_says_and_at_most_a_day() {
    for (stated, seconds) in [
        (json!(3600), 3600),
        (json!("90"), 90),
        (json!(null), 300),
        (json!("soon"), 300),
        (json!(-5), 0),
        (json!(i64::MAX), 86_400),
    ] {
        assert_eq!(lifetime(Some(&stated)).as_secs(), seconds, "{stated}");
    }
    let body = json!({"access_token": "abc", "expires_in": 600});
    let token = read(&answer(200, Body::Json(body)), 1).unwrap();
    assert!(token.header.is_sensitive());
    let now = Timestamp::now();
    let secs = SignedDuration::from_secs;
    assert!(token.serves(now, secs(120)));
    // Half of its life is left, so it is not fetched again before that for a long wish.
    assert!(token.serves(now, secs(100_000)));
    let later = now.saturating_add(secs(301)).unwrap();
    assert!(!token.serves(later, secs(100_000)) && token.serves(later, secs(120)));
    assert!(!token.serves(now.saturating_add(secs(600)).unwrap(), secs(0)));
}

#[test]
fn what_is_no_token_has_its_fault() {
    for status in [400, 401, 403] {
        assert_eq!(fault(status, json!({})), TokenFault::Refused, "{status}");
    }
    for status in [302, 404, 500, 503] {
        assert_eq!(fault(status, json!({})), TokenFault::Transient, "{status}");
    }
    assert_eq!(fault(429, json!({})), TokenFault::RateLimited);
    for body in [
        json!({"error": "Access Denied"}),
        json!({"access_token": ""}),
        json!({"access_token": "a\r\nb"}),
        json!({"access_token": 7}),
        json!({"access_token": "abc", "token_type": "mac"}),
    ] {
        assert_eq!(fault(200, body.clone()), TokenFault::Refused, "{body}");
    }
    let html = read(&answer(200, Body::NotJson), 1).expect_err("a token");
    assert_eq!(html.fault, TokenFault::Transient);
}

#[test]
fn the_form_holds_what_its_kind_asks_for() {
    let auth = |secret: Option<bool>, scope: Option<&str>| TokenAuth {
        url: Url::parse("https://api.example.com/token").unwrap(),
        client_id: super::super::Credential::Text("me".into()),
        secret: secret.map(|basic| super::super::ClientSecret {
            name: secret_ref(),
            basic,
        }),
        scope: scope.map(str::to_owned),
    };
    let (id, secret) = (SecretString::from("i&d"), SecretString::from("s:3"));
    let built = |auth: &TokenAuth| {
        let source = TokenSource::new(auth, &id, Some(&secret)).unwrap();
        let basic = source.basic.map(|value| value.to_str().unwrap().to_owned());
        (source.body.expose_secret().to_owned(), basic)
    };
    let basic = Some("Basic aSUyNmQ6cyUzQTM=".to_owned());
    assert_eq!(
        built(&auth(Some(true), Some("a b"))),
        ("grant_type=client_credentials&scope=a+b".into(), basic)
    );
    assert_eq!(
        built(&auth(Some(false), None)),
        (
            "grant_type=client_credentials&client_id=i%26d&client_secret=s%3A3".into(),
            None
        )
    );
    assert_eq!(built(&auth(None, None)), ("client_id=i%26d".into(), None));
}

/// A name of a secret is only had by reading one.
fn secret_ref() -> sendtrail_core::settings::SecretRef {
    let reader = sendtrail_core::settings::Reader::new("x", "a = \"secret:b\"");
    let name = reader.root().secret("a");
    name.unwrap()
}
