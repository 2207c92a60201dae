//! How id, timestamp and body are joined, and which texts of id and timestamp are.

use jiff::Timestamp;

use super::change::{Change, Form, Place};

/// A part of the signed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Id,
    Time,
    Body,
}

use Part::{Body, Id, Time};

/// The parts in order and what stands between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    prefix: &'static str,
    parts: &'static [Part],
    separator: &'static str,
}

/// What is joined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) id: &'a [u8],
    pub(super) time: &'a [u8],
    pub(super) body: &'a [u8],
}

impl Shape {
    /// The signed text.
    pub(super) fn join(self, from: Parts<'_>) -> Vec<u8> {
        let length = from.id.len() + from.time.len() + from.body.len() + 8;
        let mut text = Vec::with_capacity(length);
        text.extend_from_slice(self.prefix.as_bytes());
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                text.extend_from_slice(self.separator.as_bytes());
            }
            text.extend_from_slice(match part {
                Id => from.id,
                Time => from.time,
                Body => from.body,
            });
        }
        text
    }

    /// The shape as a template.
    fn template(self) -> String {
        let word = |part: &Part| match part {
            Id => "{id}",
            Time => "{timestamp}",
            Body => "{body}",
        };
        let words: Vec<_> = self.parts.iter().map(word).collect();
        let joined = words.join(&self.separator.escape_default().to_string());
        format!("{}{joined}", self.prefix)
    }
}

const DUE: Shape = Shape {
    prefix: "",
    parts: &[Id, Time, Body],
    separator: ".",
};

const JOIN: &str =
    "Sign id + \".\" + timestamp + \".\" + body, with the texts that go into the headers.";

/// The due shape, then every other one.
pub(super) fn shapes() -> Vec<Form<Shape>> {
    let mut shapes = vec![Form::plain(DUE)];
    let mut add = |name, prefix, parts, separator| {
        let shape = Shape {
            prefix,
            parts,
            separator,
        };
        let what = format!(
            "the signed text was {} instead of {}",
            shape.template(),
            DUE.template()
        );
        shapes.push(Form::changed(
            Change::new(Place::Message, name, what, JOIN),
            shape,
        ));
    };
    add("body_alone", "", &[Body], "");
    add("without_body", "", &[Id, Time], ".");
    for separator in [
        ".", "", ":", ",", "|", "\n", " ", "-", "_", ";", "/", "&", "+",
    ] {
        add("without_id", "", &[Time, Body], separator);
        add("without_timestamp", "", &[Id, Body], separator);
        if separator != "." {
            add("other_separator", "", &[Id, Time, Body], separator);
        }
    }
    for separator in [".", "", ":", "\n"] {
        add("other_order", "", &[Time, Id, Body], separator);
        add("other_order", "", &[Body, Time, Id], separator);
        add("other_order", "", &[Body, Id, Time], separator);
        add("other_order", "", &[Id, Body, Time], separator);
        add("other_order", "", &[Time, Body, Id], separator);
        add("without_id_other_order", "", &[Body, Time], separator);
        add("without_timestamp_other_order", "", &[Body, Id], separator);
    }
    add("with_version", "v0:", &[Time, Body], ":");
    add("with_version", "v1:", &[Time, Body], ":");
    add("with_version", "v1.", &[Id, Time, Body], ".");
    shapes
}

/// Texts that a script leaves for a value that it does not have.
const MISSING: [&str; 4] = ["", "undefined", "null", "None"];

/// The id as received, then every other text that may have been signed for it.
pub(super) fn ids(received: &[u8]) -> Vec<Form<Vec<u8>>> {
    let mut forms = vec![Form::plain(received.to_vec())];
    let mut add = |name, what: &str, text: Vec<u8>| {
        let fix = "Make the id once; sign the very text that goes into webhook-id.";
        let change = Change::new(Place::Id, name, what, fix);
        forms.push(Form::changed(change, text));
    };
    let received_text = String::from_utf8_lossy(received);
    add(
        "id_trimmed",
        "the id was signed without the white space around it",
        received.trim_ascii().to_vec(),
    );
    match received.strip_prefix(b"msg_") {
        Some(bare) => add(
            "id_without_prefix",
            "the id was signed without its msg_",
            bare.to_vec(),
        ),
        None => add(
            "id_with_prefix",
            "the id was signed with msg_ in front",
            [b"msg_", received].concat(),
        ),
    }
    add(
        "id_lower_case",
        "the id was signed in lower case",
        received_text.to_lowercase().into_bytes(),
    );
    add(
        "id_upper_case",
        "the id was signed in upper case",
        received_text.to_uppercase().into_bytes(),
    );
    add(
        "id_quoted",
        "the id was signed with quotation marks around it",
        format!("\"{received_text}\"").into_bytes(),
    );
    if let Some(first) = received_text.split(',').next().map(str::trim) {
        add(
            "id_first_of_several",
            "webhook-id came several times and the first was signed",
            first.as_bytes().to_vec(),
        );
    }
    for missing in MISSING {
        let what = format!("the text \"{missing}\" was signed for the id");
        add("id_missing", &what, missing.as_bytes().to_vec());
    }
    forms.retain(|form| form.change.is_none() || form.value != received);
    forms
}

/// Seconds that a clock read twice may be apart.
const TWICE: i64 = 10;

const TIME: &str =
    "Read the clock once; sign the very text that goes into webhook-timestamp: whole Unix seconds.";

fn time(name: &'static str, what: String, text: impl Into<Vec<u8>>) -> Form<Vec<u8>> {
    let change = Change::new(Place::Timestamp, name, what, TIME);
    Form::changed(change, text.into())
}

/// The timestamp as received, then every other text that may have been signed for it.
pub(super) fn times(received: &[u8]) -> Vec<Form<Vec<u8>>> {
    let mut forms = vec![Form::plain(received.to_vec())];
    let text = String::from_utf8_lossy(received);
    let bare = text.trim().trim_start_matches('+');
    let whole = bare
        .split('.')
        .next()
        .unwrap_or(bare)
        .trim_start_matches('0');
    if let Some(number) = number(whole) {
        forms.extend(of_number(number));
    }
    let quoted = "the timestamp was signed with quotation marks around it";
    forms.push(time(
        "timestamp_quoted",
        quoted.to_owned(),
        format!("\"{text}\""),
    ));
    let trimmed = "the timestamp was signed without the white space around it";
    forms.push(time("timestamp_trimmed", trimmed.to_owned(), text.trim()));
    for missing in MISSING {
        let what = format!("the text \"{missing}\" was signed for the timestamp");
        forms.push(time("timestamp_missing", what, missing));
    }
    forms.retain(|form| form.change.is_none() || form.value != received);
    forms
}

/// A number of seconds or of milliseconds, in at most 15 digits.
fn number(digits: &str) -> Option<i64> {
    let plain = (1..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

fn of_number(number: i64) -> Vec<Form<Vec<u8>>> {
    let other = |text: String| {
        let what = format!("the timestamp was signed as {text}");
        time("timestamp_other_text", what, text)
    };
    let mut forms: Vec<_> = [
        format!("{number}"),
        format!("+{number}"),
        format!("0{number}"),
        format!("00{number}"),
        format!("000{number}"),
        format!("{number}.0"),
        format!("{number}.000"),
    ]
    .map(other)
    .into();
    if number >= 100_000_000_000 {
        for seconds in [number / 1000, number / 1000 + 1] {
            let what = format!(
                "the timestamp was signed in seconds, as {seconds}, and sent in milliseconds"
            );
            forms.push(time("timestamp_in_seconds", what, seconds.to_string()));
        }
    } else {
        forms.push(milliseconds(number, 0));
        forms.extend(as_date(number).into_iter().map(other));
    }
    for away in (1..=TWICE).flat_map(|seconds| [seconds, -seconds]) {
        let drawn = number + away;
        let what = format!("the clock was read twice: {drawn} was signed");
        forms.push(time("timestamp_read_twice", what, drawn.to_string()));
    }
    forms
}

fn milliseconds(seconds: i64, part: i64) -> Form<Vec<u8>> {
    let text = format!("{seconds}{part:03}");
    let what = format!("the timestamp was signed in milliseconds, as {text}");
    time("timestamp_in_milliseconds", what, text)
}

/// The second as a date, in the forms that libraries write by default.
fn as_date(seconds: i64) -> Vec<String> {
    let Ok(at) = Timestamp::from_second(seconds) else {
        return Vec::new();
    };
    let date = at.to_string();
    let bare = date.trim_end_matches('Z');
    vec![
        format!("{bare}Z"),
        format!("{bare}.000Z"),
        format!("{bare}+00:00"),
        bare.to_owned(),
        bare.replace('T', " "),
    ]
}

/// Every number of milliseconds within the second that was sent, but the first.
pub(super) fn milliseconds_within(received: &[u8]) -> Vec<Form<Vec<u8>>> {
    let text = String::from_utf8_lossy(received);
    match number(&text).filter(|&number| number < 100_000_000_000) {
        Some(seconds) => (1..1000).map(|part| milliseconds(seconds, part)).collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn texts(forms: &[Form<Vec<u8>>]) -> Vec<String> {
        let text = |form: &Form<Vec<u8>>| String::from_utf8(form.value.clone()).unwrap();
        forms.iter().map(text).collect()
    }

    #[test]
    fn the_due_shape_is_first_and_no_shape_comes_twice() {
        let from = Parts {
            id: b"i",
            time: b"7",
            body: b"{}",
        };
        let joined: Vec<_> = shapes().iter().map(|form| form.value.join(from)).collect();
        assert_eq!(joined[0], b"i.7.{}");
        assert_eq!(joined.iter().collect::<BTreeSet<_>>().len(), joined.len());
        for due in [
            &b"{}"[..],
            b"7.{}",
            b"i.{}",
            b"i:7:{}",
            b"7\n{}",
            b"i.7",
            b"v0:7:{}",
        ] {
            assert!(joined.iter().any(|text| text == due), "{due:?}");
        }
        let newline = shapes().into_iter().filter_map(|form| form.change);
        assert!(
            newline
                .into_iter()
                .all(|change| !change.what.contains('\n'))
        );
    }

    #[test]
    fn the_received_texts_come_first_and_only_once() {
        for forms in [times(b"1700000000"), ids(b"msg_Ab"), ids(b""), times(b"")] {
            assert!(forms[0].change.is_none());
            assert!(
                forms
                    .iter()
                    .skip(1)
                    .all(|form| form.value != forms[0].value)
            );
        }
    }

    #[test]
    fn seconds_and_milliseconds_and_other_texts_are_tried() {
        let of = |text: &str| texts(&times(text.as_bytes()));
        let seconds = of("1700000000");
        for due in [
            "1700000000000",
            "+1700000000",
            "01700000000",
            "1700000000.0",
            "2023-11-14T22:13:20Z",
            "2023-11-14T22:13:20.000Z",
            "1699999999",
            "1700000003",
            "",
        ] {
            assert!(seconds.iter().any(|text| text == due), "{due}");
        }
        let milliseconds = of("1700000000999");
        assert!(milliseconds.contains(&"1700000000".to_owned()));
        assert!(milliseconds.contains(&"1700000001".to_owned()));
        for odd in ["+1700000000", "0001700000000", "1700000000.25"] {
            assert!(of(odd).contains(&"1700000000".to_owned()), "{odd}");
        }
        assert_eq!(milliseconds_within(b"1700000000").len(), 999);
        assert!(milliseconds_within(b"1700000000999").is_empty());
    }

    #[test]
    fn any_text_may_be_received() {
        for odd in [
            &b"\xff"[..],
            b"-1",
            b"99999999999999999999",
            b"NaN",
            b"999999999999999",
        ] {
            assert!(!times(odd).is_empty() && !ids(odd).is_empty());
        }
    }
}
