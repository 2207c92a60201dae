//! `history wake`: a look-up now instead of later, guarded like every write.

use clap::Args;
use jiff::Timestamp;
use sendtrail_core::flows::{Wake, Woken, wake};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{StoreError, clock_deadline};
use sendtrail_core::state::State;
use sendtrail_startup::SystemWorld;
use sendtrail_zoho::Zoho;
use serde_json::json;

use super::change::{self, TIME};
use crate::cli::{Decision, history_id};
use crate::failure::{Failure, Kind};
use crate::output::{Screen, instant, json_line, plain};
use crate::setup::Process;

#[derive(Debug, Args)]
pub(crate) struct WakeArgs {
    /// The record's id in the CRM.
    #[arg(value_parser = history_id)]
    id: HistoryId,
    #[command(flatten)]
    decision: Decision,
}

/// A wake that is complete: who and why.
#[derive(Debug)]
pub(super) struct Request<'a> {
    id: &'a HistoryId,
    by: String,
    reason: String,
}

impl<'a> Request<'a> {
    pub(super) fn of(args: &'a WakeArgs, process: &Process) -> Result<Self, Failure> {
        let (by, reason) = change::who_and_why(&args.decision, process)?;
        let id = &args.id;
        Ok(Self { id, by, reason })
    }

    pub(super) async fn run(&self, screen: Screen, crm: &Zoho) -> Result<String, Failure> {
        let by = Wake {
            by: &self.by,
            reason: Some(&self.reason),
        };
        let until = clock_deadline(Timestamp::now(), TIME);
        let woken = wake(crm, &SystemWorld, self.id, by, until).await;
        self.tell(woken, screen, Timestamp::now())
    }

    fn tell(&self, woken: Woken, screen: Screen, now: Timestamp) -> Result<String, Failure> {
        let id = self.id;
        let (woken, next_check_at) = match woken {
            Woken::Woken { next_check_at } => (true, next_check_at),
            Woken::AlreadyDue { next_check_at } => (false, next_check_at),
            Woken::NotAccepted { state } => {
                let state = plain(&state);
                return Err(self.refused(&format!(
                    "it is {state:?}, and only accepted sends are looked up"
                )));
            }
            Woken::Refused(why) => return Err(self.refused(&why)),
            Woken::ChangedElsewhere => return Err(change::changed_elsewhere(id)),
            Woken::NotWritten(error) => return Err(self.failed(&error, "Nothing was written")),
            Woken::Unconfirmed(error) => {
                let written = "It may have been written all the same: the same command again tells";
                return Err(self.failed(&error, written));
            }
        };
        if screen.json {
            return Ok(json_line(&json!({
                "id": id.as_str(),
                "state": State::Accepted.label(),
                "woken": woken,
                "next_check_at": next_check_at.map(|at| at.to_string()),
            })));
        }
        Ok(if woken {
            format!("record {id} is due now: the poller's next run looks it up\n")
        } else {
            let when = next_check_at.map_or("now".to_owned(), |at| instant(now, at));
            format!("record {id} is due already, {when}: nothing was written\n")
        })
    }

    fn refused(&self, why: &str) -> Failure {
        let id = self.id;
        let what =
            format!("record {id}: {why}; nothing was written. See `sendtrail history show {id}`");
        Failure::new(Kind::Refused, what)
    }

    fn failed(&self, error: &StoreError, written: &str) -> Failure {
        let failure = Failure::of_store(error, &format!("record {}", self.id));
        Failure::new(failure.kind, format!("{}. {written}", failure.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Screen = Screen {
        json: false,
        colour: false,
    };

    #[test]
    fn each_result_has_its_exit_code_and_says_whether_it_was_written() {
        let id = HistoryId::parse("57").unwrap();
        let request = Request {
            id: &id,
            by: "jo".to_owned(),
            reason: "x".to_owned(),
        };
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let next_check_at = Some("2026-01-01T00:00:20Z".parse().unwrap());
        let told = |woken| request.tell(woken, SCREEN, now);
        let due = told(Woken::Woken { next_check_at }).unwrap();
        assert!(due.contains("record 57 is due now"), "{due}");
        let already = told(Woken::AlreadyDue { next_check_at }).unwrap();
        assert!(already.contains("in 20 s") && already.contains("nothing was written"));
        let state = "sen\u{1b}t".to_owned();
        let detail = "timed out".to_owned();
        for (woken, kind, words) in [
            (
                Woken::NotAccepted { state },
                Kind::Refused,
                "nothing was written",
            ),
            (
                Woken::Refused("no".into()),
                Kind::Refused,
                "nothing was written",
            ),
            (
                Woken::ChangedElsewhere,
                Kind::Conflict,
                "nothing was written",
            ),
            (
                Woken::NotWritten(StoreError::NotFound),
                Kind::NotFound,
                "Nothing was written",
            ),
            (
                Woken::Unconfirmed(StoreError::Transient { detail }),
                Kind::Failed,
                "may have been written",
            ),
        ] {
            let failure = told(woken).unwrap_err();
            assert_eq!(failure.kind, kind, "{failure:?}");
            assert!(failure.message.contains(words), "{}", failure.message);
            assert!(!failure.message.contains('\u{1b}'));
        }
    }
}
