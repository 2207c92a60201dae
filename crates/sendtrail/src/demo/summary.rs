//! What a scenario came to.

use std::fmt::Write as _;

use serde::Serialize;

use super::stage::Line;

/// The result of one scenario, as `--json` prints it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    /// The scenario's name.
    pub(crate) scenario: &'static str,
    /// The history record.
    pub(crate) history_id: Option<String>,
    /// The state it ended in.
    pub(crate) final_state: String,
    /// The state it should end in.
    pub(crate) expected_state: &'static str,
    /// Commit POSTs that the send API accepted or may have acted on.
    pub(crate) posts_received: u32,
    /// Commit POSTs that the send API surely did not act on.
    pub(crate) posts_refused: u32,
    /// CRM credits used.
    pub(crate) credits: u64,
    /// Whether all was as it should be.
    pub(crate) ok: bool,
    /// What went wrong and what the functions said of it, where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trouble: Option<Vec<String>>,
    /// What happened.
    #[serde(skip)]
    pub(crate) timeline: Vec<Line>,
    /// What went wrong.
    #[serde(skip)]
    pub(crate) failure: Option<String>,
    /// What the scenario shows.
    #[serde(skip)]
    pub(crate) shows: &'static str,
}

impl Report {
    /// The story, line by line.
    pub(crate) fn story(&self) -> String {
        let mark = if self.ok { "ok" } else { "FAILED" };
        let mut text = format!("{mark}  {}: {}\n", self.scenario, self.shows);
        for (at, what) in &self.timeline {
            let _ = writeln!(text, "  {at:6.1} s  {what}");
        }
        if let Some(failure) = &self.failure {
            let _ = writeln!(text, "            {failure}");
        }
        text
    }
}

/// The table at the end.
pub(crate) fn table(reports: &[Report]) -> String {
    let width = reports.iter().map(|r| r.scenario.len()).max().unwrap_or(8);
    let mut text = format!(
        "{:width$}  {:12}  {:>8}  {:>7}  {:>7}  result\n",
        "scenario", "final state", "received", "refused", "credits"
    );
    for r in reports {
        let result = if r.ok { "ok" } else { "FAILED" };
        let _ = writeln!(
            text,
            "{:width$}  {:12}  {:>8}  {:>7}  {:>7}  {result}",
            r.scenario, r.final_state, r.posts_received, r.posts_refused, r.credits
        );
    }
    let failed = reports.iter().filter(|r| !r.ok).count();
    let _ = match failed {
        0 => writeln!(text, "all {} scenarios ended as they should", reports.len()),
        _ => writeln!(
            text,
            "{failed} of {} scenarios did not end as they should",
            reports.len()
        ),
    };
    text
}
