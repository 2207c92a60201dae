//! The function: one event in, one answer and one metrics line out.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{SubmitPorts, send};
use sendtrail_core::ids::HistoryId;
use sendtrail_core::policy::SubmitPolicy;
use sendtrail_core::ports::{
    Clock, FindTwins, GuardedWrite, Metered, Random, ReadDocument, SealMac, SubmitDrivers, Usage,
    clock_deadline,
};
use sendtrail_door::{Code, KeyRing, Refusal, Request, Response};
use sendtrail_startup::lambda::Handled;
use sendtrail_startup::{MetricsLine, Rotation, Unit};

use crate::answer::{self, Served, milliseconds};
use crate::wake_ups::WakeUps;
use crate::{press, wake};

/// Kept back at the end of an invocation for telling what happened.
const ANSWER_RESERVE: SignedDuration = SignedDuration::from_secs(1);

/// The numbers of the line that are metrics: those that an alarm or the dashboard stands on, and no other. The
/// rest is in the log.
const METRICS: [&str; 11] = [
    "unauthorized",
    "errors",
    "old_key_used",
    "outcome_unknown",
    "outcome_beside_person",
    "outcome_unrecorded",
    "outcome_late",
    "acceptance_unknown",
    "api_unauthorized",
    "crm_token_throttled",
    "crm_token_refused",
];

/// The function with everything it works with, built once for a process.
#[derive(Debug)]
pub struct App<S, D, W, M> {
    /// The keys that may sign a press.
    pub ring: KeyRing,
    /// The store.
    pub store: S,
    /// The drivers.
    pub drivers: D,
    /// Clock and randomness.
    pub world: W,
    /// The seal's MAC.
    pub mac: M,
    /// The settings, with the stage.
    pub policy: SubmitPolicy,
    /// What has the poller run early.
    pub wake_ups: WakeUps,
    /// Whether every request is answered that nothing new is taken.
    pub drain: bool,
}

/// What the metrics line tells besides times and the CRM.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    route: &'static str,
    key_name: Option<String>,
    woken: bool,
    /// What became of a wake-up, where one was thought of.
    wake_up: Option<&'static str>,
    no_key_matched: bool,
    pub(crate) served: Served,
}

impl<S, D, W, M> App<S, D, W, M>
where
    S: GuardedWrite + ReadDocument + FindTwins + Metered,
    D: SubmitDrivers,
    W: Clock + Random,
    M: SealMac,
{
    /// Serves one event of a Function URL. `deadline` is the end of the invocation.
    pub async fn handle(
        &self,
        event: &str,
        invocation_id: &str,
        deadline: Timestamp,
    ) -> Handled<Response> {
        let started = self.world.now();
        let before = self.store.usage();
        let mut facts = Facts {
            route: "none",
            ..Facts::default()
        };
        let (response, code) = match Request::parse(event, started.as_millisecond(), invocation_id)
        {
            Ok(request) => {
                let result = self.route(&request, deadline, &mut facts).await;
                let code = result.as_ref().err().map(|refusal| refusal.code().as_str());
                facts.no_key_matched = result.as_ref().is_err_and(Refusal::may_be_rotation);
                (request.finish(result), code)
            }
            Err(refusal) => {
                let code = refusal.code().as_str();
                (refusal.answer_without_request(invocation_id), Some(code))
            }
        };
        let metrics = self.metrics(&facts, response.status(), code, started, before);
        let rotation = Rotation::seen(
            facts.no_key_matched,
            before,
            self.store.usage(),
            facts.served.api_unauthorized,
        );
        Handled::new(response, metrics).with_rotation(rotation)
    }

    async fn route(
        &self,
        request: &Request<'_>,
        deadline: Timestamp,
        facts: &mut Facts,
    ) -> Result<Response, Refusal> {
        if self.drain {
            return Err(Refusal::draining());
        }
        let segments = request.segments()?;
        let path: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        match (path.as_slice(), request.method()) {
            (["v1", "sends"], "POST") => {
                facts.route = "POST /v1/sends";
                self.press(request, deadline, facts).await
            }
            (["v1", "sends", id, "wake"], "POST") => {
                facts.route = "POST /v1/sends/{id}/wake";
                self.wake(request, id, deadline, facts).await
            }
            (["v1", "sends"] | ["v1", "sends", _, "wake"], _) => {
                Err(Refusal::method_not_allowed("POST"))
            }
            _ => Err(Refusal::no_route()),
        }
    }

    async fn press(
        &self,
        request: &Request<'_>,
        deadline: Timestamp,
        facts: &mut Facts,
    ) -> Result<Response, Refusal> {
        let signed = press::verified(request, &self.ring, &self.policy.stage)?;
        let press = press::read(&signed);
        facts.key_name = Some(signed.key_name);
        let press = press?;
        let started = self.world.now();
        let until = clock_deadline(deadline, -ANSWER_RESERVE);
        let ports = SubmitPorts {
            store: &self.store,
            drivers: &self.drivers,
            world: &self.world,
            mac: &self.mac,
            policy: &self.policy,
        };
        let sent = send(&ports, &press, until).await;
        let first_look_up = answer::first_look_up(&sent);
        let told = answer::Told {
            stage: &self.policy.stage,
            press: &press,
            duration_ms: milliseconds(self.world.now().duration_since(started)),
        };
        let answer = told.answer(sent, &mut facts.served);
        // All is recorded and told by now: what becomes of this changes neither.
        facts.wake_up = self
            .wake_ups
            .at_first_look_up(&press.history_id, first_look_up, self.world.now(), until)
            .await;
        answer
    }

    async fn wake(
        &self,
        request: &Request<'_>,
        segment: &str,
        deadline: Timestamp,
        facts: &mut Facts,
    ) -> Result<Response, Refusal> {
        let history_id = HistoryId::parse(segment).map_err(|_| Refusal::no_route())?;
        let signed = wake::verified(request, &self.ring, &self.policy.stage, segment)?;
        let wake = wake::read(&signed, history_id);
        facts.key_name = Some(signed.key_name);
        let wake = wake?;
        let until = clock_deadline(deadline, -ANSWER_RESERVE);
        let served = wake.serve(&self.store, &self.world, until).await?;
        facts.woken = served.woken;
        facts.wake_up = self
            .wake_ups
            .soon(wake.history_id(), self.world.now(), until)
            .await;
        Ok(served.response)
    }

    fn metrics(
        &self,
        facts: &Facts,
        status: u16,
        code: Option<&'static str>,
        started: Timestamp,
        before: Usage,
    ) -> MetricsLine {
        let served = &facts.served;
        let flag = usize::from;
        let outcome = served.outcome.unwrap_or("none");
        // An operator asked for it: nobody is to be woken.
        let drained = code == Some(Code::Draining.as_str());
        let duration = self.world.now().duration_since(started);
        let key_name = facts.key_name.as_deref();
        let old_key = key_name.is_some_and(|name| !self.ring.is_current(name));
        let mut line = MetricsLine::new("side-effect", &self.policy.stage)
            .declaring(&METRICS)
            .count("requests", 1)
            .count("refused", flag((400..500).contains(&status)))
            .count("errors", flag(status >= 500 && !drained))
            .count("unauthorized", flag(status == 401))
            .count("old_key_used", flag(old_key))
            .count("repeated", flag(served.repeated))
            .count("woken", flag(facts.woken))
            .count("outcome_accepted", flag(outcome == "accepted"))
            .count("outcome_rejected", flag(outcome == "rejected"))
            .count("outcome_not_sent", flag(outcome == "not_sent"))
            .count("outcome_unknown", flag(outcome == answer::UNKNOWN))
            .count("outcome_beside_person", flag(served.beside_person))
            .count("outcome_unrecorded", flag(served.unrecorded))
            .count("outcome_late", flag(served.late))
            .count("acceptance_unknown", flag(served.acceptance_unknown))
            .count("api_unauthorized", flag(served.api_unauthorized))
            .count("outcome_conflicts", served.conflicts as usize)
            .crm_usage(before, self.store.usage())
            .metric("duration_ms", milliseconds(duration), Unit::Milliseconds)
            .property("route", facts.route)
            .property("status", &status.to_string())
            .property("outcome", outcome);
        if let Some(code) = code {
            line = line.property("code", code);
        }
        if let Some(word) = facts.wake_up {
            line = line.property("wake_up", word);
        }
        match key_name {
            Some(name) => line.property("key_name", name),
            None => line,
        }
    }
}
