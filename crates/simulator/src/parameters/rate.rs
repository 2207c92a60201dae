//! How many calls AWS takes in a second.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(1);

/// The calls of the last second that were let through.
#[derive(Debug, Default)]
pub(crate) struct Window(VecDeque<Instant>);

impl Window {
    /// Whether one more fits into a second that takes `most`; 0 takes any number.
    pub(crate) fn enter(&mut self, most: u32, now: Instant) -> bool {
        while self
            .0
            .front()
            .is_some_and(|at| now.duration_since(*at) >= WINDOW)
        {
            self.0.pop_front();
        }
        let fits = most == 0 || self.0.len() < most as usize;
        if fits {
            self.0.push_back(now);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_takes_more_than_it_may() {
        let start = Instant::now();
        let mut window = Window::default();
        let at = |ms| start + Duration::from_millis(ms);
        let taken: Vec<bool> = [0, 100, 200, 999, 1_000, 1_001, 1_100]
            .into_iter()
            .map(|ms| window.enter(2, at(ms)))
            .collect();
        assert_eq!(taken, [true, true, false, false, true, false, true]);
        assert!((0..100).all(|_| Window::default().enter(0, start)));
    }
}
