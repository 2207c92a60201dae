//! What the rules of all kinds have in common: the words that must be found.

use sendtrail_core::settings::Section;
use serde_json::Number;
use toml::de::DeValue;

use super::read::pointer;
use crate::condition::{Condition, Conditions};
use crate::pointer::{Word, WordAt};

/// `at`, `last` and `equals`, or several of them in `all`.
pub(super) fn conditions(rule: &Section<'_, '_>) -> Option<Conditions> {
    if !rule.has_section("all") {
        return Some(Conditions(vec![condition(rule)?]));
    }
    if rule.has("at") || rule.has("last") || rule.has_section("equals") {
        rule.wrong("all", "stands alone: at, last and equals go into it");
        // They are read, so that they are not called unknown on top.
        let _ = (rule.raw("at"), rule.raw("last"), rule.raw("equals"));
    }
    let tables = rule.sections("all");
    if tables.is_empty() {
        rule.wrong("all", "must list at least one { at = …, equals = … }");
    }
    let read: Vec<_> = tables.iter().map(condition).collect();
    let conditions = Conditions(read.into_iter().collect::<Option<Vec<_>>>()?);
    if conditions.contradict() {
        rule.wrong("all", "asks for two words at one place, so it never holds");
    }
    Some(conditions)
}

/// The same for a rule that may do without.
pub(super) fn optional_conditions(rule: &Section<'_, '_>) -> Option<Conditions> {
    if rule.has_section("all") || (rule.has("at") && rule.has("equals")) {
        return conditions(rule);
    }
    if rule.has("at") || rule.has("last") || rule.has("equals") {
        rule.wrong("at", "at and equals go together");
        let _ = (rule.raw("at"), rule.raw("last"), rule.raw("equals"));
        return None;
    }
    Some(Conditions::default())
}

/// A rule that is never reached, since an earlier one with another meaning holds wherever it holds.
pub(super) fn unreachable<M: PartialEq>(
    tables: &[Section<'_, '_>],
    rules: &[Option<(&Conditions, M)>],
) {
    for (index, (table, rule)) in tables.iter().zip(rules).enumerate() {
        let Some((when, meaning)) = rule else {
            continue;
        };
        let mut earlier = rules.iter().take(index).flatten();
        if earlier.any(|(other, means)| means != meaning && other.cover(when)) {
            let words = when.words();
            table.wrong("is", &format!("{words} has another meaning already"));
        }
    }
}

fn condition(section: &Section<'_, '_>) -> Option<Condition> {
    let at = pointer(section, "at");
    let last = section.optional_text("last");
    if last.as_deref() == Some("") {
        section.wrong("last", "must be the name of a member");
    }
    let equals = equals(section);
    Some(Condition {
        at: WordAt { at: at?, last },
        equals: equals?,
    })
}

/// The value of `equals`: a text, a number, true or false.
fn equals(section: &Section<'_, '_>) -> Option<Word> {
    let Some(value) = section.raw("equals") else {
        section.wrong("equals", "is missing");
        return None;
    };
    let word = word(value);
    if word.is_none() {
        section.wrong("equals", "must be a text, a number, true or false");
    }
    word
}

/// A list of words.
pub(super) fn words(section: &Section<'_, '_>, key: &str) -> Vec<Word> {
    let Some(value) = section.raw(key) else {
        return Vec::new();
    };
    let items = value.as_array().map(|items| {
        let words = items.iter().map(|item| word(item.get_ref()));
        words.collect::<Option<Vec<_>>>()
    });
    items.flatten().unwrap_or_else(|| {
        section.wrong(key, "must be a list of texts or numbers");
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
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(Number::from_f64);
            number.map(|number| Word::number(&number))
        }
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
