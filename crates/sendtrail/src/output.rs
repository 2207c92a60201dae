//! Text for people: safe on a terminal, coloured where that is wanted; JSON for machines.

use std::io::{self, IsTerminal as _, Write as _};

use jiff::{SignedDuration, Timestamp};
use sendtrail_core::text::ascii_json;
use serde_json::Value;

use crate::failure::Failure;

/// How a command's result is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) json: bool,
    pub(crate) colour: bool,
}

/// A colour by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Attention,
    Busy,
}

impl Paint {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Attention => "33",
            Self::Busy => "36",
        }
    }
}

impl Screen {
    /// Colours only on a terminal, and not where `NO_COLOR` says no.
    pub(crate) fn new(json: bool, no_color: Option<&str>, term: Option<&str>) -> Self {
        let wanted = no_color.is_none_or(str::is_empty) && term != Some("dumb");
        Self {
            json,
            colour: wanted && !json && io::stdout().is_terminal(),
        }
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if self.colour && paint != Paint::Plain {
            format!("\u{1b}[{}m{text}\u{1b}[0m", paint.code())
        } else {
            text.to_owned()
        }
    }
}

/// The line a JSON result is: ASCII, so that no terminal or pipe can change it.
pub(crate) fn json_line(value: &Value) -> String {
    let mut line = ascii_json(value);
    line.push('\n');
    line
}

/// Prints a result. A reader that went away is no failure.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Tells a failure: as JSON on standard output, or as text on standard error.
pub(crate) fn print_failure(screen: Screen, failure: &Failure) {
    // Nothing is left to be done when even this cannot be written; the exit code still tells it.
    if screen.json {
        let _ = print(&json_line(&failure.json()));
    } else {
        let _ = writeln!(
            io::stderr().lock(),
            "sendtrail: {}",
            plain_lines(&failure.message)
        );
    }
}

/// Outside text on one line, with nothing that a terminal would obey: control characters and marks that
/// reorder text are shown as escapes.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// As [`plain`], but line ends stay.
pub(crate) fn plain_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(plain).collect();
    lines.join("\n")
}

fn visible(c: char) -> String {
    let reorders = matches!(
        c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
    );
    if reorders {
        c.escape_unicode().to_string()
    } else if c.is_control() {
        c.escape_default().to_string()
    } else {
        c.to_string()
    }
}

/// At most `most` characters, the last an ellipsis where something was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell(pub(crate) Paint, pub(crate) String);

impl Cell {
    /// A cell of outside text.
    pub(crate) fn of(text: &str) -> Self {
        Self(Paint::Plain, plain(text))
    }
}

/// Rows under a heading, in columns as wide as their longest cell.
pub(crate) fn table(screen: Screen, heading: &[&str], rows: &[Vec<Cell>]) -> String {
    let head = heading.iter().map(|h| Cell(Paint::Bold, (*h).to_owned()));
    let all: Vec<Vec<Cell>> = std::iter::once(head.collect())
        .chain(rows.iter().cloned())
        .collect();
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.1.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let mut text = String::new();
    for row in &all {
        let mut line = String::new();
        let last = row.iter().rposition(|cell| !cell.1.is_empty());
        for (column, Cell(paint, cell)) in row.iter().enumerate() {
            line.push_str(&screen.paint(*paint, cell));
            let is_last = last.is_none_or(|last| column >= last);
            if is_last {
                break;
            }
            let used = cell.chars().count();
            let pad = widths
                .get(column)
                .map_or(0, |wide| wide.saturating_sub(used));
            line.push_str(&" ".repeat(pad + 2));
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Names and values, the values in one column.
pub(crate) fn facts(screen: Screen, facts: &[(&str, Cell)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, Cell(paint, value)): &(&str, Cell)| {
        let name = screen.paint(Paint::Dim, &format!("{name:width$}"));
        format!("{name}  {}\n", screen.paint(*paint, value))
    };
    facts.iter().map(line).collect()
}

/// A length of time in its largest sensible unit.
pub(crate) fn span(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().unsigned_abs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} d", seconds / 86_400),
    }
}

/// How far an instant is from now.
pub(crate) fn relative(now: Timestamp, at: Timestamp) -> String {
    let away = at.duration_since(now);
    if away.as_secs() == 0 {
        "now".to_owned()
    } else if away.is_negative() {
        format!("{} ago", span(away))
    } else {
        format!("in {}", span(away))
    }
}

/// An instant in UTC, and how far it is from now.
pub(crate) fn instant(now: Timestamp, at: Timestamp) -> String {
    format!("{at} ({})", relative(now, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Screen = Screen {
        json: false,
        colour: false,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    #[test]
    fn outside_text_never_commands_the_terminal() {
        let shown = plain("a\u{1b}[31m\r\nb\u{202e}c\u{9b}é🐈");
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert_eq!(shown, "a\\u{1b}[31m\\r\\nb\\u{202e}c\\u{9b}é🐈");
        assert_eq!(plain_lines("a\nb\rc"), "a\nb\\rc");
    }

    #[test]
    fn a_cut_is_seen_and_never_splits_a_character() {
        assert_eq!(cut("éé🐈", 3), "éé🐈");
        assert_eq!(cut("éé🐈x", 3), "éé…");
    }

    #[test]
    fn columns_line_up_and_no_line_ends_in_spaces() {
        let row = |a: &str, b: &str, c: &str| vec![Cell::of(a), Cell::of(b), Cell::of(c)];
        let text = table(
            PLAIN,
            &["ID", "STATE", "X"],
            &[row("57", "saved", ""), row("1234", "ä", "z")],
        );
        assert_eq!(text, "ID    STATE  X\n57    saved\n1234  ä      z\n");
    }

    #[test]
    fn colour_is_put_around_the_text_and_does_not_shift_columns() {
        let screen = Screen {
            json: false,
            colour: true,
        };
        let row = vec![Cell(Paint::Bad, "failed".into()), Cell::of("x")];
        let text = table(screen, &["STATE", "Y"], &[row]);
        assert!(text.contains("\u{1b}[31mfailed\u{1b}[0m  x"), "{text:?}");
        assert_eq!(PLAIN.paint(Paint::Bad, "failed"), "failed");
    }

    #[test]
    fn no_color_and_json_and_a_dumb_terminal_mean_no_colour() {
        assert!(!Screen::new(false, Some("1"), None).colour);
        assert!(!Screen::new(false, None, Some("dumb")).colour);
        assert!(!Screen::new(true, None, None).colour);
    }

    #[test]
    fn times_are_told_from_now() {
        assert_eq!(relative(at(0), at(0)), "now");
        assert_eq!(relative(at(0), at(119)), "in 119 s");
        assert_eq!(relative(at(0), at(-120)), "2 min ago");
        assert_eq!(relative(at(0), at(7_200)), "in 2 h");
        assert_eq!(relative(at(0), at(-172_800)), "2 d ago");
        assert_eq!(instant(at(0), at(60)), "2023-11-14T22:14:20Z (in 60 s)");
    }

    #[test]
    fn a_json_line_is_one_line_of_ascii() {
        let line = json_line(&serde_json::json!({"a": "é\n\u{9b}"}));
        assert!(line.is_ascii() && line.ends_with("}\n") && line.lines().count() == 1);
    }
}
