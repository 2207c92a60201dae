//! What a person can do about a record.

use sendtrail_core::record::StateField;
use sendtrail_core::state::State;

use super::view::View;

/// What a person can do about it; empty where nothing is to be done.
pub(super) fn advice(view: &View) -> String {
    match &view.read.record.state {
        StateField::Known(State::NeedsReview) if was_never_sent(view) => format!(
            "\nIt was never sent: set the field back to confirmed (or saved) in the CRM, or end it:\n  \
             sendtrail history settle {} --as failed --reason '…'\n",
            view.id()
        ),
        StateField::Known(State::NeedsReview) => format!(
            "\nA person must decide. Find out at the external API what happened, then:\n{}",
            decisions(view)
        ),
        StateField::Empty | StateField::Unknown(_) => no_state(view),
        StateField::Known(state @ (State::Saved | State::Confirmed)) if was_submitted(view) => {
            format!(
                "\nThe state field says {}, but it was submitted: typed by hand. Set it to needs_review in the CRM \
                 and settle it:\n{}",
                state.label(),
                decisions(view)
            )
        }
        StateField::Known(
            State::Saved
            | State::Confirmed
            | State::Sending
            | State::Accepted
            | State::Succeeded
            | State::Failed,
        ) => String::new(),
    }
}

fn no_state(view: &View) -> String {
    let what = "\nThe state field holds no state, so nothing works on this record.";
    if was_never_sent(view) {
        return format!(
            "{what} It was never sent: set the field back to confirmed (or saved) in the CRM.\n"
        );
    }
    format!(
        "{what} To decide it, set the field to needs_review in the CRM, then:\n{}",
        decisions(view)
    )
}

/// The commands that end a review.
fn decisions(view: &View) -> String {
    let id = view.id();
    let resume = view.progress.as_ref().map_or_else(
        |_| String::new(),
        |_| {
            let named = needs_external_id(view).then_some(" --external-id …");
            let named = named.unwrap_or_default();
            format!("  sendtrail history resume {id}{named} --reason '…'\n")
        },
    );
    format!("  sendtrail history settle {id} --as succeeded|failed --reason '…'\n{resume}")
}

/// Whether looking up again needs another id: none is known, or the API knows nothing of the known one.
fn needs_external_id(view: &View) -> bool {
    view.external_id().is_none()
        || view
            .last_error()
            .is_some_and(|error| error.kind == "not_found")
}

/// Whether nothing on the record tells of a submit. The fields count too: an earlier text of the progress may
/// have been put back by hand, and one that replaces a lost one tells nothing.
fn was_never_sent(view: &View) -> bool {
    let is_untouched = view.progress.as_ref().is_ok_and(|progress| {
        progress.claim.is_none() && progress.submission.is_none() && !progress.was_replaced()
    });
    is_untouched && view.external_id().is_none() && view.read.record.deadline.is_none()
}

/// Whether the progress has a submission, or a claim of which it is not proved that nothing was accepted.
fn was_submitted(view: &View) -> bool {
    view.progress.as_ref().is_ok_and(|progress| {
        let open = progress.claim.as_ref().filter(|claim| claim.is_open());
        progress.submission.is_some() || open.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{PROGRESS, view};
    use super::*;

    const UNSENT: &str = r#"{"v":1,"rev":2}"#;
    const CLAIM: &str = r#"{"v":1,"rev":3,"claim":{"token":"c1","at":"2026-01-01T00:01:00Z",
        "request_key":"msg_2","driver":"letter","draft_id":null}}"#;

    /// The advice on a record whose external id field is empty.
    fn advised(state: &str, progress: &str) -> String {
        let mut view = view(state, Some(progress));
        view.read.record.external_id = None;
        advice(&view)
    }

    #[test]
    fn what_was_never_sent_goes_back_and_is_not_settled() {
        for state in ["sent", ""] {
            let text = advised(state, UNSENT);
            assert!(text.contains("never sent") && text.contains("confirmed (or saved)"));
            assert!(
                !text.contains("settle") && !text.contains("resume"),
                "{text}"
            );
        }
        let review = advised("needs_review", UNSENT);
        assert!(review.contains("never sent") && review.contains("--as failed --reason '…'"));
        assert!(!review.contains("resume") && !review.contains("succeeded"));
    }

    #[test]
    fn any_trace_of_a_submit_forbids_to_call_it_never_sent() {
        let in_the_field = advice(&view("sent", Some(UNSENT)));
        let mut dated = view("sent", Some(UNSENT));
        dated.read.record.external_id = None;
        dated.read.record.deadline = Some("2026-01-08T00:00:00Z".parse().unwrap());
        for text in [
            in_the_field,
            advice(&dated),
            advised("sent", CLAIM),
            advised("sent", PROGRESS),
            advised("sent", "my note"),
        ] {
            assert!(!text.contains("never sent"), "{text}");
            assert!(text.contains("needs_review") && text.contains("settle 57 --as"));
        }
    }

    #[test]
    fn a_state_typed_over_a_submit_is_told_as_such() {
        for state in ["saved", "confirmed"] {
            for progress in [PROGRESS, CLAIM] {
                let text = advised(state, progress);
                let due =
                    format!("The state field says {state}, but it was submitted: typed by hand");
                assert!(
                    text.contains(&due) && text.contains("needs_review"),
                    "{text}"
                );
                assert!(text.contains("settle 57 --as succeeded|failed --reason '…'"));
            }
            assert_eq!(advised(state, UNSENT), "");
            let resolved = CLAIM.replace(
                "\"draft_id\":null",
                r#""draft_id":null,"resolved":"not_sent""#,
            );
            assert_eq!(advised(state, &resolved), "");
        }
        for state in ["sending", "accepted", "succeeded", "failed"] {
            assert_eq!(advised(state, PROGRESS), "", "{state}");
        }
    }

    #[test]
    fn a_resume_names_an_id_where_none_is_known_or_the_known_one_is_not_found() {
        let known = advised("needs_review", PROGRESS);
        assert!(known.contains("resume 57 --reason '…'"), "{known}");
        let lost = PROGRESS.replace("rate_limited", "not_found");
        for progress in [lost.as_str(), CLAIM] {
            let text = advised("needs_review", progress);
            assert!(
                text.contains("resume 57 --external-id … --reason '…'"),
                "{text}"
            );
        }
        assert!(!advised("needs_review", "my note").contains("resume"));
    }
}
