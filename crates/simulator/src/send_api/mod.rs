//! A send API that does what a script says: it accepts, refuses, hangs, forgets to answer, and keeps count.
//!
//! It looks like an API for letters: one POST commits, an idempotency key and a search by the caller's own
//! reference can tell a repeat, look-ups tell the result. Everything is in SQLite before it is answered.
//!
//! | route | |
//! |---|---|
//! | `POST /v1/letters` | multipart: `to[name]`, `to[…]`, `metadata[send_id]`, one file |
//! | `POST /v1/messages` | JSON: `to` (text, list or object with `name`), `reference` or `metadata.send_id`, `document` in base64 |
//! | `GET /v1/letters/{id}`, `GET /v1/messages/{id}` | the object with `status`, `last_event`, `tracking_events` |
//! | `GET /v1/letters?metadata[send_id]=…&limit=…`, `GET /v1/messages?reference=…` | `{"count", "data": […]}` |
//! | `/cloudsign/…` | CloudSign: `POST token`, `POST documents`, `POST documents/{id}/files`, `…/participants`, the commit `POST documents/{id}`, `GET documents/{id}` |
//! | `/resend/emails` | Resend: `POST`, `GET {id}`; a tag holds the reference |
//! | `/telnyx/faxes` | Telnyx: `POST` as a form, `GET {id}`, `GET` lists; `client_state` holds the reference |
//! | `POST /_sim/scripts` `{recipient, script}`, `GET /_sim/scripts` | what happens to whom |
//! | `GET /_sim/letters[?reference=…]` | the letters: reference, key, recipient, SHA-256 of the document |
//! | `GET /_sim/drafts` | CloudSign's documents, sent or not |
//! | `POST /_sim/tokens/revoke` | CloudSign's token is not good any more, a new one is |
//! | `GET /_sim/posts[?reference=…]` | `received`, `accepted`, `refused`, `incomplete`, and each POST |
//! | `GET /_sim/calls` | how many POSTs, look-ups and searches |
//!
//! A script is found by the recipient: one set over `/_sim/scripts`, else `metadata[script]` (or `script`) of the
//! request, else the recipient's name. See [`Script`] and [`script`] for the clauses.

mod answer;
mod cloudsign;
mod control;
mod kind;
mod look_up;
mod post;
mod record;
pub mod script;
mod store;
mod submission;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, header};
use axum::routing::{get, post as post_to};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub use record::{Calls, DraftRecord, LetterRecord, PostCounts, PostRecord};
pub use script::{Script, ScriptError};

use crate::net::{Connection, CuttingListener};
use kind::Kind;
use store::Store;

/// How long open connections may take to end at a shutdown.
const STOP_LIMIT: Duration = Duration::from_secs(1);

/// How to start a send API.
#[derive(Clone, Debug)]
pub struct SendApiConfig {
    /// The SQLite file; `None` keeps everything in memory.
    pub database: Option<PathBuf>,
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// The API key, taken as Basic user or as Bearer token.
    pub api_key: String,
    /// The largest document that is accepted, in bytes.
    pub max_document_bytes: usize,
}

impl Default for SendApiConfig {
    fn default() -> Self {
        Self {
            database: None,
            port: 0,
            api_key: "test_key".to_owned(),
            max_document_bytes: 10_000_000,
        }
    }
}

/// A send API that could not start, or whose database failed.
#[derive(Debug, thiserror::Error)]
pub enum SendApiError {
    /// The port cannot be had.
    #[error("the port cannot be had")]
    Port(#[from] io::Error),
    /// The database cannot be opened, read or written.
    #[error("the database failed")]
    Database(#[from] rusqlite::Error),
    /// A script that cannot be read.
    #[error("the script cannot be read")]
    Script(#[from] ScriptError),
}

/// What the handlers share.
pub(crate) struct Api {
    store: Store,
    key: String,
    max_document_bytes: usize,
}

impl Api {
    /// Whether a request carries the key, or for CloudSign a token.
    fn allows(&self, kind: Kind, headers: &HeaderMap) -> bool {
        let given =
            submission::header_text(headers, header::AUTHORIZATION.as_str()).unwrap_or_default();
        let Some((scheme, value)) = given.split_once(' ') else {
            return false;
        };
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" if kind == Kind::Contract => self.token().is_ok_and(|token| value == token),
            "bearer" => value == self.key,
            "basic" if matches!(kind, Kind::Letter | Kind::Message) => {
                let decoded = STANDARD.decode(value).unwrap_or_default();
                decoded.split(|byte| *byte == b':').next() == Some(self.key.as_bytes())
            }
            _ => false,
        }
    }

    /// CloudSign's token: the same until it is revoked, also after a restart.
    fn token(&self) -> Result<String, SendApiError> {
        let revoked = self.store.revoked()?;
        let hash = Sha256::digest(format!("{} {revoked}", self.key));
        Ok(submission::hex(&hash))
    }

    /// The script for a recipient; a wrong one that came with a request is an error.
    fn script_of(&self, recipient: &str, sent: Option<&str>) -> Result<Script, SendApiError> {
        match (self.store.script(recipient)?, sent) {
            (Some(registered), _) => Ok(Script::parse(&registered)?),
            (None, Some(sent)) => Ok(Script::parse(sent)?),
            (None, None) => Ok(Script::from_name(recipient)),
        }
    }

    /// How many bytes of a body are read: base64 and the fields come on top of the document.
    fn read_limit(&self) -> usize {
        self.max_document_bytes
            .saturating_mul(2)
            .saturating_add(1_000_000)
    }
}

/// A running send API. Dropping it stops it; the data stay in the file.
pub struct SendApi {
    /// The address without a slash at the end; the API's own base is this and `/v1`.
    pub url: String,
    api: Arc<Api>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
}

impl SendApi {
    /// Starts listening on 127.0.0.1.
    pub async fn start(config: SendApiConfig) -> Result<Self, SendApiError> {
        let store = Store::open(config.database.as_deref())?;
        let SendApiConfig {
            api_key,
            max_document_bytes,
            ..
        } = config;
        let api = Arc::new(Api {
            store,
            key: api_key,
            max_document_bytes,
        });
        let listener = CuttingListener::bind(config.port).await?;
        let url = format!("http://{}", listener.address()?);
        let service = router(Arc::clone(&api)).into_make_service_with_connect_info::<Connection>();
        let (stop, mut stopped) = watch::channel(false);
        let server = tokio::spawn(async move {
            let stopping = async move {
                let _ = stopped.wait_for(|stop| *stop).await;
            };
            if let Err(error) = axum::serve(listener, service)
                .with_graceful_shutdown(stopping)
                .await
            {
                tracing::error!(%error, "the send API ended");
            }
        });
        Ok(Self {
            url,
            api,
            stop,
            server,
        })
    }

    /// Says what happens to a recipient's letters from now on, including those there already.
    pub fn set_script(&self, recipient: &str, script: &str) -> Result<(), SendApiError> {
        Script::parse(script)?;
        Ok(self.api.store.set_script(recipient, script)?)
    }

    /// The accepted letters, or those of one reference, oldest first.
    pub fn letters(&self, reference: Option<&str>) -> Result<Vec<LetterRecord>, SendApiError> {
        Ok(self.api.store.letters(reference)?)
    }

    /// CloudSign's documents, sent or not, oldest first.
    pub fn drafts(&self) -> Result<Vec<DraftRecord>, SendApiError> {
        Ok(self.api.store.drafts()?)
    }

    /// Revokes CloudSign's token: requests with it are refused, and the next one asked for is another.
    pub fn revoke_token(&self) -> Result<(), SendApiError> {
        Ok(self.api.store.revoke()?)
    }

    /// The POSTs, or those of one reference, oldest first.
    pub fn posts(&self, reference: Option<&str>) -> Result<Vec<PostRecord>, SendApiError> {
        Ok(self.api.store.posts(reference)?)
    }

    /// The POSTs counted, of all references or of one.
    pub fn post_counts(&self, reference: Option<&str>) -> Result<PostCounts, SendApiError> {
        Ok(self.api.store.counts(reference)?)
    }

    /// How often each kind of call was made.
    pub fn calls(&self) -> Result<Calls, SendApiError> {
        Ok(self.api.store.calls()?)
    }

    /// Stops listening; open connections are given a moment to end.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        let _ = timeout(STOP_LIMIT, &mut self.server).await;
    }
}

impl Drop for SendApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn router(api: Arc<Api>) -> Router {
    let limit = api.read_limit();
    Router::new()
        .route(
            "/v1/letters",
            post_to(post::letter).get(look_up::by_reference),
        )
        .route(
            "/v1/messages",
            post_to(post::message).get(look_up::by_reference),
        )
        .route("/v1/letters/{id}", get(look_up::by_id))
        .route("/v1/messages/{id}", get(look_up::by_id))
        .route("/resend/emails", post_to(post::mail))
        .route("/resend/emails/{id}", get(look_up::mail_by_id))
        .route("/telnyx/faxes", post_to(post::fax).get(look_up::faxes))
        .route("/telnyx/faxes/{id}", get(look_up::fax_by_id))
        .merge(cloudsign::router())
        .route("/_sim/drafts", get(control::drafts))
        .route("/_sim/tokens/revoke", post_to(control::revoke))
        .route(
            "/_sim/scripts",
            post_to(control::set_script).get(control::scripts),
        )
        .route("/_sim/letters", get(control::letters))
        .route("/_sim/posts", get(control::posts))
        .route("/_sim/calls", get(control::calls))
        .layer(DefaultBodyLimit::max(limit))
        .with_state(api)
}
