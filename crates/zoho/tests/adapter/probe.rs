//! The probe of the guard: nothing is written before an old version was refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sendtrail_core::ids::{HistoryId, Revision};
use sendtrail_core::ports::{
    DocumentChange, GuardedWrite as _, Metered as _, ReadHistory as _, StoreError, Write,
    WriteReply,
};
use sendtrail_core::state::State;
use sendtrail_simulator::crm::{Guard, Switches};
use sendtrail_zoho::Zoho;
use serde_json::{Value, json as value};

use crate::fake::{Fake, Reply, Seen, TOKEN, json, token};
use crate::simulated::{MODULE, Simulated};
use crate::zoho;

const SUCCESS: &str = r#"{"data":[{"code":"SUCCESS","details":{"id":"7"},"status":"success"}]}"#;
const CONFLICT: &str = r#"{"code":"ALREADY_MODIFIED","details":{}}"#;
const ROW: &str =
    r#"{"data":[{"id":"7","Modified_Time":"2026-01-01T00:00:00+00:00","Source_Record":"9"}]}"#;

fn id() -> HistoryId {
    HistoryId::parse("7").unwrap()
}

async fn write(zoho: &Zoho, id: &HistoryId, revision: &Revision) -> WriteReply {
    let write = Write {
        state: Some(State::Accepted),
        progress: "{}".into(),
        next_check_at: None,
        deadline: None,
        external_id: None,
        document_sha256: None,
        input: None,
        document: DocumentChange::Keep,
        notify: false,
    };
    zoho.write(id, revision, &write).await
}

async fn write_7(zoho: &Zoho) -> WriteReply {
    let revision = Revision::parse("2026-01-01T00:00:00+00:00").unwrap();
    write(zoho, &id(), &revision).await
}

/// A CRM that answers the probe with `probe` and everything else as it should.
async fn probed(probe: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Fake {
    let probes = std::sync::atomic::AtomicUsize::new(0);
    Fake::unprobed(move |seen, nth| match (seen.path(), seen.method.as_str()) {
        (TOKEN, _) => token(nth),
        (_, "GET") => json(200, ROW),
        (_, _) if seen.is_probe() => probe(probes.fetch_add(1, Ordering::SeqCst)),
        (_, _) => json(200, SUCCESS),
    })
    .await
}

/// The guards of the updates that arrived, in their order.
fn guards(fake: &Fake) -> Vec<String> {
    let puts = fake.all().into_iter().filter(|seen| seen.method == "PUT");
    puts.map(|seen: Seen| seen.header("if-unmodified-since").to_owned())
        .collect()
}

fn is_refusal(reply: &WriteReply) -> bool {
    matches!(reply, WriteReply::NotApplied(error @ StoreError::Refused { code, .. })
        if code == "GUARD_IGNORED" && error.to_string().contains("sendtrail zoho check"))
}

#[tokio::test]
async fn the_first_write_is_preceded_by_one_probe_and_the_next_by_none() {
    let fake = probed(|_| json(412, CONFLICT)).await;
    let zoho = zoho(&fake.url);
    zoho.read(&id()).await.unwrap();
    for _ in 0..3 {
        assert_eq!(write_7(&zoho).await, WriteReply::Applied);
    }
    let mut guards = guards(&fake);
    assert!(guards.remove(0).starts_with("2000-01-01T00:00:00"));
    assert_eq!(guards, ["2026-01-01T00:00:00+00:00"; 3]);
    // A read, the probe, three writes: the probe costs one call and one credit.
    assert_eq!((zoho.usage().calls, zoho.usage().credits), (5, 5));
}

#[tokio::test]
async fn the_probe_writes_back_one_field_as_it_was_and_runs_nothing() {
    let fake = probed(|_| json(412, CONFLICT)).await;
    let zoho = zoho(&fake.url);
    zoho.read(&id()).await.unwrap();
    write_7(&zoho).await;
    let probe = fake.all().into_iter().find(Seen::is_probe).unwrap();
    let body: Value = serde_json::from_str(&probe.body).unwrap();
    assert_eq!(
        body,
        value!({"data": [{"Source_Record": "9"}], "trigger": []})
    );
}

#[tokio::test]
async fn where_the_old_version_is_taken_nothing_is_ever_written() {
    let fake = probed(|_| json(200, SUCCESS)).await;
    let zoho = zoho(&fake.url);
    for _ in 0..3 {
        let reply = write_7(&zoho).await;
        assert!(is_refusal(&reply), "{reply:?}");
    }
    assert_eq!(guards(&fake).len(), 1);
}

#[tokio::test]
async fn a_conflict_of_any_form_proves_the_guard() {
    let item = r#"{"data":[{"code":"ALREADY_MODIFIED","details":{},"status":"error"}]}"#;
    for reply in [json(412, "<html>"), json(200, item), json(400, CONFLICT)] {
        let fake = probed(move |_| reply.clone()).await;
        assert_eq!(write_7(&zoho(&fake.url)).await, WriteReply::Applied);
    }
}

#[tokio::test]
async fn a_probe_that_proves_nothing_writes_nothing_and_is_made_again() {
    for reply in [
        Reply::Close,
        Reply::Hang,
        json(200, "{\"data\":[{\"co"),
        json(500, ""),
        json(302, ""),
        json(429, "{}"),
        json(403, "{}"),
        json(400, r#"{"data":[{"code":"RECORD_LOCKED","details":{}}]}"#),
    ] {
        let first = reply.clone();
        let fake = probed(move |nth| match nth {
            0 => first.clone(),
            _ => json(412, CONFLICT),
        })
        .await;
        let zoho = zoho(&fake.url);
        let undecided = write_7(&zoho).await;
        let WriteReply::NotApplied(error) = &undecided else {
            panic!("{reply:?}: {undecided:?}");
        };
        assert!(!error.to_string().contains("GUARD_IGNORED"), "{reply:?}");
        assert_eq!(guards(&fake).len(), 1, "{reply:?}");
        assert_eq!(write_7(&zoho).await, WriteReply::Applied, "{reply:?}");
        assert_eq!(guards(&fake).len(), 3, "{reply:?}");
    }
}

#[tokio::test]
async fn many_first_writes_at_once_make_one_probe() {
    for heeds in [true, false] {
        let fake = probed(move |_| {
            if heeds {
                json(412, CONFLICT)
            } else {
                json(200, SUCCESS)
            }
        })
        .await;
        let zoho = Arc::new(zoho(&fake.url));
        let writes = (0..10).map(|_| {
            let zoho = Arc::clone(&zoho);
            tokio::spawn(async move { write_7(&zoho).await })
        });
        for task in writes.collect::<Vec<_>>() {
            let reply = task.await.unwrap();
            assert_eq!(reply == WriteReply::Applied, heeds);
            assert_eq!(is_refusal(&reply), !heeds);
        }
        let probes = fake.all().iter().filter(|seen| seen.is_probe()).count();
        assert_eq!(probes, 1);
    }
}

#[tokio::test]
async fn many_that_wait_for_a_probe_that_fails_share_its_failure() {
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let fake = probed(move |_| {
        if up.load(Ordering::SeqCst) {
            json(412, CONFLICT)
        } else {
            json(503, "")
        }
    })
    .await;
    let zoho = Arc::new(zoho(&fake.url));
    let writes = (0..10).map(|_| {
        let zoho = Arc::clone(&zoho);
        tokio::spawn(async move { write_7(&zoho).await })
    });
    for task in writes.collect::<Vec<_>>() {
        let reply = task.await.unwrap();
        assert!(matches!(
            reply,
            WriteReply::NotApplied(StoreError::Transient { .. })
        ));
    }
    assert_eq!(guards(&fake).len(), 1);
    is_up.store(true, Ordering::SeqCst);
    assert_eq!(write_7(&zoho).await, WriteReply::Applied);
}

#[tokio::test]
async fn creates_and_reads_probe_nothing() {
    let fake = probed(|_| json(200, SUCCESS)).await;
    let zoho = zoho(&fake.url);
    zoho.read(&id()).await.unwrap();
    crate::writes::create(&zoho).await;
    assert!(guards(&fake).is_empty());
}

#[tokio::test]
async fn a_source_record_that_is_no_text_is_not_sent_back() {
    let row = ROW.replace("\"9\"", "{\"id\":\"9\"}");
    let fake = Fake::unprobed(move |seen, nth| match seen.path() {
        TOKEN => token(nth),
        _ => json(200, &row),
    })
    .await;
    let reply = write_7(&zoho(&fake.url)).await;
    assert!(matches!(
        reply,
        WriteReply::NotApplied(StoreError::Malformed { .. })
    ));
    assert!(guards(&fake).is_empty());
}

#[tokio::test]
async fn the_record_keeps_every_value_also_where_the_guard_is_ignored() {
    let crm = Simulated::start(Switches {
        guard: Guard::Ignored,
        ..Switches::default()
    })
    .await;
    let ids = crm.seed(&[("confirmed", None)]);
    crm.edit(
        &ids[0],
        &value!({"Source_Record": "9", "Progress_JSON": "mine"}),
    );
    let before = crm.crm.record(MODULE, ids[0].as_str()).unwrap().fields;
    let read = crm.zoho.read(&ids[0]).await.unwrap().record;
    let reply = write(&crm.zoho, &ids[0], &read.revision).await;
    assert!(is_refusal(&reply), "{reply:?}");
    let after = crm.crm.record(MODULE, ids[0].as_str()).unwrap().fields;
    let without_version = |mut fields: serde_json::Map<String, Value>| {
        fields.remove("Modified_Time");
        fields.remove("Modified_By");
        fields
    };
    assert_eq!(without_version(after), without_version(before));
}
