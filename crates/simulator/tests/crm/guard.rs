use reqwest::Method;
use sendtrail_simulator::crm::{ConflictBody, Guard, MalformedGuard};
use serde_json::{Value, json};

use crate::support::{Answer, Bed, MODULE};

fn state(bed: &Bed, id: &str) -> Value {
    bed.crm.record(MODULE, id).unwrap().fields["Delivery_State"].clone()
}

#[tokio::test]
async fn a_version_older_than_the_record_is_refused_and_nothing_is_written() {
    let bed = Bed::new().await;
    bed.crm.clock().freeze();
    let (id, first) = bed.created(json!({"Delivery_State": "saved"})).await;
    bed.advance(1);
    let update = bed
        .update(&id, Some(&first), json!({"Delivery_State": "confirmed"}))
        .await;
    assert_eq!((update.status, update.code()), (200, "SUCCESS"));
    let second = update.details()["Modified_Time"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_ne!(first, second);
    let stale = bed
        .update(&id, Some(&first), json!({"Delivery_State": "failed"}))
        .await;
    assert_eq!((stale.status, stale.code()), (412, "ALREADY_MODIFIED"));
    assert_eq!(stale.details()["Modified_Time"], second);
    assert_eq!(stale.details()["id"], id);
    assert_eq!(state(&bed, &id), "confirmed");
    assert_eq!(bed.crm.record(MODULE, &id).unwrap().writes, 2);
    let fresh = bed
        .update(&id, Some(&second), json!({"Delivery_State": "sending"}))
        .await;
    assert_eq!(fresh.status, 200);
}

#[tokio::test]
async fn a_second_write_in_the_second_of_the_version_passes_unseen() {
    let bed = Bed::new().await;
    bed.crm.clock().freeze();
    let (id, version) = bed.created(json!({"Delivery_State": "saved"})).await;
    for next in ["confirmed", "sending"] {
        let answer = bed
            .update(&id, Some(&version), json!({"Delivery_State": next}))
            .await;
        assert_eq!(answer.status, 200);
    }
    assert_eq!(state(&bed, &id), "sending");
}

#[tokio::test]
async fn versions_are_compared_as_instants() {
    let bed = Bed::new().await;
    bed.crm.clock().freeze();
    let (id, version) = bed.created(json!({})).await;
    bed.advance(5);
    let other = version
        .parse::<jiff::Timestamp>()
        .unwrap()
        .to_string()
        .replace('Z', "+00:00");
    assert_eq!(
        bed.update(&id, Some(&other), json!({"External_Id": "x"}))
            .await
            .status,
        200
    );
    assert_eq!(
        bed.update(&id, Some(&other), json!({"External_Id": "y"}))
            .await
            .status,
        412
    );
}

#[tokio::test]
async fn an_edit_by_a_person_makes_the_version_stale() {
    let bed = Bed::new().await;
    bed.crm.clock().freeze();
    let (id, version) = bed
        .created(json!({"Delivery_State": "saved", "External_Id": "kept"}))
        .await;
    bed.advance(1);
    let edit = json!({"Delivery_State": "typed by hand"})
        .as_object()
        .unwrap()
        .clone();
    bed.crm.edit(MODULE, &id, &edit).unwrap();
    assert_eq!(
        bed.update(&id, Some(&version), json!({"Delivery_State": "failed"}))
            .await
            .status,
        412
    );
    assert_eq!(state(&bed, &id), "typed by hand");
    assert_eq!(
        bed.crm.record(MODULE, &id).unwrap().fields["External_Id"],
        "kept"
    );
}

#[tokio::test]
async fn without_the_header_the_write_is_unguarded() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({})).await;
    bed.advance(5);
    bed.update(&id, None, json!({"Delivery_State": "a"})).await;
    bed.advance(5);
    assert_eq!(
        bed.update(&id, None, json!({"Delivery_State": "b"}))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_malformed_header_is_ignored_or_refused_by_switch() {
    for malformed in [
        "Mon, 15 Jan 2001 15:26:49 GMT",
        "2001-01-15T15:26:49.123+05:30",
        "2001-01-15T15:26:49Z",
        "x",
    ] {
        let bed = Bed::new().await;
        let (id, _) = bed.created(json!({})).await;
        assert_eq!(
            bed.update(&id, Some(malformed), json!({"Delivery_State": "b"}))
                .await
                .status,
            200,
            "{malformed}"
        );
        let mut switches = bed.crm.switches();
        switches.malformed_guard = MalformedGuard::Refused;
        bed.crm.set_switches(switches);
        assert_eq!(
            bed.update(&id, Some(malformed), json!({"Delivery_State": "c"}))
                .await
                .status,
            400,
            "{malformed}"
        );
        assert_eq!(state(&bed, &id), "b");
    }
}

#[tokio::test]
async fn an_ignored_guard_loses_updates_without_a_word() {
    let bed = Bed::switched(|switches| switches.guard = Guard::Ignored).await;
    let (id, _) = bed.created(json!({})).await;
    let past = Some("2001-01-15T15:26:49+05:30");
    assert_eq!(
        bed.update(&id, past, json!({"Delivery_State": "b"}))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn with_a_racy_guard_two_at_once_may_both_pass() {
    for (guard, passed) in [(Guard::Atomic, 1), (Guard::Racy, 2)] {
        let bed = Bed::switched(|switches| {
            switches.guard = guard;
            switches.guard_race_ms = 500;
        })
        .await;
        bed.crm.clock().freeze();
        let (id, version) = bed.created(json!({})).await;
        bed.advance(1);
        let write =
            |value: &'static str| bed.update(&id, Some(&version), json!({"Delivery_State": value}));
        let (first, second) = tokio::join!(write("a"), write("b"));
        let through = [&first, &second]
            .iter()
            .filter(|answer| answer.status == 200)
            .count();
        assert_eq!(through, passed, "{guard:?}");
        bed.advance(1);
        assert_eq!(write("c").await.status, 412);
    }
}

#[tokio::test]
async fn the_conflict_body_follows_its_switch() {
    for (form, status) in [(ConflictBody::Flat, 412), (ConflictBody::ItemIn200, 200)] {
        let bed = Bed::switched(|switches| switches.conflict_body = form).await;
        let (id, _) = bed.created(json!({})).await;
        let answer = bed
            .update(
                &id,
                Some("2001-01-15T15:26:49+05:30"),
                json!({"Delivery_State": "x"}),
            )
            .await;
        assert_eq!((answer.status, answer.code()), (status, "ALREADY_MODIFIED"));
        assert_eq!(
            answer.body.get("data").is_some(),
            form == ConflictBody::ItemIn200
        );
        assert_eq!(state(&bed, &id), Value::Null);
    }
}

#[tokio::test]
async fn a_workflow_edits_after_a_write_unless_the_trigger_is_empty() {
    let bed = Bed::switched(|switches| {
        switches.workflow_bump = true;
        switches.workflow_delay_ms = 0;
    })
    .await;
    let (id, _) = bed.created(json!({})).await;
    bed.update(&id, None, json!({"Delivery_State": "quiet"}))
        .await;
    assert_eq!(bed.crm.record(MODULE, &id).unwrap().writes, 2);
    let loud = json!({"data": [{"Delivery_State": "loud"}]});
    let path = format!("/crm/v8/{MODULE}/{id}");
    let answer = Answer::of(bed.request(Method::PUT, &path).body(loud.to_string()))
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
    let waited = async {
        while bed.crm.record(MODULE, &id).unwrap().writes < 4 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(5), waited)
        .await
        .unwrap();
    assert_eq!(bed.crm.record(MODULE, &id).unwrap().modified_by, "Workflow");
    assert_eq!(state(&bed, &id), "loud");
}
