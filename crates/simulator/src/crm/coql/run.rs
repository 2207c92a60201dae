//! A query against the records.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::ast::{CoqlQuery, Criterion, Filter, Operand, Operator};
use crate::crm::config::{FieldKind, ModuleSpec};
use crate::crm::fields::kind_of;
use crate::crm::parse_seconds;
use crate::crm::reply::Problem;
use crate::crm::store::{Record, Version};
use crate::crm::switches::{CoqlIdRange, CoqlNulls, CoqlText, Switches};

/// One value of a row, or of a criterion, ready to be compared.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Null,
    Text(String),
    Whole(i64),
    Real(f64),
    Boolean(bool),
}

/// A row and the version of it that the list shows.
pub(crate) type Row<'a> = (&'a Record, &'a Version);

fn invalid(column: &str, operator: &str, reason: &str) -> Problem {
    let details = json!({"reason": reason, "column_name": column, "operator": operator});
    Problem::bad("INVALID_QUERY", "invalid query formed", details)
}

/// What a criterion's column holds, once column, operator and operands are known to fit.
struct Checked<'a> {
    column: &'a str,
    kind: FieldKind,
    operator: Operator,
    operands: Vec<Cell>,
}

enum Plan<'a> {
    And(Box<Plan<'a>>, Box<Plan<'a>>),
    Or(Box<Plan<'a>>, Box<Plan<'a>>),
    Test(Checked<'a>),
}

/// The rows that match, in order, before limit and offset.
pub(crate) fn matching<'a>(
    query: &CoqlQuery,
    module: &ModuleSpec,
    switches: &Switches,
    rows: impl Iterator<Item = Row<'a>>,
) -> Result<Vec<Row<'a>>, Problem> {
    let plan = plan(&query.filter, module, switches)?;
    let order = order(query, module)?;
    let mut found: Vec<(Vec<Cell>, Row<'a>)> = rows
        .filter(|row| holds(&plan, *row, switches.coql_text))
        .map(|row| {
            (
                order
                    .iter()
                    .map(|(name, kind, _)| cell(row, name, kind))
                    .collect(),
                row,
            )
        })
        .collect();
    found.sort_by(|(left, left_row), (right, right_row)| {
        let by_columns =
            left.iter()
                .zip(right)
                .zip(&order)
                .map(|((left, right), (_, _, descending))| {
                    let way = in_order(left, right, switches.coql_nulls, switches.coql_text);
                    if *descending { way.reverse() } else { way }
                });
        let ids = || left_row.0.id.cmp(&right_row.0.id);
        by_columns
            .fold(Ordering::Equal, Ordering::then)
            .then_with(ids)
    });
    Ok(found.into_iter().map(|(_, row)| row).collect())
}

fn plan<'a>(
    filter: &'a Filter,
    module: &ModuleSpec,
    switches: &Switches,
) -> Result<Plan<'a>, Problem> {
    let both = |left, right| {
        Ok::<_, Problem>((
            Box::new(plan(left, module, switches)?),
            Box::new(plan(right, module, switches)?),
        ))
    };
    Ok(match filter {
        Filter::And(left, right) => {
            both(left, right).map(|(left, right)| Plan::And(left, right))?
        }
        Filter::Or(left, right) => both(left, right).map(|(left, right)| Plan::Or(left, right))?,
        Filter::Test(criterion) => Plan::Test(check(criterion, module, switches)?),
    })
}

fn check<'a>(
    criterion: &'a Criterion,
    module: &ModuleSpec,
    switches: &Switches,
) -> Result<Checked<'a>, Problem> {
    let (column, operator) = (criterion.column.as_str(), criterion.operator);
    let refuse = |reason: &str| invalid(column, operator.name(), reason);
    let kind = kind_of(module, column).ok_or_else(|| refuse("column is not available"))?;
    if !allowed(&kind, operator, switches.coql_filters_large_text) {
        return Err(refuse("operator is not supported for this column"));
    }
    let is_range = matches!(
        operator,
        Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual
            | Operator::Between
    );
    if column == "id" && is_range && switches.coql_id_range == CoqlIdRange::Refused {
        return Err(refuse("operator is not supported for this column"));
    }
    let operand = |operand: &Operand| {
        literal(column, &kind, operand).ok_or_else(|| refuse("value does not fit the column"))
    };
    let operands = criterion
        .operands
        .iter()
        .map(operand)
        .collect::<Result<_, _>>()?;
    Ok(Checked {
        column,
        kind,
        operator,
        operands,
    })
}

fn allowed(kind: &FieldKind, operator: Operator, large_text: bool) -> bool {
    let on_text = matches!(
        operator,
        Operator::Equal
            | Operator::NotEqual
            | Operator::In
            | Operator::NotIn
            | Operator::Like
            | Operator::NotLike
            | Operator::IsNull
            | Operator::IsNotNull
    );
    match kind {
        FieldKind::Text { .. } | FieldKind::Picklist(_) | FieldKind::SmallText => on_text,
        FieldKind::LargeText | FieldKind::RichText => on_text && large_text,
        FieldKind::DateTime | FieldKind::Integer | FieldKind::Decimal => {
            !matches!(operator, Operator::Like | Operator::NotLike)
        }
        FieldKind::Boolean => operator == Operator::Equal,
        FieldKind::Person => matches!(operator, Operator::Equal | Operator::In),
        FieldKind::FileUpload { .. } => false,
    }
}

fn literal(column: &str, kind: &FieldKind, operand: &Operand) -> Option<Cell> {
    match (kind, operand) {
        (FieldKind::DateTime, Operand::Text(text)) => parse_seconds(text).map(Cell::Whole),
        (FieldKind::Integer, Operand::Number(text)) => text.parse().ok().map(Cell::Whole),
        // Ids are written with or without quotes.
        (FieldKind::Integer, Operand::Text(text)) if column == "id" => {
            text.parse().ok().map(Cell::Whole)
        }
        (FieldKind::Decimal, Operand::Number(text)) => text.parse().ok().map(Cell::Real),
        (FieldKind::Boolean, Operand::Boolean(yes)) => Some(Cell::Boolean(*yes)),
        (FieldKind::Person, Operand::Text(text) | Operand::Number(text)) => {
            Some(Cell::Text(text.clone()))
        }
        (
            FieldKind::Text { .. }
            | FieldKind::SmallText
            | FieldKind::LargeText
            | FieldKind::RichText
            | FieldKind::Picklist(_),
            Operand::Text(text),
        ) => Some(Cell::Text(text.clone())),
        _ => None,
    }
}

fn order<'a>(
    query: &'a CoqlQuery,
    module: &ModuleSpec,
) -> Result<Vec<(&'a str, FieldKind, bool)>, Problem> {
    let column = |one: &'a super::ast::Order| {
        let name = one.column.as_str();
        let kind = kind_of(module, name)
            .ok_or_else(|| invalid(name, "order by", "column is not available"))?;
        let sortable = match kind {
            FieldKind::SmallText
            | FieldKind::LargeText
            | FieldKind::RichText
            | FieldKind::FileUpload { .. } => false,
            FieldKind::Text { .. }
            | FieldKind::Picklist(_)
            | FieldKind::DateTime
            | FieldKind::Integer
            | FieldKind::Decimal
            | FieldKind::Boolean
            | FieldKind::Person => true,
        };
        if !sortable {
            return Err(invalid(name, "order by", "column cannot be sorted by"));
        }
        Ok((name, kind, one.descending))
    };
    query.order.iter().map(column).collect()
}

fn cell((record, version): Row<'_>, name: &str, kind: &FieldKind) -> Cell {
    let person = |name: &str| {
        Cell::Text(
            crate::crm::fields::person(name)["id"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    match name {
        "id" => return Cell::Whole(record.id),
        "Created_Time" => return Cell::Whole(record.created_ms.div_euclid(1000)),
        "Modified_Time" => return Cell::Whole(version.modified_s),
        "Created_By" | "Owner" => return person(&record.created_by),
        "Modified_By" => return person(&version.modified_by),
        _ => {}
    }
    match (kind, version.fields.get(name)) {
        (FieldKind::Decimal, Some(Value::Number(number))) => {
            number.as_f64().map_or(Cell::Null, Cell::Real)
        }
        (_, Some(Value::Number(number))) => number.as_i64().map_or(Cell::Null, Cell::Whole),
        (_, Some(Value::String(text))) => Cell::Text(text.clone()),
        (_, Some(Value::Bool(yes))) => Cell::Boolean(*yes),
        (_, Some(Value::Null | Value::Array(_) | Value::Object(_)) | None) => Cell::Null,
    }
}

fn holds(plan: &Plan<'_>, row: Row<'_>, how: CoqlText) -> bool {
    match plan {
        Plan::And(left, right) => holds(left, row, how) && holds(right, row, how),
        Plan::Or(left, right) => holds(left, row, how) || holds(right, row, how),
        Plan::Test(test) => passes(test, &cell(row, test.column, &test.kind), how),
    }
}

/// As in SQL, an empty value passes `is null` only.
fn passes(test: &Checked<'_>, value: &Cell, how: CoqlText) -> bool {
    if *value == Cell::Null {
        return test.operator == Operator::IsNull;
    }
    let compared: Vec<Option<Ordering>> = test
        .operands
        .iter()
        .map(|operand| compare(value, operand, how))
        .collect();
    let first = compared.first().copied().flatten();
    let any_equal = compared.contains(&Some(Ordering::Equal));
    match test.operator {
        Operator::Equal | Operator::In => any_equal,
        Operator::NotEqual | Operator::NotIn => !any_equal,
        Operator::Less => first.is_some_and(Ordering::is_lt),
        Operator::LessOrEqual => first.is_some_and(Ordering::is_le),
        Operator::Greater => first.is_some_and(Ordering::is_gt),
        Operator::GreaterOrEqual => first.is_some_and(Ordering::is_ge),
        Operator::Between => {
            let last = compared.get(1).copied().flatten();
            first.is_some_and(Ordering::is_ge) && last.is_some_and(Ordering::is_le)
        }
        Operator::Like => like(value, &test.operands, how),
        Operator::NotLike => !like(value, &test.operands, how),
        Operator::IsNull => false,
        Operator::IsNotNull => true,
    }
}

fn folded(text: &str, how: CoqlText) -> String {
    match how {
        CoqlText::AnyCase => text.to_lowercase(),
        CoqlText::Exact => text.to_owned(),
    }
}

fn compare(left: &Cell, right: &Cell, how: CoqlText) -> Option<Ordering> {
    match (left, right) {
        (Cell::Text(left), Cell::Text(right)) => Some(folded(left, how).cmp(&folded(right, how))),
        (Cell::Whole(left), Cell::Whole(right)) => Some(left.cmp(right)),
        (Cell::Real(left), Cell::Real(right)) => left.partial_cmp(right),
        (Cell::Boolean(left), Cell::Boolean(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn in_order(left: &Cell, right: &Cell, nulls: CoqlNulls, how: CoqlText) -> Ordering {
    let null_first = match nulls {
        CoqlNulls::First => Ordering::Less,
        CoqlNulls::Last => Ordering::Greater,
    };
    match (left, right) {
        (Cell::Null, Cell::Null) => Ordering::Equal,
        (Cell::Null, _) => null_first,
        (_, Cell::Null) => null_first.reverse(),
        _ => compare(left, right, how).unwrap_or(Ordering::Equal),
    }
}

/// `%` stands for any run of characters.
fn like(value: &Cell, operands: &[Cell], how: CoqlText) -> bool {
    let (Cell::Text(value), Some(Cell::Text(pattern))) = (value, operands.first()) else {
        return false;
    };
    let (value, pattern) = (folded(value, how), folded(pattern, how));
    let parts: Vec<&str> = pattern.split('%').collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return value == pattern;
    };
    let Some(mut rest) = value.strip_prefix(first) else {
        return false;
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
