//! The list of switches: which other answers each can give, and what it stands for.

use serde_json::{Map, Value};

use super::switches::Switches;

/// Why there is a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubtKind {
    /// Nobody could verify this against the real system.
    Open,
    /// A misbehaviour that would break a promise if nothing stood against it.
    Misbehaviour,
    /// The measure of another switch, or of the whole; no doubt of its own.
    Measure,
}

/// One switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Its key in [`Switches`].
    pub name: &'static str,
    /// The values beside the default, as JSON.
    pub others: &'static [&'static str],
    /// Why it is there.
    pub kind: DoubtKind,
    /// What it stands for.
    pub stands_for: &'static str,
}

use DoubtKind::{Measure, Misbehaviour, Open};

const fn doubt(
    name: &'static str,
    others: &'static [&'static str],
    kind: DoubtKind,
    stands_for: &'static str,
) -> Doubt {
    Doubt {
        name,
        others,
        kind,
        stands_for,
    }
}

const DOUBTS: [Doubt; 39] = [
    doubt(
        "guard",
        &["\"racy\"", "\"ignored\""],
        Misbehaviour,
        "check and write of a guarded update are two steps, or the header has no effect",
    ),
    doubt("guard_race_ms", &[], Measure, "how long that gap is"),
    doubt(
        "guard_equal",
        &["\"conflicts\""],
        Open,
        "what a write on the very version of the record meets",
    ),
    doubt(
        "malformed_guard",
        &["\"refused\""],
        Open,
        "a malformed guard is refused, or ignored",
    ),
    doubt(
        "conflict_body",
        &["\"flat\"", "\"item_in200\""],
        Open,
        "where a conflict keeps its item",
    ),
    doubt(
        "missing_record",
        &["\"invalid_data\""],
        Open,
        "the answer to a read of a record that is not there",
    ),
    doubt("limit_body", &["\"legacy\""], Open, "the body of a 429"),
    doubt(
        "invalid_token",
        &["\"authentication_failure\""],
        Open,
        "the code of a 401",
    ),
    doubt(
        "scope_mismatch_status",
        &["403"],
        Open,
        "the status of a missing scope",
    ),
    doubt(
        "access_denied_status",
        &["200"],
        Open,
        "the status of the token throttle",
    ),
    doubt(
        "expiry_unit",
        &["\"milliseconds\""],
        Open,
        "the unit of a token's life",
    ),
    doubt(
        "live_tokens",
        &["10"],
        Open,
        "how many access tokens of one refresh token live at once",
    ),
    doubt(
        "workflow_bump",
        &["true"],
        Open,
        "a workflow edits the record after a write that lets it run",
    ),
    doubt(
        "workflow_delay_ms",
        &[],
        Measure,
        "how long after the write that edit comes",
    ),
    doubt(
        "recalculation_bump",
        &["true"],
        Open,
        "the CRM edits the record after every write: roll-up, formula, `trigger` without effect",
    ),
    doubt(
        "download_bumps",
        &["true"],
        Open,
        "downloading the stored document gives its record a new version",
    ),
    doubt(
        "attachment_bumps",
        &["true"],
        Open,
        "an attachment gives its record a new version",
    ),
    doubt(
        "file_field",
        &["\"append\""],
        Open,
        "a new list of files replaces the old one, or joins it",
    ),
    doubt(
        "unbound_file_seconds",
        &["30"],
        Open,
        "how long an uploaded file waits to be bound",
    ),
    doubt(
        "unique",
        &["\"racy\"", "\"ignored\""],
        Misbehaviour,
        "the unique check and the insert are two steps, or the field is not unique",
    ),
    doubt(
        "duplicate_details",
        &["\"id\""],
        Open,
        "where a refused duplicate names the other record",
    ),
    doubt(
        "length_unit",
        &["\"utf16\"", "\"bytes\""],
        Open,
        "the unit of text lengths",
    ),
    doubt(
        "text_storage",
        &["\"no_four_byte\"", "\"html_escaped\""],
        Open,
        "text is changed on its way into a record",
    ),
    doubt(
        "empty_value",
        &["\"empty_text\""],
        Open,
        "how an empty field reads back",
    ),
    doubt(
        "id_form",
        &["\"number\""],
        Misbehaviour,
        "ids are numbers, of which digits get lost on the way",
    ),
    doubt(
        "time_form",
        &["\"utc\"", "\"flipping\""],
        Open,
        "the offset of date-times, also around a change of the clocks",
    ),
    doubt(
        "date_header",
        &["\"absent\""],
        Open,
        "answers do not tell the CRM's clock",
    ),
    doubt(
        "date_ahead_seconds",
        &["3"],
        Open,
        "`Date` and `Modified_Time` come from clocks that differ",
    ),
    doubt(
        "picklist",
        &["\"strict\""],
        Open,
        "a picklist refuses words it does not know",
    ),
    doubt(
        "unknown_field",
        &["\"refused\""],
        Open,
        "a field the module does not have is refused, or dropped without a word",
    ),
    doubt(
        "coql_text",
        &["\"exact\""],
        Open,
        "whether queries tell upper case from lower",
    ),
    doubt(
        "coql_quote",
        &["\"backslash\""],
        Open,
        "how a quote inside a query's text is escaped",
    ),
    doubt(
        "coql_nulls",
        &["\"last\""],
        Open,
        "where empty values sort in a query",
    ),
    doubt(
        "coql_filters_large_text",
        &["true"],
        Open,
        "whether queries can filter by large text",
    ),
    doubt(
        "coql_count",
        &["\"lower_case\"", "\"refused\""],
        Open,
        "whether queries can count, and what the count is called",
    ),
    doubt(
        "coql_id_range",
        &["\"refused\""],
        Open,
        "whether queries can go on past an id",
    ),
    doubt(
        "list_lag_seconds",
        &["3"],
        Open,
        "a query sees a write only some seconds later",
    ),
    doubt(
        "list_cuts_long_text",
        &["500"],
        Misbehaviour,
        "a query cuts long text",
    ),
    doubt("latency_ms", &["300"], Measure, "how long each call takes"),
];

impl Switches {
    /// Every switch there is, in the order of the struct.
    pub fn doubts() -> &'static [Doubt] {
        &DOUBTS
    }

    /// These switches with one of them set.
    ///
    /// # Errors
    /// There is no such switch, or it cannot have this value.
    pub fn with(&self, name: &str, value: &str) -> Result<Self, serde_json::Error> {
        let value: Value = serde_json::from_str(value)?;
        let mut all: Map<String, Value> = serde_json::from_value(serde_json::to_value(self)?)?;
        all.insert(name.to_owned(), value);
        serde_json::from_value(all.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_is_in_the_list_and_in_its_order() {
        let all = serde_json::to_value(Switches::default()).unwrap();
        let keys: Vec<_> = all.as_object().unwrap().keys().cloned().collect();
        let listed: Vec<_> = Switches::doubts().iter().map(|one| one.name).collect();
        assert_eq!(listed, keys);
    }

    #[test]
    fn every_other_value_is_a_value_and_not_the_default() {
        let usual = Switches::default();
        for one in Switches::doubts() {
            assert!(!one.stands_for.is_empty());
            assert_eq!(
                one.others.is_empty(),
                one.kind == Measure && one.name != "latency_ms"
            );
            for value in one.others {
                let other = usual.with(one.name, value).unwrap();
                assert_ne!(other, usual, "{} {value}", one.name);
            }
        }
        assert!(usual.with("gaurd", "\"racy\"").is_err());
        assert!(usual.with("guard", "\"sometimes\"").is_err());
    }
}
