//! Who asks for a token, and who takes what another got.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use secrecy::ExposeSecret as _;
use sendtrail_core::ports::{Metered as _, StoreError};
use sendtrail_simulator::crm::{Crm, CrmConfig};
use sendtrail_simulator::parameters::{
    ParameterKind, ParameterSwitches, Parameters, ParametersConfig,
};

use super::{DENIED, INVALID, NAME, RECORD, World, read};
use crate::fake::{Fake, TOKEN, json, token};

/// A CRM that takes every token from the `nth` on; what it took before is refused as ended.
async fn ending(first_good: &Arc<AtomicUsize>) -> Fake {
    let first_good = Arc::clone(first_good);
    Fake::start(move |seen, nth| {
        if seen.path() == TOKEN {
            return token(nth);
        }
        let number = seen.header("authorization").rsplit("token").next();
        let number: usize = number.unwrap().parse().unwrap();
        if number >= first_good.load(Ordering::SeqCst) {
            json(200, RECORD)
        } else {
            json(401, INVALID)
        }
    })
    .await
}

#[tokio::test]
async fn fifty_that_start_at_once_ask_for_at_most_two_tokens() {
    let world = World::new().await;
    for result in world.start_at_once(50).await {
        result.unwrap();
    }
    assert!(world.crm.tokens() <= 2, "{}", world.crm.tokens());
}

#[tokio::test]
async fn those_that_start_later_ask_for_none() {
    let world = World::new().await;
    for _ in 0..10 {
        read(&world.instance()).await.unwrap();
    }
    assert_eq!((world.crm.tokens(), world.crm.calls().len()), (1, 10));
}

#[tokio::test]
async fn late_reads_and_any_rate_leave_it_at_two() {
    let switches = ParameterSwitches {
        stale_ms: 500,
        ..ParameterSwitches::default()
    };
    let world = World::with(switches, Fake::answering(json(200, RECORD)).await).await;
    for result in world.start_at_once(20).await {
        result.unwrap();
    }
    assert!(world.crm.tokens() <= 2, "{}", world.crm.tokens());
}

#[tokio::test]
async fn fifty_starts_stay_below_the_limit_that_the_crm_enforces() {
    let crm = Crm::start(CrmConfig::default()).await.unwrap();
    let store = Parameters::start(ParametersConfig::default())
        .await
        .unwrap();
    let id = sendtrail_core::ids::HistoryId::parse("5725767000000000404").unwrap();
    let starts = (0..50).map(|_| {
        let zoho = super::instance(crm.url(), store.url());
        let id = id.clone();
        tokio::spawn(async move { sendtrail_core::ports::ReadHistory::read(&zoho, &id).await })
    });
    for start in starts.collect::<Vec<_>>() {
        let result = start.await.unwrap();
        // The concurrency of the edition is no matter of tokens.
        let expected = matches!(
            result,
            Err(StoreError::NotFound | StoreError::RateLimited { .. })
        );
        assert!(expected, "{result:?}");
    }
    let log = crm.log(0).unwrap();
    let tokens = log.iter().filter(|line| line.path == TOKEN).count();
    assert!((1..=2).contains(&tokens), "{tokens}");
}

#[tokio::test]
async fn a_token_that_the_crm_ended_is_replaced_by_one_and_taken_by_the_others() {
    let first_good = Arc::new(AtomicUsize::new(0));
    let world = World::with(ParameterSwitches::default(), ending(&first_good).await).await;
    let warm: Vec<_> = (0..10).map(|_| Arc::new(world.instance())).collect();
    for zoho in &warm {
        read(zoho).await.unwrap();
    }
    assert_eq!(world.crm.tokens(), 1);
    first_good.store(1, Ordering::SeqCst);
    let began = Instant::now();
    let reads = warm.iter().map(|zoho| {
        let zoho = Arc::clone(zoho);
        tokio::spawn(async move { read(&zoho).await })
    });
    for done in reads.collect::<Vec<_>>() {
        done.await.unwrap().unwrap();
    }
    read(&world.instance()).await.unwrap();
    assert!(world.crm.tokens() <= 3, "{}", world.crm.tokens());
    assert!(world.entry()["access_token"] != "1000.token0");
    // The lock of the first token does not hold up the second, though both are of one slot of time.
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_refusal_for_too_many_tokens_is_shared_and_nobody_asks_again() {
    let crm = Fake::start(|seen, _| match seen.path() {
        TOKEN => json(400, DENIED),
        _ => json(200, RECORD),
    })
    .await;
    let world = World::with(ParameterSwitches::default(), crm).await;
    let first = world.instance();
    assert_eq!(read(&first).await, Err(StoreError::TokenThrottled));
    for _ in 0..5 {
        let zoho = world.instance();
        assert_eq!(read(&zoho).await, Err(StoreError::TokenThrottled));
        let usage = zoho.usage();
        assert_eq!((usage.token_requests, usage.token_throttled), (0, 1));
    }
    assert_eq!(world.crm.tokens(), 1);
    assert_eq!(world.store.value(NAME), None);
}

#[tokio::test]
async fn a_token_got_before_a_refusal_is_used_all_the_same() {
    let crm = Fake::start(|seen, nth| match seen.path() {
        TOKEN if nth > 0 => json(400, DENIED),
        TOKEN => token(nth),
        _ => json(200, RECORD),
    })
    .await;
    let world = World::with(ParameterSwitches::default(), crm).await;
    read(&world.instance()).await.unwrap();
    let entry = world.store.value(NAME).unwrap();
    world.store.delete(NAME);
    // Another secret is not there: this one asks, is refused, and says so to all.
    assert_eq!(
        read(&world.instance()).await,
        Err(StoreError::TokenThrottled)
    );
    assert_eq!(
        read(&world.instance()).await,
        Err(StoreError::TokenThrottled)
    );
    assert_eq!(world.crm.tokens(), 2);
    world.put(&entry);
    read(&world.instance()).await.unwrap();
    assert_eq!(world.crm.tokens(), 2);
}

#[tokio::test]
async fn who_has_a_token_that_lasts_does_not_wait_for_another() {
    let world = World::new().await;
    let due = world.stored(-1, 200).await;
    world.put(&due.to_string());
    // The lock of this slot is taken; the one of the next too, should it begin meanwhile.
    let lock = due["locks"][0].as_str().unwrap();
    let (slot, purpose) = lock.split_once('-').unwrap();
    let slot: u64 = slot.parse().unwrap();
    for slot in slot..slot + 3 {
        let name = format!("{NAME}-lock-{slot}-{purpose}");
        world.store.put(&name, "another's", ParameterKind::String);
    }
    let began = Instant::now();
    read(&world.instance()).await.unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(world.crm.tokens(), 1);
}

#[tokio::test]
async fn a_token_that_lasts_is_used_without_asking_at_each_call_where_none_is_to_be_had() {
    let crm = Fake::start(|seen, nth| match seen.path() {
        TOKEN if nth > 0 => json(500, "{}"),
        TOKEN => token(nth),
        _ => json(200, RECORD),
    })
    .await;
    let world = World::with(ParameterSwitches::default(), crm).await;
    let due = world.stored(-1, 200).await;
    world.put(&due.to_string());
    let zoho = world.instance();
    read(&zoho).await.unwrap();
    // The lock of this slot is taken; or it is made, and the endpoint gives nothing.
    let tokens = world.crm.tokens();
    let asked = world.store.calls().len();
    for _ in 0..3 {
        read(&zoho).await.unwrap();
    }
    assert_eq!(world.crm.tokens(), tokens, "each call asked");
    assert_eq!(world.store.calls().len(), asked, "each call read");
}

#[tokio::test]
async fn one_of_those_who_wait_for_one_that_died_asks_in_time_and_no_storm_follows() {
    let world = World::new().await;
    let entry = world.stored(3_000, 3_600).await;
    world.store.delete(NAME);
    let (slot, purpose) = entry["locks"][0].as_str().unwrap().split_once('-').unwrap();
    let slot: u64 = slot.parse().unwrap();
    for slot in slot..slot + 3 {
        let name = format!("{NAME}-lock-{slot}-{purpose}");
        world.store.put(&name, "of the dead", ParameterKind::String);
    }
    let began = Instant::now();
    let reads = (0..12).map(|_| {
        let zoho = world.instance();
        tokio::spawn(async move { read(&zoho).await })
    });
    let mut served = 0;
    for read in reads.collect::<Vec<_>>() {
        match read.await.unwrap() {
            Ok(()) => served += 1,
            Err(error) => assert!(matches!(error, StoreError::Transient { .. }), "{error}"),
        }
    }
    let took = began.elapsed();
    assert!(served >= 1);
    assert!(took >= Duration::from_secs(3), "nobody waited: {took:?}");
    assert!(took < Duration::from_secs(9), "{took:?}");
    // One joined a holder that may be alive; two where a slot ended meanwhile.
    let more = world.crm.tokens() - 1;
    assert!((1..=2).contains(&more), "{more}");
    read(&world.instance()).await.unwrap();
    assert_eq!(world.crm.tokens() - 1, more);
}

#[tokio::test]
async fn locks_do_not_pile_up() {
    let first_good = Arc::new(AtomicUsize::new(0));
    let switches = ParameterSwitches {
        puts_per_second: 0,
        deletes_per_second: 0,
        ..ParameterSwitches::default()
    };
    let world = World::with(switches, ending(&first_good).await).await;
    let zoho = world.instance();
    for round in 0..12 {
        first_good.store(round, Ordering::SeqCst);
        // Each round needs another token, and a lock of its own.
        let _ = read(&zoho).await;
        let _ = read(&world.instance()).await;
        let beside = world.beside();
        assert!(beside.len() <= 2, "{round}: {beside:?}");
    }
    assert!(world.crm.tokens() >= 6, "{}", world.crm.tokens());
}

#[tokio::test]
async fn another_refresh_token_has_its_own_turn() {
    let world = World::new().await;
    read(&world.instance()).await.unwrap();
    let entry = world.entry();
    let mut foreign = entry.clone();
    foreign["key"] = "another".into();
    world.put(&foreign.to_string());
    read(&world.instance()).await.unwrap();
    assert_eq!(world.entry()["key"], entry["key"]);
    let secrets = crate::secrets();
    let stored = world.store.value(NAME).unwrap();
    assert!(!stored.contains(secrets.refresh_token.expose_secret()));
    assert!(!stored.contains(secrets.client_secret.expose_secret()));
}
