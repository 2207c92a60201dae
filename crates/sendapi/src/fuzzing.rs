//! For fuzzing: what answers are read as and how requests are built, without a network.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use secrecy::SecretString;
use sendtrail_core::ids::{ExternalId, Reference};
use sendtrail_core::ports::{FindAnswer, LookUpAnswer, NotSent, Order, SubmitOutcome};

use crate::answer::{Answer, Body};
use crate::auth::{Credentials, read_token, resolved};
use crate::classify::{Commit, Seen, classify};
use crate::drivers::{BuildError, Parts};
use crate::file::{Call, DriverFile};
use crate::prepare::{Built, capture};
use crate::retry_after;

/// What every secret is here.
pub const SECRET: &str = "stands-in-for-every-secret";

/// An answer as it came from the network.
#[derive(Debug, Clone, Copy)]
pub struct RawAnswer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body, whole.
    pub body: &'a [u8],
}

impl RawAnswer<'_> {
    fn read(&self, wait_headers: &[HeaderName]) -> Answer {
        Answer {
            status: self.status,
            headers: self.headers.clone(),
            body: Body::of(self.body),
            retry_after: retry_after::wait(self.headers, wait_headers),
        }
    }
}

/// A request that is ready to be sent.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The method.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// How long these headers ask to wait.
pub fn wait(headers: &HeaderMap, names: &[HeaderName]) -> Option<SignedDuration> {
    retry_after::wait(headers, names)
}

/// The header and the time left of the token that a token endpoint's answer gives, if it gives one.
pub fn token(raw: &RawAnswer<'_>) -> Option<(HeaderValue, SignedDuration)> {
    let token = read_token(&raw.read(&[]), 1).ok()?;
    let left = token.left(Timestamp::now());
    Some((token.header, left))
}

/// A driver that sends nothing.
#[derive(Debug)]
pub struct Offline(Parts);

impl Offline {
    /// Of this file, with [`SECRET`] for every secret.
    ///
    /// # Errors
    /// [`BuildError`] where the credentials do not make a header.
    pub fn of(file: DriverFile) -> Result<Self, BuildError> {
        let secret = |_: &_| Some(SecretString::from(SECRET));
        let id = file.id().as_str().to_owned();
        let auth = file.auth.build(&id, &secret)?;
        let mut secrets = BTreeMap::new();
        for name in file.body_secrets() {
            secrets.insert(name.name().to_owned(), resolved(&id, &name, &secret)?);
        }
        Ok(Self(Parts {
            file,
            auth,
            secrets,
        }))
    }

    /// The hosts that may be called.
    pub fn hosts(&self) -> &[String] {
        &self.0.file.hosts
    }

    /// The header of the idempotency key, and whether the key is quoted.
    pub fn idempotency(&self) -> Option<(&HeaderName, bool)> {
        let key = self.0.file.idempotency.as_ref()?;
        Some((&key.header, key.quoted))
    }

    /// The header that carries credentials, where it is known before a token is fetched.
    pub fn credentials(&self) -> Option<(&HeaderName, &HeaderValue)> {
        match &self.0.auth {
            Credentials::Header(name, value) => Some((name, value)),
            Credentials::Token(_) | Credentials::Body => None,
        }
    }

    /// Every request of a submit, in order and each as it would be sent, where every step before the commit is
    /// answered like this. Without a token, where the credentials are one.
    ///
    /// # Errors
    /// [`NotSent`], as in a submit; with the requests that would have gone out before.
    pub fn requests(
        &self,
        order: &Order,
        raw: &RawAnswer<'_>,
    ) -> Result<Vec<Sent>, (Vec<Sent>, NotSent)> {
        let mut sent = Vec::new();
        match self.walk(order, raw, &mut sent) {
            Ok(_) => Ok(sent),
            Err(not_sent) => Err((sent, not_sent)),
        }
    }

    fn walk(
        &self,
        order: &Order,
        raw: &RawAnswer<'_>,
        sent: &mut Vec<Sent>,
    ) -> Result<Option<ExternalId>, NotSent> {
        let parts = &self.0;
        parts.rehearse(order)?;
        let mut captured = BTreeMap::new();
        let answer = raw.read(&parts.file.wait_headers);
        for step in &parts.file.steps.before {
            let built = parts.request(&step.call, order, &captured, None)?;
            sent.push(as_sent(&step.call, built));
            capture(step, &answer, &mut captured)?;
        }
        let commit = parts.prepared(order, &captured, None)?;
        let (url, headers, body) = (commit.url, commit.headers, commit.body);
        let call = &parts.file.steps.commit.call;
        sent.push(as_sent(call, Built { url, headers, body }));
        Ok(commit.known_id)
    }

    /// What became of a submit whose steps and commit are answered like this.
    pub fn submitted(&self, order: &Order, raw: &RawAnswer<'_>) -> SubmitOutcome {
        let known_id = match self.walk(order, raw, &mut Vec::new()) {
            Ok(known_id) => known_id,
            Err(not_sent) => return SubmitOutcome::NotSent(not_sent),
        };
        let file = &self.0.file;
        let commit = Commit {
            step: &file.steps.commit,
            error: file.error.as_ref(),
            known_id: known_id.as_ref(),
            bytes: 0,
        };
        classify(&commit, &Seen::Answered(raw.read(&file.wait_headers)))
    }

    /// The success codes of the commit.
    pub fn accepts(&self) -> &[u16] {
        &self.0.file.steps.commit.call.accept
    }

    /// What the answer to a look-up tells.
    pub fn looked_up(&self, raw: &RawAnswer<'_>) -> LookUpAnswer {
        let file = &self.0.file;
        file.looked_up(&raw.read(&file.wait_headers))
    }

    /// What the answer to a search tells; `None` where the driver cannot search.
    pub fn found(
        &self,
        raw: &RawAnswer<'_>,
        reference: &Reference,
        draft_id: Option<&str>,
    ) -> Option<FindAnswer> {
        let file = &self.0.file;
        let find = file.find.as_ref()?;
        Some(file.found(find, &raw.read(&file.wait_headers), reference, draft_id))
    }
}

fn as_sent(call: &Call, built: Built) -> Sent {
    let Built { url, headers, body } = built;
    Sent {
        method: call.method.clone(),
        url,
        headers,
        body,
    }
}
