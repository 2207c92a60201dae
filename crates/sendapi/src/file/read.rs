//! The top of a driver file.

use std::ops::RangeInclusive;

use reqwest::header::{HeaderName, HeaderValue, RETRY_AFTER};
use sendtrail_core::ids::DriverId;
use sendtrail_core::settings::Section;

use super::body::Allowed;
use super::step::Idempotency;
use super::{DriverFile, find, look_up, step};
use crate::address::{Base, PathTemplate};
use crate::auth::{Auth, constant_header_name, header_name};
use crate::pointer::Pointer;
use crate::template::Scope;

/// No document source yields more, and all of it is held in memory.
const MAX_DOCUMENT_BYTES: i64 = 100_000_000;

/// What the tables below need to know of the top.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) base: Option<&'a Base>,
    /// The body keys that may hold a secret.
    pub(super) secret_keys: &'a [String],
    pub(super) idempotency: Option<&'a Idempotency>,
}

impl<'a> Context<'a> {
    pub(super) fn body(&self, scope: Scope<'a>) -> Allowed<'a> {
        Allowed {
            scope,
            secrets: self.secret_keys,
        }
    }
}

pub(super) fn driver(stem: &str, root: &Section<'_, '_>) -> Option<DriverFile> {
    // Everything is read before anything is given up, so that every mistake is found.
    let id = id(stem, root);
    let hosts = hosts(root);
    let base = base(root, &hosts);
    let max_document_bytes = integer(root, "max_document_bytes", 1..=MAX_DOCUMENT_BYTES);
    let auth = Auth::read(&root.section("auth"), &hosts);
    let idempotency = step::idempotency(root);
    let both = auth.as_ref().zip(idempotency.as_ref());
    if both.is_some_and(|(auth, key)| auth.header().as_ref() == Some(&key.header)) {
        let section = root.section("idempotency");
        section.wrong(
            "header",
            "carries the credentials: one would replace the other",
        );
    }
    let error = optional_pointer(root, "error");
    let wait_headers = wait_headers(root);
    let context = Context {
        base: base.as_ref(),
        secret_keys: auth.as_ref().map_or(&[], Auth::body_keys),
        idempotency: idempotency.as_ref(),
    };
    let headers = constant_headers(root, context.idempotency);
    let read = step::steps(root, &context);
    let look_up = look_up::look_up(&root.section("look_up"), &context);
    let find = find::find(root, &read, &context);
    let (look_up, mut pacing) = look_up?;
    if let Some((_, grace)) = &find {
        pacing.find_grace = *grace;
    }
    Some(DriverFile {
        id: id?,
        base: base?,
        hosts,
        max_document_bytes: max_document_bytes.and_then(|n| u64::try_from(n).ok())?,
        auth: auth?,
        idempotency,
        error,
        wait_headers,
        headers,
        steps: read.steps?,
        look_up,
        find: find.map(|(find, _)| find),
        pacing,
    })
}

fn id(stem: &str, root: &Section<'_, '_>) -> Option<DriverId> {
    let text = root.text("id")?;
    if text != stem {
        root.wrong("id", &format!("must be {stem}, the name of the file"));
        return None;
    }
    DriverId::parse(&text)
        .map_err(|bad| root.wrong("id", &bad.to_string()))
        .ok()
}

fn hosts(root: &Section<'_, '_>) -> Vec<String> {
    let hosts = root.texts("allow_hosts");
    if hosts.is_empty() {
        root.wrong("allow_hosts", "must list the host of base at least");
    }
    for host in &hosts {
        let plain = url::Host::parse(host).is_ok_and(|parsed| parsed.to_string() == *host);
        if !plain {
            root.wrong(
                "allow_hosts",
                &format!("{host} is no plain host name in lower case"),
            );
        }
    }
    hosts
}

fn base(root: &Section<'_, '_>, hosts: &[String]) -> Option<Base> {
    let text = root.text("base")?;
    Base::parse(&text, hosts)
        .map_err(|what| root.wrong("base", &what))
        .ok()
}

/// The `[headers]` table: headers whose values stand in the file.
pub(super) fn constant_headers(
    section: &Section<'_, '_>,
    idempotency: Option<&Idempotency>,
) -> Vec<(HeaderName, HeaderValue)> {
    if !section.has_section("headers") {
        return Vec::new();
    }
    let table = section.section("headers");
    let mut headers = Vec::new();
    for (key, _) in table.keys() {
        let value = table.raw(&key).and_then(toml::de::DeValue::as_str);
        let value = value.filter(|text| text.bytes().all(|b| (b' '..=b'~').contains(&b)));
        let value = value.and_then(|text| HeaderValue::from_str(text).ok());
        if value.is_none() {
            table.wrong(&key, "must be a text of printable ASCII");
        }
        let name = constant_header_name(&table, &key);
        if name.is_some() && name.as_ref() == idempotency.map(|idempotency| &idempotency.header) {
            table.wrong(&key, "is the idempotency header");
        }
        headers.extend(name.zip(value));
    }
    headers
}

fn wait_headers(root: &Section<'_, '_>) -> Vec<HeaderName> {
    let section = root.section("retry_after");
    let names = section.texts("headers");
    if names.is_empty() {
        return vec![RETRY_AFTER];
    }
    names
        .iter()
        .filter_map(|name| header_name(&section, "headers", name))
        .collect()
}

/// A required whole number.
pub(super) fn integer(
    section: &Section<'_, '_>,
    key: &str,
    range: RangeInclusive<i64>,
) -> Option<i64> {
    if section.has(key) {
        return Some(section.integer_or(key, *range.start(), range));
    }
    section.wrong(key, "is missing");
    None
}

pub(super) fn optional_pointer(section: &Section<'_, '_>, key: &str) -> Option<Pointer> {
    let text = section.optional_text(key)?;
    Pointer::parse(&text)
        .map_err(|what| section.wrong(key, what))
        .ok()
}

pub(super) fn pointer(section: &Section<'_, '_>, key: &str) -> Option<Pointer> {
    let text = section.text(key)?;
    Pointer::parse(&text)
        .map_err(|what| section.wrong(key, what))
        .ok()
}

pub(super) fn path(
    section: &Section<'_, '_>,
    scope: Scope<'_>,
    base: Option<&Base>,
) -> Option<PathTemplate> {
    let text = section.text("path")?;
    PathTemplate::parse(&text, scope, base)
        .map_err(|what| section.wrong("path", &what))
        .ok()
}
