//! What each answer of a look-up does, before, at and after the deadline.

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::commit::Change;
use sendtrail_core::flows::after_look_up;
use sendtrail_core::policy::Pacing;
use sendtrail_core::ports::{Failure, LookUpAnswer};
use sendtrail_core::progress::Progress;
use sendtrail_core::state::Event;
use sendtrail_core::testing::pacing;
use serde_json::{Value, json};

use crate::common::{evidence, later};

const DAY: i64 = 24 * 3600;
/// No jitter.
const MIDDLE: u64 = 1_000;

fn start() -> Timestamp {
    Timestamp::from_second(1_767_225_600).unwrap()
}

/// An accepted send that was claimed at the start and looked up three times.
fn accepted_with(edit: impl FnOnce(&mut Value)) -> Progress {
    let mut value = json!({
        "v": 1, "rev": 7, "attempts": 3,
        "next_check_at": start().to_string(),
        "deadline": later(start(), DAY).to_string(),
        "claim": {"token": "c1", "at": start().to_string(), "request_key": "press_1", "driver": "letter"},
        "submission": {"driver": "letter", "reference": "st_1", "outcome": "accepted",
            "external_id": "ltr_1", "at": start().to_string()},
    });
    edit(&mut value);
    Progress::decode(Some(&value.to_string())).unwrap()
}

fn accepted() -> Progress {
    accepted_with(|_| ())
}

fn after(progress: &Progress, answer: &LookUpAnswer, seconds: i64) -> Change {
    let now = later(start(), seconds);
    let change = after_look_up(progress.clone(), answer, now, now, &pacing(), MIDDLE);
    assert_eq!(change.progress.attempts(), progress.attempts() + 1);
    let (check, deadline) = (change.progress.next_check_at(), change.progress.deadline());
    assert!(check.is_none() || check <= deadline);
    assert_eq!(
        change.progress.submission, progress.submission,
        "a look-up replaces no id"
    );
    change
}

fn pending() -> LookUpAnswer {
    LookUpAnswer::Pending {
        status: "processed".to_owned(),
        recognised: true,
    }
}

fn strange() -> LookUpAnswer {
    LookUpAnswer::Pending {
        status: "=quantum".to_owned(),
        recognised: false,
    }
}

fn limited(seconds: Option<i64>) -> LookUpAnswer {
    LookUpAnswer::Failed(Failure::RateLimited {
        retry_after: seconds.map(SignedDuration::from_secs),
        evidence: evidence("status", Some(429)),
    })
}

fn unauthorized() -> LookUpAnswer {
    LookUpAnswer::Failed(Failure::Unauthorized(evidence("status", Some(401))))
}

fn transient() -> LookUpAnswer {
    LookUpAnswer::Failed(Failure::Transient(evidence("timeout", None)))
}

#[test]
fn a_final_answer_counts_whenever_it_comes() {
    for seconds in [1, DAY - 1, DAY, DAY + 1, 90 * DAY] {
        let status = "delivered".to_owned();
        let change = after(&accepted(), &LookUpAnswer::Delivered { status }, seconds);
        assert_eq!(change.event, Some(Event::Delivered));
        assert_eq!(change.progress.next_check_at(), None);
        assert_eq!(change.progress.last_error, None);

        let status = "returned to sender".to_owned();
        let change = after(&accepted(), &LookUpAnswer::Undelivered { status }, seconds);
        assert_eq!(change.event, Some(Event::Undelivered));
        assert_eq!(change.progress.next_check_at(), None);
        let error = change.progress.last_error.unwrap();
        assert_eq!(
            (error.kind.as_str(), error.detail.as_str()),
            ("undelivered", "returned to sender")
        );
    }
}

#[test]
fn before_the_deadline_anything_else_is_pending_and_at_it_the_send_is_given_up() {
    for answer in [
        pending(),
        strange(),
        limited(None),
        limited(Some(5)),
        unauthorized(),
        transient(),
    ] {
        let change = after(&accepted(), &answer, DAY - 1);
        assert_eq!(change.event, Some(Event::StillPending), "{answer:?}");
        assert_eq!(
            change.progress.next_check_at(),
            Some(later(start(), DAY)),
            "{answer:?}"
        );
        for seconds in [DAY, DAY + 1, 90 * DAY] {
            let change = after(&accepted(), &answer, seconds);
            assert_eq!(change.event, Some(Event::GaveUp), "{answer:?}");
            assert_eq!(change.progress.next_check_at(), None, "{answer:?}");
        }
    }
}

#[test]
fn what_was_asked_before_the_deadline_and_answered_after_it_is_asked_once_more() {
    let (asked, now) = (later(start(), DAY - 8), later(start(), DAY + 2));
    for answer in [pending(), limited(Some(60)), transient()] {
        let change = after_look_up(accepted(), &answer, asked, now, &pacing(), MIDDLE);
        assert_eq!(change.event, Some(Event::StillPending), "{answer:?}");
        let check = change.progress.next_check_at();
        assert_eq!(check, Some(later(start(), DAY)), "due at once: {answer:?}");
        let change = after_look_up(change.progress, &answer, now, now, &pacing(), MIDDLE);
        assert_eq!(change.event, Some(Event::GaveUp), "{answer:?}");
    }
}

#[test]
fn what_the_deadline_ended_says_so_with_the_last_word_of_the_api() {
    for (answer, status, last) in [
        (pending(), None, "the API says processed"),
        (strange(), None, "the API says =quantum"),
        (limited(None), Some(429), "rate_limited: status: seen"),
        (unauthorized(), Some(401), "unauthorized: status: seen"),
        (transient(), None, "no_answer: timeout: seen"),
    ] {
        let change = after(&accepted(), &answer, DAY);
        let error = change.progress.last_error.unwrap();
        assert_eq!((error.kind.as_str(), error.status), ("gave_up", status));
        assert_eq!(error.at, later(start(), DAY));
        assert_eq!(error.detail, format!("no result by the deadline; {last}"));
    }
    // Within its grace, at the deadline.
    let patient = Pacing {
        not_found_grace: SignedDuration::from_hours(1000),
        ..pacing()
    };
    let now = later(start(), DAY);
    let change = after_look_up(
        accepted(),
        &LookUpAnswer::NotFound,
        now,
        now,
        &patient,
        MIDDLE,
    );
    let error = change.progress.last_error.unwrap();
    assert_eq!((error.kind.as_str(), error.status), ("gave_up", Some(404)));
    assert!(error.detail.ends_with("the API does not know the id"));
}

#[test]
fn what_went_wrong_is_kept_and_what_went_well_clears_it() {
    for (answer, kind) in [
        (limited(None), "rate_limited"),
        (unauthorized(), "unauthorized"),
        (transient(), "no_answer"),
        (strange(), "unknown_status"),
        (LookUpAnswer::NotFound, "not_found"),
    ] {
        let failed = after(&accepted(), &answer, 100).progress;
        assert_eq!(failed.last_error.as_ref().unwrap().kind, kind);
        assert_eq!(after(&failed, &pending(), 200).progress.last_error, None);
    }
    let change = after(&accepted(), &strange(), 100);
    // Made harmless on its way into the CRM.
    assert_eq!(change.progress.last_error.unwrap().detail, "'=quantum");
}

#[test]
fn not_found_is_pending_within_the_grace_then_review_and_never_failed() {
    for (seconds, event) in [
        (0, Event::StillPending),
        (599, Event::StillPending),
        (600, Event::GaveUp),
        (DAY - 1, Event::GaveUp),
        (DAY, Event::GaveUp),
    ] {
        let change = after(&accepted(), &LookUpAnswer::NotFound, seconds);
        assert_eq!(change.event, Some(event), "{seconds}");
    }
    // Asked before the grace was over, answered after it.
    let (asked, now, unknown) = (
        later(start(), 599),
        later(start(), 609),
        LookUpAnswer::NotFound,
    );
    let change = after_look_up(accepted(), &unknown, asked, now, &pacing(), MIDDLE);
    assert_eq!(change.event, Some(Event::StillPending));
    // A grace longer than the time to give up does not outlive the deadline.
    let patient = Pacing {
        not_found_grace: SignedDuration::from_hours(1000),
        ..pacing()
    };
    let now = later(start(), DAY);
    let change = after_look_up(
        accepted(),
        &LookUpAnswer::NotFound,
        now,
        now,
        &patient,
        MIDDLE,
    );
    assert_eq!(change.event, Some(Event::GaveUp));
}

#[test]
fn the_next_check_backs_off_and_waits_as_long_as_the_api_asks() {
    // Three look-ups made: 60 s doubled three times.
    let check = |answer| {
        let change = after(&accepted(), &answer, 100);
        change
            .progress
            .next_check_at()
            .unwrap()
            .duration_since(later(start(), 100))
            .as_secs()
    };
    assert_eq!(check(pending()), 480);
    assert_eq!(check(limited(None)), 480);
    assert_eq!(check(limited(Some(30))), 480, "no shorter than the backoff");
    assert_eq!(check(limited(Some(3_000))), 3_000);
    assert_eq!(
        check(limited(Some(i64::MAX))),
        DAY - 100,
        "never past the deadline"
    );
    assert_eq!(check(limited(Some(-30))), 480);
}

#[test]
fn an_emptied_deadline_is_made_again_so_that_the_send_still_ends() {
    let emptied = accepted_with(|value| value["deadline"] = Value::Null);
    let change = after(&emptied, &pending(), 100);
    assert_eq!(change.event, Some(Event::StillPending));
    assert_eq!(change.progress.deadline(), Some(later(start(), DAY)));
    assert_eq!(after(&emptied, &pending(), DAY).event, Some(Event::GaveUp));
    // Without a claim the submission tells when it began.
    let bare = accepted_with(|value| {
        let object = value.as_object_mut().unwrap();
        object.remove("deadline");
        object.remove("claim");
    });
    assert_eq!(
        after(&bare, &pending(), DAY - 1).event,
        Some(Event::StillPending)
    );
    assert_eq!(after(&bare, &pending(), DAY).event, Some(Event::GaveUp));
}

#[test]
fn attempts_at_their_end_do_not_fall() {
    let most = accepted_with(|value| value["attempts"] = json!(u32::MAX));
    let now = later(start(), 100);
    let change = after_look_up(most, &pending(), now, now, &pacing(), MIDDLE);
    assert_eq!(change.progress.attempts(), u32::MAX);
}

#[test]
fn clocks_at_the_ends_of_time_break_nothing() {
    for now in [Timestamp::MIN, Timestamp::MAX] {
        for answer in [pending(), LookUpAnswer::NotFound, limited(Some(i64::MAX))] {
            let change = after_look_up(accepted(), &answer, now, now, &pacing(), u64::MAX);
            assert!(change.event.is_some());
        }
    }
}
