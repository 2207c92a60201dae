//! The body of a step.

use sendtrail_core::settings::Section;
use serde_json::{Number, Value};
use toml::de::{DeArray, DeValue};

use crate::template::{Scope, Template};

/// The body of a step, by its encoding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BodySpec {
    /// An object; the document stands in it as base64 text.
    Json(Node),
    /// `multipart/form-data`: the parts in the order of their names.
    Multipart(Vec<(String, Node)>),
}

/// One value of a body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Template(Template),
    Fixed(Value),
    Document,
}

pub(super) fn read(step: &Section<'_, '_>) -> Option<BodySpec> {
    let encoding = step.text("encoding");
    if !step.has_section("body") {
        step.wrong("body", "is missing");
    }
    let section = step.section("body");
    let entries = object(&section);
    let documents: usize = entries.iter().map(|(_, node)| documents(node)).sum();
    if documents != 1 && step.has_section("body") {
        step.wrong("body", "must hold \"@document\" exactly once");
    }
    match encoding?.as_str() {
        "json" => Some(BodySpec::Json(Node::Object(entries))),
        "multipart" => {
            check_parts(&section, &entries);
            Some(BodySpec::Multipart(entries))
        }
        _ => {
            step.wrong("encoding", "must be json or multipart");
            None
        }
    }
}

fn documents(node: &Node) -> usize {
    match node {
        Node::Document => 1,
        Node::Object(entries) => entries.iter().map(|(_, node)| documents(node)).sum(),
        Node::Array(items) => items.iter().map(documents).sum(),
        Node::Template(_) | Node::Fixed(_) => 0,
    }
}

fn check_parts(section: &Section<'_, '_>, entries: &[(String, Node)]) {
    for (name, node) in entries {
        let plain = name
            .bytes()
            .all(|b| (b' '..=b'~').contains(&b) && b != b'"' && b != b'\\');
        if name.is_empty() || !plain {
            section.wrong(
                name,
                "the name of a part must be printable ASCII without quotes",
            );
        }
        if matches!(node, Node::Object(_) | Node::Array(_)) {
            section.wrong(name, "a part must be a text, a number, true or false");
        }
    }
}

fn object(section: &Section<'_, '_>) -> Vec<(String, Node)> {
    let mut entries = Vec::new();
    for (key, _) in section.keys() {
        if let Some(node) = entry(section, &key) {
            entries.push((key, node));
        }
    }
    entries
}

fn entry(section: &Section<'_, '_>, key: &str) -> Option<Node> {
    let value = section.raw(key)?;
    if value.is_table() {
        return Some(Node::Object(object(&section.section(key))));
    }
    let tables = |items: &DeArray<'_>| items.iter().any(|item| item.get_ref().is_table());
    if value.as_array().is_some_and(tables) {
        let tables = section.sections(key);
        let objects = tables.iter().map(|table| Node::Object(object(table)));
        return Some(Node::Array(objects.collect()));
    }
    scalar_or_list(section, key, value)
}

fn scalar_or_list(section: &Section<'_, '_>, key: &str, value: &DeValue<'_>) -> Option<Node> {
    let fixed = |value: Option<Value>| {
        if value.is_none() {
            section.wrong(key, "is a number JSON cannot hold");
        }
        value.map(Node::Fixed)
    };
    match value {
        DeValue::String(text) => template(section, key, text),
        DeValue::Boolean(yes) => Some(Node::Fixed(Value::Bool(*yes))),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            fixed(number.ok().map(Value::from))
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(Number::from_f64);
            fixed(number.map(Value::Number))
        }
        DeValue::Array(items) => {
            let nodes = items
                .iter()
                .map(|item| scalar_or_list(section, key, item.get_ref()));
            nodes.collect::<Option<Vec<_>>>().map(Node::Array)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => {
            section.wrong(
                key,
                "must be a text, a number, true, false, a list or a table",
            );
            None
        }
    }
}

fn template(section: &Section<'_, '_>, key: &str, text: &str) -> Option<Node> {
    if text == "@document" {
        return Some(Node::Document);
    }
    if text.starts_with('@') {
        section.wrong(key, "the only value with @ is \"@document\"");
        return None;
    }
    Template::parse(text, Scope::Step)
        .map_err(|what| section.wrong(key, &what))
        .ok()
        .map(Node::Template)
}
