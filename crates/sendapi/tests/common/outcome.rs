//! Submits in one line, and outcomes asserted in one line.

use jiff::SignedDuration;
use sendtrail_core::ports::{Evidence, Submit as _, SubmitOutcome};

use sendtrail_sendapi::Drivers;

use super::{Act, Server, build, file_text, letters, order};

/// More time than any test needs.
pub(crate) const PLENTY: SignedDuration = SignedDuration::from_secs(60);

/// As little time as a submit takes at all, and a little more.
pub(crate) const LITTLE: SignedDuration = SignedDuration::from_millis(2_300);

pub(crate) async fn submit_text(text: &str, left: SignedDuration) -> SubmitOutcome {
    submit_with(&build(text), left).await
}

pub(crate) async fn submit_with(drivers: &Drivers, left: SignedDuration) -> SubmitOutcome {
    let driver = letters(drivers);
    let order = order();
    let prepared = driver.prepare(&order).await.unwrap();
    driver.submit(&order, prepared, left).await
}

/// Submits once to a server that acts like this; gives the outcome and the complete POSTs.
pub(crate) async fn submit_to(act: Act) -> (SubmitOutcome, usize) {
    submit_within(act, PLENTY).await
}

/// The same with this much time left.
pub(crate) async fn submit_within(act: Act, left: SignedDuration) -> (SubmitOutcome, usize) {
    let server = Server::start(vec![act]).await;
    let outcome = submit_text(&file_text(server.port), left).await;
    assert!(
        server.connections() <= 1,
        "{} connections",
        server.connections()
    );
    (outcome, server.posts())
}

#[track_caller]
pub(crate) fn unknown(outcome: SubmitOutcome, class: &str) -> Evidence {
    match outcome {
        SubmitOutcome::Unknown(evidence) => {
            assert_eq!(evidence.class, class, "{evidence:?}");
            evidence
        }
        SubmitOutcome::Accepted { .. } | SubmitOutcome::Rejected(_) | SubmitOutcome::NotSent(_) => {
            panic!("not unknown: {outcome:?}")
        }
    }
}

#[track_caller]
pub(crate) fn not_sent(outcome: SubmitOutcome, class: &str) -> Evidence {
    match outcome {
        SubmitOutcome::NotSent(proof) => {
            assert_eq!(proof.evidence.class, class, "{proof:?}");
            proof.evidence
        }
        SubmitOutcome::Accepted { .. } | SubmitOutcome::Rejected(_) | SubmitOutcome::Unknown(_) => {
            panic!("not proved: {outcome:?}")
        }
    }
}
