//! A whole progress after some edits: what random text rarely comes to.

use serde_json::{Map, Value};

use crate::progress::check;

const WHOLE: &str = include_str!("../corpus/progress/whole.json");

/// The bytes are edits of a whole progress, four bytes each: where, what, how often, with which.
pub fn progress_edit(data: &[u8]) {
    let mut value: Value = serde_json::from_str(WHOLE).expect("the sample is JSON");
    for edit in data.chunks_exact(4).take(64) {
        let [place, what, times, with] = [edit[0], edit[1], edit[2], edit[3]];
        let mut left = usize::from(place) % count(&value);
        apply(&mut value, &mut left, &Edit { what, times, with });
    }
    check(&value.to_string());
}

struct Edit {
    what: u8,
    times: u8,
    with: u8,
}

fn count(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    1 + inner
}

/// Applies the edit to the value that is reached after `left` others. True once it is done.
fn apply(value: &mut Value, left: &mut usize, edit: &Edit) -> bool {
    if *left == 0 {
        change(value, edit);
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| apply(item, left, edit)),
        Value::Object(members) => members.values_mut().any(|member| apply(member, left, edit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn change(value: &mut Value, edit: &Edit) {
    const TEXTS: [&str; 12] = [
        "x",
        "\u{1}",
        "\u{7f}",
        "é",
        "\u{1f408}",
        "\"",
        "\\",
        "=1+1",
        " ",
        "\u{202e}",
        "-",
        "2026-01-01T00:00:00Z",
    ];
    let times = usize::from(edit.times);
    let text = TEXTS[usize::from(edit.with) % TEXTS.len()];
    match edit.what % 10 {
        0 => *value = Value::String(text.repeat(times)),
        1 => *value = Value::Null,
        2 => *value = Value::from(u64::from(edit.with) << (edit.times % 64)),
        3 => *value = Value::from(f64::from(edit.with) / f64::from(edit.times.max(1))),
        4 => *value = Value::from(edit.with.is_multiple_of(2)),
        5 => {
            if let Value::String(old) = value {
                old.push_str(&text.repeat(times));
            }
        }
        6 => {
            // More of the same, such as entries of the trail or found ids.
            if let Value::Array(items) = value
                && let Some(last) = items.last().cloned()
            {
                items.extend(std::iter::repeat_n(last, times.min(100)));
            }
        }
        7 => {
            if let Value::Object(members) = value {
                members.insert(
                    format!("later{}", edit.with),
                    Value::String(text.repeat(times)),
                );
            }
        }
        8 => {
            if let Value::Object(members) = value {
                let name = members.keys().nth(usize::from(edit.with)).cloned();
                name.and_then(|name| members.shift_remove(&name));
            }
        }
        _ => {
            let inner = std::mem::take(value);
            let wrapped = [("later".to_owned(), inner)];
            *value = Value::Object(Map::from_iter(wrapped));
        }
    }
}
