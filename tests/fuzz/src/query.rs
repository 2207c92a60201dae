//! What every query must be, read without the code that wrote it.

/// The longest query this product writes, with room to spare. Names and ids are bounded, so that no value
/// can make a query long.
const LONGEST: usize = 2_000;

/// Asserts that this is one `select` over one module, whose literals cannot end early.
#[track_caller]
pub(crate) fn assert_one_query(query: &str) {
    assert_eq!(fault(query), None, "{query}");
}

/// What is wrong with the query.
fn fault(query: &str) -> Option<&'static str> {
    if query.len() > LONGEST {
        return Some("too long");
    }
    if !query.starts_with("select ") {
        return Some("no select");
    }
    // Odd parts are literals: there is no other quote in a query that is whole.
    let parts: Vec<_> = query.split('\'').collect();
    if parts.len().is_multiple_of(2) {
        return Some("an open literal");
    }
    let literal = |b: u8| b.is_ascii_alphanumeric() || b"_:+-".contains(&b);
    let mut literals = parts.iter().skip(1).step_by(2);
    if literals.any(|part| part.is_empty() || !part.bytes().all(literal)) {
        return Some("a literal with other characters than ids and times have");
    }
    let outside: Vec<&str> = parts.into_iter().step_by(2).collect();
    let mut between = outside.iter().skip(1);
    if between.any(|part| part.trim().is_empty()) {
        return Some("two literals in a row");
    }
    structure(&outside.join(" "))
}

/// What is wrong with the query but for its literals.
fn structure(text: &str) -> Option<&'static str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_ ,()<>=".contains(&b);
    if !text.bytes().all(plain) {
        return Some("other characters than names and operators have");
    }
    if let Some(wrong) = brackets(text) {
        return Some(wrong);
    }
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let once = |clause| words().filter(|word| *word == clause).count() == 1;
    let all = ["select", "from", "where", "order", "limit"]
        .into_iter()
        .all(once);
    (!all).then_some("a clause that is missing or comes twice")
}

/// What is wrong with the brackets: each joins two conditions by one word, or holds a list. A value that
/// adds a condition of its own shows as a second word, or as one outside all brackets.
fn brackets(text: &str) -> Option<&'static str> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut open: Vec<(bool, usize)> = Vec::new();
    let mut last = "";
    for word in spaced.split_ascii_whitespace() {
        match word {
            "(" => open.push((last == "in", 0)),
            ")" => match open.pop() {
                None => return Some("a bracket that nothing opened"),
                Some((is_list, joined)) if joined != usize::from(!is_list) => {
                    return Some("a bracket that does not join two");
                }
                Some(_) => {}
            },
            "and" | "or" => match open.last_mut() {
                None => return Some("a second condition outside the brackets"),
                Some((_, joined)) => *joined += 1,
            },
            _ => {}
        }
        last = word;
    }
    (!open.is_empty()).then_some("an open bracket")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "select id from M where (A in ('x','y') and B <= '2026-01-01T00:00:00+00:00') \
                        order by id asc limit 7";

    #[test]
    fn a_query_of_ours_is_one_and_what_a_value_could_do_to_it_is_seen() {
        assert_eq!(fault(GOOD), None);
        for value in [
            "x'",
            "x' or A = 'y",
            "x') or (A = 'y",
            "x') or A in ('y",
            "x y",
            "",
            "x\\",
            "x''y",
        ] {
            assert!(fault(&GOOD.replacen('x', value, 1)).is_some(), "{value}");
        }
        let key = "select id from M where K = 'x' order by id asc limit 10";
        assert_eq!(fault(key), None);
        assert!(fault(&key.replace('x', "x' or K > '0")).is_some());
        for (from, to) in [
            ("(A", "((A"),
            (" order", ") order"),
            ("from M", "from M, select"),
            (" limit 7", ""),
            ("from M", "from M;"),
            ("select", "delete"),
        ] {
            assert!(fault(&GOOD.replacen(from, to, 1)).is_some(), "{to}");
        }
        assert!(fault(&GOOD.replacen('x', &"x".repeat(2_000), 1)).is_some());
    }
}
