use super::*;

const FILE: &str =
    "name = 7\ntypo = 1\n[poll]\npages = 0\nwait = \"5\"\n[[key]]\nname = \"a\"\nx = 1\n";

#[test]
fn every_mistake_is_named_at_once_with_its_line_and_key() {
    let reader = Reader::new("s.toml", FILE);
    let root = reader.root();
    root.text("name");
    root.text("stage");
    let poll = root.section("poll");
    poll.integer_or("pages", 5, 1..=10);
    poll.duration_or("wait", "10s");
    for key in root.sections("key") {
        key.text("name");
        key.text("secret");
    }
    let mistakes = reader.finish().unwrap_err().to_string();
    let lines: Vec<_> = mistakes.lines().collect();
    assert_eq!(
        lines,
        [
            "s.toml: stage: is missing",
            "s.toml:1: name: must be a text",
            "s.toml:2: typo: no such key",
            "s.toml:4: poll.pages: must be a whole number from 1 to 10",
            "s.toml:5: poll.wait: expected a whole number and a unit: 500ms, 10s, 5m, 6h or 45d",
            "s.toml:6: key[0].secret: is missing",
            "s.toml:8: key[0].x: no such key",
        ]
    );
}

#[test]
fn a_key_in_quotes_with_a_dot_in_it_is_not_the_key_of_an_inner_table() {
    let reader = Reader::new("s.toml", "\"poll.pages\" = 3\n[poll]\npages = 4\n");
    let poll = reader.root().section("poll");
    assert_eq!(poll.integer_or("pages", 5, 1..=10), 4);
    let mistakes = reader.finish().unwrap_err().to_string();
    assert_eq!(mistakes, "s.toml:1: \"poll.pages\": no such key");
}

#[test]
fn variables_override_and_unknown_ones_are_mistakes() {
    let over = |k: &str, v: &str| (k.to_owned(), v.to_owned(), format!("X_{k}"));
    let reader = Reader::new("s.toml", "[poll]\npages = 3\n")
        .with_overrides([over("poll.pages", "4"), over("poll.nope", "1")]);
    assert_eq!(
        reader.root().section("poll").integer_or("pages", 5, 1..=10),
        4
    );
    let mistakes = reader.finish().unwrap_err();
    assert_eq!(mistakes.to_string(), "X_poll.nope: poll.nope: no such key");
}

#[test]
fn a_variable_overrides_a_list_and_an_empty_one_makes_it_empty() {
    let file = "words = [\"a\"]\n";
    for (value, wanted) in [
        ("", vec![]),
        ("  ", vec![]),
        ("b", vec!["b"]),
        ("b, c", vec!["b", "c"]),
    ] {
        let over = ("words".to_owned(), value.to_owned(), "X_WORDS".to_owned());
        let reader = Reader::new("s.toml", file).with_overrides([over]);
        assert_eq!(reader.root().texts("words"), wanted, "{value:?}");
        assert!(reader.finish().is_ok());
    }
}

#[test]
fn a_syntax_error_is_a_mistake_with_its_line() {
    let reader = Reader::new("s.toml", "a = 1\nb = = 2\n");
    reader.root().integer_or("a", 0, 0..=9);
    let mistakes = reader.finish().unwrap_err();
    assert!(mistakes.0.iter().any(|m| m.line == 2), "{mistakes}");
}

#[test]
fn what_was_asked_for_is_listed_with_its_default() {
    let reader = Reader::new("s.toml", "[[key]]\nname = \"a\"\n");
    let root = reader.root();
    root.section("poll").duration_or("wait", "10s");
    root.sections("key")[0].text("name");
    let asked: Vec<_> = reader
        .asked()
        .into_iter()
        .map(|a| (a.key, a.default))
        .collect();
    assert_eq!(
        asked,
        [
            ("key[].name".into(), None),
            ("poll.wait".into(), Some("10s".into()))
        ]
    );
}
