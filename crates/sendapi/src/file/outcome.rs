//! `[[step.outcome]]`: what an answer to the commit means where the table alone cannot say.

use sendtrail_core::settings::Section;

use super::read::integer;
use super::rule::{optional_conditions, unreachable};
use crate::condition::Conditions;

/// One `[[step.outcome]]`; the first that holds decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutcomeRule {
    pub(crate) status: u16,
    /// What the body must hold, where the status alone is not enough.
    pub(crate) when: Conditions,
    pub(crate) is: RuleOutcome,
}

/// What a rule may say. `NotSent` is not among them: proof is the classification's alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleOutcome {
    Accepted,
    Rejected,
    Unknown,
}

pub(super) fn outcomes(step: &Section<'_, '_>, accept: &[u16]) -> Vec<OutcomeRule> {
    let tables = step.sections("outcome");
    let read: Vec<_> = tables.iter().map(|table| outcome(table, accept)).collect();
    let mut statuses: Vec<u16> = read.iter().flatten().map(|rule| rule.status).collect();
    statuses.dedup();
    for status in statuses {
        let of_status = |rule: &Option<OutcomeRule>| {
            let rule = rule.as_ref().filter(|rule| rule.status == status)?;
            Some((rule.when.clone(), rule.is))
        };
        let owned: Vec<_> = read.iter().map(of_status).collect();
        let meanings: Vec<_> = owned
            .iter()
            .map(|rule| rule.as_ref().map(|(when, is)| (when, *is)))
            .collect();
        unreachable(&tables, &meanings);
    }
    read.into_iter().flatten().collect()
}

fn outcome(section: &Section<'_, '_>, accept: &[u16]) -> Option<OutcomeRule> {
    let status = integer(section, "status", 200..=599);
    let when = optional_conditions(section);
    let is = match section.text("is")?.as_str() {
        "accepted" => RuleOutcome::Accepted,
        "rejected" => RuleOutcome::Rejected,
        "unknown" => RuleOutcome::Unknown,
        _ => {
            section.wrong("is", "must be accepted, rejected or unknown");
            return None;
        }
    };
    let (when, status) = (when?, u16::try_from(status?).ok()?);
    if let Some(what) = illegal(status, accept, is, !when.0.is_empty()) {
        section.wrong("is", what);
        return None;
    }
    Some(OutcomeRule { status, when, is })
}

/// Codes that mean *rejected* by themselves.
pub(crate) fn rejects(status: u16) -> bool {
    matches!(
        status,
        400..=406 | 410 | 411 | 413..=415 | 422 | 431 | 451
    )
}

/// Why this rule would say more than its status can prove.
fn illegal(status: u16, accept: &[u16], is: RuleOutcome, reads_body: bool) -> Option<&'static str> {
    if is == RuleOutcome::Unknown {
        return None;
    }
    match status {
        500.. => Some("a 5xx is always unknown"),
        408 => Some("a time-out is always unknown"),
        300..=399 => Some("a redirect is always unknown"),
        429 if is == RuleOutcome::Accepted => Some("a 429 is never accepted"),
        429 => None,
        0..=299 if !accept.contains(&status) => {
            Some("a success code that is not in accept is always unknown")
        }
        0..=299 if is == RuleOutcome::Accepted => Some("the codes in accept are accepted already"),
        _ if rejects(status) && is == RuleOutcome::Rejected => None,
        _ if reads_body => None,
        _ => Some("the status alone does not prove it: at and equals are needed"),
    }
}
