//! The switches that no other file here is about.

use reqwest::Method;
use sendtrail_simulator::crm::{
    CoqlCount, CoqlIdRange, DateHeader, EmptyValue, GuardEqual, IdForm, TextStorage, TimeForm,
    Unique,
};
use serde_json::{Value, json};

use crate::support::{Bed, MODULE};

#[tokio::test]
async fn a_guard_of_the_records_own_second_can_conflict() {
    let bed = Bed::switched(|s| s.guard_equal = GuardEqual::Conflicts).await;
    let (id, version) = bed.created(json!({})).await;
    let own = bed
        .update(&id, Some(&version), json!({"External_Id": "x"}))
        .await;
    assert_eq!((own.status, own.code()), (412, "ALREADY_MODIFIED"));
    let unguarded = bed.update(&id, None, json!({"External_Id": "x"})).await;
    assert_eq!(unguarded.status, 200);
}

#[tokio::test]
async fn text_can_be_changed_on_its_way_in() {
    for (how, stored) in [
        (TextStorage::Verbatim, "a<b>&\u{1F408}"),
        (TextStorage::NoFourByte, "a<b>&?"),
        (TextStorage::HtmlEscaped, "a&lt;b&gt;&amp;\u{1F408}"),
    ] {
        let bed = Bed::switched(|s| s.text_storage = how).await;
        let (id, _) = bed.created(json!({"Input_JSON": "a<b>&\u{1F408}"})).await;
        let read = bed.read(&id).await.body;
        assert_eq!(read["data"][0]["Input_JSON"], stored, "{how:?}");
    }
}

#[tokio::test]
async fn an_empty_field_can_read_back_as_empty_text() {
    let bed = Bed::switched(|s| s.empty_value = EmptyValue::EmptyText).await;
    let (id, _) = bed.created(json!({})).await;
    let row = bed.read(&id).await.body["data"][0].clone();
    assert_eq!(row["External_Id"], "");
    assert_eq!(row["Deadline"], "");
    assert_eq!(row["Document"], json!([]));
}

#[tokio::test]
async fn ids_can_be_numbers_in_every_answer() {
    let bed = Bed::switched(|s| s.id_form = IdForm::Number).await;
    let made = bed.create(json!({"External_Id": "x"})).await;
    let id = made.details()["id"].as_i64().unwrap();
    assert_eq!(bed.read(&id.to_string()).await.body["data"][0]["id"], id);
    let text = format!("select External_Id from {MODULE} where External_Id = 'x'");
    assert_eq!(bed.coql(&text).await.body["data"][0]["id"], id);
}

#[tokio::test]
async fn times_can_be_written_in_utc_and_are_read_so_too() {
    let bed = Bed::switched(|s| s.time_form = TimeForm::Utc).await;
    let (id, version) = bed.created(json!({})).await;
    assert!(version.ends_with('Z'), "{version}");
    bed.crm.clock().advance(std::time::Duration::from_secs(2));
    let first = bed
        .update(&id, Some(&version), json!({"External_Id": "x"}))
        .await;
    assert_eq!(first.status, 200);
    let stale = bed
        .update(&id, Some(&version), json!({"External_Id": "y"}))
        .await;
    assert_eq!(stale.status, 412);
}

#[tokio::test]
async fn one_version_can_have_two_texts() {
    let bed = Bed::switched(|s| s.time_form = TimeForm::Flipping).await;
    let (id, _) = bed.created(json!({})).await;
    let version = async || {
        let row = bed.read(&id).await.body["data"][0].clone();
        row["Modified_Time"].as_str().unwrap().to_owned()
    };
    let (one, two) = (version().await, version().await);
    assert_ne!(one, two);
    let instant = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    assert_eq!(instant(&one), instant(&two));
}

#[tokio::test]
async fn the_date_can_be_missing_or_ahead() {
    let bed = Bed::switched(|s| s.date_header = DateHeader::Absent).await;
    let (id, _) = bed.created(json!({})).await;
    assert_eq!(bed.read(&id).await.header("date"), Some(""));
    let bed = Bed::switched(|s| s.date_ahead_seconds = 1_000).await;
    let (id, _) = bed.created(json!({})).await;
    let answer = bed.read(&id).await;
    let date = httpdate::parse_http_date(answer.header("date").unwrap()).unwrap();
    let date = jiff::Timestamp::try_from(date).unwrap();
    let ahead = date.as_second() - bed.crm.clock().now_s();
    assert!((998..=1_000).contains(&ahead), "{ahead}");
}

#[tokio::test]
async fn a_field_can_fail_to_be_unique() {
    let bed = Bed::switched(|s| s.unique = Unique::Ignored).await;
    bed.created(json!({"Request_Key": "k"})).await;
    bed.created(json!({"Request_Key": "k"})).await;
    assert_eq!(bed.crm.records(MODULE).unwrap().len(), 2);
}

#[tokio::test]
async fn a_download_and_a_recalculation_can_give_a_new_version() {
    let bed = Bed::switched(|s| {
        s.recalculation_bump = true;
        s.workflow_delay_ms = 10;
    })
    .await;
    let (id, _) = bed.created(json!({})).await;
    let by = || bed.crm.record(MODULE, &id).unwrap().modified_by;
    for _ in 0..200 {
        if by() == "Workflow" {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("no recalculation, although trigger was empty");
}

#[tokio::test]
async fn counts_and_id_ranges_can_be_refused() {
    let count = format!("select COUNT(id) from {MODULE} where id is not null");
    let range = format!("select External_Id from {MODULE} where id > '1'");
    let bed = Bed::switched(|s| s.coql_count = CoqlCount::LowerCase).await;
    bed.created(json!({})).await;
    assert_eq!(bed.coql(&count).await.body["data"][0]["count(id)"], 1);
    assert_eq!(bed.coql(&range).await.status, 200);
    let bed = Bed::switched(|s| {
        s.coql_count = CoqlCount::Refused;
        s.coql_id_range = CoqlIdRange::Refused;
    })
    .await;
    bed.created(json!({})).await;
    for text in [count, range] {
        let refused = bed.coql(&text).await;
        assert_eq!((refused.status, refused.code()), (400, "INVALID_QUERY"));
    }
}

#[tokio::test]
async fn a_deleted_record_is_gone_and_stays_in_the_bin() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({"Request_Key": "k"})).await;
    let path = format!("/crm/v8/{MODULE}/{id}");
    let delete = async || bed.send(Method::DELETE, &path, &Value::Null).await;
    let done = delete().await;
    assert_eq!((done.status, done.code()), (200, "SUCCESS"));
    assert_eq!(bed.read(&id).await.status, 204);
    assert!(bed.crm.record(MODULE, &id).unwrap().deleted);
    assert_eq!(delete().await.status, 400);
    assert_eq!(
        Value::Null,
        bed.crm.record(MODULE, &id).unwrap().fields["External_Id"]
    );
}
