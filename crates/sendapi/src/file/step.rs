//! Steps: the harmless ones, and the one request that commits the send.

use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use sendtrail_core::settings::{SecretRef, Section};

use super::body::{self, BodySpec};
use super::outcome::{OutcomeRule, outcomes};
use super::read::{Context, constant_headers, path};
use crate::address::PathTemplate;
use crate::auth::header_name;
use crate::pick::Pick;
use crate::template::{RESERVED, Scope};

/// The `[idempotency]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Idempotency {
    pub(crate) header: HeaderName,
    /// Written as a structured-field string, in quotes.
    pub(crate) quoted: bool,
    pub(crate) max_len: usize,
}

/// The request of a step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Option<BodySpec>,
    /// The success codes the driver declares.
    pub(crate) accept: Vec<u16>,
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// To the base, with credentials.
    Path(PathTemplate),
    /// To an address an earlier step captured, without credentials.
    Captured(String),
}

/// A harmless step before the commit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Preparation {
    pub(crate) call: Call,
    /// What is captured of its answer, by name.
    pub(crate) picks: Vec<(String, Pick)>,
}

/// The commit step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) call: Call,
    pub(crate) id: IdFrom,
    pub(crate) outcomes: Vec<OutcomeRule>,
}

/// Where the API's id is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IdFrom {
    Answer(Pick),
    /// Known before the commit: what a step captured, mostly the draft's id.
    Captured(String),
}

/// All steps, in their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Steps {
    pub(crate) before: Vec<Preparation>,
    pub(crate) commit: Step,
    /// The name of the capture that is kept with the claim.
    pub(crate) draft: Option<String>,
}

impl Steps {
    /// The secrets in the bodies.
    pub(crate) fn secrets(&self, into: &mut Vec<SecretRef>) {
        let before = self.before.iter().map(|step| &step.call);
        for call in before.chain([&self.commit.call]) {
            if let Some(body) = &call.body {
                body.secrets(into);
            }
        }
    }
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

/// The steps as far as they could be read, and what other tables need to know of them.
pub(super) struct ReadSteps {
    pub(super) steps: Option<Steps>,
    pub(super) draft: Option<String>,
    /// No step sends our reference. False where a part that may hold it could not be read.
    pub(super) without_reference: bool,
}

/// Reads every step.
pub(super) fn steps(root: &Section<'_, '_>, context: &Context<'_>) -> ReadSteps {
    let sections = root.sections("step");
    let mut captured = Vec::new();
    let mut before = Vec::new();
    let mut commit = None;
    let mut documents = 0;
    let mut commits = 0;
    let mut without_reference = !sections.is_empty();
    let mut last_accept = Vec::new();
    for section in &sections {
        let is_commit = section.boolean_or("commit", false);
        if commits > 0 {
            section.wrong(
                "commit",
                if is_commit {
                    "exactly one step may commit"
                } else {
                    "no step may follow the one that commits"
                },
            );
        }
        let call = call(section, is_commit, &captured, context);
        without_reference &= call.is_without_reference(section);
        last_accept.clone_from(&call.accept);
        let found = call.body.as_ref().map_or(0, BodySpec::documents);
        documents += found;
        if found > 0 && documents > 1 {
            section.wrong("body", "\"@document\" must stand in the steps exactly once");
        }
        if is_commit {
            commits += 1;
            commit = commit_of(section, call.whole(), &captured);
        } else {
            let picks = picks(section, &mut captured);
            before.push(call.whole().map(|call| Preparation { call, picks }));
        }
    }
    if commits == 0 {
        root.wrong("step", "needs exactly one step with commit = true");
        if let Some(last) = sections.last() {
            forgotten_commit(last, &last_accept, &captured);
        }
    }
    if !sections.is_empty() && documents == 0 {
        root.wrong("step", "\"@document\" must stand in the steps exactly once");
    }
    let draft = draft(root, &captured);
    let before: Option<Vec<_>> = before.into_iter().collect();
    let steps = before.zip(commit).map(|(before, commit)| Steps {
        before,
        commit,
        draft: draft.clone(),
    });
    ReadSteps {
        steps,
        draft,
        without_reference,
    }
}

/// The last step was meant to commit: its keys of a commit are read, so that they are not called unknown on top.
fn forgotten_commit(section: &Section<'_, '_>, accept: &[u16], captured: &[String]) {
    if section.has("id") {
        let _ = id(section, captured);
    }
    let _ = outcomes(section, accept);
}

/// Which capture is kept with the claim.
fn draft(root: &Section<'_, '_>, captured: &[String]) -> Option<String> {
    let draft = root.optional_text("draft")?;
    if !captured.contains(&draft) {
        root.wrong("draft", "must be the name of a capture");
        return None;
    }
    Some(draft)
}

/// A request as far as it could be read.
struct PartialCall {
    name: Option<String>,
    method: Option<Method>,
    target: Option<Target>,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Option<BodySpec>,
    accept: Vec<u16>,
}

impl PartialCall {
    /// Whether it surely does not send our reference. The idempotency key does not count: no API searches it.
    fn is_without_reference(&self, section: &Section<'_, '_>) -> bool {
        let target = match &self.target {
            Some(Target::Path(path)) => !path.names_reference(),
            Some(Target::Captured(_)) => true,
            None => false,
        };
        let body = match &self.body {
            Some(body) => !body.names_reference(),
            None => !section.has_section("body"),
        };
        target && body
    }

    fn whole(self) -> Option<Call> {
        Some(Call {
            name: self.name?,
            method: self.method?,
            target: self.target?,
            headers: self.headers,
            body: self.body,
            accept: self.accept,
        })
    }
}

fn call(
    section: &Section<'_, '_>,
    is_commit: bool,
    captured: &[String],
    context: &Context<'_>,
) -> PartialCall {
    let name = section.text("name");
    let method = method(section, is_commit);
    let target = target(section, is_commit, captured, context);
    let headers = constant_headers(section, context.idempotency);
    let mut allowed = context.body(Scope::Step(captured));
    if matches!(target, Some(Target::Captured(_))) {
        // Credentials go to the base only.
        allowed.secrets = &[];
    }
    let body = body::read(section, allowed);
    if method == Some(Method::GET) && body.is_some() {
        section.wrong("body", "a GET has none");
    }
    PartialCall {
        name,
        method,
        target,
        headers,
        body,
        accept: accept(section),
    }
}

fn commit_of(section: &Section<'_, '_>, call: Option<Call>, captured: &[String]) -> Option<Step> {
    let id = id(section, captured);
    let accept = call.as_ref().map(|call| call.accept.clone());
    let outcomes = outcomes(section, &accept.unwrap_or_default());
    Some(Step {
        call: call?,
        id: id?,
        outcomes,
    })
}

/// `/json/pointer`, `header:NAME` or `{{capture}}`.
fn id(section: &Section<'_, '_>, captured: &[String]) -> Option<IdFrom> {
    let text = section.text("id")?;
    let Some(name) = placeholder(&text) else {
        return Pick::parse(section, "id", &text).map(IdFrom::Answer);
    };
    if !captured.iter().any(|known| known == name) {
        section.wrong("id", "no earlier step captures this");
        return None;
    }
    Some(IdFrom::Captured(name.to_owned()))
}

fn placeholder(text: &str) -> Option<&str> {
    text.strip_prefix("{{")?.strip_suffix("}}")
}

fn target(
    section: &Section<'_, '_>,
    is_commit: bool,
    captured: &[String],
    context: &Context<'_>,
) -> Option<Target> {
    if !section.has("url") {
        return path(section, Scope::Step(captured), context.base).map(Target::Path);
    }
    let text = section.text("url")?;
    if section.has("path") {
        section.wrong("url", "stands instead of path, not beside it");
        let _ = section.raw("path");
    }
    if is_commit {
        section.wrong("url", "the commit goes to the base, with a path");
        return None;
    }
    let name = placeholder(&text).filter(|name| captured.iter().any(|known| known == name));
    if name.is_none() {
        section.wrong(
            "url",
            "must be one {{placeholder}} that an earlier step captures",
        );
    }
    name.map(|name| Target::Captured(name.to_owned()))
}

fn picks(section: &Section<'_, '_>, captured: &mut Vec<String>) -> Vec<(String, Pick)> {
    if !section.has_section("capture") {
        return Vec::new();
    }
    let table = section.section("capture");
    let mut picks = Vec::new();
    for (name, _) in table.keys() {
        let text = table.raw(&name).and_then(toml::de::DeValue::as_str);
        let Some(text) = text else {
            table.wrong(&name, "must be a JSON Pointer or header:NAME");
            continue;
        };
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if !(1..=64).contains(&name.len()) || !name.bytes().all(plain) {
            table.wrong(&name, "must be a name of lower-case letters, digits and _");
        } else if RESERVED.contains(&name.as_str()) {
            table.wrong(&name, "is the name of another placeholder");
        } else if captured.contains(&name) {
            table.wrong(&name, "was captured by an earlier step");
        }
        if let Some(pick) = Pick::parse(&table, &name, text) {
            picks.push((name.clone(), pick));
        }
        captured.push(name);
    }
    picks
}

fn method(section: &Section<'_, '_>, is_commit: bool) -> Option<Method> {
    match (section.text("method")?.as_str(), is_commit) {
        ("POST", _) => Some(Method::POST),
        ("PUT", _) => Some(Method::PUT),
        ("PATCH", _) => Some(Method::PATCH),
        ("GET", false) => Some(Method::GET),
        (_, true) => {
            section.wrong("method", "must be POST, PUT or PATCH");
            None
        }
        (_, false) => {
            section.wrong("method", "must be GET, POST, PUT or PATCH");
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
