//! What the CRM is asked, counted.

/// What was asked of the CRM since its client was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Requests sent to the CRM's API, repeats included.
    pub calls: u64,
    /// API credits these cost, by the CRM's price list.
    pub credits: u64,
    /// Requests sent to the token endpoint.
    pub token_requests: u64,
    /// Times the token endpoint refused for too many tokens, a request held back in the cool-down included.
    pub token_throttled: u64,
    /// Times the token endpoint refused the refresh token or the client, a request held back after it included.
    pub token_refused: u64,
    /// What the CRM last said is left of the day's credits, where it says so.
    pub credits_remaining: Option<u64>,
}

/// Counts what it asks of the CRM.
pub trait Metered: Send + Sync {
    /// The counts so far; they never fall.
    fn usage(&self) -> Usage;
}
