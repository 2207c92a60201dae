//! One warning for each cause in the life of a process: the next refresh would only repeat it.

use std::sync::atomic::{AtomicBool, Ordering};

use sendtrail_aws::AwsError;

use super::entry::Useless;

/// What was warned of already.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    denied: AtomicBool,
    throttled: AtomicBool,
    unavailable: AtomicBool,
    useless: AtomicBool,
    large: AtomicBool,
}

/// What every warning ends with.
const CONSEQUENCE: &str = "this instance asks for a token of its own when it needs one";

impl Warnings {
    /// A call failed.
    pub(crate) fn aws(&self, error: &AwsError) {
        let flag = match error {
            AwsError::Denied { .. } => &self.denied,
            AwsError::Throttled { .. } => &self.throttled,
            AwsError::Unavailable { .. } => &self.unavailable,
        };
        if is_first(flag) {
            tracing::warn!(error = %error, "the shared CRM token cannot be used; {CONSEQUENCE}");
        }
    }

    /// A call took too long.
    pub(crate) fn slow(&self) {
        if is_first(&self.unavailable) {
            tracing::warn!("the store of the shared CRM token is slow; {CONSEQUENCE}");
        }
    }

    /// What is stored is of no use.
    pub(crate) fn useless(&self, why: Useless) {
        if is_first(&self.useless) {
            tracing::warn!(reason = %why, "the shared CRM token is ignored and will be overwritten");
        }
    }

    /// A token fits in no parameter.
    pub(crate) fn too_large(&self) {
        if is_first(&self.large) {
            tracing::warn!("the CRM's token is too large to be shared; {CONSEQUENCE}");
        }
    }
}

fn is_first(flag: &AtomicBool) -> bool {
    !flag.swap(true, Ordering::Relaxed)
}
