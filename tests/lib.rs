//! Acceptance tests live in `suite/`.
