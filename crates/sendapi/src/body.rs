//! Builds the body of a request, whole and in memory: its length is known before anything is sent, and
//! nothing can fail half-way.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use secrecy::ExposeSecret as _;
use sendtrail_core::ids::Sha256Hash;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::file::{BodySpec, Node};
use crate::template::{BadValue, Values};

/// A finished body. It may hold credentials and personal data, so it does not print.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Built {
    pub(crate) content_type: String,
    pub(crate) bytes: Bytes,
}

pub(crate) fn build(
    spec: &BodySpec,
    values: &Values<'_>,
    document: &Bytes,
) -> Result<Built, BadValue> {
    match spec {
        BodySpec::Json { root, content_type } => {
            let value = json(root, values, document)?.unwrap_or(Value::Null);
            Ok(Built {
                content_type: content_type.clone(),
                bytes: value.to_string().into(),
            })
        }
        BodySpec::Form(entries) => form(entries, values, document),
        BodySpec::Multipart(parts) => multipart(parts, values, document),
        BodySpec::Raw { content_type } => Ok(Built {
            content_type: content_type.clone(),
            bytes: document.clone(),
        }),
    }
}

fn json(node: &Node, values: &Values<'_>, document: &[u8]) -> Result<Option<Value>, BadValue> {
    match node {
        Node::Object(entries) => {
            let mut object = Map::new();
            for (key, node) in entries {
                if let Some(value) = json(node, values, document)? {
                    object.insert(key.clone(), value);
                }
            }
            Ok(Some(Value::Object(object)))
        }
        Node::Array(items) => {
            let items = items
                .iter()
                .filter_map(|item| json(item, values, document).transpose());
            Ok(Some(Value::Array(items.collect::<Result<_, _>>()?)))
        }
        Node::Template(template) => template.json(values),
        Node::Fixed(value) => Ok(Some(value.clone())),
        Node::Secret(name) => values.secret(name).map(|text| Some(Value::String(text))),
        Node::Document => Ok(Some(Value::String(STANDARD.encode(document)))),
    }
}

fn form(
    entries: &[(String, Node)],
    values: &Values<'_>,
    document: &[u8],
) -> Result<Built, BadValue> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    for (name, node) in entries {
        if *node == Node::Document {
            form.append_pair(name, &STANDARD.encode(document));
        } else if let Some(text) = text(node, values)? {
            form.append_pair(name, &text);
        }
    }
    Ok(Built {
        content_type: "application/x-www-form-urlencoded".to_owned(),
        bytes: form.finish().into(),
    })
}

/// The text of a form's value. A list or a table is refused when the file is read, and the document is its
/// own matter.
fn text(node: &Node, values: &Values<'_>) -> Result<Option<String>, BadValue> {
    match node {
        Node::Template(template) => template.text(values),
        Node::Fixed(Value::String(text)) => Ok(Some(text.clone())),
        Node::Fixed(value) => Ok(Some(value.to_string())),
        Node::Secret(name) => values.secret(name).map(Some),
        Node::Document | Node::Object(_) | Node::Array(_) => Ok(None),
    }
}

impl Values<'_> {
    fn secret(&self, name: &sendtrail_core::settings::SecretRef) -> Result<String, BadValue> {
        let known = self.secrets.and_then(|secrets| secrets.get(name.name()));
        known
            .map(|text| text.expose_secret().to_owned())
            .ok_or_else(|| BadValue::Missing(format!("the secret {}", name.name())))
    }
}

/// The content of one part.
enum Part<'a> {
    Text(String),
    Document(&'a [u8]),
}

fn multipart(
    spec: &[(String, Node)],
    values: &Values<'_>,
    document: &[u8],
) -> Result<Built, BadValue> {
    let mut parts = Vec::new();
    for (name, node) in spec {
        if *node == Node::Document {
            parts.push((name, Part::Document(document)));
        } else if let Some(text) = text(node, values)? {
            parts.push((name, Part::Text(text)));
        }
    }
    let boundary = boundary(&parts);
    let mut bytes = Vec::with_capacity(document.len() + 256 * (parts.len() + 1));
    for (name, part) in &parts {
        bytes.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        bytes.extend_from_slice(
            format!("Content-Disposition: form-data; name=\"{name}\"").as_bytes(),
        );
        match part {
            Part::Text(text) => {
                bytes.extend_from_slice(b"\r\n\r\n");
                bytes.extend_from_slice(text.as_bytes());
            }
            Part::Document(document) => {
                bytes.extend_from_slice(
                    b"; filename=\"document.pdf\"\r\nContent-Type: application/pdf\r\n\r\n",
                );
                bytes.extend_from_slice(document);
            }
        }
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(Built {
        content_type: format!("multipart/form-data; boundary={boundary}"),
        bytes: bytes.into(),
    })
}

/// A boundary that occurs in no part. Texts cannot hold a line end, so only the document could end a part
/// early, and it cannot hold a hash of itself; the search is for certainty.
fn boundary(parts: &[(&String, Part<'_>)]) -> String {
    let document = parts.iter().find_map(|(_, part)| match part {
        Part::Document(bytes) => Some(*bytes),
        Part::Text(_) => None,
    });
    let document = document.unwrap_or_default();
    let mut boundary = format!("st-{}", &Sha256Hash::of(document).to_string()[..48]);
    while contains(document, boundary.as_bytes()) {
        let next = Sha256Hash::of(boundary.as_bytes()).to_string();
        boundary = format!("st-{}", &next[..48]);
    }
    boundary
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{Scope, Template};
    use proptest::prelude::*;
    use serde_json::json;

    fn template(text: &str) -> Node {
        Node::Template(Template::parse(text, Scope::Step(&[])).unwrap())
    }

    fn built(spec: &BodySpec, to: &Value, document: &[u8]) -> Result<Built, BadValue> {
        let values = Values {
            to: to.as_object(),
            reference: "st_1",
            ..Values::default()
        };
        build(spec, &values, &Bytes::copy_from_slice(document))
    }

    fn spec() -> BodySpec {
        BodySpec::Multipart(vec![
            ("file".into(), Node::Document),
            ("line2".into(), template("{{to.line2?}}")),
            ("to[name]".into(), template("{{to.name}}")),
        ])
    }

    #[test]
    fn a_json_body_keeps_nesting_and_carries_the_document_as_base64() {
        let root = Node::Object(vec![
            (
                "files".into(),
                Node::Array(vec![Node::Object(vec![("content".into(), Node::Document)])]),
            ),
            ("n".into(), Node::Fixed(json!(2))),
            ("none".into(), template("{{to.none?}}")),
            (
                "to".into(),
                Node::Array(vec![template("{{to.name}}"), template("{{to.none?}}")]),
            ),
        ]);
        let content_type = "application/json".to_owned();
        let spec = BodySpec::Json { root, content_type };
        let body = built(&spec, &json!({"name": "A \"B\""}), b"%PDF").unwrap();
        assert_eq!(body.content_type, "application/json");
        assert_eq!(
            serde_json::from_slice::<Value>(&body.bytes).unwrap(),
            json!({"files": [{"content": "JVBERg=="}], "n": 2, "to": ["A \"B\""]})
        );
    }

    #[test]
    fn a_multipart_body_has_one_part_for_each_value_that_is_there() {
        let body = built(&spec(), &json!({"name": "Å"}), b"%PDF\r\n\xff").unwrap();
        let (_, boundary) = body.content_type.split_once("boundary=").unwrap();
        let mut expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"document.pdf\"\r\n\
             Content-Type: application/pdf\r\n\r\n%PDF\r\n"
        )
        .into_bytes();
        expected.push(0xff);
        expected.extend_from_slice(
            format!(
                "\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"to[name]\"\r\n\r\nÅ\r\n--{boundary}--\r\n"
            )
            .as_bytes(),
        );
        assert_eq!(body.bytes, expected);
    }

    #[test]
    fn a_form_is_encoded_and_leaves_out_what_is_not_there() {
        let spec = BodySpec::Form(vec![
            ("a[b]".into(), template("{{to.name}}")),
            ("file".into(), Node::Document),
            ("line2".into(), template("{{to.line2?}}")),
            ("n".into(), Node::Fixed(json!(2))),
        ]);
        let body = built(&spec, &json!({"name": "Å & b"}), b"%PDF\xff").unwrap();
        assert_eq!(body.content_type, "application/x-www-form-urlencoded");
        assert_eq!(body.bytes, "a%5Bb%5D=%C3%85+%26+b&file=JVBERv8%3D&n=2");
    }

    #[test]
    fn a_raw_body_is_the_document_and_nothing_else() {
        let content_type = "application/pdf".to_owned();
        let body = built(&BodySpec::Raw { content_type }, &json!({}), b"%PDF\xff").unwrap();
        assert_eq!(body.content_type, "application/pdf");
        assert_eq!(body.bytes, &b"%PDF\xff"[..]);
    }

    #[test]
    fn a_missing_value_builds_nothing() {
        let missing = built(&spec(), &json!({}), b"%PDF").err();
        assert_eq!(missing, Some(BadValue::Missing("to.name".into())));
    }

    proptest! {
        #[test]
        fn the_boundary_is_in_no_part(document in proptest::collection::vec(any::<u8>(), 0..300), name in "[ -~]{1,80}") {
            let body = built(&spec(), &json!({"name": name}), &document).unwrap();
            let (_, boundary) = body.content_type.split_once("boundary=").unwrap();
            let marks = body.bytes.windows(boundary.len()).filter(|w| *w == boundary.as_bytes());
            prop_assert_eq!(marks.count(), 3);
        }
    }
}
