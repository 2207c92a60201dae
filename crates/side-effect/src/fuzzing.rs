//! For fuzzing: what a press is read as, without a store or a send API.

use sendtrail_core::flows::Press;
use sendtrail_door::{KeyRing, Refusal, Request};

use crate::press;

/// Verifies and reads a press.
///
/// # Errors
/// As the function answers it.
pub fn press(request: &Request<'_>, ring: &KeyRing, stage: &str) -> Result<Press, Refusal> {
    press::read(&press::verified(request, ring, stage)?)
}
