//! Prepares a submit: the harmless steps and the token, then the commit request, whole.
//!
//! Nothing here commits anything: whatever fails, the answer is *not sent*.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Request, Url};
use sendtrail_core::ids::{ExternalId, Reference};
use sendtrail_core::ports::{NotSent, Order};
use sendtrail_core::text::harmless;

use crate::address::captured_url;
use crate::answer::{Answer, Broken, cause, evidence};
use crate::auth::{Credentials, Token};
use crate::body;
use crate::drivers::{Driver, Parts, std};
use crate::file::{Call, IdFrom, Preparation, Target};
use crate::template::{BadValue, Values};

/// A token for a submit is good for this long at least: claim and submit come after it is fetched.
const TOKEN_GOOD_FOR: SignedDuration = SignedDuration::from_mins(2);
/// With less than this a submit would meet a refusal that is final.
const TOKEN_LEAST: SignedDuration = SignedDuration::from_secs(30);
/// The most bytes of a captured value: addresses with a signature in them are long.
const MAX_CAPTURE_BYTES: usize = 8 * 1024;
/// The most bytes of a draft's id, which is kept with the claim.
const MAX_DRAFT_BYTES: usize = 200;

/// The commit request, whole: nothing but sending it is left to do.
pub struct Prepared {
    pub(crate) reference: Reference,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) known_id: Option<ExternalId>,
    pub(crate) token: Option<Token>,
    pub(crate) draft: Option<String>,
}

impl fmt::Debug for Prepared {
    /// Without the body, which holds the document and may hold credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("reference", &self.reference)
            .field("draft", &self.draft)
            .finish_non_exhaustive()
    }
}

/// A request that is built: what is left is to send it.
pub(crate) struct Built {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Driver {
    /// Runs the steps before the commit and builds the commit's request.
    pub(crate) async fn prepare_commit(&self, order: &Order) -> Result<Prepared, NotSent> {
        let parts = &self.parts;
        parts.check_size(order)?;
        parts.rehearse(order)?;
        let steps = &parts.file.steps;
        let end = Instant::now() + std(self.submit.timeouts.submit) / 2;
        let mut captured = BTreeMap::new();
        for step in &steps.before {
            let token = self.token_for_submit().await?;
            let request = parts.request(&step.call, order, &captured, token.as_ref())?;
            let answer = self.run(&step.call, request, end).await;
            if let Err((Some(401), _)) = &answer {
                self.forget(token.as_ref()).await;
            }
            let answer = answer.map_err(|(_, failed)| failed)?;
            capture(step, &answer, &mut captured)?;
        }
        // Fetched again where the steps took long.
        let token = self.token_for_submit().await?;
        parts.prepared(order, &captured, token)
    }

    /// Drops a token that was refused.
    pub(crate) async fn forget(&self, token: Option<&Token>) {
        if let (Credentials::Token(source), Some(token)) = (&self.parts.auth, token) {
            source.forget(token).await;
        }
    }

    async fn token_for_submit(&self) -> Result<Option<Token>, NotSent> {
        let Credentials::Token(source) = &self.parts.auth else {
            return Ok(None);
        };
        let wait_headers = &self.parts.file.wait_headers;
        let fetched = source
            .token(&self.submit.steps, wait_headers, TOKEN_GOOD_FOR)
            .await;
        let token = fetched.map_err(|failure| NotSent {
            evidence: evidence("token", failure.status, &failure.detail, 0),
            retry_after: failure.retry_after,
        })?;
        let left = token.left(Timestamp::now());
        if left < TOKEN_LEAST {
            // Some APIs give the same token out until it expires.
            let mut soon = not_sent("token", None, "the token is about to expire");
            soon.retry_after = Some(left.max(SignedDuration::ZERO));
            return Err(soon);
        }
        Ok(Some(token))
    }

    /// One harmless request; the status comes with a failure where there was one.
    async fn run(
        &self,
        call: &Call,
        built: Built,
        end: Instant,
    ) -> Result<Answer, (Option<u16>, NotSent)> {
        let name = &call.name;
        let left = end.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            let detail = format!("step {name}: no time is left for it");
            return Err((None, not_sent("step", None, &detail)));
        }
        let mut request = Request::new(call.method.clone(), built.url);
        *request.headers_mut() = built.headers;
        if call.body.is_some() {
            *request.body_mut() = Some(built.body.into());
        }
        *request.timeout_mut() = Some(left);
        let file = &self.parts.file;
        let response = self.submit.steps.execute(request).await.map_err(|error| {
            let (how, why) = (Broken::of(&error).class(), cause(&error));
            let detail = format!("step {name}: {how}: {why}");
            (None, not_sent("step", None, &detail))
        })?;
        let answer = Answer::read(response, &file.wait_headers).await;
        if call.accept.contains(&answer.status) {
            return Ok(answer);
        }
        let detail = format!("step {name}: {}", answer.remark(file.error.as_ref()));
        let mut failed = not_sent("step", Some(answer.status), &detail);
        failed.retry_after = answer.retry_after;
        Err((Some(answer.status), failed))
    }
}

/// Keeps what the step wants of its answer.
pub(crate) fn capture(
    step: &Preparation,
    answer: &Answer,
    captured: &mut BTreeMap<String, String>,
) -> Result<(), NotSent> {
    for (name, pick) in &step.picks {
        let text = pick.read(answer).filter(|text| usable(text));
        let text = text.ok_or_else(|| {
            let detail = format!("step {}: the answer has no {name}", step.call.name);
            not_sent("step", Some(answer.status), &detail)
        })?;
        captured.insert(name.clone(), text);
    }
    Ok(())
}

impl Parts {
    /// The commit request.
    pub(crate) fn prepared(
        &self,
        order: &Order,
        captured: &BTreeMap<String, String>,
        token: Option<Token>,
    ) -> Result<Prepared, NotSent> {
        let commit = &self.file.steps.commit.call;
        let Built {
            url,
            mut headers,
            body,
        } = self.request(commit, order, captured, token.as_ref())?;
        self.idempotency_key(&order.reference, &mut headers)?;
        Ok(Prepared {
            reference: order.reference.clone(),
            url,
            headers,
            body,
            known_id: self.known_id(captured)?,
            token,
            draft: self.draft(captured)?,
        })
    }

    fn check_size(&self, order: &Order) -> Result<(), NotSent> {
        let size = u64::try_from(order.document.len()).unwrap_or(u64::MAX);
        let most = self.file.max_document_bytes;
        if size > most {
            let detail = format!("the document has {size} bytes, the API takes {most}");
            return Err(not_sent("size", None, &detail));
        }
        Ok(())
    }

    /// Builds every request with stand-ins for what is not captured yet, so that an input that does not fit
    /// leaves no draft behind.
    pub(crate) fn rehearse(&self, order: &Order) -> Result<(), NotSent> {
        let steps = &self.file.steps;
        if steps.before.is_empty() {
            // The one request is built right after this.
            return Ok(());
        }
        let names = steps.before.iter().flat_map(|step| &step.picks);
        let stand_ins = names.map(|(name, _)| (name.clone(), "x".to_owned()));
        let stand_ins = stand_ins.collect();
        let calls = steps.before.iter().map(|step| &step.call);
        for call in calls.chain([&steps.commit.call]) {
            if matches!(call.target, Target::Path(_)) {
                self.request(call, order, &stand_ins, None)?;
            }
        }
        Ok(())
    }

    /// The request of a step. Credentials and the file's headers go to the base only.
    pub(crate) fn request(
        &self,
        call: &Call,
        order: &Order,
        captured: &BTreeMap<String, String>,
        token: Option<&Token>,
    ) -> Result<Built, NotSent> {
        let file = &self.file;
        let values = Values {
            to: Some(&order.input.to),
            fields: Some(&order.input.fields),
            reference: order.reference.as_str(),
            history_id: order.history_id.as_str(),
            captured: Some(captured),
            secrets: Some(&self.secrets),
            ..Values::default()
        };
        let bad = |bad: BadValue| not_sent("input", None, &bad.to_string());
        let (url, is_ours) = match &call.target {
            Target::Path(path) => (path.address(&file.base, &values).map_err(bad)?, true),
            Target::Captured(name) => {
                let text = captured.get(name).map(String::as_str).unwrap_or_default();
                let url = captured_url(text, &file.hosts);
                (
                    url.map_err(|bad| not_sent("step", None, &bad.to_string()))?,
                    false,
                )
            }
        };
        let built = call.body.as_ref();
        let built = built.map(|spec| body::build(spec, &values, &order.document));
        let built = built.transpose().map_err(bad)?;
        let mut headers = HeaderMap::new();
        if is_ours {
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
            headers.extend(file.headers.iter().cloned());
        }
        headers.extend(call.headers.iter().cloned());
        if let Some(body) = &built {
            headers.insert(CONTENT_TYPE, header(&body.content_type)?);
        } else if call.method != Method::GET {
            // An empty body has no length unless it is stated, and some servers answer that with 411.
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        if is_ours {
            self.credentials(token, &mut headers);
        }
        Ok(Built {
            url,
            headers,
            body: built.map(|body| body.bytes).unwrap_or_default(),
        })
    }

    fn idempotency_key(
        &self,
        reference: &Reference,
        headers: &mut HeaderMap,
    ) -> Result<(), NotSent> {
        let Some(key) = &self.file.idempotency else {
            return Ok(());
        };
        let text = if key.quoted {
            format!("\"{reference}\"")
        } else {
            reference.to_string()
        };
        if text.len() > key.max_len {
            let detail = "the idempotency key is too long for the API";
            return Err(not_sent("build", None, detail));
        }
        headers.insert(key.header.clone(), header(&text)?);
        Ok(())
    }

    /// The id, where a step before the commit captured it. One that could not be kept is found out now.
    fn known_id(&self, captured: &BTreeMap<String, String>) -> Result<Option<ExternalId>, NotSent> {
        let IdFrom::Captured(name) = &self.file.steps.commit.id else {
            return Ok(None);
        };
        let id = captured.get(name).map(|text| ExternalId::parse(text));
        match id {
            Some(Ok(id)) => Ok(Some(id)),
            Some(Err(_)) | None => Err(not_sent("step", None, "the captured id is unusable")),
        }
    }

    /// The draft's id, only if the CRM can keep it as it is.
    fn draft(&self, captured: &BTreeMap<String, String>) -> Result<Option<String>, NotSent> {
        let Some(name) = &self.file.steps.draft else {
            return Ok(None);
        };
        let draft = captured.get(name).cloned().unwrap_or_default();
        if ExternalId::parse(&draft).is_err() || harmless(&draft, MAX_DRAFT_BYTES) != draft {
            return Err(not_sent("step", None, "the draft's id is unusable"));
        }
        Ok(Some(draft))
    }
}

fn usable(text: &str) -> bool {
    (1..=MAX_CAPTURE_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn header(text: &str) -> Result<HeaderValue, NotSent> {
    HeaderValue::from_str(text).map_err(|_| not_sent("build", None, "a header cannot be built"))
}

fn not_sent(class: &str, status: Option<u16>, detail: &str) -> NotSent {
    NotSent {
        evidence: evidence(class, status, detail, 0),
        retry_after: None,
    }
}
