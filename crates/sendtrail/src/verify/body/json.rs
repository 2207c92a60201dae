//! JSON as it is written: tokens and a tree that keep the spelling of every text and number.

use serde::de::IgnoredAny;

/// Deepest nesting that is rewritten.
const MAX_DEPTH: usize = 64;

/// A piece of JSON text, in its own spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// White space between tokens.
    Space(&'a str),
    /// One of `{}[],:`.
    Mark(&'a str),
    /// A text that is a member's name, with its quotation marks.
    Name(&'a str),
    /// Any other text, with its quotation marks.
    Text(&'a str),
    Number(&'a str),
    /// `true`, `false` or `null`.
    Word(&'a str),
}

impl<'a> Token<'a> {
    pub(super) const fn raw(self) -> &'a str {
        match self {
            Self::Space(raw)
            | Self::Mark(raw)
            | Self::Name(raw)
            | Self::Text(raw)
            | Self::Number(raw)
            | Self::Word(raw) => raw,
        }
    }
}

/// The tokens of a JSON text; `None` where it is none.
pub(super) fn tokens(body: &[u8]) -> Option<Vec<Token<'_>>> {
    let text = str::from_utf8(body).ok()?;
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.bytes().next() {
        let length = match first {
            b'"' => text_length(rest),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => {
                let is_space = is_space(first);
                let other = |b: u8| is_space != self::is_space(b) || b"{}[],:\"".contains(&b);
                rest.bytes().position(other).unwrap_or(rest.len())
            }
        };
        let (raw, after) = rest.split_at_checked(length)?;
        found.push(match first {
            b'"' if after
                .trim_start_matches(|c: char| c <= ' ')
                .starts_with(':') =>
            {
                Token::Name(raw)
            }
            b'"' => Token::Text(raw),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => Token::Mark(raw),
            b'-' | b'0'..=b'9' => Token::Number(raw),
            _ if is_space(first) => Token::Space(raw),
            _ => Token::Word(raw),
        });
        rest = after;
    }
    Some(found)
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Bytes of the text at the start, with both quotation marks. The JSON is known to be valid.
fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |end| end + 2)
}

/// The same JSON with some tokens written otherwise; `None` where nothing changes or it is no JSON.
pub(super) fn edit<'a>(
    body: &'a [u8],
    mut change: impl FnMut(Token<'a>) -> Option<String>,
) -> Option<Vec<u8>> {
    let mut text = String::with_capacity(body.len() + body.len() / 4);
    for token in tokens(body)? {
        match change(token) {
            Some(other) => text.push_str(&other),
            None => text.push_str(token.raw()),
        }
    }
    Some(text.into_bytes()).filter(|text| text != body)
}

/// A JSON value that keeps its spelling and loses its white space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A text, number or word in its own spelling.
    Leaf(String),
    List(Vec<Self>),
    /// Members with their names in their own spelling, in order.
    Object(Vec<(String, Self)>),
}

impl Node {
    /// Reads a JSON text; `None` where it is none, or nested too deep.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let tokens = tokens(body)?;
        let mut tokens = tokens
            .into_iter()
            .filter(|token| !matches!(token, Token::Space(_)));
        let first = tokens.next()?;
        read_from(first, &mut tokens, 0)
    }
}

fn read_from<'a>(
    first: Token<'a>,
    rest: &mut impl Iterator<Item = Token<'a>>,
    depth: usize,
) -> Option<Node> {
    if depth > MAX_DEPTH {
        return None;
    }
    // A text keeps its quotation marks, so that none is taken for a mark.
    match first.raw() {
        "[" => {
            let mut list = Vec::new();
            loop {
                let next = rest.next()?;
                match next.raw() {
                    "]" => return Some(Node::List(list)),
                    "," => {}
                    _ => list.push(read_from(next, rest, depth + 1)?),
                }
            }
        }
        "{" => {
            let mut members = Vec::new();
            loop {
                match rest.next()?.raw() {
                    "}" => return Some(Node::Object(members)),
                    "," => {}
                    name => {
                        let _colon = rest.next()?;
                        let value = read_from(rest.next()?, rest, depth + 1)?;
                        members.push((name.to_owned(), value));
                    }
                }
            }
        }
        raw => Some(Node::Leaf(raw.to_owned())),
    }
}

/// Where white space goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    comma: &'static str,
    colon: &'static str,
    /// One step of indentation, where every member has its own line.
    indent: Option<&'static str>,
}

/// No white space at all.
pub(super) const COMPACT: Layout = Layout {
    comma: ",",
    colon: ":",
    indent: None,
};
/// A space after every comma and colon.
pub(super) const SPACED: Layout = Layout {
    comma: ", ",
    colon: ": ",
    indent: None,
};
/// A space after colons only.
pub(super) const COLON_SPACED: Layout = Layout {
    comma: ",",
    colon: ": ",
    indent: None,
};
/// A space after commas only.
pub(super) const COMMA_SPACED: Layout = Layout {
    comma: ", ",
    colon: ":",
    indent: None,
};
/// One member a line, with this indentation.
pub(super) const fn lines(indent: &'static str) -> Layout {
    Layout {
        comma: ",",
        colon: ": ",
        indent: Some(indent),
    }
}
/// Every layout that is known by name.
pub(super) const LAYOUTS: [Layout; 7] = [
    COMPACT,
    SPACED,
    lines("  "),
    lines("    "),
    lines("\t"),
    COLON_SPACED,
    COMMA_SPACED,
];

impl Layout {
    /// The layout in which this value gives this text; compact where none does.
    pub(super) fn of(node: &Node, body: &[u8]) -> Self {
        let gives = |layout: &Self| layout.write(node).as_bytes() == body.trim_ascii();
        LAYOUTS.into_iter().find(gives).unwrap_or(COMPACT)
    }

    /// The value as text.
    pub(super) fn write(self, node: &Node) -> String {
        let mut text = String::new();
        self.write_to(&mut text, node, 0);
        text
    }

    fn write_to(self, text: &mut String, node: &Node, depth: usize) {
        match node {
            Node::Leaf(raw) => text.push_str(raw),
            Node::List(list) => {
                text.push('[');
                for (index, value) in list.iter().enumerate() {
                    self.before(text, index, depth + 1);
                    self.write_to(text, value, depth + 1);
                }
                self.end(text, list.is_empty(), depth, ']');
            }
            Node::Object(members) => {
                text.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    self.before(text, index, depth + 1);
                    text.push_str(name);
                    text.push_str(self.colon);
                    self.write_to(text, value, depth + 1);
                }
                self.end(text, members.is_empty(), depth, '}');
            }
        }
    }

    fn before(self, text: &mut String, index: usize, depth: usize) {
        if index > 0 {
            text.push_str(self.comma);
        }
        self.line(text, depth);
    }

    fn end(self, text: &mut String, is_empty: bool, depth: usize, mark: char) {
        if !is_empty {
            self.line(text, depth);
        }
        text.push(mark);
    }

    fn line(self, text: &mut String, depth: usize) {
        if let Some(indent) = self.indent {
            text.push('\n');
            text.push_str(&indent.repeat(depth));
        }
    }
}

/// The same JSON in another layout. White space around it alone makes no other layout.
pub(super) fn lay_out(body: &[u8], layout: Layout) -> Option<Vec<u8>> {
    let text = layout.write(&Node::read(body)?).into_bytes();
    Some(text).filter(|text| text != body.trim_ascii())
}

/// The same JSON in a rare layout, where that is not one of the two common ones at the same time.
pub(super) fn lay_out_rarely(body: &[u8], layout: Layout) -> Option<Vec<u8>> {
    let text = lay_out(body, layout)?;
    let is_common = [COMPACT, SPACED]
        .into_iter()
        .any(|common| lay_out(body, common).as_ref() == Some(&text));
    (!is_common).then_some(text)
}

/// The JSON with its tree changed, in the layout that it had.
pub(super) fn reshape(body: &[u8], change: impl FnOnce(Node) -> Node) -> Option<Vec<u8>> {
    let node = Node::read(body)?;
    let layout = Layout::of(&node, body);
    let other = change(node.clone());
    (other != node).then(|| layout.write(&other).into_bytes())
}

/// Every object's members by name, as code points compare.
pub(super) fn sorted(node: Node) -> Node {
    match node {
        Node::Leaf(raw) => Node::Leaf(raw),
        Node::List(list) => Node::List(list.into_iter().map(sorted).collect()),
        Node::Object(mut members) => {
            members.sort_by_cached_key(|(name, _)| decoded(name));
            let sort = |(name, value)| (name, sorted(value));
            Node::Object(members.into_iter().map(sort).collect())
        }
    }
}

/// Without the members that are `null`.
pub(super) fn without_nulls(node: Node) -> Node {
    match node {
        Node::Leaf(raw) => Node::Leaf(raw),
        Node::List(list) => Node::List(list.into_iter().map(without_nulls).collect()),
        Node::Object(members) => {
            let is_null = |value: &Node| matches!(value, Node::Leaf(raw) if raw == "null");
            let kept = members.into_iter().filter(|(_, value)| !is_null(value));
            let all = kept.map(|(name, value)| (name, without_nulls(value)));
            Node::Object(all.collect())
        }
    }
}

/// The text of a token in quotation marks; the token itself where it is no whole text.
pub(super) fn decoded(raw: &str) -> String {
    serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_keep_every_byte() {
        let body = r#" {"a\"" : [1.50, -2e+3 ,"x\\"] , "é":null}"#;
        let tokens = tokens(body.as_bytes()).unwrap();
        let joined: String = tokens.iter().map(|token| token.raw()).collect();
        assert_eq!(joined, body);
        assert!(tokens.contains(&Token::Name(r#""a\"""#)));
        assert!(tokens.contains(&Token::Number("-2e+3")));
        assert!(tokens.contains(&Token::Text(r#""x\\""#)));
        assert!(tokens.contains(&Token::Word("null")));
    }

    #[test]
    fn each_layout_is_written_as_its_library_writes_it() {
        let body = br#"{"a":[1,{"b":2}],"c":{},"d":[]}"#;
        let of = |layout| String::from_utf8(lay_out(body, layout).unwrap()).unwrap();
        assert_eq!(of(SPACED), r#"{"a": [1, {"b": 2}], "c": {}, "d": []}"#);
        assert_eq!(
            of(lines("  ")),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}"
        );
        assert_eq!(lay_out(body, COMPACT), None);
        assert_eq!(lay_out(&[body, &b"\n"[..]].concat(), COMPACT), None);
    }

    #[test]
    fn keys_are_sorted_at_every_depth_and_the_layout_stays() {
        let body = b"{\n  \"b\": {\n    \"z\": 1.0,\n    \"y\": 2\n  },\n  \"a\": 1\n}";
        let sorted = reshape(body, sorted).unwrap();
        assert_eq!(
            sorted,
            b"{\n  \"a\": 1,\n  \"b\": {\n    \"y\": 2,\n    \"z\": 1.0\n  }\n}"
        );
    }

    #[test]
    fn what_is_no_json_or_too_deep_gives_nothing() {
        assert!(Node::read(b"{\"a\":1,}").is_none());
        assert!(Node::read(b"").is_none());
        assert!(tokens(b"\"\xff\"").is_none());
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(Node::read(deep.as_bytes()).is_none());
    }

    proptest! {
        #[test]
        fn reading_is_total(body in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = (tokens(&body), Node::read(&body));
        }
    }
}
