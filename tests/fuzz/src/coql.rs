//! Queries over ids and names that come from outside.

use jiff::Timestamp;
use sendtrail_core::ids::{CrmName, RequestKey, Sha256Hash};
use sendtrail_core::ports::{ListQuery, ListStart, UntouchedQuery};
use sendtrail_core::state::State;
use sendtrail_zoho::fuzzing::Offline;

use crate::crm::with_crm;
use crate::now;
use crate::query::assert_one_query;

/// Lines: a request key, a module, a record, a hash, a time, a number.
pub fn coql(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (key, module, record, hash) = (line(), line(), line(), line());
    let (time, number) = (line(), line());
    let document = Sha256Hash::parse(hash).unwrap_or(Sha256Hash::of(hash.as_bytes()));
    with_crm(|crm| {
        if let Ok(key) = RequestKey::parse(key) {
            let query = crm.key_query(&key);
            assert_one_query(&query);
            assert!(query.contains(&format!("'{key}'")));
        }
        if let (Ok(module), Ok(record)) = (CrmName::parse(module), CrmName::parse(record)) {
            let query = crm.twins_query(&module, &record, &document);
            assert_one_query(&query);
            assert!(
                query.contains(&format!("'{module}'")) && query.contains(&format!("'{document}'"))
            );
        }
        times_and_numbers(crm, time, number.parse().unwrap_or(7));
    });
}

fn times_and_numbers(crm: &Offline, time: &str, number: u64) {
    let seconds = time.parse().ok();
    let at = time.parse::<Timestamp>().ok();
    let at = at
        .or_else(|| Timestamp::from_second(seconds?).ok())
        .unwrap_or(now());
    let limit = u32::try_from(number % 201).unwrap_or(1);
    for start in [ListStart::First, ListStart::Offset(number)] {
        assert_one_query(&crm.list_query(&ListQuery {
            now: at,
            limit,
            start,
        }));
    }
    assert_one_query(&crm.untouched_query(&UntouchedQuery {
        before: at,
        limit,
        offset: number,
    }));
    let states: Vec<_> = State::ALL
        .into_iter()
        .enumerate()
        .filter(|(index, _)| number >> index & 1 == 1)
        .map(|(_, state)| state)
        .collect();
    assert_one_query(&crm.recent_query(limit, &states));
}
