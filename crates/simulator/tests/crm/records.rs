use reqwest::Method;
use sendtrail_simulator::crm::{DuplicateDetails, MissingRecord, Unique};
use serde_json::{Value, json};

use crate::support::{Answer, Bed, MODULE, kinds};

#[tokio::test]
async fn a_created_record_reads_back_with_string_ids_and_the_users_offset() {
    let bed = Bed::new().await;
    let (id, version) = bed
        .created(json!({"Delivery_State": "saved", "Request_Key": "msg_1"}))
        .await;
    assert!(
        (18..=19).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()),
        "{id}"
    );
    assert!(
        version.ends_with("+05:30") && version.len() == 25,
        "{version}"
    );
    let answer = bed.read(&id).await;
    assert_eq!(answer.status, 200);
    let record = &answer.body["data"][0];
    assert_eq!(
        (&record["id"], &record["Modified_Time"]),
        (&json!(id), &json!(version))
    );
    assert_eq!(record["Delivery_State"], "saved");
    assert_eq!(record["Deadline"], Value::Null);
    assert_eq!(record["Name"], "SEND1");
    assert_eq!(answer.body["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn ids_that_follow_each_other_are_one_float() {
    let bed = Bed::new().await;
    let (first, _) = bed.created(json!({})).await;
    let (second, _) = bed.created(json!({})).await;
    assert_ne!(first, second);
    assert_eq!(
        first.parse::<f64>().unwrap().to_bits(),
        second.parse::<f64>().unwrap().to_bits()
    );
}

#[tokio::test]
async fn a_read_gives_only_the_fields_it_names_and_the_id() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({"Delivery_State": "saved"})).await;
    let answer = bed
        .get(&format!(
            "/crm/v8/{MODULE}/{id}?fields=Delivery_State,Nonsense"
        ))
        .await;
    assert_eq!(
        answer.body,
        json!({"data": [{"Delivery_State": "saved", "id": id}]})
    );
    let many = vec!["a"; 51].join(",");
    assert_eq!(
        bed.get(&format!("/crm/v8/{MODULE}/{id}?fields={many}"))
            .await
            .code(),
        "LIMIT_EXCEEDED"
    );
}

#[tokio::test]
async fn a_missing_or_deleted_record_follows_its_switch() {
    let bed = Bed::new().await;
    let (id, version) = bed.created(json!({})).await;
    bed.crm.delete(MODULE, &id).unwrap();
    for missing in [id.as_str(), "1"] {
        let answer = bed.read(missing).await;
        assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    }
    assert_eq!(bed.read("not-an-id").await.status, 400);
    assert_eq!(bed.read("12345678901234567890").await.status, 400);
    let update = bed
        .update(&id, Some(&version), json!({"External_Id": "x"}))
        .await;
    assert_eq!((update.status, update.code()), (400, "INVALID_DATA"));
    let mut switches = bed.crm.switches();
    switches.missing_record = MissingRecord::InvalidData;
    bed.crm.set_switches(switches);
    let answer = bed.read(&id).await;
    assert_eq!((answer.status, answer.code()), (400, "INVALID_DATA"));
}

#[tokio::test]
async fn a_taken_key_is_refused_whatever_its_case() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({"Request_Key": "msg_A"})).await;
    let refused = bed.create(json!({"Request_Key": "MSG_a"})).await;
    assert_eq!((refused.status, refused.code()), (400, "DUPLICATE_DATA"));
    assert_eq!(refused.details()["duplicate_record"]["id"], id);
    assert_eq!(refused.details()["api_name"], "Request_Key");
    let mut switches = bed.crm.switches();
    switches.duplicate_details = DuplicateDetails::Id;
    bed.crm.set_switches(switches);
    assert_eq!(
        bed.create(json!({"Request_Key": "msg_a"})).await.details()["id"],
        id
    );
    assert_eq!(bed.crm.records(MODULE).unwrap().len(), 1);
    bed.created(json!({})).await;
    bed.created(json!({})).await;
}

#[tokio::test]
async fn the_key_of_a_deleted_record_is_free_again() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({"Request_Key": "msg_A"})).await;
    bed.crm.delete(MODULE, &id).unwrap();
    bed.created(json!({"Request_Key": "msg_A"})).await;
}

#[tokio::test]
async fn with_a_racy_unique_check_two_at_once_may_both_pass() {
    for (unique, made) in [(Unique::Atomic, 1), (Unique::Racy, 2)] {
        let bed = Bed::switched(|switches| {
            switches.unique = unique;
            switches.guard_race_ms = 500;
        })
        .await;
        let key = || bed.create(json!({"Request_Key": "msg_A"}));
        let (first, second) = tokio::join!(key(), key());
        let created = [&first, &second]
            .iter()
            .filter(|answer| answer.status == 201)
            .count();
        assert_eq!(
            (created, bed.crm.records(MODULE).unwrap().len()),
            (made, made)
        );
    }
}

#[tokio::test]
async fn a_mixed_insert_is_207_and_keeps_the_order() {
    let bed = Bed::new().await;
    let data = json!([{"Request_Key": "a"}, {"Request_Key": "a"}, {"Request_Key": "b"}]);
    let answer = bed
        .send(
            Method::POST,
            &format!("/crm/v8/{MODULE}"),
            &json!({"data": data}),
        )
        .await;
    let codes: Vec<&str> = answer.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["code"].as_str().unwrap())
        .collect();
    assert_eq!(
        (answer.status, codes),
        (207, vec!["SUCCESS", "DUPLICATE_DATA", "SUCCESS"])
    );
}

#[tokio::test]
async fn a_module_with_a_text_name_asks_for_it() {
    let bed = Bed::with(kinds()).await;
    let create = |fields: Value| {
        let bed = &bed;
        async move {
            bed.send(Method::POST, "/crm/v8/Kinds", &json!({"data": [fields]}))
                .await
        }
    };
    assert_eq!(create(json!({})).await.code(), "MANDATORY_NOT_FOUND");
    assert_eq!(create(json!({"Name": "x"})).await.status, 201);
}

#[tokio::test]
async fn wrong_urls_methods_modules_and_bodies_have_their_own_answers() {
    let bed = Bed::new().await;
    let nowhere = bed.get("/crm/v8/a/b/c/d/e").await;
    assert_eq!(
        (nowhere.status, nowhere.code()),
        (404, "INVALID_URL_PATTERN")
    );
    let method = Answer::of(bed.request(Method::PATCH, "/crm/v8/Deals/1"))
        .await
        .unwrap();
    assert_eq!(
        (method.status, method.code()),
        (400, "INVALID_REQUEST_METHOD")
    );
    let module = bed.get("/crm/v8/Nothings/1").await;
    assert_eq!((module.status, module.code()), (400, "INVALID_MODULE"));
    for (body, code) in [
        ("{", "INVALID_DATA"),
        ("{}", "MANDATORY_NOT_FOUND"),
        (r#"{"data":[]}"#, "MANDATORY_NOT_FOUND"),
        (r#"{"data":{}}"#, "INVALID_DATA"),
        (r#"{"data":[1]}"#, "INVALID_DATA"),
        (r#"{"data":[{}],"trigger":"none"}"#, "INVALID_DATA"),
    ] {
        let request = bed.request(Method::POST, "/crm/v8/Deals").body(body);
        let answer = Answer::of(request).await.unwrap();
        assert_eq!((answer.status, answer.code()), (400, code), "{body}");
    }
    let many = vec![json!({}); 101];
    assert_eq!(
        bed.send(Method::POST, "/crm/v8/Deals", &json!({"data": many}))
            .await
            .code(),
        "LIMIT_EXCEEDED"
    );
    assert!(bed.crm.records("Deals").unwrap().is_empty());
}

#[tokio::test]
async fn every_answer_has_the_crms_date_in_whole_seconds() {
    let bed = Bed::new().await;
    bed.crm.clock().freeze();
    let (id, version) = bed.created(json!({})).await;
    bed.advance(90);
    let answer = bed.read(&id).await;
    let date = httpdate::parse_http_date(answer.header("date").unwrap()).unwrap();
    let date = date
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let version = version.parse::<jiff::Timestamp>().unwrap().as_second();
    assert_eq!(i64::try_from(date).unwrap(), version + 90);
    let refused = bed.sim(Method::GET, "clock", Value::Null).await;
    assert!(refused.header("date").is_some());
}

#[tokio::test]
async fn a_read_of_what_has_not_changed_may_be_304() {
    let bed = Bed::new().await;
    let (id, version) = bed.created(json!({})).await;
    let read = |since: &str| {
        let path = format!("/crm/v8/{MODULE}/{id}");
        Answer::of(
            bed.request(Method::GET, &path)
                .header("If-Modified-Since", since),
        )
    };
    assert_eq!(read(&version).await.unwrap().status, 304);
    assert_eq!(read("2001-01-01T00:00:00+00:00").await.unwrap().status, 200);
}
