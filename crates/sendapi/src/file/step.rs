//! Steps: the one request that commits the send, and how its answers are read.

use reqwest::Method;
use reqwest::header::HeaderName;
use sendtrail_core::settings::Section;

use super::body::{self, BodySpec};
use super::look_up::equals;
use super::read::{integer, optional_pointer, path, pointer};
use crate::address::{Base, PathTemplate};
use crate::auth::header_name;
use crate::pointer::{Pointer, Word};
use crate::template::Scope;

/// The `[idempotency]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Idempotency {
    pub(crate) header: HeaderName,
    /// Written as a structured-field string, in quotes.
    pub(crate) quoted: bool,
    pub(crate) max_len: usize,
}

/// The commit step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) method: Method,
    pub(crate) path: PathTemplate,
    pub(crate) body: BodySpec,
    /// The success codes the driver declares.
    pub(crate) accept: Vec<u16>,
    pub(crate) id: Pointer,
    pub(crate) outcomes: Vec<OutcomeRule>,
}

/// One `[[step.outcome]]`: what an answer means where the table alone cannot say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutcomeRule {
    pub(crate) status: u16,
    /// The word the body must hold, where the status alone is not enough.
    pub(crate) word: Option<(Pointer, Word)>,
    pub(crate) is: RuleOutcome,
}

/// What a rule may say. `NotSent` is not among them: proof is the classification's alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleOutcome {
    Accepted,
    Rejected,
    Unknown,
}

/// References are this long at least.
const REFERENCE_LEN: i64 = 35;

pub(super) fn idempotency(root: &Section<'_, '_>) -> Option<Idempotency> {
    let present = root.has_section("idempotency");
    let section = root.section("idempotency");
    if !present {
        return None;
    }
    let name = section.text("header");
    let quoted = section.boolean_or("quoted", false);
    let max_len = section.integer_or("max_len", 255, REFERENCE_LEN..=4_096);
    Some(Idempotency {
        header: header_name(&section, "header", &name?)?,
        quoted,
        max_len: usize::try_from(max_len).ok()?,
    })
}

/// Reads every step and gives the one that commits.
pub(super) fn commit(root: &Section<'_, '_>, base: Option<&Base>) -> Option<Step> {
    let sections = root.sections("step");
    let mut commit = None;
    let mut commits = 0;
    for section in &sections {
        let is_commit = section.boolean_or("commit", false);
        let step = step(section, base);
        if !is_commit {
            section.wrong("commit", "steps before the commit step are not supported");
            continue;
        }
        commits += 1;
        if commits > 1 {
            section.wrong("commit", "exactly one step may commit");
        }
        commit = step;
    }
    if commits == 0 {
        root.wrong("step", "needs exactly one step with commit = true");
    }
    commit
}

fn step(section: &Section<'_, '_>, base: Option<&Base>) -> Option<Step> {
    let name = section.text("name");
    let method = method(section);
    let path = path(section, Scope::Step, base);
    let body = body::read(section);
    let accept = accept(section);
    let id = pointer(section, "id");
    let rules = section.sections("outcome");
    let outcomes = rules.iter().filter_map(|rule| outcome(rule, &accept));
    let outcomes = outcomes.collect();
    Some(Step {
        name: name?,
        method: method?,
        path: path?,
        body: body?,
        accept,
        id: id?,
        outcomes,
    })
}

fn method(section: &Section<'_, '_>) -> Option<Method> {
    match section.text("method")?.as_str() {
        "POST" => Some(Method::POST),
        "PUT" => Some(Method::PUT),
        "PATCH" => Some(Method::PATCH),
        _ => {
            section.wrong("method", "must be POST, PUT or PATCH");
            None
        }
    }
}

fn accept(section: &Section<'_, '_>) -> Vec<u16> {
    let codes = section.integers("accept", &(200..=299));
    let written = section.raw("accept").and_then(toml::de::DeValue::as_array);
    if written.is_none_or(|list| list.is_empty()) {
        section.wrong("accept", "must list the success codes, such as [200]");
    }
    codes
        .into_iter()
        .filter_map(|code| u16::try_from(code).ok())
        .collect()
}

fn outcome(section: &Section<'_, '_>, accept: &[u16]) -> Option<OutcomeRule> {
    let status = integer(section, "status", 200..=599);
    let at = optional_pointer(section, "at");
    let word = equals(section, false);
    let is = match section.text("is")?.as_str() {
        "accepted" => RuleOutcome::Accepted,
        "rejected" => RuleOutcome::Rejected,
        "unknown" => RuleOutcome::Unknown,
        _ => {
            section.wrong("is", "must be accepted, rejected or unknown");
            return None;
        }
    };
    if section.has("at") != section.has("equals") {
        section.wrong("at", "at and equals go together");
        return None;
    }
    let word = at.zip(word);
    let status = u16::try_from(status?).ok()?;
    if let Some(what) = illegal(status, accept, is, word.is_some()) {
        section.wrong("is", what);
        return None;
    }
    Some(OutcomeRule { status, word, is })
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
