//! `history list`.

use jiff::Timestamp;
use sendtrail_core::ports::{ListHistory as _, ListQuery, ListStart, StoreError};
use sendtrail_core::record::Read;
use sendtrail_zoho::Zoho;
use serde_json::{Value, json};

use super::view::View;
use crate::cli::ListArgs;
use crate::failure::Failure;
use crate::output::{Cell, Paint, Screen, cut, json_line, plain, relative, span, table};

const HEADING: [&str; 9] = [
    "ID",
    "STATE",
    "AGE",
    "CHANGED",
    "NEXT CHECK",
    "ATTEMPTS",
    "DEADLINE",
    "ASKED BY",
    "LAST ERROR",
];

/// What was found.
struct Found {
    rows: Vec<Read>,
    unreadable: usize,
    more: bool,
}

pub(super) async fn run(args: &ListArgs, screen: Screen, crm: &Zoho) -> Result<String, Failure> {
    let now = Timestamp::now();
    let found = if args.due {
        due(crm, args.limit, now).await
    } else {
        recent(crm, args).await
    };
    let found = found.map_err(|error| Failure::of_store(&error, "the list"))?;
    let views: Vec<View> = found.rows.into_iter().map(View::of).collect();
    Ok(if screen.json {
        let rows: Vec<Value> = views.iter().map(|view| view.json(now)).collect();
        json_line(&json!({"records": rows, "more": found.more, "unreadable": found.unreadable}))
    } else {
        text(&views, screen, now, found.unreadable, found.more)
    })
}

async fn recent(crm: &Zoho, args: &ListArgs) -> Result<Found, StoreError> {
    let found = crm.recent(args.limit, &args.states).await?;
    Ok(Found {
        rows: found.rows,
        unreadable: found.unreadable,
        more: found.more,
    })
}

async fn due(crm: &Zoho, limit: u32, now: Timestamp) -> Result<Found, StoreError> {
    let start = ListStart::First;
    let page = crm.list_due(&ListQuery { now, limit, start }).await?;
    Ok(Found {
        rows: page.rows,
        unreadable: 0,
        more: page.next.is_some(),
    })
}

fn text(views: &[View], screen: Screen, now: Timestamp, unreadable: usize, more: bool) -> String {
    let mut text = if views.is_empty() {
        "no record\n".to_owned()
    } else {
        let rows: Vec<_> = views.iter().map(|view| row(view, now)).collect();
        table(screen, &HEADING, &rows)
    };
    if unreadable > 0 {
        text.push_str(&unreadable.to_string());
        text.push_str(" row(s) of the CRM could not be read and are left out\n");
    }
    if more {
        text.push_str("there are more: use a higher --limit or --state\n");
    }
    text
}

fn row(view: &View, now: Timestamp) -> Vec<Cell> {
    let away =
        |at: Option<Timestamp>| Cell::of(&at.map_or_else(String::new, |at| relative(now, at)));
    let age = view.began_at().map(|at| span(now.duration_since(at)));
    let problem = match (&view.progress, view.error_text()) {
        (Err(reason), _) => Cell(Paint::Bad, cut(&plain(&reason.to_string()), 60)),
        (Ok(_), Some(error)) => Cell::of(&cut(&plain(&error), 60)),
        (Ok(_), None) => Cell::of(""),
    };
    vec![
        Cell::of(view.id()),
        view.state_cell(),
        Cell::of(&age.unwrap_or_default()),
        away(Some(view.changed_at())),
        away(view.next_check_at()),
        Cell::of(&view.attempts().map_or_else(String::new, |n| n.to_string())),
        away(view.deadline()),
        Cell::of(&cut(view.who().unwrap_or_default(), 24)),
        problem,
    ]
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{PROGRESS, now, view};
    use super::*;

    const SCREEN: Screen = Screen {
        json: false,
        colour: false,
    };

    #[test]
    fn a_row_has_what_an_operator_needs_and_nothing_a_terminal_obeys() {
        let text = text(
            &[view("needs_review", Some(PROGRESS))],
            SCREEN,
            now(),
            0,
            false,
        );
        let row = text.lines().nth(1).unwrap();
        for part in [
            "57",
            "needs_review",
            "8 d  23 h ago",
            "3",
            "24 h ago",
            "Jo Seller",
            "rate_limited 429: retry",
        ] {
            assert!(row.contains(part), "{part} in {row}");
        }
        assert!(!text.contains('\u{1b}'));
        assert!(!text.contains("there are more"));
    }

    #[test]
    fn a_bad_progress_does_not_hide_its_row() {
        let text = text(&[view("accepted", Some("{"))], SCREEN, now(), 2, true);
        assert!(
            text.contains("accepted") && text.contains("cannot be read"),
            "{text}"
        );
        assert!(
            text.contains("2 row(s)") && text.contains("there are more"),
            "{text}"
        );
    }

    #[test]
    fn an_empty_list_says_so() {
        assert_eq!(super::text(&[], SCREEN, now(), 0, false), "no record\n");
    }
}
