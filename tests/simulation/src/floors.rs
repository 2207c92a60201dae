//! How much many worlds must come to: where nothing is sent, no promise is at stake, and each of them holds.

/// From so many worlds on it is asked for.
pub(crate) const WORLDS: u64 = 20;
/// From so many sends in each of them on.
pub(crate) const SENDS: u64 = 50;

/// What the worlds came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amounts {
    pub(crate) submits: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) needs_review: u64,
    pub(crate) found: u64,
    pub(crate) pressed_again: u64,
    pub(crate) conflicts: u64,
}

/// What falls short of its share of the sends asked, in words. The shares are about half of the least that any
/// of many runs of the fewest worlds came to.
pub(crate) fn shortfalls(sends: u64, came_to: &Amounts) -> Vec<String> {
    let Amounts {
        submits,
        succeeded,
        failed,
        needs_review,
        found,
        pressed_again,
        conflicts,
    } = *came_to;
    let floors = [
        ("submits", submits, 400),
        ("sends that succeeded", succeeded, 300),
        ("sends that failed", failed, 30),
        ("sends that need review", needs_review, 2),
        ("sends found by a search", found, 4),
        ("sends not sent and pressed again", pressed_again, 8),
        ("conflicts", conflicts, 50),
    ];
    let asked = |per_thousand: u64| sends.saturating_mul(per_thousand).div_ceil(1_000);
    let short = floors
        .into_iter()
        .filter(|(_, count, share)| *count < asked(*share));
    short
        .map(|(what, count, share)| format!("{} {what}, but to {count}", asked(share)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOUGH: Amounts = Amounts {
        submits: 800,
        succeeded: 700,
        failed: 90,
        needs_review: 10,
        found: 10,
        pressed_again: 10,
        conflicts: 200,
    };

    #[test]
    fn what_falls_short_of_its_share_is_named_and_nothing_else() {
        assert_eq!(shortfalls(1_000, &ENOUGH), Vec::<String>::new());
        let never_found = Amounts { found: 0, ..ENOUGH };
        assert_eq!(
            shortfalls(1_000, &never_found),
            ["4 sends found by a search, but to 0"]
        );
        let at_rest = Amounts {
            submits: 399,
            ..ENOUGH
        };
        assert_eq!(shortfalls(1_000, &at_rest), ["400 submits, but to 399"]);
        assert_eq!(shortfalls(100_000, &ENOUGH).len(), 7);
    }
}
