//! The body read and written again the way a well-known library writes JSON.

use super::escapes::{coded, coded_upper};
use super::json::{COMPACT, Layout, Node, SPACED, sorted};
use super::numbers::{javascript_number, short_float};

/// How a library writes.
struct Writer {
    layout: Layout,
    is_sorted: bool,
    /// A character's spelling inside a text, where it is not itself.
    text: fn(char) -> Option<String>,
    /// A number's spelling.
    number: fn(&str) -> Option<String>,
}

impl Writer {
    fn rewrite(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut node = Node::read(body)?;
        if self.is_sorted {
            node = sorted(node);
        }
        Some(self.layout.write(&self.respell(node)?).into_bytes())
    }

    fn respell(&self, node: Node) -> Option<Node> {
        Some(match node {
            Node::Leaf(raw) => Node::Leaf(self.leaf(&raw)?),
            Node::List(list) => {
                let list = list.into_iter().map(|value| self.respell(value));
                Node::List(list.collect::<Option<_>>()?)
            }
            Node::Object(members) => {
                let member =
                    |(name, value): (String, Node)| Some((self.leaf(&name)?, self.respell(value)?));
                Node::Object(members.into_iter().map(member).collect::<Option<_>>()?)
            }
        })
    }

    fn leaf(&self, raw: &str) -> Option<String> {
        match raw.bytes().next()? {
            b'"' => Some(self.quoted(&serde_json::from_str::<String>(raw).ok()?)),
            b'-' | b'0'..=b'9' => (self.number)(raw),
            _ => Some(raw.to_owned()),
        }
    }

    fn quoted(&self, text: &str) -> String {
        let mut quoted = String::with_capacity(text.len() + 2);
        quoted.push('"');
        for c in text.chars() {
            match (self.text)(c).or_else(|| required(c)) {
                Some(spelling) => quoted.push_str(&spelling),
                None => quoted.push(c),
            }
        }
        quoted.push('"');
        quoted
    }
}

/// What JSON itself requires, in the short forms.
fn required(c: char) -> Option<String> {
    let short = match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\u{0}'..='\u{1f}' => return Some(coded(c)),
        _ => return None,
    };
    Some(short.to_owned())
}

fn as_itself(_: char) -> Option<String> {
    None
}

fn outside_ascii(c: char) -> Option<String> {
    (c > '~').then(|| coded(c))
}

fn of_go(c: char) -> Option<String> {
    matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}').then(|| coded(c))
}

fn of_php(c: char) -> Option<String> {
    if c == '/' {
        return Some("\\/".to_owned());
    }
    (!c.is_ascii()).then(|| coded(c))
}

fn of_dotnet(c: char) -> Option<String> {
    (c > '~' || "\"&'+<>`".contains(c)).then(|| coded_upper(c))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "one of several ways to spell a number"
)]
fn as_it_is(raw: &str) -> Option<String> {
    Some(raw.to_owned())
}

fn of_python_number(raw: &str) -> Option<String> {
    if raw.contains(['.', 'e', 'E']) {
        short_float(raw)
    } else {
        as_it_is(raw)
    }
}

fn of_php_number(raw: &str) -> Option<String> {
    let short = of_python_number(raw)?;
    Some(short.strip_suffix(".0").unwrap_or(&short).to_owned())
}

const JAVASCRIPT: Writer = Writer {
    layout: COMPACT,
    is_sorted: false,
    text: as_itself,
    number: javascript_number,
};

const PYTHON: Writer = Writer {
    layout: SPACED,
    is_sorted: false,
    text: outside_ascii,
    number: of_python_number,
};

pub(super) fn javascript(body: &[u8]) -> Option<Vec<u8>> {
    JAVASCRIPT.rewrite(body)
}

pub(super) fn canonical(body: &[u8]) -> Option<Vec<u8>> {
    let is_sorted = true;
    Writer {
        is_sorted,
        ..JAVASCRIPT
    }
    .rewrite(body)
}

pub(super) fn python(body: &[u8]) -> Option<Vec<u8>> {
    PYTHON.rewrite(body)
}

pub(super) fn python_sorted(body: &[u8]) -> Option<Vec<u8>> {
    let is_sorted = true;
    Writer {
        is_sorted,
        ..PYTHON
    }
    .rewrite(body)
}

pub(super) fn python_compact(body: &[u8]) -> Option<Vec<u8>> {
    let layout = COMPACT;
    Writer { layout, ..PYTHON }.rewrite(body)
}

pub(super) fn python_compact_sorted(body: &[u8]) -> Option<Vec<u8>> {
    let (layout, is_sorted) = (COMPACT, true);
    Writer {
        layout,
        is_sorted,
        ..PYTHON
    }
    .rewrite(body)
}

pub(super) fn go(body: &[u8]) -> Option<Vec<u8>> {
    let (text, is_sorted): (fn(char) -> Option<String>, _) = (of_go, true);
    Writer {
        is_sorted,
        text,
        ..JAVASCRIPT
    }
    .rewrite(body)
}

pub(super) fn php(body: &[u8]) -> Option<Vec<u8>> {
    let writer = Writer {
        layout: COMPACT,
        is_sorted: false,
        text: of_php,
        number: of_php_number,
    };
    writer.rewrite(body)
}

pub(super) fn dotnet(body: &[u8]) -> Option<Vec<u8>> {
    let writer = Writer {
        layout: COMPACT,
        is_sorted: false,
        text: of_dotnet,
        number: as_it_is,
    };
    writer.rewrite(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str =
        "{ \"b\": \"é/<🐈>\\u0041\\u2028\",\n \"a\": [1.0, 1.50, 7, true], \"c\": \"'\\\"\" }";

    fn assert_gives(rewrite: fn(&[u8]) -> Option<Vec<u8>>, due: &str) {
        let found = String::from_utf8(rewrite(BODY.as_bytes()).unwrap()).unwrap();
        assert_eq!(found, due);
    }

    #[test]
    fn each_library_writes_in_its_own_way() {
        assert_gives(
            javascript,
            "{\"b\":\"é/<🐈>A\u{2028}\",\"a\":[1,1.5,7,true],\"c\":\"'\\\"\"}",
        );
        assert_gives(
            canonical,
            "{\"a\":[1,1.5,7,true],\"b\":\"é/<🐈>A\u{2028}\",\"c\":\"'\\\"\"}",
        );
        assert_gives(
            python,
            r#"{"b": "\u00e9/<\ud83d\udc08>A\u2028", "a": [1.0, 1.5, 7, true], "c": "'\""}"#,
        );
        assert_gives(
            python_compact_sorted,
            r#"{"a":[1.0,1.5,7,true],"b":"\u00e9/<\ud83d\udc08>A\u2028","c":"'\""}"#,
        );
        assert_gives(
            go,
            r#"{"a":[1,1.5,7,true],"b":"é/\u003c🐈\u003eA\u2028","c":"'\""}"#,
        );
        assert_gives(
            php,
            r#"{"b":"\u00e9\/<\ud83d\udc08>A\u2028","a":[1,1.5,7,true],"c":"'\""}"#,
        );
        assert_gives(
            dotnet,
            r#"{"b":"\u00E9/\u003C\uD83D\uDC08\u003EA\u2028","a":[1.0,1.50,7,true],"c":"\u0027\u0022"}"#,
        );
    }

    #[test]
    fn what_json_requires_is_always_escaped() {
        let found = javascript(br#"["\u0001\u000a\u0022\u005c\u0008"]"#).unwrap();
        assert_eq!(found, br#"["\u0001\n\"\\\b"]"#);
        assert_eq!(javascript(br#"["\ud800"]"#), None);
    }
}
