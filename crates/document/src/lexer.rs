//! Reads PDF syntax token by token: enough to walk dictionaries without mistaking text for structure.

use std::borrow::Cow;

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// `/Name`, with `#xx` decoded.
    Name(Cow<'a, [u8]>),
    /// A whole number that is not negative.
    Number(u64),
    /// `<<`
    OpenDict,
    /// `>>`
    CloseDict,
    /// `[` or `{`
    OpenArray,
    /// `]` or `}`
    CloseArray,
    /// A string, in either form; its text does not matter here.
    Text,
    /// Any other run of letters and digits: keywords, other numbers.
    Word(&'a [u8]),
}

/// A place in a file. Every call of [`Lexer::next`] moves forward, so a walk ends.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    is_cut: bool,
}

pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

const fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
    )
}

impl<'a> Lexer<'a> {
    pub(crate) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self {
            bytes,
            at,
            is_cut: false,
        }
    }

    /// The offset of the next byte.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// Whether the bytes ended inside a string.
    pub(crate) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.bytes.len());
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take_while(&mut self, keep: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let end = rest.iter().position(|b| !keep(*b)).unwrap_or(rest.len());
        self.skip(end);
        &rest[..end]
    }

    fn skip_blanks(&mut self) {
        loop {
            self.take_while(is_space);
            if self.peek() != Some(b'%') {
                return;
            }
            self.take_while(|b| b != b'\n' && b != b'\r');
        }
    }

    /// The next token; `None` at the end of the bytes.
    pub(crate) fn next(&mut self) -> Option<Token<'a>> {
        self.skip_blanks();
        let first = self.peek()?;
        let second = self.bytes.get(self.at + 1).copied();
        match (first, second) {
            (b'<', Some(b'<')) => {
                self.skip(2);
                Some(Token::OpenDict)
            }
            (b'>', Some(b'>')) => {
                self.skip(2);
                Some(Token::CloseDict)
            }
            (b'<', _) => {
                self.skip(1);
                // Nothing but digits: a bare `<` does not swallow what follows it.
                self.take_while(|b| b.is_ascii_hexdigit() || is_space(b));
                match self.peek() {
                    Some(b'>') => self.skip(1),
                    Some(_) => {}
                    None => self.is_cut = true,
                }
                Some(Token::Text)
            }
            (b'(', _) => {
                self.skip_string();
                Some(Token::Text)
            }
            (b'/', _) => {
                self.skip(1);
                let name = self.take_while(|b| !is_space(b) && !is_delimiter(b));
                Some(Token::Name(decoded(name)))
            }
            (b'[' | b'{', _) => {
                self.skip(1);
                Some(Token::OpenArray)
            }
            (b']' | b'}', _) => {
                self.skip(1);
                Some(Token::CloseArray)
            }
            // A closing mark that nothing opened.
            (b')' | b'>', _) => {
                self.skip(1);
                Some(Token::Word(&[]))
            }
            _ => Some(self.word()),
        }
    }

    fn word(&mut self) -> Token<'a> {
        let word = self.take_while(|b| !is_space(b) && !is_delimiter(b));
        number(word).map_or(Token::Word(word), Token::Number)
    }

    /// Passes over `( … )`: brackets nest, `\` takes the next byte with it.
    fn skip_string(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            self.skip(1);
            match byte {
                b'\\' => self.skip(1),
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
        self.is_cut = true;
    }
}

/// A whole number of digits only.
fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() || !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// A name with `#xx` replaced by the byte it stands for.
fn decoded(name: &[u8]) -> Cow<'_, [u8]> {
    if !name.contains(&b'#') {
        return Cow::Borrowed(name);
    }
    let digit = |at: usize| {
        let byte = name.get(at).copied()?;
        char::from(byte).to_digit(16)
    };
    let mut out = Vec::with_capacity(name.len());
    let mut at = 0;
    while let Some(&byte) = name.get(at) {
        let pair = (byte == b'#').then(|| digit(at + 1).zip(digit(at + 2)));
        if let Some((high, low)) = pair.flatten() {
            out.push(u8::try_from(high * 16 + low).unwrap_or(b'#'));
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &[u8]) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text, 0);
        std::iter::from_fn(|| lexer.next()).collect()
    }

    #[test]
    fn strings_and_comments_hide_what_is_in_them() {
        let name = |text: &'static [u8]| Token::Name(Cow::Borrowed(text));
        assert_eq!(
            tokens(b"<</A(x /B \\) (y) /C)/D<2F45>%/E\n/F 12 R>>"),
            [
                Token::OpenDict,
                name(b"A"),
                Token::Text,
                name(b"D"),
                Token::Text,
                name(b"F"),
                Token::Number(12),
                Token::Word(b"R"),
                Token::CloseDict
            ]
        );
    }

    #[test]
    fn a_string_without_an_end_is_known_and_a_bare_mark_swallows_nothing() {
        for (text, is_cut) in [
            ("(a (b)", true),
            ("(a\\)", true),
            ("<2F45", true),
            ("(a) <2F>", false),
            ("< /A", false),
        ] {
            let mut lexer = Lexer::new(text.as_bytes(), 0);
            while lexer.next().is_some() {}
            assert_eq!(lexer.is_cut(), is_cut, "{text}");
        }
        let name = Token::Name(Cow::Borrowed(&b"A"[..]));
        assert_eq!(tokens(b"< /A"), [Token::Text, name]);
    }

    #[test]
    fn escaped_names_are_the_same_names() {
        let name = |text: &[u8]| Token::Name(Cow::Owned(text.to_vec()));
        assert_eq!(tokens(b"/Encr#79pt"), [name(b"Encrypt")]);
        assert_eq!(
            tokens(b"/a#4 /#zz /#"),
            [name(b"a#4"), name(b"#zz"), name(b"#")]
        );
    }

    #[test]
    fn numbers_that_do_not_fit_are_words() {
        assert_eq!(
            tokens(b"99999999999999999999"),
            [Token::Word(b"99999999999999999999")]
        );
        assert_eq!(tokens(b"-1 1.5 +3").len(), 3);
        assert!(
            tokens(b"-1 1.5 +3")
                .iter()
                .all(|t| matches!(t, Token::Word(_)))
        );
    }

    proptest::proptest! {
        #[test]
        fn every_token_moves_forward(bytes: Vec<u8>) {
            let mut lexer = Lexer::new(&bytes, 0);
            let mut before = lexer.at();
            while lexer.next().is_some() {
                assert!(lexer.at() > before);
                before = lexer.at();
            }
            assert_eq!(lexer.at(), bytes.len());
        }
    }
}
