//! The event of the schedule.

use serde::Deserialize;

/// What the schedule sends: `{"v":1,"kind":"tick"}`.
#[derive(Debug, Deserialize)]
struct Tick {
    v: u64,
    kind: String,
}

/// Whether the event is the schedule's own. Every other event starts a run too, and is counted: it may be a
/// schedule without its input, or somebody else who may invoke this function.
pub(crate) fn is_known(event: &str) -> bool {
    // Serde would read an array as the members in order.
    event.trim_ascii_start().starts_with('{')
        && serde_json::from_str::<Tick>(event).is_ok_and(|tick| tick.v == 1 && tick.kind == "tick")
}

#[cfg(test)]
mod tests {
    use super::is_known;

    #[test]
    fn the_schedules_own_event_is_known_also_with_more_in_it() {
        assert!(is_known(r#"{"v":1,"kind":"tick"}"#));
        assert!(is_known(
            r#" {"kind":"tick","v":1,"at":"2026-01-01T00:00:00Z"}"#
        ));
    }

    #[test]
    fn any_other_event_is_unknown() {
        for event in [
            "null",
            "{}",
            "[]",
            r#"[1,"tick"]"#,
            r#"{"v":2,"kind":"tick"}"#,
            r#"{"v":1,"kind":"tock"}"#,
            r#"{"v":"1","kind":"tick"}"#,
            r#"{"v":1,"v":1,"kind":"tick"}"#,
            r#"{"source":"aws.scheduler","detail":"{}"}"#,
            "\"tick\"",
            "",
            "{",
        ] {
            assert!(!is_known(event), "{event}");
        }
    }
}
