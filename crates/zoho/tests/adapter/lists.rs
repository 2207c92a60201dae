//! Lists, queries and files against the simulated CRM.

use std::collections::BTreeSet;

use bytes::Bytes;
use sendtrail_core::ids::{CrmName, HistoryId, RequestKey, Sha256Hash};
use sendtrail_core::ports::{
    Clock as _, CreateHistory as _, FindTwins as _, ListHistory as _, ListQuery, ListStart,
    Metered as _, ReadHistory as _, SourceFile, SourceFiles as _, StoreError,
};
use sendtrail_core::record::StateField;
use sendtrail_simulator::crm::{CoqlNulls, Seed, SeedFile, SeedRecord, Switches};
use sendtrail_zoho::Cursor;
use serde_json::json;

use crate::simulated::{MODULE, Simulated, client};

const ORDERS: [CoqlNulls; 2] = [CoqlNulls::First, CoqlNulls::Last];

async fn simulated(coql_nulls: CoqlNulls) -> Simulated {
    Simulated::start(Switches {
        coql_nulls,
        ..Switches::default()
    })
    .await
}

/// The ids of a chain of pages, page by page.
async fn chain(crm: &Simulated, limit: u32, mut start: ListStart<Cursor>) -> Vec<Vec<HistoryId>> {
    let mut pages = Vec::new();
    for _ in 0..50 {
        let now = crm.now();
        let query = ListQuery { now, limit, start };
        let page = crm.zoho.list_due(&query).await.unwrap();
        pages.push(page.rows.into_iter().map(|row| row.record.id).collect());
        match page.next {
            Some(next) => start = ListStart::After(next),
            None => return pages,
        }
    }
    panic!("no end");
}

fn many() -> Vec<(&'static str, Option<i64>)> {
    let mut rows = vec![("accepted", None); 5];
    // Ties on one second, so that the id decides.
    rows.extend([("sending", Some(-60)); 4]);
    rows.extend((0..4).map(|n| ("accepted", Some(-50 + n))));
    rows
}

#[tokio::test]
async fn every_page_size_gives_each_due_row_once_wherever_empty_values_sort() {
    for nulls in ORDERS {
        let crm = simulated(nulls).await;
        let due: BTreeSet<_> = crm.seed(&many()).into_iter().collect();
        crm.seed(&[
            ("accepted", Some(3_600)),
            ("succeeded", Some(-60)),
            ("needs_review", None),
            ("typed by hand", None),
        ]);
        assert_eq!(crm.zoho.count_due(crm.now()).await, Ok(13));
        for limit in [1, 2, 3, 5, 13, 14, 200, 0, 9_999] {
            let ids = chain(&crm, limit, ListStart::First).await.concat();
            assert_eq!(ids.len(), 13, "{nulls:?} {limit}");
            assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), due);
        }
    }
}

#[tokio::test]
async fn past_an_offset_every_row_still_comes_once_and_the_skipped_ones_last() {
    for nulls in ORDERS {
        let crm = simulated(nulls).await;
        crm.seed(&many());
        let in_order = chain(&crm, 200, ListStart::First).await.concat();
        for offset in 1..13 {
            for limit in [1, 2, 3] {
                let ids = chain(&crm, limit, ListStart::Offset(offset)).await.concat();
                let set: BTreeSet<_> = ids.iter().collect();
                assert_eq!(set.len(), ids.len(), "{nulls:?} {offset} {limit}");
                let skip = usize::try_from(offset).unwrap();
                let rest: BTreeSet<_> = in_order[skip..].iter().collect();
                assert!(set.is_superset(&rest), "{nulls:?} {offset} {limit}");
                // A page that started past the skipped rows goes on there.
                assert_eq!(ids[0], in_order[skip]);
            }
        }
        let beyond = chain(&crm, 3, ListStart::Offset(1_000_000)).await;
        assert_eq!(beyond.concat().len(), 0);
    }
}

#[tokio::test]
async fn a_row_that_moves_between_two_pages_hides_no_other() {
    for nulls in ORDERS {
        let crm = simulated(nulls).await;
        let ids = crm.seed(&many());
        let now = crm.now();
        let mut seen = Vec::new();
        let mut start = ListStart::First;
        loop {
            let query = ListQuery {
                now,
                limit: 2,
                start,
            };
            let page = crm.zoho.list_due(&query).await.unwrap();
            for row in page.rows {
                // What a look-up does: the row is due again much later.
                let later = "2999-01-01T00:00:00+00:00";
                crm.edit(&row.record.id, &json!({"Next_Check_At": later}));
                seen.push(row.record.id);
            }
            match page.next {
                Some(next) => start = ListStart::After(next),
                None => break,
            }
        }
        seen.sort();
        let mut expected = ids.clone();
        expected.sort();
        assert_eq!(seen, expected, "{nulls:?}");
    }
}

#[tokio::test]
async fn a_row_past_its_deadline_is_due_whatever_its_next_check() {
    let crm = simulated(CoqlNulls::First).await;
    let ids = crm.seed(&[("accepted", Some(3_600))]);
    assert_eq!(crm.zoho.count_due(crm.now()).await, Ok(0));
    crm.edit(&ids[0], &json!({"Deadline": "2020-01-01T00:00:00+00:00"}));
    assert_eq!(chain(&crm, 10, ListStart::First).await.concat(), ids);
}

#[tokio::test]
async fn a_page_is_one_call_and_one_credit_and_carries_progress_and_revision() {
    let crm = simulated(CoqlNulls::First).await;
    let ids = crm.seed(&[("accepted", Some(-5))]);
    let change = json!({"Progress_JSON": "{}", "Input_JSON": "{\"driver\":\"x\"}"});
    crm.edit(&ids[0], &change);
    let query = ListQuery {
        now: crm.now(),
        limit: 200,
        start: ListStart::First,
    };
    let page = crm.zoho.list_due(&query).await.unwrap();
    let usage = crm.zoho.usage();
    assert_eq!((usage.calls, usage.credits), (1, 1));
    assert_eq!(crm.crm.credits().used, 1);
    let listed = &page.rows[0].record;
    assert_eq!(listed.progress.as_deref(), Some("{}"));
    assert_eq!(listed.input.as_deref(), Some("{\"driver\":\"x\"}"));
    let single = crm.zoho.read(&ids[0]).await.unwrap().record;
    assert_eq!(listed, &single);
}

#[tokio::test]
async fn text_the_list_cuts_is_passed_on_as_it_is() {
    let crm = Simulated::start(Switches {
        list_cuts_long_text: Some(3),
        ..Switches::default()
    })
    .await;
    let ids = crm.seed(&[("accepted", None)]);
    crm.edit(&ids[0], &json!({"Progress_JSON": "{\"v\":1}"}));
    let query = ListQuery {
        now: crm.now(),
        limit: 1,
        start: ListStart::First,
    };
    let page = crm.zoho.list_due(&query).await.unwrap();
    assert_eq!(page.rows[0].record.progress.as_deref(), Some("{\"v"));
}

#[tokio::test]
async fn of_two_records_with_one_key_the_lowest_id_wins() {
    let crm = simulated(CoqlNulls::First).await;
    let ids = crm.seed(&[("saved", None), ("saved", None), ("saved", None)]);
    crm.edit(&ids[1], &json!({"Request_Key": "msg_1"}));
    crm.edit(&ids[2], &json!({"Request_Key": "msg_1"}));
    crm.edit(&ids[0], &json!({"Request_Key": "MSG_1"}));
    let find = async |key: &str| {
        let key = RequestKey::parse(key).unwrap();
        let found = crm.zoho.find_by_request_key(&key).await.unwrap();
        found.map(|read| read.record.id)
    };
    assert_eq!(find("msg_1").await.as_ref(), Some(&ids[1]));
    assert_eq!(find("MSG_1").await.as_ref(), Some(&ids[0]));
    assert_eq!(find("msg_2").await, None);
}

#[tokio::test]
async fn a_search_for_twins_is_one_credit_and_gives_the_newest_fifty_whatever_their_state() {
    let crm = simulated(CoqlNulls::First).await;
    let ids = crm.seed(&[("failed", None); 52]);
    crm.edit(&ids[51], &json!({"Delivery_State": "typed by hand"}));
    let document = Sha256Hash::of(b"x");
    for id in &ids {
        crm.edit(
            id,
            &json!({"Source_Module": "Deals", "Source_Record": "9",
            "Document_SHA256": document.to_string(), "Deadline": "2026-01-01T00:00:00+00:00"}),
        );
    }
    let name = |text: &str| CrmName::parse(text).unwrap();
    let twins = crm.zoho.twins(&name("Deals"), &name("9"), &document).await;
    assert_eq!(crm.zoho.usage().credits, 1);
    let twins = twins.unwrap();
    let found: Vec<_> = twins.iter().map(|twin| twin.record.id.clone()).collect();
    let expected: Vec<_> = ids[2..].iter().rev().cloned().collect();
    assert_eq!(found, expected);
    let typed = StateField::Unknown("typed by hand".to_owned());
    assert_eq!(twins[0].record.state, typed);
    assert_eq!(
        twins[0].record.deadline,
        "2026-01-01T00:00:00Z".parse().ok()
    );
    let other = crm.zoho.twins(&name("Deals"), &name("8"), &document).await;
    assert_eq!(other, Ok(Vec::new()));
}

#[tokio::test]
async fn files_of_a_source_record_are_read_within_their_limit() {
    let crm = simulated(CoqlNulls::First).await;
    let file = |bytes: &[u8]| vec![SeedFile::new("a.pdf", bytes)];
    let deal = SeedRecord {
        module: "Deals".into(),
        attachments: file(b"%PDF-attached"),
        files: [("Contract_PDF".to_owned(), file(b"%PDF-field"))].into(),
        ..SeedRecord::default()
    };
    let seeded = crm
        .crm
        .seed(&Seed {
            records: vec![deal],
        })
        .unwrap();
    let deal = &seeded.records[0];
    let name = |text: &str| CrmName::parse(text).unwrap();
    let (module, record) = (name("Deals"), name(&deal.id));
    let read =
        async |file: SourceFile, most| crm.zoho.source_file(&module, &record, &file, most).await;
    let attachment = || SourceFile::Attachment(name(&deal.attachments[0]));
    let field = || SourceFile::Field(name("Contract_PDF"));
    assert_eq!(
        read(attachment(), 13).await,
        Ok(Bytes::from_static(b"%PDF-attached"))
    );
    assert_eq!(
        read(attachment(), 12).await,
        Err(StoreError::TooLarge { limit: 12 })
    );
    assert_eq!(
        read(field(), 10).await,
        Ok(Bytes::from_static(b"%PDF-field"))
    );
    assert_eq!(
        read(SourceFile::Attachment(name("1")), 10).await,
        Err(StoreError::NotFound)
    );
    assert_eq!(
        read(SourceFile::Field(name("Stage")), 10).await,
        Err(StoreError::NotFound)
    );
}

#[tokio::test]
async fn a_token_that_ended_is_replaced_without_the_caller_seeing_it() {
    let crm = simulated(CoqlNulls::First).await;
    let ids = crm.seed(&[("saved", None)]);
    crm.zoho.read(&ids[0]).await.unwrap();
    crm.crm.end_all_tokens().unwrap();
    crm.zoho.read(&ids[0]).await.unwrap();
    let usage = crm.zoho.usage();
    assert_eq!(
        (usage.token_requests, usage.calls, usage.credits),
        (2, 3, 2)
    );
}

#[tokio::test]
async fn a_throttled_token_endpoint_is_left_alone() {
    let crm = simulated(CoqlNulls::First).await;
    let ids = crm.seed(&[("saved", None)]);
    let mut throttled = 0;
    for _ in 0..12 {
        let zoho = client(&crm.crm);
        if zoho.read(&ids[0]).await == Err(StoreError::TokenThrottled) {
            throttled += 1;
            assert_eq!(zoho.read(&ids[0]).await, Err(StoreError::TokenThrottled));
            assert_eq!(zoho.usage().token_requests, 1);
        }
    }
    assert_eq!(throttled, 2);
    assert_eq!(crm.crm.record(MODULE, ids[0].as_str()).unwrap().writes, 1);
}
