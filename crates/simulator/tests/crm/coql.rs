use reqwest::Method;
use sendtrail_simulator::crm::{CoqlNulls, CoqlQuote, CoqlText};
use serde_json::{Value, json};

use crate::support::{Bed, MODULE};

/// Four records: two in flight with a next check, one in flight without, one final.
async fn filled(bed: &Bed) -> Vec<String> {
    let mut ids = Vec::new();
    for (state, next, key) in [
        ("accepted", json!("2026-01-01T10:00:00+00:00"), "k1"),
        ("sending", json!("2026-01-01T09:00:00+00:00"), "k2"),
        ("accepted", Value::Null, "k3"),
        ("succeeded", json!("2026-01-01T08:00:00+00:00"), "k4"),
    ] {
        let fields = json!({"Delivery_State": state, "Next_Check_At": next, "Request_Key": key});
        ids.push(bed.created(fields).await.0);
    }
    ids
}

async fn keys(bed: &Bed, rest: &str) -> Vec<String> {
    let answer = bed
        .coql(&format!("select Request_Key from {MODULE} {rest}"))
        .await;
    if answer.status == 204 {
        assert_eq!(answer.text, "");
        return Vec::new();
    }
    assert_eq!(answer.status, 200, "{rest}: {}", answer.text);
    let rows = answer.body["data"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["id"].is_string()));
    rows.iter()
        .map(|row| row["Request_Key"].as_str().unwrap_or("-").to_owned())
        .collect()
}

#[tokio::test]
async fn the_pollers_query_finds_what_is_due_in_order() {
    let bed = Bed::new().await;
    filled(&bed).await;
    let due = "where (Delivery_State in ('sending','accepted') and \
               (Next_Check_At is null or Next_Check_At <= '2026-01-01T15:00:00+05:30')) \
               order by Next_Check_At asc, id asc limit 200 offset 0";
    assert_eq!(keys(&bed, due).await, ["k3", "k2"]);
    let mut switches = bed.crm.switches();
    switches.coql_nulls = CoqlNulls::Last;
    bed.crm.set_switches(switches);
    assert_eq!(keys(&bed, due).await, ["k2", "k3"]);
}

#[tokio::test]
async fn every_operator_means_what_it_says() {
    let bed = Bed::new().await;
    let ids = filled(&bed).await;
    let nine = "'2026-01-01T09:00:00+00:00'";
    for (criterion, found) in [
        ("Delivery_State = 'accepted'".to_owned(), "k1 k3"),
        ("Delivery_State != 'accepted'".to_owned(), "k2 k4"),
        (
            "Delivery_State not in ('accepted','sending')".to_owned(),
            "k4",
        ),
        ("Request_Key like 'k%'".to_owned(), "k1 k2 k3 k4"),
        ("Request_Key like '%3'".to_owned(), "k3"),
        ("Request_Key not like '%3'".to_owned(), "k1 k2 k4"),
        ("Next_Check_At is null".to_owned(), "k3"),
        ("Next_Check_At is not null".to_owned(), "k1 k2 k4"),
        (format!("Next_Check_At < {nine}"), "k4"),
        (format!("Next_Check_At <= {nine}"), "k2 k4"),
        (format!("Next_Check_At > {nine}"), "k1"),
        (format!("Next_Check_At >= {nine}"), "k1 k2"),
        (format!("Next_Check_At = {nine}"), "k2"),
        (format!("Next_Check_At != {nine}"), "k1 k4"),
        (
            format!("Next_Check_At between '2026-01-01T08:30:00+00:00' and {nine}"),
            "k2",
        ),
        (format!("id = '{}'", ids[1]), "k2"),
        (format!("id > {}", ids[1]), "k3 k4"),
        ("Delivery_State = 'x'".to_owned(), ""),
        (
            "Delivery_State = 'sending' or Request_Key = 'k4'".to_owned(),
            "k2 k4",
        ),
    ] {
        let rows = keys(&bed, &format!("where {criterion}")).await;
        assert_eq!(rows.join(" "), found, "{criterion}");
    }
}

#[tokio::test]
async fn pages_follow_each_other_and_say_whether_more_come() {
    let bed = Bed::new().await;
    filled(&bed).await;
    let query =
        |tail: &str| format!("select id from {MODULE} where id is not null order by id {tail}");
    let first = bed.coql(&query("limit 3")).await;
    assert_eq!(
        first.body["info"],
        json!({"count": 3, "more_records": true})
    );
    let last = bed.coql(&query("limit 3 offset 3")).await;
    assert_eq!(
        last.body["info"],
        json!({"count": 1, "more_records": false})
    );
    assert_eq!(bed.coql(&query("limit 4, 3")).await.status, 204);
    assert_eq!(
        keys(&bed, "where id is not null order by id desc limit 2").await,
        ["k4", "k3"]
    );
    assert_eq!(
        keys(
            &bed,
            "where id is not null order by Delivery_State desc, Request_Key desc"
        )
        .await,
        ["k4", "k2", "k3", "k1"]
    );
}

#[tokio::test]
async fn a_count_counts_past_the_page() {
    let bed = Bed::new().await;
    filled(&bed).await;
    let answer = bed
        .coql(&format!(
            "select COUNT(id) from {MODULE} where id is not null limit 2"
        ))
        .await;
    assert_eq!(answer.body["data"], json!([{"COUNT(id)": 4}]));
}

#[tokio::test]
async fn a_wrong_query_is_a_400_with_its_code() {
    let bed = Bed::new().await;
    for (query, code) in [
        ("select id from Send_Histories", "SYNTAX_ERROR"),
        (
            "select id from Send_Histories where Delivery_State = 'a' and External_Id = 'b' and Request_Key = 'c'",
            "SYNTAX_ERROR",
        ),
        (
            "select id from Send_Histories where Delivery_State = \"a\"",
            "SYNTAX_ERROR",
        ),
        (
            "select id from Nothings where id is not null",
            "INVALID_MODULE",
        ),
        (
            "select Nonsense from Send_Histories where id is not null",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where Nonsense is null",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where Progress_JSON = 'x'",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where Progress_JSON is null",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where Document is null",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where Delivery_State > 'a'",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where Next_Check_At like '2026%'",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where Next_Check_At <= '2026-01-01T00:00:00Z'",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where Next_Check_At <= '2026-01-01'",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where id is not null order by Progress_JSON",
            "INVALID_QUERY",
        ),
        (
            "select id from Send_Histories where id is not null limit 0",
            "INVALID_DATA",
        ),
        (
            "select id from Send_Histories where id is not null limit 2001",
            "LIMIT_EXCEEDED",
        ),
        (
            "select id from Send_Histories where id is not null order by id, id",
            "DUPLICATE_DATA",
        ),
    ] {
        let answer = bed.coql(query).await;
        assert_eq!((answer.status, answer.code()), (400, code), "{query}");
        assert!(answer.body.get("data").is_none(), "the error is flat");
    }
    let empty = bed.send(Method::POST, "/crm/v8/coql", &json!({})).await;
    assert_eq!((empty.status, empty.code()), (400, "MANDATORY_NOT_FOUND"));
}

#[tokio::test]
async fn large_text_can_be_filtered_only_by_switch() {
    let bed = Bed::switched(|switches| switches.coql_filters_large_text = true).await;
    bed.created(json!({"Progress_JSON": "{}", "Request_Key": "a"}))
        .await;
    assert_eq!(keys(&bed, "where Progress_JSON = '{}'").await, ["a"]);
}

#[tokio::test]
async fn text_is_compared_as_the_switch_says() {
    let bed = Bed::new().await;
    bed.created(json!({"Request_Key": "msg_A"})).await;
    assert_eq!(keys(&bed, "where Request_Key = 'MSG_a'").await, ["msg_A"]);
    let mut switches = bed.crm.switches();
    switches.coql_text = CoqlText::Exact;
    bed.crm.set_switches(switches);
    assert!(keys(&bed, "where Request_Key = 'MSG_a'").await.is_empty());
    assert_eq!(keys(&bed, "where Request_Key = 'msg_A'").await, ["msg_A"]);
}

#[tokio::test]
async fn a_quote_is_escaped_as_the_switch_says() {
    for (switch, right, wrong) in [
        (CoqlQuote::Doubled, "'it''s'", r"'it\'s'"),
        (CoqlQuote::Backslash, r"'it\'s'", "'it''s'"),
    ] {
        let bed = Bed::switched(|switches| switches.coql_quote = switch).await;
        bed.created(json!({"External_Id": "it's", "Request_Key": "a"}))
            .await;
        assert_eq!(
            keys(&bed, &format!("where External_Id = {right}")).await,
            ["a"]
        );
        let answer = bed
            .coql(&format!(
                "select id from {MODULE} where External_Id = {wrong}"
            ))
            .await;
        assert_eq!(answer.status, 400);
    }
}

#[tokio::test]
async fn a_lagging_list_serves_rows_as_they_were() {
    let bed = Bed::switched(|switches| switches.list_lag_seconds = 10).await;
    let (id, version) = bed
        .created(json!({"Delivery_State": "sending", "Request_Key": "a"}))
        .await;
    assert!(
        keys(&bed, "where id is not null").await.is_empty(),
        "a new row is not listed yet"
    );
    bed.advance(11);
    assert_eq!(keys(&bed, "where Delivery_State = 'sending'").await, ["a"]);
    bed.update(&id, Some(&version), json!({"Delivery_State": "accepted"}))
        .await;
    let listed = bed
        .coql(&format!(
            "select Delivery_State, Modified_Time from {MODULE} where id is not null"
        ))
        .await;
    assert_eq!(listed.body["data"][0]["Delivery_State"], "sending");
    assert_eq!(listed.body["data"][0]["Modified_Time"], version);
    assert_eq!(
        bed.read(&id).await.body["data"][0]["Delivery_State"],
        "accepted",
        "a single read never lags"
    );
    bed.crm.delete(MODULE, &id).unwrap();
    assert_eq!(
        keys(&bed, "where Delivery_State = 'sending'").await,
        ["a"],
        "a deleted row is still listed"
    );
    bed.advance(11);
    assert!(keys(&bed, "where id is not null").await.is_empty());
}

#[tokio::test]
async fn a_list_cuts_long_text_only_by_switch() {
    let bed = Bed::new().await;
    let (id, _) = bed.created(json!({"Progress_JSON": "p".repeat(900)})).await;
    let length = async || {
        let answer = bed
            .coql(&format!(
                "select Progress_JSON from {MODULE} where id is not null"
            ))
            .await;
        answer.body["data"][0]["Progress_JSON"]
            .as_str()
            .unwrap()
            .len()
    };
    assert_eq!(length().await, 900);
    bed.sim(
        Method::POST,
        "switches",
        json!({"list_cuts_long_text": 500}),
    )
    .await;
    assert_eq!(length().await, 500);
    assert_eq!(
        bed.read(&id).await.body["data"][0]["Progress_JSON"]
            .as_str()
            .unwrap()
            .len(),
        900
    );
}
