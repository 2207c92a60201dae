//! The function: one event in, one answer and one metrics line out.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::flows::{SubmitPorts, send};
use sendtrail_core::policy::SubmitPolicy;
use sendtrail_core::ports::{
    Clock, FindTwins, GuardedWrite, Metered, Random, ReadDocument, SealMac, SubmitDrivers, Usage,
    clock_deadline,
};
use sendtrail_door::{KeyRing, Refusal, Request, Response};
use sendtrail_startup::lambda::Handled;
use sendtrail_startup::{MetricsLine, Unit};

use crate::answer::{self, Served};
use crate::press;

/// Kept back at the end of an invocation for telling what happened.
const ANSWER_RESERVE: SignedDuration = SignedDuration::from_secs(1);

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
}

/// What the metrics line tells besides times and the CRM.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    route: &'static str,
    key_name: Option<String>,
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
                (request.finish(result), code)
            }
            Err(refusal) => {
                let code = refusal.code().as_str();
                (refusal.answer_without_request(invocation_id), Some(code))
            }
        };
        let metrics = self.metrics(&facts, response.status(), code, started, before);
        Handled { response, metrics }
    }

    async fn route(
        &self,
        request: &Request<'_>,
        deadline: Timestamp,
        facts: &mut Facts,
    ) -> Result<Response, Refusal> {
        let segments = request.segments()?;
        let path: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        match (path.as_slice(), request.method()) {
            (["v1", "sends"], "POST") => {
                facts.route = "POST /v1/sends";
                self.press(request, deadline, facts).await
            }
            (["v1", "sends"], _) => Err(Refusal::method_not_allowed("POST")),
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
        let told = answer::Told {
            stage: &self.policy.stage,
            press: &press,
            duration_ms: milliseconds(self.world.now().duration_since(started)),
        };
        told.answer(sent, &mut facts.served)
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
        let duration = self.world.now().duration_since(started);
        let mut line = MetricsLine::new("side-effect", &self.policy.stage)
            .count("requests", 1)
            .count("refused", flag((400..500).contains(&status)))
            .count("errors", flag(status >= 500))
            .count("unauthorized", flag(status == 401))
            .count("repeated", flag(served.repeated))
            .count("outcome_accepted", flag(outcome == "accepted"))
            .count("outcome_rejected", flag(outcome == "rejected"))
            .count("outcome_not_sent", flag(outcome == "not_sent"))
            .count("outcome_unknown", flag(outcome == answer::UNKNOWN))
            .count("outcome_beside_person", flag(served.beside_person))
            .count("outcome_unrecorded", flag(served.unrecorded))
            .count("outcome_conflicts", served.conflicts as usize)
            .crm_usage(before, self.store.usage())
            .metric("duration_ms", milliseconds(duration), Unit::Milliseconds)
            .property("route", facts.route)
            .property("status", &status.to_string())
            .property("outcome", outcome);
        if let Some(code) = code {
            line = line.property("code", code);
        }
        match &facts.key_name {
            Some(name) => line.property("key_name", name),
            None => line,
        }
    }
}

/// Milliseconds with their fraction, never below zero.
fn milliseconds(duration: SignedDuration) -> f64 {
    duration.as_millis_f64().max(0.0)
}
