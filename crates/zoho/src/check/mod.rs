//! Whether a CRM can keep Sendtrail's promises: tried out on records made for it.
//!
//! Every record made here has a request key that starts with `check_` and an empty state, so that nothing
//! takes it for a send, and is deleted at the end. Even here no update is sent without a guard.

mod clock;
mod fields;
mod files;
mod guard;
mod queries;
mod raw;
mod unique;

use jiff::SignedDuration;
use sendtrail_core::ids::HistoryId;
use serde::Serialize;
use serde_json::Value;

use crate::store::Zoho;
use raw::Raw;

/// What a check found out about one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The promises that rest on it can hold.
    Pass,
    /// One cannot.
    Fail,
    /// It could not be found out.
    NotKnown,
}

/// One point of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Its name, which stays the same from version to version.
    pub name: &'static str,
    /// How it turned out.
    pub verdict: Verdict,
    /// What the CRM did.
    pub found: String,
    /// What that means.
    pub means: String,
}

/// What a check is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Pairs of guarded writes to send at once on one version; 0 leaves that out.
    pub race: u32,
    /// Leaves the records of the check in the CRM.
    pub keep: bool,
    /// How far a query may lag: `poller.list_lag`.
    pub list_lag: SignedDuration,
    /// A text of letters and digits that no other check uses; part of the request keys.
    pub unique: String,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Every point, in the order in which they were tried.
    pub points: Vec<Point>,
    /// Records of the check that are still in the CRM.
    pub left: Vec<HistoryId>,
}

impl Report {
    /// The points on which a promise fails.
    pub fn failures(&self) -> impl Iterator<Item = &Point> {
        let failed = |point: &&Point| point.verdict == Verdict::Fail;
        self.points.iter().filter(failed)
    }
}

/// Checks a CRM; `tell` hears of each point as soon as it is known.
pub async fn check(
    zoho: &Zoho,
    options: &Options,
    tell: &mut (dyn FnMut(&Point) + Send),
) -> Report {
    let mut check = Check {
        raw: Raw::new(zoho),
        options,
        tell,
        points: Vec::new(),
        made: Vec::new(),
    };
    check.run().await;
    let left = check.clean_up().await;
    Report {
        points: check.points,
        left,
    }
}

struct Check<'c> {
    raw: Raw<'c>,
    options: &'c Options,
    tell: &'c mut (dyn FnMut(&Point) + Send),
    points: Vec<Point>,
    made: Vec<HistoryId>,
}

impl Check<'_> {
    async fn run(&mut self) {
        let Some(id) = self.create().await else {
            return;
        };
        self.clocks(&id).await;
        // The guard first: every other point writes under it.
        if !self.guard(&id).await {
            return;
        }
        self.read_back(&id).await;
        self.texts(&id).await;
        self.states(&id).await;
        self.own_write_bump(&id).await;
        self.queries(&id).await;
        self.unique().await;
        self.files(&id).await;
        self.race(&id).await;
    }

    fn report(&mut self, name: &'static str, verdict: Verdict, found: &str, means: &str) {
        let point = Point {
            name,
            verdict,
            found: found.to_owned(),
            means: means.to_owned(),
        };
        (self.tell)(&point);
        self.points.push(point);
    }

    fn pass(&mut self, name: &'static str, found: &str, means: &str) {
        self.report(name, Verdict::Pass, found, means);
    }

    fn fail(&mut self, name: &'static str, found: &str, means: &str) {
        self.report(name, Verdict::Fail, found, means);
    }

    fn not_known(&mut self, name: &'static str, why: &str) {
        let means = "run the check again; if it stays, look at the CRM's answer";
        self.report(name, Verdict::NotKnown, why, means);
    }

    fn key(&self, which: &str) -> String {
        format!("check_{}_{which}", self.options.unique)
    }

    /// The record that most points are tried on.
    async fn create(&mut self) -> Option<HistoryId> {
        let key = self.key("1");
        let name = "create";
        match self.raw.create(&key).await {
            raw::Made::New { id, is_text } => {
                self.made.push(id.clone());
                self.pass(name, "a record was created", "token, module and scope fit");
                self.ids(is_text);
                Some(id)
            }
            raw::Made::Duplicate | raw::Made::Unknown(_) => {
                self.not_known(name, "it could not be told whether a record was created");
                None
            }
            raw::Made::Refused(why) => {
                let means =
                    "nothing can be saved: check the token's scopes, crm.module and crm.fields";
                self.fail(name, &why, means);
                None
            }
        }
    }

    fn ids(&mut self, is_text: bool) {
        if is_text {
            self.pass("ids", "ids are text", "every digit of an id arrives");
        } else {
            let means = "ids written as numbers lose digits on their way, so that every answer with one is \
                         refused: nothing can be saved or sent. Nothing wrong is done";
            self.fail("ids", "an id came as a number", means);
        }
    }

    /// Deletes what was made; what could not be deleted is named.
    async fn clean_up(&mut self) -> Vec<HistoryId> {
        let made = std::mem::take(&mut self.made);
        if made.is_empty() || self.options.keep {
            return made;
        }
        let mut left = Vec::new();
        let mut reason = String::new();
        for id in made {
            if let Err(why) = self.raw.delete(&id).await {
                reason = why;
                left.push(id);
            }
        }
        if left.is_empty() {
            self.pass(
                "clean_up",
                "the records of the check are deleted",
                "nothing is left behind",
            );
        } else {
            let found = format!("{} record(s) could not be deleted: {reason}", left.len());
            let means = "delete them by hand; functions do not need the right to delete";
            self.report("clean_up", Verdict::NotKnown, &found, means);
        }
        left
    }
}

/// A value as a CRM field may give it back: empty text is no value.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty)
}
