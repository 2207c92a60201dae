//! The Lambda side: events in, answers out, one metrics line each.

use std::convert::Infallible;

use jiff::Timestamp;
use lambda_runtime::LambdaEvent;
use sendtrail_core::ports::SealMac;
use sendtrail_door::Response;
use serde_json::value::RawValue;

use crate::app::{App, Crm, World};

/// Serves one invocation. The event is taken as raw JSON, so that every event reaches the door.
///
/// # Errors
/// None: a request that fails has an answer too.
pub async fn serve<S: Crm, W: World, M: SealMac>(
    app: &App<S, W, M>,
    event: LambdaEvent<Box<RawValue>>,
) -> Result<Response, Infallible> {
    let (payload, context) = event.into_parts();
    let deadline = i64::try_from(context.deadline)
        .ok()
        .and_then(|millis| Timestamp::from_millisecond(millis).ok())
        .unwrap_or(Timestamp::MAX);
    let handled = app
        .handle(payload.get(), &context.request_id, deadline)
        .await;
    handled.metrics.emit(app.world.now());
    Ok(handled.response)
}
