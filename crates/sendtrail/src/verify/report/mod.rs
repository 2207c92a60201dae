//! What was found, in words and as JSON.

mod clock;
mod json;

use serde_json::{Map, Value};

use clock::{clock_words, error_words};
use json::{comparison_json, refusal_json, request_json};

use super::arrival::Comparison;
use super::change::{Change, Place};
use super::diagnose::{Clock, Diagnosis, Source, is_incomplete, mac_holds};
use super::input::Signed;
use super::mac::sha256;
use super::reasons;
use super::refusal::Refusal;
use super::search::{Explanation, Found};
use crate::output::{Cell, Paint, Screen, facts, json_line, plain};

/// Everything that is known.
pub(super) struct Report<'a> {
    pub(super) signed: Option<(&'a Signed, &'a Diagnosis)>,
    pub(super) refusal: Option<&'a Refusal>,
    pub(super) comparison: Option<&'a Comparison>,
    pub(super) body: Option<&'a [u8]>,
}

/// Longest name or text from outside that is shown, in characters.
const MAX_SHOWN: usize = 120;

/// Most ways to the same bytes that are told in words.
const MAX_WAYS: usize = 3;
const OTHER_TIMESTAMP: &str = "This timestamp may not be the one that was signed.";

fn shown(bytes: Option<&[u8]>) -> String {
    match bytes {
        None => "missing".to_owned(),
        Some(bytes) => crate::output::cut(&plain(&String::from_utf8_lossy(bytes)), MAX_SHOWN),
    }
}

impl Report<'_> {
    /// Whether the request verifies as it is. A refusal alone never does.
    pub(super) fn is_verified(&self) -> bool {
        self.signed.is_some_and(|(_, found)| found.plain.is_ok())
    }

    /// The report for this screen.
    pub(super) fn render(&self, screen: Screen) -> String {
        if screen.json {
            return json_line(&self.json());
        }
        let mut lines = Lines::default();
        if let Some((signed, diagnosis)) = self.signed {
            lines.request(signed, diagnosis);
        }
        if let Some(refusal) = self.refusal {
            lines.refusal(refusal);
        }
        if let (Some(comparison), Some(body)) = (self.comparison, self.body) {
            lines.comparison(comparison, body, self.refusal);
        }
        lines.render(screen)
    }

    fn json(&self) -> Value {
        let mut json = Map::new();
        json.insert("verified".into(), self.is_verified().into());
        if let Some((signed, diagnosis)) = self.signed {
            json.insert("request".into(), request_json(signed, diagnosis));
        }
        if let Some(refusal) = self.refusal {
            json.insert("refusal".into(), refusal_json(refusal));
        }
        if let (Some(comparison), Some(body)) = (self.comparison, self.body) {
            json.insert("comparison".into(), comparison_json(comparison, body));
        }
        Value::Object(json)
    }
}

#[derive(Default)]
struct Lines(Vec<(&'static str, Cell)>);

impl Lines {
    fn add(&mut self, name: &'static str, text: impl AsRef<str>) {
        self.0.push((name, Cell::of(text.as_ref())));
    }

    fn painted(&mut self, name: &'static str, paint: Paint, text: impl AsRef<str>) {
        self.0.push((name, Cell(paint, plain(text.as_ref()))));
    }

    fn render(self, screen: Screen) -> String {
        facts(screen, &self.0)
    }

    fn request(&mut self, signed: &Signed, diagnosis: &Diagnosis) {
        match &diagnosis.plain {
            Ok(key) => {
                let text = format!("verified with key {key}");
                self.painted("result", Paint::Good, text);
                self.add(
                    "note",
                    "the door compares the body's aud, op and history_id next",
                );
            }
            Err(error) => {
                let text = format!("not verified: {} ({})", error_words(error), error.reason());
                self.painted("result", Paint::Bad, text);
            }
        }
        let request = &signed.request;
        self.add("id", shown(request.id.as_deref()));
        self.add("timestamp", shown(request.timestamp.as_deref()));
        let (bytes, hash) = (diagnosis.body_bytes, &diagnosis.body_sha256);
        self.add("body", format!("{bytes} bytes, SHA-256 {hash}"));
        let clock = diagnosis.clock.as_ref();
        if let Some(clock) = clock.filter(|_| !is_incomplete(&diagnosis.plain)) {
            let paint = if clock.is_inside() {
                Paint::Plain
            } else {
                Paint::Attention
            };
            self.painted("clock", paint, clock_words(clock));
        }
        if let Err(error) = &diagnosis.plain {
            let words = reasons::of(error.reason());
            if let Some(words) = words.filter(|_| mac_holds(&diagnosis.plain)) {
                self.add(
                    "mac",
                    "it holds: key, id, timestamp and body are as they were signed",
                );
                self.add("fix", words.fix);
            } else if let Some(words) = words.filter(|_| diagnosis.found.is_none()) {
                self.add("why", words.meaning);
                self.add("fix", words.fix);
            }
        }
        if let Some(found) = &diagnosis.found {
            self.found(found, signed, diagnosis);
        }
    }

    fn found(&mut self, found: &Found, signed: &Signed, diagnosis: &Diagnosis) {
        let mut names = ["why", "or"].into_iter();
        let mut fixes: Vec<&str> = Vec::new();
        for explanation in &found.explanations {
            let name = names.next().unwrap_or("or");
            self.painted(name, Paint::Bold, sentence(&explanation.changes));
            for change in &explanation.changes {
                if !fixes.contains(&change.fix) {
                    fixes.push(change.fix);
                }
            }
        }
        if let Some(first) = found.explanations.first() {
            if let Some(key) = key_label(first, signed) {
                self.add("key", key);
            }
            let is_body = |change: &Change| change.place == Place::Body;
            if first.changes.iter().any(is_body) {
                let (bytes, hash) = (first.body_bytes, &first.body_sha256);
                self.add("signed", format!("{bytes} bytes of body, SHA-256 {hash}"));
            }
            for fix in fixes {
                self.add("fix", fix);
            }
        } else {
            self.unexplained(signed, diagnosis, found.tried);
        }
        self.add("tried", tried(found.tried, found.is_complete));
    }

    fn unexplained(&mut self, signed: &Signed, diagnosis: &Diagnosis, tried: u64) {
        let error = diagnosis.plain.as_ref().err();
        let words = error.and_then(|error| reasons::of(error.reason()));
        let why = match words {
            Some(words) if tried == 0 => words.meaning,
            Some(_) | None => "none of the usual changes gives this signature",
        };
        self.painted("why", Paint::Bold, why);
        if let Some(words) = words.filter(|words| words.reason != "mismatch") {
            self.add("fix", words.fix);
        }
        if tried > 0 {
            self.add("fix", unexplained(signed));
            if diagnosis.clock.is_some_and(|clock| !clock.is_inside()) {
                self.add("fix", OTHER_TIMESTAMP);
            }
        }
    }

    fn refusal(&mut self, refusal: &Refusal) {
        let text = format!("{} ({})", refusal.code, refusal.reason);
        self.painted("refused", Paint::Bad, text);
        if let Some(id) = &refusal.request_id {
            self.add("request id", id);
        }
        let (meaning, fix) = refusal_words(refusal);
        self.add("meaning", meaning);
        if let Some(fix) = fix {
            self.add("fix", fix);
        }
        if let Some(delta_s) = refusal.clock_delta_s {
            let clock = Clock {
                delta_s,
                is_milliseconds: false,
                source: Source::Log,
            };
            self.add("clock", clock_words(&clock));
            if refusal.reason == "mismatch" && !clock.is_inside() {
                self.add("fix", OTHER_TIMESTAMP);
            }
        }
        for note in notes(refusal) {
            self.add("note", note);
        }
    }

    fn comparison(&mut self, comparison: &Comparison, body: &[u8], refusal: Option<&Refusal>) {
        let own = format!("{} bytes, SHA-256 {}", body.len(), sha256(body));
        self.add("file", own);
        if let Some(arrived) = refusal.and_then(|refusal| refusal.body.as_ref()) {
            let bytes = arrived.bytes.map(|bytes| format!("{bytes} bytes, "));
            let bytes = bytes.unwrap_or_default();
            self.add("arrived", format!("{bytes}SHA-256 {}", arrived.sha256));
        }
        match comparison {
            Comparison::Same => self.painted(
                "body",
                Paint::Good,
                "the file is the body that arrived, byte for byte",
            ),
            Comparison::Changed { by, tried: count } => {
                let words = ways(by);
                self.painted(
                    "body",
                    Paint::Bold,
                    format!("what arrived is the file {words}"),
                );
                if let Some(change) = by.first().and_then(|changes| changes.first()) {
                    self.add("fix", change.fix);
                }
                self.add("tried", tried(*count, true));
            }
            Comparison::Other { tried: count } => {
                self.painted(
                    "body",
                    Paint::Bold,
                    "the file is not the body that arrived, and no usual change makes it so: it is the body of \
                     another request, or was changed in its content",
                );
                self.add("tried", tried(*count, true));
            }
        }
    }
}

fn tried(count: u64, is_complete: bool) -> String {
    let end = if is_complete {
        ""
    } else {
        "; stopped before all were tried, since the body is long"
    };
    format!("{count} possibilities{end}")
}

/// Several changes of one body, joined.
fn words(changes: &[Change]) -> String {
    let words: Vec<_> = changes.iter().map(|change| change.what.as_str()).collect();
    words.join(", then ")
}

/// Ways that cannot be told apart, since each gives the bytes that arrived.
fn ways(by: &[Vec<Change>]) -> String {
    let mut told: Vec<String> = by
        .iter()
        .take(MAX_WAYS)
        .map(|changes| words(changes))
        .collect();
    if by.len() > MAX_WAYS {
        told.push(format!("{} other ways", by.len() - MAX_WAYS));
    }
    let end = if told.len() > 1 {
        " (the same bytes)"
    } else {
        ""
    };
    format!("{}{end}", told.join(", or "))
}

fn sentence(changes: &[Change]) -> String {
    let (body, rest): (Vec<Change>, Vec<Change>) = changes
        .iter()
        .cloned()
        .partition(|change| change.place == Place::Body);
    let mut all: Vec<String> = rest.iter().map(Change::signed).collect();
    if !body.is_empty() {
        all.insert(0, format!("what was signed is the body {}", words(&body)));
    }
    all.join("; and ")
}

fn key_label<'a>(explanation: &Explanation, signed: &'a Signed) -> Option<&'a str> {
    let key = signed.keys.get(explanation.key?)?;
    Some(key.label.as_str())
}

fn unexplained(signed: &Signed) -> String {
    let is_form = signed
        .content_type
        .as_deref()
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    if is_form {
        return "The request came as a form: send the signed text as the body, with Content-Type: application/json."
            .to_owned();
    }
    "Check that the signer has one of these keys. Then let it log length and SHA-256 of the body it signs, and \
     compare: when they differ, save that body and give it as --body; when they agree, the key is another one."
        .to_owned()
}

/// What the refusal means, and what to do.
fn refusal_words(refusal: &Refusal) -> (String, Option<&'static str>) {
    match reasons::of(&refusal.reason) {
        Some(words) => (words.meaning.to_owned(), Some(words.fix)),
        None if refusal.reason.starts_with("token_") => (
            "the token, ticket or receipt was not made for this; it is not about a signature"
                .to_owned(),
            None,
        ),
        None => ("this refusal is not about the signature".to_owned(), None),
    }
}

/// What the log line shows besides its reason.
fn notes(refusal: &Refusal) -> Vec<&'static str> {
    let mut notes = Vec::new();
    let kind = refusal.content_type.as_deref().unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        notes.push(
            "it came as a form: in Deluge a map given to invokeurl becomes one; give it the signed text instead",
        );
    }
    if kind.starts_with("multipart/") {
        notes.push("it came as multipart: give the client the signed text as the body");
    }
    if refusal.is_base64 == Some(true) {
        notes.push("the gateway delivered it in base64, which the door decoded before it verified: that is no cause");
    }
    if refusal.body.as_ref().and_then(|body| body.bytes) == Some(0) {
        notes.push("the body was empty: the client sent none, or something consumed it on the way");
    }
    notes
}
