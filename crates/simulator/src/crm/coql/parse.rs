//! Words to a query.

use serde_json::{Value, json};

use super::ast::{CoqlQuery, Criterion, Filter, Operand, Operator, Order, Select};
use super::lex::Token;
use crate::crm::reply::Problem;

const MOST_CRITERIA: usize = 25;
const MOST_BRACKETS: usize = 60;
const MOST_COLUMNS: usize = 500;
const MOST_IN: usize = 100;
const MOST_ORDER: usize = 10;
const MOST_ROWS: usize = 2_000;
const MOST_OFFSET: usize = 100_000;
const DEFAULT_ROWS: usize = 200;

pub(crate) fn syntax(details: Value) -> Problem {
    Problem::bad(
        "SYNTAX_ERROR",
        "error occured while parsing the query",
        details,
    )
}

fn too_many(what: &str, limit: usize) -> Problem {
    Problem::bad(
        "LIMIT_EXCEEDED",
        "limit exceeded",
        json!({"by": what, "limit": limit}),
    )
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    criteria: usize,
    depth: usize,
}

pub(crate) fn parse(tokens: &[Token]) -> Result<CoqlQuery, Problem> {
    let mut parser = Parser {
        tokens,
        at: 0,
        criteria: 0,
        depth: 0,
    };
    let query = parser.query()?;
    if parser.at < tokens.len() {
        return Err(parser.near());
    }
    Ok(query)
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn near(&self) -> Problem {
        let near = match self.peek() {
            None => "end of query".to_owned(),
            Some(Token::Word(text) | Token::Text(text) | Token::Number(text)) => text.clone(),
            Some(Token::Sign(sign)) => (*sign).to_owned(),
        };
        syntax(json!({"near": near}))
    }

    fn word(&mut self, keyword: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(keyword));
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(one)) if *one == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, found: bool) -> Result<(), Problem> {
        if found { Ok(()) } else { Err(self.near()) }
    }

    fn name(&mut self) -> Result<String, Problem> {
        let Some(Token::Word(word)) = self.peek() else {
            return Err(self.near());
        };
        if KEYWORDS
            .iter()
            .any(|keyword| word.eq_ignore_ascii_case(keyword))
        {
            return Err(self.near());
        }
        let name = word.clone();
        self.at += 1;
        Ok(name)
    }

    fn query(&mut self) -> Result<CoqlQuery, Problem> {
        let found = self.word("select");
        self.expect(found)?;
        let select = self.select()?;
        let found = self.word("from");
        self.expect(found)?;
        let module = self.name()?;
        if !self.word("where") {
            return Err(syntax(json!({"clause": "where"})));
        }
        let filter = self.filter()?;
        let order = self.order()?;
        let (limit, offset) = self.limit()?;
        Ok(CoqlQuery {
            select,
            module,
            filter,
            order,
            limit,
            offset,
        })
    }

    fn select(&mut self) -> Result<Select, Problem> {
        let first = self.name()?;
        if first.eq_ignore_ascii_case("count") && self.sign("(") {
            let column = self.name()?;
            let found = self.sign(")") && column == "id";
            self.expect(found)?;
            return Ok(Select::Count(format!("{first}({column})")));
        }
        let mut columns = vec![first];
        while self.sign(",") {
            columns.push(self.name()?);
        }
        if columns.len() > MOST_COLUMNS {
            return Err(too_many("select", MOST_COLUMNS));
        }
        Ok(Select::Columns(columns))
    }

    /// With more than two criteria every pair stands in its own brackets, the outermost too.
    fn filter(&mut self) -> Result<Filter, Problem> {
        let start = self.at;
        let filter = self.pair()?;
        if self.criteria > MOST_CRITERIA {
            return Err(too_many("where", MOST_CRITERIA));
        }
        if self.criteria > 2 && !self.encloses(start) {
            return Err(syntax(json!({"clause": "where"})));
        }
        Ok(filter)
    }

    /// Whether one bracket pair spans the words from `start` to here.
    fn encloses(&self, start: usize) -> bool {
        let mut depth = 0_i32;
        let inside = &self.tokens[start..self.at];
        let closes_last = |(at, token): (usize, &Token)| {
            depth += match token {
                Token::Sign("(") => 1,
                Token::Sign(")") => -1,
                Token::Sign(_) | Token::Word(_) | Token::Text(_) | Token::Number(_) => 0,
            };
            depth > 0 || at + 1 == inside.len()
        };
        inside.first() == Some(&Token::Sign("(")) && inside.iter().enumerate().all(closes_last)
    }

    fn pair(&mut self) -> Result<Filter, Problem> {
        let left = self.operand()?;
        let and = self.word("and");
        if !and && !self.word("or") {
            return Ok(left);
        }
        let right = self.operand()?;
        if matches!(self.peek(), Some(Token::Word(word)) if is(word, "and") || is(word, "or")) {
            return Err(syntax(json!({"clause": "where"})));
        }
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(if and {
            Filter::And(left, right)
        } else {
            Filter::Or(left, right)
        })
    }

    fn operand(&mut self) -> Result<Filter, Problem> {
        if !self.sign("(") {
            return self.criterion();
        }
        self.depth += 1;
        if self.depth > MOST_BRACKETS {
            return Err(syntax(json!({"clause": "where"})));
        }
        let inside = self.pair()?;
        let found = self.sign(")");
        self.expect(found)?;
        self.depth -= 1;
        Ok(inside)
    }

    fn criterion(&mut self) -> Result<Filter, Problem> {
        self.criteria += 1;
        let column = self.name()?;
        let operator = self.operator()?;
        let operands = match operator {
            Operator::IsNull | Operator::IsNotNull => Vec::new(),
            Operator::In | Operator::NotIn => self.list()?,
            Operator::Between => {
                let low = self.value()?;
                let found = self.word("and");
                self.expect(found)?;
                vec![low, self.value()?]
            }
            Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual
            | Operator::Like
            | Operator::NotLike => vec![self.value()?],
        };
        Ok(Filter::Test(Criterion {
            column,
            operator,
            operands,
        }))
    }

    fn operator(&mut self) -> Result<Operator, Problem> {
        let signs = [
            ("=", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            ("<", Operator::Less),
            (">=", Operator::GreaterOrEqual),
            (">", Operator::Greater),
        ];
        if let Some((_, operator)) = signs.into_iter().find(|(sign, _)| self.sign(sign)) {
            return Ok(operator);
        }
        if self.word("is") {
            let not = self.word("not");
            let found = self.word("null");
            self.expect(found)?;
            return Ok(if not {
                Operator::IsNotNull
            } else {
                Operator::IsNull
            });
        }
        if self.word("between") {
            return Ok(Operator::Between);
        }
        let not = self.word("not");
        if self.word("in") {
            return Ok(if not { Operator::NotIn } else { Operator::In });
        }
        if self.word("like") {
            return Ok(if not {
                Operator::NotLike
            } else {
                Operator::Like
            });
        }
        Err(self.near())
    }

    fn list(&mut self) -> Result<Vec<Operand>, Problem> {
        let found = self.sign("(");
        self.expect(found)?;
        let mut values = vec![self.value()?];
        while self.sign(",") {
            values.push(self.value()?);
        }
        let found = self.sign(")");
        self.expect(found)?;
        if values.len() > MOST_IN {
            return Err(too_many("in", MOST_IN));
        }
        Ok(values)
    }

    fn value(&mut self) -> Result<Operand, Problem> {
        let value = match self.peek() {
            Some(Token::Text(text)) => Operand::Text(text.clone()),
            Some(Token::Number(number)) => Operand::Number(number.clone()),
            Some(Token::Word(word)) if is(word, "true") => Operand::Boolean(true),
            Some(Token::Word(word)) if is(word, "false") => Operand::Boolean(false),
            Some(Token::Word(_) | Token::Sign(_)) | None => return Err(self.near()),
        };
        self.at += 1;
        Ok(value)
    }

    fn order(&mut self) -> Result<Vec<Order>, Problem> {
        let mut order: Vec<Order> = Vec::new();
        if !self.word("order") {
            return Ok(order);
        }
        let found = self.word("by");
        self.expect(found)?;
        loop {
            let column = self.name()?;
            if order.iter().any(|one| one.column == column) {
                let details = json!({"column_name": column, "clause": "order by"});
                return Err(Problem::bad("DUPLICATE_DATA", "duplicate data", details));
            }
            let descending = self.word("desc");
            if !descending {
                self.word("asc");
            }
            order.push(Order { column, descending });
            if !self.sign(",") {
                break;
            }
        }
        if order.len() > MOST_ORDER {
            return Err(too_many("order by", MOST_ORDER));
        }
        Ok(order)
    }

    /// `limit n`, `limit n offset m`, `limit m, n`.
    fn limit(&mut self) -> Result<(usize, usize), Problem> {
        if !self.word("limit") {
            return Ok((DEFAULT_ROWS, 0));
        }
        let first = self.count()?;
        let (limit, offset) = if self.sign(",") {
            (self.count()?, first)
        } else if self.word("offset") {
            (first, self.count()?)
        } else {
            (first, 0)
        };
        if limit == 0 {
            return Err(Problem::bad(
                "INVALID_DATA",
                "limit should be greater than 0",
                json!({"api_name": "limit"}),
            ));
        }
        if limit > MOST_ROWS {
            return Err(too_many("limit", MOST_ROWS));
        }
        if offset > MOST_OFFSET {
            return Err(too_many("offset", MOST_OFFSET));
        }
        Ok((limit, offset))
    }

    fn count(&mut self) -> Result<usize, Problem> {
        let count = match self.peek() {
            Some(Token::Number(number)) => number.parse().ok(),
            Some(Token::Word(_) | Token::Text(_) | Token::Sign(_)) | None => None,
        };
        let count = count.ok_or_else(|| self.near())?;
        self.at += 1;
        Ok(count)
    }
}

fn is(word: &str, keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword)
}

const KEYWORDS: [&str; 16] = [
    "select", "from", "where", "and", "or", "order", "by", "limit", "offset", "group", "in", "not",
    "like", "is", "null", "between",
];

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
