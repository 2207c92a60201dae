//! Wake-ups: whatever the scheduler does, the answer and the record are the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use jiff::SignedDuration;
use sendtrail_core::ports::{Clock as _, ReadHistory as _};
use sendtrail_startup::{Environment, Wake};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::support::{Rig, accepted};
use crate::WakeUps;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheduler {
    /// The configuration has no place for wake-ups.
    None,
    Works,
    Error(u16, &'static str),
    Silent,
    /// Nobody listens.
    Away,
}

async fn answer(scheduler: Scheduler) -> Response {
    match scheduler {
        Scheduler::Error(status, code) => {
            let status = StatusCode::from_u16(status).unwrap();
            let body = axum::Json(json!({"Message": "no"}));
            (status, [("x-amzn-errortype", code)], body).into_response()
        }
        Scheduler::Silent => std::future::pending().await,
        Scheduler::None | Scheduler::Works | Scheduler::Away => {
            axum::Json(json!({"ScheduleArn": "arn"})).into_response()
        }
    }
}

/// A function whose scheduler does this, and what the scheduler was asked.
async fn rig(scheduler: Scheduler, interval: SignedDuration) -> (Rig, Arc<Mutex<Vec<Value>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let create = async move |body: String| {
        seen.lock().await.push(serde_json::from_str(&body).unwrap());
        answer(scheduler).await
    };
    let app = Router::new().route("/schedules/{name}", post(create));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    if scheduler != Scheduler::Away {
        tokio::spawn(async move { axum::serve(listener, app).await });
    }
    let variables = [
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_ENDPOINT_URL", url.as_str()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let env = Environment::new(variables, "");
    let place = Wake {
        group: "g".to_owned(),
        role_arn: "r".to_owned(),
        target_arn: "t".to_owned(),
        dead_letter_arn: "d".to_owned(),
    };
    let place = (scheduler != Scheduler::None).then_some(&place);
    let mut rig = Rig::new();
    // These tests run on the true clock, since they wait for a network.
    rig.app.policy.claim_settle = SignedDuration::from_millis(20);
    rig.app.wake_ups = WakeUps::of(place, interval, &env).unwrap();
    (rig, asked)
}

/// What a press came to, as the caller, the record and the log have it.
#[derive(Debug, Clone, PartialEq)]
struct Told {
    status: u16,
    body: String,
    state: String,
    events: Vec<String>,
    attempts: u32,
    /// From the acceptance to the first look-up.
    wait: Option<SignedDuration>,
}

/// A press that is accepted, with this scheduler: what it came to, and the word of the wake-up.
async fn press(scheduler: Scheduler) -> (Told, Option<String>) {
    let (rig, _) = rig(scheduler, SignedDuration::from_mins(2)).await;
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    let begun = Instant::now();
    let seen = rig.press("press-1", &id).await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(6), "{scheduler:?}: {took:?}");
    seen.assert_discreet();
    let word = seen.metrics.get("wake_up").and_then(Value::as_str);
    let failed = word.is_some_and(|word| word != "created" && word != "existed");
    assert_eq!(rig.lines_at("WARN").len(), usize::from(failed));
    let progress = rig.progress(&id);
    let accepted_at = progress.submission.as_ref().unwrap().at;
    let next = progress.next_check_at();
    let told = Told {
        status: seen.status,
        body: seen.body.to_string(),
        state: rig.state(&id),
        events: progress.trail.iter().map(|e| e.event.clone()).collect(),
        attempts: progress.attempts(),
        wait: next.map(|at| at.duration_since(accepted_at)),
    };
    (told, word.map(str::to_owned))
}

#[test]
fn an_accepted_send_is_answered_and_recorded_the_same_whatever_the_scheduler_does() {
    let cases = [
        (Scheduler::None, None),
        (Scheduler::Works, Some("created")),
        (Scheduler::Error(409, "ConflictException"), Some("existed")),
        (
            Scheduler::Error(403, "AccessDeniedException"),
            Some("denied"),
        ),
        (
            Scheduler::Error(429, "ThrottlingException"),
            Some("throttled"),
        ),
        (
            Scheduler::Error(500, "InternalServerException"),
            Some("failed"),
        ),
        (Scheduler::Silent, Some("failed")),
        (Scheduler::Away, Some("failed")),
    ];
    // At once, each in a thread with a log of its own: a press takes seconds of the true clock.
    let running = cases.map(|(scheduler, word)| {
        let thread = std::thread::spawn(move || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = builder.enable_all().build().unwrap();
            runtime.block_on(press(scheduler))
        });
        (scheduler, word, thread)
    });
    let mut without = None;
    for (scheduler, word, thread) in running {
        let (told, found) = thread.join().unwrap();
        assert_eq!(found.as_deref(), word, "{scheduler:?}");
        assert_eq!((told.status, told.state.as_str()), (200, "accepted"));
        assert_eq!(&told, without.get_or_insert_with(|| told.clone()));
    }
}

#[tokio::test]
async fn the_wake_up_of_an_accepted_send_is_at_its_first_look_up() {
    let (rig, asked) = rig(Scheduler::Works, SignedDuration::from_mins(2)).await;
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    rig.press("press-1", &id).await;
    let next = rig.progress(&id).next_check_at().unwrap();
    let asked = asked.lock().await;
    let [request] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    let expression = request["ScheduleExpression"].as_str().unwrap();
    let at = expression.strip_prefix("at(").unwrap();
    let at: jiff::Timestamp = at.replace(')', "Z").parse().unwrap();
    let after = at.duration_since(next);
    assert!(
        !after.is_negative() && after < SignedDuration::from_mins(1),
        "{at} for {next}"
    );
}

#[tokio::test]
async fn no_wake_up_is_made_where_it_gains_nothing_or_the_press_was_served_before() {
    let (rig, asked) = rig(Scheduler::Works, SignedDuration::from_secs(30)).await;
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    let seen = rig.press("press-1", &id).await;
    assert_eq!(seen.metrics["wake_up"], "not_worth_it");
    // The same press again was accepted before, and woken then.
    let again = rig.press("press-1", &id).await;
    assert_eq!(again.metrics["repeated"], 1);
    assert!(again.metrics.get("wake_up").is_none());
    assert!(asked.lock().await.is_empty());
}

#[tokio::test]
async fn a_wake_has_the_poller_run_as_soon_as_can_be_and_needs_no_interval_for_it() {
    let (rig, asked) = rig(Scheduler::Works, SignedDuration::from_secs(30)).await;
    let id = rig.confirmed("save-1").await;
    rig.driver().will_submit(accepted("ltr_1"));
    rig.press("press-1", &id).await;
    // Until the second of the record's version is over nothing can be written on it.
    rig.world.sleep(SignedDuration::from_secs(2)).await;
    rig.memory.read(&id).await.unwrap();
    let body = json!({
        "aud": "local/side-effect",
        "op": "wake",
        "history_id": id.as_str(),
        "actor": {"id": "u1", "name": super::support::ACTOR},
    });
    let mut event = rig.signed("wake-1", &body.to_string());
    event["rawPath"] = json!(format!("/v1/sends/{id}/wake"));
    let short = rig
        .serve_until(&event.to_string(), rig.world.after(2))
        .await;
    assert_eq!(short.metrics["wake_up"], "no_time", "{}", short.body);
    assert_eq!(short.status, 200);
    let seen = rig.serve(&event.to_string()).await;
    assert_eq!(seen.metrics["wake_up"], "created", "{}", seen.body);
    assert_eq!(asked.lock().await.len(), 1);
}
