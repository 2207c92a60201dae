use std::time::Duration;

use reqwest::Method;
use sendtrail_simulator::crm::{Fault, FaultKind, FaultMatch};
use serde_json::{Value, json};

use crate::support::{Answer, Bed, MODULE};

fn puts() -> FaultMatch {
    FaultMatch {
        method: Some("PUT".into()),
        module: Some(MODULE.into()),
        ..FaultMatch::default()
    }
}

fn state(bed: &Bed, id: &str) -> Value {
    bed.crm.record(MODULE, id).unwrap().fields["Delivery_State"].clone()
}

/// A bed with one record and one fault on updates.
async fn bed_with(fault: Fault) -> (Bed, String) {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({"Delivery_State": "old"})).await;
    bed.crm.add_fault(fault);
    (bed, id)
}

async fn write(bed: &Bed, id: &str) -> Result<Answer, reqwest::Error> {
    Answer::of(bed.update_request(id, None, &json!({"Delivery_State": "new"}))).await
}

#[tokio::test]
async fn a_lost_reply_has_taken_effect() {
    let (bed, id) = bed_with(Fault::new(FaultKind::LostReply, puts())).await;
    let error = write(&bed, &id).await.unwrap_err();
    assert!(!error.is_connect() && !error.is_timeout(), "{error:?}");
    assert_eq!(state(&bed, &id), "new");
    assert_eq!(bed.crm.record(MODULE, &id).unwrap().writes, 2);
    assert_eq!(write(&bed, &id).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_late_write_takes_effect_after_the_connection_is_gone() {
    let (bed, id) = bed_with(Fault {
        ms: 500,
        ..Fault::new(FaultKind::AppliedLate, puts())
    })
    .await;
    assert!(write(&bed, &id).await.is_err());
    assert_eq!(state(&bed, &id), "old");
    let applied = async {
        while state(&bed, &id) != "new" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), applied)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_refused_connection_has_no_effect() {
    let (bed, id) = bed_with(Fault::new(FaultKind::Refuse, puts())).await;
    assert!(write(&bed, &id).await.is_err());
    assert_eq!(state(&bed, &id), "old");
    let last = bed.crm.log(0).unwrap().pop().unwrap();
    assert_eq!(
        (last.status, last.fault.as_deref(), last.credits),
        (None, Some("refuse"), 0)
    );
}

#[tokio::test]
async fn a_status_is_an_html_page_without_effect() {
    let fault = Fault {
        status: Some(429),
        retry_after: Some("7".into()),
        ..Fault::new(FaultKind::Status, puts())
    };
    let (bed, id) = bed_with(fault).await;
    let answer = write(&bed, &id).await.unwrap();
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (429, Some("7"))
    );
    assert!(answer.text.starts_with("<html>"));
    assert_eq!(state(&bed, &id), "old");
    bed.crm.add_fault(Fault {
        apply: Some(true),
        ..Fault::new(FaultKind::Status, puts())
    });
    assert_eq!(write(&bed, &id).await.unwrap().status, 503);
    assert_eq!(state(&bed, &id), "new");
}

#[tokio::test]
async fn truncated_json_has_taken_effect_and_an_empty_200_has_not() {
    let (bed, id) = bed_with(Fault::new(FaultKind::Empty200, puts())).await;
    let empty = write(&bed, &id).await.unwrap();
    assert_eq!((empty.status, empty.text.as_str()), (200, ""));
    assert_eq!(state(&bed, &id), "old");
    bed.crm
        .add_fault(Fault::new(FaultKind::TruncatedJson, puts()));
    let cut = write(&bed, &id).await.unwrap();
    assert_eq!((cut.status, &cut.body), (200, &Value::Null));
    assert!(cut.text.starts_with("{\"data\":"));
    assert_eq!(state(&bed, &id), "new");
}

#[tokio::test]
async fn a_client_that_gives_up_does_not_stop_its_write() {
    let (bed, id) = bed_with(Fault {
        ms: 900,
        ..Fault::new(FaultKind::Delay, puts())
    })
    .await;
    let fields = json!({"Delivery_State": "new"});
    let request = bed
        .update_request(&id, None, &fields)
        .timeout(Duration::from_millis(300));
    assert!(Answer::of(request).await.unwrap_err().is_timeout());
    assert_eq!(state(&bed, &id), "old");
    let applied = async {
        while state(&bed, &id) != "new" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), applied)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_late_reply_is_late_and_its_effect_is_not() {
    let (bed, id) = bed_with(Fault {
        ms: 3000,
        ..Fault::new(FaultKind::LateReply, puts())
    })
    .await;
    let request = bed.update_request(&id, None, &json!({"Delivery_State": "new"}));
    let slow = tokio::spawn(Answer::of(request));
    let applied = async {
        while state(&bed, &id) != "new" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(2), applied)
        .await
        .unwrap();
    assert!(!slow.is_finished());
    slow.abort();
}

#[tokio::test]
async fn a_fault_meets_only_what_it_names() {
    let matching = FaultMatch {
        path: Some("/crm/v8/*/".to_owned() + "*"),
        body_contains: Some("\"claim\"".into()),
        ..puts()
    };
    let (bed, id) = bed_with(Fault::new(FaultKind::Refuse, matching)).await;
    assert_eq!(bed.read(&id).await.status, 200);
    assert_eq!(write(&bed, &id).await.unwrap().status, 200);
    let claim = bed.update_request(&id, None, &json!({"Delivery_State": "claim"}));
    assert!(Answer::of(claim).await.is_err());
}

#[tokio::test]
async fn the_token_endpoint_can_fail_too() {
    let bed = Bed::new().await;
    let fault = json!({"kind": "status", "status": 500, "match": {"path": "/oauth/*"}, "count": 0});
    assert_eq!(bed.sim(Method::POST, "faults", fault).await.body["id"], 1);
    assert_eq!(bed.fresh_token("intake").await.status, 500);
    assert_eq!(bed.fresh_token("intake").await.status, 500);
    let listed = bed.sim(Method::GET, "faults", Value::Null).await;
    assert_eq!(listed.body["faults"][0]["met"], 2);
    assert_eq!(
        bed.sim(Method::DELETE, "faults", Value::Null).await.status,
        204
    );
    assert_eq!(bed.fresh_token("intake").await.status, 200);
}
