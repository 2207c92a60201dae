use std::fmt;

macro_rules! report {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// What one run of the poller did. Counts, but for the two that say otherwise.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct PollReport {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl PollReport {
            /// Every count with its name, for the metrics line.
            pub fn counts(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field),)*]
            }
        }
    };
}

report! {
    /// Pages read.
    pages,
    /// Rows listed.
    listed,
    /// Rows that were not due after all, or no longer in flight.
    not_due,
    /// Calls to send APIs for a result.
    looked_up,
    /// Calls to send APIs for an open claim.
    swept,
    /// Rows written.
    written,
    /// Rows somebody changed in between: skipped.
    conflicts_skipped,
    /// Sends that ended as delivered.
    delivered,
    /// Sends that ended as not delivered.
    undelivered,
    /// Sends still pending.
    pending,
    /// Open claims found at the API.
    found,
    /// Open claims that nothing can tell about: given to a person.
    acceptance_unknown,
    /// Accepted sends without a result by the deadline: given to a person.
    gave_up,
    /// Look-ups without an answer.
    lookup_errors,
    /// Look-ups the API refused with 401 or 403.
    unauthorized,
    /// Statuses the driver does not know.
    unrecognised,
    /// Times an API asked to slow down.
    api_rate_limited,
    /// Times the CRM asked to slow down; the run stopped there.
    crm_rate_limited,
    /// Rows held back because their API asked to slow down in this run.
    held_back,
    /// Rows whose driver is not configured.
    no_driver,
    /// Rows whose progress cannot be read: given to a person.
    malformed,
    /// Rows whose progress was written by a later version: left alone.
    newer,
    /// Rows in flight that nobody wrote for a day and the list of due rows does not show, as listed in the
    /// hour's first run.
    untouched,
    /// Rows whose date fields were set right again.
    schedules_restored,
    /// Rows that could not be read or written.
    store_errors,
    /// Rows that took too long.
    timed_out,
    /// Rows not started because time ran out or the CRM asked to slow down.
    not_started,
    /// Whether this run counted foreign states: once a day.
    audited,
    /// Records whose state field holds a text that is none of the states, as the daily audit counted them.
    foreign_states,
    /// Seconds by which the oldest listed row was overdue.
    oldest_due_seconds,
}

impl fmt::Display for PollReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (name, count) in self.counts().into_iter().filter(|(_, count)| *count > 0) {
            write!(f, "{}{name} {count}", if first { "" } else { ", " })?;
            first = false;
        }
        if first {
            f.write_str("nothing due")
        } else {
            Ok(())
        }
    }
}
