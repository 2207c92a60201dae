//! The `[find]` table: how the outcome of a submit is cleared up when no answer told it.

use jiff::SignedDuration;
use sendtrail_core::settings::Section;

use super::body::BodySpec;
use super::look_up::{LONGEST, credentials_body};
use super::read::{Context, optional_pointer, path, pointer};
use super::rule::{conditions, unreachable};
use super::step::ReadSteps;
use crate::address::PathTemplate;
use crate::condition::Conditions;
use crate::pointer::Pointer;
use crate::template::Scope;

/// How a submit is found again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Find {
    pub(crate) path: PathTemplate,
    /// Where the API wants its credentials in the body.
    pub(crate) body: Option<BodySpec>,
    pub(crate) by: FindBy,
}

/// What the answer is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FindBy {
    /// A list in which our reference is looked for.
    List {
        items: Pointer,
        id: Pointer,
        /// Where an item carries our reference; an item with another one is not ours.
        reference: Option<Pointer>,
        /// Whether it stands there in base64.
        base64: bool,
    },
    /// The draft itself.
    Draft {
        rules: Vec<DraftRule>,
        /// Where the id stands; the draft's own id otherwise.
        id: Option<Pointer>,
    },
}

/// One `[[find.rule]]`; the first that holds decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DraftRule {
    pub(crate) when: Conditions,
    /// The draft was committed; otherwise it is a draft still.
    pub(crate) committed: bool,
}

pub(super) fn find(
    root: &Section<'_, '_>,
    steps: &ReadSteps,
    context: &Context<'_>,
) -> Option<(Find, SignedDuration)> {
    let present = root.has_section("find");
    let section = root.section("find");
    if !present {
        return None;
    }
    let scope = Scope::Find(steps.draft.as_deref());
    let path = path(&section, scope, context.base);
    let body = credentials_body(&section, scope, context);
    let grace = section.duration("grace");
    if grace.is_some_and(|grace| grace > LONGEST) {
        section.wrong("grace", "must be at most 400d");
    }
    if grace.is_some_and(|grace| grace <= SignedDuration::ZERO) {
        section.wrong("grace", "a submit may turn up late: give it some minutes");
    }
    let by = if section.has_section("rule") {
        Some(by_draft(&section, path.as_ref()))
    } else {
        by_list(&section)
    };
    let compares = matches!(
        &by,
        Some(FindBy::List {
            reference: Some(_),
            ..
        })
    );
    let asks = path.as_ref().is_some_and(PathTemplate::names_reference)
        || body.as_ref().is_some_and(BodySpec::names_reference);
    if steps.without_reference && (compares || asks) {
        section.wrong("path", "find looks for {{reference}}, but no step sends it");
    }
    if matches!(&by, Some(FindBy::List { .. })) && path.is_some() && !compares && !asks {
        section.wrong(
            "path",
            "must hold {{reference}}, or compare it with find.reference: else any listed item counts as ours",
        );
    }
    let find = Find {
        path: path?,
        body,
        by: by?,
    };
    Some((find, grace?))
}

fn by_list(section: &Section<'_, '_>) -> Option<FindBy> {
    let items = pointer(section, "items");
    let id = pointer(section, "id");
    let reference = optional_pointer(section, "reference");
    let base64 = match section.text_or("reference_in", "plain").as_str() {
        "plain" => false,
        "base64" => true,
        _ => {
            section.wrong("reference_in", "must be plain or base64");
            return None;
        }
    };
    Some(FindBy::List {
        items: items?,
        id: id?,
        reference,
        base64,
    })
}

fn by_draft(section: &Section<'_, '_>, path: Option<&PathTemplate>) -> FindBy {
    for key in ["items", "reference", "reference_in"] {
        if section.has(key) {
            section.wrong(key, "is for a list; with rules the draft itself is read");
            let _ = section.raw(key);
        }
    }
    if path.is_some_and(|path| !path.names_draft()) {
        section.wrong("path", "must hold {{draft_id}}, where a draft is read back");
    }
    let id = optional_pointer(section, "id");
    let tables = section.sections("rule");
    let read: Vec<_> = tables.iter().map(rule).collect();
    let meanings: Vec<_> = read
        .iter()
        .map(|rule| rule.as_ref().map(|rule| (&rule.when, rule.committed)))
        .collect();
    unreachable(&tables, &meanings);
    let rules: Vec<_> = read.into_iter().flatten().collect();
    if !rules.iter().any(|rule| rule.committed) {
        section.wrong("rule", "needs a rule that is committed");
    }
    FindBy::Draft { rules, id }
}

fn rule(section: &Section<'_, '_>) -> Option<DraftRule> {
    let when = conditions(section);
    let committed = match section.text("is")?.as_str() {
        "committed" => true,
        "draft" => false,
        _ => {
            section.wrong("is", "must be committed or draft");
            return None;
        }
    };
    Some(DraftRule {
        when: when?,
        committed,
    })
}
