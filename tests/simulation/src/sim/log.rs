//! The event log of one world: kept only when somebody asks for it, since the same seed gives it again.

use std::fmt::Write as _;

/// What happened, one event a line: time, actor, call, answer.
#[derive(Debug, Default)]
pub struct Log {
    text: Option<String>,
}

impl Log {
    /// One that keeps its lines, or none.
    pub fn new(keeps: bool) -> Self {
        Self {
            text: keeps.then(String::new),
        }
    }

    /// Adds a line; it is only made where it is kept.
    pub fn line(&mut self, now: i64, actor: &str, what: impl FnOnce() -> String) {
        if let Some(text) = &mut self.text {
            let _ = writeln!(text, "{} {actor}: {}", clock(now), what());
        }
    }

    /// Whether lines are kept.
    pub fn keeps(&self) -> bool {
        self.text.is_some()
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        self.text.unwrap_or_default()
    }
}

/// Milliseconds as days and a time.
pub fn clock(millis: i64) -> String {
    let seconds = millis / 1_000;
    format!(
        "{}d {:02}:{:02}:{:02}.{:03}",
        seconds / 86_400,
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
        millis % 1_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_days_and_a_clock() {
        assert_eq!(clock(90_061_007), "1d 01:01:01.007");
    }

    #[test]
    fn a_log_that_keeps_nothing_makes_nothing() {
        let mut log = Log::new(false);
        log.line(0, "nobody", || unreachable!("not made"));
        assert!(!log.keeps() && log.into_text().is_empty());
    }
}
