//! `history settle`, `resume` and `record`: a person's decision, guarded like every write.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{Operated, Operation, operate};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::ports::{StoreError, clock_deadline};
use sendtrail_core::text::harmless;
use sendtrail_startup::SystemWorld;
use sendtrail_zoho::Zoho;
use serde_json::json;

use crate::cli::{Decision, HistoryCommand, Settled};
use crate::failure::{Failure, Kind};
use crate::output::{Screen, json_line, plain};
use crate::setup::Process;

/// The trail keeps this much of a reason, in bytes of its JSON form.
const MOST_REASON: usize = 300;
/// The trail keeps this much of a name, in bytes of its JSON form.
const MOST_NAME: usize = 200;
/// Nothing is tried after this.
pub(super) const TIME: SignedDuration = SignedDuration::from_secs(60);

/// A decision that is complete: who, why and what.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    id: HistoryId,
    operation: Operation,
    by: String,
    reason: String,
}

impl Request {
    /// The decision in a command, or `None` for one that only looks.
    pub(super) fn of(command: &HistoryCommand, process: &Process) -> Result<Option<Self>, Failure> {
        let (id, operation, decision) = match command {
            HistoryCommand::List(_) | HistoryCommand::Show { .. } | HistoryCommand::Wake(_) => {
                return Ok(None);
            }
            HistoryCommand::Settle(args) => {
                let operation = match args.outcome {
                    Settled::Succeeded => Operation::SettleSucceeded,
                    Settled::Failed => Operation::SettleFailed,
                };
                (&args.id, operation, &args.decision)
            }
            HistoryCommand::Resume(args) => {
                let operation = Operation::Resume {
                    external_id: args.external_id.clone(),
                    give_up: args.give_up,
                };
                (&args.id, operation, &args.decision)
            }
            HistoryCommand::Record(args) => {
                let operation = Operation::Record {
                    external_id: args.external_id.clone(),
                    give_up: args.give_up,
                };
                (&args.id, operation, &args.decision)
            }
        };
        let (by, reason) = who_and_why(decision, process)?;
        Ok(Some(Self {
            id: id.clone(),
            operation,
            by,
            reason,
        }))
    }

    pub(super) async fn run(
        &self,
        screen: Screen,
        stage: &str,
        crm: &Zoho,
    ) -> Result<String, Failure> {
        let until = clock_deadline(Timestamp::now(), TIME);
        let operated = operate(
            crm,
            &SystemWorld,
            stage,
            &self.id,
            &self.operation,
            &self.by,
            &self.reason,
            until,
        )
        .await;
        self.tell(operated, screen)
    }

    fn tell(&self, operated: Operated, screen: Screen) -> Result<String, Failure> {
        let id = &self.id;
        match operated {
            Operated::Done { state } if screen.json => {
                Ok(json_line(&json!({"id": id.as_str(), "state": state})))
            }
            Operated::Done { state } => Ok(format!("record {id} is now {}\n", plain(&state))),
            Operated::Refused(why) => Err(Failure::new(
                Kind::Refused,
                format!(
                    "record {id}: {why}; nothing was written. See `sendtrail history show {id}`"
                ),
            )),
            Operated::ChangedElsewhere => Err(changed_elsewhere(id)),
            Operated::NotWritten(error) => Err(self.failed(&error, "Nothing was written")),
            Operated::Unconfirmed(error) => Err(self.failed(
                &error,
                &format!(
                    "It may have been written all the same: `sendtrail history show {id}` tells"
                ),
            )),
        }
    }

    fn failed(&self, error: &StoreError, written: &str) -> Failure {
        let failure = Failure::of_store(error, &format!("record {}", self.id));
        Failure::new(failure.kind, format!("{}. {written}", failure.message))
    }
}

/// Somebody else wrote first.
pub(super) fn changed_elsewhere(id: &HistoryId) -> Failure {
    Failure::new(
        Kind::Conflict,
        format!(
            "record {id} was changed elsewhere while this ran; nothing was written. Look at it with \
             `sendtrail history show {id}` and repeat the command if it is still right"
        ),
    )
}

/// What the trail keeps of a decision.
pub(super) fn who_and_why(
    decision: &Decision,
    process: &Process,
) -> Result<(String, String), Failure> {
    let by = by(decision, process)?;
    Ok((by, kept("--reason", &decision.reason, MOST_REASON)?))
}

fn by(decision: &Decision, process: &Process) -> Result<String, Failure> {
    let name = match &decision.by {
        Some(name) => name.as_str(),
        None => process.variable("USER").ok_or_else(|| {
            let what = "say who decides with --by NAME: $USER is not set";
            Failure::new(Kind::Usage, what.to_owned())
        })?,
    };
    kept("--by", name, MOST_NAME)
}

/// A text that the trail keeps whole: an operator must not find half a reason there.
fn kept(option: &str, text: &str, most: usize) -> Result<String, Failure> {
    let text = text.trim();
    if text.is_empty() {
        let what = format!("{option} must not be empty: it is kept in the trail");
        return Err(Failure::new(Kind::Usage, what));
    }
    if harmless(text, most) != harmless(text, usize::MAX) {
        let what =
            format!("{option} is too long for the trail: use at most {most} plain characters");
        return Err(Failure::new(Kind::Usage, what));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use crate::cli::Command;
    use clap::Parser as _;
    use sendtrail_core::ids::ExternalId;

    const SCREEN: Screen = Screen {
        json: false,
        colour: false,
    };

    fn request(user: Option<&str>, words: &[&str]) -> Result<Option<Request>, Failure> {
        let words = ["sendtrail", "history"].iter().chain(words);
        let Command::History(args) = Cli::try_parse_from(words).unwrap().command else {
            panic!("not a history command");
        };
        let user = user.map(|user| ("USER".to_owned(), user.to_owned()));
        let process = Process {
            variables: user.into_iter().collect(),
            ..Process::default()
        };
        Request::of(&args.command, &process)
    }

    fn settle(user: Option<&str>, more: &[&str]) -> Result<Option<Request>, Failure> {
        let words = ["settle", "57", "--as", "failed"];
        request(user, &[&words[..], more].concat())
    }

    #[test]
    fn a_decision_has_a_person_and_a_reason() {
        let made = settle(Some("jo"), &["--reason", " lost "])
            .unwrap()
            .unwrap();
        assert_eq!((made.by.as_str(), made.reason.as_str()), ("jo", "lost"));
        assert_eq!(made.operation, Operation::SettleFailed);
        let named = settle(Some("jo"), &["--reason", "x", "--by", "Ana"]).unwrap();
        assert_eq!(named.unwrap().by, "Ana");
        for bad in [
            settle(None, &["--reason", "x"]),
            settle(Some(""), &["--reason", "x"]),
            settle(Some("jo"), &["--reason", "x", "--by", " "]),
            settle(Some("jo"), &["--reason", "  "]),
            settle(Some("jo"), &["--reason", &"x".repeat(301)]),
            settle(Some("jo"), &["--reason", &"é".repeat(51)]),
        ] {
            assert_eq!(bad.unwrap_err().kind, Kind::Usage);
        }
        assert!(settle(Some("jo"), &["--reason", &"x".repeat(300)]).is_ok());
    }

    #[test]
    fn looking_is_no_decision_and_needs_no_person() {
        assert_eq!(request(None, &["list"]), Ok(None));
        assert_eq!(request(None, &["show", "57"]), Ok(None));
    }

    #[test]
    fn a_resume_has_an_end() {
        let words = ["resume", "57", "--reason", "x", "--external-id", "ltr_1"];
        let made = request(Some("jo"), &words).unwrap().unwrap();
        let Operation::Resume {
            external_id,
            give_up,
        } = made.operation
        else {
            panic!("not a resume");
        };
        assert_eq!(external_id.unwrap().as_str(), "ltr_1");
        assert_eq!(give_up, SignedDuration::from_hours(7 * 24));
    }

    #[test]
    fn an_outcome_is_recorded_with_the_id_of_the_api() {
        let words = ["record", "57", "--reason", "x", "--external-id", "ltr_1"];
        let made = request(Some("jo"), &words).unwrap().unwrap();
        let expected = Operation::Record {
            external_id: ExternalId::parse("ltr_1").unwrap(),
            give_up: SignedDuration::from_hours(7 * 24),
        };
        assert_eq!(made.operation, expected);
        let without = ["sendtrail", "history", "record", "57", "--reason", "x"];
        assert!(Cli::try_parse_from(without).is_err());
    }

    #[test]
    fn each_result_has_its_exit_code_and_says_what_to_do() {
        let made = settle(Some("jo"), &["--reason", "x"]).unwrap().unwrap();
        let tell = |operated| made.tell(operated, SCREEN);
        let state = "failed".to_owned();
        assert_eq!(
            tell(Operated::Done { state }),
            Ok("record 57 is now failed\n".into())
        );
        let detail = String::from("timed out");
        let expected = [
            (
                Operated::Refused("no".into()),
                Kind::Refused,
                "nothing was written",
            ),
            (
                Operated::ChangedElsewhere,
                Kind::Conflict,
                "nothing was written",
            ),
            (
                Operated::NotWritten(StoreError::NotFound),
                Kind::NotFound,
                "check the id",
            ),
            (
                Operated::NotWritten(StoreError::TokenThrottled),
                Kind::Failed,
                "Nothing was written",
            ),
            (
                Operated::Unconfirmed(StoreError::Transient { detail }),
                Kind::Failed,
                "may have been written",
            ),
        ];
        for (operated, kind, words) in expected {
            let failure = tell(operated).unwrap_err();
            assert_eq!(failure.kind, kind);
            assert!(failure.message.contains(words), "{}", failure.message);
            let is_open = failure.message.contains("may have been written");
            assert_eq!(is_open, words == "may have been written");
        }
    }
}
