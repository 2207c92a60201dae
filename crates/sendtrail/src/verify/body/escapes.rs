//! The spelling of texts: which characters are written as escapes.

use super::json::{Token, edit};

/// A piece of a JSON text between its quotation marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    /// A character as itself.
    Char(char),
    /// A character as one or two `\u` escapes.
    Coded(char, &'a str),
    /// A short escape such as `\n` or `\/`, or a lone surrogate.
    Other(&'a str),
}

/// Rewrites the pieces of every text; what `change` leaves alone stays as it is.
fn respell(body: &[u8], change: impl Fn(Piece<'_>) -> Option<String>) -> Option<Vec<u8>> {
    edit(body, |token| match token {
        Token::Name(raw) | Token::Text(raw) => Some(respell_text(raw, &change)),
        Token::Space(_) | Token::Mark(_) | Token::Number(_) | Token::Word(_) => None,
    })
}

fn respell_text(raw: &str, change: &impl Fn(Piece<'_>) -> Option<String>) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((piece, length)) = first_piece(rest) {
        let (own, after) = rest.split_at(length);
        // The quotation marks at both ends are no part of the text.
        let is_mark = own == "\"";
        match change(piece).filter(|_| !is_mark) {
            Some(other) => text.push_str(&other),
            None => text.push_str(own),
        }
        rest = after;
    }
    text
}

/// The first piece and its bytes.
fn first_piece(rest: &str) -> Option<(Piece<'_>, usize)> {
    let first = rest.chars().next()?;
    if first != '\\' {
        return Some((Piece::Char(first), first.len_utf8()));
    }
    let Some(unit) = coded_unit(rest) else {
        let length = 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
        return Some((Piece::Other(rest.get(..length)?), length));
    };
    let next = rest.get(6..).and_then(coded_unit);
    let units = std::iter::once(unit).chain(next);
    let one = char::decode_utf16(units).next()?;
    Some(match one {
        Ok(c) => {
            let length = 6 * c.len_utf16();
            (Piece::Coded(c, rest.get(..length)?), length)
        }
        Err(_) => (Piece::Other(rest.get(..6)?), 6),
    })
}

/// The UTF-16 unit of a `\u` escape at the start.
fn coded_unit(rest: &str) -> Option<u16> {
    let digits = rest.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// A character as `\u` escapes with lower-case digits.
pub(super) fn coded(c: char) -> String {
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units);
    let spelled: Vec<_> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
    spelled.concat()
}

/// The same with upper-case digits.
pub(super) fn coded_upper(c: char) -> String {
    coded(c).to_uppercase().replace("\\U", "\\u")
}

fn escape(body: &[u8], those: impl Fn(char) -> bool, how: fn(char) -> String) -> Option<Vec<u8>> {
    respell(body, |piece| match piece {
        Piece::Char(c) if those(c) => Some(how(c)),
        Piece::Char(_) | Piece::Coded(..) | Piece::Other(_) => None,
    })
}

fn literal(body: &[u8], those: impl Fn(char) -> bool) -> Option<Vec<u8>> {
    respell(body, |piece| match piece {
        Piece::Coded(c, _) if those(c) => Some(c.to_string()),
        Piece::Char(_) | Piece::Coded(..) | Piece::Other(_) => None,
    })
}

const fn is_line_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

pub(super) fn non_ascii_escaped(body: &[u8]) -> Option<Vec<u8>> {
    escape(body, |c| !c.is_ascii(), coded)
}

pub(super) fn non_ascii_escaped_upper(body: &[u8]) -> Option<Vec<u8>> {
    escape(body, |c| !c.is_ascii(), coded_upper)
}

pub(super) fn non_ascii_literal(body: &[u8]) -> Option<Vec<u8>> {
    literal(body, |c| !c.is_ascii())
}

pub(super) fn html_escaped(body: &[u8]) -> Option<Vec<u8>> {
    escape(body, |c| "<>&".contains(c), coded)
}

pub(super) fn html_escaped_wide(body: &[u8]) -> Option<Vec<u8>> {
    escape(body, |c| "<>&'=".contains(c), coded)
}

pub(super) fn html_escaped_upper(body: &[u8]) -> Option<Vec<u8>> {
    escape(body, |c| "<>&'+`".contains(c), coded_upper)
}

pub(super) fn ascii_literal(body: &[u8]) -> Option<Vec<u8>> {
    literal(body, |c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\'))
}

pub(super) fn separators_escaped(body: &[u8]) -> Option<Vec<u8>> {
    escape(body, is_line_separator, coded)
}

pub(super) fn separators_literal(body: &[u8]) -> Option<Vec<u8>> {
    literal(body, is_line_separator)
}

pub(super) fn slashes_escaped(body: &[u8]) -> Option<Vec<u8>> {
    respell(body, |piece| {
        (piece == Piece::Char('/')).then(|| "\\/".to_owned())
    })
}

pub(super) fn slashes_plain(body: &[u8]) -> Option<Vec<u8>> {
    respell(body, |piece| {
        (piece == Piece::Other("\\/")).then(|| "/".to_owned())
    })
}

fn hex_case(body: &[u8], how: fn(char) -> String) -> Option<Vec<u8>> {
    respell(body, |piece| match piece {
        Piece::Coded(c, _) => Some(how(c)),
        Piece::Char(_) | Piece::Other(_) => None,
    })
}

pub(super) fn hex_upper(body: &[u8]) -> Option<Vec<u8>> {
    hex_case(body, coded_upper)
}

pub(super) fn hex_lower(body: &[u8]) -> Option<Vec<u8>> {
    hex_case(body, coded)
}

/// `\n` inside texts as `\r\n`: what a form does with the lines of a text area.
pub(super) fn lines_inside_crlf(body: &[u8]) -> Option<Vec<u8>> {
    let unix = lines_inside_lf(body);
    respell(unix.as_deref().unwrap_or(body), |piece| {
        (piece == Piece::Other("\\n")).then(|| "\\r\\n".to_owned())
    })
}

/// `\r\n` inside texts as `\n`.
pub(super) fn lines_inside_lf(body: &[u8]) -> Option<Vec<u8>> {
    edit(body, |token| match token {
        Token::Name(raw) | Token::Text(raw) if raw.contains("\\r\\n") => Some(without_returns(raw)),
        Token::Name(_)
        | Token::Text(_)
        | Token::Space(_)
        | Token::Mark(_)
        | Token::Number(_)
        | Token::Word(_) => None,
    })
}

/// A backslash that is itself escaped starts no `\r`, so the text is gone through piece by piece.
fn without_returns(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((piece, length)) = first_piece(rest) {
        let (own, after) = rest.split_at(length);
        if piece != Piece::Other("\\r") || !after.starts_with("\\n") {
            text.push_str(own);
        }
        rest = after;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rewrite = fn(&[u8]) -> Option<Vec<u8>>;

    fn assert_gives(rewrite: Rewrite, body: &str, due: &str) {
        let found = rewrite(body.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(found.as_deref(), Some(due), "{body}");
    }

    #[test]
    fn characters_become_escapes_and_escapes_characters() {
        let literal = r#"{"é":"ü🐈 \u0041 \n"}"#;
        let lower = r#"{"\u00e9":"\u00fc\ud83d\udc08 \u0041 \n"}"#;
        assert_gives(non_ascii_escaped, literal, lower);
        assert_gives(non_ascii_literal, lower, literal);
        let upper = r#"{"\u00E9":"\u00FC\uD83D\uDC08 \u0041 \n"}"#;
        assert_gives(non_ascii_escaped_upper, literal, upper);
        assert_gives(hex_upper, lower, upper);
        assert_gives(hex_lower, upper, lower);
    }

    #[test]
    fn html_signs_slashes_and_separators_have_their_own_changes() {
        assert_gives(
            html_escaped,
            r#"["<a&b>'="]"#,
            r#"["\u003ca\u0026b\u003e'="]"#,
        );
        assert_gives(html_escaped_wide, r#"["'=<"]"#, r#"["\u0027\u003d\u003c"]"#);
        assert_gives(html_escaped_upper, r#"["+<"]"#, r#"["\u002B\u003C"]"#);
        assert_gives(
            ascii_literal,
            r#"["\u003ca\u0022\u005c\u00e9"]"#,
            r#"["<a\u0022\u005c\u00e9"]"#,
        );
        assert_gives(slashes_escaped, r#"["a/b\/c"]"#, r#"["a\/b\/c"]"#);
        assert_gives(slashes_plain, r#"["a\/b\\/c"]"#, r#"["a/b\\/c"]"#);
        assert_gives(
            separators_escaped,
            "[\"\u{2028}\u{e9}\"]",
            "[\"\\u2028\u{e9}\"]",
        );
        assert_gives(
            separators_literal,
            "[\"\\u2029\\u00e9\"]",
            "[\"\u{2029}\\u00e9\"]",
        );
    }

    #[test]
    fn line_ends_inside_texts_are_changed_and_escaped_backslashes_are_not() {
        assert_gives(
            lines_inside_lf,
            r#"["a\r\nb\\r\\n\r"]"#,
            r#"["a\nb\\r\\n\r"]"#,
        );
        assert_gives(
            lines_inside_crlf,
            r#"["a\nb\r\nc\\n"]"#,
            r#"["a\r\nb\r\nc\\n"]"#,
        );
    }

    #[test]
    fn a_lone_surrogate_is_left_alone() {
        let body = br#"["\ud83d x \udc08\ud83d\u0041"]"#;
        assert_eq!(non_ascii_literal(body), None);
        assert_eq!(hex_upper(br#"["\ud83d"]"#), None);
    }

    #[test]
    fn where_there_is_nothing_to_change_there_is_no_change() {
        let all: [Rewrite; 5] = [
            non_ascii_escaped,
            html_escaped,
            slashes_escaped,
            lines_inside_lf,
            hex_lower,
        ];
        for rewrite in all {
            assert_eq!(rewrite(br#"{"a":[1,"b"]}"#), None);
            assert_eq!(rewrite(b"no json"), None);
        }
    }
}
