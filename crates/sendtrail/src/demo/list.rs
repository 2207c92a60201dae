//! The list of scenarios: what each shows, and the state it must end in.

/// One scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    /// Its name.
    pub(crate) name: &'static str,
    /// The state its record must end in.
    pub(crate) expected: &'static str,
    /// What it shows.
    pub(crate) shows: &'static str,
}

const fn scenario(name: &'static str, expected: &'static str, shows: &'static str) -> Scenario {
    Scenario {
        name,
        expected,
        shows,
    }
}

/// Every scenario, in the order of the summary.
pub(crate) const ALL: [Scenario; 28] = [
    scenario(
        "delivered",
        "succeeded",
        "accepted is not delivered: the poller finds the result",
    ),
    scenario(
        "undelivered",
        "failed",
        "a failure that comes later is seen",
    ),
    scenario("rejected", "failed", "what the API refuses fails at once"),
    scenario(
        "acceptance_unknown",
        "needs_review",
        "the reply is lost and nothing can tell: a person is asked",
    ),
    scenario(
        "acceptance_found",
        "succeeded",
        "the reply is lost, the letter is found by our reference",
    ),
    scenario(
        "not_sent_then_pressed_again",
        "succeeded",
        "proved not sent: a person may press again",
    ),
    scenario(
        "deadline_passes",
        "needs_review",
        "no result by the deadline: looked up once more, then a person is asked",
    ),
    scenario(
        "edited_by_a_person",
        "needs_review",
        "a 412 is skipped: the person's edit stands",
    ),
    scenario(
        "state_typed_back",
        "confirmed",
        "a state typed back by hand opens nothing",
    ),
    scenario(
        "killed_after_claim",
        "needs_review",
        "the function dies after its claim: swept, never sent",
    ),
    scenario(
        "pressed_twice_at_once",
        "succeeded",
        "two presses at once, one submit",
    ),
    scenario(
        "document_changed_after_preview",
        "saved",
        "other bytes than the previewed ones are refused",
    ),
    scenario(
        "recipient_changed_after_confirm",
        "confirmed",
        "an input edited after the confirm is refused",
    ),
    scenario(
        "draft_then_commit",
        "succeeded",
        "a draft is made and filled, and committed once",
    ),
    scenario(
        "draft_died_before_commit",
        "needs_review",
        "the function dies before the commit: the draft is read back, nothing is sent",
    ),
    scenario(
        "finished_just_at_the_deadline",
        "succeeded",
        "the result is there only at the last look-up, and it counts",
    ),
    scenario(
        "killed_after_submit",
        "succeeded",
        "the function dies after the API took it: found by our reference",
    ),
    scenario(
        "two_pollers_at_once",
        "succeeded",
        "pollers beside each other are harmless",
    ),
    scenario(
        "rate_limited",
        "succeeded",
        "asked to slow down: the state is kept, and it ends",
    ),
    scenario(
        "replayed_hundred_times",
        "succeeded",
        "one press replayed a hundred times, one submit",
    ),
    scenario(
        "cloned_record",
        "confirmed",
        "a copy of a confirmed record cannot be sent",
    ),
    scenario(
        "twin_refused",
        "confirmed",
        "the same document from the same source is not sent beside itself",
    ),
    scenario(
        "twins_pressed_at_once",
        "succeeded",
        "two records of one document pressed at once: one goes out",
    ),
    scenario(
        "old_progress_pasted_back",
        "confirmed",
        "an old progress pasted back opens nothing",
    ),
    scenario(
        "outcome_conflict_with_a_person",
        "needs_review",
        "the id is kept, the state stays the person's",
    ),
    scenario(
        "progress_emptied_by_a_person",
        "needs_review",
        "an emptied progress is given to a person, never sent again",
    ),
    scenario(
        "crm_down_after_submit",
        "succeeded",
        "the outcome cannot be written: the log tells, the sweep finds it",
    ),
    scenario(
        "poison_rows_do_not_starve",
        "succeeded",
        "rows that cannot be written hold up nobody",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|s| s.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
