//! `history show`: one record for people.

use jiff::Timestamp;
use sendtrail_core::progress::{Claim, ConfirmedDocument, Progress, Submission, TrailEntry};
use sendtrail_core::state::State;

use super::advice::advice;
use super::view::View;
use crate::output::{Cell, Paint, Screen, cut, facts, instant, plain, plain_lines, table};

/// Characters of a progress that cannot be read.
const MOST_RAW: usize = 4_000;

/// The record with its trail.
pub(super) fn text(view: &View, screen: Screen, now: Timestamp) -> String {
    let mut lines = general(view, now);
    lines.extend(
        view.progress
            .iter()
            .flat_map(|progress| of_progress(progress, now)),
    );
    let mut text = facts(screen, &lines);
    match &view.progress {
        Ok(progress) => text.push_str(&trail(&progress.trail, screen)),
        Err(reason) => {
            text.push_str(&screen.paint(Paint::Bad, &plain(&reason.to_string())));
            text.push('\n');
            if let Some(raw) = &view.read.record.progress {
                text.push_str(&cut(&plain_lines(raw), MOST_RAW));
                text.push('\n');
            }
        }
    }
    text.push_str(&advice(view));
    text
}

fn general(view: &View, now: Timestamp) -> Vec<(&'static str, Cell)> {
    let told = |at: Option<Timestamp>| at.map_or_else(|| "none".to_owned(), |at| instant(now, at));
    let mut lines = vec![
        ("record", Cell::of(view.id())),
        ("state", view.state_cell()),
    ];
    if let Some(began) = view.began_at() {
        lines.push(("began", Cell::of(&instant(now, began))));
    }
    lines.push(("changed", Cell::of(&instant(now, view.changed_at()))));
    if view.progress.is_ok() {
        let attempts = view.attempts().unwrap_or_default().to_string();
        lines.push(("next check", Cell::of(&told(view.next_check_at()))));
        lines.push(("attempts", Cell::of(&attempts)));
        lines.push(("deadline", Cell::of(&told(view.deadline()))));
    }
    if let (Some(error), Some(words)) = (view.last_error(), view.error_text()) {
        let line = format!("{} {}", instant(now, error.at), plain(&words));
        lines.push(("last error", Cell(Paint::Attention, line)));
    }
    if let Some(id) = view.external_id() {
        lines.push(("external id", Cell::of(id)));
    }
    lines
}

fn of_progress(progress: &Progress, now: Timestamp) -> Vec<(&'static str, Cell)> {
    let request = progress.request.as_ref().map(|request| {
        let (actor, key) = (&request.actor, request.key.as_str());
        (
            "asked by",
            format!("{} (user {}), request {key}", actor.name, actor.id),
        )
    });
    let document = progress
        .document
        .as_ref()
        .map(|d| ("document", document(d, now)));
    let claim = progress.claim.as_ref().map(|c| ("claim", claim(c, now)));
    let submission = progress.submission.as_ref();
    let submitted = submission.map(|s| ("submission", submitted(s, now)));
    let found = submission.filter(|s| !s.evidence.found.is_empty());
    let found = found.map(|s| ("found", s.evidence.found.join(", ")));
    let lines = [request, document, claim, submitted, found];
    let lines = lines.into_iter().flatten();
    lines.map(|(name, text)| (name, Cell::of(&text))).collect()
}

fn document(document: &ConfirmedDocument, now: Timestamp) -> String {
    let (bytes, sha256) = (document.bytes, document.sha256);
    format!(
        "{bytes} bytes, sha256 {sha256}, confirmed {}",
        instant(now, document.confirmed_at)
    )
}

fn claim(claim: &Claim, now: Timestamp) -> String {
    let end = if claim.resolved.is_some() {
        ", proved not sent"
    } else {
        ""
    };
    let draft = claim.draft_id.as_ref();
    let draft = draft.map_or_else(String::new, |draft| format!(", draft {draft}"));
    format!(
        "{} for {}{draft}{end}",
        instant(now, claim.at),
        claim.driver.as_str()
    )
}

fn submitted(submission: &Submission, now: Timestamp) -> String {
    let evidence = &submission.evidence;
    let status = evidence
        .status
        .map_or_else(String::new, |status| format!(" {status}"));
    let detail = if evidence.detail.is_empty() {
        String::new()
    } else {
        format!(" {}", evidence.detail)
    };
    format!(
        "{} {}, driver {}, reference {}, seen: {}{status}{detail}",
        submission.outcome,
        instant(now, submission.at),
        submission.driver.as_str(),
        submission.reference.as_str(),
        evidence.class,
    )
}

fn trail(entries: &[TrailEntry], screen: Screen) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let row = |entry: &TrailEntry| {
        let times = match entry.times {
            0 | 1 => String::new(),
            times => format!("{times}x"),
        };
        vec![
            Cell::of(&entry.at.to_string()),
            Cell::of(&entry.event),
            Cell(
                State::from_label(&entry.to).map_or(Paint::Plain, super::view::paint),
                plain(&entry.to),
            ),
            Cell::of(&times),
            Cell::of(entry.by.as_deref().unwrap_or_default()),
            Cell::of(entry.reason.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<_> = entries.iter().map(row).collect();
    let heading = ["WHEN", "EVENT", "STATE", "TIMES", "BY", "REASON"];
    format!("\n{}", table(screen, &heading, &rows))
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{PROGRESS, now, view};
    use super::*;

    const SCREEN: Screen = Screen {
        json: false,
        colour: false,
    };

    fn shown(state: &str, progress: Option<&str>) -> String {
        text(&view(state, progress), SCREEN, now())
    }

    #[test]
    fn a_record_in_review_is_shown_whole_with_what_to_do() {
        let text = shown("needs_review", Some(PROGRESS));
        for part in [
            "record       57",
            "state        needs_review",
            "began        2026-01-01T00:00:00Z (8 d ago)",
            "next check   none",
            "attempts     3",
            "rate_limited 429: retry \\u{1b}[2J",
            "external id  ltr_7",
            "asked by     Jo Seller (user u1), request msg_1",
            "48213 bytes, sha256 e3b0",
            "for letter",
            "accepted 2026-01-01T00:01:02Z",
            "reference st_00, seen: status 200",
            "still_pending  accepted      3x",
            "no result",
            "sendtrail history settle 57 --as succeeded|failed",
            "sendtrail history resume 57 --reason",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains("proved not sent"));
    }

    #[test]
    fn a_progress_that_cannot_be_read_is_shown_as_text_with_the_reason() {
        let text = shown("needs_review", Some("my note\n\u{1b}[2J"));
        assert!(text.contains("the progress cannot be read"), "{text}");
        assert!(text.contains("my note\n\\u{1b}[2J"), "{text}");
        assert!(
            text.contains("settle 57") && !text.contains("resume 57"),
            "{text}"
        );
        assert!(!text.contains("attempts"), "{text}");
        assert!(shown("accepted", None).contains("the progress is empty"));
    }
}
