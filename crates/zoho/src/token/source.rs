//! Gives the current token, and asks for another when it is time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret as _;
use sendtrail_core::ids::Sha256Hash;
use sendtrail_core::ports::StoreError;
use tokio::sync::Mutex;
use url::{Url, form_urlencoded};

use super::{AccessToken, TokenCache, Turn, answer};
use crate::config::Secrets;
use crate::http::{read_bounded, transport_error};
use crate::usage::Counters;

/// The CRM gives ten tokens in ten minutes and then none for the rest of them.
const COOLDOWN: Duration = Duration::from_mins(10);
/// Refused credentials stay refused; ask only now and then.
const REFUSED_HOLD: Duration = Duration::from_secs(30);
/// A replacement that is refused as well is not replaced sooner than this.
const UNPROVED_HOLD: Duration = Duration::from_mins(2);
/// While a token lasts, a refresh that gave nothing is not tried again sooner than this.
const PUT_OFF: Duration = Duration::from_secs(30);
/// With less than this left, a token is not relied on without trying for another.
const LEFT_FOR_A_CALL: SignedDuration = SignedDuration::from_secs(60);
const LARGEST_ANSWER: u64 = 64 * 1024;

/// A token in use.
#[derive(Debug)]
pub(crate) struct Live {
    token: AccessToken,
    /// When it was asked for in place of a refused one; `None` when it was got in any other way.
    replaces_since: Option<Instant>,
    proved: AtomicBool,
}

impl Live {
    /// The value of the authorisation header.
    pub(crate) fn header(&self) -> String {
        format!("Zoho-oauthtoken {}", self.token.token.expose_secret())
    }

    /// The API host it is for, where one was named.
    pub(crate) fn api_domain(&self) -> Option<&Url> {
        self.token.api_domain.as_ref()
    }

    /// The CRM took it.
    pub(crate) fn prove(&self) {
        self.proved.store(true, Ordering::Relaxed);
    }

    fn is(&self, other: &AccessToken) -> bool {
        self.token.token.expose_secret() == other.token.expose_secret()
    }

    /// Asked for just now in place of a refused one, and never taken: another would fare no better.
    fn is_useless_too(&self) -> bool {
        let since = self.replaces_since;
        !self.proved.load(Ordering::Relaxed)
            && since.is_some_and(|since| since.elapsed() < UNPROVED_HOLD)
    }
}

/// The one source of tokens of a client.
pub(crate) struct Tokens {
    client: reqwest::Client,
    endpoint: Url,
    client_id: String,
    secrets: Secrets,
    cache: Box<dyn TokenCache>,
    key: String,
    timeout: Duration,
    counters: Arc<Counters>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<Live>>,
    failed: Option<Failed>,
    /// When a refresh last gave nothing, for whatever reason.
    refresh_failed: Option<Instant>,
}

struct Failed {
    at: Instant,
    hold: Duration,
    error: StoreError,
}

impl Tokens {
    pub(crate) fn new(
        client: reqwest::Client,
        accounts_url: &Url,
        client_id: String,
        secrets: Secrets,
        cache: Box<dyn TokenCache>,
        timeout: Duration,
        counters: Arc<Counters>,
    ) -> Self {
        let mut endpoint = accounts_url.clone();
        endpoint.set_path("/oauth/v2/token");
        let seed = format!(
            "{endpoint}\n{client_id}\n{}",
            secrets.refresh_token.expose_secret()
        );
        let mut key = Sha256Hash::of(seed.as_bytes()).to_string();
        key.truncate(32);
        Self {
            client,
            endpoint,
            client_id,
            secrets,
            cache,
            key,
            timeout,
            counters,
            state: Mutex::default(),
        }
    }

    /// A token that should do.
    pub(crate) async fn get(&self) -> Result<Arc<Live>, StoreError> {
        let asked = Instant::now();
        let mut state = self.state.lock().await;
        if let Some(live) = &state.current
            && is_fresh(&live.token)
        {
            return Ok(Arc::clone(live));
        }
        if let Some(live) = state.put_off() {
            return Ok(live);
        }
        let cached = self.cached(None).await;
        if let Some(cached) = cached.clone().filter(is_fresh) {
            return Ok(state.take_over(cached));
        }
        // A refresh is due some time before the end: until then the old token will do.
        let may_wait = cached.is_none() && state.still_valid().is_none();
        match self.refresh(&mut state, asked, None, may_wait).await {
            Ok(token) => Ok(state.take_over(token)),
            Err(error) => {
                state.refresh_failed = Some(Instant::now());
                match cached {
                    Some(cached) => Ok(state.take_over(cached)),
                    None => state.still_valid().ok_or(error),
                }
            }
        }
    }

    /// Another token than the refused one: what someone else got meanwhile, or a new one.
    pub(crate) async fn replace(&self, refused: &Arc<Live>) -> Result<Arc<Live>, StoreError> {
        let asked = Instant::now();
        let mut state = self.state.lock().await;
        if let Some(live) = &state.current
            && !Arc::ptr_eq(live, refused)
        {
            return Ok(Arc::clone(live));
        }
        if let Some(cached) = self.cached(Some(refused)).await.filter(is_fresh) {
            return Ok(state.take_over(cached));
        }
        if refused.is_useless_too() {
            let detail = "new tokens are refused".to_owned();
            return Err(StoreError::Unauthorized { detail });
        }
        state.current = None;
        let token = self.refresh(&mut state, asked, Some(refused), true).await?;
        Ok(state.put(token, Some(Instant::now())))
    }

    /// The cached token, when it lasts and is not the refused one.
    async fn cached(&self, refused: Option<&Live>) -> Option<AccessToken> {
        let cached = self.cache.load(&self.key).await?;
        let other = refused.is_none_or(|refused| !refused.is(&cached));
        (other && Timestamp::now() < cached.expires_at).then_some(cached)
    }

    async fn refresh(
        &self,
        state: &mut State,
        asked: Instant,
        refused: Option<&Live>,
        may_wait: bool,
    ) -> Result<AccessToken, StoreError> {
        if let Some(failed) = &state.failed {
            // Who waited for a refresh that failed shares its failure.
            if failed.at >= asked || failed.at.elapsed() < failed.hold {
                self.counters.got_no_token(&failed.error);
                return Err(failed.error.clone());
            }
        }
        let refused = refused.map(|live| &live.token);
        match self.cache.turn(&self.key, refused, may_wait).await {
            Turn::Ask => self.ask(state).await,
            Turn::Take(token) => {
                state.failed = None;
                Ok(token)
            }
            Turn::Throttled => {
                self.counters.got_no_token(&StoreError::TokenThrottled);
                Err(StoreError::TokenThrottled)
            }
            Turn::Later => Err(StoreError::Transient {
                detail: "another instance is asking for a token".to_owned(),
            }),
        }
    }

    async fn ask(&self, state: &mut State) -> Result<AccessToken, StoreError> {
        match self.request().await {
            Ok(token) => {
                self.cache.store(&self.key, &token).await;
                state.failed = None;
                Ok(token)
            }
            Err(error) => {
                self.counters.got_no_token(&error);
                if error == StoreError::TokenThrottled {
                    self.cache.throttled(&self.key).await;
                }
                state.failed = Some(Failed {
                    at: Instant::now(),
                    hold: hold(&error),
                    error: error.clone(),
                });
                Err(error)
            }
        }
    }

    async fn request(&self) -> Result<AccessToken, StoreError> {
        self.counters.asked_for_a_token();
        let asked = Timestamp::now();
        // Never in the address: addresses end up in logs.
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "refresh_token")
            .append_pair("client_id", &self.client_id)
            .append_pair("client_secret", self.secrets.client_secret.expose_secret())
            .append_pair("refresh_token", self.secrets.refresh_token.expose_secret())
            .finish();
        let (status, body) = self
            .post(form)
            .await
            .map_err(|error| StoreError::Transient {
                detail: format!("token endpoint: {error}"),
            })?;
        answer::read(status, &body, asked)
    }

    async fn post(&self, form: String) -> Result<(u16, Bytes), String> {
        let response = self
            .client
            .post(self.endpoint.clone())
            .header("content-type", "application/x-www-form-urlencoded")
            .timeout(self.timeout)
            .body(form)
            .send()
            .await
            .map_err(|error| transport_error(&error))?;
        let status = response.status().as_u16();
        let body = read_bounded(response, LARGEST_ANSWER)
            .await
            .map_err(|error| error.to_string())?;
        Ok((status, body))
    }
}

impl State {
    fn take_over(&mut self, token: AccessToken) -> Arc<Live> {
        self.put(token, None)
    }

    fn put(&mut self, token: AccessToken, replaces_since: Option<Instant>) -> Arc<Live> {
        let live = Arc::new(Live {
            token,
            replaces_since,
            proved: AtomicBool::new(false),
        });
        self.current = Some(Arc::clone(&live));
        live
    }

    /// The old token, where a refresh has just given nothing and it lasts well beyond the next call. Each call would
    /// otherwise wait for a token that none of them needs, and one of them may be the record of an outcome.
    fn put_off(&self) -> Option<Arc<Live>> {
        let is_recent = self.refresh_failed?.elapsed() < PUT_OFF;
        let live = self.still_valid().filter(|_| is_recent)?;
        let left = live.token.expires_at.duration_since(Timestamp::now());
        (left > LEFT_FOR_A_CALL).then_some(live)
    }

    /// The old token, while it lasts.
    fn still_valid(&self) -> Option<Arc<Live>> {
        let live = self.current.as_ref()?;
        (Timestamp::now() < live.token.expires_at).then(|| Arc::clone(live))
    }
}

fn is_fresh(token: &AccessToken) -> bool {
    Timestamp::now() < token.refresh_at
}

fn hold(error: &StoreError) -> Duration {
    match error {
        StoreError::TokenThrottled => COOLDOWN,
        StoreError::Unauthorized { .. } => REFUSED_HOLD,
        StoreError::NotFound
        | StoreError::RateLimited { .. }
        | StoreError::Refused { .. }
        | StoreError::TooLarge { .. }
        | StoreError::Transient { .. }
        | StoreError::Malformed { .. } => Duration::ZERO,
    }
}
