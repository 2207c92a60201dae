//! The schedule itself: read whole, written whole.

use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::operation::get_schedule::GetScheduleOutput;
use aws_sdk_scheduler::types::{RetryPolicy, ScheduleState, Target};

use super::pause::Pause;
use super::rate::Rate;
use crate::aws::{Aws, Call, Names, failure};
use crate::failure::{Failure, Kind};

/// The poller's schedule as it was read.
#[derive(Debug)]
pub(crate) struct Tick<'a> {
    aws: &'a Aws,
    client: Client,
    name: String,
    group: String,
    read: GetScheduleOutput,
}

/// What a command changes; the rest of the schedule stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Change {
    pub(super) enabled: Option<bool>,
    pub(super) description: Option<String>,
    pub(super) rate: Option<Rate>,
}

impl<'a> Tick<'a> {
    pub(crate) async fn read(aws: &'a Aws, names: &Names) -> Result<Self, Failure> {
        let client = Client::new(aws.account.config());
        let (name, group) = (names.poller(), names.group());
        let read = get(aws, &client, &group, &name).await?;
        Ok(Self {
            aws,
            client,
            name,
            group,
            read,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.read.state() == Some(&ScheduleState::Enabled)
    }

    pub(crate) fn expression(&self) -> &str {
        self.read.schedule_expression().unwrap_or_default()
    }

    pub(super) fn rate(&self) -> Option<Rate> {
        Rate::of_expression(self.expression())
    }

    /// Retries of a tick, and the age in seconds at which it is dropped.
    pub(crate) fn retries(&self) -> (Option<i32>, Option<i32>) {
        let policy = self.read.target().and_then(Target::retry_policy);
        (
            policy.and_then(RetryPolicy::maximum_retry_attempts),
            policy.and_then(RetryPolicy::maximum_event_age_in_seconds),
        )
    }

    /// The description without a note of a pause, and the note.
    pub(super) fn pause(&self) -> (String, Option<Pause>) {
        Pause::read(self.read.description().unwrap_or_default())
    }

    /// Writes the schedule with this change, and looks whether it is what it was otherwise.
    ///
    /// The scheduler replaces all of a schedule with what it is sent, and takes no condition: a change that
    /// somebody makes between the read and this is lost.
    pub(super) async fn write(self, change: Change) -> Result<(), Failure> {
        if self.read.target.is_none() || self.read.flexible_time_window.is_none() {
            let what = format!(
                "schedule {} was read without its target, which writing it would lose: nothing was changed",
                self.name
            );
            return Err(Failure::new(Kind::Refused, what));
        }
        let mut wanted = self.read.clone();
        if let Some(enabled) = change.enabled {
            wanted.state = Some(if enabled {
                ScheduleState::Enabled
            } else {
                ScheduleState::Disabled
            });
        }
        if let Some(description) = change.description {
            wanted.description = Some(description);
        }
        if let Some(rate) = change.rate {
            wanted.schedule_expression = Some(rate.expression());
        }
        let call = self.client.update_schedule();
        let sent = call
            .name(&self.name)
            .group_name(&self.group)
            .set_schedule_expression(wanted.schedule_expression.clone())
            .set_schedule_expression_timezone(wanted.schedule_expression_timezone.clone())
            .set_start_date(wanted.start_date)
            .set_end_date(wanted.end_date)
            .set_description(wanted.description.clone())
            .set_state(wanted.state.clone())
            .set_kms_key_arn(wanted.kms_key_arn.clone())
            .set_target(wanted.target.clone())
            .set_flexible_time_window(wanted.flexible_time_window.clone())
            .set_action_after_completion(wanted.action_after_completion.clone())
            .send()
            .await;
        sent.map_err(|error| {
            let resource = format!("schedule {}", self.name);
            let call = Call {
                action: "scheduler:UpdateSchedule",
                resource: &resource,
            };
            failure(&error, call, self.aws)
        })?;
        let now = get(self.aws, &self.client, &self.group, &self.name).await?;
        let other = differences(&wanted, &now);
        if other.is_empty() {
            return Ok(());
        }
        let what = format!(
            "schedule {} was written, and is not what was asked for: {} differ(s). Compare it with the template, \
             and deploy again",
            self.name,
            other.join(", ")
        );
        Err(Failure::new(Kind::Failed, what))
    }
}

async fn get(
    aws: &Aws,
    client: &Client,
    group: &str,
    name: &str,
) -> Result<GetScheduleOutput, Failure> {
    let read = client.get_schedule().group_name(group).name(name);
    read.send().await.map_err(|error| {
        let resource = format!("schedule {name} in group {group}");
        let call = Call {
            action: "scheduler:GetSchedule",
            resource: &resource,
        };
        failure(&error, call, aws)
    })
}

/// The names of what differs, but for the times at which it was made and changed.
fn differences(wanted: &GetScheduleOutput, now: &GetScheduleOutput) -> Vec<&'static str> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let same = [
        ("state", wanted.state == now.state),
        (
            "description",
            text(&wanted.description) == text(&now.description),
        ),
        (
            "expression",
            wanted.schedule_expression == now.schedule_expression,
        ),
        (
            "time zone",
            wanted.schedule_expression_timezone == now.schedule_expression_timezone,
        ),
        ("start", wanted.start_date == now.start_date),
        ("end", wanted.end_date == now.end_date),
        ("key", wanted.kms_key_arn == now.kms_key_arn),
        ("target", wanted.target == now.target),
        (
            "window",
            wanted.flexible_time_window == now.flexible_time_window,
        ),
        (
            "action after completion",
            wanted.action_after_completion == now.action_after_completion,
        ),
    ];
    same.into_iter()
        .filter_map(|(name, same)| (!same).then_some(name))
        .collect()
}
