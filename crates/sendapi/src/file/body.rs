//! The body of a request.

use sendtrail_core::settings::{Reader, SecretRef, Section};
use serde_json::{Number, Value};
use toml::de::{DeArray, DeValue};

use crate::template::{Scope, Template};

/// The body of a request, by its encoding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BodySpec {
    /// An object; the document stands in it as base64 text.
    Json { root: Node, content_type: String },
    /// `application/x-www-form-urlencoded`; the document stands in it as base64 text.
    Form(Vec<(String, Node)>),
    /// `multipart/form-data`: the parts in the order of their names.
    Multipart(Vec<(String, Node)>),
    /// The document itself and nothing else.
    Raw { content_type: String },
}

/// One value of a body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Template(Template),
    Fixed(Value),
    Secret(SecretRef),
    Document,
}

/// What may stand in a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowed<'a> {
    pub(super) scope: Scope<'a>,
    /// The keys that may hold a secret.
    pub(super) secrets: &'a [String],
}

impl BodySpec {
    /// How often the document stands in it.
    pub(super) fn documents(&self) -> usize {
        let entries = |entries: &[(String, Node)]| {
            let counts = entries.iter().map(|(_, node)| node.documents());
            counts.sum()
        };
        match self {
            Self::Json { root, .. } => root.documents(),
            Self::Form(list) | Self::Multipart(list) => entries(list),
            Self::Raw { .. } => 1,
        }
    }

    /// Whether our reference stands in it.
    pub(super) fn names_reference(&self) -> bool {
        match self {
            Self::Json { root, .. } => root.names_reference(),
            Self::Form(list) | Self::Multipart(list) => {
                list.iter().any(|(_, node)| node.names_reference())
            }
            Self::Raw { .. } => false,
        }
    }

    /// The secrets in it.
    pub(crate) fn secrets(&self, into: &mut Vec<SecretRef>) {
        match self {
            Self::Json { root, .. } => root.secrets(into),
            Self::Form(list) | Self::Multipart(list) => {
                for (_, node) in list {
                    node.secrets(into);
                }
            }
            Self::Raw { .. } => {}
        }
    }
}

impl Node {
    fn documents(&self) -> usize {
        match self {
            Self::Document => 1,
            Self::Object(entries) => entries.iter().map(|(_, node)| node.documents()).sum(),
            Self::Array(items) => items.iter().map(Self::documents).sum(),
            Self::Template(_) | Self::Fixed(_) | Self::Secret(_) => 0,
        }
    }

    fn names_reference(&self) -> bool {
        match self {
            Self::Template(template) => template.names_reference(),
            Self::Object(entries) => entries.iter().any(|(_, node)| node.names_reference()),
            Self::Array(items) => items.iter().any(Self::names_reference),
            Self::Fixed(_) | Self::Secret(_) | Self::Document => false,
        }
    }

    fn secrets(&self, into: &mut Vec<SecretRef>) {
        match self {
            Self::Secret(name) => into.push(name.clone()),
            Self::Object(entries) => {
                for (_, node) in entries {
                    node.secrets(into);
                }
            }
            Self::Array(items) => {
                for node in items {
                    node.secrets(into);
                }
            }
            Self::Template(_) | Self::Fixed(_) | Self::Document => {}
        }
    }
}

/// The body of a step; none where the step has none.
pub(super) fn read(step: &Section<'_, '_>, allowed: Allowed<'_>) -> Option<BodySpec> {
    let encoding = step.has("encoding").then(|| step.text("encoding"));
    let present = step.has_section("body");
    match (&encoding, present) {
        (None, false) => return None,
        (None, true) => {
            step.text("encoding");
        }
        (Some(_), false) => step.wrong("body", "is missing"),
        (Some(_), true) => {}
    }
    let encoding = encoding.flatten();
    if encoding.as_deref() == Some("raw") {
        return raw(step);
    }
    let content_type = content_type(step, "application/json");
    let section = step.section("body");
    let entries = object(&section, "", allowed);
    match encoding?.as_str() {
        "json" => Some(BodySpec::Json {
            root: Node::Object(entries),
            content_type,
        }),
        "form" => {
            check_entries(&section, &entries);
            no_content_type(step);
            Some(BodySpec::Form(entries))
        }
        "multipart" => {
            check_entries(&section, &entries);
            check_names(&section, &entries);
            no_content_type(step);
            Some(BodySpec::Multipart(entries))
        }
        _ => {
            step.wrong("encoding", "must be json, form, multipart or raw");
            None
        }
    }
}

/// The JSON body of a look-up, for APIs that want their credentials in it.
pub(super) fn object_body(section: &Section<'_, '_>, allowed: Allowed<'_>) -> Option<BodySpec> {
    if !section.has_section("body") {
        return None;
    }
    let root = Node::Object(object(&section.section("body"), "", allowed));
    if root.documents() > 0 {
        section.wrong("body", "the document is for a step's body");
    }
    Some(BodySpec::Json {
        root,
        content_type: "application/json".to_owned(),
    })
}

fn raw(step: &Section<'_, '_>) -> Option<BodySpec> {
    let content_type = content_type(step, "application/pdf");
    let whole = step.raw("body").and_then(DeValue::as_str) == Some("@document");
    if !whole {
        step.wrong("body", "must be \"@document\" where the encoding is raw");
        return None;
    }
    Some(BodySpec::Raw { content_type })
}

fn content_type(step: &Section<'_, '_>, default: &str) -> String {
    let text = step.text_or("content_type", default);
    let plain = text.bytes().all(|b| (b' '..=b'~').contains(&b));
    if !plain || !text.contains('/') {
        step.wrong("content_type", "must be a media type");
    }
    text
}

fn no_content_type(step: &Section<'_, '_>) {
    if step.has("content_type") {
        step.wrong(
            "content_type",
            "is for json and raw; the others have their own",
        );
    }
}

/// A form has no nesting.
fn check_entries(section: &Section<'_, '_>, entries: &[(String, Node)]) {
    for (name, node) in entries {
        if matches!(node, Node::Object(_) | Node::Array(_)) {
            section.wrong(name, "a part must be a text, a number, true or false");
        }
    }
}

fn check_names(section: &Section<'_, '_>, entries: &[(String, Node)]) {
    for (name, _) in entries {
        let plain = name
            .bytes()
            .all(|b| (b' '..=b'~').contains(&b) && b != b'"' && b != b'\\');
        if name.is_empty() || !plain {
            section.wrong(
                name,
                "the name of a part must be printable ASCII without quotes",
            );
        }
    }
}

/// `path` is the key of this table, seen from the body.
fn object(section: &Section<'_, '_>, path: &str, allowed: Allowed<'_>) -> Vec<(String, Node)> {
    let mut entries = Vec::new();
    for (key, _) in section.keys() {
        let inner = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        if let Some(node) = entry(section, &key, &inner, allowed) {
            entries.push((key, node));
        }
    }
    entries
}

fn entry(section: &Section<'_, '_>, key: &str, path: &str, allowed: Allowed<'_>) -> Option<Node> {
    let value = section.raw(key)?;
    if value.is_table() {
        return Some(Node::Object(object(&section.section(key), path, allowed)));
    }
    let tables = |items: &DeArray<'_>| items.iter().any(|item| item.get_ref().is_table());
    if value.as_array().is_some_and(tables) {
        let tables = section.sections(key);
        let objects = tables.iter().enumerate();
        let objects = objects.map(|(index, table)| {
            Node::Object(object(table, &format!("{path}[{index}]"), allowed))
        });
        return Some(Node::Array(objects.collect()));
    }
    let place = Place { section, key, path };
    place.scalar_or_list(value, allowed)
}

/// Where a value stands, for its mistakes.
struct Place<'p, 'r, 'i> {
    section: &'p Section<'r, 'i>,
    key: &'p str,
    path: &'p str,
}

impl Place<'_, '_, '_> {
    fn wrong(&self, what: &str) {
        self.section.wrong(self.key, what);
    }

    fn scalar_or_list(&self, value: &DeValue<'_>, allowed: Allowed<'_>) -> Option<Node> {
        let fixed = |value: Option<Value>| {
            if value.is_none() {
                self.wrong("is a number JSON cannot hold");
            }
            value.map(Node::Fixed)
        };
        match value {
            DeValue::String(text) => self.text(text, allowed),
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
                    .map(|item| self.scalar_or_list(item.get_ref(), allowed));
                nodes.collect::<Option<Vec<_>>>().map(Node::Array)
            }
            DeValue::Datetime(_) | DeValue::Table(_) => {
                self.wrong("must be a text, a number, true, false, a list or a table");
                None
            }
        }
    }

    fn text(&self, text: &str, allowed: Allowed<'_>) -> Option<Node> {
        if text == "@document" {
            return Some(Node::Document);
        }
        if text.starts_with('@') {
            self.wrong("the only value with @ is \"@document\"");
            return None;
        }
        if text.contains("{{secret:") {
            return self.secret(text, allowed);
        }
        Template::parse(text, allowed.scope)
            .map_err(|what| self.wrong(&what))
            .ok()
            .map(Node::Template)
    }

    /// A secret is a whole value, and only at a key that `[auth]` names.
    fn secret(&self, text: &str, allowed: Allowed<'_>) -> Option<Node> {
        let inner = text.strip_prefix("{{").and_then(|t| t.strip_suffix("}}"));
        let Some(inner) = inner.filter(|inner| !inner.contains("{{")) else {
            self.wrong("a secret must be the whole value");
            return None;
        };
        if !allowed.secrets.iter().any(|key| key == self.path) {
            self.wrong("a secret may stand only at a body key listed in auth.keys");
            return None;
        }
        let name = secret_ref(inner);
        if name.is_none() {
            self.wrong("must be {{secret:NAME}} with a NAME of letters, digits, - or _");
        }
        name.map(Node::Secret)
    }
}

/// The name in `secret:NAME`. Only a reader makes such names, so one reads this.
fn secret_ref(text: &str) -> Option<SecretRef> {
    let name = text.strip_prefix("secret:")?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    if name.is_empty() || !name.bytes().all(plain) {
        return None;
    }
    let line = format!("name = \"secret:{name}\"");
    let reader = Reader::new("", &line);
    reader.root().secret("name")
}
