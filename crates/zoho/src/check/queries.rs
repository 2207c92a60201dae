//! Do queries find what is there?

use std::time::{Duration, Instant};

use sendtrail_core::ids::HistoryId;
use serde_json::{Map, Value, json};

use super::Check;
use super::raw::{Made, Put, id_of, pause};
use crate::record;

/// Queries are asked for this much longer than they may lag.
const BEYOND: Duration = Duration::from_secs(5);

impl Check<'_> {
    pub(super) async fn queries(&mut self, id: &HistoryId) {
        self.lag(id).await;
        let second = match self.raw.create(&self.key("2")).await {
            Made::New { id, .. } => id,
            Made::Duplicate | Made::Refused(_) | Made::Unknown(_) => {
                return self.not_known("query_order", "no second record could be created");
            }
        };
        self.made.push(second.clone());
        self.wait_for_both().await;
        self.order().await;
        self.beyond(id, &second).await;
        self.count().await;
        self.case().await;
        self.long_text().await;
    }

    fn both(&self) -> String {
        let key = self.raw.fields().request_key.as_str();
        format!("{key} in ('{}','{}')", self.key("1"), self.key("2"))
    }

    async fn select(&self, what: &str, rest: &str) -> Result<Vec<Map<String, Value>>, String> {
        let module = self.raw.module();
        let text = format!("select {what} from {module} where {rest} limit 200");
        self.raw.query(text).await
    }

    /// How long until a query sees an update.
    async fn lag(&mut self, id: &HistoryId) {
        const NAME: &str = "query_lag";
        let fields = self.raw.fields();
        let (key, mark) = (fields.request_key.as_str(), fields.external_id.as_str());
        let put = self.raw.set(id, &json!({mark: "lag"})).await;
        if !matches!(put, Put::Applied { .. }) {
            return self.not_known(NAME, "no update was applied");
        }
        let allowed = self.options.list_lag.unsigned_abs();
        let condition = format!("{key} = '{}'", self.key("1"));
        let started = Instant::now();
        let mut seen_after = None;
        while started.elapsed() < allowed + BEYOND {
            match self.select(mark, &condition).await {
                Err(why) => {
                    let means = "neither the poller nor a repeated save can work: check the scope \
                                 ZohoCRM.coql.READ and crm.fields";
                    return self.fail(NAME, &why, means);
                }
                Ok(rows) if is_marked(&rows, mark) => {
                    seen_after = Some(started.elapsed());
                    break;
                }
                Ok(_) => pause(250).await,
            }
        }
        match seen_after {
            Some(after) if after <= allowed => {
                let found = format!("a query sees an update after {:.1} s", after.as_secs_f64());
                let means = format!(
                    "below poller.list_lag ({} s): a listed row is taken as a base only when it is older",
                    allowed.as_secs()
                );
                self.pass(NAME, &found, &means);
            }
            Some(_) | None => {
                let found = format!(
                    "a query does not see an update within {} s",
                    allowed.as_secs()
                );
                let means = "a listed row may be behind, and a write based on it overwrite an edit: raise \
                             poller.list_lag above the lag, and check again";
                self.fail(NAME, &found, means);
            }
        }
    }

    async fn wait_for_both(&self) {
        let started = Instant::now();
        while started.elapsed() < self.options.list_lag.unsigned_abs() + BEYOND {
            match self.select("id", &self.both()).await {
                Ok(rows) if rows.len() < 2 => pause(250).await,
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Rows without a next check come with the others; which are first is told.
    async fn order(&mut self) {
        const NAME: &str = "query_order";
        let next = self.raw.fields().next_check_at.as_str();
        let rest = format!("{} order by {next} asc, id asc", self.both());
        match self.select(next, &rest).await {
            Err(why) => self.fail(NAME, &why, "the poller cannot list due records"),
            Ok(rows) if rows.len() == 2 => {
                let first_is_empty = record::text(&rows[0], next).is_none();
                let found = if first_is_empty {
                    "empty values sort first"
                } else {
                    "empty values sort last"
                };
                self.pass(NAME, found, "lists are followed by key in either order");
            }
            Ok(rows) => {
                let found = format!("{} of 2 records are listed", rows.len());
                self.fail(
                    NAME,
                    &found,
                    "records without a next check are never looked up",
                );
            }
        }
    }

    /// Records past an id, which is how pages after the first are asked for.
    async fn beyond(&mut self, first: &HistoryId, second: &HistoryId) {
        const NAME: &str = "query_past_an_id";
        let rest = format!("({} and id > '{first}') order by id asc", self.both());
        match self.select("id", &rest).await {
            Err(why) => {
                let means = "only the first page of due records can be listed: with more than \
                             poller.page_rows of them some are never looked up";
                self.fail(NAME, &why, means);
            }
            Ok(rows) => {
                let ids: Vec<_> = rows.iter().filter_map(id_of).map(|(id, _)| id).collect();
                if ids == [second.clone()] {
                    let means = "every due record is visited, however many there are";
                    self.pass(NAME, "a query goes on past an id", means);
                } else {
                    let found = "a query past an id gives other records";
                    self.fail(NAME, found, "due records are left out or come twice");
                }
            }
        }
    }

    async fn count(&mut self) {
        const NAME: &str = "query_count";
        let rows = self.select("COUNT(id)", &self.both()).await;
        let count = |rows: &Vec<Map<String, Value>>| rows.first().and_then(crate::list::count);
        match rows {
            Ok(rows) if count(&rows) == Some(2) => {
                self.pass(
                    NAME,
                    "a query counts",
                    "a long backlog is worked on from everywhere",
                );
            }
            Ok(_) => self.fail(NAME, "a query counts wrongly", BACKLOG),
            Err(why) => self.fail(NAME, &why, BACKLOG),
        }
    }

    async fn case(&mut self) {
        const NAME: &str = "query_case";
        let key = self.raw.fields().request_key.as_str();
        let rest = format!("{key} = '{}'", self.key("1").to_uppercase());
        let means = "what a query gives is compared again, letter by letter";
        match self.select(key, &rest).await {
            Err(why) => self.not_known(NAME, &why),
            Ok(rows) if rows.is_empty() => {
                self.pass(NAME, "queries tell upper case from lower", means);
            }
            Ok(_) => self.pass(NAME, "queries do not tell upper case from lower", means),
        }
    }

    /// Whether a list carries long text whole. It is on the record since the texts were tried.
    async fn long_text(&mut self) {
        const NAME: &str = "query_long_text";
        let fields = self.raw.fields();
        let (key, progress) = (fields.request_key.as_str(), fields.progress.as_str());
        let rest = format!("{key} = '{}'", self.key("1"));
        let single = match self.raw.read(&self.made[0]).await {
            Ok(seen) => seen.get(&fields.progress),
            Err(why) => return self.not_known(NAME, &why),
        };
        let rows = match self.select(progress, &rest).await {
            Ok(rows) => rows,
            Err(why) => return self.fail(NAME, &why, "the poller cannot read progress"),
        };
        let listed = rows.first().and_then(|row| record::text(row, progress));
        match (listed.unwrap_or_default(), single.as_str()) {
            (_, None) => self.not_known(NAME, "there is no long text on the record"),
            (listed, Some(single)) if listed == single => {
                self.pass(
                    NAME,
                    "lists carry long text whole",
                    "a look-up needs no further read",
                );
            }
            (listed, Some(single)) if single.starts_with(&listed) => {
                let found = format!("lists cut text at {} characters", listed.chars().count());
                let means = "a progress that a list cut is read again singly: one more call for each look-up";
                self.pass(NAME, &found, means);
            }
            (_, Some(_)) => {
                let means = "a progress read from a list is not the one that was written";
                self.fail(NAME, "lists change long text", means);
            }
        }
    }
}

const BACKLOG: &str = "with more due records than one run can list, some wait without bound";

fn is_marked(rows: &[Map<String, Value>], field: &str) -> bool {
    rows.first()
        .is_some_and(|row| record::text(row, field).as_deref() == Some("lag"))
}
