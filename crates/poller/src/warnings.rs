//! One line for each kind of trouble in a run, so that an operator is told what to do about it.

use sendtrail_core::flows::PollReport;

/// Logs every kind of trouble the run met, with its count.
pub(crate) fn log(report: &PollReport) {
    for (kind, count, what) in troubles(report) {
        if count > 0 {
            tracing::warn!(kind, count, "{what}");
        }
    }
}

fn troubles(report: &PollReport) -> [(&'static str, u64, &'static str); 11] {
    [
        (
            "unauthorized",
            report.unauthorized,
            "a send API refuses the credentials; its rows keep their states",
        ),
        (
            "malformed",
            report.malformed,
            "progress that cannot be read; the records are given to a person",
        ),
        (
            "newer",
            report.newer,
            "progress written by a later version; the records are left alone",
        ),
        (
            "unrecognised",
            report.unrecognised,
            "statuses the driver file does not know, taken as pending",
        ),
        (
            "acceptance_unknown",
            report.acceptance_unknown,
            "open claims nothing can tell about; the records need review",
        ),
        (
            "gave_up",
            report.gave_up,
            "sends without a result by their deadline; the records need review",
        ),
        (
            "foreign_states",
            report.foreign_states,
            "records whose state field holds a word that is no state; they are left alone",
        ),
        (
            "no_driver",
            report.no_driver,
            "rows whose driver is not configured",
        ),
        (
            "store_errors",
            report.store_errors,
            "rows that could not be read or written",
        ),
        (
            "crm_rate_limited",
            report.crm_rate_limited,
            "the CRM asked to slow down; the run stopped there",
        ),
        ("timed_out", report.timed_out, "rows that took too long"),
    ]
}
