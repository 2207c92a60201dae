//! Submits: the one commit request.

use bytes::Bytes;
use jiff::SignedDuration;
use reqwest::Request;
use sendtrail_core::policy::Pacing;
use sendtrail_core::ports::{Capabilities, NotSent, Order, Submit, SubmitOutcome};

use crate::answer::{Answer, Broken, cause};
use crate::classify::{Commit, Seen, classify};
use crate::drivers::{BuildError, Driver, Timeouts, std};
use crate::prepare::Prepared;

/// The clients of the submit half.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// For the one request. A fresh connection for each submit: one that was kept can be dead without our
    /// knowledge, and would turn *never sent* into *unknown*.
    http: reqwest::Client,
    /// For tokens and harmless steps. No kept connections either: a person would have to press again.
    pub(crate) steps: reqwest::Client,
    pub(crate) timeouts: Timeouts,
}

impl Client {
    pub(crate) fn new(
        builder: impl Fn() -> reqwest::ClientBuilder,
        timeouts: Timeouts,
    ) -> Result<Self, BuildError> {
        let fresh = || builder().pool_max_idle_per_host(0);
        Ok(Self {
            http: fresh().timeout(std(timeouts.submit)).build()?,
            steps: fresh().timeout(std(timeouts.submit) / 2).build()?,
            timeouts,
        })
    }
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
        self.prepare_commit(order).await
    }

    fn draft_id(prepared: &Prepared) -> Option<&str> {
        prepared.draft.as_deref()
    }

    async fn submit(
        &self,
        order: &Order,
        prepared: Prepared,
        time_left: SignedDuration,
    ) -> SubmitOutcome {
        let bytes = length(&prepared.body);
        let (known_id, token) = (prepared.known_id.clone(), prepared.token.clone());
        let seen = self.send(order, prepared, time_left).await;
        if matches!(&seen, Seen::Answered(answer) if answer.status == 401) {
            // The refusal stands; only the next press gets another token.
            self.forget(token.as_ref()).await;
        }
        let commit = Commit {
            step: &self.parts.file.steps.commit,
            error: self.parts.file.error.as_ref(),
            known_id: known_id.as_ref(),
            bytes,
        };
        classify(&commit, &seen)
    }
}

impl Driver {
    /// Sends the request once. Whatever happens on the way, there is no second `execute`.
    async fn send(&self, order: &Order, prepared: Prepared, time_left: SignedDuration) -> Seen {
        let Client { http, timeouts, .. } = &self.submit;
        if prepared.reference != order.reference {
            return refused("input", "prepared for another order");
        }
        let timeout = timeouts.submit.min(time_left);
        // Were the total time-out to fire while connecting, it could not be told from a lost answer.
        if timeout < timeouts.connect.saturating_mul(2) {
            return refused("time", "too little time is left to submit");
        }
        let file = &self.parts.file;
        let mut request = Request::new(file.steps.commit.call.method.clone(), prepared.url);
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

fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
