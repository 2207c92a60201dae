//! The `[look_up]` table.

use jiff::SignedDuration;
use sendtrail_core::policy::Pacing;
use sendtrail_core::settings::Section;

use super::body::{self, BodySpec};
use super::read::{Context, path};
use super::rule::{conditions, unreachable, words};
use crate::address::PathTemplate;
use crate::condition::Conditions;
use crate::pointer::Word;
use crate::template::Scope;

/// How a result is asked for and read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LookUpRules {
    pub(crate) path: PathTemplate,
    /// Where the API wants its credentials in the body.
    pub(crate) body: Option<BodySpec>,
    pub(crate) rules: Vec<LookUpRule>,
    /// The words known to be pending; empty where the file does not list them.
    pub(crate) pending: Vec<Word>,
}

/// One `[[look_up.rule]]`; the first that holds decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LookUpRule {
    pub(crate) when: Conditions,
    pub(crate) is: Verdict,
}

/// What a status word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Delivered,
    Undelivered,
    Pending,
}

pub(super) const LONGEST: SignedDuration = SignedDuration::from_hours(400 * 24);

pub(super) fn look_up(
    section: &Section<'_, '_>,
    context: &Context<'_>,
) -> Option<(LookUpRules, Pacing)> {
    let path = path(section, Scope::LookUp, context.base);
    let body = credentials_body(section, Scope::LookUp, context);
    let pacing = pacing(section);
    let otherwise = section.text_or("otherwise", "pending");
    if otherwise != "pending" {
        section.wrong(
            "otherwise",
            "must be pending: a word no rule names ends nothing",
        );
    }
    let pending = words(section, "pending");
    let tables = section.sections("rule");
    let read: Vec<_> = tables.iter().map(rule).collect();
    let meanings: Vec<_> = read
        .iter()
        .map(|rule| rule.as_ref().map(|rule| (&rule.when, rule.is)))
        .collect();
    unreachable(&tables, &meanings);
    let rules: Vec<_> = read.into_iter().flatten().collect();
    if !rules.iter().any(|rule| rule.is == Verdict::Delivered) {
        section.wrong("rule", "needs a rule that is delivered");
    }
    pending_and_final(section, &pending, &rules);
    let rules = LookUpRules {
        path: path?,
        body,
        rules,
        pending,
    };
    Some((rules, pacing?))
}

/// A word is pending or ends the send, not both. A rule over several fields may take a word that is pending
/// without the others.
fn pending_and_final(section: &Section<'_, '_>, pending: &[Word], rules: &[LookUpRule]) {
    for rule in rules {
        let means = match rule.is {
            Verdict::Delivered => "delivered",
            Verdict::Undelivered => "undelivered",
            Verdict::Pending => continue,
        };
        if let [one] = rule.when.0.as_slice()
            && pending.contains(&one.equals)
        {
            let word = &one.equals;
            section.wrong(
                "pending",
                &format!("{word} is {means} by a rule, so it is not pending"),
            );
        }
    }
}

/// The body of a read: needed where the credentials stand in bodies, and refused elsewhere.
pub(super) fn credentials_body(
    section: &Section<'_, '_>,
    scope: Scope<'_>,
    context: &Context<'_>,
) -> Option<BodySpec> {
    let body = body::object_body(section, context.body(scope));
    match (&body, context.secret_keys.is_empty()) {
        (Some(_), true) => section.wrong("body", "a read has a body only where auth.kind is body"),
        (None, false) => section.wrong("body", "is missing: it holds the credentials"),
        (Some(_), false) | (None, true) => {}
    }
    body
}

fn pacing(section: &Section<'_, '_>) -> Option<Pacing> {
    let first = section.duration("first");
    let every = section.duration("every");
    let give_up = section.duration("give_up");
    let not_found_grace = section.duration_or("not_found_grace", "10m");
    let (first, every, give_up) = (first?, every?, give_up?);
    if first <= SignedDuration::ZERO {
        section.wrong("first", "must be longer than nothing");
    }
    if first > every {
        section.wrong("first", "must not be longer than every");
    }
    if every > give_up {
        section.wrong("every", "must not be longer than give_up");
    }
    if give_up > LONGEST {
        section.wrong("give_up", "must be at most 400d");
    }
    if not_found_grace > give_up {
        section.wrong("not_found_grace", "must not be longer than give_up");
    }
    Some(Pacing {
        first,
        every,
        give_up,
        not_found_grace,
        find_grace: SignedDuration::ZERO,
    })
}

fn rule(section: &Section<'_, '_>) -> Option<LookUpRule> {
    let when = conditions(section);
    let is = match section.text("is")?.as_str() {
        "delivered" => Verdict::Delivered,
        "undelivered" => Verdict::Undelivered,
        "pending" => Verdict::Pending,
        _ => {
            section.wrong("is", "must be delivered, undelivered or pending");
            return None;
        }
    };
    Some(LookUpRule { when: when?, is })
}
