//! The states of a send and the only way from one to the next.

use std::fmt;

use thiserror::Error;

/// The state of a send, as the history record's state field holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Input is stored.
    Saved,
    /// The previewed bytes are stored and sealed.
    Confirmed,
    /// Claimed: a submit is under way, or its outcome is not known yet.
    Sending,
    /// The API took it; the result is not known yet.
    Accepted,
    /// Final: delivered.
    Succeeded,
    /// Final: refused or not delivered.
    Failed,
    /// A person must decide.
    NeedsReview,
}

/// What happened to a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// The user saved input.
    InputSaved,
    /// The user confirmed the previewed bytes.
    DocumentConfirmed,
    /// One invocation took the right to submit.
    Claimed,
    /// Proved: the API did not accept it.
    NotSent,
    /// The API accepted it and named an id.
    Accepted,
    /// The API refused it.
    Rejected,
    /// It is not known whether the API accepted it, but the driver can find out.
    OutcomeUnknown,
    /// It is not known whether the API accepted it, and nothing can tell.
    AcceptanceUnknown,
    /// Looked up: no result yet.
    StillPending,
    /// A look-up was brought forward.
    Woken,
    /// Looked up: delivered.
    Delivered,
    /// Looked up: not delivered, and it will not be.
    Undelivered,
    /// No result by the deadline.
    GaveUp,
    /// A person starts look-ups again.
    Resumed,
    /// A person ends it as delivered.
    SettledSucceeded,
    /// A person ends it as failed.
    SettledFailed,
}

/// An event that its state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{event} is not possible in state {state}")]
pub struct IllegalTransition {
    /// The state the record was in.
    pub state: State,
    /// The event that does not fit it.
    pub event: Event,
}

impl State {
    /// Every state, in the order of the life of a send.
    pub const ALL: [Self; 7] = [
        Self::Saved,
        Self::Confirmed,
        Self::Sending,
        Self::Accepted,
        Self::Succeeded,
        Self::Failed,
        Self::NeedsReview,
    ];

    /// The word the CRM's state field holds.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Saved => "saved",
            Self::Confirmed => "confirmed",
            Self::Sending => "sending",
            Self::Accepted => "accepted",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::NeedsReview => "needs_review",
        }
    }

    /// The state with this word, if there is one.
    pub fn from_label(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.label() == text)
    }

    /// Whether no event leaves this state.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed => true,
            Self::Saved | Self::Confirmed | Self::Sending | Self::Accepted | Self::NeedsReview => {
                false
            }
        }
    }

    /// Whether the poller works on it.
    pub const fn is_in_flight(self) -> bool {
        match self {
            Self::Sending | Self::Accepted => true,
            Self::Saved | Self::Confirmed | Self::Succeeded | Self::Failed | Self::NeedsReview => {
                false
            }
        }
    }

    /// Whether a write that enters this state is one a team hangs its notifications on.
    pub const fn notifies(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::NeedsReview => true,
            Self::Saved | Self::Confirmed | Self::Sending | Self::Accepted => false,
        }
    }

    /// The state after this event.
    ///
    /// # Errors
    /// [`IllegalTransition`], naming both, for every pair that is not in the table of ARCHITECTURE.md.
    pub const fn next(self, event: Event) -> Result<Self, IllegalTransition> {
        let illegal = Err(IllegalTransition { state: self, event });
        match self {
            Self::Saved => match event {
                Event::InputSaved => Ok(Self::Saved),
                Event::DocumentConfirmed => Ok(Self::Confirmed),
                Event::Claimed
                | Event::NotSent
                | Event::Accepted
                | Event::Rejected
                | Event::OutcomeUnknown
                | Event::AcceptanceUnknown
                | Event::StillPending
                | Event::Woken
                | Event::Delivered
                | Event::Undelivered
                | Event::GaveUp
                | Event::Resumed
                | Event::SettledSucceeded
                | Event::SettledFailed => illegal,
            },
            Self::Confirmed => match event {
                Event::InputSaved => Ok(Self::Saved),
                Event::Claimed => Ok(Self::Sending),
                Event::DocumentConfirmed
                | Event::NotSent
                | Event::Accepted
                | Event::Rejected
                | Event::OutcomeUnknown
                | Event::AcceptanceUnknown
                | Event::StillPending
                | Event::Woken
                | Event::Delivered
                | Event::Undelivered
                | Event::GaveUp
                | Event::Resumed
                | Event::SettledSucceeded
                | Event::SettledFailed => illegal,
            },
            Self::Sending => match event {
                Event::NotSent => Ok(Self::Confirmed),
                Event::Accepted => Ok(Self::Accepted),
                Event::Rejected => Ok(Self::Failed),
                Event::OutcomeUnknown => Ok(Self::Sending),
                Event::AcceptanceUnknown => Ok(Self::NeedsReview),
                Event::InputSaved
                | Event::DocumentConfirmed
                | Event::Claimed
                | Event::StillPending
                | Event::Woken
                | Event::Delivered
                | Event::Undelivered
                | Event::GaveUp
                | Event::Resumed
                | Event::SettledSucceeded
                | Event::SettledFailed => illegal,
            },
            Self::Accepted => match event {
                Event::StillPending | Event::Woken => Ok(Self::Accepted),
                Event::Delivered => Ok(Self::Succeeded),
                Event::Undelivered => Ok(Self::Failed),
                Event::GaveUp => Ok(Self::NeedsReview),
                Event::InputSaved
                | Event::DocumentConfirmed
                | Event::Claimed
                | Event::NotSent
                | Event::Accepted
                | Event::Rejected
                | Event::OutcomeUnknown
                | Event::AcceptanceUnknown
                | Event::Resumed
                | Event::SettledSucceeded
                | Event::SettledFailed => illegal,
            },
            Self::NeedsReview => match event {
                Event::Resumed => Ok(Self::Accepted),
                Event::SettledSucceeded => Ok(Self::Succeeded),
                Event::SettledFailed => Ok(Self::Failed),
                Event::InputSaved
                | Event::DocumentConfirmed
                | Event::Claimed
                | Event::NotSent
                | Event::Accepted
                | Event::Rejected
                | Event::OutcomeUnknown
                | Event::AcceptanceUnknown
                | Event::StillPending
                | Event::Woken
                | Event::Delivered
                | Event::Undelivered
                | Event::GaveUp => illegal,
            },
            Self::Succeeded | Self::Failed => illegal,
        }
    }
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 16] = [
        Self::InputSaved,
        Self::DocumentConfirmed,
        Self::Claimed,
        Self::NotSent,
        Self::Accepted,
        Self::Rejected,
        Self::OutcomeUnknown,
        Self::AcceptanceUnknown,
        Self::StillPending,
        Self::Woken,
        Self::Delivered,
        Self::Undelivered,
        Self::GaveUp,
        Self::Resumed,
        Self::SettledSucceeded,
        Self::SettledFailed,
    ];

    /// The word the trail holds.
    pub const fn label(self) -> &'static str {
        match self {
            Self::InputSaved => "input_saved",
            Self::DocumentConfirmed => "document_confirmed",
            Self::Claimed => "claimed",
            Self::NotSent => "not_sent",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::AcceptanceUnknown => "acceptance_unknown",
            Self::StillPending => "still_pending",
            Self::Woken => "woken",
            Self::Delivered => "delivered",
            Self::Undelivered => "undelivered",
            Self::GaveUp => "gave_up",
            Self::Resumed => "resumed",
            Self::SettledSucceeded => "settled_succeeded",
            Self::SettledFailed => "settled_failed",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The transitions as a Mermaid state diagram, made from [`State::next`] itself.
pub fn diagram() -> String {
    use fmt::Write as _;
    let mut text = String::from("stateDiagram-v2\n    [*] --> saved\n");
    for from in State::ALL {
        for to in State::ALL {
            let events: Vec<_> = Event::ALL
                .into_iter()
                .filter(|event| from.next(*event) == Ok(to))
                .map(Event::label)
                .collect();
            if !events.is_empty() {
                let _ = writeln!(text, "    {from} --> {to}: {}", events.join(", "));
            }
        }
    }
    for state in State::ALL.into_iter().filter(|s| s.is_final()) {
        let _ = writeln!(text, "    {state} --> [*]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written out by hand: the table of ARCHITECTURE.md.
    const LEGAL: [(&str, &str, &str); 19] = [
        ("saved", "input_saved", "saved"),
        ("saved", "document_confirmed", "confirmed"),
        ("confirmed", "input_saved", "saved"),
        ("confirmed", "claimed", "sending"),
        ("sending", "not_sent", "confirmed"),
        ("sending", "accepted", "accepted"),
        ("sending", "rejected", "failed"),
        ("sending", "outcome_unknown", "sending"),
        ("sending", "acceptance_unknown", "needs_review"),
        ("accepted", "still_pending", "accepted"),
        ("accepted", "woken", "accepted"),
        ("accepted", "delivered", "succeeded"),
        ("accepted", "undelivered", "failed"),
        ("accepted", "gave_up", "needs_review"),
        ("needs_review", "resumed", "accepted"),
        ("needs_review", "settled_succeeded", "succeeded"),
        ("needs_review", "settled_failed", "failed"),
        // Two rows that are no edges, so that a lookup that always answers is caught below.
        ("succeeded", "-", "-"),
        ("failed", "-", "-"),
    ];

    #[test]
    fn every_pair_of_state_and_event_is_as_the_table_says() {
        let mut edges = 0;
        for state in State::ALL {
            for event in Event::ALL {
                let expected = LEGAL
                    .iter()
                    .find(|(s, e, _)| *s == state.label() && *e == event.label())
                    .map(|(_, _, to)| State::from_label(to).unwrap());
                match state.next(event) {
                    Ok(to) => {
                        edges += 1;
                        assert_eq!(Some(to), expected, "{state} {event}");
                    }
                    Err(error) => {
                        assert_eq!(expected, None, "{state} {event}");
                        assert_eq!(error, IllegalTransition { state, event });
                        let text = error.to_string();
                        assert!(text.contains(state.label()) && text.contains(event.label()));
                    }
                }
            }
        }
        assert_eq!(edges, 17);
    }

    #[test]
    fn final_states_absorb_every_event() {
        for state in State::ALL.into_iter().filter(|s| s.is_final()) {
            assert!(Event::ALL.into_iter().all(|e| state.next(e).is_err()));
        }
    }

    #[test]
    fn no_event_but_a_persons_or_not_sent_leads_back_to_where_a_send_can_be_claimed() {
        for state in State::ALL {
            for event in Event::ALL {
                if state.next(event) == Ok(State::Confirmed) {
                    assert!(matches!(event, Event::DocumentConfirmed | Event::NotSent));
                }
            }
        }
    }

    #[test]
    fn labels_read_back_and_foreign_words_do_not() {
        for state in State::ALL {
            assert_eq!(State::from_label(state.label()), Some(state));
        }
        for foreign in ["", "Saved", "sent", " accepted", "-None-"] {
            assert_eq!(State::from_label(foreign), None);
        }
    }
}
