//! The `[look_up]` and `[find]` tables.

use jiff::SignedDuration;
use sendtrail_core::policy::Pacing;
use sendtrail_core::settings::Section;
use toml::de::DeValue;

use super::read::{optional_pointer, path, pointer};
use crate::address::{Base, PathTemplate};
use crate::pointer::{Pointer, Word, WordAt};
use crate::template::Scope;

/// How a result is asked for and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LookUpRules {
    pub(crate) path: PathTemplate,
    pub(crate) rules: Vec<LookUpRule>,
    /// The words known to be pending; empty where the file does not list them.
    pub(crate) pending: Vec<Word>,
}

/// One `[[look_up.rule]]`; the first that holds decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LookUpRule {
    pub(crate) word: WordAt,
    pub(crate) equals: Word,
    pub(crate) is: Verdict,
}

/// What a status word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Delivered,
    Undelivered,
    Pending,
}

/// How a submit is found again by our reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Find {
    pub(crate) path: PathTemplate,
    pub(crate) items: Pointer,
    pub(crate) id: Pointer,
    /// Where an item carries our reference; an item with another one is not ours.
    pub(crate) reference: Option<Pointer>,
}

const LONGEST: SignedDuration = SignedDuration::from_hours(400 * 24);

pub(super) fn look_up(
    section: &Section<'_, '_>,
    base: Option<&Base>,
) -> Option<(LookUpRules, Pacing)> {
    let path = path(section, Scope::LookUp, base);
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
    contradictions(&tables, &read);
    let rules: Vec<_> = read.into_iter().flatten().collect();
    if !rules.iter().any(|rule| rule.is == Verdict::Delivered) {
        section.wrong("rule", "needs a rule that is delivered");
    }
    let rules = LookUpRules {
        path: path?,
        rules,
        pending,
    };
    Some((rules, pacing?))
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
    let at = pointer(section, "at");
    let last = section.optional_text("last");
    if last.as_deref() == Some("") {
        section.wrong("last", "must be the name of a member");
    }
    let equals = equals(section, true);
    let is = match section.text("is")?.as_str() {
        "delivered" => Verdict::Delivered,
        "undelivered" => Verdict::Undelivered,
        "pending" => Verdict::Pending,
        _ => {
            section.wrong("is", "must be delivered, undelivered or pending");
            return None;
        }
    };
    Some(LookUpRule {
        word: WordAt { at: at?, last },
        equals: equals?,
        is,
    })
}

/// One word at one place has one meaning.
fn contradictions(tables: &[Section<'_, '_>], rules: &[Option<LookUpRule>]) {
    for (index, (table, rule)) in tables.iter().zip(rules).enumerate() {
        let Some(rule) = rule else { continue };
        let earlier = rules.iter().take(index).flatten();
        let mut same = earlier.filter(|other| {
            other.word == rule.word && other.equals == rule.equals && other.is != rule.is
        });
        if same.next().is_some() {
            table.wrong(
                "is",
                &format!("{} has another meaning already", rule.equals),
            );
        }
    }
}

pub(super) fn find(root: &Section<'_, '_>, base: Option<&Base>) -> Option<(Find, SignedDuration)> {
    let present = root.has_section("find");
    let section = root.section("find");
    if !present {
        return None;
    }
    let path = path(&section, Scope::Find, base);
    let items = pointer(&section, "items");
    let id = pointer(&section, "id");
    let reference = optional_pointer(&section, "reference");
    let grace = section.duration("grace")?;
    if grace > LONGEST {
        section.wrong("grace", "must be at most 400d");
    }
    let find = Find {
        path: path?,
        items: items?,
        id: id?,
        reference,
    };
    Some((find, grace))
}

/// The value of `equals`: a text, a whole number, true or false.
pub(super) fn equals(section: &Section<'_, '_>, required: bool) -> Option<Word> {
    let Some(value) = section.raw("equals") else {
        if required {
            section.wrong("equals", "is missing");
        }
        return None;
    };
    let word = word(value);
    if word.is_none() {
        section.wrong("equals", "must be a text, a whole number, true or false");
    }
    word
}

fn words(section: &Section<'_, '_>, key: &str) -> Vec<Word> {
    let Some(value) = section.raw(key) else {
        return Vec::new();
    };
    let items = value.as_array().map(|items| {
        let words = items.iter().map(|item| word(item.get_ref()));
        words.collect::<Option<Vec<_>>>()
    });
    items.flatten().unwrap_or_else(|| {
        section.wrong(key, "must be a list of texts or whole numbers");
        Vec::new()
    })
}

fn word(value: &DeValue<'_>) -> Option<Word> {
    match value {
        DeValue::String(text) => Some(Word::Text(text.to_string())),
        DeValue::Boolean(yes) => Some(Word::Boolean(*yes)),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(Word::Integer),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
