//! What became of the one submit. One pure function, and a test for each row of its table.

use sendtrail_core::ids::ExternalId;
use sendtrail_core::ports::{NotSent, SubmitOutcome};

use crate::answer::{Answer, Body, Broken, evidence};
use crate::file::{IdFrom, RuleOutcome, Step, rejects};
use crate::pointer::Pointer;

/// What was seen of the one commit request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    /// Our own check refused it; nothing was sent.
    Refused { class: &'static str, detail: String },
    /// No answer.
    Broken { how: Broken, cause: String },
    /// A status was read.
    Answered(Answer),
}

/// What is known of a commit request besides what was seen of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Commit<'a> {
    pub(crate) step: &'a Step,
    /// Where the API's answers carry their error code.
    pub(crate) error: Option<&'a Pointer>,
    /// The id, where a step before the commit captured it.
    pub(crate) known_id: Option<&'a ExternalId>,
    /// The length of the body that was to be sent.
    pub(crate) bytes: u64,
}

/// Classifies what was seen.
pub(crate) fn classify(commit: &Commit<'_>, seen: &Seen) -> SubmitOutcome {
    let bytes = commit.bytes;
    match seen {
        Seen::Refused { class, detail } => not_sent(class, detail, bytes),
        Seen::Broken { how, cause } => match how {
            Broken::Build | Broken::Connect => not_sent(how.class(), cause, bytes),
            Broken::Timeout | Broken::Lost => {
                SubmitOutcome::Unknown(evidence(how.class(), None, cause, bytes))
            }
        },
        Seen::Answered(answer) => answered(commit, answer),
    }
}

fn not_sent(class: &str, detail: &str, bytes: u64) -> SubmitOutcome {
    SubmitOutcome::NotSent(NotSent {
        evidence: evidence(class, None, detail, bytes),
        retry_after: None,
    })
}

fn answered(commit: &Commit<'_>, answer: &Answer) -> SubmitOutcome {
    let evidence =
        |class: &str, detail: &str| evidence(class, Some(answer.status), detail, commit.bytes);
    let seen = |class: &str| evidence(class, &answer.remark(commit.error));
    match verdict(commit.step, answer) {
        Verdict::Accepted => match external_id(commit, answer) {
            Some(external_id) => SubmitOutcome::Accepted {
                external_id,
                evidence: evidence("status", ""),
            },
            None => SubmitOutcome::Unknown(match answer.body {
                Body::Json(_) => evidence("no_id", "accepted, but the answer has no usable id"),
                Body::NotJson | Body::TooLarge | Body::Cut => seen("unreadable"),
            }),
        },
        Verdict::Rejected => SubmitOutcome::Rejected(seen("status")),
        Verdict::RateLimited => SubmitOutcome::NotSent(NotSent {
            evidence: seen("status"),
            retry_after: answer.retry_after,
        }),
        Verdict::Unknown => SubmitOutcome::Unknown(seen("status")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Rejected,
    RateLimited,
    Unknown,
}

fn verdict(step: &Step, answer: &Answer) -> Verdict {
    let status = answer.status;
    let accept = &step.call.accept;
    let by_table = match status {
        _ if accept.contains(&status) => Verdict::Accepted,
        429 => Verdict::RateLimited,
        _ if rejects(status) => Verdict::Rejected,
        _ => Verdict::Unknown,
    };
    // The file cannot hold a rule that says more about these; this holds should that check ever be wrong.
    let open_to_rules = accept.contains(&status) || matches!(status, 400..=407 | 409..=499);
    if !open_to_rules {
        return by_table;
    }
    let rules = step.outcomes.iter().filter(|rule| rule.status == status);
    for rule in rules {
        let holds = match answer.json() {
            _ if rule.when.0.is_empty() => true,
            Some(body) => rule.when.holds(body),
            // The rule asks for a body that could not be read: what it would say of it is not known.
            None => return unreadable(by_table),
        };
        if holds {
            return match rule.is {
                RuleOutcome::Accepted => Verdict::Accepted,
                RuleOutcome::Rejected => Verdict::Rejected,
                RuleOutcome::Unknown => Verdict::Unknown,
            };
        }
    }
    by_table
}

/// A limit is still a limit; an acceptance or a rejection that a rule could have overruled is not proved.
fn unreadable(by_table: Verdict) -> Verdict {
    match by_table {
        Verdict::Accepted | Verdict::Rejected | Verdict::Unknown => Verdict::Unknown,
        Verdict::RateLimited => Verdict::RateLimited,
    }
}

/// The id, only from an answer that was not cut.
fn external_id(commit: &Commit<'_>, answer: &Answer) -> Option<ExternalId> {
    if answer.body == Body::Cut {
        return None;
    }
    match &commit.step.id {
        IdFrom::Answer(pick) => ExternalId::parse(&pick.read(answer)?).ok(),
        IdFrom::Captured(_) => commit.known_id.cloned(),
    }
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
