//! Is the body of a file the one that arrived, and if not, by which change would it be?

use std::collections::HashSet;

use super::body;
use super::change::{Change, Form};
use super::mac::sha256;

/// Most results that are hashed.
const MAX_TRIES: u64 = 50_000;

/// What is known of the body that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrivedBody {
    /// Lower-case hexadecimal digits.
    pub(super) sha256: String,
    pub(super) bytes: Option<u64>,
}

/// How a file's body and the one that arrived go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Comparison {
    /// They are the same bytes.
    Same,
    /// These changes, each list by itself, make of the file what arrived.
    Changed { by: Vec<Vec<Change>>, tried: u64 },
    /// It is another body, or was changed in a way that is not known here.
    Other { tried: u64 },
}

/// Compares a file's body with the one that arrived, and tries the changes and pairs of them.
pub(super) fn compare(file: &[u8], arrived: &ArrivedBody) -> Comparison {
    if sha256(file) == arrived.sha256 {
        return Comparison::Same;
    }
    let mut trial = Trial {
        arrived,
        by: Vec::new(),
        tried: 0,
    };
    if file.len() <= body::MAX_BODY {
        trial.all(file);
    }
    if trial.by.is_empty() {
        Comparison::Other { tried: trial.tried }
    } else {
        Comparison::Changed {
            by: trial.by,
            tried: trial.tried,
        }
    }
}

struct Trial<'a> {
    arrived: &'a ArrivedBody,
    by: Vec<Vec<Change>>,
    tried: u64,
}

impl Trial<'_> {
    fn all(&mut self, file: &[u8]) {
        let mut singles = body::single(file);
        singles.extend(body::damaged(file));
        self.each(&singles, None);
        if self.by.is_empty() {
            self.each(&body::written_by_libraries(file), None);
        }
        if self.by.is_empty() {
            self.pairs(file, &singles);
        }
        if self.by.is_empty() {
            let others: Vec<_> = body::in_other_orders(file).collect();
            self.each(&others, None);
        }
    }

    fn pairs(&mut self, file: &[u8], singles: &[Form<Vec<u8>>]) {
        let mut seen = HashSet::from([file.to_vec()]);
        seen.extend(singles.iter().map(|form| form.value.clone()));
        for first in singles {
            let mut second = body::single(&first.value);
            second.extend(body::written_by_libraries(&first.value));
            second.extend(body::damaged(&first.value));
            second.retain(|form| self.has_length(&form.value) && seen.insert(form.value.clone()));
            self.each(&second, first.change.as_ref());
        }
    }

    fn each(&mut self, forms: &[Form<Vec<u8>>], before: Option<&Change>) {
        for form in forms {
            if self.tried >= MAX_TRIES {
                return;
            }
            self.tried += 1;
            // The length is compared first: it costs nothing.
            if self.has_length(&form.value) && sha256(&form.value) == self.arrived.sha256 {
                let changes = before.into_iter().chain(&form.change);
                self.by.push(changes.cloned().collect());
            }
        }
    }

    fn has_length(&self, body: &[u8]) -> bool {
        let bytes = self.arrived.bytes;
        bytes.is_none_or(|bytes| bytes == body.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(body: &[u8]) -> ArrivedBody {
        ArrivedBody {
            sha256: sha256(body),
            bytes: Some(body.len() as u64),
        }
    }

    fn names(file: &str, body: &str) -> Vec<Vec<&'static str>> {
        match compare(file.as_bytes(), &arrived(body.as_bytes())) {
            Comparison::Changed { by, .. } => by
                .iter()
                .map(|changes| changes.iter().map(|change| change.name).collect())
                .collect(),
            other @ (Comparison::Same | Comparison::Other { .. }) => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_same_bytes_are_the_same_body() {
        assert_eq!(compare(b"{}", &arrived(b"{}")), Comparison::Same);
        let unsized_one = ArrivedBody {
            bytes: None,
            ..arrived(b"{}")
        };
        assert_eq!(compare(b"{}", &unsized_one), Comparison::Same);
        assert!(matches!(
            compare(b"{ }", &unsized_one),
            Comparison::Changed { .. }
        ));
    }

    #[test]
    fn the_change_that_makes_the_arrived_body_is_named() {
        assert_eq!(
            names("{\"a\":1}\n", "{\"a\":1}"),
            [
                ["final_line_end_removed"],
                ["line_ends_removed"],
                ["trimmed"]
            ]
        );
        assert_eq!(
            names(r#"{"a":"é"}"#, r#"{"a":"\u00e9"}"#),
            [["non_ascii_escaped"]]
        );
        assert_eq!(names(r#"{"a":"x y"}"#, "a=x+y"), [["form_of_json"]]);
        assert_eq!(
            names(
                r#"{"b":1,"a":{"y":2,"x":3},"c":4}"#,
                r#"{"c":4,"a":{"x":3,"y":2},"b":1}"#
            ),
            [["keys_reordered"]]
        );
    }

    #[test]
    fn a_body_cut_by_counting_characters_is_named() {
        assert_eq!(
            names(r#"{"a":"éé"}"#, "{\"a\":\"éé"),
            [["cut_at_characters"], ["cut_at_units"]]
        );
    }

    #[test]
    fn two_changes_are_found_too() {
        let found = names("{\"b\": \"é\", \"a\": 1}\n", r#"{"a":1,"b":"\u00e9"}"#);
        assert!(
            !found.is_empty() && found.iter().all(|changes| changes.len() <= 2),
            "{found:?}"
        );
        let found = names(r#"{"b":"x/y","a":1}"#, r#"{"a":1,"b":"x\/y"}"#);
        assert_eq!(found, [["keys_sorted", "slashes_escaped"]]);
    }

    #[test]
    fn another_body_is_called_another_body() {
        let other = compare(br#"{"a":1}"#, &arrived(br#"{"a":2}"#));
        assert!(matches!(other, Comparison::Other { tried } if tried > 20));
        let longer = vec![b'a'; body::MAX_BODY + 1];
        assert_eq!(
            compare(&longer, &arrived(b"a")),
            Comparison::Other { tried: 0 }
        );
    }
}
