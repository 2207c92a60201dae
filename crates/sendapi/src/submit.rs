//! Submits: the one commit request.

use bytes::Bytes;
use jiff::SignedDuration;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Request, Url};
use sendtrail_core::ids::Reference;
use sendtrail_core::policy::Pacing;
use sendtrail_core::ports::{Capabilities, NotSent, Order, Submit, SubmitOutcome};

use crate::answer::{Answer, Broken, cause, evidence};
use crate::body;
use crate::classify::{Seen, classify};
use crate::drivers::{BuildError, Driver, Parts, Timeouts, std};
use crate::template::Values;

/// The submit client. A fresh connection for each submit: one that was kept can be dead without our
/// knowledge, and would turn *never sent* into *unknown*.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    timeouts: Timeouts,
}

impl Client {
    pub(crate) fn new(
        builder: reqwest::ClientBuilder,
        timeouts: Timeouts,
    ) -> Result<Self, BuildError> {
        let http = builder
            .pool_max_idle_per_host(0)
            .timeout(std(timeouts.submit))
            .build()?;
        Ok(Self { http, timeouts })
    }
}

/// The commit request, whole: nothing but sending it is left to do.
#[derive(Debug)]
pub struct Prepared {
    reference: Reference,
    url: Url,
    headers: HeaderMap,
    body: Bytes,
}

impl Submit for Driver {
    type Prepared = Prepared;

    fn capabilities(&self) -> Capabilities {
        self.parts.file.capabilities()
    }

    fn pacing(&self) -> &Pacing {
        self.parts.file.pacing()
    }

    async fn prepare(&self, order: &Order) -> Result<Prepared, NotSent> {
        self.parts.prepare(order)
    }

    fn draft_id(_prepared: &Prepared) -> Option<&str> {
        // The only step is the commit, so there is no draft.
        None
    }

    async fn submit(
        &self,
        order: &Order,
        prepared: Prepared,
        time_left: SignedDuration,
    ) -> SubmitOutcome {
        let bytes = length(&prepared.body);
        let seen = self.send(order, prepared, time_left).await;
        let file = &self.parts.file;
        classify(&file.commit, file.error.as_ref(), &seen, bytes)
    }
}

impl Driver {
    /// Sends the request once. Whatever happens on the way, there is no second `execute`.
    async fn send(&self, order: &Order, prepared: Prepared, time_left: SignedDuration) -> Seen {
        let Client { http, timeouts } = &self.submit;
        if prepared.reference != order.reference {
            return refused("input", "prepared for another order");
        }
        let timeout = timeouts.submit.min(time_left);
        // Were the total time-out to fire while connecting, it could not be told from a lost answer.
        if timeout < timeouts.connect.saturating_mul(2) {
            return refused("time", "too little time is left to submit");
        }
        let file = &self.parts.file;
        let mut request = Request::new(file.commit.method.clone(), prepared.url);
        *request.headers_mut() = prepared.headers;
        *request.body_mut() = Some(prepared.body.into());
        *request.timeout_mut() = Some(std(timeout));
        match http.execute(request).await {
            Ok(response) => Seen::Answered(Answer::read(response, &file.wait_headers).await),
            Err(error) => Seen::Broken {
                how: Broken::of(&error),
                cause: cause(&error),
            },
        }
    }
}

fn refused(class: &'static str, detail: &str) -> Seen {
    Seen::Refused {
        class,
        detail: detail.to_owned(),
    }
}

impl Parts {
    fn prepare(&self, order: &Order) -> Result<Prepared, NotSent> {
        let file = &self.file;
        let size = length(&order.document);
        if size > file.max_document_bytes {
            let most = file.max_document_bytes;
            let detail = format!("the document has {size} bytes, the API takes {most}");
            return Err(not_sent("size", &detail));
        }
        let values = Values {
            to: Some(&order.input.to),
            fields: Some(&order.input.fields),
            reference: order.reference.as_str(),
            history_id: order.history_id.as_str(),
            id: "",
        };
        let bad = |bad: crate::template::BadValue| not_sent("input", &bad.to_string());
        let url = file.commit.path.address(&file.base, &values).map_err(bad)?;
        let body = body::build(&file.commit.body, &values, &order.document).map_err(bad)?;
        let headers = self.headers(&order.reference, &body.content_type)?;
        Ok(Prepared {
            reference: order.reference.clone(),
            url,
            headers,
            body: body.bytes,
        })
    }

    fn headers(&self, reference: &Reference, content_type: &str) -> Result<HeaderMap, NotSent> {
        let header = |text: &str| {
            HeaderValue::from_str(text).map_err(|_| not_sent("build", "a header cannot be built"))
        };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, header(content_type)?);
        if let Some(key) = &self.file.idempotency {
            let text = if key.quoted {
                format!("\"{reference}\"")
            } else {
                reference.to_string()
            };
            if text.len() > key.max_len {
                return Err(not_sent(
                    "build",
                    "the idempotency key is too long for the API",
                ));
            }
            headers.insert(key.header.clone(), header(&text)?);
        }
        let (name, value) = &self.auth;
        headers.insert(name.clone(), value.clone());
        Ok(headers)
    }
}

fn not_sent(class: &str, detail: &str) -> NotSent {
    NotSent {
        evidence: evidence(class, None, detail, 0),
        retry_after: None,
    }
}

fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
