use super::super::lex::lex;
use super::*;
use crate::crm::switches::CoqlQuote;

fn query(text: &str) -> Result<CoqlQuery, Problem> {
    parse(&lex(text, CoqlQuote::Doubled).unwrap())
}

fn code(text: &str) -> &'static str {
    query(text).map_or_else(|problem| problem.code, |_| "none")
}

#[test]
fn a_whole_query_is_read() {
    let text = "SELECT Name, State from M where (State in ('a','b')) and (At <= '2026-01-01T00:00:00+00:00') \
                order by At desc, id limit 50 offset 100";
    let query = query(text).unwrap();
    assert_eq!(
        query.select,
        Select::Columns(vec!["Name".into(), "State".into()])
    );
    assert_eq!(
        (query.module.as_str(), query.limit, query.offset),
        ("M", 50, 100)
    );
    assert_eq!(query.order.len(), 2);
    assert!(query.order[0].descending && !query.order[1].descending);
    assert!(matches!(query.filter, Filter::And(_, _)));
}

#[test]
fn limits_take_both_forms_and_have_a_default() {
    let limits = |tail: &str| {
        let query = query(&format!("select id from M where a = 1 {tail}")).unwrap();
        (query.limit, query.offset)
    };
    assert_eq!(limits(""), (200, 0));
    assert_eq!(limits("limit 10, 20"), (20, 10));
    assert_eq!(limits("limit 20 offset 10"), (20, 10));
}

#[test]
fn more_than_two_criteria_need_paired_brackets() {
    for fine in [
        "(a = 1)",
        "a = 1 and b = 2",
        "((a = 1 and b = 2) and c = 3)",
        "((a = 1 or b = 2) or (c = 3 and d in (4,5)))",
    ] {
        assert_eq!(
            code(&format!("select id from M where {fine}")),
            "none",
            "{fine}"
        );
    }
    for bad in [
        "a = 1 and b = 2 and c = 3",
        "(a = 1 and b = 2) and c = 3",
        "(a = 1 and b = 2 and c = 3)",
        "(a = 1 and b = 2) and (c = 3 or d = 4)",
        "((a = 1 and b = 2) and c = 3",
        "()",
        "a = 1 and",
    ] {
        assert_eq!(
            code(&format!("select id from M where {bad}")),
            "SYNTAX_ERROR",
            "{bad}"
        );
    }
}

#[test]
fn where_is_mandatory() {
    assert_eq!(code("select id from M"), "SYNTAX_ERROR");
    assert_eq!(code("select id from M order by id"), "SYNTAX_ERROR");
}

#[test]
fn limits_of_the_language_are_kept() {
    assert_eq!(code("select id from M where a = 1 limit 0"), "INVALID_DATA");
    assert_eq!(
        code("select id from M where a = 1 limit 2001"),
        "LIMIT_EXCEEDED"
    );
    assert_eq!(
        code("select id from M where a = 1 limit 1 offset 100001"),
        "LIMIT_EXCEEDED"
    );
    let values = vec!["1"; 101].join(",");
    assert_eq!(
        code(&format!("select id from M where a in ({values})")),
        "LIMIT_EXCEEDED"
    );
    let columns = vec!["a"; 501].join(",");
    assert_eq!(
        code(&format!("select {columns} from M where a = 1")),
        "LIMIT_EXCEEDED"
    );
    let order: Vec<String> = (0..11).map(|n| format!("c{n}")).collect();
    assert_eq!(
        code(&format!(
            "select id from M where a = 1 order by {}",
            order.join(",")
        )),
        "LIMIT_EXCEEDED"
    );
    assert_eq!(
        code("select id from M where a = 1 order by id, id"),
        "DUPLICATE_DATA"
    );
    let many = (0..25).fold("a = 1".to_owned(), |inner, _| {
        format!("({inner} and a = 1)")
    });
    assert_eq!(
        code(&format!("select id from M where {many}")),
        "LIMIT_EXCEEDED"
    );
}

#[test]
fn deep_brackets_are_refused_and_not_followed() {
    let deep = format!("{}a = 1{}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(
        code(&format!("select id from M where {deep}")),
        "SYNTAX_ERROR"
    );
}

#[test]
fn nothing_but_a_select_is_read() {
    for bad in [
        "",
        "delete from M where a = 1",
        "select * from M where a = 1",
        "select id from M where a = b",
        "select id from M where a is 1",
        "select id from M where a = 1 limit x",
        "select id from M where a = 1 extra",
        "select count(a) from M where a = 1",
        "select id from M where a between 1 or 2",
        "select from M where a = 1",
    ] {
        let tokens = lex(bad, CoqlQuote::Doubled);
        let refused = tokens.map_or(true, |tokens| parse(&tokens).is_err());
        assert!(refused, "{bad}");
    }
    assert_eq!(
        query("select COUNT(id) from M where a = 1").unwrap().select,
        Select::Count("COUNT(id)".into())
    );
}
