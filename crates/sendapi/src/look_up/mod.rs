//! Looks up results and finds submits by reference: reads only.

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, Request, Url};
use sendtrail_core::ids::{ExternalId, Reference};
use sendtrail_core::policy::Pacing;
use sendtrail_core::ports::{Capabilities, Evidence, Failure, FindAnswer, LookUp, LookUpAnswer};
use sendtrail_core::text::harmless;
use serde_json::Value;

use crate::answer::{Answer, Broken, cause, evidence};
use crate::drivers::Driver;
use crate::file::{Find, LookUpRules, Verdict};
use crate::pointer::{Pointer, Word};
use crate::template::Values;

/// The most bytes kept of an API's status word.
const MAX_STATUS_BYTES: usize = 100;
/// The most ids kept when several match.
const MAX_MATCHES: usize = 20;

impl LookUp for Driver {
    fn capabilities(&self) -> Capabilities {
        self.parts.file.capabilities()
    }

    fn pacing(&self) -> &Pacing {
        self.parts.file.pacing()
    }

    async fn look_up(&self, id: &ExternalId) -> LookUpAnswer {
        let file = &self.parts.file;
        let values = Values {
            id: id.as_str(),
            ..Values::default()
        };
        // An id that cannot stand in a path is none the API could know.
        let Ok(url) = file.look_up.path.address(&file.base, &values) else {
            return LookUpAnswer::NotFound;
        };
        let answer = match self.ask(url).await {
            Ok(answer) => answer,
            Err(failure) => return LookUpAnswer::Failed(failure),
        };
        match read(&answer, file.error.as_ref()) {
            Ok(Some(body)) => file.look_up.judge(body),
            Ok(None) => LookUpAnswer::NotFound,
            Err(failure) => LookUpAnswer::Failed(failure),
        }
    }

    async fn find(&self, reference: &Reference, _draft_id: Option<&str>) -> FindAnswer {
        let file = &self.parts.file;
        let Some(find) = &file.find else {
            return FindAnswer::None;
        };
        let values = Values {
            reference: reference.as_str(),
            ..Values::default()
        };
        let url = match find.path.address(&file.base, &values) {
            Ok(url) => url,
            Err(bad) => return FindAnswer::Failed(transient("build", None, &bad.to_string())),
        };
        let answer = match self.ask(url).await {
            Ok(answer) => answer,
            Err(failure) => return FindAnswer::Failed(failure),
        };
        match read(&answer, file.error.as_ref()) {
            Ok(Some(body)) => find.matches(body, reference, answer.status),
            Ok(None) => FindAnswer::None,
            Err(failure) => FindAnswer::Failed(failure),
        }
    }
}

impl Driver {
    async fn ask(&self, url: Url) -> Result<Answer, Failure> {
        let mut request = Request::new(Method::GET, url);
        let (name, value) = &self.parts.auth;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(name.clone(), value.clone());
        match self.look_up.execute(request).await {
            Ok(response) => Ok(Answer::read(response, &self.parts.file.wait_headers).await),
            Err(error) => Err(transient(Broken::of(&error).class(), None, &cause(&error))),
        }
    }
}

fn transient(class: &str, status: Option<u16>, detail: &str) -> Failure {
    Failure::Transient(evidence(class, status, detail, 0))
}

/// The body of a good answer; none where the API knows nothing of it.
fn read<'a>(answer: &'a Answer, error: Option<&Pointer>) -> Result<Option<&'a Value>, Failure> {
    let seen = |class: &str| -> Evidence {
        evidence(class, Some(answer.status), &answer.remark(error), 0)
    };
    match answer.status {
        200..=299 => match answer.json() {
            Some(body) => Ok(Some(body)),
            None => Err(Failure::Transient(seen("unreadable"))),
        },
        404 => Ok(None),
        401 | 403 => Err(Failure::Unauthorized(seen("status"))),
        429 => Err(Failure::RateLimited {
            retry_after: answer.retry_after,
            evidence: seen("status"),
        }),
        _ => Err(Failure::Transient(seen("status"))),
    }
}

impl LookUpRules {
    /// The first rule that holds decides. Otherwise the result is pending, and recognised only if every
    /// word at the places the rules read is a known one.
    fn judge(&self, body: &Value) -> LookUpAnswer {
        let mut words: Vec<Word> = Vec::new();
        for rule in &self.rules {
            let Some(word) = rule.word.read(body) else {
                continue;
            };
            if word == rule.equals {
                return answer(rule.is, &word);
            }
            words.push(word);
        }
        let unknown = words.iter().find(|word| !self.knows(word));
        let shown = unknown.or_else(|| words.iter().rfind(|word| !is_yes_or_no(word)));
        LookUpAnswer::Pending {
            status: shown
                .or(words.last())
                .map_or_else(|| "no status".to_owned(), status),
            recognised: unknown.is_none() && !words.is_empty(),
        }
    }

    fn knows(&self, word: &Word) -> bool {
        self.pending.is_empty() || is_yes_or_no(word) || self.pending.contains(word)
    }
}

/// A flag has two words only, so the one no rule names is no surprise.
fn is_yes_or_no(word: &Word) -> bool {
    match word {
        Word::Boolean(_) => true,
        Word::Text(_) | Word::Integer(_) => false,
    }
}

fn answer(is: Verdict, word: &Word) -> LookUpAnswer {
    let status = status(word);
    match is {
        Verdict::Delivered => LookUpAnswer::Delivered { status },
        Verdict::Undelivered => LookUpAnswer::Undelivered { status },
        Verdict::Pending => LookUpAnswer::Pending {
            status,
            recognised: true,
        },
    }
}

fn status(word: &Word) -> String {
    harmless(&word.to_string(), MAX_STATUS_BYTES)
}

impl Find {
    /// What the list holds that carries our reference.
    fn matches(&self, body: &Value, reference: &Reference, status: u16) -> FindAnswer {
        let unreadable =
            |what: &str| FindAnswer::Failed(transient("unreadable", Some(status), what));
        let Some(items) = self.items.get(body).and_then(Value::as_array) else {
            return unreadable("the answer has no list of items");
        };
        let ours = |item: &&Value| match &self.reference {
            None => true,
            Some(at) => at.id(item).as_deref() == Some(reference.as_str()),
        };
        let mut ids: Vec<String> = Vec::new();
        for item in items.iter().filter(ours) {
            match self.id.id(item) {
                Some(id) if ids.contains(&id) => {}
                Some(id) => ids.push(id),
                None => return unreadable("an item has no id"),
            }
        }
        match ids.as_slice() {
            [] => FindAnswer::None,
            [id] => match ExternalId::parse(id) {
                Ok(id) => FindAnswer::One(id),
                Err(_) => unreadable("an item has an unusable id"),
            },
            several => FindAnswer::Several(
                several
                    .iter()
                    .take(MAX_MATCHES)
                    .map(|id| harmless(id, MAX_STATUS_BYTES))
                    .collect(),
            ),
        }
    }
}

#[cfg(test)]
#[path = "look_up_tests.rs"]
mod tests;
