//! The one call: `CreateSchedule`.

use std::time::Duration;

use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::config::Builder;
use aws_sdk_scheduler::config::retry::RetryConfig;
use aws_sdk_scheduler::config::timeout::TimeoutConfig;
use aws_sdk_scheduler::error::BuildError;
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, DeadLetterConfig, FlexibleTimeWindow, FlexibleTimeWindowMode,
    RetryPolicy, Target,
};
use jiff::{SignedDuration, Timestamp};
use sendtrail_aws::{Account, AccountError, AwsError};

use crate::slot::Slot;

/// The permission it takes.
const CREATE: &str = "scheduler:CreateSchedule";
/// The time a wake-up takes at most, with every attempt.
pub const TIME: SignedDuration = SignedDuration::from_secs(2);
/// The time for one attempt, so that one that hangs leaves room for another.
const ATTEMPT: Duration = Duration::from_millis(900);
const ATTEMPTS: u32 = 2;
/// What the poller is sent: its tick, with a word for the log.
const TICK: &str = r#"{"v":1,"kind":"tick","wake":true}"#;
/// A wake-up that is this late is none: the periodic tick has come.
const MOST_AGE: i32 = 60;

/// Where wake-ups are made and what they reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The schedule group.
    pub group: String,
    /// The role the scheduler invokes the poller with.
    pub role_arn: String,
    /// The poller.
    pub target_arn: String,
    /// The queue for a wake-up that could not be handed over.
    pub dead_letter_arn: String,
}

/// What became of a wake-up. None of them is an error of what asked for it: the periodic schedule is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeUp {
    /// There is one now, for this slot.
    Created(Slot),
    /// There was one for this slot.
    Existed(Slot),
    /// There may be none.
    Failed(AwsError),
}

impl WakeUp {
    /// One word, for the metrics line.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Created(_) => "created",
            Self::Existed(_) => "existed",
            Self::Failed(AwsError::Denied { .. }) => "denied",
            Self::Failed(AwsError::Throttled { .. }) => "throttled",
            Self::Failed(_) => "failed",
        }
    }
}

/// Makes one-time schedules for the poller.
#[derive(Debug, Clone)]
pub struct WakeUps {
    client: Client,
    place: Place,
}

impl WakeUps {
    /// A client of the account of these variables, as Lambda sets them; nothing is connected yet.
    ///
    /// # Errors
    /// [`AccountError`] names the first variable that is needed and missing.
    pub fn of_variables<'v>(
        variable: impl Fn(&str) -> Option<&'v str>,
        place: Place,
    ) -> Result<Self, AccountError> {
        Ok(Self::new(&Account::of_variables(variable)?, place))
    }

    fn new(account: &Account, place: Place) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(ATTEMPT)
            .operation_attempt_timeout(ATTEMPT)
            .operation_timeout(TIME.unsigned_abs())
            .build();
        // A repeat makes no second schedule: the name is the slot's.
        let retries = RetryConfig::standard()
            .with_max_attempts(ATTEMPTS)
            .with_initial_backoff(Duration::from_millis(50));
        let config = Builder::from(account.config())
            .timeout_config(timeouts)
            .retry_config(retries)
            .build();
        Self {
            client: Client::from_conf(config),
            place,
        }
    }

    /// Has the poller run once, in the first slot that is not before `time`. Takes two seconds at most.
    pub async fn at(&self, time: Timestamp, now: Timestamp) -> WakeUp {
        let slot = Slot::of(time, now);
        let Ok(target) = self.target() else {
            return WakeUp::Failed(AwsError::Unavailable {
                action: CREATE,
                detail: "the request could not be built".to_owned(),
            });
        };
        let call = self.client.create_schedule();
        let name = slot.name();
        let call = call
            .client_token(&name)
            .name(name)
            .group_name(&self.place.group)
            .schedule_expression(slot.expression())
            .schedule_expression_timezone("UTC")
            .set_flexible_time_window(exact().ok())
            .action_after_completion(ActionAfterCompletion::Delete)
            .target(target);
        match call.send().await {
            Ok(_) => WakeUp::Created(slot),
            Err(error) => match error.as_service_error() {
                Some(service) if service.is_conflict_exception() => WakeUp::Existed(slot),
                Some(_) | None => WakeUp::Failed(AwsError::of(&error, CREATE, &self.resource())),
            },
        }
    }

    fn target(&self) -> Result<Target, BuildError> {
        // The next tick is the retry: AWS would try 185 times.
        let once = RetryPolicy::builder()
            .maximum_retry_attempts(0)
            .maximum_event_age_in_seconds(MOST_AGE)
            .build();
        let queue = DeadLetterConfig::builder().arn(&self.place.dead_letter_arn);
        Target::builder()
            .arn(&self.place.target_arn)
            .role_arn(&self.place.role_arn)
            .input(TICK)
            .retry_policy(once)
            .dead_letter_config(queue.build())
            .build()
    }

    /// As a policy names what the permission is for.
    fn resource(&self) -> String {
        format!("schedule/{}/*", self.place.group)
    }
}

fn exact() -> Result<FlexibleTimeWindow, BuildError> {
    FlexibleTimeWindow::builder()
        .mode(FlexibleTimeWindowMode::Off)
        .build()
}
