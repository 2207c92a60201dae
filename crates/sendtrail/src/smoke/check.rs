//! One check of a deployed stack, and how all of them are told.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::output::{Cell, Paint, Screen, json_line, plain, table};

/// How a check turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    Failed,
    Skipped,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A check: its name, what was found, and what to do where it is not ok.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    pub(super) found: String,
    pub(super) advice: String,
}

impl Check {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            verdict: Verdict::Ok,
            found: found.into(),
            advice: String::new(),
        }
    }

    pub(super) fn failed(
        name: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            name,
            verdict: Verdict::Failed,
            found: found.into(),
            advice: advice.into(),
        }
    }

    pub(super) fn skipped(
        name: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Skipped,
            ..Self::failed(name, found, advice)
        }
    }
}

/// Whether any check failed.
pub(super) fn any_failed(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.verdict == Verdict::Failed)
}

pub(super) fn tell(stack: &str, checks: &[Check], screen: Screen) -> String {
    if screen.json {
        let one = |check: &Check| {
            json!({
                "name": check.name, "verdict": check.verdict.word(), "found": check.found,
                "advice": (!check.advice.is_empty()).then_some(&check.advice),
            })
        };
        let checks: Vec<Value> = checks.iter().map(one).collect();
        let ok = !checks.iter().any(|check| check["verdict"] == "failed");
        return json_line(&json!({"ok": ok, "stack": stack, "checks": checks}));
    }
    let row = |check: &Check| {
        let paint = match check.verdict {
            Verdict::Ok => Paint::Good,
            Verdict::Failed => Paint::Bad,
            Verdict::Skipped => Paint::Attention,
        };
        let found = if check.advice.is_empty() {
            check.found.clone()
        } else {
            format!("{}: {}", check.found, check.advice)
        };
        vec![
            Cell(paint, check.verdict.word().to_owned()),
            Cell::of(check.name),
            Cell::of(&found),
        ]
    };
    let rows: Vec<_> = checks.iter().map(row).collect();
    let mut text = table(screen, &["RESULT", "CHECK", "FOUND"], &rows);
    let count = |verdict| checks.iter().filter(|c| c.verdict == verdict).count();
    let (failed, skipped) = (count(Verdict::Failed), count(Verdict::Skipped));
    let _ = match (failed, skipped) {
        (0, 0) => writeln!(text, "\n{}: everything is as it should be", plain(stack)),
        (0, _) => writeln!(
            text,
            "\n{}: nothing failed; {skipped} skipped",
            plain(stack)
        ),
        (_, _) => writeln!(
            text,
            "\n{}: {failed} failed, {skipped} skipped",
            plain(stack)
        ),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_check_is_one_line_and_says_what_to_do() {
        let checks = [
            Check::ok("a", "fine"),
            Check::failed("b", "a \u{1b}[31m URL", "remove it"),
            Check::skipped("c", "no configuration", "name it with --config"),
        ];
        let screen = |json| Screen {
            json,
            colour: false,
        };
        let text = tell("s", &checks, screen(false));
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(
            text.contains("failed   b      a \\u{1b}[31m URL: remove it\n"),
            "{text}"
        );
        assert!(text.ends_with("s: 1 failed, 1 skipped\n"), "{text}");
        let json: Value = serde_json::from_str(&tell("s", &checks, screen(true))).unwrap();
        assert_eq!(json["ok"], false);
        assert_eq!(json["checks"][2]["verdict"], "skipped");
        assert!(any_failed(&checks) && !any_failed(&checks[..1]));
        let fine = tell("s", &checks[..1], screen(false));
        assert!(fine.contains("everything is as it should be"), "{fine}");
    }
}
