//! How tokens are asked for, kept and replaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{Metered as _, ReadHistory as _, StoreError};
use sendtrail_zoho::{AccessToken, CacheFuture, FileTokenCache, TokenCache, Zoho};

use crate::fake::{Fake, Reply, TOKEN, json, token};
use crate::{config, zoho, zoho_with};

const RECORD: &str = r#"{"data":[{"id":"7","Modified_Time":"2026-01-01T00:00:00+00:00"}]}"#;
const INVALID: &str =
    r#"{"code":"INVALID_TOKEN","details":{},"message":"invalid oauth token","status":"error"}"#;

async fn read(zoho: &Zoho) -> Result<(), StoreError> {
    zoho.read(&HistoryId::parse("7").unwrap()).await.map(drop)
}

/// A CRM that takes a token only when `accepts` says so.
async fn accepting(accepts: fn(&str) -> bool) -> Fake {
    Fake::start(move |seen, nth| match seen.path() {
        TOKEN => token(nth),
        _ if accepts(seen.header("authorization")) => json(200, RECORD),
        _ => json(401, INVALID),
    })
    .await
}

#[tokio::test]
async fn secrets_go_in_the_body_and_never_in_the_address() {
    let fake = Fake::answering(json(200, RECORD)).await;
    read(&zoho(&fake.url)).await.unwrap();
    let seen = &fake.seen()[0];
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str()),
        ("POST", TOKEN)
    );
    assert!(seen.body.contains("refresh_token=1000.refresh.intake"));
    assert!(seen.body.contains("grant_type=refresh_token"));
    let call = &fake.calls()[0];
    assert_eq!(call.header("authorization"), "Zoho-oauthtoken 1000.token0");
    assert!(call.header("user-agent").starts_with("sendtrail/"));
}

#[tokio::test]
async fn many_at_once_ask_for_one_token() {
    let fake = Fake::answering(json(200, RECORD)).await;
    let zoho = Arc::new(zoho(&fake.url));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let zoho = Arc::clone(&zoho);
            tokio::spawn(async move { read(&zoho).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!((fake.tokens(), fake.calls().len()), (1, 20));
    assert_eq!(zoho.usage().token_requests, 1);
}

#[tokio::test]
async fn many_that_wait_for_a_refresh_that_fails_share_its_failure() {
    let fake = Fake::start(|_, _| json(500, "")).await;
    let zoho = Arc::new(zoho(&fake.url));
    // All of them ask before the first answer can come: they run on one thread.
    let reads = (0..8).map(|_| {
        let zoho = Arc::clone(&zoho);
        tokio::spawn(async move { read(&zoho).await })
    });
    for task in reads.collect::<Vec<_>>() {
        let result = task.await.unwrap();
        assert!(matches!(result, Err(StoreError::Transient { .. })));
    }
    assert_eq!(fake.tokens(), 1);
}

#[tokio::test]
async fn after_access_denied_no_token_is_asked_for() {
    for status in [200, 400] {
        let body = r#"{"error_description":"x","error":"Access Denied","status":"failure"}"#;
        let fake = Fake::start(move |_, _| json(status, body)).await;
        let zoho = zoho(&fake.url);
        for _ in 0..3 {
            assert_eq!(read(&zoho).await, Err(StoreError::TokenThrottled));
        }
        assert_eq!(fake.seen().len(), 1);
        let usage = zoho.usage();
        assert_eq!((usage.token_requests, usage.token_throttled), (1, 3));
        assert_eq!(usage.token_refused, 0);
    }
}

#[tokio::test]
async fn a_revoked_refresh_token_is_named_without_being_shown() {
    let fake = Fake::start(|_, _| json(200, r#"{"error":"invalid_code"}"#)).await;
    let zoho = zoho(&fake.url);
    let error = read(&zoho).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the CRM refuses the credentials: invalid_code"
    );
    let usage = zoho.usage();
    assert_eq!((usage.token_refused, usage.token_throttled), (1, 0));
}

#[tokio::test]
async fn a_refused_token_is_replaced_once_and_the_request_sent_again_once() {
    let fake = accepting(|token| token.ends_with("token1")).await;
    let zoho = zoho(&fake.url);
    read(&zoho).await.unwrap();
    assert_eq!((fake.tokens(), fake.calls().len()), (2, 2));
    read(&zoho).await.unwrap();
    assert_eq!((fake.tokens(), fake.calls().len()), (2, 3));
}

#[tokio::test]
async fn tokens_that_are_all_refused_do_not_use_up_the_tokens_of_the_window() {
    let fake = accepting(|_| false).await;
    let zoho = zoho(&fake.url);
    for _ in 0..10 {
        let error = read(&zoho).await.unwrap_err();
        assert!(matches!(error, StoreError::Unauthorized { .. }));
    }
    assert_eq!(fake.tokens(), 2);
}

#[tokio::test]
async fn a_missing_scope_asks_for_no_token() {
    for status in [401, 403] {
        let body = r#"{"code":"OAUTH_SCOPE_MISMATCH","details":{},"message":"x","status":"error"}"#;
        let fake = Fake::answering(json(status, body)).await;
        let error = read(&zoho(&fake.url)).await.unwrap_err();
        assert!(matches!(error, StoreError::Unauthorized { .. }));
        assert_eq!((fake.tokens(), fake.calls().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_cached_token_saves_the_request_also_when_another_process_replaced_it() {
    let folder = tempfile::tempdir().unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let old_is_refused = Arc::clone(&ended);
    let fake = Fake::start(move |seen, nth| match seen.path() {
        TOKEN => token(nth),
        _ if seen.header("authorization").ends_with("token0") && ended.load(Ordering::SeqCst) => {
            json(401, INVALID)
        }
        _ => json(200, RECORD),
    })
    .await;
    let config = config(&fake.url);
    let client = || {
        let cache = FileTokenCache::new(folder.path().to_owned());
        zoho_with(&config, Box::new(cache))
    };
    let (first, second) = (client(), client());
    read(&first).await.unwrap();
    read(&second).await.unwrap();
    assert_eq!(fake.tokens(), 1);
    old_is_refused.store(true, Ordering::SeqCst);
    read(&first).await.unwrap();
    read(&second).await.unwrap();
    read(&client()).await.unwrap();
    assert_eq!(fake.tokens(), 2);
}

#[tokio::test]
async fn the_api_host_of_the_token_answer_is_used() {
    let api = Fake::answering(json(200, RECORD)).await;
    let domain = api.url.clone();
    let accounts = Fake::start(move |_, _| {
        let body =
            serde_json::json!({"access_token": "a", "api_domain": domain, "expires_in": 3600});
        Reply::Json(200, body.to_string())
    })
    .await;
    read(&zoho(&accounts.url)).await.unwrap();
    assert_eq!((accounts.seen().len(), api.calls().len()), (1, 1));
}

/// A cache that always holds one token.
struct Holding(AccessToken);

impl TokenCache for Holding {
    fn load<'a>(&'a self, _key: &'a str) -> CacheFuture<'a, Option<AccessToken>> {
        Box::pin(std::future::ready(Some(self.0.clone())))
    }

    fn store<'a>(&'a self, _key: &'a str, _token: &'a AccessToken) -> CacheFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn a_token_that_is_due_for_a_refresh_is_used_while_the_refresh_fails() {
    let denied = r#"{"error":"Access Denied","status":"failure"}"#;
    let fake = Fake::start(move |seen, _| match seen.path() {
        TOKEN => json(400, denied),
        _ => json(200, RECORD),
    })
    .await;
    let config = config(&fake.url);
    let in_seconds = |s| Timestamp::now() + SignedDuration::from_secs(s);
    let holding = |expires| {
        let token = AccessToken {
            token: "1000.old".into(),
            api_domain: None,
            refresh_at: in_seconds(-200),
            expires_at: in_seconds(expires),
        };
        zoho_with(&config, Box::new(Holding(token)))
    };
    let lasting = holding(100);
    read(&lasting).await.unwrap();
    read(&lasting).await.unwrap();
    assert_eq!((fake.tokens(), fake.calls().len()), (1, 2));
    let ended = holding(-100);
    assert_eq!(read(&ended).await, Err(StoreError::TokenThrottled));
    assert_eq!((fake.tokens(), fake.calls().len()), (2, 2));
}
