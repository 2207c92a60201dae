//! Words of a query.

use crate::crm::switches::CoqlQuote;

/// One word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name or keyword as written.
    Word(String),
    /// A quoted text, unescaped.
    Text(String),
    /// A number as written.
    Number(String),
    /// Punctuation or an operator.
    Sign(&'static str),
}

/// Where a query stopped making sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LexError {
    pub(crate) column: usize,
}

const SIGNS: [&str; 10] = ["!=", "<=", ">=", "<>", "(", ")", ",", "=", "<", ">"];

pub(crate) fn lex(query: &str, quote: CoqlQuote) -> Result<Vec<Token>, LexError> {
    let mut tokens = Vec::new();
    let mut rest = query;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return Ok(tokens);
        };
        let column = query.len() - rest.len() + 1;
        let (token, used) = if first == '\'' {
            quoted(rest, quote).ok_or(LexError { column })?
        } else if first.is_ascii_digit()
            || (first == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            let end = rest[1..]
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .map_or(rest.len(), |at| at + 1);
            (Token::Number(rest[..end].to_owned()), end)
        } else if first.is_ascii_alphabetic() || first == '$' {
            let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
            let end = rest.find(|c: char| !inside(c)).unwrap_or(rest.len());
            (Token::Word(rest[..end].to_owned()), end)
        } else {
            let sign = SIGNS
                .iter()
                .find(|sign| rest.starts_with(**sign))
                .ok_or(LexError { column })?;
            (Token::Sign(sign), sign.len())
        };
        tokens.push(token);
        rest = &rest[used..];
    }
}

/// A quoted text and the bytes it takes, quotes included.
fn quoted(rest: &str, quote: CoqlQuote) -> Option<(Token, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (CoqlQuote::Doubled, '\'') if chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                chars.next();
                text.push('\'');
            }
            (CoqlQuote::Backslash, '\\') => text.push(chars.next()?.1),
            (_, '\'') => return Some((Token::Text(text), at + 1)),
            (_, other) => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_signs_numbers_and_texts_come_apart_without_spaces() {
        let tokens = lex("a<='x y'and b in(1,-2.5)", CoqlQuote::Doubled).unwrap();
        let text: Vec<String> = tokens.iter().map(|token| format!("{token:?}")).collect();
        assert_eq!(tokens.len(), 11, "{text:?}");
        assert_eq!(tokens[2], Token::Text("x y".into()));
        assert_eq!(tokens[9], Token::Number("-2.5".into()));
    }

    #[test]
    fn the_escape_of_a_quote_follows_the_switch() {
        let doubled = lex("'it''s'", CoqlQuote::Doubled).unwrap();
        assert_eq!(doubled, [Token::Text("it's".into())]);
        let backslash = lex(r"'it\'s'", CoqlQuote::Backslash).unwrap();
        assert_eq!(backslash, [Token::Text("it's".into())]);
        assert_eq!(lex("'it''s'", CoqlQuote::Backslash).unwrap().len(), 2);
        assert!(lex(r"'it\'s'", CoqlQuote::Doubled).is_err());
    }

    #[test]
    fn an_open_text_or_a_strange_sign_is_an_error_with_its_column() {
        assert_eq!(
            lex("a = 'x", CoqlQuote::Doubled),
            Err(LexError { column: 5 })
        );
        assert_eq!(
            lex("a ; b", CoqlQuote::Doubled),
            Err(LexError { column: 3 })
        );
        assert!(lex("a = \u{1f600}", CoqlQuote::Doubled).is_err());
    }
}
