//! What the answer to a search tells.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sendtrail_core::ids::{ExternalId, Reference};
use sendtrail_core::ports::FindAnswer;
use sendtrail_core::text::harmless;
use serde_json::Value;

use super::MAX_STATUS_BYTES;
use super::ask::transient;
use crate::file::{Find, FindBy};
use crate::pointer::Pointer;

/// The most ids kept when several match.
const MAX_MATCHES: usize = 20;

/// What was looked for, and with which status the answer came.
#[derive(Debug)]
pub(super) struct Sought<'a> {
    pub(super) reference: &'a Reference,
    pub(super) draft_id: Option<&'a str>,
    pub(super) status: u16,
}

impl Sought<'_> {
    fn unreadable(&self, what: &str) -> FindAnswer {
        FindAnswer::Failed(transient("unreadable", Some(self.status), what))
    }
}

impl Find {
    pub(super) fn answer(&self, body: &Value, sought: &Sought<'_>) -> FindAnswer {
        match &self.by {
            FindBy::List {
                items,
                id,
                reference,
                base64,
            } => {
                let Some(items) = items.get(body).and_then(Value::as_array) else {
                    return sought.unreadable("the answer has no list of items");
                };
                let ours = if *base64 {
                    STANDARD.encode(sought.reference.as_str())
                } else {
                    sought.reference.to_string()
                };
                let is_ours = |item: &&Value| match reference {
                    None => true,
                    Some(at) => at.id(item).as_deref() == Some(ours.as_str()),
                };
                matches(items.iter().filter(is_ours), id, sought)
            }
            FindBy::Draft { rules, id } => {
                let rule = rules.iter().find(|rule| rule.when.holds(body));
                // A state that no rule names proves no commit: it is asked again, then reviewed.
                if !rule.is_some_and(|rule| rule.committed) {
                    return FindAnswer::None;
                }
                let id = match id {
                    Some(pointer) => pointer.id(body),
                    None => sought.draft_id.map(str::to_owned),
                };
                match id.map(|id| ExternalId::parse(&id)) {
                    Some(Ok(id)) => FindAnswer::One(id),
                    Some(Err(_)) | None => sought.unreadable("the draft has no usable id"),
                }
            }
        }
    }
}

/// What is left of a list once only our items are in it.
fn matches<'v>(
    items: impl Iterator<Item = &'v Value>,
    at: &Pointer,
    sought: &Sought<'_>,
) -> FindAnswer {
    let mut ids: Vec<String> = Vec::new();
    for item in items {
        match at.id(item) {
            Some(id) if ids.contains(&id) => {}
            Some(id) => ids.push(id),
            None => return sought.unreadable("an item has no id"),
        }
    }
    match ids.as_slice() {
        [] => FindAnswer::None,
        [id] => match ExternalId::parse(id) {
            Ok(id) => FindAnswer::One(id),
            Err(_) => sought.unreadable("an item has an unusable id"),
        },
        several => FindAnswer::Several(
            several
                .iter()
                .take(MAX_MATCHES)
                .map(|id| harmless(id, MAX_STATUS_BYTES))
                .collect(),
        ),
    }
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
