//! Which record has a request key, as answers to creates told it.
//!
//! A query may lag, and then a record that was created a moment ago is not found by its key. The answer to
//! the create names it, and so does the one that refuses a duplicate.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use sendtrail_core::ids::{HistoryId, RequestKey};

/// Enough for what one process serves at once.
const MOST: usize = 64;

/// The last answers.
#[derive(Debug, Default)]
pub(crate) struct Created(Mutex<VecDeque<(RequestKey, HistoryId)>>);

impl Created {
    /// Keeps the answer; of two ids for one key, the lowest.
    pub(crate) fn keep(&self, key: &RequestKey, id: HistoryId) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, old)) = kept.iter_mut().find(|(old, _)| old == key) {
            if is_lower(&id, old) {
                *old = id;
            }
            return;
        }
        if kept.len() >= MOST {
            kept.pop_front();
        }
        kept.push_back((key.clone(), id));
    }

    /// The record with this key, as far as it was told.
    pub(crate) fn get(&self, key: &RequestKey) -> Option<HistoryId> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(one, _)| one == key);
        found.map(|(_, id)| id.clone())
    }
}

/// One or two ids, the lowest first and each once.
pub(crate) fn lowest_first(one: Option<HistoryId>, other: Option<HistoryId>) -> Vec<HistoryId> {
    match (one, other) {
        (Some(one), Some(other)) if one == other => vec![one],
        (Some(one), Some(other)) if is_lower(&other, &one) => vec![other, one],
        (one, other) => one.into_iter().chain(other).collect(),
    }
}

/// Ids are digits without a sign: the shorter one is the lower one.
fn is_lower(one: &HistoryId, other: &HistoryId) -> bool {
    let (one, other) = (one.as_str(), other.as_str());
    (one.len(), one) < (other.len(), other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> HistoryId {
        HistoryId::parse(text).unwrap()
    }

    fn key(text: &str) -> RequestKey {
        RequestKey::parse(text).unwrap()
    }

    #[test]
    fn the_lowest_id_of_a_key_is_kept() {
        let created = Created::default();
        created.keep(&key("a"), id("100"));
        created.keep(&key("a"), id("99"));
        created.keep(&key("a"), id("101"));
        assert_eq!(created.get(&key("a")), Some(id("99")));
        assert_eq!(created.get(&key("b")), None);
    }

    #[test]
    fn only_the_last_ones_are_kept() {
        let created = Created::default();
        for n in 0..=MOST {
            created.keep(&key(&format!("k{n}")), id(&n.to_string()));
        }
        assert_eq!(created.get(&key("k0")), None);
        assert_eq!(created.get(&key("k1")), Some(id("1")));
    }
}
