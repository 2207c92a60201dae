//! Wake-ups: a one-time schedule for the poller, where the binary was built for it and the configuration has a
//! place for it. Nothing depends on one.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::ids::HistoryId;
use sendtrail_startup::{Environment, StartError, Wake};

/// Makes wake-ups, or none.
#[derive(Debug, Default)]
pub struct WakeUps(Option<Inner>);

impl WakeUps {
    /// Those of this configuration: none without a place for them.
    ///
    /// # Errors
    /// [`StartError::Part`] where there is a place and the binary was not built for it, or the account's
    /// variables are missing.
    pub fn of(
        place: Option<&Wake>,
        interval: SignedDuration,
        env: &Environment,
    ) -> Result<Self, StartError> {
        let inner = place.map(|place| Inner::of(place, interval, env));
        inner.transpose().map(Self)
    }

    /// After an acceptance: one at the time of the first look-up, where that gains anything. Gives a word for
    /// the metrics line.
    pub(crate) async fn at_first_look_up(
        &self,
        id: &HistoryId,
        next_check_at: Option<Timestamp>,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<&'static str> {
        let (inner, at) = (self.0.as_ref()?, next_check_at?);
        inner.at_first_look_up(id, at, now, until).await
    }

    /// After a wake: one as soon as possible. Gives a word for the metrics line.
    pub(crate) async fn soon(
        &self,
        id: &HistoryId,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<&'static str> {
        self.0.as_ref()?.make(id, now, now, until).await
    }
}

#[cfg(feature = "wake")]
#[derive(Debug)]
struct Inner {
    wake_ups: sendtrail_wake::WakeUps,
    interval: SignedDuration,
}

#[cfg(feature = "wake")]
impl Inner {
    fn of(place: &Wake, interval: SignedDuration, env: &Environment) -> Result<Self, StartError> {
        let place = sendtrail_wake::Place {
            group: place.group.clone(),
            role_arn: place.role_arn.clone(),
            target_arn: place.target_arn.clone(),
            dead_letter_arn: place.dead_letter_arn.clone(),
        };
        let wake_ups = sendtrail_wake::WakeUps::of_variables(|name| env.get(name), place)
            .map_err(|error| StartError::part("wake-ups", &error))?;
        Ok(Self { wake_ups, interval })
    }

    async fn at_first_look_up(
        &self,
        id: &HistoryId,
        at: Timestamp,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<&'static str> {
        if !sendtrail_wake::is_worth_it(at.duration_since(now), self.interval) {
            return Some("not_worth_it");
        }
        self.make(id, at, now, until).await
    }

    async fn make(
        &self,
        id: &HistoryId,
        at: Timestamp,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<&'static str> {
        // The answer comes first: a wake-up is not begun in time that belongs to it.
        if until.duration_since(now) < sendtrail_wake::TIME {
            return Some("no_time");
        }
        let made = self.wake_ups.at(at, now).await;
        if let sendtrail_wake::WakeUp::Failed(error) = &made {
            tracing::warn!(
                history.id = id.as_str(),
                cause = %error,
                "wake_up_failed: the schedule's next tick does the work"
            );
        }
        Some(made.word())
    }
}

/// There is none in a binary that was not built for it.
#[cfg(not(feature = "wake"))]
#[derive(Debug)]
enum Inner {}

#[cfg(not(feature = "wake"))]
impl Inner {
    fn of(_: &Wake, _: SignedDuration, _: &Environment) -> Result<Self, StartError> {
        let why = "the configuration has [wake], and this binary was built without the feature `wake`: build \
                   side-effect with `--features wake`, or take the wake keys out (the parameter Wake=off)";
        Err(StartError::part("wake-ups", &why))
    }

    #[expect(clippy::unused_async, reason = "the other build waits here")]
    async fn at_first_look_up(
        &self,
        _: &HistoryId,
        _: Timestamp,
        _: Timestamp,
        _: Timestamp,
    ) -> Option<&'static str> {
        match *self {}
    }

    #[expect(clippy::unused_async, reason = "the other build waits here")]
    async fn make(
        &self,
        _: &HistoryId,
        _: Timestamp,
        _: Timestamp,
        _: Timestamp,
    ) -> Option<&'static str> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Wake {
        Wake {
            group: "g".to_owned(),
            role_arn: "r".to_owned(),
            target_arn: "t".to_owned(),
            dead_letter_arn: "d".to_owned(),
        }
    }

    fn of(place: Option<&Wake>, variables: &[&str]) -> Result<WakeUps, StartError> {
        let pairs = variables.iter();
        let pairs = pairs.map(|name| ((*name).to_owned(), "value".to_owned()));
        let env = Environment::new(pairs, "");
        WakeUps::of(place, SignedDuration::from_mins(2), &env)
    }

    #[test]
    fn without_a_place_there_are_none_and_nothing_is_needed() {
        assert!(of(None, &[]).unwrap().0.is_none());
    }

    #[cfg(not(feature = "wake"))]
    #[test]
    fn a_place_refuses_to_start_in_a_binary_that_was_not_built_for_it_and_says_which_is() {
        let error = of(Some(&place()), &["AWS_REGION"]).err().unwrap();
        let text = error.to_string();
        assert!(
            text.contains("--features wake") && text.contains("Wake=off"),
            "{text}"
        );
    }

    #[cfg(feature = "wake")]
    #[test]
    fn a_place_needs_the_accounts_variables_and_names_the_one_that_is_missing() {
        let all = ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        assert!(of(Some(&place()), &all).unwrap().0.is_some());
        let error = of(Some(&place()), &all[..2]).err().unwrap();
        let text = error.to_string();
        assert!(text.contains("AWS_SECRET_ACCESS_KEY"), "{text}");
    }
}
