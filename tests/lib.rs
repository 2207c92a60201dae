//! Acceptance tests live in `suite/`; this crate has no code of its own.
