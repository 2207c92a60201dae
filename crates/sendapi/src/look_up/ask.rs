//! Asks: one GET, with the credentials it needs, and what its status means.

use bytes::Bytes;
use jiff::SignedDuration;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Request, Url};
use sendtrail_core::ports::{Evidence, Failure};
use serde_json::Value;

use crate::answer::{Answer, Broken, cause, evidence};
use crate::auth::{Credentials, Token, TokenFailure, TokenFault};
use crate::body;
use crate::drivers::Driver;
use crate::file::BodySpec;
use crate::pointer::Pointer;
use crate::template::Values;

/// A token for a read is good for this long at least.
const TOKEN_GOOD_FOR: SignedDuration = SignedDuration::from_secs(30);

impl Driver {
    /// Asks once; once more only where the API refused a token that was kept.
    pub(super) async fn ask(
        &self,
        url: Url,
        body: Option<&BodySpec>,
        values: &Values<'_>,
    ) -> Result<Answer, Failure> {
        let built = body.map(|spec| body::build(spec, values, &Bytes::new()));
        let built = built
            .transpose()
            .map_err(|bad| transient("build", None, &bad.to_string()))?;
        let Credentials::Token(source) = &self.parts.auth else {
            return self.ask_once(url, built.as_ref(), None).await;
        };
        let wait_headers = &self.parts.file.wait_headers;
        let fetched = source
            .token(&self.look_up, wait_headers, TOKEN_GOOD_FOR)
            .await;
        let token = fetched.map_err(|failure| token_failure(&failure))?;
        let answer = self
            .ask_once(url.clone(), built.as_ref(), Some(&token))
            .await?;
        if answer.status != 401 {
            return Ok(answer);
        }
        match source.renew(&self.look_up, wait_headers, &token).await {
            None => Ok(answer),
            Some(renewed) => {
                let token = renewed.map_err(|failure| token_failure(&failure))?;
                self.ask_once(url, built.as_ref(), Some(&token)).await
            }
        }
    }

    async fn ask_once(
        &self,
        url: Url,
        body: Option<&body::Built>,
        token: Option<&Token>,
    ) -> Result<Answer, Failure> {
        let file = &self.parts.file;
        let mut request = Request::new(Method::GET, url);
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.extend(file.headers.iter().cloned());
        self.parts.credentials(token, headers);
        if let Some(body) = body {
            let kind = HeaderValue::from_str(&body.content_type)
                .map_err(|_| transient("build", None, "a header cannot be built"))?;
            headers.insert(CONTENT_TYPE, kind);
            *request.body_mut() = Some(body.bytes.clone().into());
        }
        match self.look_up.execute(request).await {
            Ok(response) => Ok(Answer::read(response, &file.wait_headers).await),
            Err(error) => Err(transient(Broken::of(&error).class(), None, &cause(&error))),
        }
    }
}

fn token_failure(failure: &TokenFailure) -> Failure {
    let seen = evidence("token", failure.status, &failure.detail, 0);
    match failure.fault {
        TokenFault::Refused => Failure::Unauthorized(seen),
        TokenFault::RateLimited => Failure::RateLimited {
            retry_after: failure.retry_after,
            evidence: seen,
        },
        TokenFault::Transient => Failure::Transient(seen),
    }
}

pub(super) fn transient(class: &str, status: Option<u16>, detail: &str) -> Failure {
    Failure::Transient(evidence(class, status, detail, 0))
}

/// The body of a good answer; none where the API knows nothing of it.
pub(super) fn body_of<'a>(
    answer: &'a Answer,
    error: Option<&Pointer>,
) -> Result<Option<&'a Value>, Failure> {
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
