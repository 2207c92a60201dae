use reqwest::Method;
use sendtrail_simulator::crm::{Seed, SeedFile, SeedRecord, Switches};
use serde_json::{Value, json};

use crate::support::{Answer, Bed, MODULE, client};

#[tokio::test]
async fn a_seeded_source_record_can_be_read_as_the_real_one_would() {
    let bed = Bed::new().await;
    let pdf = b"%PDF-1.7\n\x80\xff";
    let base64 = SeedFile::new("contract.pdf", pdf).base64;
    let file = json!({"name": "contract.pdf", "base64": base64});
    let seed = json!({"records": [{
        "module": "Deals", "fields": {"Deal_Name": "Roof"}, "attachments": [file], "files": {"Contract_PDF": [file]},
    }]});
    let seeded = bed.sim(Method::POST, "seed", seed).await;
    let deal = &seeded.body["records"][0];
    let id = deal["id"].as_str().unwrap();
    assert_eq!(
        bed.get(&format!("/crm/v8/Deals/{id}")).await.body["data"][0]["Deal_Name"],
        "Roof"
    );
    let attachment = deal["attachments"][0].as_str().unwrap();
    let field = deal["files"]["Contract_PDF"][0]["id"].as_str().unwrap();
    for path in [
        format!("/crm/v8/Deals/{id}/Attachments/{attachment}"),
        format!(
            "/crm/v8/Deals/{id}/actions/download_fields_attachment?fields_attachment_id={field}"
        ),
    ] {
        let response = bed.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(response.bytes().await.unwrap().as_ref(), pdf, "{path}");
    }
    let gone = bed
        .sim(
            Method::DELETE,
            &format!("records/Deals/{id}/attachments/{attachment}"),
            Value::Null,
        )
        .await;
    assert_eq!(gone.status, 204);
    assert_eq!(
        bed.get(&format!("/crm/v8/Deals/{id}/Attachments/{attachment}"))
            .await
            .status,
        204
    );
}

#[tokio::test]
async fn a_seed_that_cannot_be_used_creates_nothing_and_says_why() {
    let bed = Bed::new().await;
    let bad_module = SeedRecord {
        module: "Nothings".into(),
        ..SeedRecord::default()
    };
    assert!(
        bed.crm
            .seed(&Seed {
                records: vec![bad_module]
            })
            .is_err()
    );
    let seed =
        json!({"records": [{"module": "Deals", "attachments": [{"name": "a", "base64": "%%"}]}]});
    let refused = bed.sim(Method::POST, "seed", seed).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body["error"].as_str().unwrap().contains("base64"));
    assert!(bed.crm.records("Deals").unwrap().is_empty());
}

#[tokio::test]
async fn an_edit_by_hand_takes_any_text_without_a_guard() {
    let bed = Bed::new().await;
    let (id, version) = bed
        .created(json!({"Delivery_State": "saved", "External_Id": "kept"}))
        .await;
    bed.advance(2);
    let fields = json!({"Delivery_State": "???", "Progress_JSON": "p".repeat(40_000), "Next_Check_At": "tomorrow"});
    let edited = bed
        .sim(
            Method::POST,
            &format!("records/{MODULE}/{id}"),
            json!({"fields": fields}),
        )
        .await;
    assert_eq!(edited.status, 200);
    let raw = bed
        .sim(Method::GET, &format!("records/{MODULE}/{id}"), Value::Null)
        .await
        .body;
    assert_eq!(
        (
            &raw["fields"]["Delivery_State"],
            &raw["fields"]["External_Id"]
        ),
        (&json!("???"), &json!("kept"))
    );
    assert_eq!(
        raw["fields"]["Progress_JSON"].as_str().unwrap().len(),
        40_000
    );
    assert_ne!(raw["modified_time"], json!(version));
    assert_ne!(raw["modified_by"], "Integration User");
    assert_eq!(
        bed.update(&id, Some(&version), json!({"External_Id": "x"}))
            .await
            .status,
        412
    );
}

#[tokio::test]
async fn a_clone_has_everything_but_the_unique_fields() {
    let bed = Bed::new().await;
    let fields =
        json!({"Delivery_State": "confirmed", "Request_Key": "k", "Document_SHA256": "ab"});
    let (id, _) = bed.created(fields).await;
    let clone = bed
        .sim(
            Method::POST,
            &format!("records/{MODULE}/{id}/clone"),
            Value::Null,
        )
        .await;
    let copied = bed
        .crm
        .record(MODULE, clone.body["id"].as_str().unwrap())
        .unwrap()
        .fields;
    assert_eq!(
        (&copied["Delivery_State"], &copied["Document_SHA256"]),
        (&json!("confirmed"), &json!("ab"))
    );
    assert_eq!(copied["Request_Key"], Value::Null);
}

#[tokio::test]
async fn a_deleted_record_is_gone_for_the_api_and_kept_for_the_tests() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({})).await;
    let path = format!("records/{MODULE}/{id}");
    let deleted = bed.sim(Method::POST, &path, json!({"delete": true})).await;
    assert_eq!(deleted.body["deleted"], true);
    assert_eq!(bed.read(&id).await.status, 204);
    assert_eq!(
        bed.sim(Method::DELETE, &path, Value::Null).await.status,
        404
    );
    let list = bed
        .sim(Method::GET, &format!("records/{MODULE}"), Value::Null)
        .await;
    assert_eq!(list.body["records"].as_array().unwrap().len(), 1);
    assert_eq!(
        bed.sim(Method::GET, "records/Nothings", Value::Null)
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn switches_change_one_by_one_and_a_mistake_changes_none() {
    let bed = Bed::new().await;
    let changed = bed
        .sim(
            Method::POST,
            "switches",
            json!({"guard": "racy", "list_lag_seconds": 5}),
        )
        .await;
    assert_eq!(
        (changed.status, &changed.body["guard"]),
        (200, &json!("racy"))
    );
    assert_eq!(bed.crm.switches().list_lag_seconds, 5);
    let before = bed.crm.switches();
    for bad in [
        json!({"guard": "atomic", "gaurd": 1}),
        json!({"list_lag_seconds": "x"}),
    ] {
        assert_eq!(bed.sim(Method::POST, "switches", bad).await.status, 400);
        assert_eq!(bed.crm.switches(), before);
    }
    assert_ne!(before, Switches::default());
}

#[tokio::test]
async fn the_log_has_paths_and_statuses_and_no_secret() {
    let bed = Bed::new().await;
    bed.created(json!({"External_Id": "confidential"})).await;
    Answer::of(
        bed.http
            .post(bed.url("/oauth/v2/token?client_secret=confidential")),
    )
    .await
    .unwrap();
    let log = bed.sim(Method::GET, "log", Value::Null).await;
    assert!(
        !log.text.contains("confidential")
            && !log.text.contains(&bed.token)
            && !log.text.contains("secret")
    );
    let lines = log.body["log"].as_array().unwrap();
    assert_eq!(lines.len(), 3, "control calls are not logged");
    let post = lines
        .iter()
        .find(|line| line["path"] == format!("/crm/v8/{MODULE}"))
        .unwrap();
    assert_eq!(
        (&post["method"], &post["status"], &post["credits"]),
        (&json!("POST"), &json!(201), &json!(1))
    );
    let after = post["n"].as_i64().unwrap();
    let rest = bed
        .sim(Method::GET, &format!("log?after={after}"), Value::Null)
        .await;
    assert_eq!(rest.body["log"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_foreign_web_page_cannot_use_the_control_api_or_the_page() {
    let bed = Bed::new().await;
    for path in ["/_sim/switches", "/"] {
        for (name, value) in [
            ("origin", "http://evil.example"),
            ("origin", "null"),
            ("host", "evil.example"),
        ] {
            let request = client().get(bed.url(path)).header(name, value);
            assert_eq!(
                Answer::of(request).await.unwrap().status,
                403,
                "{path} {name} {value}"
            );
        }
        let own = client().get(bed.url(path)).header("origin", bed.crm.url());
        assert_eq!(Answer::of(own).await.unwrap().status, 200);
    }
    let plain = client()
        .post(bed.url("/_sim/switches"))
        .header("content-type", "text/plain")
        .body("{}");
    assert_eq!(Answer::of(plain).await.unwrap().status, 415);
}

#[tokio::test]
async fn all_tokens_can_be_ended_at_once() {
    let bed = Bed::new().await;
    bed.crm.end_all_tokens().unwrap();
    assert_eq!(bed.read("1").await.status, 401);
}
