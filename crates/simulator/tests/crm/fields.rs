use reqwest::Method;
use sendtrail_simulator::crm::{FileField, LengthUnit, Picklist, UnknownField};
use serde_json::{Value, json};

use crate::support::{Answer, Bed, MODULE, kinds};

async fn kinds_bed() -> Bed {
    Bed::with(kinds()).await
}

async fn create(bed: &Bed, mut fields: Value) -> Answer {
    fields["Name"] = "n".into();
    bed.send(Method::POST, "/crm/v8/Kinds", &json!({"data": [fields]}))
        .await
}

async fn stored(bed: &Bed, fields: Value) -> Value {
    let answer = create(bed, fields).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let id = answer.details()["id"].as_str().unwrap().to_owned();
    bed.get(&format!("/crm/v8/Kinds/{id}")).await.body["data"][0].clone()
}

#[tokio::test]
async fn every_kind_reads_back_in_the_crms_form() {
    let bed = kinds_bed().await;
    let record = stored(
        &bed,
        json!({
            "Short": "ten chars!", "Small": "s", "Large": "l", "Pick": "one", "When": "2026-01-01T00:00:00+00:00",
            "Count": 7, "Price": 1.5, "Flag": true,
        }),
    )
    .await;
    assert_eq!(record["When"], "2026-01-01T05:30:00+05:30");
    assert_eq!(
        (&record["Short"], &record["Count"]),
        (&json!("ten chars!"), &json!(7))
    );
    assert_eq!(
        (&record["Price"], &record["Flag"]),
        (&json!(1.5), &json!(true))
    );
}

#[tokio::test]
async fn null_and_the_empty_text_clear_a_field_and_absence_keeps_it() {
    let bed = Bed::new().await;
    let (id, _) = bed
        .created(json!({"External_Id": "a", "Source_Module": "b", "Source_Record": "c"}))
        .await;
    bed.update(&id, None, json!({"External_Id": null, "Source_Module": ""}))
        .await;
    let record = bed.crm.record(MODULE, &id).unwrap().fields;
    assert_eq!(
        (&record["External_Id"], &record["Source_Module"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(record["Source_Record"], "c");
}

#[tokio::test]
async fn text_over_its_length_is_refused_with_the_length() {
    let bed = kinds_bed().await;
    for (name, longest) in [
        ("Short", 10),
        ("Small", 2_000),
        ("Large", 32_000),
        ("Rich", 50_000),
    ] {
        assert_eq!(
            create(&bed, json!({name: "x".repeat(longest)}))
                .await
                .status,
            201,
            "{name}"
        );
        let refused = create(&bed, json!({name: "x".repeat(longest + 1)})).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "INVALID_DATA"),
            "{name}"
        );
        let details = json!({"maximum_length": longest, "api_name": name, "json_path": format!("$.data[0].{name}")});
        assert_eq!(*refused.details(), details);
    }
}

#[tokio::test]
async fn the_unit_of_a_length_follows_its_switch() {
    let five_emoji = json!({"Short": "\u{1f600}".repeat(5)});
    for (unit, status) in [
        (LengthUnit::Characters, 201),
        (LengthUnit::Utf16, 201),
        (LengthUnit::Bytes, 400),
    ] {
        let mut config = kinds();
        config.switches.length_unit = unit;
        let bed = Bed::with(config).await;
        assert_eq!(
            create(&bed, five_emoji.clone()).await.status,
            status,
            "{unit:?}"
        );
        let six = create(&bed, json!({"Short": "\u{1f600}".repeat(6)}))
            .await
            .status;
        assert_eq!(six == 201, unit == LengthUnit::Characters, "{unit:?}");
    }
}

#[tokio::test]
async fn a_date_time_has_whole_seconds_and_an_offset() {
    let bed = kinds_bed().await;
    for bad in [
        "2026-01-01T00:00:00.000+00:00",
        "2026-01-01T00:00:00Z",
        "2026-01-01 00:00:00",
        "soon",
    ] {
        let refused = create(&bed, json!({"When": bad})).await;
        assert_eq!(
            (
                refused.status,
                refused.details()["expected_data_type"].as_str()
            ),
            (400, Some("datetime")),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_refused() {
    let bed = kinds_bed().await;
    for (name, value) in [
        ("Short", json!(1)),
        ("Large", json!({"a": 1})),
        ("Pick", json!(["one"])),
        ("When", json!(1_700_000_000)),
        ("Count", json!("7")),
        ("Flag", json!("yes")),
        ("Files", json!("id")),
        ("Files", json!([{"file_id": "x"}])),
    ] {
        let refused = create(&bed, json!({name: value})).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "INVALID_DATA"),
            "{name} {value}"
        );
    }
}

#[tokio::test]
async fn a_picklist_takes_any_text_unless_it_is_strict() {
    let bed = kinds_bed().await;
    assert_eq!(stored(&bed, json!({"Pick": "thre"})).await["Pick"], "thre");
    let mut switches = bed.crm.switches();
    switches.picklist = Picklist::Strict;
    bed.crm.set_switches(switches);
    assert_eq!(create(&bed, json!({"Pick": "thre"})).await.status, 400);
    assert_eq!(create(&bed, json!({"Pick": "two"})).await.status, 201);
}

#[tokio::test]
async fn an_unknown_field_is_dropped_or_refused_by_switch() {
    let bed = kinds_bed().await;
    assert!(
        stored(&bed, json!({"Nonsense": 1}))
            .await
            .get("Nonsense")
            .is_none()
    );
    let mut switches = bed.crm.switches();
    switches.unknown_field = UnknownField::Refused;
    bed.crm.set_switches(switches);
    assert_eq!(create(&bed, json!({"Nonsense": 1})).await.status, 400);
}

#[tokio::test]
async fn system_fields_cannot_be_written() {
    let bed = kinds_bed().await;
    let old = "2001-01-01T00:00:00+00:00";
    let record = stored(
        &bed,
        json!({"Modified_Time": old, "Created_Time": old, "id": "5"}),
    )
    .await;
    assert_ne!(record["id"], "5");
    assert!(record["Modified_Time"].as_str().unwrap() > "2020");
}

#[tokio::test]
async fn rich_text_is_cut_on_a_read_and_large_text_is_not() {
    let bed = kinds_bed().await;
    let record = stored(
        &bed,
        json!({"Rich": "r".repeat(600), "Large": "l".repeat(600)}),
    )
    .await;
    assert_eq!(record["Rich"].as_str().unwrap().len(), 500);
    assert_eq!(record["Large"].as_str().unwrap().len(), 600);
}

#[tokio::test]
async fn a_file_field_replaces_or_appends_by_switch() {
    for (switch, left) in [
        (FileField::Replace, vec!["b.pdf"]),
        (FileField::Append, vec!["a.pdf", "b.pdf"]),
    ] {
        let mut config = kinds();
        config.switches.file_field = switch;
        let bed = Bed::with(config).await;
        let (a, b) = (
            crate::files::upload(&bed, "a.pdf", b"a").await,
            crate::files::upload(&bed, "b.pdf", b"b").await,
        );
        let made = create(&bed, json!({"Files": [{"File_Id__s": a}]})).await;
        let path = format!("/crm/v8/Kinds/{}", made.details()["id"].as_str().unwrap());
        let bind = json!({"data": [{"Files": [{"File_Id__s": b}]}], "trigger": []});
        assert_eq!(bed.send(Method::PUT, &path, &bind).await.status, 200);
        let files = bed.get(&path).await.body["data"][0]["Files"].clone();
        let names: Vec<&str> = files
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["File_Name__s"].as_str().unwrap())
            .collect();
        assert_eq!(names, left, "{switch:?}");
        let gone = json!({"data": [{"Files": [{"id": files[0]["id"], "_delete": null}]}]});
        assert_eq!(bed.send(Method::PUT, &path, &gone).await.status, 200);
        let files = bed.get(&path).await.body["data"][0]["Files"].clone();
        assert_eq!(
            files.as_array().map_or(0, Vec::len),
            left.len() - 1,
            "{switch:?}"
        );
    }
}

#[tokio::test]
async fn one_write_can_take_the_place_of_a_file_under_either_switch() {
    for switch in [FileField::Replace, FileField::Append] {
        let bed = Bed::switched(|switches| switches.file_field = switch).await;
        let (a, b) = (
            crate::files::upload(&bed, "a.pdf", b"a").await,
            crate::files::upload(&bed, "b.pdf", b"b").await,
        );
        let (id, _) = bed.created(json!({"Document": [{"File_Id__s": a}]})).await;
        let old = bed.crm.record(MODULE, &id).unwrap().fields["Document"][0]["id"].clone();
        let swap = json!({"Document": [{"id": old, "_delete": null}, {"File_Id__s": b}]});
        assert_eq!(bed.update(&id, None, swap).await.status, 200);
        let files = bed.crm.record(MODULE, &id).unwrap().fields["Document"].clone();
        assert_eq!(
            (files.as_array().unwrap().len(), &files[0]["File_Id__s"]),
            (1, &json!(b)),
            "{switch:?}"
        );
    }
}

#[tokio::test]
async fn a_file_field_holds_no_more_than_its_limit_and_no_unknown_file() {
    let bed = Bed::new().await;
    let (a, b) = (
        crate::files::upload(&bed, "a.pdf", b"a").await,
        crate::files::upload(&bed, "b.pdf", b"b").await,
    );
    let both = bed
        .create(json!({"Document": [{"File_Id__s": a}, {"File_Id__s": b}]}))
        .await;
    assert_eq!(
        (both.status, both.details()["maximum_length"].as_i64()),
        (400, Some(1))
    );
    let unknown = bed
        .create(json!({"Document": [{"File_Id__s": "nothing"}]}))
        .await;
    assert_eq!((unknown.status, unknown.code()), (400, "INVALID_DATA"));
    assert!(bed.crm.records(MODULE).unwrap().is_empty());
}
