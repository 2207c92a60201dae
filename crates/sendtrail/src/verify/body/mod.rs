//! The usual ways in which the bytes that were signed and the bytes that were sent come to differ.
//!
//! Each rewrite takes the bytes that are known and gives the bytes that may be on the other side. It works on
//! the spelling: what it is not about stays byte for byte.

mod escapes;
mod json;
mod numbers;
mod orders;
mod rows;
mod text;
mod wrapped;
mod writers;

pub(super) use wrapped::lenient_base64;

use rows::{ON_THE_WAY, ONCE, Row, SINGLE, TEXT_NOT_MAP, WRITERS};

use super::change::{Change, Form, Place};

/// The longest body that changes are tried on, in bytes; the doors take 64 KiB.
pub(super) const MAX_BODY: usize = 256 * 1024;

/// Every body that one usual change makes of this one.
pub(super) fn single(body: &[u8]) -> Vec<Form<Vec<u8>>> {
    let mut forms = rows(SINGLE, body);
    forms.extend(wrapped::form_fields(body).into_iter().map(|value| {
        let what = "reduced to the value of one of its form fields";
        Form::changed(
            Change::new(Place::Body, "form_field", what, TEXT_NOT_MAP),
            value,
        )
    }));
    forms
}

/// Every body that a well-known library makes of this one.
pub(super) fn written_by_libraries(body: &[u8]) -> Vec<Form<Vec<u8>>> {
    rows(WRITERS, body)
}

/// What may arrive of a body that was sent, besides the changes of [`single`].
pub(super) fn damaged(body: &[u8]) -> Vec<Form<Vec<u8>>> {
    rows(ON_THE_WAY, body)
}

/// The body with its keys in every other order, where there are not too many.
pub(super) fn in_other_orders(body: &[u8]) -> impl Iterator<Item = Form<Vec<u8>>> {
    let change = Change::new(
        Place::Body,
        "keys_reordered",
        "with its keys in another order",
        ONCE,
    );
    let others = orders::orders(body).into_iter();
    others.map(move |other| Form::changed(change.clone(), other))
}

/// The rows that apply and change something.
fn rows(rows: &[Row], body: &[u8]) -> Vec<Form<Vec<u8>>> {
    let form = |&(name, what, fix, rewrite): &Row| {
        let other = rewrite(body).filter(|other| other != body)?;
        Some(Form::changed(
            Change::new(Place::Body, name, what, fix),
            other,
        ))
    };
    rows.iter().filter_map(form).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_change_has_a_name_of_its_own_and_says_what_to_do() {
        let all = [SINGLE, WRITERS, ON_THE_WAY].concat();
        let names: BTreeSet<_> = all.iter().map(|row| row.0).collect();
        assert_eq!(names.len(), all.len());
        assert!(!names.contains("form_field") && !names.contains("keys_reordered"));
        for (name, what, fix, _) in all {
            assert!(fix.ends_with('.') || fix.ends_with(')'), "{name}");
            assert!(!what.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn a_change_that_changes_nothing_is_none() {
        for body in [&b"{}"[..], b"", b"a=b", b"\xff\xfe", b"[1,\"x\"]"] {
            for form in single(body)
                .into_iter()
                .chain(written_by_libraries(body))
                .chain(damaged(body))
            {
                assert_ne!(form.value, body, "{:?}", form.change);
            }
        }
    }

    #[test]
    fn every_change_applies_to_some_body() {
        let bodies: [&[u8]; 13] = [
            "{ \"b\": [1, 2.50, 2.0, \"3\", null],\n \"a\": null, \"c\": \"é/<&\u{2028}\" }"
                .as_bytes(),
            br#"{"a":"\u00e9\u00E9\u003c\/\r\n\u2028"}"#,
            br#"["\n"]"#,
            b"a\r\nb\n",
            b"\xef\xbb\xbf{}",
            b"payload=%7B%7D&b=a+b",
            b"eyJhIjoxfQ==",
            b"ZXlKaElqb3hmUT09",
            br#""{}""#,
            b"{\"a\":\"\xe9\x80\"}",
            "{\"a\":\"Ã©\"}".as_bytes(),
            b" {} ",
            "{\"a\":\"€\"}".as_bytes(),
        ];
        let mut seen = BTreeSet::new();
        for body in bodies {
            let all = single(body)
                .into_iter()
                .chain(written_by_libraries(body))
                .chain(damaged(body));
            seen.extend(all.filter_map(|form| form.change).map(|change| change.name));
        }
        let all = [SINGLE, WRITERS, ON_THE_WAY].concat();
        let unseen: Vec<_> = all
            .iter()
            .map(|row| row.0)
            .filter(|name| !seen.contains(name))
            .collect();
        assert!(unseen.is_empty(), "{unseen:?}");
    }
}
