//! How a call can fail, and the request id of a call.

use std::fmt::Write as _;
use std::time::Duration;

/// The most bytes a call's payload may have (6 MB), as on AWS.
pub(crate) const PAYLOAD_LIMIT: usize = 6_291_456;

/// The most bytes an answer may have; AWS grants 100 bytes more than for a request.
pub(crate) const ANSWER_LIMIT: usize = PAYLOAD_LIMIT + 100;

/// A call that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    /// No function has this name.
    #[error("there is no function `{0}`")]
    UnknownFunction(String),
    /// The reserved concurrency is used up; the function was not called.
    #[error("the reserved concurrency is used up")]
    Throttled,
    /// The payload is above 6 MB; the function was not called.
    #[error("the payload of {bytes} bytes is above {PAYLOAD_LIMIT}")]
    PayloadTooLarge {
        /// The size of the payload in bytes.
        bytes: usize,
    },
    /// The host is shutting down; the function was not called.
    #[error("the host is shutting down")]
    Closed,
    /// The process could not be started; the function was not called.
    #[error("the process could not be started: {0}")]
    NotStarted(String),
    /// The process ended, or reported an error, before it asked for work.
    #[error("the process failed to start up: {0}")]
    InitFailed(String),
    /// The process did not ask for work in time and was killed.
    #[error("the process did not ask for work within {0:?}")]
    InitTimedOut(Duration),
    /// The function answered with an error. The process lives on.
    #[error("the function failed: {kind}: {message}")]
    FunctionError {
        /// The stable error type that the function gave.
        kind: String,
        /// The message that the function gave.
        message: String,
    },
    /// The call took longer than the timeout and the process was killed.
    #[error("Task timed out after {:.2} seconds", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The process ended before it answered.
    #[error("the process ended before it answered: {0}")]
    Crashed(String),
    /// The answer is above 6 MB.
    #[error("the answer of {bytes} bytes is above {ANSWER_LIMIT}")]
    AnswerTooLarge {
        /// The size of the answer in bytes, or as much of it as was read.
        bytes: usize,
    },
}

impl InvokeError {
    /// Whether the function ran or began to: false where it was certainly not called.
    pub fn was_called(&self) -> bool {
        match self {
            Self::UnknownFunction(_)
            | Self::Throttled
            | Self::PayloadTooLarge { .. }
            | Self::Closed
            | Self::NotStarted(_)
            | Self::InitFailed(_)
            | Self::InitTimedOut(_) => false,
            Self::FunctionError { .. }
            | Self::TimedOut(_)
            | Self::Crashed(_)
            | Self::AnswerTooLarge { .. } => true,
        }
    }
}

/// `N` random bytes in lower hex.
pub(crate) fn random_hex<const N: usize>() -> String {
    let mut bytes = [0_u8; N];
    // Ids only have to differ within one host; without randomness the clock still tells them apart.
    if getrandom::fill(&mut bytes).is_err() {
        let now = jiff::Timestamp::now().as_nanosecond().to_be_bytes();
        for (to, from) in bytes.iter_mut().zip(now.iter().rev()) {
            *to = *from;
        }
    }
    bytes
        .iter()
        .fold(String::with_capacity(N * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// A fresh request id in the form of a version 4 UUID.
pub(crate) fn request_id() -> String {
    let hex = random_hex::<16>();
    format!(
        "{}-{}-4{}-8{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..]
    )
}

/// A fresh trace header value, not sampled.
pub(crate) fn trace_id(epoch_seconds: i64) -> String {
    format!(
        "Root=1-{epoch_seconds:08x}-{};Parent={};Sampled=0",
        random_hex::<12>(),
        random_hex::<8>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_have_the_form_of_a_uuid_and_differ() {
        let id = request_id();
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_ne!(id, request_id());
    }
}
