//! What became of the one submit. One pure function, and a test for each row of its table.

use sendtrail_core::ids::ExternalId;
use sendtrail_core::ports::{NotSent, SubmitOutcome};
use serde_json::Value;

use crate::answer::{Answer, Body, Broken, evidence};
use crate::file::{RuleOutcome, Step, rejects};
use crate::pointer::{Pointer, Word};

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

/// Classifies what was seen. `error` is where the API's answers carry their error code; `bytes` is the
/// length of the body that was to be sent.
pub(crate) fn classify(
    step: &Step,
    error: Option<&Pointer>,
    seen: &Seen,
    bytes: u64,
) -> SubmitOutcome {
    match seen {
        Seen::Refused { class, detail } => not_sent(class, detail, bytes),
        Seen::Broken { how, cause } => match how {
            Broken::Build | Broken::Connect => not_sent(how.class(), cause, bytes),
            Broken::Timeout | Broken::Lost => {
                SubmitOutcome::Unknown(evidence(how.class(), None, cause, bytes))
            }
        },
        Seen::Answered(answer) => answered(step, error, answer, bytes),
    }
}

fn not_sent(class: &str, detail: &str, bytes: u64) -> SubmitOutcome {
    SubmitOutcome::NotSent(NotSent {
        evidence: evidence(class, None, detail, bytes),
        retry_after: None,
    })
}

fn answered(step: &Step, error: Option<&Pointer>, answer: &Answer, bytes: u64) -> SubmitOutcome {
    let seen = |class: &str| evidence(class, Some(answer.status), &answer.remark(error), bytes);
    match verdict(step, answer) {
        Verdict::Accepted => match external_id(step, answer) {
            Some(external_id) => SubmitOutcome::Accepted {
                external_id,
                evidence: evidence("status", Some(answer.status), "", bytes),
            },
            None => SubmitOutcome::Unknown(match answer.body {
                Body::Json(_) => {
                    let detail = "accepted, but the answer has no usable id";
                    evidence("no_id", Some(answer.status), detail, bytes)
                }
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
    let by_table = match status {
        _ if step.accept.contains(&status) => Verdict::Accepted,
        429 => Verdict::RateLimited,
        _ if rejects(status) => Verdict::Rejected,
        _ => Verdict::Unknown,
    };
    // The file cannot hold a rule that says more about these; this holds should that check ever be wrong.
    let open_to_rules = step.accept.contains(&status) || matches!(status, 400..=407 | 409..=499);
    if !open_to_rules {
        return by_table;
    }
    let rules = step.outcomes.iter().filter(|rule| rule.status == status);
    for rule in rules {
        let holds = match (&rule.word, answer.json()) {
            (None, _) => true,
            (Some((at, word)), Some(body)) => says(body, at, word),
            // The rule asks for a body that could not be read: what it would say of it is not known.
            (Some(_), None) => return unreadable(by_table),
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

/// Without a body an accept status still ends in *unreadable* and a 429 is still not sent; a rejection that
/// a rule could have overruled is not proved.
fn unreadable(by_table: Verdict) -> Verdict {
    match by_table {
        Verdict::Rejected | Verdict::Unknown => Verdict::Unknown,
        Verdict::Accepted => Verdict::Accepted,
        Verdict::RateLimited => Verdict::RateLimited,
    }
}

fn says(body: &Value, at: &Pointer, word: &Word) -> bool {
    at.get(body).and_then(Word::of).as_ref() == Some(word)
}

fn external_id(step: &Step, answer: &Answer) -> Option<ExternalId> {
    ExternalId::parse(&step.id.id(answer.json()?)?).ok()
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
