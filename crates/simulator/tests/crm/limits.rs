use reqwest::Method;
use sendtrail_simulator::crm::CrmConfig;
use serde_json::json;

use crate::support::Bed;

fn small(credits: u64) -> CrmConfig {
    let mut config = CrmConfig::default();
    config.limits.credits = credits;
    config
}

const QUERY: &str = "select id from Deals where id is not null limit";

#[tokio::test]
async fn a_query_costs_by_its_limit_and_a_token_nothing() {
    let bed = Bed::new().await;
    assert_eq!(bed.crm.credits().used, 0);
    for (limit, total) in [(1, 1), (200, 2), (201, 4), (1000, 6), (1001, 9), (2000, 12)] {
        bed.coql(&format!("{QUERY} {limit}")).await;
        assert_eq!(bed.crm.credits().used, total, "limit {limit}");
    }
    bed.read("1").await;
    assert_eq!(bed.crm.credits().used, 13);
}

#[tokio::test]
async fn the_remaining_credits_are_told_only_after_half_of_them() {
    let bed = Bed::with(small(4)).await;
    assert_eq!(bed.read("1").await.header("x-api-credits-remaining"), None);
    assert_eq!(
        bed.read("1").await.header("x-api-credits-remaining"),
        Some("2")
    );
    assert_eq!(
        bed.read("1").await.header("x-api-credits-remaining"),
        Some("1")
    );
}

#[tokio::test]
async fn used_up_credits_are_429_until_a_day_has_passed() {
    let bed = Bed::with(small(1)).await;
    bed.read("1").await;
    let refused = bed.read("1").await;
    assert_eq!((refused.status, refused.code()), (429, "TOO_MANY_REQUESTS"));
    assert_eq!(refused.header("retry-after"), None);
    assert_eq!(bed.crm.credits().used, 1);
    bed.sim(Method::POST, "switches", json!({"limit_body": "legacy"}))
        .await;
    let legacy = bed.read("1").await;
    assert_eq!((legacy.status, &legacy.body["code"]), (429, &json!(429)));
    bed.sim(Method::POST, "credits", json!({"used": 0})).await;
    assert_eq!(bed.read("1").await.status, 204);
}

#[tokio::test]
async fn too_many_calls_at_once_are_429_and_cost_nothing() {
    let mut config = CrmConfig::default();
    config.limits.concurrency = 2;
    config.switches.latency_ms = 500;
    let bed = Bed::with(config).await;
    let (a, b, c) = tokio::join!(bed.read("1"), bed.read("1"), bed.read("1"));
    let mut statuses = [a.status, b.status, c.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 204, 429]);
    assert_eq!(bed.crm.credits().used, 2);
    assert_eq!(bed.read("1").await.status, 204);
}

#[tokio::test]
async fn queries_have_a_smaller_limit_of_their_own() {
    let mut config = CrmConfig::default();
    config.limits.sub_concurrency = 0;
    let bed = Bed::with(config).await;
    assert_eq!(bed.coql(&format!("{QUERY} 1")).await.status, 429);
    assert_eq!(bed.read("1").await.status, 204);
}
