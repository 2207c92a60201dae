//! Looks up results and finds submits: reads only.

mod ask;
mod find;
#[cfg(test)]
mod tests;

use sendtrail_core::ids::{ExternalId, Reference};
use sendtrail_core::policy::Pacing;
use sendtrail_core::ports::{Capabilities, FindAnswer, LookUp, LookUpAnswer};
use sendtrail_core::text::harmless;
use serde_json::Value;

use self::ask::{body_of, transient};
use self::find::Sought;
use crate::answer::Answer;
use crate::condition::Conditions;
use crate::drivers::Driver;
use crate::file::{DriverFile, Find, FindBy, LookUpRules, Verdict};
use crate::pointer::Word;
use crate::template::Values;

/// The most bytes kept of an API's status word.
const MAX_STATUS_BYTES: usize = 100;

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
            secrets: Some(&self.parts.secrets),
            ..Values::default()
        };
        // An id that cannot stand in a path is none the API could know.
        let Ok(url) = file.look_up.path.address(&file.base, &values) else {
            return LookUpAnswer::NotFound;
        };
        let asked = self.ask(url, file.look_up.body.as_ref(), &values).await;
        let answer = match asked {
            Ok(answer) => answer,
            Err(failure) => return LookUpAnswer::Failed(failure),
        };
        file.looked_up(&answer)
    }

    async fn find(&self, reference: &Reference, draft_id: Option<&str>) -> FindAnswer {
        let file = &self.parts.file;
        let Some(find) = &file.find else {
            return FindAnswer::None;
        };
        if draft_id.is_none() && matches!(find.by, FindBy::Draft { .. }) {
            return FindAnswer::None;
        }
        let values = Values {
            reference: reference.as_str(),
            draft_id: draft_id.unwrap_or_default(),
            secrets: Some(&self.parts.secrets),
            ..Values::default()
        };
        let url = match find.path.address(&file.base, &values) {
            Ok(url) => url,
            Err(bad) => return FindAnswer::Failed(transient("build", None, &bad.to_string())),
        };
        let answer = match self.ask(url, find.body.as_ref(), &values).await {
            Ok(answer) => answer,
            Err(failure) => return FindAnswer::Failed(failure),
        };
        file.found(find, &answer, reference, draft_id)
    }
}

impl DriverFile {
    /// What the answer to a look-up tells.
    pub(crate) fn looked_up(&self, answer: &Answer) -> LookUpAnswer {
        match body_of(answer, self.error.as_ref()) {
            Ok(Some(body)) => self.look_up.judge(body),
            Ok(None) => LookUpAnswer::NotFound,
            Err(failure) => LookUpAnswer::Failed(failure),
        }
    }

    /// What the answer to a search tells.
    pub(crate) fn found(
        &self,
        find: &Find,
        answer: &Answer,
        reference: &Reference,
        draft_id: Option<&str>,
    ) -> FindAnswer {
        let sought = Sought {
            reference,
            draft_id,
            status: answer.status,
        };
        match body_of(answer, self.error.as_ref()) {
            Ok(Some(body)) => find.answer(body, &sought),
            Ok(None) => FindAnswer::None,
            Err(failure) => FindAnswer::Failed(failure),
        }
    }
}

impl LookUpRules {
    /// The first rule that holds decides. Otherwise the result is pending, and recognised only if every
    /// word at the places the rules read is a known one.
    fn judge(&self, body: &Value) -> LookUpAnswer {
        let mut words: Vec<Word> = Vec::new();
        for rule in &self.rules {
            if rule.when.holds(body) {
                return answer(rule.is, &rule.when);
            }
            let read = rule.when.0.iter().filter_map(|one| one.at.read(body));
            words.extend(read);
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

    /// A word that means something only together with another is known by itself.
    fn knows(&self, word: &Word) -> bool {
        let joint = self.rules.iter().filter(|rule| rule.when.0.len() > 1);
        self.pending.is_empty()
            || is_yes_or_no(word)
            || self.pending.contains(word)
            || joint
                .flat_map(|rule| &rule.when.0)
                .any(|one| one.equals == *word)
    }
}

/// A flag has two words only, so the one no rule names is no surprise.
fn is_yes_or_no(word: &Word) -> bool {
    match word {
        Word::Boolean(_) => true,
        Word::Text(_) | Word::Integer(_) | Word::Fraction(_) => false,
    }
}

fn answer(is: Verdict, when: &Conditions) -> LookUpAnswer {
    let words = when.0.iter().map(|one| &one.equals);
    let telling = words.clone().find(|word| !is_yes_or_no(word));
    let status = telling
        .or_else(|| words.clone().next())
        .map_or_else(String::new, status);
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
