use reqwest::Method;
use sendtrail_simulator::crm::{CrmConfig, ExpiryUnit, InvalidToken, RefreshToken};
use serde_json::json;

use crate::support::{Bed, client};

const GOOD: &str =
    "client_id=1000.LOCALCLIENT&client_secret=local-client-secret&grant_type=refresh_token";

#[tokio::test]
async fn a_token_comes_with_our_own_address_and_its_life() {
    let bed = Bed::new().await;
    let answer = bed.fresh_token("intake").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["api_domain"], bed.crm.url());
    assert_eq!(answer.body["token_type"], "Bearer");
    assert_eq!(answer.body["expires_in"], 3600);
    assert!(answer.body.get("expires_in_sec").is_none());
    assert!(answer.body.get("refresh_token").is_none());
}

#[tokio::test]
async fn a_refusal_is_a_200_with_an_error() {
    let bed = Bed::new().await;
    for (form, error) in [
        (format!("{GOOD}&refresh_token=wrong"), "invalid_code"),
        (GOOD.to_owned(), "invalid_code"),
        (GOOD.replace("LOCAL", "OTHER"), "invalid_client"),
        (
            GOOD.replace("secret=local", "secret=other"),
            "invalid_client_secret",
        ),
        (String::new(), "invalid_client"),
    ] {
        let answer = bed.token_with(&form).await;
        assert_eq!(
            (answer.status, answer.body),
            (200, json!({"error": error})),
            "{form}"
        );
    }
}

#[tokio::test]
async fn the_eleventh_token_in_a_window_is_refused_for_that_refresh_token_only() {
    let bed = Bed::new().await;
    for _ in 0..10 {
        assert!(bed.fresh_token("intake").await.body["access_token"].is_string());
    }
    let refused = bed.fresh_token("intake").await;
    assert_eq!(
        (refused.status, refused.body["error"].as_str()),
        (400, Some("Access Denied"))
    );
    assert!(refused.body.get("access_token").is_none());
    assert!(bed.fresh_token("side-effect").await.body["access_token"].is_string());
    bed.sim(
        Method::POST,
        "switches",
        json!({"access_denied_status": 200}),
    )
    .await;
    assert_eq!(bed.fresh_token("intake").await.status, 200);
    bed.advance(601);
    assert!(bed.fresh_token("intake").await.body["access_token"].is_string());
}

#[tokio::test]
async fn one_live_token_too_many_ends_the_oldest() {
    let mut bed = Bed::switched(|switches| switches.live_tokens = 2).await;
    let read = format!("/crm/v8/Deals/{}", 1);
    assert_ne!(bed.get(&read).await.status, 401);
    bed.fresh_token("poller").await;
    assert_ne!(bed.get(&read).await.status, 401);
    let newest = bed.fresh_token("poller").await;
    assert_eq!(bed.get(&read).await.status, 401);
    bed.token = newest.body["access_token"].as_str().unwrap().to_owned();
    assert_ne!(bed.get(&read).await.status, 401);
}

#[tokio::test]
async fn the_unit_of_the_expiry_follows_its_switch() {
    let bed = Bed::switched(|switches| switches.expiry_unit = ExpiryUnit::Milliseconds).await;
    let answer = bed.fresh_token("intake").await;
    assert_eq!(
        (
            answer.body["expires_in"].as_i64(),
            answer.body["expires_in_sec"].as_i64()
        ),
        (Some(3_600_000), Some(3600))
    );
}

#[tokio::test]
async fn no_token_a_wrong_scheme_and_an_expired_token_are_401() {
    let mut config = CrmConfig::default();
    config.limits.token_lifetime_s = 5;
    let bed = Bed::with(config).await;
    let path = bed.url("/crm/v8/Deals/1");
    assert_eq!(client().get(&path).send().await.unwrap().status(), 401);
    let bearer = format!("Bearer {}", bed.token);
    assert_eq!(
        client()
            .get(&path)
            .header("authorization", bearer)
            .send()
            .await
            .unwrap()
            .status(),
        401
    );
    assert_eq!(bed.get("/crm/v8/Deals/1").await.status, 204);
    bed.advance(5);
    let expired = bed.get("/crm/v8/Deals/1").await;
    assert_eq!((expired.status, expired.code()), (401, "INVALID_TOKEN"));
    let mut switches = bed.crm.switches();
    switches.invalid_token = InvalidToken::AuthenticationFailure;
    bed.crm.set_switches(switches);
    assert_eq!(
        bed.get("/crm/v8/Deals/1").await.code(),
        "AUTHENTICATION_FAILURE"
    );
}

#[tokio::test]
async fn a_revoked_refresh_token_and_its_access_tokens_are_dead() {
    let bed = Bed::new().await;
    bed.sim(
        Method::POST,
        "tokens",
        json!({"revoke": "1000.refresh.poller"}),
    )
    .await;
    assert_eq!(bed.get("/crm/v8/Deals/1").await.status, 401);
    assert_eq!(
        bed.fresh_token("poller").await.body["error"],
        "invalid_code"
    );
}

#[tokio::test]
async fn a_scope_that_is_missing_is_a_mismatch_and_not_an_invalid_token() {
    let mut config = CrmConfig::default();
    let scopes = vec![
        "ZohoCRM.coql.READ".into(),
        "ZohoCRM.modules.Send_Histories.ALL".into(),
    ];
    config.clients[0].refresh_tokens[2] = RefreshToken {
        token: "1000.refresh.poller".into(),
        scopes,
    };
    let bed = Bed::with(config).await;
    let query = |module: &str| format!("select id from {module} where id is not null");
    assert_eq!(bed.coql(&query("Send_Histories")).await.status, 204);
    let refused = bed.coql(&query("Deals")).await;
    assert_eq!(
        (refused.status, refused.code()),
        (401, "OAUTH_SCOPE_MISMATCH")
    );
    bed.sim(
        Method::POST,
        "switches",
        json!({"scope_mismatch_status": 403}),
    )
    .await;
    assert_eq!(bed.get("/crm/v8/files?id=x").await.status, 403);
}
