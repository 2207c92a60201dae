//! The records that changed last, for people.

use jiff::Timestamp;
use sendtrail_core::ids::CrmName;
use sendtrail_core::ports::StoreError;
use sendtrail_core::record::Read;
use sendtrail_core::state::State;

use crate::coql::Condition;
use crate::record::MODIFIED_TIME;
use crate::store::Zoho;

/// The most rows that cost one credit.
const MOST_ROWS: u32 = 200;

/// Records for people to look at. A list may lag, and no row of it is a base for a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    /// The records, the last changed first, without input and without the document's handle.
    pub rows: Vec<Read>,
    /// How many rows could not be read and were left out.
    pub unreadable: usize,
    /// Whether there are more than were asked for.
    pub more: bool,
}

impl Zoho {
    /// The records that changed last, up to `limit` (1 to 200; one credit). With `states`, only records in
    /// one of these; without, every record, also one whose state field holds something else.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn recent(&self, limit: u32, states: &[State]) -> Result<Recent, StoreError> {
        let limit = limit.clamp(1, MOST_ROWS);
        let answer = self.query(self.recent_query(limit, states), limit).await?;
        let (rows, more) = answer.page()?;
        let found = rows.len();
        let row = |row| self.row(row, &answer).ok();
        let rows: Vec<Read> = rows.iter().filter_map(row).collect();
        Ok(Recent {
            unreadable: found - rows.len(),
            rows,
            more,
        })
    }

    pub(crate) fn recent_query(&self, limit: u32, states: &[State]) -> String {
        let names = [
            &self.fields.state,
            &self.fields.progress,
            &self.fields.external_id,
            &self.fields.document_sha256,
        ]
        .map(CrmName::as_str)
        .join(", ");
        let labels: Vec<_> = states.iter().map(|state| state.label()).collect();
        let condition = if labels.is_empty() {
            // A query needs a condition; every record has a version.
            Condition::time(MODIFIED_TIME, ">=", Timestamp::UNIX_EPOCH)
        } else {
            Condition::one_of(self.fields.state.as_str(), &labels)
        };
        format!(
            "select {MODIFIED_TIME}, {names} from {} where {condition} \
             order by {MODIFIED_TIME} desc, id desc limit {limit}",
            self.module
        )
    }
}
