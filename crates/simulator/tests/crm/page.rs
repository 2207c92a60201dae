use reqwest::Method;
use sendtrail_simulator::crm::{Seed, SeedRecord};
use serde_json::{Value, json};

use crate::support::{Answer, Bed, MODULE};

const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

async fn get(bed: &Bed, path: &str) -> Answer {
    Answer::of(bed.http.get(bed.url(path))).await.unwrap()
}

async fn post(bed: &Bed, path: &str, form: String) -> Answer {
    let request = bed
        .http
        .post(bed.url(path))
        .header("content-type", "application/x-www-form-urlencoded");
    Answer::of(request.header("origin", bed.crm.url()).body(form))
        .await
        .unwrap()
}

#[tokio::test]
async fn the_list_is_newest_first_and_shows_the_progress() {
    let bed = Bed::new().await;
    let progress = json!({"v": 1, "attempts": 3, "last_error": {"kind": "rate_limited", "status": 429, "detail": "wait"}});
    bed.created(json!({"Delivery_State": "accepted", "Progress_JSON": progress.to_string(), "Source_Module": "Deals",
        "Source_Record": "77"}))
        .await;
    let (second, _) = bed.created(json!({"Delivery_State": "saved"})).await;
    let list = get(&bed, "/page/histories.json").await.body;
    assert_eq!(list["rows"][0]["id"], second);
    let first = &list["rows"][1];
    assert_eq!(
        (&first["state"], &first["tone"], &first["attempts"]),
        (&json!("accepted"), &json!("accepted"), &json!("3"))
    );
    assert_eq!(
        (&first["last_error"], &first["source"]),
        (&json!("rate_limited 429 wait"), &json!("Deals 77"))
    );
    assert_eq!(list["summary"], "1 saved · 1 accepted");
    let page = get(&bed, "/").await;
    assert_eq!(page.status, 200);
    let (newer, older) = (
        page.text.find(&second).unwrap(),
        page.text.find("rate_limited 429 wait").unwrap(),
    );
    assert!(newer < older);
}

#[tokio::test]
async fn hostile_text_is_shown_as_text() {
    let bed = Bed::new().await;
    let trail = json!([{"at": HOSTILE, "event": HOSTILE, "to": HOSTILE, "note": HOSTILE}]);
    let progress =
        json!({"attempts": HOSTILE, "last_error": {"detail": HOSTILE}, "trail": trail}).to_string();
    let fields = json!({"Delivery_State": HOSTILE, "Progress_JSON": progress, "Input_JSON": HOSTILE,
        "Source_Module": HOSTILE, "Request_Key": HOSTILE, "External_Id": HOSTILE});
    let (id, _) = bed.created(fields).await;
    for path in ["/".to_owned(), format!("/history/{id}")] {
        let page = get(&bed, &path).await;
        assert_eq!(page.status, 200);
        assert!(
            !page.text.contains("<script>alert") && !page.text.contains("<img"),
            "{path}"
        );
        assert!(
            page.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_progress_that_is_no_json_is_shown_and_named() {
    let bed = Bed::new().await;
    for text in ["not json {", "[1,2]", "7"] {
        let (id, _) = bed.created(json!({"Progress_JSON": text})).await;
        let detail = get(&bed, &format!("/page/history/{id}")).await.body;
        assert_eq!(detail["progress_raw"], text);
        assert_ne!(detail["progress_note"], "", "{text}");
    }
    let (id, _) = bed.created(json!({})).await;
    assert_eq!(
        get(&bed, &format!("/page/history/{id}")).await.body["progress_note"],
        ""
    );
}

#[tokio::test]
async fn nothing_inline_runs_and_nothing_is_framed_or_cached() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({})).await;
    for path in [
        "/".to_owned(),
        format!("/history/{id}"),
        "/page/page.js".into(),
        "/history/1".into(),
    ] {
        let page = get(&bed, &path).await;
        let policy = page.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("unsafe"),
            "{path}"
        );
        assert!(policy.contains("frame-ancestors 'none'"));
        assert_eq!(
            (
                page.header("x-content-type-options"),
                page.header("cache-control")
            ),
            (Some("nosniff"), Some("no-store"))
        );
        let markup = !path.starts_with("/page/");
        assert!(
            !markup || (!page.text.contains(" style=") && !page.text.contains(" onclick=")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_state_and_the_progress_can_be_edited_by_hand() {
    let bed = Bed::new().await;
    let (id, version) = bed.created(json!({"Delivery_State": "needs_review"})).await;
    bed.advance(2);
    let path = format!("/history/{id}/state");
    let state = |form: &str| post(&bed, &path, form.to_owned());
    let saved = state("state=confirmed&other=").await;
    assert_eq!(
        (saved.status, saved.header("location")),
        (303, Some(format!("/history/{id}").as_str()))
    );
    let fields = |bed: &Bed| bed.crm.record(MODULE, &id).unwrap().fields;
    assert_eq!(fields(&bed)["Delivery_State"], "confirmed");
    state("state=confirmed&other=my+own+word").await;
    assert_eq!(fields(&bed)["Delivery_State"], "my own word");
    post(
        &bed,
        &format!("/history/{id}/progress"),
        "progress=%7Bbroken".to_owned(),
    )
    .await;
    assert_eq!(fields(&bed)["Progress_JSON"], "{broken");
    assert_eq!(
        bed.update(&id, Some(&version), json!({"Delivery_State": "x"}))
            .await
            .status,
        412
    );
}

#[tokio::test]
async fn a_form_from_another_site_changes_nothing() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({"Delivery_State": "saved"})).await;
    let request = bed
        .http
        .post(bed.url(&format!("/history/{id}/state")))
        .header("origin", "http://evil.example");
    let kind = "application/x-www-form-urlencoded";
    let answer = Answer::of(request.header("content-type", kind).body("state=failed"))
        .await
        .unwrap();
    assert_eq!(answer.status, 403);
    assert_eq!(
        bed.crm.record(MODULE, &id).unwrap().fields["Delivery_State"],
        "saved"
    );
}

#[tokio::test]
async fn the_stored_document_opens_and_only_a_pdf_opens_in_place() {
    let bed = Bed::new().await;
    let open = async |name: &str, bytes: &[u8]| {
        let file = crate::files::upload(&bed, name, bytes).await;
        let (id, _) = bed
            .created(json!({"Document": [{"File_Id__s": file}]}))
            .await;
        assert_eq!(
            get(&bed, &format!("/page/history/{id}")).await.body["document"],
            name
        );
        get(&bed, &format!("/history/{id}/document")).await
    };
    let pdf = open("a.pdf", b"%PDF-1.7").await;
    assert_eq!(
        (pdf.header("content-type"), pdf.text.as_str()),
        (Some("application/pdf"), "%PDF-1.7")
    );
    assert!(
        pdf.header("content-disposition")
            .unwrap()
            .starts_with("inline")
    );
    let html = open("a.pdf", b"<script>alert(1)</script>").await;
    assert_eq!(
        html.header("content-type"),
        Some("application/octet-stream")
    );
    assert!(
        html.header("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
}

#[tokio::test]
async fn a_deleted_record_leaves_the_page() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({})).await;
    bed.sim(
        Method::DELETE,
        &format!("records/{MODULE}/{id}"),
        Value::Null,
    )
    .await;
    assert_eq!(
        get(&bed, "/page/histories.json").await.body["rows"],
        json!([])
    );
    for path in [
        format!("/history/{id}"),
        format!("/page/history/{id}"),
        format!("/history/{id}/document"),
    ] {
        assert_eq!(get(&bed, &path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_long_list_shows_the_newest_and_counts_the_rest() {
    let bed = Bed::new().await;
    let record = SeedRecord {
        module: MODULE.into(),
        ..SeedRecord::default()
    };
    let seeded = bed
        .crm
        .seed(&Seed {
            records: vec![record; 501],
        })
        .unwrap();
    let list = get(&bed, "/page/histories.json").await.body;
    assert_eq!(list["rows"].as_array().unwrap().len(), 500);
    assert_eq!(list["rows"][0]["id"], seeded.records[500].id);
    assert_eq!(list["summary"], "501 unknown · the newest 500 are shown");
}
