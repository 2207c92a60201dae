//! The spelling of numbers.

use super::json::{Token, edit};

fn renumber(body: &[u8], change: impl Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    edit(body, |token| match token {
        Token::Number(raw) => change(raw),
        Token::Space(_) | Token::Mark(_) | Token::Name(_) | Token::Text(_) | Token::Word(_) => None,
    })
}

fn is_integer(raw: &str) -> bool {
    !raw.contains(['.', 'e', 'E'])
}

/// `1` as `1.0`.
pub(super) fn integers_as_floats(body: &[u8]) -> Option<Vec<u8>> {
    renumber(body, |raw| is_integer(raw).then(|| format!("{raw}.0")))
}

/// `1.0` as `1`.
pub(super) fn floats_as_integers(body: &[u8]) -> Option<Vec<u8>> {
    renumber(body, |raw| {
        let (whole, part) = raw.split_once('.')?;
        part.bytes()
            .all(|digit| digit == b'0')
            .then(|| whole.to_owned())
    })
}

/// Floats in their shortest form that keeps the point: `1.50` as `1.5`, `1e3` as `1000.0`.
pub(super) fn floats_shortened(body: &[u8]) -> Option<Vec<u8>> {
    renumber(body, |raw| {
        (!is_integer(raw)).then(|| short_float(raw)).flatten()
    })
}

/// A float as Python and Rust write it.
pub(super) fn short_float(raw: &str) -> Option<String> {
    let number: f64 = raw.parse().ok()?;
    number.is_finite().then(|| format!("{number:?}"))
}

/// Every number as JavaScript writes it: through a float, so that long ids lose digits.
pub(super) fn numbers_of_javascript(body: &[u8]) -> Option<Vec<u8>> {
    renumber(body, javascript_number)
}

/// A number as ECMAScript's `Number.prototype.toString` gives it.
pub(super) fn javascript_number(raw: &str) -> Option<String> {
    let number: f64 = raw.parse().ok()?;
    if !number.is_finite() {
        return None;
    }
    let size = number.abs();
    if size == 0.0 {
        return Some("0".to_owned());
    }
    if (1e-6..1e21).contains(&size) {
        return Some(format!("{number}"));
    }
    let text = format!("{number:e}");
    let has_sign = text.contains("e-");
    Some(if has_sign {
        text
    } else {
        text.replace('e', "e+")
    })
}

/// `1` as `"1"`.
pub(super) fn numbers_as_texts(body: &[u8]) -> Option<Vec<u8>> {
    renumber(body, |raw| Some(format!("\"{raw}\"")))
}

/// `"1"` as `1`.
pub(super) fn texts_as_numbers(body: &[u8]) -> Option<Vec<u8>> {
    edit(body, |token| match token {
        Token::Text(raw) => {
            let inner = raw.trim_matches('"');
            let is_number = serde_json::from_str::<serde_json::Number>(inner).is_ok();
            is_number.then(|| inner.to_owned())
        }
        Token::Space(_) | Token::Mark(_) | Token::Name(_) | Token::Number(_) | Token::Word(_) => {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_gives(rewrite: fn(&[u8]) -> Option<Vec<u8>>, body: &str, due: &str) {
        let found = rewrite(body.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(found.as_deref(), Some(due), "{body}");
    }

    #[test]
    fn integers_and_floats_change_into_one_another() {
        assert_gives(
            integers_as_floats,
            r#"{"1":[1,-2,3.5,"4"]}"#,
            r#"{"1":[1.0,-2.0,3.5,"4"]}"#,
        );
        assert_gives(floats_as_integers, "[1.0,2.00,3.5,1e3]", "[1,2,3.5,1e3]");
        assert_gives(floats_shortened, "[1.50,1e3,7,1.0]", "[1.5,1000.0,7,1.0]");
        assert_gives(numbers_as_texts, "[1,2.50]", r#"["1","2.50"]"#);
        assert_gives(
            texts_as_numbers,
            r#"{"1":"2.50","a":"01"}"#,
            r#"{"1":2.50,"a":"01"}"#,
        );
    }

    #[test]
    fn javascript_loses_digits_of_long_ids_and_the_point_of_whole_floats() {
        assert_gives(
            numbers_of_javascript,
            "[5725767000000524157,1.0,1.50,1e3,1e21,1.5e-7,-0.0,0.000001]",
            "[5725767000000524000,1,1.5,1000,1e+21,1.5e-7,0,0.000001]",
        );
    }

    #[test]
    fn numbers_that_no_float_holds_are_left_alone() {
        assert_eq!(numbers_of_javascript(b"[1]"), None);
        assert_eq!(floats_shortened(b"[7,1.5]"), None);
    }
}
