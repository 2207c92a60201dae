//! Text on its way into the CRM: ASCII-escaped JSON, and outside text made harmless.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

/// Compact JSON in which every character outside ASCII is escaped, so that no reader's idea of a character
/// changes its length or its bytes.
pub fn ascii_json<T: Serialize + ?Sized>(value: &T) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, AsciiFormatter);
    // Writing into memory cannot fail, and every value given here has text keys.
    if value.serialize(&mut serializer).is_err() {
        return String::new();
    }
    String::from_utf8(bytes).unwrap_or_default()
}

struct AsciiFormatter;

impl Formatter for AsciiFormatter {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c: char| !c.is_ascii() || c == '\u{7f}') {
            let (plain, tail) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut chars = tail.chars();
            if let Some(c) = chars.next() {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
            rest = chars.as_str();
        }
        CompactFormatter.write_string_fragment(writer, rest)
    }
}

/// Outside text made fit for a CRM field: control characters become spaces, a leading formula sign is
/// quoted, and it is cut at a character boundary so that its escaped form has at most `max_bytes`.
pub fn harmless(text: &str, max_bytes: usize) -> String {
    let mut out = String::new();
    let mut left = max_bytes;
    let blanked = |c| if is_unprintable(c) { ' ' } else { c };
    let printable: String = text.chars().map(blanked).collect();
    // Only now can be seen what it begins with: blanks before a formula do not stop it.
    let printable = printable.trim();
    let formula = printable.starts_with(['=', '+', '-', '@']);
    let quote = formula.then_some('\'');
    for c in quote.into_iter().chain(printable.chars()) {
        let cost = escaped_len(c);
        if cost > left {
            break;
        }
        left -= cost;
        out.push(c);
    }
    out
}

/// Control characters, and the marks that reorder or hide text around them.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// How many bytes `ascii_json` writes for this text, without its quotes.
pub(crate) fn written_len(text: &str) -> usize {
    text.chars().map(escaped_len).sum()
}

/// How many bytes `ascii_json` writes for this character.
fn escaped_len(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        ' '..='~' => 1,
        _ => 6 * c.len_utf16(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_byte_text_becomes_a_surrogate_pair() {
        assert_eq!(ascii_json("a🐈é"), r#""a\ud83d\udc08\u00e9""#);
    }

    #[test]
    fn control_characters_and_formulas_are_made_harmless() {
        assert_eq!(harmless("=HYPERLINK(1)", 100), "'=HYPERLINK(1)");
        assert_eq!(harmless("a\r\nb\u{0}\u{202e}c", 100), "a  b  c");
    }

    #[test]
    fn a_formula_is_one_behind_blanks_and_hidden_marks_too() {
        for text in [
            " =1+1",
            "\t+1",
            "\u{200b}@x",
            "\u{feff} \u{1}-1",
            "\u{a0}=1",
        ] {
            let made = harmless(text, 100);
            assert!(made.starts_with('\''), "{text:?} became {made:?}");
        }
    }

    proptest! {
        #[test]
        fn ascii_json_reads_back_and_is_ascii(text in any::<String>()) {
            let json = ascii_json(&text);
            prop_assert!(json.is_ascii());
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }

        #[test]
        fn harmless_text_never_passes_its_bound(text in any::<String>(), max in 0usize..200) {
            let escaped = ascii_json(&harmless(&text, max));
            prop_assert!(escaped.len() <= max + 2, "{}", escaped);
        }

        #[test]
        fn the_length_that_is_written_is_known_before(text in any::<String>()) {
            prop_assert!(ascii_json(&text).len() <= written_len(&text) + 2);
        }
    }
}
