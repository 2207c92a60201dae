use super::*;
use crate::file::tests::{SAMPLE, STEPS, load_text};
use sendtrail_core::ports::Failure;
use serde_json::json;

fn found(text: &str, body: &Value, sought: &Sought<'_>) -> FindAnswer {
    load_text(text).unwrap().find.unwrap().answer(body, sought)
}

fn matches(items: &Value) -> FindAnswer {
    let reference = Reference::parse("st_1").unwrap();
    let sought = Sought {
        reference: &reference,
        draft_id: None,
        status: 200,
    };
    found(SAMPLE, &json!({"data": items}), &sought)
}

fn item(id: &str, reference: &str) -> Value {
    json!({"id": id, "metadata": {"send_id": reference}})
}

#[test]
fn one_match_is_found_none_is_none_and_several_are_named() {
    assert_eq!(matches(&json!([])), FindAnswer::None);
    let one = FindAnswer::One(ExternalId::parse("a").unwrap());
    assert_eq!(matches(&json!([item("a", "st_1")])), one);
    assert_eq!(matches(&json!([item("a", "st_1"), item("a", "st_1")])), one);
    let both = json!([item("a", "st_1"), item("b", "st_1")]);
    assert_eq!(
        matches(&both),
        FindAnswer::Several(vec!["a".into(), "b".into()])
    );
}

#[test]
fn an_item_with_another_reference_is_not_ours() {
    let others = json!([item("a", "st_2"), {"id": "b"}, item("c", "st_10")]);
    assert_eq!(matches(&others), FindAnswer::None);
    let mixed = json!([item("a", "st_2"), item("b", "st_1")]);
    assert_eq!(
        matches(&mixed),
        FindAnswer::One(ExternalId::parse("b").unwrap())
    );
}

#[test]
fn a_list_that_cannot_be_read_is_no_proof_of_absence() {
    for items in [
        json!(null),
        json!({}),
        json!([{"metadata": {"send_id": "st_1"}}]),
        json!([item("a b", "st_1")]),
    ] {
        assert!(
            matches!(matches(&items), FindAnswer::Failed(Failure::Transient(_))),
            "{items}"
        );
    }
}

#[test]
fn a_reference_in_base64_is_compared_as_such() {
    let list = "reference = \"/metadata/send_id\"";
    let text = SAMPLE.replace(list, &format!("{list}\nreference_in = \"base64\""));
    let reference = Reference::parse("st_1").unwrap();
    let sought = Sought {
        reference: &reference,
        draft_id: None,
        status: 200,
    };
    let list = json!({"data": [item("a", "st_1"), item("b", "c3RfMQ==")]});
    let one = FindAnswer::One(ExternalId::parse("b").unwrap());
    assert_eq!(found(&text, &list, &sought), one);
}

#[test]
fn a_draft_is_found_only_where_it_reads_as_committed() {
    let reference = Reference::parse("st_1").unwrap();
    let sought = Sought {
        reference: &reference,
        draft_id: Some("d1"),
        status: 200,
    };
    let read = |body: Value| found(STEPS, &body, &sought);
    let one = FindAnswer::One(ExternalId::parse("d1").unwrap());
    assert_eq!(read(json!({"status": 1})), one);
    for still in [
        json!({"status": 0}),
        json!({"status": "1"}),
        json!({"status": 9}),
        json!({}),
        json!([]),
    ] {
        assert_eq!(read(still.clone()), FindAnswer::None, "{still}");
    }
    let elsewhere = STEPS.replace("grace = \"5m\"", "grace = \"5m\"\nid = \"/sent_as\"");
    let read = |body: Value| found(&elsewhere, &body, &sought);
    let other = FindAnswer::One(ExternalId::parse("m7").unwrap());
    assert_eq!(read(json!({"status": 1, "sent_as": "m7"})), other);
    assert!(matches!(
        read(json!({"status": 1})),
        FindAnswer::Failed(Failure::Transient(_))
    ));
}
