//! Does the CRM tell its time, and one time only?

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::HistoryId;
use serde_json::json;

use super::Check;
use super::raw::{Put, pause};

/// Our clock may be this far from the CRM's: the doors allow as much.
const OURS: SignedDuration = SignedDuration::from_mins(5);

impl Check<'_> {
    pub(super) async fn clocks(&mut self, id: &HistoryId) {
        let seen = match self.raw.read(id).await {
            Ok(seen) => seen,
            Err(why) => return self.not_known("date", &why),
        };
        let Some(date) = seen.date else {
            let means = "without the CRM's clock no read is known to be older than a later edit, so that \
                         nothing is ever written: no document can be confirmed or sent. Nothing wrong is done";
            return self.fail("date", "answers carry no Date", means);
        };
        let off = date.duration_since(Timestamp::now()).abs();
        let found = format!("Date is {} s from this machine's clock", off.as_secs());
        if off > OURS {
            let means = "signed requests are refused when a clock is off by more than five minutes: set \
                         this machine's clock, or find out whose is wrong";
            self.fail("date", &found, means);
        } else {
            self.pass("date", &found, "reads can be bases for writes");
        }
        self.one_clock(id).await;
    }

    /// `Date` and `Modified_Time` of one answer are at most as far apart as the call took.
    async fn one_clock(&mut self, id: &HistoryId) {
        const NAME: &str = "one_clock";
        let row = json!({self.raw.fields().external_id.as_str(): "clock"});
        let asked = std::time::Instant::now();
        let put = self.raw.set(id, &row).await;
        let took = SignedDuration::try_from(asked.elapsed()).unwrap_or_default();
        let Put::Applied {
            version: Some(version),
            date: Some(date),
        } = put
        else {
            return self.not_known(NAME, "no update was applied");
        };
        let Ok(version_at) = version.parse::<Timestamp>() else {
            return self.not_known(NAME, "the version is no time");
        };
        // Whole seconds on both sides.
        let most = took + SignedDuration::from_secs(1);
        let ahead = date.duration_since(version_at);
        if ahead > most {
            let found = format!("Date is {} s ahead of Modified_Time", ahead.as_secs());
            let means = "a read can look older than it is, and a write based on it overwrite an edit of the \
                         same second: edits by people can get lost";
            self.fail(NAME, &found, means);
        } else if ahead < SignedDuration::from_secs(-1) {
            let found = format!("Date is {} s behind Modified_Time", -ahead.as_secs());
            self.pass(NAME, &found, "writes wait that much longer");
        } else {
            let found = "Date and Modified_Time tell one time";
            self.pass(
                NAME,
                found,
                "a read is known to be older than any later edit",
            );
        }
    }

    /// Whether something changes the record after our own write.
    pub(super) async fn own_write_bump(&mut self, id: &HistoryId) {
        const NAME: &str = "own_write";
        let row = json!({self.raw.fields().external_id.as_str(): "bump"});
        let Put::Applied {
            version: Some(version),
            ..
        } = self.raw.set(id, &row).await
        else {
            return self.not_known(NAME, "no update was applied");
        };
        pause(2_500).await;
        let Ok(seen) = self.raw.read(id).await else {
            return self.not_known(NAME, "the record could not be read");
        };
        if version
            .parse()
            .is_ok_and(|at: Timestamp| at < seen.version_at)
        {
            let means = "a workflow, roll-up or formula edits records after our own writes: more conflicts \
                         are skipped and tried again later. Take the workflow off if you can";
            self.pass(NAME, "the record changed by itself after an update", means);
        } else {
            let means = "our own writes are followed by no other";
            self.pass(NAME, "the record stayed as it was after an update", means);
        }
    }
}
