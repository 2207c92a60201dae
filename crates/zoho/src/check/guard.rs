//! Is a write refused when the record changed?

use jiff::Timestamp;
use sendtrail_core::ids::HistoryId;
use serde_json::{Value, json};

use super::Check;
use super::raw::{Put, pause};
use crate::probe::LONG_PAST;

const LOST: &str = "edits by people are overwritten, and of two presses both can send: a document can go out \
                    twice. The functions refuse to write";

impl Check<'_> {
    fn mark(&self, text: &str) -> Value {
        json!({self.raw.fields().external_id.as_str(): text})
    }

    /// Whether anything can be written at all.
    pub(super) async fn guard(&mut self, id: &HistoryId) -> bool {
        if !self.own_version(id).await {
            return false;
        }
        let changed = self.mark("past");
        let source = self.raw.fields().source_record.as_str();
        let unchanged = json!({source: "check"});
        self.past("guard_past", id, &changed).await;
        self.past("guard_past_unchanged", id, &unchanged).await;
        self.malformed(id).await;
        self.same_second(id).await;
        true
    }

    /// A write on the version that was read is applied.
    async fn own_version(&mut self, id: &HistoryId) -> bool {
        const NAME: &str = "guard_own_version";
        for _ in 0..3 {
            let seen = match self.raw.settled(id).await {
                Ok(seen) => seen,
                Err(why) => {
                    self.not_known(NAME, &why);
                    return false;
                }
            };
            match self.raw.put(id, &seen.version, &self.mark("own")).await {
                Put::Applied { .. } => {
                    let found = "a write on the record's own version is applied";
                    self.pass(NAME, found, "records can be changed");
                    return true;
                }
                Put::Conflict => {}
                Put::Refused(why) | Put::Unknown(why) => {
                    self.not_known(NAME, &why);
                    return false;
                }
            }
            let again = self.raw.read(id).await;
            if again.is_ok_and(|again| again.version_at == seen.version_at) {
                let found = "a write on the record's own version is refused as a conflict";
                let means = "no record can ever be changed: nothing is confirmed or sent. Nothing wrong is done";
                self.fail(NAME, found, means);
                return false;
            }
            // Something else moves the record.
            pause(1_100).await;
        }
        self.not_known(NAME, "the record keeps changing by itself");
        false
    }

    /// A write on a version of the year 2000 is refused.
    async fn past(&mut self, name: &'static str, id: &HistoryId, row: &Value) {
        match self.raw.put(id, LONG_PAST, row).await {
            Put::Conflict => {
                let found = "a write on a version of the year 2000 is refused with 412";
                self.pass(name, found, "a write on an old version changes nothing");
            }
            Put::Applied { .. } => {
                self.fail(
                    name,
                    "a write on a version of the year 2000 is applied",
                    LOST,
                );
            }
            Put::Refused(why) | Put::Unknown(why) => self.not_known(name, &why),
        }
    }

    async fn malformed(&mut self, id: &HistoryId) {
        const NAME: &str = "guard_malformed";
        let means = "versions are sent back as they came, so that this does not arise";
        match self.raw.put(id, "yesterday", &self.mark("malformed")).await {
            Put::Applied { .. } => self.pass(NAME, "a malformed guard is ignored", means),
            Put::Refused(_) | Put::Conflict => {
                self.pass(NAME, "a malformed guard is refused", means);
            }
            Put::Unknown(why) => self.not_known(NAME, &why),
        }
    }

    /// What a second write in the second of the first one meets; only to know.
    async fn same_second(&mut self, id: &HistoryId) {
        const NAME: &str = "guard_same_second";
        for _ in 0..5 {
            let Put::Applied {
                version: Some(first),
                ..
            } = self.raw.set(id, &self.mark("first")).await
            else {
                return self.not_known(NAME, "no update was applied");
            };
            match self.raw.put(id, &first, &self.mark("second")).await {
                Put::Applied {
                    version: Some(second),
                    ..
                } if is_same(&first, &second) => {
                    let means =
                        "as expected: a read is a base for a write only once its second is over";
                    return self.pass(NAME, "a second write in one second passes", means);
                }
                Put::Applied { .. } => {}
                Put::Conflict => {
                    let means = "finer than expected; a read is a base for a write only once its second is over";
                    return self.pass(NAME, "a second write in one second is refused", means);
                }
                Put::Refused(why) | Put::Unknown(why) => return self.not_known(NAME, &why),
            }
        }
        self.not_known(NAME, "two updates never fell into one second");
    }

    /// Of two writes at once on one version exactly one may win.
    pub(super) async fn race(&mut self, id: &HistoryId) {
        const NAME: &str = "guard_race";
        if self.options.race == 0 {
            return self.not_known(NAME, "left out with --race 0");
        }
        let (mut pairs, mut undecided, mut lost) = (0, 0, 0);
        for n in 0..self.options.race {
            match self.pair(id, n).await {
                Some(true) => pairs += 1,
                Some(false) => lost += 1,
                None => undecided += 1,
            }
        }
        let all = self.options.race;
        if lost > 0 {
            let found = format!("in {lost} of {all} pairs of writes at once both were applied");
            let means = "check and write are two steps: of two presses within them both can claim. Sendtrail \
                         reads each claim again after side_effect.claim_settle, which catches most, but at \
                         most once is no longer certain. Do not run on this CRM";
            self.fail(NAME, &found, means);
        } else if pairs == 0 {
            self.not_known(NAME, "no pair of writes came to a result");
        } else {
            let found = format!(
                "in {pairs} pairs of writes at once exactly one was applied ({undecided} undecided)"
            );
            self.pass(NAME, &found, "of two presses at once one wins");
        }
    }

    /// Whether exactly one of two writes won; nothing when it could not be told.
    async fn pair(&self, id: &HistoryId, n: u32) -> Option<bool> {
        for _ in 0..3 {
            // Past the second of the last write by our own clock too: the CRM's may be off.
            pause(1_100).await;
            let seen = self.raw.settled(id).await.ok()?;
            let (one, two) = (self.mark(&format!("one{n}")), self.mark(&format!("two{n}")));
            let (one, two) = tokio::join!(
                self.raw.put(id, &seen.version, &one),
                self.raw.put(id, &seen.version, &two)
            );
            match (one, two) {
                (Put::Applied { .. }, Put::Applied { .. }) => return Some(false),
                (Put::Applied { .. }, Put::Conflict) | (Put::Conflict, Put::Applied { .. }) => {
                    return Some(true);
                }
                // Something else moved the record before both.
                (Put::Conflict, Put::Conflict) => {}
                (Put::Refused(_) | Put::Unknown(_), _) | (_, Put::Refused(_) | Put::Unknown(_)) => {
                    return None;
                }
            }
        }
        None
    }
}

fn is_same(one: &str, other: &str) -> bool {
    let instant = |text: &str| text.parse::<Timestamp>().ok();
    instant(one).is_some() && instant(one) == instant(other)
}
