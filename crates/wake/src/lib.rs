//! One-time schedules that bring a look-up forward.
