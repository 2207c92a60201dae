//! Lists of due rows, page by page and past the rows already seen.

use jiff::Timestamp;
use sendtrail_core::ids::{CrmName, HistoryId};
use sendtrail_core::ports::{
    ListHistory, ListPage, ListQuery, ListStart, StoreError, UntouchedPage, UntouchedQuery,
};
use sendtrail_core::record::Read;
use sendtrail_core::state::State;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::coql::{self, Condition};
use crate::fault::Fault;
use crate::http::Call;
use crate::record::{self, MODIFIED_TIME};
use crate::store::Zoho;

/// The most rows of one page: more would cost another credit.
const MOST_ROWS: u32 = 200;
/// The CRM skips no further.
const MOST_SKIPPED: u64 = 100_000;
/// The largest answer of a list: every row with two full multi-line fields.
const LIST_BYTES: u64 = 40 * 1024 * 1024;
const IN_FLIGHT: [State; 2] = [State::Sending, State::Accepted];

/// How far a chain of pages has come, among the rows with a next check and among those without.
///
/// The CRM does not say whether empty values sort first or last. Each kind is contiguous in either order,
/// so a mark in each tells what is left, whichever it is, and no row comes twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    with_time: Option<(Timestamp, HistoryId)>,
    without: Option<HistoryId>,
    part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    WithTime,
    Without,
}

/// Which kinds the rest of a chain is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    /// Both at once.
    #[default]
    Both,
    /// The chain started past an offset and met this kind only. Rows of the other kind may be among those
    /// skipped and would come first now; they wait until this kind is done.
    First(Kind),
    /// The kind that waited.
    Last(Kind),
}

impl Kind {
    fn other(self) -> Self {
        match self {
            Self::WithTime => Self::Without,
            Self::Without => Self::WithTime,
        }
    }
}

impl Cursor {
    /// The rows of the chain that were not returned yet.
    fn condition(&self, next_check_at: &str) -> Condition {
        let of = |kind| match kind {
            Kind::WithTime => self.with_time_left(next_check_at),
            Kind::Without => self.without_left(next_check_at),
        };
        match self.part {
            Part::Both => of(Kind::Without).or(&of(Kind::WithTime)),
            Part::First(kind) | Part::Last(kind) => of(kind),
        }
    }

    fn with_time_left(&self, name: &str) -> Condition {
        match &self.with_time {
            None => Condition::not_empty(name),
            Some((at, id)) => {
                let later = Condition::time(name, ">", *at);
                let same = Condition::time(name, "=", *at);
                later.or(&same.and(&Condition::compare("id", ">", id.as_str())))
            }
        }
    }

    fn without_left(&self, name: &str) -> Condition {
        match &self.without {
            None => Condition::empty(name),
            Some(id) => Condition::empty(name).and(&Condition::compare("id", ">", id.as_str())),
        }
    }

    /// Moves past a row.
    fn pass(&mut self, id: HistoryId, next_check_at: Option<Timestamp>) {
        match next_check_at {
            Some(at) => self.with_time = Some((at, id)),
            None => self.without = Some(id),
        }
    }

    /// After a full page that started past an offset.
    fn hold_back_what_was_skipped(&mut self) {
        self.part = match (&self.with_time, &self.without) {
            (Some(_), None) => Part::First(Kind::WithTime),
            (None, Some(_)) => Part::First(Kind::Without),
            (Some(_), Some(_)) | (None, None) => Part::Both,
        };
    }

    /// The cursor for the next page, if there can be one.
    fn next(mut self, page_is_full: bool) -> Option<Self> {
        match (self.part, page_is_full) {
            (Part::Both | Part::Last(_), false) => return None,
            (Part::First(kind), false) => self.part = Part::Last(kind.other()),
            (Part::Both | Part::First(_) | Part::Last(_), true) => {}
        }
        Some(self)
    }
}

impl Zoho {
    /// Runs a query whose limit is `limit`.
    pub(crate) async fn query(&self, select: String, limit: u32) -> Result<Answer, StoreError> {
        let body = json!({ "select_query": select }).to_string();
        let call = Call::json(reqwest::Method::POST, &["coql"], body)
            .costing(coql::credits(limit))
            .at_most(LIST_BYTES);
        self.caller.call(&call).await.map_err(Fault::into_error)
    }

    /// In flight, and next check empty, due or past the deadline.
    fn due(&self, now: Timestamp) -> Condition {
        let next_check_at = self.fields.next_check_at.as_str();
        let state = self.fields.state.as_str();
        let due = Condition::empty(next_check_at)
            .or(&Condition::time(next_check_at, "<=", now))
            .or(&Condition::time(self.fields.deadline.as_str(), "<=", now));
        Condition::one_of(state, &IN_FLIGHT.map(State::label)).and(&due)
    }

    pub(crate) fn list_query(&self, query: &ListQuery<Cursor>, limit: u32) -> String {
        let next_check_at = self.fields.next_check_at.as_str();
        let due = self.due(query.now);
        let (condition, offset) = match &query.start {
            ListStart::First => (due, String::new()),
            ListStart::Offset(rows) => {
                let rows = (*rows).min(MOST_SKIPPED);
                (due, format!(" offset {rows}"))
            }
            ListStart::After(cursor) => (due.and(&cursor.condition(next_check_at)), String::new()),
        };
        format!(
            "select {MODIFIED_TIME}, {} from {} where {condition} \
             order by {next_check_at} asc, id asc limit {limit}{offset}",
            self.listed_names(),
            self.module
        )
    }

    /// The fields of a row that is worked on.
    fn listed_names(&self) -> String {
        [
            &self.fields.state,
            &self.fields.progress,
            &self.fields.input,
            &self.fields.next_check_at,
            &self.fields.deadline,
            &self.fields.external_id,
            &self.fields.document_sha256,
            &self.fields.source_record,
        ]
        .map(CrmName::as_str)
        .join(", ")
    }

    /// In flight, and not written since.
    fn untouched(&self, before: Timestamp) -> Condition {
        Condition::one_of(self.fields.state.as_str(), &IN_FLIGHT.map(State::label))
            .and(&Condition::time(MODIFIED_TIME, "<=", before))
    }

    pub(crate) fn untouched_query(&self, query: &UntouchedQuery, limit: u32) -> String {
        format!(
            "select {MODIFIED_TIME}, {} from {} where {} \
             order by {MODIFIED_TIME} asc, id asc limit {limit} offset {}",
            self.listed_names(),
            self.module,
            self.untouched(query.before),
            query.offset.min(MOST_SKIPPED)
        )
    }

    /// The page that an answer to `query` is, and where the next one starts.
    pub(crate) fn list_page(
        &self,
        query: &ListQuery<Cursor>,
        limit: u32,
        answer: &Answer,
    ) -> Result<ListPage<Cursor>, StoreError> {
        let (rows, more) = answer.page()?;
        let is_full = more || rows.len() >= limit as usize;
        let mut cursor = match &query.start {
            ListStart::First | ListStart::Offset(_) => Cursor::default(),
            ListStart::After(cursor) => cursor.clone(),
        };
        let mut reads = Vec::with_capacity(rows.len());
        let mut has_moved = false;
        for row in rows {
            let Some(read) = self.listed(&row, answer) else {
                continue;
            };
            // A row whose place in the order cannot be read moves no mark.
            if let Ok(at) = record::time(&row, self.fields.next_check_at.as_str()) {
                cursor.pass(read.record.id.clone(), at);
                has_moved = true;
            }
            reads.push(read);
        }
        if is_full && matches!(query.start, ListStart::Offset(1..)) {
            cursor.hold_back_what_was_skipped();
        }
        // A full page that moved no mark would come again for ever.
        let next = cursor.next(is_full && has_moved);
        Ok(ListPage { rows: reads, next })
    }

    /// A row that cannot be read is left out, and does not hold the others up.
    fn listed(&self, row: &Map<String, Value>, answer: &Answer) -> Option<Read> {
        self.row(row, answer)
            .inspect_err(|error| tracing::warn!(%error, "a listed row is unreadable and left out"))
            .ok()
    }
}

impl ListHistory for Zoho {
    type Cursor = Cursor;

    async fn list_due(&self, query: &ListQuery<Cursor>) -> Result<ListPage<Cursor>, StoreError> {
        let limit = query.limit.clamp(1, MOST_ROWS);
        let answer = self.query(self.list_query(query, limit), limit).await?;
        self.list_page(query, limit, &answer)
    }

    async fn count_due(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.count_where(&self.due(now)).await
    }

    async fn list_untouched(&self, query: &UntouchedQuery) -> Result<UntouchedPage, StoreError> {
        let limit = query.limit.clamp(1, MOST_ROWS);
        let answer = self
            .query(self.untouched_query(query, limit), limit)
            .await?;
        let (rows, more) = answer.page()?;
        let more = more || rows.len() >= limit as usize;
        let rows = rows.iter().filter_map(|row| self.listed(row, &answer));
        Ok(UntouchedPage {
            rows: rows.collect(),
            more,
        })
    }

    async fn count_untouched(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.count_where(&self.untouched(before)).await
    }

    async fn count_foreign_states(&self) -> Result<u64, StoreError> {
        let state = self.fields.state.as_str();
        let states = State::ALL.map(State::label);
        let foreign = Condition::none_of(state, &states).and(&Condition::not_empty(state));
        self.count_where(&foreign).await
    }
}

impl Zoho {
    async fn count_where(&self, condition: &Condition) -> Result<u64, StoreError> {
        let select = format!("select COUNT(id) from {} where {condition}", self.module);
        let answer = self.query(select, 1).await?;
        let rows = answer.rows()?;
        let Some(row) = rows.first() else {
            return Ok(0);
        };
        count(row).ok_or_else(|| StoreError::Malformed {
            detail: "expected a count".to_owned(),
        })
    }
}

/// The count in a row, whose key may be spelled in several ways.
pub(crate) fn count(row: &Map<String, Value>) -> Option<u64> {
    let is_count = |key: &str| {
        key.get(..5)
            .is_some_and(|k| k.eq_ignore_ascii_case("count"))
    };
    let (_, value) = row.iter().find(|(key, _)| is_count(key))?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
