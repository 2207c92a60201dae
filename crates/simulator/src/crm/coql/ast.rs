//! What a query is once it is read.

/// A parsed query.
#[derive(Debug, PartialEq)]
pub(crate) struct CoqlQuery {
    pub(crate) select: Select,
    pub(crate) module: String,
    pub(crate) filter: Filter,
    pub(crate) order: Vec<Order>,
    pub(crate) limit: usize,
    pub(crate) offset: usize,
}

/// What a query asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Select {
    Columns(Vec<String>),
    /// `COUNT(id)`, under the name it was asked by.
    Count(String),
}

/// One column of the order.
#[derive(Debug, PartialEq)]
pub(crate) struct Order {
    pub(crate) column: String,
    pub(crate) descending: bool,
}

/// The `where` clause.
#[derive(Debug, PartialEq)]
pub(crate) enum Filter {
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
    Test(Criterion),
}

/// One criterion.
#[derive(Debug, PartialEq)]
pub(crate) struct Criterion {
    pub(crate) column: String,
    pub(crate) operator: Operator,
    pub(crate) operands: Vec<Operand>,
}

/// A value in a criterion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Text(String),
    Number(String),
    Boolean(bool),
}

/// What a criterion asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
    Like,
    NotLike,
    Between,
    IsNull,
    IsNotNull,
}

impl Operator {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
            Self::Like => "like",
            Self::NotLike => "not like",
            Self::Between => "between",
            Self::IsNull => "is null",
            Self::IsNotNull => "is not null",
        }
    }
}
