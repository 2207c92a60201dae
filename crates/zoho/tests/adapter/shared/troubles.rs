//! A store that is denied, slow, late or false: every instance works all the same, and says so once.

use std::time::{Duration, Instant};

use sendtrail_core::ports::Metered as _;
use sendtrail_simulator::parameters::{ParameterFault, ParameterFaultKind as Kind};
use serde_json::json;

use super::{NAME, World, logged, read, summed, warnings};

const ACTIONS: [&str; 3] = ["GetParameters", "PutParameter", "DeleteParameters"];
/// What the shared store may take of a request, with some room for a slow machine.
const BOUND: Duration = Duration::from_secs(10);

fn slow(action: &str) -> ParameterFault {
    ParameterFault {
        ms: 30_000,
        ..ParameterFault::lasting(Kind::Slow, action)
    }
}

#[tokio::test]
async fn denied_by_the_role_each_works_alone_and_names_the_permission_once() {
    for action in ACTIONS {
        let world = World::new().await;
        world.fault(ParameterFault::lasting(Kind::Deny, action));
        let zoho = world.instance();
        let (results, log) = logged(async {
            let first = read(&zoho).await;
            (first, read(&zoho).await)
        })
        .await;
        assert_eq!(results, (Ok(()), Ok(())));
        assert_eq!(zoho.usage().token_requests, 1);
        let said = format!("the role may not ssm:{action}");
        let said = warnings(&log)
            .iter()
            .filter(|line| line.contains(&said))
            .count();
        assert_eq!(said, 1, "{:?}", warnings(&log));
    }
}

#[tokio::test]
async fn denied_everything_fifty_starts_are_fifty_requests() {
    let world = World::new().await;
    for action in ACTIONS {
        world.fault(ParameterFault::lasting(Kind::Deny, action));
    }
    for result in world.start_at_once(50).await {
        result.unwrap();
    }
    assert_eq!(world.crm.tokens(), 50);
}

#[tokio::test]
async fn a_store_that_does_not_answer_costs_a_bounded_time() {
    for action in ["GetParameters", "PutParameter"] {
        let world = World::new().await;
        world.fault(slow(action));
        let began = Instant::now();
        let (result, log) = logged(read(&world.instance())).await;
        result.unwrap();
        assert!(began.elapsed() < BOUND, "{action}: {:?}", began.elapsed());
        assert_eq!(warnings(&log).len(), 1, "{action}: {:?}", warnings(&log));
        assert_eq!(world.crm.tokens(), 1);
    }
}

#[tokio::test]
async fn a_store_that_is_always_throttled_costs_a_bounded_time() {
    for action in ["GetParameters", "PutParameter"] {
        let world = World::new().await;
        world.fault(ParameterFault::lasting(Kind::Throttle, action));
        let began = Instant::now();
        let (result, log) = logged(read(&world.instance())).await;
        result.unwrap();
        assert!(began.elapsed() < BOUND, "{action}: {:?}", began.elapsed());
        let said = format!("ssm:{action} is throttled");
        let said = warnings(&log)
            .iter()
            .filter(|line| line.contains(&said))
            .count();
        assert_eq!(said, 1, "{action}: {:?}", warnings(&log));
        assert_eq!(world.crm.tokens(), 1);
    }
}

#[tokio::test]
async fn a_broken_answer_of_any_call_changes_nothing() {
    for kind in [Kind::Status, Kind::CutAnswer, Kind::LostReply, Kind::Refuse] {
        for action in ACTIONS {
            let world = World::new().await;
            world.fault(ParameterFault::lasting(kind, action));
            let began = Instant::now();
            read(&world.instance()).await.unwrap();
            assert!(began.elapsed() < BOUND, "{kind:?} {action}");
            assert_eq!(world.crm.tokens(), 1, "{kind:?} {action}");
        }
    }
}

#[tokio::test]
async fn a_lock_whose_making_was_not_answered_is_known_as_ones_own() {
    for kind in [Kind::LostReply, Kind::CutAnswer] {
        let world = World::new().await;
        world.fault(ParameterFault {
            name_prefix: Some(format!("{NAME}-lock-")),
            ..ParameterFault::once(kind, "PutParameter")
        });
        let began = Instant::now();
        read(&world.instance()).await.unwrap();
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(world.entry()["locks"].as_array().unwrap().len(), 1);
        read(&world.instance()).await.unwrap();
        assert_eq!(world.crm.tokens(), 1);
    }
}

#[tokio::test]
async fn what_cannot_be_used_is_ignored_and_overwritten() {
    let world = World::new().await;
    let good = world.stored(3_000, 3_600).await;
    let with = |key: &str, value: serde_json::Value| {
        let mut entry = good.clone();
        entry[key] = value;
        summed(entry).to_string()
    };
    let (expired, future) = (
        world.stored(-200, -100).await,
        world.stored(1_000, 900_000).await,
    );
    let asked = world.crm.tokens();
    let bad = [
        "{ cut".to_owned(),
        "null".to_owned(),
        "\u{fffd}\u{0}".to_owned(),
        "x".repeat(4_096),
        good.to_string().replace("1000.token", "1000.Token"),
        with("v", json!(2)),
        with("key", json!("another")),
        with("access_token", json!("two words")),
        with("access_token", json!(7)),
        with("api_domain", json!("http://evil.test")),
        expired.to_string(),
        future.to_string(),
    ];
    for (nth, value) in bad.iter().enumerate() {
        world.put(value);
        // A refresh of this slot is over: its lock would hold up the next for nothing.
        for name in world.beside() {
            world.store.delete(&name);
        }
        world.store.set_switches(unlimited());
        let zoho = world.instance();
        let (result, log) = logged(read(&zoho)).await;
        result.unwrap();
        assert_eq!(zoho.usage().token_requests, 1, "{value}");
        assert_eq!(world.crm.tokens(), asked + nth + 1, "{value}");
        assert_eq!(world.entry()["key"], good["key"], "{value}");
        assert!(warnings(&log).len() <= 1, "{:?}", warnings(&log));
        read(&world.instance()).await.unwrap();
        assert_eq!(world.crm.tokens(), asked + nth + 1, "{value}");
    }
}

fn unlimited() -> sendtrail_simulator::parameters::ParameterSwitches {
    sendtrail_simulator::parameters::ParameterSwitches {
        recreate_ms: 0,
        puts_per_second: 0,
        deletes_per_second: 0,
        ..sendtrail_simulator::parameters::ParameterSwitches::default()
    }
}

#[tokio::test]
async fn no_secret_and_no_token_is_logged() {
    let world = World::new().await;
    let work = async {
        read(&world.instance()).await.unwrap();
        world.put(
            &world
                .store
                .value(NAME)
                .unwrap()
                .replace("1000.token0", "1000.to ken"),
        );
        read(&world.instance()).await.unwrap();
        for (kind, action) in [
            (Kind::Deny, "GetParameters"),
            (Kind::CutAnswer, "PutParameter"),
            (Kind::Throttle, "DeleteParameters"),
        ] {
            world.store.clear_faults();
            world.store.delete(NAME);
            world.fault(ParameterFault::lasting(kind, action));
            // Both locks of the slot may be taken by now: whether it gets a token is no matter here.
            let _ = read(&world.instance()).await;
        }
    };
    let ((), log) = logged(work).await;
    assert!(warnings(&log).len() >= 3, "{:?}", warnings(&log));
    for secret in [
        "1000.t",
        "hidden-aws-key",
        "local-client-secret",
        "1000.refresh",
    ] {
        let line = log.lines().position(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is in a line of the log");
    }
}
