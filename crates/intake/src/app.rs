//! One request: parse, route, work within the time, answer, count.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::{DriverId, HistoryId};
use sendtrail_core::ports::{
    Clock, CreateHistory, GuardedWrite, Metered, Random, SealMac, SourceFiles, StoreDocument,
    clock_deadline,
};
use sendtrail_door::{Code, KeyRing, Refusal, Request, Response, TokenKey};
use sendtrail_startup::Rotation;
use sendtrail_startup::lambda::Handled;

use crate::trace::Trace;

/// Kept back from every request for its answer.
const ANSWER_TIME: SignedDuration = SignedDuration::from_millis(500);

/// What intake may do with the CRM, and no more: it cannot list, and it cannot read a stored document.
pub trait Crm: CreateHistory + GuardedWrite + StoreDocument + SourceFiles + Metered {}
impl<T: CreateHistory + GuardedWrite + StoreDocument + SourceFiles + Metered> Crm for T {}

/// Time and randomness.
pub trait World: Clock + Random {}
impl<T: Clock + Random> World for T {}

/// What intake is told by its configuration.
#[derive(Debug)]
pub struct Settings {
    /// The stage; it is the first part of `aud`.
    pub stage: String,
    /// Whether every request is answered that nothing new is taken.
    pub drain: bool,
    /// The keys that may sign a save.
    pub signing_keys: KeyRing,
    /// The key of preview tokens, confirm tickets and receipts.
    pub token_key: TokenKey,
    /// The drivers input may name.
    pub drivers: BTreeSet<DriverId>,
    /// How long a preview token is good for.
    pub preview_ttl: SignedDuration,
    /// How long a confirm ticket and a receipt are good for.
    pub confirm_ttl: SignedDuration,
    /// Whether `?token=` shows a preview too.
    pub preview_link: bool,
    /// The largest document, in bytes.
    pub max_document_bytes: u64,
    /// No new attempt is started when less than this is left: the longest time of one CRM request.
    pub attempt_time: SignedDuration,
}

/// The intake function. `M` makes the seal.
#[derive(Debug)]
pub struct App<S, W, M> {
    pub(crate) crm: S,
    pub(crate) world: W,
    pub(crate) seal_mac: M,
    pub(crate) settings: Settings,
}

impl<S: Crm, W: World, M: SealMac> App<S, W, M> {
    /// The function over these ports.
    pub fn new(crm: S, world: W, seal_mac: M, settings: Settings) -> Self {
        Self {
            crm,
            world,
            seal_mac,
            settings,
        }
    }

    /// Answers one event of the Function URL, whatever JSON it is, before `deadline`.
    ///
    /// `request_id` is the invocation's, for events that carry none.
    pub async fn handle(
        &self,
        event: &str,
        request_id: &str,
        deadline: Timestamp,
    ) -> Handled<Response> {
        let started = self.world.now();
        let before = self.crm.usage();
        let mut trace = Trace::default();
        let parsed = Request::parse(event, started.as_millisecond(), request_id);
        let mut no_key_matched = false;
        let (refused, response) = match &parsed {
            Ok(request) => {
                let result = self.in_time(request, deadline, &mut trace).await;
                let refused = result.as_ref().err().map(Refusal::code);
                no_key_matched = result.as_ref().is_err_and(Refusal::may_be_rotation);
                (refused, request.finish(result))
            }
            Err(refusal) => (
                Some(refusal.code()),
                refusal.answer_without_request(request_id),
            ),
        };
        let took = self.world.now().duration_since(started);
        trace.log_success(took);
        let after = self.crm.usage();
        let metrics = trace
            .line(&self.settings, &response, refused, took)
            .crm_usage(before, after);
        let rotation = Rotation::seen(no_key_matched, before, after, false);
        Handled::new(response, metrics).with_rotation(rotation)
    }

    /// Work that would outlast the invocation is dropped and told as a CRM that does not answer: every
    /// request can be repeated. Being killed instead would cost the sandbox and tell nobody anything.
    async fn in_time(
        &self,
        request: &Request<'_>,
        deadline: Timestamp,
        trace: &mut Trace,
    ) -> Result<Response, Refusal> {
        let left = deadline
            .duration_since(self.world.now())
            .saturating_sub(ANSWER_TIME);
        let left = Duration::try_from(left).unwrap_or_default();
        let until = clock_deadline(deadline, -self.settings.attempt_time);
        match tokio::time::timeout(left, self.route(request, until, trace)).await {
            Ok(result) => result,
            Err(_) => Err(Refusal::new(Code::CrmUnavailable, "out_of_time")),
        }
    }

    async fn route(
        &self,
        request: &Request<'_>,
        until: Timestamp,
        trace: &mut Trace,
    ) -> Result<Response, Refusal> {
        if self.settings.drain {
            return Err(Refusal::draining());
        }
        let segments = request.segments()?;
        let path: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        match (path.as_slice(), request.method()) {
            (["v1", "histories"], "POST") => {
                trace.route = "save";
                self.save(request, trace).await
            }
            (["v1", "histories", id], "PUT") => {
                trace.route = "save_again";
                self.save_again(request, &history_id(id)?, until, trace)
                    .await
            }
            (["v1", "histories", id, "preview"], "GET") => {
                trace.route = "preview";
                self.preview(request, &history_id(id)?, trace).await
            }
            (["v1", "histories", id, "document"], "PUT") => {
                trace.route = "confirm";
                self.confirm(request, &history_id(id)?, until, trace).await
            }
            (["v1", "histories"], _) => Err(Refusal::method_not_allowed("POST")),
            (["v1", "histories", _] | ["v1", "histories", _, "document"], _) => {
                Err(Refusal::method_not_allowed("PUT"))
            }
            (["v1", "histories", _, "preview"], _) => Err(Refusal::method_not_allowed("GET")),
            _ => Err(Refusal::no_route()),
        }
    }
}

fn history_id(segment: &str) -> Result<HistoryId, Refusal> {
    HistoryId::parse(segment).map_err(|_| Refusal::no_route())
}
